/**
 * Measurable facts about an image: its leading colours, its light, and its layout.
 */
import { fromLab, toLab } from '../colour.ts';
import type { Colour, Lab } from '../colour.ts';
import type { Pixels } from '../finish/pixels.ts';

/** A leading colour and its share of the image, 0 to 1. */
export interface Leading {
  readonly colour: Colour;
  readonly share: number;
}

export interface ImageFeatures {
  /** The largest share first. */
  readonly palette: readonly [Leading, ...Leading[]];
  /** Perceived lightness, 0 to 1: the mean, and of the upper part. */
  readonly light: number;
  /** How much warmer than grey, about -0.1 to 0.1. */
  readonly warmth: number;
  /** The position of the greatest change between above and below, as a share of the height; its clarity, 0 to 1. */
  readonly horizon: { readonly position: number; readonly clarity: number };
  /** The brightest point of the upper part, as fractions of the sides. */
  readonly brightest: { readonly x: number; readonly y: number; readonly colour: Colour };
  /** Means of four bands from the top to the horizon. */
  readonly above: readonly [Colour, Colour, Colour, Colour];
  /** The mean below the horizon. */
  readonly below: Colour;
}

/** The side of the grid of colours used to analyse an image. */
const SIDE = 48;
const CLUSTERS = 6;

/** The mean colours of a grid over the image, in OKLab. */
function gridOf({ width, height, data }: Pixels): Lab[] {
  return Array.from({ length: SIDE * SIDE }, (_, index) => {
    const [column, row] = [index % SIDE, Math.floor(index / SIDE)];
    const [left, top] = [Math.floor((column * width) / SIDE), Math.floor((row * height) / SIDE)];
    const right = Math.max(left + 1, Math.floor(((column + 1) * width) / SIDE));
    const bottom = Math.max(top + 1, Math.floor(((row + 1) * height) / SIDE));
    const step = Math.max(1, Math.floor(Math.min(right - left, bottom - top) / 4));
    let [red, green, blue, count] = [0, 0, 0, 0];
    for (let y = top; y < bottom; y += step) {
      for (let x = left; x < right; x += step) {
        const position = (y * width + x) * 4;
        red += data[position] ?? 0;
        green += data[position + 1] ?? 0;
        blue += data[position + 2] ?? 0;
        count += 1;
      }
    }
    return toLab([red / count, green / count, blue / count]);
  });
}

function distance(one: Lab, other: Lab): number {
  return (one[0] - other[0]) ** 2 + 2 * (one[1] - other[1]) ** 2 + 2 * (one[2] - other[2]) ** 2;
}

function meanOf(labs: readonly Lab[]): Lab {
  const sum = labs.reduce<[number, number, number]>(
    (total, lab) => [total[0] + lab[0], total[1] + lab[1], total[2] + lab[2]],
    [0, 0, 0],
  );
  const count = Math.max(1, labs.length);
  return [sum[0] / count, sum[1] / count, sum[2] / count];
}

/** k-means; the first centres are the mean and then the colour farthest from all before, so that nothing is random. */
function cluster(labs: readonly Lab[]): [Leading, ...Leading[]] {
  const centres: Lab[] = [meanOf(labs)];
  const reach = (lab: Lab): number => Math.min(...centres.map((centre) => distance(lab, centre)));
  while (centres.length < CLUSTERS) {
    centres.push(labs.reduce((far, lab) => (reach(lab) > reach(far) ? lab : far)));
  }
  let groups: Lab[][] = [];
  for (let round = 0; round < 8; round++) {
    groups = centres.map(() => []);
    for (const lab of labs) {
      const distances = centres.map((centre) => distance(lab, centre));
      groups[distances.indexOf(Math.min(...distances))]?.push(lab);
    }
    for (const [index, group] of groups.entries()) if (group.length > 0) centres[index] = meanOf(group);
  }
  const found = groups
    .map((group, index) => ({ colour: fromLab(centres[index] ?? [0, 0, 0]), share: group.length / labs.length }))
    .filter(({ share }) => share > 0)
    .toSorted((first, second) => second.share - first.share);
  const [first = { colour: fromLab(meanOf(labs)), share: 1 }, ...others] = found;
  return [first, ...others];
}

/** Rows of the grid on both sides that are compared. */
const WINDOW = 6;

function findHorizon(labs: readonly Lab[]): { position: number; clarity: number } {
  const rows = (from: number, to: number): Lab => meanOf(labs.slice(from * SIDE, to * SIDE));
  let best = { position: 0.58, clarity: 0 };
  for (let row = Math.round(SIDE * 0.25); row <= SIDE * 0.78; row++) {
    const clarity = Math.min(1, Math.sqrt(distance(rows(row - WINDOW, row), rows(row, row + WINDOW))) * 3);
    if (clarity > best.clarity) best = { position: row / SIDE, clarity };
  }
  return best;
}

/** Analyses an image. */
export function measureFeatures(pixels: Pixels): ImageFeatures {
  const labs = gridOf(pixels);
  const mean = meanOf(labs);
  const horizon = findHorizon(labs);
  const edge = Math.max(4, Math.round(horizon.position * SIDE));
  const band = (index: number): Colour => {
    const [from, to] = [Math.floor((edge * index) / 4), Math.max(1, Math.floor((edge * (index + 1)) / 4))];
    return fromLab(meanOf(labs.slice(from * SIDE, Math.max(to, from + 1) * SIDE)));
  };
  const upper = labs.slice(0, edge * SIDE);
  const brightest = upper.reduce((best, lab, index) => ((lab[0] ?? 0) > (upper[best]?.[0] ?? 0) ? index : best), 0);
  return {
    palette: cluster(labs),
    light: mean[0],
    warmth: mean[2] + mean[1] * 0.5,
    horizon,
    brightest: {
      x: ((brightest % SIDE) + 0.5) / SIDE,
      y: (Math.floor(brightest / SIDE) + 0.5) / SIDE,
      colour: fromLab(upper[brightest] ?? mean),
    },
    above: [band(0), band(1), band(2), band(3)],
    below: fromLab(meanOf(labs.slice(edge * SIDE))),
  };
}
