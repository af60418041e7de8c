/**
 * The little that the offline text model knows about language: what a word and a sentence are, which words carry
 * meaning, and how a long text is read without reading all of it. Every pattern is linear in the text's length: the
 * texts are untrusted, and this runs in the API process.
 */

const WORD = /[\p{L}\p{N}]+(?:['’][\p{L}\p{N}]+)*/gu;

/** Words that say nothing about the topic of a text. */
const EMPTY_WORDS = new Set(
  `a about above after again all also am an and any are as at be been before below between both but by can could did do
  does doing down each either else every for from get give given had has have having he her here hers him his how i if
  in into is it its just let like list make many may me might mine more most much must my name need no nor not now of
  off on once one only or other our out over own please put reply respond answer exactly nothing say same see she should
  show so some such tell than that the their them then there these they this those to too under up us use using very was
  we were what what's when where which while who whom whose why will with within without word words would write you your
  yours think thing through sentence sentences return format it's i'm don't essay story article report poem explain
  describe long length step detail detailed invent suggest lot`.split(/\s+/),
);

const NUMBER_WORDS = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];

/** A number as digits or as a word up to ten; undefined: neither. */
export function numberFrom(text: string): number | undefined {
  const index = NUMBER_WORDS.indexOf(text.toLowerCase());
  if (index >= 0) return index;
  const value = Number(text.replaceAll(',', ''));
  return text === '' || !Number.isFinite(value) ? undefined : value;
}

/** Matches what `numberFrom` reads, for patterns with the `i` flag. */
export const NUMBER_PATTERN = String.raw`(?:\d{1,12}|zero|one|two|three|four|five|six|seven|eight|nine|ten)`;

export function wordsOf(text: string): readonly string[] {
  return text.match(WORD) ?? [];
}

/** A word normalized for comparison: lower case, without the endings of plural and possessive. */
export function stemOf(word: string): string {
  const bare = word.toLowerCase().replace(/['’]s?$/u, '');
  return bare.length > 3 && bare.endsWith('s') && !bare.endsWith('ss') ? bare.slice(0, -1) : bare;
}

/** The words that a text is about, in its own spelling, each once. */
export function meaningfulWords(text: string): readonly string[] {
  const words = new Map<string, string>();
  for (const word of wordsOf(text)) {
    if (EMPTY_WORDS.has(word.toLowerCase())) continue;
    const stem = stemOf(word);
    if (!EMPTY_WORDS.has(stem) && !words.has(stem)) words.set(stem, word);
  }
  return [...words.values()];
}

export function isEmptyWord(word: string): boolean {
  return EMPTY_WORDS.has(word.toLowerCase());
}

/** `party_size`, `partySize` → `party`, `size`. */
export function wordsOfName(name: string): readonly string[] {
  return wordsOf(name.replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2').replaceAll(/[_.-]+/g, ' ')).map((word) =>
    word.toLowerCase(),
  );
}

/** The sentences and lines of a text, without the blanks around them. */
export function sentencesOf(text: string): readonly string[] {
  return text
    .split(/(?<=[.!?。！？])\s+|\n+/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '');
}

const EXCERPT = 8192;

/** The beginning and the end of a long text: they state what is to be done with it. */
export function excerptOf(text: string): string {
  if (text.length <= EXCERPT) return text;
  return `${text.slice(0, EXCERPT / 2)}\n${text.slice(-EXCERPT / 2)}`;
}

/** A text escaped for use in a pattern. */
export function escapePattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}

/** With a capital first letter. */
export function capitalised(text: string): string {
  const [first = ''] = text;
  return first.toUpperCase() + text.slice(first.length);
}
