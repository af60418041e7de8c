/**
 * Assigns the sounds of an utterance to its words. Flite reports its words and its sounds, but not the relation of the
 * two: so the words are requested once more, each alone between pauses, and the two sequences of sounds are aligned.
 */
import { runFlite } from './flite-program.ts';
import type { Phone } from './speaking.ts';

/** One word as it was spoken: a number is several. */
export interface SpokenWord {
  /** In lower case, as Flite read it: `forty`, `two`. */
  readonly text: string;
  /** Its sounds in order, with their times in the utterance; at least one. */
  readonly phones: readonly Phone[];
}

const SILENCE = 'pau';
/** Flite speaks some words in another form next to others, but a word never disappears completely. */
const OTHER_SOUND_COST = 1;
const MISSING_SOUND_COST = 1.2;

/** The sounds of each word alone. */
function soundsAlone(words: readonly string[], fliteVoice: string): string[][] {
  const listed = runFlite(['-voice', fliteVoice, '-ps', '-t', words.join(', ')]).printed;
  const groups: string[][] = [];
  let group: string[] = [];
  for (const sound of listed.trim().split(/\s+/)) {
    if (sound !== SILENCE) group.push(sound);
    else if (group.length > 0) {
      groups.push(group);
      group = [];
    }
  }
  if (group.length > 0) groups.push(group);
  return groups;
}

/**
 * Aligns the expected sounds with the actual ones, like an edit distance of spellings.
 *
 * @returns for each actual sound, the index of the expected one that it stands for or follows.
 */
function alignSounds(expected: readonly string[], actual: readonly string[]): number[] {
  const width = actual.length + 1;
  const cost = new Float64Array((expected.length + 1) * width);
  for (let column = 1; column < width; column++) cost[column] = column * MISSING_SOUND_COST;
  for (let row = 1; row <= expected.length; row++) {
    cost[row * width] = row * MISSING_SOUND_COST;
    for (let column = 1; column < width; column++) {
      const isSame = expected[row - 1] === actual[column - 1];
      cost[row * width + column] = Math.min(
        (cost[(row - 1) * width + column - 1] ?? 0) + (isSame ? 0 : OTHER_SOUND_COST),
        (cost[(row - 1) * width + column] ?? 0) + MISSING_SOUND_COST,
        (cost[row * width + column - 1] ?? 0) + MISSING_SOUND_COST,
      );
    }
  }
  const positions = actual.map(() => 0);
  let [row, column] = [expected.length, actual.length];
  while (column > 0) {
    const here = cost[row * width + column] ?? 0;
    const isSame = row > 0 && expected[row - 1] === actual[column - 1];
    const across = row > 0 ? (cost[(row - 1) * width + column - 1] ?? 0) + (isSame ? 0 : OTHER_SOUND_COST) : Infinity;
    if (row > 0 && Math.abs(across - here) < 1e-9) {
      positions[column - 1] = row - 1;
      row -= 1;
      column -= 1;
    } else if (row > 0 && Math.abs((cost[(row - 1) * width + column] ?? 0) + MISSING_SOUND_COST - here) < 1e-9) {
      row -= 1;
    } else {
      positions[column - 1] = Math.max(0, row - 1);
      column -= 1;
    }
  }
  return positions;
}

/** The words of an utterance, each with its sounds; a word without any sound is omitted. */
export function alignedWords(text: string, fliteVoice: string, phones: readonly Phone[]): SpokenWord[] {
  const words = runFlite(['-voice', fliteVoice, '-pw', '-t', text])
    .printed.trim()
    .split(/\s+/)
    .map((word) => word.replace(/^_/, ''))
    .filter((word) => /[a-z0-9]/.test(word));
  const alone = soundsAlone(words, fliteVoice);
  const owners: number[] = [];
  const expected: string[] = [];
  // One group per word: if Flite paused within one, its parts count as words of their own.
  for (const [index, group] of alone.entries()) {
    for (const sound of group) {
      owners.push(Math.min(index, words.length - 1));
      expected.push(sound);
    }
  }
  const heard = phones.filter((phone) => phone.name !== SILENCE);
  const positions = alignSounds(
    expected,
    heard.map((phone) => phone.name),
  );
  const found = words.map((word) => ({ text: word, phones: [] as Phone[] }));
  for (const [index, phone] of heard.entries()) found[owners[positions[index] ?? 0] ?? 0]?.phones.push(phone);
  return found.filter((word) => word.phones.length > 0);
}
