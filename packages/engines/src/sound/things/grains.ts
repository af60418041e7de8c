/** Swarms of tiny sounds, thousands of which make rain, fire or applause: each made on the fly, at its own position. */
import type { Random } from '@darkroom/seeded-random/random';
import { SAMPLE_RATE } from '../signal/shapes.ts';
import type { Bed } from '../thing.ts';

/** The longest grain that a swarm may have, in samples: half a second. */
const LONGEST = 24_000;

/**
 * A bed of grains.
 *
 * @param perSecond the grains per second, called every few milliseconds, so that it may change.
 * @param grain makes one; at most half a second, including its own level.
 * @param width 0 all in the middle, 1 all around.
 */
export function swarm(random: Random, perSecond: () => number, grain: () => Float32Array, width: number = 1): Bed {
  // What reaches over the end of a block waits here, as long as two blocks of any length.
  let waiting: [Float32Array, Float32Array] = [new Float32Array(LONGEST), new Float32Array(LONGEST)];
  let untilNext = 0;
  return (left, right) => {
    const length = left.length;
    const ahead = [new Float32Array(length + LONGEST), new Float32Array(length + LONGEST)] as const;
    ahead[0].set(waiting[0]);
    ahead[1].set(waiting[1]);
    while (untilNext < length) {
      const samples = grain();
      const side = 0.5 + (random.next() - 0.5) * width;
      const [gainLeft, gainRight] = [Math.cos((side * Math.PI) / 2), Math.sin((side * Math.PI) / 2)];
      const start = Math.floor(untilNext);
      for (let index = 0; index < samples.length && index < LONGEST; index++) {
        const sample = samples[index] ?? 0;
        ahead[0][start + index] = (ahead[0][start + index] ?? 0) + sample * gainLeft;
        ahead[1][start + index] = (ahead[1][start + index] ?? 0) + sample * gainRight;
      }
      // The intervals of independent events.
      untilNext += (-Math.log(1 - random.next()) * SAMPLE_RATE) / Math.max(perSecond(), 0.05);
    }
    untilNext -= length;
    for (let index = 0; index < length; index++) {
      left[index] = (left[index] ?? 0) + (ahead[0][index] ?? 0);
      right[index] = (right[index] ?? 0) + (ahead[1][index] ?? 0);
    }
    waiting = [ahead[0].slice(length), ahead[1].slice(length)];
  };
}

/**
 * Makes some grains in advance and returns one of them each time: with a thousand per second, repeats are not audible.
 */
export function pooled(random: Random, count: number, make: () => Float32Array): () => Float32Array {
  const pool = Array.from({ length: count }, make);
  const none = new Float32Array(1);
  return () => pool[Math.floor(random.next() * pool.length)] ?? none;
}

/** Several beds at once. */
export function beds(...layers: readonly Bed[]): Bed {
  return (left, right) => {
    for (const layer of layers) layer(left, right);
  };
}

/** A bed whose two channels are made the same way but independently: `make` is called for each side. */
export function wide(make: () => (samples: Float32Array) => void): Bed {
  const [onLeft, onRight] = [make(), make()];
  return (left, right) => {
    const [ownLeft, ownRight] = [new Float32Array(left.length), new Float32Array(right.length)];
    onLeft(ownLeft);
    onRight(ownRight);
    for (let index = 0; index < left.length; index++) {
      left[index] = (left[index] ?? 0) + (ownLeft[index] ?? 0);
      right[index] = (right[index] ?? 0) + (ownRight[index] ?? 0);
    }
  };
}

/** A bed in the middle: one channel, heard on both sides. */
export function centred(fill: (samples: Float32Array) => void): Bed {
  return (left, right) => {
    const samples = new Float32Array(left.length);
    fill(samples);
    for (let index = 0; index < left.length; index++) {
      left[index] = (left[index] ?? 0) + (samples[index] ?? 0);
      right[index] = (right[index] ?? 0) + (samples[index] ?? 0);
    }
  };
}
