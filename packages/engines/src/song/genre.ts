/**
 * What a genre is: tempo, harmony, groove, instruments of each part, and how the tune moves. The rows are in
 * `genres-band.ts`, `genres-floor.ts`, `genres-hall.ts` and `genres-world.ts`.
 */
import type { ProgressionName } from './progressions.ts';
import type { Colour, ModeName } from './theory.ts';

export type Metre = '4/4' | '3/4' | '6/8';

/** An accompanying part: bass, chords, arpeggios. The lead and the drums have fields of their own. */
export interface Part {
  readonly role: 'bass' | 'comp' | 'pad' | 'arp' | 'counter';
  /** Alternatives, by name; one is picked at random. */
  readonly instruments: readonly string[];
  /** Name of a bass line or an accompaniment; in bars of three, of the variant for three. */
  readonly pattern: string;
  /** Plays in sections of at least this intensity, 0 to 5. */
  readonly from: number;
  /** The pitch around which it lies. */
  readonly centre: number;
  /** Notes per chord. */
  readonly voices: number;
  /** Relative to the lead, in decibels. */
  readonly db: number;
  /** Left -1 to right 1. */
  readonly pan: number;
}

export interface TuneStyle {
  /** Notes per beat. */
  readonly density: number;
  /** Share of notes off the beat, 0 to 1. */
  readonly syncopation: number;
  /** Semitones between its lowest and highest note. */
  readonly span: number;
  /** How readily it leaps, 0 to 1. */
  readonly leaps: number;
  /** The shortest distance of notes in steps: 1 sixteenths, 2 eighths, 4 quarters. */
  readonly grid: 1 | 2 | 4;
}

export interface Genre {
  readonly bpm: readonly [low: number, high: number];
  readonly metre: Metre;
  /** How late the second of two steps comes: 0 straight, 0.33 triplets. */
  readonly swing: number;
  /** Which steps swing: 2 eighths, 1 sixteenths. */
  readonly swingSteps: 1 | 2;
  readonly bright: readonly ModeName[];
  readonly dark: readonly ModeName[];
  /** How often it is dark if the prompt names no mood. */
  readonly darkChance: number;
  readonly progressions: ProgressionName;
  readonly colour: Colour;
  /** Bars that a chord lasts. */
  readonly barsPerChord: 1 | 2;
  readonly groove: string;
  /** Drum kits by program. */
  readonly kits: readonly number[];
  readonly fill: string;
  readonly drumsDb: number;
  /** The instruments that may carry the tune. */
  readonly leads: readonly string[];
  readonly tune: TuneStyle;
  readonly parts: readonly Part[];
  /** Share of every sound that is sent to the reverb, 0 to 1. */
  readonly hall: number;
  /** How far from the beat players stray, in milliseconds. */
  readonly looseMs: number;
  /** Whether intensity rises and falls by adding and dropping layers, as on a dance floor. */
  readonly isDance: boolean;
  /** Whether lyrics are spoken in rhythm if the prompt does not say. */
  readonly isRapped: boolean;
  /** Loudness of the finished track, LUFS. */
  readonly lufs: number;
}

/** One accompanying part, its usual values filled in. */
export function part(
  role: Part['role'],
  instruments: string,
  pattern: string,
  from: number,
  more: Partial<Pick<Part, 'centre' | 'voices' | 'db' | 'pan'>> = {},
): Part {
  const centre = role === 'bass' ? 36 : role === 'counter' ? 67 : 60;
  return { role, instruments: instruments.split('|'), pattern, from, centre, voices: 3, db: -6, pan: 0, ...more };
}

/** What a genre is like unless it says otherwise. */
export const PLAIN_GENRE = {
  metre: '4/4',
  swing: 0,
  swingSteps: 2,
  bright: ['major'],
  dark: ['minor'],
  darkChance: 0.4,
  barsPerChord: 1,
  colour: 'triads',
  kits: [0],
  fill: 'kit',
  drumsDb: -2,
  tune: { density: 1.3, syncopation: 0.25, span: 14, leaps: 0.3, grid: 2 },
  hall: 0.25,
  looseMs: 8,
  isDance: false,
  isRapped: false,
  lufs: -14,
} as const satisfies Partial<Genre>;
