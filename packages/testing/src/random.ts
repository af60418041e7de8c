/**
 * Reproducible randomness: every decision of a campaign is drawn from its seed, each consumer from a stream of its
 * own name, so that a client that draws once more changes nothing for the others.
 */
import { createHash } from 'node:crypto';

export interface Random {
  /** At least 0 and below 1. */
  next(): number;
  /** An integer between both bounds, inclusive. */
  between(least: number, most: number): number;
  isWithChance(chance: number): boolean;
  /** @throws {Error} there are no choices. */
  pick<T>(choices: readonly T[]): T;
  shuffled<T>(items: readonly T[]): readonly T[];
}

/** A random stream, the same for the same seed and name: mulberry32. */
export function createRandom(seed: number, name: string): Random {
  let state = createHash('sha256').update(`${seed}\n${name}`).digest().readUInt32LE();
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (least: number, most: number): number => least + Math.floor(next() * (most - least + 1));
  return {
    next,
    between,
    isWithChance: (chance) => next() < chance,
    pick(choices) {
      if (choices.length === 0) throw new Error('no choices');
      return choices[between(0, choices.length - 1)] as (typeof choices)[number];
    },
    shuffled(items) {
      const result = [...items];
      for (let last = result.length - 1; last > 0; last--) {
        const other = between(0, last);
        [result[last], result[other]] = [
          result[other] as (typeof items)[number],
          result[last] as (typeof items)[number],
        ];
      }
      return result;
    },
  };
}
