/**
 * Smooth random values along a line and over a plane: the outline of ridges, the edges of clouds, the grain of paper.
 */
import type { Random } from '@darkroom/seeded-random/random';

/** A value of -1 to 1 at every point of a line; points about 1 apart are independent. */
export type LineNoise = (position: number) => number;

/** A value of -1 to 1 at every point of a plane. */
export type PlaneNoise = (x: number, y: number) => number;

const CELLS = 256;

function smooth(share: number): number {
  return share * share * (3 - 2 * share);
}

function cells(random: Random): Float32Array {
  return Float32Array.from({ length: CELLS }, () => random.next() * 2 - 1);
}

/** Value noise along a line. */
export function createLineNoise(random: Random): LineNoise {
  const values = cells(random);
  return (position) => {
    const cell = Math.floor(position);
    const from = values[cell & (CELLS - 1)] ?? 0;
    const to = values[(cell + 1) & (CELLS - 1)] ?? 0;
    return from + (to - from) * smooth(position - cell);
  };
}

/** Several octaves of noise: each finer by two and weaker by `gain`. */
export function fractal(noise: LineNoise, position: number, octaves: number, gain = 0.5): number {
  let [sum, weight, total] = [0, 1, 0];
  for (let octave = 0; octave < octaves; octave++) {
    sum += noise(position * 2 ** octave + octave * 17.3) * weight;
    total += weight;
    weight *= gain;
  }
  return sum / total;
}

/** Value noise over a plane. */
export function createPlaneNoise(random: Random): PlaneNoise {
  const values = cells(random);
  const order = Uint8Array.from({ length: CELLS }, (_, index) => index);
  for (let index = CELLS - 1; index > 0; index--) {
    const other = random.integer(0, index);
    [order[index], order[other]] = [order[other] ?? 0, order[index] ?? 0];
  }
  const at = (column: number, row: number): number => values[order[((order[column & 255] ?? 0) + row) & 255] ?? 0] ?? 0;
  return (x, y) => {
    const [column, row] = [Math.floor(x), Math.floor(y)];
    const [across, down] = [smooth(x - column), smooth(y - row)];
    const top = at(column, row) + (at(column + 1, row) - at(column, row)) * across;
    const bottom = at(column, row + 1) + (at(column + 1, row + 1) - at(column, row + 1)) * across;
    return top + (bottom - top) * down;
  };
}
