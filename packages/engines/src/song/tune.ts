/**
 * Tunes: short rhythms that come back, a line that rises and falls, and pitches that fit the chords, move mostly by
 * step and end on the tonic. The same phrase over the same chords gives the same notes, which makes it a tune.
 */
import { createRandom, hashText } from '@darkroom/seeded-random/random';
import type { Random } from '@darkroom/seeded-random/random';
import type { TuneStyle } from './genre.ts';
import type { Harmony } from './harmony.ts';
import { melodyTones, tonesOf } from './theory.ts';

/** Where the beats are in a bar. */
export interface Bar {
  /** Steps in a bar: 16, or 12 in threes. */
  readonly steps: number;
  /** Steps in a beat: 4, or 6 in 6/8. */
  readonly beat: number;
}

/** One note of a rhythm; steps count from the beginning of the phrase. */
export interface Beat {
  readonly step: number;
  readonly length: number;
}

export interface TuneNote extends Beat {
  readonly pitch: number;
  /** 0 to 1. */
  readonly weight: number;
}

/** How heavy a step of the bar is: 1 its first, 0.1 a sixteenth. */
export function weightOf(step: number, { steps, beat }: Bar): number {
  const at = ((step % steps) + steps) % steps;
  if (at === 0) return 1;
  if (at * 2 === steps) return 0.8;
  if (at % beat === 0) return 0.65;
  return at % 2 === 0 ? 0.35 : 0.1;
}

/** A bar's rhythm: a number of notes, heavy steps first, as far off the beat as the style goes. */
function barRhythm(notes: number, style: TuneStyle, bar: Bar, from: number, to: number, random: Random): number[] {
  const candidates: { step: number; worth: number }[] = [];
  for (let step = from; step < to; step += style.grid) {
    const weight = weightOf(step, bar);
    const off = weight < 0.5 ? style.syncopation * (weight > 0.2 ? 1 : 0.55) : 0;
    candidates.push({ step, worth: weight * (1 - style.syncopation * 0.55) + off * 0.8 + random.next() * 0.45 });
  }
  return candidates
    .sort((one, other) => other.worth - one.worth)
    .slice(0, Math.max(1, notes))
    .map(({ step }) => step)
    .sort((one, other) => one - other);
}

type PhraseName = 'open' | 'answer' | 'other' | 'close';

/** The line that a phrase follows, around its middle: -1 low to 1 high, over the phrase from 0 to 1. */
type Contour = (position: number) => number;

const CONTOURS: readonly [Contour, ...Contour[]] = [
  (u) => Math.sin(Math.PI * u) * 1.4 - 0.6,
  (u) => 0.8 - 1.5 * u,
  (u) => -0.7 + 1.4 * u,
  (u) => Math.sin(2 * Math.PI * u) * 0.9,
  (u) => -Math.sin(2 * Math.PI * u) * 0.8 + 0.1,
  (u) => (u < 0.5 ? 0.7 : -0.3) - 0.5 * u,
  (u) => Math.sin(Math.PI * Math.min(1, u * 1.6)) - 0.4,
];

export interface Theme {
  /** The rhythm of a phrase of two bars. */
  rhythm(phrase: PhraseName): readonly Beat[];
  contour(phrase: PhraseName): Contour;
  readonly seed: number;
}

/** Invents a theme with phrases of two bars. */
export function inventTheme(style: TuneStyle, bar: Bar, lift: number, random: Random): Theme {
  const perBar = (style.density * bar.steps) / bar.beat;
  const count = (share: number): number => {
    const exact = perBar * share;
    return Math.max(1, Math.floor(exact) + (random.chance(exact % 1) ? 1 : 0));
  };
  const startsLate = random.chance(0.25 + style.syncopation * 0.3);
  const begin = startsLate ? Math.min(bar.beat, Math.max(style.grid, 2)) : 0;
  const motif = barRhythm(count(1.05), style, bar, begin, bar.steps, random);
  const varied = barRhythm(count(1.15), style, bar, 0, bar.steps, random);
  const tail = (share: number, reach: number): number[] =>
    barRhythm(count(share), style, bar, 0, bar.steps * reach, random);
  const ends = { open: tail(0.6, 0.7), answer: tail(0.5, 0.6), other: tail(0.8, 0.9), close: tail(0.35, 0.55) };
  const contours = { open: random.pick(CONTOURS), other: random.pick(CONTOURS), close: random.pick(CONTOURS) };
  const rhythms = (['open', 'answer', 'other', 'close'] as const).map((phrase) => {
    const first = phrase === 'other' ? varied : motif;
    const steps = [...first, ...ends[phrase].map((step) => step + bar.steps)];
    return [phrase, withLengths(steps, bar.steps * 2, bar)] as const;
  });
  const byName = new Map<PhraseName, readonly Beat[]>(rhythms);
  return {
    seed: hashText(`${random.next()}`),
    rhythm: (phrase) => byName.get(phrase) ?? [],
    contour: (phrase) => {
      const shape = phrase === 'answer' ? contours.open : contours[phrase];
      return (position) => shape(position) * 0.8 + lift + (phrase === 'other' ? 0.35 : 0);
    },
  };
}

/** Notes last until the next; the last one ends before the phrase to leave a breath. */
export function withLengths(steps: readonly number[], end: number, bar: Bar): Beat[] {
  return steps.map((step, index) => {
    const next = steps[index + 1] ?? Math.max(step + bar.beat, end - 2);
    return { step, length: Math.min(next - step, bar.steps) };
  });
}

/** The phrases of a section of a given number of bars, two bars each. */
export function phrasesFor(bars: number): PhraseName[] {
  const count = Math.max(1, Math.round(bars / 2));
  const rows: readonly (readonly PhraseName[])[] = [
    ['close'],
    ['open', 'close'],
    ['open', 'other', 'close'],
    ['open', 'answer', 'other', 'close'],
    ['open', 'answer', 'open', 'other', 'close'],
    ['open', 'answer', 'open', 'answer', 'other', 'close'],
  ];
  const row = rows[count - 1];
  if (row !== undefined) return [...row];
  return [...phrasesFor((count - 4) * 2), 'open', 'answer', 'other', 'close'];
}

/** The constraints on the pitches of a line. */
export interface Line {
  readonly lowest: number;
  readonly highest: number;
  /** How readily it leaps, 0 to 1. */
  readonly leaps: number;
  /** The harmony at a step from the beginning of the rhythm. */
  harmonyAt(step: number): Harmony;
  readonly contour: Contour;
  /** The previous pitch. */
  readonly from: number | undefined;
  /** Whether it ends on the tonic. */
  readonly comesHome: boolean;
  readonly seed: number;
}

const MOVE_COST: readonly number[] = [0.9, 0, 0, 0.55, 0.7, 1, 3.2, 1.3, 2, 2.4, 3.5, 4.5, 2.6];

/**
 * Gives a rhythm its pitches: the line with the lowest cost, where leaps, deviations from the contour, and notes
 * outside the chord on heavy beats have a cost.
 */
export function pitchLine(rhythm: readonly Beat[], line: Line, bar: Bar): TuneNote[] {
  const { lowest, highest, leaps } = line;
  const middle = (lowest + highest) / 2;
  const reach = (highest - lowest) / 2;
  const end = (rhythm.at(-1)?.step ?? 0) + 1;
  let before: { pitch: number; cost: number; isChord: boolean; path: readonly number[] }[] =
    line.from === undefined ? [] : [{ pitch: line.from, cost: 0, isChord: true, path: [] }];
  for (const [index, beat] of rhythm.entries()) {
    const { chord, key } = line.harmonyAt(beat.step);
    const [allowed, tones] = [melodyTones(chord, key), tonesOf(chord).slice(0, 4)];
    const weight = Math.max(weightOf(beat.step, bar), beat.length >= bar.beat * 1.5 ? 0.9 : 0);
    const target = middle + line.contour(beat.step / end) * reach * 0.85;
    const isLast = index === rhythm.length - 1;
    const found: typeof before = [];
    for (let pitch = lowest; pitch <= highest; pitch++) {
      const pitchClass = pitch % 12;
      if (!allowed.includes(pitchClass)) continue;
      const isChord = tones.includes(pitchClass);
      let cost = Math.abs(pitch - target) * 0.22 + chanceOf(line.seed, index, pitch) * 0.9;
      if (!isChord) cost += weight > 0.6 ? 2.6 : weight > 0.3 ? 0.8 : 0.3;
      if (isLast && !isChord) cost += 3;
      if (isLast && line.comesHome && pitchClass !== key.tonic)
        cost += pitchClass === chord.root || !tones.includes(key.tonic) ? 1.2 : 3;
      let best: (typeof before)[number] | undefined;
      for (const one of before) {
        const move = Math.abs(pitch - one.pitch);
        const leap = (MOVE_COST[move] ?? 6) * (1.35 - leaps);
        // Notes outside the chord are approached and left by step.
        const strange = move > 2 && (!isChord || !one.isChord) ? 1.6 : 0;
        const total = one.cost + leap + strange;
        if (best === undefined || total < best.cost) best = { ...one, cost: total };
      }
      found.push({ pitch, cost: cost + (best?.cost ?? 0), isChord, path: [...(best?.path ?? []), pitch] });
    }
    if (found.length > 0) before = found;
  }
  const best = before.reduce<(typeof before)[number] | undefined>(
    (least, one) => (least === undefined || one.cost < least.cost ? one : least),
    undefined,
  );
  return rhythm.map((beat, index) => ({
    ...beat,
    pitch: best?.path[index] ?? Math.round(middle),
    weight: 0.55 + 0.45 * weightOf(beat.step, bar),
  }));
}

/** The same small random value for the same note of the same theme. */
function chanceOf(seed: number, index: number, pitch: number): number {
  return createRandom((seed ^ Math.imul(index + 1, 0x9e3779b1) ^ Math.imul(pitch, 0x85ebca6b)) >>> 0).next();
}
