/**
 * A long text in pieces that are spoken one by one, each with the silence that follows it. Pieces are sentences; a
 * sentence that is too long for one breath is split at its commas, and without commas between words.
 */

/** What is spoken in one go. */
export interface Passage {
  /** Not empty; printable ASCII. */
  readonly text: string;
  /** The silence that follows, in seconds, at normal speed. */
  readonly pauseSeconds: number;
}

/** About fifteen seconds of speech: the output of Flite stays small, and progress is reported in between. */
const LONGEST_PASSAGE = 220;
const SENTENCE_PAUSE = 0.38;
const TRAILING_OFF_PAUSE = 0.6;
const PARAGRAPH_PAUSE = 0.75;
const LINE_PAUSE = 0.5;
const COMMA_PAUSE = 0.2;
const BREATH_PAUSE = 0.1;

const ABBREVIATIONS =
  /(?:^|[\s("'])(?:mr|mrs|ms|dr|st|prof|sr|jr|vs|etc|no|co|inc|ltd|gen|col|capt|lt|rev|hon|fig|vol|approx|dept|est|mt|[a-z]|(?:[a-z]\.)+[a-z])\.$/i;

function sentencesOf(line: string): string[] {
  const sentences: string[] = [];
  let begun = '';
  for (const part of line.split(/(?<=[.!?]["')\]]*)\s+/)) {
    begun = begun === '' ? part : `${begun} ${part}`;
    if (ABBREVIATIONS.test(begun)) continue;
    sentences.push(begun);
    begun = '';
  }
  if (begun !== '') sentences.push(begun);
  return sentences;
}

/** Where to split a text that is too long: after the last such sign that leaves a first part of sufficient length. */
function cutAt(text: string): { end: number; pauseSeconds: number } {
  const within = text.slice(0, LONGEST_PASSAGE);
  for (const [sign, pauseSeconds] of [
    [/[;:]\s/g, COMMA_PAUSE],
    [/,\s/g, COMMA_PAUSE],
    [/\s/g, BREATH_PAUSE],
  ] as const) {
    const last = [...within.matchAll(sign)].map((match) => match.index + 1).findLast((end) => end > 40);
    if (last !== undefined) return { end: last, pauseSeconds };
  }
  return { end: LONGEST_PASSAGE, pauseSeconds: 0 };
}

function breathsOf(sentence: string, pauseSeconds: number): Passage[] {
  const passages: Passage[] = [];
  let rest = sentence;
  while (rest.length > LONGEST_PASSAGE) {
    const cut = cutAt(rest);
    passages.push({ text: rest.slice(0, cut.end).trim(), pauseSeconds: cut.pauseSeconds });
    rest = rest.slice(cut.end).trim();
  }
  passages.push({ text: rest, pauseSeconds });
  return passages;
}

/** Splits a speakable text; pieces without a letter or digit are omitted. */
export function passagesOf(text: string): Passage[] {
  const passages: Passage[] = [];
  const lines = text.split(/\n/);
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue;
    const sentences = sentencesOf(line.trim());
    for (const [position, sentence] of sentences.entries()) {
      const isLast = position === sentences.length - 1;
      const behindLine = lines[index + 1]?.trim() === '' ? PARAGRAPH_PAUSE : LINE_PAUSE;
      const behindSentence = /\.\.\.["')]*$/.test(sentence) ? TRAILING_OFF_PAUSE : SENTENCE_PAUSE;
      passages.push(...breathsOf(sentence, isLast ? behindLine : behindSentence));
    }
  }
  return passages.filter((passage) => /[a-z0-9]/i.test(passage.text));
}
