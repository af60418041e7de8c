/**
 * The syllables of a spoken line: its sounds divided where a singer would divide them, so that a syllable begins with
 * as many consonants as English allows.
 */
import type { Phone } from '../speech/speaking.ts';

export interface Syllable {
  /** Consonants before the vowel. */
  readonly onset: readonly Phone[];
  readonly vowel: Phone;
  /** Consonants after it. */
  readonly coda: readonly Phone[];
  /** Whether it may fall between the beats: its vowel is a reduced one. */
  readonly isLight: boolean;
}

const VOWELS: ReadonlySet<string> = new Set(
  'aa ae ah ao aw ax axr ay eh er ey ih ix iy ow oy uh uw ux el em en'.split(' '),
);
const LIGHT: ReadonlySet<string> = new Set(['ax', 'axr', 'ix', 'el', 'em', 'en']);
const SILENCE = 'pau';
/** Onsets of a syllable, in addition to any single consonant except `ng`. */
const ONSETS: ReadonlySet<string> = new Set(
  (
    'p l|p r|p y|b l|b r|b y|t r|t w|t y|d r|d w|d y|k l|k r|k w|k y|g l|g r|g w|f l|f r|f y|v y|th r|th w|sh r|hh y|hh w|m y|n y|' +
    's p|s t|s k|s m|s n|s l|s w|s f|s p l|s p r|s p y|s t r|s k l|s k r|s k w|s k y'
  ).split('|'),
);

function canBegin(consonants: readonly Phone[]): boolean {
  if (consonants.length === 0) return true;
  if (consonants.length === 1) return consonants[0]?.name !== 'ng';
  return ONSETS.has(consonants.map(({ name }) => name).join(' '));
}

/** @param phones of one utterance; silences divide syllables and are left out. */
export function syllablesOf(phones: readonly Phone[]): Syllable[] {
  const found: { onset: Phone[]; vowel: Phone; coda: Phone[]; isLight: boolean }[] = [];
  let waiting: Phone[] = [];
  for (const phone of phones) {
    const last = found.at(-1);
    if (phone.name === SILENCE) {
      if (last !== undefined) last.coda.push(...waiting);
      if (last !== undefined) waiting = [];
      continue;
    }
    if (!VOWELS.has(phone.name)) {
      waiting.push(phone);
      continue;
    }
    let cut = 0;
    if (last !== undefined) while (!canBegin(waiting.slice(cut))) cut += 1;
    last?.coda.push(...waiting.slice(0, cut));
    found.push({ onset: waiting.slice(cut), vowel: phone, coda: [], isLight: LIGHT.has(phone.name) });
    waiting = [];
  }
  found.at(-1)?.coda.push(...waiting);
  return found;
}
