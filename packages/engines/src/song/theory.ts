/**
 * Harmony for songs: keys, scales, chords written as roman numerals, and voicings that move little from one chord to
 * the next. Pitches are MIDI numbers (60 = middle C), pitch classes 0 (C) to 11 (B).
 */

export type ModeName = 'major' | 'minor' | 'dorian' | 'mixolydian' | 'phrygian' | 'lydian' | 'harmonic' | 'freygish';

/** Semitones of each mode over its tonic. `minor` is the natural one; dominants bring their own leading tone. */
const SCALES: Readonly<Record<ModeName, readonly number[]>> = {
  major: [0, 2, 4, 5, 7, 9, 11],
  minor: [0, 2, 3, 5, 7, 8, 10],
  dorian: [0, 2, 3, 5, 7, 9, 10],
  mixolydian: [0, 2, 4, 5, 7, 9, 10],
  phrygian: [0, 1, 3, 5, 7, 8, 10],
  lydian: [0, 2, 4, 6, 7, 9, 11],
  harmonic: [0, 2, 3, 5, 7, 8, 11],
  freygish: [0, 1, 4, 5, 7, 8, 10],
};

export interface Key {
  /** Pitch class of the tonic. */
  readonly tonic: number;
  readonly mode: ModeName;
}

/** Whether the mode's third is minor. */
export function isMinor(mode: ModeName): boolean {
  return SCALES[mode].includes(3);
}

/** The pitch classes of a key, tonic first. */
export function scaleOf({ tonic, mode }: Key): readonly number[] {
  return SCALES[mode].map((step) => (tonic + step) % 12);
}

/** The same key some semitones higher. */
export function transposed(key: Key, semitones: number): Key {
  return { tonic: (((key.tonic + semitones) % 12) + 12) % 12, mode: key.mode };
}

export interface Chord {
  /** Pitch class of the root. */
  readonly root: number;
  /** Semitones over the root, from 0 up. */
  readonly intervals: readonly number[];
  /** Pitch class of the lowest note: the root, except for a chord over another bass. */
  readonly bass: number;
}

const NUMERALS: Readonly<Record<string, number>> = { i: 0, ii: 2, iii: 4, iv: 5, v: 7, vi: 9, vii: 11 };
const SUFFIXES: Readonly<Record<string, readonly number[]>> = {
  maj7: [0, 4, 7, 11],
  maj9: [0, 4, 7, 11, 14],
  '7': [0, 4, 7, 10],
  '9': [0, 4, 7, 10, 14],
  '13': [0, 4, 10, 14, 21],
  '7b9': [0, 4, 7, 10, 13],
  '6': [0, 4, 7, 9],
  '69': [0, 4, 7, 9, 14],
  add9: [0, 4, 7, 14],
  sus2: [0, 2, 7],
  sus4: [0, 5, 7],
  '7sus': [0, 5, 7, 10],
  '5': [0, 7],
  o: [0, 3, 6],
  o7: [0, 3, 6, 9],
  h7: [0, 3, 6, 10],
  '+': [0, 4, 8],
};
const SYMBOL = /^([b#]?)([iv]+|[IV]+)(maj7|maj9|7b9|7sus|add9|sus2|sus4|13|69|o7|h7|[5679o+])?(?:\/([b#]?)(\d))?$/;

/** Semitones over the tonic of a degree of the major scale, with its accidental. */
function degree(accidental: string, semitones: number): number {
  return semitones + (accidental === 'b' ? -1 : accidental === '#' ? 1 : 0);
}

/**
 * Reads a chord in roman numerals: `I`, `vi7`, `bVII`, `V7/3`. Degrees count from the major scale of the tonic, small
 * letters are minor, `/3` puts the third in the bass.
 *
 * @throws {RangeError} it is not such a symbol.
 */
export function readChord(symbol: string, tonic: number): Chord {
  const [, accidental = '', numeral = '', suffix = '', , over] = SYMBOL.exec(symbol) ?? [];
  const semitones = NUMERALS[numeral.toLowerCase()];
  if (semitones === undefined) throw new RangeError(`no chord is written ${JSON.stringify(symbol)}`);
  const isSmall = numeral === numeral.toLowerCase();
  const named = suffix === '' ? [0, 4, 7] : (SUFFIXES[suffix] ?? [0, 4, 7]);
  const intervals = named.map((step) => (isSmall && step === 4 ? 3 : isSmall && step === 11 ? 10 : step));
  const root = (tonic + degree(accidental, semitones) + 12) % 12;
  const bassStep = over === undefined ? 0 : (intervals[(Number(over) - 1) / 2] ?? 0);
  return { root, intervals, bass: (root + bassStep) % 12 };
}

/** How rich a genre's chords are. */
export type Colour = 'power' | 'triads' | 'added' | 'sevenths' | 'ninths';

/** Extends a plain triad to the colour of a genre; a chord that names its own colour stays as it is. */
export function coloured(chord: Chord, colour: Colour, key: Key): Chord {
  const [first, third, fifth, ...more] = chord.intervals;
  if (first === undefined || third === undefined || fifth !== 7 || more.length > 0) return chord;
  const scale = scaleOf(key);
  const has = (step: number): boolean => scale.includes((chord.root + step) % 12);
  if (colour === 'triads' || colour === 'power' || third === 2 || third === 5) return chord;
  const ninth = has(2) ? [14] : [];
  if (colour === 'added') return ninth.length === 0 ? chord : { ...chord, intervals: [0, third, 7, 14] };
  const seventh = third === 4 && has(11) && chord.root !== (key.tonic + 7) % 12 ? 11 : 10;
  return { ...chord, intervals: [0, third, 7, seventh, ...(colour === 'ninths' ? ninth : [])] };
}

/** The pitch classes of a chord, root first. */
export function tonesOf(chord: Chord): readonly number[] {
  return chord.intervals.map((step) => (chord.root + step) % 12);
}

/** The pitch classes a melody may use over a chord: the key's, altered where the chord requires it. */
export function melodyTones(chord: Chord, key: Key): readonly number[] {
  const tones = tonesOf(chord);
  const strange = tones.filter((tone) => !scaleOf(key).includes(tone));
  const kept = scaleOf(key).filter(
    (tone) =>
      tones.includes(tone) ||
      strange.every((other) => (tone - other + 12) % 12 !== 1 && (other - tone + 12) % 12 !== 1),
  );
  return [...new Set([...tones, ...kept])];
}

/** The pitch of a class that lies nearest to another pitch. */
export function nearest(pitchClass: number, to: number): number {
  const up = (((pitchClass - to) % 12) + 12) % 12;
  return up > 6 ? to + up - 12 : to + up;
}

/**
 * Lays a chord out around a centre so that its notes move as little as they can from the voicing before.
 *
 * @param previous the pitches of the chord before, lowest first; empty at a beginning.
 * @param voices how many notes at most; the fifth is dropped first, then the root, which the bass has anyway.
 * @returns pitches, lowest first.
 */
export function voiced(chord: Chord, centre: number, previous: readonly number[], voices: number): readonly number[] {
  const spare = [7, 0];
  let steps = [...chord.intervals];
  for (const step of spare) if (steps.length > voices) steps = steps.filter((one) => one !== step);
  const classes = steps.slice(-voices).map((step) => (chord.root + step) % 12);
  let best: readonly number[] = [];
  let bestCost = Infinity;
  for (let turn = 0; turn < classes.length; turn++) {
    for (const octave of [-12, 0, 12]) {
      const order = [...classes.slice(turn), ...classes.slice(0, turn)];
      let last = nearest(order[0] ?? 0, centre - 4) + octave;
      const pitches = order.map((tone, index) => {
        if (index > 0) last += (((tone - last) % 12) + 12) % 12 || 12;
        return last;
      });
      const middle = pitches.reduce((sum, pitch) => sum + pitch, 0) / pitches.length;
      const moved = previous.length === 0 ? 0 : distance(pitches, previous);
      const cost = moved + Math.abs(middle - centre) * (previous.length === 0 ? 1 : 0.5);
      if (cost < bestCost) [best, bestCost] = [pitches, cost];
    }
  }
  return best;
}

/** How far the notes of one voicing are from the nearest ones of another, in semitones per note. */
function distance(pitches: readonly number[], previous: readonly number[]): number {
  const each = pitches.map((pitch) => Math.min(...previous.map((other) => Math.abs(other - pitch))));
  return each.reduce((sum, one) => sum + one, 0) / Math.max(1, pitches.length);
}
