/**
 * Finds earlier statements: "What is my name?" after "My name is Ada". Statements are compared with the question's
 * words; nothing is known beyond the conversation.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { meaningfulWords, sentencesOf, stemOf, wordsOf } from '../reading/words.ts';

const QUESTION_WORDS =
  /^\W{0,3}(?:(?:please|so|and|now|can you|could you) ){0,2}(?:what|who|whom|whose|where|when|which|how|tell me|name (?:the|my|our|one)|give me|do you|recall)\b/i;
const QUESTION = /\?["”']?$/;
/** A question or a command states nothing. */
const NO_STATEMENT =
  /\?["”']?$|^\W{0,3}(?:please |just |only |then ){0,2}(?:reply|respond|answer|tell|say|give|return|use|do not|don['’]t)\b/i;

/** Some 5 ms of work: after this many characters, other work gets its turn. */
const TURN_CHARACTERS = 64 * 1024;
/** More is not searched: some 500,000 tokens. */
const MAX_CHARACTERS = 2 * 1024 * 1024;
const MAX_STATEMENT = 1000;

const LINK = /(?:\b(?:is|are|was|were|called|named|equals)\b|=|:)\s*/iu;
const CLAUSE_END =
  /\s+(?:and|but|who|which|because)\s+(?:i|i'm|my|we|he|she|it|they|the|there|have|has|lives?|works?)\b|[,;]\s|\s\(/iu;
const INTRODUCTION =
  /\b(?:I am|[Ii]['’]m|[Cc]all me|[Tt]his is) (\p{Lu}[\p{L}'’-]{0,40}(?: \p{Lu}[\p{L}'’-]{0,40}){0,2})/u;

/** The sentence that asks; undefined: nothing is asked. */
export function findQuestion(excerpt: string): string | undefined {
  const sentences = sentencesOf(excerpt);
  return (
    sentences.findLast((sentence) => QUESTION.test(sentence)) ??
    sentences.findLast((sentence) => sentence.length < 300 && QUESTION_WORDS.test(sentence))
  );
}

/**
 * What the texts state about the requested thing.
 *
 * @param texts the nearest first; the last statement counts, and of equally good statements that of the nearer text.
 * @returns the thing itself if it can be extracted from the statement, else the statement; undefined: there is none.
 */
export async function recall(questionSentence: string, texts: Iterable<string>): Promise<string | undefined> {
  const wish = questionSentence.replace(/^\W{0,3}(?:please )?(?:tell me|name|give me|recall)\b/i, '');
  const keys = meaningfulWords(wish).map(stemOf);
  const wanted = /\bname\b|\bcalled\b|\bwho am i\b/i.test(wish) ? [...keys, 'name'] : keys;
  if (wanted.length === 0) return undefined;
  const least = /\bmy\b|\bour\b/i.test(questionSentence) ? 0.5 : 2 / 3;
  let best: { readonly statement: string; readonly score: number } | undefined;
  let read = 0;
  for (const text of piecesOf(texts)) {
    read += text.length;
    if (read > MAX_CHARACTERS) break;
    if (text.length >= TURN_CHARACTERS) await nextTurn();
    for (const statement of statementsOf(text).toReversed()) {
      if (statement === questionSentence || statement.length > MAX_STATEMENT || NO_STATEMENT.test(statement)) continue;
      const score = scoreOf(statement, wanted);
      if (score >= least && score > (best?.score ?? 0)) best = { statement, score };
    }
  }
  return best === undefined ? undefined : valueIn(best.statement, wanted);
}

/** Long texts from their end backwards, in pieces that overlap by the longest statement. */
function* piecesOf(texts: Iterable<string>): Generator<string> {
  for (const text of texts) {
    if (text.length <= MAX_JSON && isJson(text)) yield text;
    else
      for (let end = text.length; end > 0; end -= TURN_CHARACTERS)
        yield text.slice(Math.max(0, end - TURN_CHARACTERS - MAX_STATEMENT), end);
  }
}

function scoreOf(statement: string, keys: readonly string[]): number {
  const lower = statement.toLowerCase();
  const hits = keys.filter((key) => (key === 'name' ? hasName(statement, lower) : indexOfKey(key, lower) >= 0));
  return hits.length / keys.length;
}

/** The position of a word that begins with the key. */
function indexOfKey(key: string, lower: string): number {
  let index = lower.indexOf(key);
  while (index > 0 && /[\p{L}\p{N}]/u.test(lower.charAt(index - 1))) index = lower.indexOf(key, index + 1);
  return index;
}

function hasName(statement: string, lower: string): boolean {
  return /\bname[sd]?\b|\bcalled\b/.test(lower) || INTRODUCTION.test(statement);
}

/** A statement's end after "is", or its beginning if the requested value follows ("Paris is the capital …"). */
function valueIn(statement: string, keys: readonly string[]): string {
  const introduced = keys.length === 1 && keys[0] === 'name' ? INTRODUCTION.exec(statement)?.[1] : undefined;
  if (introduced !== undefined && !/\bname\b/i.test(statement)) return introduced;
  const lower = statement.toLowerCase();
  const offsets = keys.filter((key) => key !== 'name').map((key) => indexOfKey(key, lower));
  const known = offsets.filter((index) => index >= 0);
  const from = known.length > 0 ? Math.min(...known) : Math.max(lower.search(/\bname|\bcalled/), 0);
  const after = LINK.exec(statement.slice(from));
  const link = after ?? LINK.exec(statement);
  if (link === null) return withoutEnd(statement);
  const at = link.index + (after === null ? 0 : from);
  const value = after === null ? statement.slice(0, at) : statement.slice(at + link[0].length);
  return withoutEnd(value.split(CLAUSE_END, 1)[0] ?? value) || withoutEnd(statement);
}

function withoutEnd(text: string): string {
  return text
    .trim()
    .replace(/^(?:called|named) /i, '')
    .replace(/[.!,;]{1,3}$/, '')
    .replace(/^["“](.*)["”]$/, '$1');
}

/** A text's sentences; for JSON, each member as a sentence. */
export function statementsOf(text: string): readonly string[] {
  return membersOf(text) ?? sentencesOf(text);
}

const MAX_JSON = 256 * 1024;

/** The members of a JSON value as `name: value`; undefined: the text is not a JSON object or array. */
export function membersOf(text: string): readonly string[] | undefined {
  if (text.length > MAX_JSON || !isJson(text)) return undefined;
  try {
    return flatten(JSON.parse(text), '', 0);
  } catch {
    return undefined;
  }
}

function isJson(text: string): boolean {
  return /^\s{0,100}[{[]/.test(text);
}

function flatten(value: unknown, name: string, depth: number): readonly string[] {
  if (typeof value !== 'object' || value === null || depth > 16) {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return [name === '' ? text : `${name}: ${text}`];
  }
  const isList = Array.isArray(value);
  return Object.entries(value).flatMap(([key, member]) => {
    const inner = isList ? name : [name, key].filter((part) => part !== '').join(' ');
    return flatten(member, inner, depth + 1);
  });
}

/** The number in an answer, if only the number is wanted. */
export function onlyNumber(excerpt: string, answer: string): string {
  if (!/\b(?:just|only) (?:the )?(?:number|digits?)\b|\bnumber only\b/i.test(excerpt)) return answer;
  return /-?\d[\d,]*(?:\.\d+)?/.exec(answer)?.[0] ?? answer;
}

/** What the model is according to the instructions ("You are a meticulous archivist."). */
export function ownRole(questionSentence: string, instructions: string): string | undefined {
  if (!/\b(?:your (?:role|name|job|task|profession)|who are you|what are you)\b/i.test(questionSentence))
    return undefined;
  const role = /\b(?:you are|your name is|act as) ([^.!?\n]{1,200})/i.exec(instructions)?.[1];
  return role !== undefined && wordsOf(role).length > 0 ? role : undefined;
}
