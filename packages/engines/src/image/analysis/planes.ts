/**
 * Planes of numbers over an image, 0 to 1: light, masks, distances; how they are smoothed, scaled, and brought to the
 * edges of the image.
 */
import type { Pixels } from '../finish/pixels.ts';

/** One number a pixel, row by row. */
export interface Plane {
  readonly width: number;
  readonly height: number;
  readonly values: Float32Array;
}

/** A plane with one value everywhere. */
export function planeOf(width: number, height: number, value = 0): Plane {
  return { width, height, values: new Float32Array(width * height).fill(value) };
}

/** The light of each pixel (Rec. 601). */
export function lightPlane({ width, height, data }: Pixels): Plane {
  const values = new Float32Array(width * height);
  for (let index = 0; index < values.length; index++) {
    const position = index * 4;
    values[index] =
      ((data[position] ?? 0) * 0.299 + (data[position + 1] ?? 0) * 0.587 + (data[position + 2] ?? 0) * 0.114) / 255;
  }
  return { width, height, values };
}

/** Changes every number. */
export function mapPlane(plane: Plane, change: (value: number, index: number) => number): Plane {
  return { ...plane, values: plane.values.map(change) };
}

/** The mean of a square around each pixel; at the edges of the part that exists. Time does not depend on the radius. */
export function boxBlur({ width, height, values }: Plane, radius: number): Plane {
  const across = new Float32Array(values.length);
  for (let row = 0; row < height; row++) blurRow(values, across, row * width, width, radius);
  // All columns at once, a row at a time: memory is read in order.
  const down = new Float32Array(values.length);
  const sums = new Float64Array(width);
  let count = 0;
  for (let row = 0; row < Math.min(radius, height); row++) {
    addRow(sums, across, row * width, 1);
    count += 1;
  }
  for (let row = 0; row < height; row++) {
    if (row + radius < height) {
      addRow(sums, across, (row + radius) * width, 1);
      count += 1;
    }
    if (row - radius - 1 >= 0) {
      addRow(sums, across, (row - radius - 1) * width, -1);
      count -= 1;
    }
    const position = row * width;
    for (let column = 0; column < width; column++) down[position + column] = (sums[column] ?? 0) / count;
  }
  return { width, height, values: down };
}

function addRow(sums: Float64Array, values: Float32Array, position: number, sign: 1 | -1): void {
  for (let column = 0; column < sums.length; column++) {
    sums[column] = (sums[column] ?? 0) + (values[position + column] ?? 0) * sign;
  }
}

function blurRow(from: Float32Array, to: Float32Array, start: number, length: number, radius: number): void {
  let sum = 0;
  let count = 0;
  for (let index = 0; index < Math.min(radius, length); index++) {
    sum += from[start + index] ?? 0;
    count += 1;
  }
  for (let index = 0; index < length; index++) {
    if (index + radius < length) {
      sum += from[start + index + radius] ?? 0;
      count += 1;
    }
    if (index - radius - 1 >= 0) {
      sum -= from[start + index - radius - 1] ?? 0;
      count -= 1;
    }
    to[start + index] = sum / count;
  }
}

/** A plane at another size, smooth between its pixels. */
export function resizePlane(plane: Plane, width: number, height: number): Plane {
  const { width: columns, height: rows, values } = plane;
  const result = new Float32Array(width * height);
  const [stepX, stepY] = [columns / width, rows / height];
  for (let row = 0; row < height; row++) {
    const y = Math.max(0, Math.min(rows - 1, (row + 0.5) * stepY - 0.5));
    const [top, down] = [Math.floor(y), y - Math.floor(y)];
    const above = top * columns;
    const below = Math.min(rows - 1, top + 1) * columns;
    for (let column = 0; column < width; column++) {
      const x = Math.max(0, Math.min(columns - 1, (column + 0.5) * stepX - 0.5));
      const left = Math.floor(x);
      const right = Math.min(columns - 1, left + 1);
      const share = x - left;
      const high = (values[above + left] ?? 0) * (1 - share) + (values[above + right] ?? 0) * share;
      const low = (values[below + left] ?? 0) * (1 - share) + (values[below + right] ?? 0) * share;
      result[row * width + column] = high * (1 - down) + low * down;
    }
  }
  return { width, height, values: result };
}

interface Lines {
  readonly slopes: Plane;
  readonly offsets: Plane;
}

/** The local linear fits from the guide's light to the plane. */
function fitLines(guide: Plane, plane: Plane, radius: number, softness: number): Lines {
  const { width, height } = guide;
  const both = new Float32Array(guide.values.length);
  const square = new Float32Array(guide.values.length);
  for (let index = 0; index < both.length; index++) {
    const light = guide.values[index] ?? 0;
    both[index] = light * (plane.values[index] ?? 0);
    square[index] = light * light;
  }
  const [meanGuide, mean] = [boxBlur(guide, radius), boxBlur(plane, radius)];
  const meanBoth = boxBlur({ width, height, values: both }, radius);
  const meanSquare = boxBlur({ width, height, values: square }, radius);
  for (let index = 0; index < both.length; index++) {
    const [light, value] = [meanGuide.values[index] ?? 0, mean.values[index] ?? 0];
    const variance = (meanSquare.values[index] ?? 0) - light * light;
    const slope = ((meanBoth.values[index] ?? 0) - light * value) / (variance + softness);
    both[index] = slope;
    square[index] = value - slope * light;
  }
  return {
    slopes: boxBlur({ width, height, values: both }, radius),
    offsets: boxBlur({ width, height, values: square }, radius),
  };
}

function applyLines(guide: Plane, { slopes, offsets }: Lines): Plane {
  const values = new Float32Array(guide.values.length);
  for (let index = 0; index < values.length; index++) {
    values[index] = (slopes.values[index] ?? 0) * (guide.values[index] ?? 0) + (offsets.values[index] ?? 0);
  }
  return { ...guide, values };
}

/**
 * Smooths a plane along the edges of another: the guided filter (He, Sun, Tang, 2010).
 *
 * @param softness the variance of the guide, of 0 to 1 light, below which it counts as flat: about 1e-4 to 1e-2.
 */
export function guided(guide: Plane, plane: Plane, radius: number, softness: number): Plane {
  const shrink = Math.max(1, Math.floor(radius / 2));
  if (shrink === 1) return applyLines(guide, fitLines(guide, plane, radius, softness));
  // The fits change slowly: they are computed at fewer pixels (fast guided filter: He, Sun, 2015).
  const { width, height } = guide;
  const [columns, rows] = [Math.max(2, Math.round(width / shrink)), Math.max(2, Math.round(height / shrink))];
  const small = [resizePlane(guide, columns, rows), resizePlane(plane, columns, rows)] as const;
  const { slopes, offsets } = fitLines(...small, Math.max(1, Math.round(radius / shrink)), softness);
  return applyLines(guide, {
    slopes: resizePlane(slopes, width, height),
    offsets: resizePlane(offsets, width, height),
  });
}

/** Pixels of the longer side at which the linear fits of `sharpened` are computed. */
const FITTED = 420;

/** A coarse plane brought to the size and the edges of a finer image's light. */
export function sharpened(plane: Plane, guide: Plane): Plane {
  const { width, height } = guide;
  const share = Math.min(1, FITTED / Math.max(width, height));
  const [columns, rows] = [Math.max(2, Math.round(width * share)), Math.max(2, Math.round(height * share))];
  const lines = fitLines(resizePlane(guide, columns, rows), resizePlane(plane, columns, rows), 5, 0.0004);
  return applyLines(guide, {
    slopes: resizePlane(lines.slopes, width, height),
    offsets: resizePlane(lines.offsets, width, height),
  });
}

/** 0 below `from`, 1 above `to`, smooth between them. */
export function smoothStep(from: number, to: number, value: number): number {
  const share = Math.max(0, Math.min(1, (value - from) / (to - from)));
  return share * share * (3 - 2 * share);
}
