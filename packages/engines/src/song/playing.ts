/**
 * Reads the strings of `patterns.ts` as notes: chords and arpeggios, bass lines, drum grooves and fills.
 */
import type { Random } from '@darkroom/seeded-random/random';
import type { Harmony } from './harmony.ts';
import { BASS_LINES, BASS_LINES_OF_THREE, COMP_PATTERNS, COMP_PATTERNS_OF_THREE, DRUM_KEYS } from './patterns.ts';
import { nearest, scaleOf, tonesOf, voiced } from './theory.ts';
import type { Bar } from './tune.ts';

/** One note of an accompaniment; steps count from the beginning of its bar. */
export interface PatternNote {
  readonly step: number;
  readonly length: number;
  readonly pitch: number;
  /** 0 to 1. */
  readonly weight: number;
  /** Index of the note in a chord struck from the bottom up, 0 the first; for strings that are strummed. */
  readonly strum: number;
}

const LOUDNESS: Readonly<Record<string, number>> = { X: 1, x: 0.8, o: 0.55 };

/** The alternatives of a name in bars of four or of three beats; without a variant for three, the waltz. */
function choices(
  ofFour: Readonly<Record<string, readonly string[]>>,
  ofThree: Readonly<Record<string, readonly string[]>>,
  name: string,
  bar: Bar,
  fallback: string,
): readonly string[] {
  if (bar.steps === 16) return ofFour[name] ?? ofFour['whole'] ?? ofFour['hold'] ?? [];
  return ofThree[name] ?? ofThree[bar.beat === 6 ? 'six' : fallback] ?? [];
}

function pickOne(list: readonly string[], random: Random): string {
  return list[random.integer(0, Math.max(0, list.length - 1))] ?? '';
}

/** The accompaniment of that name, one of its variants. */
export function chooseComp(name: string, bar: Bar, random: Random): string {
  return pickOne(choices(COMP_PATTERNS, COMP_PATTERNS_OF_THREE, name, bar, 'waltz'), random);
}

/** The bass line of that name, one of its variants; `walk` and `drone` are rules and stay as they are. */
export function chooseBass(name: string, bar: Bar, random: Random): string {
  if (name === 'drone' || (name === 'walk' && bar.steps === 16)) return name;
  return pickOne(choices(BASS_LINES, BASS_LINES_OF_THREE, name, bar, 'waltz'), random);
}

/** How many steps a sign is held: itself and the points after it. */
function heldFor(pattern: string, step: number): number {
  let length = 1;
  while (pattern[step + length] === '.') length += 1;
  return length;
}

/** The position of a chord player's hand: its last chord. */
export interface CompHand {
  pattern: string;
  voicing: readonly number[];
}

/**
 * Plays one bar of chords.
 *
 * @param harmonies of the first and the second half of the bar.
 */
export function playComp(
  hand: CompHand,
  harmonies: readonly [Harmony, Harmony],
  part: { readonly centre: number; readonly voices: number; readonly isPower: boolean },
  bar: Bar,
): PatternNote[] {
  const notes: PatternNote[] = [];
  const { pattern } = hand;
  let harmony: Harmony | undefined;
  let low = 0;
  const isSplit = harmonies[0].chord !== harmonies[1].chord && !sameChord(harmonies[0], harmonies[1]);
  for (let step = 0; step < bar.steps; step++) {
    const here = harmonies[step * 2 < bar.steps ? 0 : 1];
    const isNew = harmony === undefined || !sameChord(here, harmony);
    if (isNew) {
      hand.voicing = part.isPower
        ? powerVoicing(here, part.centre)
        : voiced(here.chord, part.centre, hand.voicing, part.voices);
      low = nearest(here.chord.bass, (hand.voicing[0] ?? part.centre) - 9);
      harmony = here;
    }
    const isMiddle = isSplit && step * 2 === bar.steps;
    const sign = isMiddle && pattern[step] === '.' ? 'x' : pattern[step];
    if (sign === undefined || sign === '-' || sign === '.') continue;
    let length = heldFor(pattern, step);
    if (isSplit && step * 2 < bar.steps && (step + length) * 2 > bar.steps) length = bar.steps / 2 - step;
    const weight = LOUDNESS[sign] ?? 0.75;
    if (sign === 'b') {
      notes.push({ step, length, pitch: low, weight: 0.9, strum: 0 });
    } else if (/\d/.test(sign)) {
      const index = Number(sign) - 1;
      const size = Math.max(1, hand.voicing.length);
      const pitch = (hand.voicing[index % size] ?? part.centre) + 12 * Math.floor(index / size);
      notes.push({ step, length, pitch, weight: 0.7 + (step % bar.beat === 0 ? 0.15 : 0), strum: 0 });
    } else {
      const played = sign === 'o' ? hand.voicing.slice(-2) : hand.voicing;
      for (const [strum, pitch] of played.entries()) notes.push({ step, length, pitch, weight, strum });
    }
  }
  return notes;
}

function sameChord(one: Harmony, other: Harmony): boolean {
  return (
    one.chord.root === other.chord.root &&
    one.chord.intervals.join() === other.chord.intervals.join() &&
    one.chord.bass === other.chord.bass
  );
}

/** Root, fifth and octave: playable by a distorted guitar without muddiness. */
function powerVoicing({ chord }: Harmony, centre: number): readonly number[] {
  const root = nearest(chord.root, centre - 3);
  const fifth = chord.intervals.includes(6) && !chord.intervals.includes(7) ? 6 : 7;
  return [root, root + fifth, root + 12];
}

/**
 * Plays one bar of bass.
 *
 * @param next the harmony after the bar, for notes that lead there.
 */
export function playBass(
  pattern: string,
  harmonies: readonly [Harmony, Harmony],
  next: Harmony,
  centre: number,
  bar: Bar,
  random: Random,
): PatternNote[] {
  const rootOf = (harmony: Harmony): number => {
    const root = nearest(harmony.chord.bass, centre);
    return root < 26 ? root + 12 : root;
  };
  const isSplit = !sameChord(harmonies[0], harmonies[1]);
  if (pattern === 'drone') return [{ step: 0, length: bar.steps, pitch: rootOf(harmonies[0]), weight: 0.8, strum: 0 }];
  if (pattern === 'walk') return walk(harmonies, next, rootOf, random);
  const notes: PatternNote[] = [];
  for (let step = 0; step < bar.steps; step++) {
    const isSecond = step * 2 >= bar.steps;
    const harmony = harmonies[isSecond ? 1 : 0];
    const isMiddle = isSplit && step * 2 === bar.steps;
    const sign = isMiddle && !/[0-9]/.test(pattern[step] ?? '-') ? '1' : (pattern[step] ?? '-');
    if (sign === '-' || sign === '.') continue;
    const root = rootOf(harmony);
    const steps = harmony.chord.intervals;
    const fifth = steps.includes(7) ? 7 : steps.includes(6) ? 6 : 7;
    const up = root + fifth > centre + 12 ? fifth - 12 : fifth;
    const pitches: Readonly<Record<string, number>> = {
      '1': root,
      '3': root + (steps.includes(3) ? 3 : 4),
      '5': root + up,
      '7': root + (steps.includes(11) ? 11 : 10),
      '8': root + 12,
      a: approach(rootOf(next), root, harmony),
    };
    let length = heldFor(pattern, step);
    if (isSplit && !isSecond && (step + length) * 2 > bar.steps) length = bar.steps / 2 - step;
    const weight = step === 0 ? 1 : step % bar.beat === 0 ? 0.88 : 0.78;
    notes.push({ step, length, pitch: pitches[sign] ?? root, weight, strum: 0 });
  }
  return notes;
}

/** A step of the scale below or above the target, on the side of the previous note. */
function approach(to: number, from: number, { key }: Harmony): number {
  const scale = scaleOf(key);
  const side = from >= to ? 1 : -1;
  for (const step of [1, 2]) if (scale.includes((((to + side * step) % 12) + 12) % 12)) return to + side * step;
  return to + side;
}

/** Four walking beats from this root to the next one. */
function walk(
  harmonies: readonly [Harmony, Harmony],
  next: Harmony,
  rootOf: (harmony: Harmony) => number,
  random: Random,
): PatternNote[] {
  const [first, second] = [rootOf(harmonies[0]), rootOf(harmonies[1])];
  const goal = rootOf(next);
  const isSplit = !sameChord(harmonies[0], harmonies[1]);
  const tones = tonesOf(harmonies[0].chord);
  const third = nearest(tones[1] ?? 0, first + (goal >= first ? 4 : -4));
  const fifth = nearest(tones[2] ?? 0, first + (goal >= first ? 7 : -5));
  const ways: readonly (readonly [number, number])[] = [
    [third, fifth],
    [fifth, third],
    [nearest(((tones[0] ?? 0) + 2) % 12, first + 2), third],
    [first + 12, fifth],
  ];
  const [two, three] = isSplit
    ? [approach(second, first, harmonies[0]), second]
    : (ways[random.integer(0, 3)] ?? [third, fifth]);
  const four = random.chance(0.5) ? approach(goal, three, harmonies[1]) : goal + (three > goal ? 1 : -1);
  const notes: PatternNote[] = [first, two, three, four].map((pitch, beat) => ({
    step: beat * 4,
    length: 4,
    pitch: Math.min(Math.max(pitch, 28), 55),
    weight: beat === 0 ? 1 : beat === 2 ? 0.9 : 0.84,
    strum: 0,
  }));
  if (random.chance(0.2))
    notes.push({ step: 14, length: 2, pitch: Math.min(Math.max(four, 28), 55), weight: 0.6, strum: 0 });
  return notes;
}

/** One stroke on a drum. */
export interface DrumStroke {
  readonly step: number;
  /** Key in the kit. */
  readonly key: number;
  readonly weight: number;
}

/** Reads one bar of drums: `k:X---x---;s:…`. */
export function playDrums(groove: string): DrumStroke[] {
  const strokes: DrumStroke[] = [];
  for (const line of groove.split(';')) {
    const key = DRUM_KEYS[line[0] ?? ''];
    if (key === undefined) continue;
    for (const [step, sign] of Array.from(line.slice(2)).entries()) {
      const weight = LOUDNESS[sign];
      if (weight !== undefined) strokes.push({ step, key, weight });
    }
  }
  return strokes;
}
