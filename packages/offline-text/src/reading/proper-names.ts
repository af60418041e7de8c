/** Names in a text: runs of capitalized words, distinguished from words that only begin a sentence. */
import { isEmptyWord } from './words.ts';

export interface ProperName {
  readonly text: string;
  /** The preposition before it, or before the row that contains it. */
  readonly after: string;
  /** Names in one row (`Paris, London and Rome`) have the same number. */
  readonly row: number;
}

const RUN = /\p{Lu}[\p{L}\p{N}’'-]*(?: (?:(?:de|da|la|van|von|of the) )?\p{Lu}[\p{L}\p{N}’'-]*)*/gu;
const BEFORE = /(?:^|[\s("“])([a-z]+) (?:the |city of )?["“]?$/;
const BETWEEN = /^,? (?:and |or )?$|^, ?$|^ & $/;
const SENTENCE_START = /(?:^|[.!?:]\s*|\n\s*)["“]?$/;

/** Verbs that a command begins with. */
const COMMANDS = new Set(
  `add answer ask book build buy call check compare compute convert count create delete describe display do draft email
  extract fetch find generate hello help here hey hi invent look multiply note open order pass please plan play read
  remind remove reserve return roll run save schedule search send set show start stop subtract summarize summarise
  text translate update use weather write thanks today tomorrow json`.split(/\s+/),
);

export function properNames(text: string): readonly ProperName[] {
  const names: ProperName[] = [];
  let last: { readonly end: number; readonly row: number; readonly after: string } | undefined;
  for (const match of text.matchAll(RUN)) {
    const end = match.index + match[0].length;
    const before = text.slice(Math.max(0, match.index - 40), match.index);
    const name = withoutStart(match[0], SENTENCE_START.test(before), text.slice(end, end + 12));
    if (name === '') continue;
    const isNext = last !== undefined && BETWEEN.test(text.slice(last.end, match.index));
    const row = isNext && last !== undefined ? last.row : names.length;
    const after = isNext && last !== undefined ? last.after : (BEFORE.exec(before)?.[1] ?? '');
    names.push({ text: name, after, row });
    last = { end, row, after };
  }
  return names;
}

/**
 * The first word of a sentence is capitalized for that reason, unless it begins a longer name or is the subject of a
 * verb.
 */
function withoutStart(run: string, isStart: boolean, follows: string): string {
  const words = run.split(' ');
  const isOrdinary = (word: string): boolean =>
    isEmptyWord(word) || COMMANDS.has(word.toLowerCase()) || /^I(?:['’]|$)/u.test(word);
  while (words.length > 0 && isOrdinary(words[0] ?? '')) words.shift();
  const isWhole = words.length === run.split(' ').length;
  if (
    isStart &&
    isWhole &&
    words.length === 1 &&
    !/^(?:['’]s)? (?:is|was|has|lives|works|weather|time)\b|^,/.test(follows)
  )
    return '';
  return words.join(' ').replace(/['’]s?$/u, '');
}
