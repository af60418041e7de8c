/**
 * The form of a song: how many bars at which tempo fill the requested time, and which sections they make. The last bar
 * is always followed by a final chord that rings out into the end of the file.
 */
import type { Random } from '@darkroom/seeded-random/random';

export type SectionKind = 'intro' | 'verse' | 'chorus' | 'bridge' | 'solo' | 'break' | 'outro';

export interface Section {
  readonly kind: SectionKind;
  readonly bars: number;
  /** How much is going on, 0 (almost nothing) to 5 (the whole band). */
  readonly intensity: number;
  /** Semitones above the song's key. */
  readonly shift: number;
}

/** Tempo and length of a whole song. */
export interface Timing {
  /** Beats a minute. */
  readonly bpm: number;
  /** Seconds of one bar. */
  readonly barSeconds: number;
  /** Whole bars before the final chord, at least 1. */
  readonly bars: number;
  /** When the final chord begins, in seconds: at the end of the bars, or earlier in a piece shorter than one bar. */
  readonly endSeconds: number;
}

/** The least time that a final chord rings: seconds, and share of a short piece. */
const RING_SECONDS = 2.2;
const RING_SHARE = 0.3;

/** The least time that the final chord of a piece of a given length rings. */
export function ringOf(seconds: number): number {
  return Math.min(RING_SECONDS, seconds * RING_SHARE);
}

/** How far from the genre's own range a tempo may go to make bars fit, if the prompt names none. */
const TEMPO_SLACK = 0.04;

/** The tempo that a genre takes in a mood: calm ones near its slow end, or somewhat below. */
export function usualTempo(range: readonly [number, number], energy: number, random: Random): number {
  const [low, high] = range;
  const position = 0.5 + 0.55 * energy + random.between(-0.25, 0.25) * (1 - Math.abs(energy));
  return low + (high - low) * Math.min(Math.max(position, -0.1), 1.1);
}

/**
 * Fits bars into a time.
 *
 * @param seconds of the whole file.
 * @param bpm the desired tempo; exact when `isFixed`.
 * @param beats per bar.
 * @param grain bars come in multiples of this if there are enough of them.
 */
export function fitBars(seconds: number, bpm: number, isFixed: boolean, beats: number, grain: number): Timing {
  const ring = ringOf(seconds);
  const wished = (60 / bpm) * beats;
  const room = seconds - ring;
  if (isFixed) {
    const possible = Math.floor(room / wished + 1e-9);
    const bars = Math.max(1, possible);
    const beatSeconds = wished / beats;
    const endSeconds = possible >= 1 ? bars * wished : Math.max(1, Math.floor(room / beatSeconds)) * beatSeconds;
    return { bpm, barSeconds: wished, bars, endSeconds: Math.min(endSeconds, seconds * 0.8) };
  }
  const nearest = room / wished;
  const candidates = [1, 2, 4, grain].flatMap((step) => [
    Math.floor(nearest / step) * step,
    Math.ceil(nearest / step) * step,
  ]);
  let best = Math.max(1, Math.round(nearest));
  let bestCost = Infinity;
  for (const bars of candidates) {
    if (bars < 1) continue;
    // Even numbers of bars justify a small change of the tempo, multiples of the phrase a slightly larger one.
    const stray = Math.abs(Math.log(bars / nearest));
    const isOver = Math.max(0, stray - TEMPO_SLACK) * 4;
    const odd = bars % grain === 0 ? 0 : bars % 4 === 0 ? 0.015 : bars % 2 === 0 ? 0.03 : 0.06;
    const cost = stray + isOver + odd * Math.min(1, nearest / 6);
    if (cost < bestCost) [best, bestCost] = [bars, cost];
  }
  // The final chord rings through the time that remains after stretching the tempo a little.
  const fitted = room / best;
  const barSeconds = Math.min(fitted, wished * (1 + TEMPO_SLACK));
  return { bpm: (60 / barSeconds) * beats, barSeconds, bars: best, endSeconds: best * barSeconds };
}

const INTENSITY: Readonly<Record<SectionKind, number>> = {
  intro: 1,
  verse: 2.2,
  chorus: 4,
  bridge: 2.6,
  solo: 3.4,
  break: 1,
  outro: 1.4,
};

/** Bodies for 1, 2, 3 … units of eight bars; longer ones repeat solo, verse and chorus in the middle. */
const BODIES: readonly (readonly SectionKind[])[] = [
  ['chorus'],
  ['verse', 'chorus'],
  ['verse', 'chorus', 'chorus'],
  ['verse', 'chorus', 'verse', 'chorus'],
  ['verse', 'chorus', 'verse', 'bridge', 'chorus'],
  ['verse', 'chorus', 'verse', 'chorus', 'bridge', 'chorus'],
  ['verse', 'chorus', 'verse', 'chorus', 'bridge', 'chorus', 'chorus'],
  ['verse', 'verse', 'chorus', 'verse', 'chorus', 'bridge', 'chorus', 'chorus'],
];
const MIDDLE: readonly SectionKind[] = ['solo', 'verse', 'chorus', 'break'];

function bodyOf(units: number): SectionKind[] {
  const whole = BODIES[units - 1];
  if (whole !== undefined) return [...whole];
  const more = units - BODIES.length;
  const middle = Array.from({ length: more }, (_, index) => MIDDLE[index % MIDDLE.length] ?? 'solo');
  return ['verse', 'verse', 'chorus', 'verse', 'chorus', ...middle, 'bridge', 'chorus', 'chorus'];
}

/** The input for the form of a song. */
export interface FormWish {
  readonly bars: number;
  /** Bars of one section: 8, or 12 for a blues. */
  readonly unit: number;
  readonly energy: number;
  readonly isDance: boolean;
  /** Whether the last chorus may go up a step. */
  readonly mayRise: boolean;
}

/** Divides a number of bars into sections that add up to it. */
export function cutSections(wish: FormWish, random: Random): Section[] {
  const { bars, unit } = wish;
  let plan: PlainSection[];
  if (bars < 4) plan = [{ kind: 'chorus', bars }];
  else if (bars < unit) {
    // Four bars of tune, and the remaining bars before them.
    const over = bars - 4;
    plan =
      over < 3
        ? [{ kind: 'intro', bars: over }]
        : [
            { kind: 'intro', bars: over % 2 },
            { kind: 'verse', bars: over - (over % 2) },
          ];
    plan = [...plan, { kind: 'chorus', bars: 4 }];
  } else if (bars < unit * 2) {
    // A short song: a verse and a chorus, both in halves if there is no room for more.
    const half = unit / 2;
    const rest = bars - unit;
    const chorus = rest >= half ? unit : half;
    const intro = bars - half - chorus;
    plan = [
      { kind: 'intro', bars: intro },
      { kind: 'verse', bars: half },
      { kind: 'chorus', bars: chorus },
    ];
  } else {
    plan = longPlan(bars, unit);
  }
  return shapeSections(plan, wish, random);
}

/** A section without its loudness. */
export interface PlainSection {
  readonly kind: SectionKind;
  readonly bars: number;
}

/** Gives sections their intensity: verses grow, the last chorus is the greatest, and may be in a higher key. */
export function shapeSections(
  plan: readonly PlainSection[],
  wish: Pick<FormWish, 'energy' | 'isDance' | 'mayRise'>,
  random: Random,
): Section[] {
  const kept = plan.filter(({ bars }) => bars > 0);
  const choruses = kept.filter(({ kind }) => kind === 'chorus').length;
  const rise = wish.mayRise && choruses >= 3 && random.chance(0.55) ? random.pick([1, 2, 2] as const) : 0;
  let chorus = 0;
  let verse = 0;
  let shift = 0;
  return kept.map(({ kind, bars }) => {
    if (kind === 'chorus') chorus += 1;
    if (kind === 'verse') verse += 1;
    const isLast = kind === 'chorus' && chorus === choruses;
    if (isLast) shift = rise;
    const grown = kind === 'verse' ? Math.min(verse - 1, 2) * 0.4 : isLast && choruses > 1 ? 1 : 0;
    const quiet = wish.isDance && (kind === 'bridge' || kind === 'break') ? -1.6 : 0;
    const intensity = Math.min(5, Math.max(0, INTENSITY[kind] + grown + quiet + wish.energy * 0.5));
    return { kind, bars, intensity, shift };
  });
}

function longPlan(bars: number, unit: number): PlainSection[] {
  const half = unit === 12 ? 4 : unit / 2;
  const ends = bars >= unit * 3 ? half : Math.min(half, 2);
  const units = Math.max(1, Math.floor((bars - 2 * ends) / unit));
  const spare = bars - 2 * ends - units * unit;
  const body = bodyOf(units).map((kind) => ({ kind, bars: unit }));
  // The remaining bars become a break before the last chorus; a bar or two extend the ends.
  const pause = spare >= 4 ? 4 : spare >= 2 && units > 3 ? 2 : 0;
  const left = spare - pause;
  const intro = ends + Math.floor(left / 4) * 2;
  const plan: PlainSection[] = [{ kind: 'intro', bars: intro }, ...body];
  if (pause > 0) plan.splice(plan.length - 1, 0, { kind: units < 3 ? 'verse' : 'break', bars: pause });
  plan.push({ kind: 'outro', bars: bars - plan.reduce((sum, section) => sum + section.bars, 0) });
  return plan;
}
