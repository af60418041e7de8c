/**
 * Painted layers as plain memory: what the canvas library painted once is sampled from here for every frame. The
 * library's own way to read pixels allocates several megabytes each time, which costs more than compositing a frame.
 */
import type { Canvas } from '@napi-rs/canvas';

/**
 * Pixels of 32 bits, premultiplied, red in the lowest byte. `cells` lists the stretches of each pair of neighbouring
 * rows that hold anything, so that empty ones cost nothing and opaque ones need no blending.
 */
export interface Bitmap {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint32Array;
  /** The index in `stretches` at which each row begins; one entry more than there are rows. */
  readonly cells: Uint32Array;
  /** Three numbers each: first column, column after the last, 1 where every pixel is opaque. */
  readonly stretches: Uint32Array;
  /** Whether most of it between the first and last stretch of each row is empty. */
  readonly isSparse: boolean;
}

/** A bitmap and the position of its first pixel in the source that it was cut from. */
export interface PlacedBitmap {
  readonly bitmap: Bitmap;
  readonly left: number;
  readonly top: number;
}

const EMPTY = 0;
const MIXED = 1;
const FULL = 2;
/** A shorter full or empty stretch gets no stretch of its own. */
const SHORTEST = 12;

function alphaAt(pixels: Uint32Array, index: number): number {
  return (pixels[index] ?? 0) >>> 24;
}

/** The kind of the area between four neighbouring pixels. */
function kindOf(pixels: Uint32Array, upper: number, lower: number): number {
  const [a, b] = [alphaAt(pixels, upper), alphaAt(pixels, upper + 1)];
  const [c, d] = [alphaAt(pixels, lower), alphaAt(pixels, lower + 1)];
  if ((a | b | c | d) === 0) return EMPTY;
  return (a & b & c & d) === 255 ? FULL : MIXED;
}

/** Finds the stretches of all rows. @param isOpaque skips the search if every pixel is known to be opaque. */
export function createBitmap(pixels: Uint32Array, width: number, height: number, isOpaque = false): Bitmap {
  const cells = new Uint32Array(height);
  const found: number[] = [];
  let [held, spanned] = [0, 0];
  for (let row = 0; row + 1 < height; row++) {
    if (isOpaque) found.push(0, width - 1, 1);
    else findStretches(pixels, row * width, width, found);
    const begin = cells[row] as number;
    for (let index = begin; index < found.length; index += 3)
      held += (found[index + 1] as number) - (found[index] as number);
    if (found.length > begin) spanned += (found.at(-2) as number) - (found[begin] as number);
    cells[row + 1] = found.length;
  }
  return { width, height, pixels, cells, stretches: Uint32Array.from(found), isSparse: held < spanned * 0.6 };
}

function findStretches(pixels: Uint32Array, offset: number, width: number, found: number[]): void {
  let [kind, from] = [EMPTY, 0];
  const begin = found.length;
  const close = (end: number): void => {
    if (end === from || kind === EMPTY) return;
    // A stretch that directly follows a mixed one joins it if it is mixed as well or too short for itself.
    const last = found.length - 3;
    const isAdjacent = last >= begin && found[last + 1] === from;
    const isLastMixed = isAdjacent && found[last + 2] === 0;
    if (isLastMixed && (kind === MIXED || end - from < SHORTEST)) found[last + 1] = end;
    else found.push(from, end, kind === FULL && end - from >= SHORTEST ? 1 : 0);
  };
  for (let column = 0; column + 1 < width; column++) {
    const next = kindOf(pixels, offset + column, offset + width + column);
    if (next === kind) continue;
    close(column);
    [kind, from] = [next, column];
  }
  close(width - 1);
}

/** The pixels of a canvas, premultiplied. */
export function pixelsOf(canvas: Canvas): Uint32Array {
  const bytes = canvas.data();
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
}

/** The part of some pixels that holds anything, with an empty pixel around it; undefined if nothing does. */
export function trimmed(pixels: Uint32Array, width: number, height: number): PlacedBitmap | undefined {
  const isEmptyRow = (row: number): boolean => {
    for (let index = row * width; index < (row + 1) * width; index++) if (pixels[index] !== 0) return false;
    return true;
  };
  let [top, bottom] = [0, height];
  while (top < bottom && isEmptyRow(top)) top += 1;
  while (bottom > top && isEmptyRow(bottom - 1)) bottom -= 1;
  if (top === bottom) return undefined;
  let [left, right] = [width, 0];
  for (let row = top; row < bottom; row++) {
    const start = row * width;
    for (let column = 0; column < left; column++) {
      if (pixels[start + column] !== 0) left = column;
    }
    for (let column = width - 1; column >= right; column--) {
      if (pixels[start + column] !== 0) right = column + 1;
    }
  }
  const [wide, tall] = [right - left + 2, bottom - top + 2];
  const cut = new Uint32Array(wide * tall);
  for (let row = top; row < bottom; row++) {
    const source = pixels.subarray(row * width + left, row * width + right);
    cut.set(source, (row - top + 1) * wide + 1);
  }
  return { bitmap: createBitmap(cut, wide, tall), left: left - 1, top: top - 1 };
}

/** Turns pixels that are not premultiplied, four bytes each, into a bitmap. */
export function bitmapOfRgba(rgba: Uint8Array, width: number, height: number): Bitmap {
  const pixels = new Uint32Array(width * height);
  let isOpaque = true;
  for (let index = 0, byteIndex = 0; index < pixels.length; index++, byteIndex += 4) {
    const alpha = rgba[byteIndex + 3] ?? 0;
    if (alpha !== 255) isOpaque = false;
    const channel = (offset: number): number => Math.round(((rgba[byteIndex + offset] ?? 0) * alpha) / 255);
    pixels[index] = ((alpha << 24) | (channel(2) << 16) | (channel(1) << 8) | channel(0)) >>> 0;
  }
  return createBitmap(pixels, width, height, isOpaque);
}
