/**
 * Draws bitmaps into a frame: moved and scaled by fractions of a pixel, sampled smoothly, each row at the position that
 * the caller chooses. Replaces the canvas library for everything that happens once per frame: it never allocates.
 */
import type { Bitmap } from './bitmap.ts';
import { addLight, layOver, leanRows, meanRows, sampleRow, shadeRow } from './kernels.ts';

/** The pixels of a frame of the video: RGBA as bytes, opaque. */
export interface Frame {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint32Array;
  /** The same memory in the form that the encoder takes. */
  readonly bytes: Buffer;
}

/** A light that falls on a bitmap: the factor of each channel, 0 to 256. */
export type Shade = readonly [red: number, green: number, blue: number];

/** Where one row of the frame takes its pixels from. Reused for all rows of a drawing. */
export interface RowPosition {
  /** The x of the bitmap's left edge in the frame. */
  x: number;
  /** Pixels of the frame per pixel of the bitmap. */
  scale: number;
  /** The row of the bitmap, from 0; may lie between two. */
  row: number;
}

export interface Placing {
  /** The top left corner in the frame. */
  readonly x: number;
  readonly y: number;
  /** Pixels of the frame per pixel of the bitmap; 1 if absent. */
  readonly scale?: number;
  /** A different vertical scale. */
  readonly scaleY?: number;
  /** 0 to 1; 1 if absent. */
  readonly strength?: number;
  /** Adds its colours to the frame instead of covering it. */
  readonly isLight?: boolean;
  readonly shade?: Shade;
  /** The rows of the frame that may be touched; all if absent. */
  readonly top?: number;
  readonly bottom?: number;
  /** Slants it: each row is moved by `by` for every pixel that it lies above `foot`. */
  readonly lean?: { readonly foot: number; readonly by: number };
  /** Changes the position of a single row of the frame. */
  readonly bend?: (y: number, rowPosition: RowPosition) => void;
  /** Whether a bent row is mixed from two, as others are, which requires neighbours to be bent by similar amounts. */
  readonly isFine?: boolean;
}

/** A new frame, black. */
export function createFrame(width: number, height: number): Frame {
  const bytes = Buffer.alloc(width * height * 4);
  const pixels = new Uint32Array(bytes.buffer, bytes.byteOffset, width * height).fill(0xff000000);
  return { width, height, pixels, bytes };
}

/** Longer than the long edge of any video. */
const LONGEST_ROW = 8192;
const FIXED = 65_536;

/** Sampled rows, kept between the rows of one drawing. */
let upper: Uint32Array = new Uint32Array(LONGEST_ROW);
let lower: Uint32Array = new Uint32Array(LONGEST_ROW);
const mixed = new Uint32Array(LONGEST_ROW);
const rowPosition: RowPosition = { x: 0, scale: 1, row: 0 };

/**
 * The two rows that a row of the frame shows: `array[offset + column of the frame]`; and the weight of the second, in
 * quarters: finer steps are invisible, and quarters need no multiplication.
 */
const line = { first: upper, firstAt: 0, second: lower, secondAt: 0, quarters: 0 };

/** The first column of the frame whose middle lies to the right of a cell's beginning. */
function columnOf(cell: number, width: number): number {
  return Math.max(0, Math.min(width, Math.ceil((cell + 0.5) * rowPosition.scale + rowPosition.x - 0.5))) | 0;
}

/**
 * Draws a bitmap. An unscaled bitmap moves in steps of half a pixel sideways, which is not visible and twice as fast.
 */
export function draw(frame: Frame, bitmap: Bitmap, placing: Placing): void {
  const { scale = 1, scaleY = scale, bend, lean } = placing;
  const strength = Math.round((placing.strength ?? 1) * 256);
  if (strength <= 0) return;
  let top = Math.max(0, placing.top ?? 0);
  let bottom = Math.min(frame.height, placing.bottom ?? frame.height);
  if (bend === undefined) {
    top = Math.max(top, Math.ceil(placing.y + 0.5 * scaleY - 0.5));
    bottom = Math.min(bottom, placing.y + (bitmap.height - 0.5) * scaleY - 0.5);
  }
  // Neighbouring rows of the frame often show the same rows of the bitmap; only whole rows are worth keeping.
  const keepsRows = lean === undefined && !bitmap.isSparse;
  let kept = -2;
  for (let y = top; y < bottom; y++) {
    rowPosition.x = lean === undefined ? placing.x : placing.x + (lean.foot - y) * lean.by;
    rowPosition.scale = scale;
    rowPosition.row = (y + 0.5 - placing.y) / scaleY - 0.5;
    bend?.(y, rowPosition);
    if (rowPosition.scale === 1) rowPosition.x = Math.round(rowPosition.x * 2) / 2;
    const isCoarse = bend !== undefined && placing.isFine !== true;
    // In whole quarters, as rows are mixed.
    const quarters = (isCoarse ? Math.round(rowPosition.row) * 4 : Math.round(rowPosition.row * 4)) | 0;
    const row = Math.max(0, Math.min(bitmap.height - 2, quarters >> 2));
    const begin = bitmap.cells[row] as number;
    const end = bitmap.cells[row + 1] as number;
    if (begin === end) {
      kept = -2;
      continue;
    }
    line.quarters = Math.max(0, Math.min(4, quarters - row * 4));
    if (rowPosition.scale === 1 && Number.isInteger(rowPosition.x)) {
      line.first = bitmap.pixels;
      line.second = bitmap.pixels;
      line.firstAt = row * bitmap.width - rowPosition.x;
      line.secondAt = line.firstAt + bitmap.width;
      paintStretches(frame, bitmap, y, begin, end, strength, placing);
      continue;
    }
    if (keepsRows && !isCoarse) {
      if (row === kept + 1) swapRows();
      if (row !== kept && row !== kept + 1) sampleSeen(upper, bitmap, row, frame.width);
      if (row !== kept) sampleSeen(lower, bitmap, row + 1, frame.width);
      kept = row;
    } else sampleStretches(bitmap, row, begin, end, frame.width);
    line.first = upper;
    line.second = lower;
    line.firstAt = 0;
    line.secondAt = 0;
    paintStretches(frame, bitmap, y, begin, end, strength, placing);
  }
}

/** The lower row of the last line is the upper row of the next. */
function swapRows(): void {
  const before = upper;
  upper = lower;
  lower = before;
}

/** Samples the part of a bitmap's row that is visible in the frame, in one go. */
function sampleSeen(target: Uint32Array, bitmap: Bitmap, row: number, width: number): void {
  const { cells, stretches } = bitmap;
  // A row belongs to the cells above and below it.
  let from = bitmap.width;
  let to = 0;
  for (let cell = Math.max(0, row - 1); cell <= row && cell + 1 < bitmap.height; cell++) {
    const begin = cells[cell] as number;
    const end = cells[cell + 1] as number;
    if (begin === end) continue;
    from = Math.min(from, stretches[begin] as number);
    to = Math.max(to, stretches[end - 2] as number);
  }
  sampleBetween(target, bitmap, row, columnOf(from, width), columnOf(to, width));
}

/** Samples the parts of both rows that hold anything. */
function sampleStretches(bitmap: Bitmap, row: number, begin: number, end: number, width: number): void {
  for (let index = begin; index < end; index += 3) {
    const first = columnOf(bitmap.stretches[index] as number, width);
    const last = columnOf(bitmap.stretches[index + 1] as number, width);
    sampleBetween(upper, bitmap, row, first, last);
    if (line.quarters > 0) sampleBetween(lower, bitmap, row + 1, first, last);
  }
}

function sampleBetween(target: Uint32Array, bitmap: Bitmap, row: number, first: number, last: number): void {
  if (first >= last) return;
  const offset = row * bitmap.width;
  if (rowPosition.scale === 1) {
    // Half-way between two pixels: the left one lies half a pixel further left.
    const from = offset + first - rowPosition.x - 0.5;
    meanRows(target, first, last - first, bitmap.pixels, from, bitmap.pixels, from + 1);
    return;
  }
  const from = Math.max(0, Math.round(((first + 0.5 - rowPosition.x) / rowPosition.scale - 0.5) * FIXED));
  sampleRow(target, first, last - first, bitmap.pixels, offset, from, Math.round(FIXED / rowPosition.scale));
}

/** Paints the content of the two rows of the line. */
function paintStretches(
  frame: Frame,
  bitmap: Bitmap,
  y: number,
  begin: number,
  end: number,
  strength: number,
  placing: Placing,
): void {
  const { stretches } = bitmap;
  const { shade, isLight = false } = placing;
  const { first, firstAt, quarters } = line;
  const start = y * frame.width;
  for (let index = begin; index < end; index += 3) {
    const left = columnOf(stretches[index] as number, frame.width);
    const count = columnOf(stretches[index + 1] as number, frame.width) - left;
    if (count <= 0) continue;
    const at = start + left;
    if (stretches[index + 2] === 1 && strength === 256 && !isLight) {
      mixLine(frame.pixels, at, left, count);
      if (shade !== undefined) shadeRow(frame.pixels, at, count, shade[0], shade[1], shade[2]);
      continue;
    }
    let source = first;
    let from = firstAt + left;
    if (quarters > 0 || shade !== undefined) {
      mixLine(mixed, left, left, count);
      source = mixed;
      from = left;
    }
    if (shade !== undefined) shadeRow(mixed, left, count, shade[0], shade[1], shade[2]);
    if (isLight) addLight(frame.pixels, at, count, source, from, strength);
    else layOver(frame.pixels, at, count, source, from, strength);
  }
}

/** Writes the mixture of the two rows of the line. */
function mixLine(target: Uint32Array, at: number, left: number, count: number): void {
  const { first, firstAt, second, secondAt, quarters } = line;
  switch (quarters) {
    case 0:
      target.set(first.subarray(firstAt + left, firstAt + left + count), at);
      return;
    case 1:
      leanRows(target, at, count, first, firstAt + left, second, secondAt + left);
      return;
    case 2:
      meanRows(target, at, count, first, firstAt + left, second, secondAt + left);
      return;
    case 3:
      leanRows(target, at, count, second, secondAt + left, first, firstAt + left);
      return;
    default:
      target.set(second.subarray(secondAt + left, secondAt + left + count), at);
  }
}
