/** Repeats text on request: "say exactly: …", "repeat this text …: …", "reply with pong". */
import { sentencesOf, wordsOf } from '../reading/words.ts';

const VERBS = 'say|repeat|echo|reply|respond|answer|write|print|output|return|type|send';

/** Words that may stand between the verb and the text to repeat. */
const BETWEEN = new Set(
  `exactly only just with back after me this these the following text word words string sentence phrase line message
  verbatim and nothing else as is in full to single one literally by saying it precisely please letter content always then`.split(
    /\s+/,
  ),
);

const AFTER_COLON = new RegExp(
  String.raw`(?<![\p{L}\p{N}])(?:${VERBS})(?![\p{L}\p{N}])([^:"“\n]{0,100}):[ \t]{0,9}\n?`,
  'giu',
);
const QUOTED = new RegExp(
  String.raw`(?<![\p{L}\p{N}])(?:${VERBS})(?![\p{L}\p{N}])([^:"“'\n.?!]{0,100})(?:"([^"]{1,4000})"|“([^”]{1,4000})”|(?<=\s)'([^']{1,400})')`,
  'iu',
);
const BARE =
  /^(?:(?:please|now|then|just|can you|could you|always) ){0,2}(?:(?:say|echo|print)\b|(?:reply|respond|answer)\b(?=.{0,30}\bwith\b))\s?(.{1,80})$/i;
const ADVERBS =
  /^(?:(?:exactly|only|just|with|back|literally|precisely|the (?:single )?(?:word|words|phrase|letter|text))\s)+/i;
const TAIL =
  /(?:,? (?:and nothing else|in (?:exactly |only )?(?:one|a single) word|once|only|please|exactly))+[.!?]*$/i;

/** Words that begin a description of what to say, and not the text itself. */
const DESCRIBING = new Set(
  `a an the your my his her its their something anything nothing what why how if whether it that this which in to me more
  about as json number name text code one two three markdown xml html yaml csv all each every some short long`.split(
    /\s+/,
  ),
);

/**
 * @param head where the command is searched for. @param whole the same text, uncut: `head` is its beginning.
 * @returns undefined: nothing is to be repeated.
 */
export function findEcho(head: string, whole: string): string | undefined {
  for (const match of head.matchAll(AFTER_COLON)) {
    if (!isFiller(match[1])) continue;
    const repeated = unquoted(whole.slice(match.index + match[0].length).trim());
    if (repeated !== '') return repeated;
  }
  const quoted = QUOTED.exec(head);
  if (quoted !== null && isFiller(quoted[1])) return quoted[2] ?? quoted[3] ?? quoted[4];
  for (const sentence of sentencesOf(head)) {
    const repeated = bareWords(sentence);
    if (repeated !== undefined) return repeated;
  }
  return undefined;
}

function isFiller(text: string | undefined): boolean {
  return wordsOf(text ?? '').every((word) => BETWEEN.has(word.toLowerCase()));
}

function unquoted(text: string): string {
  return /^(?:"[^"]*"|“[^”]*”|'[^']*')$/u.test(text) ? text.slice(1, -1) : text;
}

function bareWords(sentence: string): string | undefined {
  const rest = BARE.exec(sentence)?.[1];
  if (rest === undefined) return undefined;
  const repeated = rest
    .replace(ADVERBS, '')
    .replace(TAIL, '')
    .replace(/\s?[.!?]$/, '')
    .replace(/ or .*$/i, '');
  const words = wordsOf(repeated);
  if (words.length === 0 || words.length > 8) return undefined;
  return DESCRIBING.has((words[0] ?? '').toLowerCase()) ? undefined : repeated;
}

/** The text that the instructions require as the answer to everything. */
export function findStandingEcho(instructions: string): string | undefined {
  const head = instructions.slice(0, 8192);
  const sentence = sentencesOf(head).find((text) =>
    /\b(?:always (?:reply|respond|answer|say)|whatever|no matter what)\b/i.test(text),
  );
  if (sentence === undefined) return undefined;
  const command = sentence.replace(/^.*?(?=\b(?:always|reply|respond|answer|say)\b)/i, '');
  return findEcho(command, command);
}
