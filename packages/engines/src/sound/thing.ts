/**
 * What a thing that makes a sound is: its names in a prompt, and how it is made. It is continuous (a bed, written block
 * by block, that never repeats exactly), or it happens again and again (a strike, generated as a whole each time and
 * each time slightly different), or both.
 */
import type { Random } from '@darkroom/seeded-random/random';
import type { Room } from './signal/reverb.ts';

/** The material of the ground, the roof or the thing itself. */
export const SURFACES = [
  'wood',
  'stone',
  'gravel',
  'snow',
  'grass',
  'leaves',
  'metal',
  'water',
  'sand',
  'carpet',
  'glass',
  'roof',
  'cloth',
] as const;
export type Surface = (typeof SURFACES)[number];

/** How a thing moves past the listener or changes on its way. */
export const COURSES = ['passing', 'approaching', 'leaving', 'accelerating', 'slowing'] as const;
export type Course = (typeof COURSES)[number];

/** The manner of a thing, set by the prompt's adjectives; 1 is normal. */
export interface Manner {
  /** 0.4 light, soft, small to 2 heavy, hard, huge. */
  readonly weight: number;
  /** 0.5 slow to 2 fast. */
  readonly pace: number;
  /** 0.5 deep to 2 high. */
  readonly pitch: number;
  readonly surface: Surface | undefined;
  readonly course: Course | undefined;
  /** The length of the part of the sound in which the thing is heard. */
  readonly seconds: number;
}

/** One complete sound: one channel, or left and right of the same length. */
export type Take = Float32Array | readonly [Float32Array, Float32Array];

/** Writes the next samples of both channels; the blocks have the same length and are zero-filled. */
export type Bed = (left: Float32Array, right: Float32Array) => void;

/** When strikes happen. Times are in seconds at pace 1, each between its two bounds. */
export interface Rhythm {
  /** From one strike, or one group of strikes, to the next. */
  readonly every: readonly [number, number];
  /** How many strikes a group has; 1 if absent. */
  readonly group?: readonly [number, number];
  /** From one strike of a group to the next. */
  readonly gap?: readonly [number, number];
  /** Before the first; 0.05 if absent. */
  readonly first?: number;
  /** Strikes stay at one position; otherwise each comes from another. */
  readonly isFixed?: boolean;
}

/** A thing that makes a sound. */
export interface Thing {
  /** In any form of the word; a phrase contains spaces. The first is its name. */
  readonly names: readonly string[];
  readonly bed?: (random: Random, manner: Manner) => Bed;
  /** @param turn 0 for the first strike, 1 for the next: left foot and right foot. */
  readonly strike?: (random: Random, manner: Manner, turn: number) => Take;
  readonly rhythm?: Rhythm;
  /** Its preferred length if several things follow each other; 4 if absent. */
  readonly naturalSeconds?: number;
  /** How far it spreads to both sides: 0 a point to 1 all around; 0.3 if absent. */
  readonly spread?: number;
  /** Decibels relative to other things; 0 if absent. */
  readonly level?: number;
  /** Decibels of its bed relative to its strikes, if it has both; 0 if absent. */
  readonly bedLevel?: number;
  /** How much reverb is heard: 0 to 1; 0.2 if absent. */
  readonly wet?: number;
  /** The room it is heard in if the prompt names none. */
  readonly room?: RoomName;
}

export const ROOMS = {
  outdoors: { decaySeconds: 0.9, damping: 0.75, size: 1.6, delaySeconds: 0.03 },
  forest: { decaySeconds: 1.3, damping: 0.8, size: 1.7, delaySeconds: 0.025 },
  room: { decaySeconds: 0.45, damping: 0.5, size: 0.45, delaySeconds: 0.004 },
  bathroom: { decaySeconds: 0.9, damping: 0.1, size: 0.4, delaySeconds: 0.003 },
  hall: { decaySeconds: 2.4, damping: 0.4, size: 1.2, delaySeconds: 0.02 },
  church: { decaySeconds: 4.5, damping: 0.3, size: 1.6, delaySeconds: 0.03 },
  cave: { decaySeconds: 3.6, damping: 0.45, size: 1.4, delaySeconds: 0.04 },
  tunnel: { decaySeconds: 2.8, damping: 0.25, size: 0.9, delaySeconds: 0.015 },
  canyon: { decaySeconds: 3.2, damping: 0.6, size: 2, delaySeconds: 0.18 },
  space: { decaySeconds: 7, damping: 0.35, size: 2, delaySeconds: 0.04 },
} as const satisfies Record<string, Room>;

export type RoomName = keyof typeof ROOMS;
