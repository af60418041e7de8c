/**
 * Reproducible random numbers: a small seeded generator, and the hash that turns a prompt into a seed. No engine uses
 * `Math.random` or the clock, so the same job gives the same bytes on every machine.
 */

/** FNV-1a over UTF-16 code units with a final mix: 32 bits, not for secrets. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** A stream of random numbers. `fork` gives an independent one, so that a new draw in one layer does not change the others. */
export interface Random {
  /** A number from 0 (included) to 1 (excluded). */
  next(): number;
  /** A number between two bounds. */
  between(low: number, high: number): number;
  /** A whole number between two bounds, both included. */
  integer(low: number, high: number): number;
  /** Whether an event of this probability happens. */
  chance(probability: number): boolean;
  /** One of a list that is not empty. */
  pick<List extends readonly [unknown, ...unknown[]]>(list: List): List[number];
  /** An independent stream, named. */
  fork(name: string): Random;
}

/** Mulberry32: 32 bits of state, good enough for images. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  return {
    next,
    between: (low, high) => low + (high - low) * next(),
    integer: (low, high) => low + Math.floor((high - low + 1) * next()),
    chance: (probability) => next() < probability,
    pick: (list) => list[Math.floor(next() * list.length)],
    fork: (name) => createRandom(hashText(`${seed}/${name}`)),
  };
}
