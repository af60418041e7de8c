/**
 * A score: which instrument plays which note when. Written by `arrangement.ts` and played by `band.ts`.
 */
import type { Instrument } from './instruments.ts';
import type { Section } from './form.ts';
import type { Key } from './theory.ts';

export interface ScorePart {
  readonly name: string;
  /** Undefined: the drums. */
  readonly instrument: Instrument | undefined;
  /** Program of the drum kit. */
  readonly kit: number;
  readonly db: number;
  /** Left -1 to right 1. */
  readonly pan: number;
  /** Share that is sent to the reverb, 0 to 1. */
  readonly hall: number;
}

export interface ScoreNote {
  /** Index of its part. */
  readonly part: number;
  /** Seconds from the beginning. */
  readonly at: number;
  readonly seconds: number;
  readonly pitch: number;
  /** 1 to 127. */
  readonly velocity: number;
}

/** A section with its position in time. */
export interface PlacedSection extends Section {
  readonly startBar: number;
  readonly startSeconds: number;
}

export interface Score {
  readonly parts: readonly ScorePart[];
  /** By time. */
  readonly notes: readonly ScoreNote[];
  readonly bpm: number;
  readonly key: Key;
  readonly sections: readonly PlacedSection[];
  /** When the final chord begins. */
  readonly endSeconds: number;
  /** Of the whole file. */
  readonly seconds: number;
}
