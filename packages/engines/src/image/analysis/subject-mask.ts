/**
 * Finds the subject of an image: the region that differs from everything that reaches the border. A minimum barrier
 * distance from the border (Zhang et al., 2015) shows what is enclosed, colours that are rare outside of it sharpen the
 * guess, and the guided filter brings the result to the image's own edges. No recognition: a plain landscape has no
 * such region.
 */
import { toLab } from '../colour.ts';
import type { Pixels } from '../finish/pixels.ts';
import { boxBlur, guided, lightPlane, mapPlane, planeOf, sharpened, smoothStep } from './planes.ts';
import type { Plane } from './planes.ts';

/** Pixels of the longer side of the copy that is searched. */
const SEARCHED = 150;
/** Steps of each channel in the counts of colours. */
const BINS = 12;

export interface SubjectMask {
  /** At the size of the image: 1 is the subject. */
  readonly mask: Plane;
  /** Its extent, as fractions of the sides. */
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
  /** 0 to 1: how clearly it stands out. */
  readonly clarity: number;
}

/** A small copy of an image, in which things are searched. */
export interface Small {
  readonly width: number;
  readonly height: number;
  /** Three planes: OKLab, scaled so that a distance of 1 is from black to white. */
  readonly channels: readonly [Float32Array, Float32Array, Float32Array];
}

/** An image's small copy. */
export function shrink({ width, height, data }: Pixels): Small {
  const share = Math.min(1, SEARCHED / Math.max(width, height));
  const [columns, rows] = [Math.max(3, Math.round(width * share)), Math.max(3, Math.round(height * share))];
  const channels = [0, 1, 2].map(() => new Float32Array(columns * rows)) as [Float32Array, Float32Array, Float32Array];
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const [left, top] = [Math.floor((column * width) / columns), Math.floor((row * height) / rows)];
      const right = Math.max(left + 1, Math.floor(((column + 1) * width) / columns));
      const bottom = Math.max(top + 1, Math.floor(((row + 1) * height) / rows));
      let [red, green, blue, count] = [0, 0, 0, 0];
      for (let y = top; y < bottom; y++) {
        for (let x = left; x < right; x++) {
          const position = (y * width + x) * 4;
          red += data[position] ?? 0;
          green += data[position + 1] ?? 0;
          blue += data[position + 2] ?? 0;
          count += 1;
        }
      }
      const [light, greenRed, blueYellow] = toLab([red / count, green / count, blue / count]);
      const index = row * columns + column;
      channels[0][index] = light;
      channels[1][index] = greenRed * 2.2;
      channels[2][index] = blueYellow * 2.2;
    }
  }
  return { width: columns, height: rows, channels };
}

/** For each pixel the smallest range of a channel on any path to the border. */
export function barrier(values: Float32Array, width: number, height: number): Float32Array {
  const distance = new Float32Array(values.length).fill(Infinity);
  const high = Float32Array.from(values);
  const low = Float32Array.from(values);
  for (let index = 0; index < values.length; index++) {
    const [column, row] = [index % width, Math.floor(index / width)];
    if (column === 0 || row === 0 || column === width - 1 || row === height - 1) distance[index] = 0;
  }
  const visit = (index: number, from: number): void => {
    const value = values[index] ?? 0;
    const [top, bottom] = [Math.max(high[from] ?? 0, value), Math.min(low[from] ?? 0, value)];
    if (top - bottom < (distance[index] ?? 0)) {
      distance[index] = top - bottom;
      high[index] = top;
      low[index] = bottom;
    }
  };
  for (let pass = 0; pass < 3; pass++) {
    for (let row = 1; row < height - 1; row++) {
      for (let column = 1; column < width - 1; column++) {
        const index = row * width + column;
        visit(index, index - 1);
        visit(index, index - width);
      }
    }
    for (let row = height - 2; row > 0; row--) {
      for (let column = width - 2; column > 0; column--) {
        const index = row * width + column;
        visit(index, index + 1);
        visit(index, index + width);
      }
    }
  }
  return distance;
}

function enclosed({ width, height, channels }: Small): Plane {
  const [light, greenRed, blueYellow] = channels.map((values) => barrier(values, width, height));
  const plane = planeOf(width, height);
  let most = 0.001;
  for (let index = 0; index < plane.values.length; index++) {
    const value = (light?.[index] ?? 0) + (greenRed?.[index] ?? 0) + (blueYellow?.[index] ?? 0);
    const [x, y] = [(index % width) / width - 0.5, Math.floor(index / width) / height - 0.52];
    // The middle is more often meant.
    plane.values[index] = value ** 0.72 * Math.exp(-(x * x + y * y) * 2.4);
    most = Math.max(most, plane.values[index] ?? 0);
  }
  return mapPlane(plane, (value) => value / most);
}

function binsOf({ channels }: Small): Uint16Array {
  return Uint16Array.from(channels[0], (light, index) => {
    const bin = (value: number): number => Math.max(0, Math.min(BINS - 1, Math.floor(value * BINS)));
    const [greenRed, blueYellow] = [channels[1][index] ?? 0, channels[2][index] ?? 0];
    return (bin(light) * BINS + bin(greenRed + 0.5)) * BINS + bin(blueYellow + 0.5);
  });
}

/** Weighs each pixel by how often its colour is inside and outside the present guess, and smooths along edges. */
function refine(small: Small, guess: Plane): Plane {
  const bins = binsOf(small);
  const guide = { width: small.width, height: small.height, values: small.channels[0] };
  let plane = guess;
  for (let round = 0; round < 4; round++) {
    const [inside, outside] = [new Float32Array(BINS ** 3), new Float32Array(BINS ** 3)];
    let [sumIn, sumOut] = [1, 1];
    for (const [index, bin] of bins.entries()) {
      const value = plane.values[index] ?? 0;
      inside[bin] = (inside[bin] ?? 0) + value;
      outside[bin] = (outside[bin] ?? 0) + 1 - value;
      sumIn += value;
      sumOut += 1 - value;
    }
    const near = boxBlur(plane, Math.round(small.width / 20));
    const weighed = mapPlane(plane, (value, index) => {
      const bin = bins[index] ?? 0;
      const [often, seldom] = [((inside[bin] ?? 0) + 0.02) / sumIn, ((outside[bin] ?? 0) + 0.02) / sumOut];
      const colour = often / (often + seldom);
      const prior = Math.max(0.01, Math.min(0.99, (near.values[index] ?? 0) * 1.1 - 0.03));
      const both = colour * prior;
      return (both / (both + (1 - colour) * (1 - prior))) * 0.68 + (guess.values[index] ?? 0) * 0.14 + value * 0.18;
    });
    plane = mapPlane(guided(guide, weighed, 4, 0.002), (value) => Math.max(0, Math.min(1, value)));
  }
  return plane;
}

/** Keeps the largest connected region and those that are nearly as large; fills what they enclose. */
export function solid(plane: Plane): Plane {
  const { width, height, values } = plane;
  const labels = new Int32Array(values.length);
  const sizes: number[] = [0];
  const spread = (start: number, isMember: (index: number) => boolean, label: number): number => {
    const waiting = [start];
    labels[start] = label;
    let size = 0;
    for (let index = waiting.pop(); index !== undefined; index = waiting.pop()) {
      size += 1;
      const column = index % width;
      const beside = [column > 0 ? index - 1 : -1, column < width - 1 ? index + 1 : -1, index - width, index + width];
      for (const other of beside) {
        if (other < 0 || other >= values.length || labels[other] !== 0 || !isMember(other)) continue;
        labels[other] = label;
        waiting.push(other);
      }
    }
    return size;
  };
  for (let index = 0; index < values.length; index++) {
    if ((values[index] ?? 0) < 0.5 || labels[index] !== 0) continue;
    sizes.push(spread(index, (other) => (values[other] ?? 0) >= 0.5, sizes.length));
  }
  const most = Math.max(...sizes);
  const kept = mapPlane(plane, (value, index) => {
    const size = sizes[labels[index] ?? 0] ?? 0;
    return value >= 0.5 && size < most * 0.3 ? 0 : value;
  });
  labels.fill(0);
  const isOutside = (index: number): boolean => (kept.values[index] ?? 0) < 0.5;
  for (let index = 0; index < values.length; index++) {
    const [column, row] = [index % width, Math.floor(index / width)];
    const isBorder = column === 0 || row === 0 || column === width - 1 || row === height - 1;
    if (isBorder && labels[index] === 0 && isOutside(index)) spread(index, isOutside, 1);
  }
  return mapPlane(kept, (value, index) => (isOutside(index) && labels[index] === 0 ? 1 : value));
}

/** The value that best divides a plane into two classes (Otsu, 1979). */
function threshold({ values }: Plane): number {
  const counts = new Float64Array(64);
  for (const value of values) {
    const bin = Math.min(63, Math.floor(value * 64));
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  const total = counts.reduce((sum, count, bin) => sum + count * bin, 0);
  let [below, sum, most, best] = [0, 0, 0, 16];
  for (const [bin, count] of counts.entries()) {
    below += count;
    sum += count * bin;
    const above = values.length - below;
    if (below === 0 || above === 0) continue;
    const between = below * above * (sum / below - (total - sum) / above) ** 2;
    if (between > most) [most, best] = [between, bin + 1];
  }
  return best / 64;
}

/** Finds the subject of an image. */
export function findSubject(pixels: Pixels): SubjectMask {
  const small = shrink(pixels);
  const first = enclosed(small);
  const edge = threshold(first);
  const guess = mapPlane(first, (value) => smoothStep(edge * 0.75, edge * 1.3, value));
  const found = mapPlane(solid(refine(small, guess)), (value) => smoothStep(0.25, 0.7, value));
  let [left, right, top, bottom, area] = [small.width, 0, small.height, 0, 0];
  for (const [index, value] of found.values.entries()) {
    if (value < 0.5) continue;
    const [column, row] = [index % small.width, Math.floor(index / small.width)];
    [left, right] = [Math.min(left, column), Math.max(right, column + 1)];
    [top, bottom] = [Math.min(top, row), Math.max(bottom, row + 1)];
    area += 1;
  }
  const share = area / found.values.length;
  const fine = sharpened(found, lightPlane(pixels));
  const isFound = share > 0.01;
  return {
    mask: mapPlane(fine, (value) => smoothStep(0.4, 0.75, value)),
    left: isFound ? left / small.width : 0,
    right: isFound ? right / small.width : 1,
    top: isFound ? top / small.height : 0,
    bottom: isFound ? bottom / small.height : 1,
    clarity: share < 0.01 || share > 0.6 ? 0 : contrast(small, found) * Math.min(1, share * 18, (0.6 - share) * 4),
  };
}

/** How far the mean colours inside and outside are apart, 0 to 1. */
function contrast({ channels }: Small, plane: Plane): number {
  const inside = plane.values.reduce((sum, value) => sum + value, 0.001);
  const outside = plane.values.length - inside + 0.002;
  const differences = channels.map((values) => {
    let [sumIn, sumOut] = [0, 0];
    for (const [index, value] of values.entries()) {
      const share = plane.values[index] ?? 0;
      sumIn += value * share;
      sumOut += value * (1 - share);
    }
    return sumIn / inside - sumOut / outside;
  });
  return Math.min(1, Math.hypot(...differences) * 2.6);
}
