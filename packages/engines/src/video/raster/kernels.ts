/**
 * The inner loops of compositing. Each works on stretches of one row of 32-bit pixels, premultiplied, two channels at a
 * time; fractions are in 256ths. Indexes are made integers first (`| 0`): as floating-point numbers they cost more than
 * the pixels. The loops are plain on purpose: everything that decides what to draw is in `drawing.ts`.
 */

/** Red and blue, or green and alpha after a shift by eight bits. */
const EVEN = 0x00ff00ff;
const ODD = 0xff00ff00;

/** Samples a row between its pixels: `count` values from position `from` on, both in 65536ths of a pixel. */
export function sampleRow(
  target: Uint32Array,
  at: number,
  count: number,
  source: Uint32Array,
  offset: number,
  from: number,
  step: number,
): void {
  let position = from | 0;
  const advance = step | 0;
  const end = (at + count) | 0;
  for (let index = at | 0; index < end; index++) {
    const column = offset + (position >> 16);
    const share = (position >> 8) & 255;
    const rest = 256 - share;
    const a = source[column] as number;
    const b = source[column + 1] as number;
    target[index] =
      (((Math.imul(a & EVEN, rest) + Math.imul(b & EVEN, share)) >>> 8) & EVEN) |
      ((Math.imul((a >>> 8) & EVEN, rest) + Math.imul((b >>> 8) & EVEN, share)) & ODD);
    position = (position + advance) | 0;
  }
}

/** All bits of four bytes but the lowest of each, so that halving one byte does not reach into the next. */
const HALVED = 0xfefefefe;

/** Writes the mean of two rows: pixels that both have, and half of those that only one has. */
export function meanRows(
  target: Uint32Array,
  at: number,
  count: number,
  first: Uint32Array,
  firstAt: number,
  second: Uint32Array,
  secondAt: number,
): void {
  const one = firstAt | 0;
  const other = secondAt | 0;
  const to = at | 0;
  const length = count | 0;
  for (let index = 0; index < length; index++) {
    const a = first[one + index] as number;
    const b = second[other + index] as number;
    target[to + index] = (a & b) + (((a ^ b) & HALVED) >>> 1);
  }
}

/** Writes three quarters of one row and a quarter of another. */
export function leanRows(
  target: Uint32Array,
  at: number,
  count: number,
  first: Uint32Array,
  firstAt: number,
  second: Uint32Array,
  secondAt: number,
): void {
  const one = firstAt | 0;
  const other = secondAt | 0;
  const to = at | 0;
  const length = count | 0;
  for (let index = 0; index < length; index++) {
    const a = first[one + index] as number;
    const b = second[other + index] as number;
    const mean = (a & b) + (((a ^ b) & HALVED) >>> 1);
    target[to + index] = (a & mean) + (((a ^ mean) & HALVED) >>> 1);
  }
}

/** Writes the mixture of two rows. */
export function mixRows(
  target: Uint32Array,
  at: number,
  count: number,
  first: Uint32Array,
  firstAt: number,
  second: Uint32Array,
  secondAt: number,
  share: number,
): void {
  const rest = 256 - share;
  const one = firstAt | 0;
  const other = secondAt | 0;
  const to = at | 0;
  const length = count | 0;
  for (let index = 0; index < length; index++) {
    const a = first[one + index] as number;
    const b = second[other + index] as number;
    target[to + index] =
      (((Math.imul(a & EVEN, rest) + Math.imul(b & EVEN, share)) >>> 8) & EVEN) |
      ((Math.imul((a >>> 8) & EVEN, rest) + Math.imul((b >>> 8) & EVEN, share)) & ODD);
  }
}

/** Lays pixels over others. @param strength 0 to 256. */
export function layOver(
  target: Uint32Array,
  at: number,
  count: number,
  source: Uint32Array,
  from: number,
  strength: number,
): void {
  const begin = from | 0;
  const to = at | 0;
  const length = count | 0;
  for (let index = 0; index < length; index++) {
    const pixel = source[begin + index] as number;
    if (pixel === 0) continue;
    let even = pixel & EVEN;
    let odd = (pixel >>> 8) & EVEN;
    if (strength !== 256) {
      even = (Math.imul(even, strength) >>> 8) & EVEN;
      odd = (Math.imul(odd, strength) >>> 8) & EVEN;
    }
    const rest = 256 - (odd >>> 16);
    const below = target[to + index] as number;
    target[to + index] =
      (even + ((Math.imul(below & EVEN, rest) >>> 8) & EVEN)) |
      ((odd << 8) + (Math.imul((below >>> 8) & EVEN, rest) & ODD));
  }
}

/** Adds light, up to white. @param strength 0 to 256. */
export function addLight(
  target: Uint32Array,
  at: number,
  count: number,
  source: Uint32Array,
  from: number,
  strength: number,
): void {
  const begin = from | 0;
  const to = at | 0;
  const length = count | 0;
  for (let index = 0; index < length; index++) {
    const pixel = source[begin + index] as number;
    if (pixel === 0) continue;
    const below = target[to + index] as number;
    const red = (below & 255) + (((pixel & 255) * strength) >> 8);
    const green = ((below >>> 8) & 255) + ((((pixel >>> 8) & 255) * strength) >> 8);
    const blue = ((below >>> 16) & 255) + ((((pixel >>> 16) & 255) * strength) >> 8);
    target[to + index] =
      (below & 0xff000000) |
      ((blue > 255 ? 255 : blue) << 16) |
      ((green > 255 ? 255 : green) << 8) |
      (red > 255 ? 255 : red);
  }
}

/** Multiplies the channels by a light of 0 to 256 each. */
export function shadeRow(
  target: Uint32Array,
  at: number,
  count: number,
  red: number,
  green: number,
  blue: number,
): void {
  const end = (at + count) | 0;
  for (let index = at | 0; index < end; index++) {
    const pixel = target[index] as number;
    target[index] =
      (pixel & 0xff000000) |
      (((((pixel >>> 16) & 255) * blue) & 0xff00) << 8) |
      ((((pixel >>> 8) & 255) * green) & 0xff00) |
      (((pixel & 255) * red) >> 8);
  }
}
