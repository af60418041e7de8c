/**
 * From steps to seconds: tempo and swing, and the small timing errors of human players.
 */
import type { Random } from '@darkroom/seeded-random/random';
import type { Genre } from './genre.ts';
import type { Bar } from './tune.ts';

export interface Clock {
  /** Seconds at a step counted from the beginning of the song; between steps as well. */
  at(step: number): number;
  /** Seconds of one step, without swing. */
  readonly stepSeconds: number;
}

/** Steps of a bar in a metre. */
export function barOf(metre: Genre['metre']): Bar {
  return metre === '4/4' ? { steps: 16, beat: 4 } : metre === '3/4' ? { steps: 12, beat: 4 } : { steps: 12, beat: 6 };
}

/** How many beats of the tempo a bar has. */
export function beatsOf(bar: Bar): number {
  return bar.steps / bar.beat;
}

/** @param swing how late the second of two notes is, 0 to 0.33; `swingSteps` how long each of the two is. */
export function createClock(barSeconds: number, bar: Bar, swing: number, swingSteps: number): Clock {
  const stepSeconds = barSeconds / bar.steps;
  return {
    stepSeconds,
    at(step) {
      const pair = swingSteps * 2;
      const start = Math.floor(step / pair) * pair;
      const inside = step - start;
      const late =
        inside < swingSteps ? inside * (1 + swing) : swingSteps * (1 + swing) + (inside - swingSteps) * (1 - swing);
      return (start + late) * stepSeconds;
    },
  };
}

/** A random deviation around 0, mostly small: in the unit of `most`. */
export function stray(most: number, random: Random): number {
  return ((random.next() + random.next() + random.next()) / 1.5 - 1) * most;
}
