/**
 * The form in which an answer is wanted, as far as simple rules find it in the prompt or in the instructions: the
 * number of words or sentences, only the value itself, in capitals, with a word at its end.
 */
import type { Conversation } from './conversation.ts';
import { NUMBER_PATTERN, capitalised, isEmptyWord, numberFrom, sentencesOf, wordsOf } from './words.ts';

export interface RequestedForm {
  readonly words: number | undefined;
  readonly sentences: number | undefined;
  /** Nothing but the requested value: "reply with just the number". */
  readonly isTerse: boolean;
  readonly letters: 'capital' | 'small' | undefined;
  readonly beginning: string | undefined;
  readonly ending: string | undefined;
}

const WORDS = new RegExp(String.raw`\b(single|${NUMBER_PATTERN})[- ]words?\b`, 'i');
const SENTENCES = new RegExp(String.raw`\b(single|${NUMBER_PATTERN})[- ]sentences?\b`, 'i');
const TERSE = [
  /\b(?:reply|answer|respond|return|output|give|print|tell)\b[^.?!\n]{0,60}\b(?:just|only|nothing)\b/i,
  /\b(?:just|only) the \w+/i,
];
const EDGE =
  /\b(begin|start|end|finish)\b[^".“\n]{0,60}\b(?:reply|replies|answer|answers|response|responses|message|messages)\b[^".“\n]{0,20}\bwith\b(?: the)?(?: exact)?(?: words?| phrase)?[: ]{1,2}["“']?([^"“”.'\n]{1,80})/i;

export function readRequestedForm({ instructions, excerpt }: Conversation): RequestedForm {
  const text = `${instructions.slice(0, 8192)}\n${excerpt}`;
  const edges = sentencesOf(text).map((sentence) => EDGE.exec(sentence));
  const edge = (verbs: RegExp): string | undefined => edges.find((found) => verbs.test(found?.[1] ?? ''))?.[2]?.trim();
  return {
    words: amount(WORDS.exec(text)?.[1]),
    sentences: amount(SENTENCES.exec(text)?.[1]),
    isTerse: TERSE.some((pattern) => pattern.test(text)),
    letters: /\b(?:all caps|all[- ]capitals|upper ?case|capital letters)\b/i.test(text)
      ? 'capital'
      : /\blower ?case\b/i.test(text)
        ? 'small'
        : undefined,
    beginning: edge(/begin|start/i),
    ending: edge(/end|finish/i),
  };
}

/** Whether any form will do. */
export function isFree(form: RequestedForm): boolean {
  const { isTerse, ...rest } = form;
  return !isTerse && Object.values(rest).every((value) => value === undefined);
}

function amount(word: string | undefined): number | undefined {
  if (word === undefined) return undefined;
  return word.toLowerCase() === 'single' ? 1 : numberFrom(word);
}

/** Converts an answer to the form. */
export function inForm(answer: string, form: RequestedForm): string {
  let text = answer;
  if (form.sentences !== undefined && form.sentences > 0) {
    const sentences = sentencesOf(text);
    if (sentences.length > form.sentences) text = sentences.slice(0, form.sentences).join(' ');
  }
  if (form.words !== undefined && form.words > 0) text = cutToWords(text, form.words);
  if (form.beginning !== undefined && !text.startsWith(form.beginning)) text = `${form.beginning} ${text}`;
  if (form.ending !== undefined && !text.trimEnd().endsWith(form.ending)) text = `${text} ${form.ending}`;
  if (form.letters === 'capital') return text.toUpperCase();
  return form.letters === 'small' ? text.toLowerCase() : text;
}

/** Of a short phrase its head, which comes last in English ("a meticulous archivist"); of other texts the beginning. */
function cutToWords(text: string, count: number): string {
  const words = wordsOf(text);
  if (words.length <= count) return text;
  if (count > 1)
    return text
      .trim()
      .split(/\s+/)
      .slice(0, count)
      .join(' ')
      .replace(/[,;:]$/, '');
  const meaningful = words.filter((word) => !isEmptyWord(word));
  return capitalised((words.length <= 4 ? meaningful.at(-1) : meaningful[0]) ?? words[0] ?? text);
}
