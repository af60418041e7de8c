/**
 * Finds one thing that a prompt names, as `the boat`, in an image of many things. No recognition: of all windows that
 * enclose something different from everything that reaches their borders, it takes the one whose content best matches
 * the size, position, shape and colour of such a thing.
 */
import { toLab } from '../colour.ts';
import type { Colour } from '../colour.ts';
import type { Thing } from '../lexicon.ts';
import type { Mention } from '../prompt-reading.ts';
import { SUBJECTS } from '../subjects.ts';
import { lightPlane, mapPlane, planeOf, sharpened, smoothStep } from './planes.ts';
import { barrier, shrink, solid } from './subject-mask.ts';
import type { Small, SubjectMask } from './subject-mask.ts';

/** Sides of the windows as fractions of the longer side of the image. */
const WINDOWS = [0.14, 0.22, 0.34, 0.5] as const;
/** Distance between windows of one size, as a fraction of their side. */
const STRIDE = 0.22;
/** The barrier from which a point no longer belongs to the surroundings: the sum of three channels. */
const ENCLOSED = 0.13;

/** A little smaller than close by, as most things in images are. */
const SEEN = 0.9;

/** The expected properties of a thing before the image is analysed. */
interface Expected {
  /** The position of its middle, as a fraction of the height, and the largest distance from it. */
  readonly middle: number;
  readonly reach: number;
  /** Width by height. */
  readonly shape: number;
  /** Its height, as a fraction of the image's. */
  readonly tall: number;
  readonly colour: Colour | undefined;
}

const LIGHTS: readonly Thing[] = ['sun', 'moon', 'crescent', 'cloud', 'planet'];
/** The colour of a thing if the prompt names none. */
const USUAL: { readonly [Name in Thing]?: Colour } = {
  tree: [70, 110, 60],
  pine: [50, 90, 60],
  moon: [240, 240, 225],
  sun: [255, 240, 190],
  cloud: [245, 245, 245],
};

function expectedOf({ thing, colour }: Mention): Expected {
  const subject = SUBJECTS[thing];
  const zone = subject?.zone;
  const isAloft = zone === 'air' || LIGHTS.includes(thing);
  return {
    middle: isAloft ? 0.24 : zone === 'middle' ? 0.52 : zone === 'water' ? 0.62 : 0.64,
    // Low in water there are only reflections.
    reach: isAloft ? 0.24 : zone === 'water' ? 0.22 : 0.32,
    shape: subject === undefined ? 1 : subject.half * 2,
    tall: subject === undefined ? (LIGHTS.includes(thing) ? 0.12 : 0.32) : (subject.height / 1000) * SEEN,
    colour: colour ?? USUAL[thing],
  };
}

interface Found {
  readonly score: number;
  readonly left: number;
  readonly top: number;
  readonly side: number;
  readonly inside: Float32Array;
}

/** The content of a window, and how well it matches the expectation. */
function lookThrough(small: Small, left: number, top: number, side: number, expected: Expected): Found {
  const inside = new Float32Array(side * side);
  for (const values of small.channels) {
    const part = new Float32Array(side * side);
    for (let row = 0; row < side; row++) {
      const from = (top + row) * small.width + left;
      part.set(values.subarray(from, from + side), row * side);
    }
    for (const [index, value] of barrier(part, side, side).entries()) inside[index] = (inside[index] ?? 0) + value;
  }
  let [mass, area, sumX, sumY] = [0, 0, 0, 0];
  let [minX, maxX, minY, maxY] = [side, 0, side, 0];
  const mean = [0, 0, 0];
  for (const [index, value] of inside.entries()) {
    if (value < ENCLOSED) continue;
    const [x, y] = [index % side, Math.floor(index / side)];
    mass += Math.min(0.7, value);
    area += 1;
    sumX += x;
    sumY += y;
    [minX, maxX] = [Math.min(minX, x), Math.max(maxX, x + 1)];
    [minY, maxY] = [Math.min(minY, y), Math.max(maxY, y + 1)];
    const position = (top + y) * small.width + left + x;
    for (const [channel, values] of small.channels.entries())
      mean[channel] = (mean[channel] ?? 0) + (values[position] ?? 0);
  }
  const share = area / inside.length;
  if (share < 0.04 || share > 0.62) return { score: 0, left, top, side, inside };
  const middle = (top + sumY / area) / small.height;
  const away = (middle - expected.middle) / expected.reach;
  const off = Math.log((maxX - minX) / Math.max(1, maxY - minY) / expected.shape);
  const grown = Math.log((maxY - minY) / small.height / expected.tall);
  // A single thing fills its box; scattered things do not.
  const fill = area / Math.max(1, (maxX - minX) * (maxY - minY));
  const centred = Math.hypot(sumX / area / side - 0.5, sumY / area / side - 0.5);
  let score =
    (mass / area) *
    Math.sqrt(share) *
    fill *
    Math.exp(-(away * away) * 1.6 - off * off * 0.5 - grown * grown * 0.8 - centred * 2.5);
  if (expected.colour !== undefined) {
    const [light, greenRed, blueYellow] = toLab(expected.colour);
    const far = Math.hypot(
      ((mean[0] ?? 0) / area - light) * 0.6,
      (mean[1] ?? 0) / area - greenRed * 2.2,
      (mean[2] ?? 0) / area - blueYellow * 2.2,
    );
    score *= Math.exp(-far * 4.5);
  }
  return { score, left, top, side, inside };
}

/** The named thing; undefined if nothing of the kind stands out. */
export function findNamed(
  pixels: { width: number; height: number; data: Uint8ClampedArray },
  mention: Mention,
): SubjectMask | undefined {
  const small = shrink(pixels);
  const expected = expectedOf(mention);
  let best: Found | undefined;
  for (const share of WINDOWS) {
    const side = Math.round(Math.max(small.width, small.height) * share);
    if (side > Math.min(small.width, small.height)) continue;
    const stride = Math.max(2, Math.round(side * STRIDE));
    for (let top = 0; top + side <= small.height; top += stride) {
      for (let left = 0; left + side <= small.width; left += stride) {
        const found = lookThrough(small, left, top, side, expected);
        if (found.score > (best?.score ?? 0.012)) best = found;
      }
    }
  }
  if (best === undefined) return undefined;
  const plane = planeOf(small.width, small.height);
  for (const [index, value] of best.inside.entries()) {
    const position = (best.top + Math.floor(index / best.side)) * small.width + best.left + (index % best.side);
    plane.values[position] = smoothStep(ENCLOSED * 0.5, ENCLOSED * 1.5, value);
  }
  const found = solid(plane);
  let [left, right, top, bottom] = [small.width, 0, small.height, 0];
  for (const [index, value] of found.values.entries()) {
    if (value < 0.5) continue;
    const [column, row] = [index % small.width, Math.floor(index / small.width)];
    [left, right] = [Math.min(left, column), Math.max(right, column + 1)];
    [top, bottom] = [Math.min(top, row), Math.max(bottom, row + 1)];
  }
  if (right <= left) return undefined;
  return {
    mask: mapPlane(sharpened(found, lightPlane(pixels)), (value) => smoothStep(0.2, 0.6, value)),
    left: left / small.width,
    right: right / small.width,
    top: top / small.height,
    bottom: bottom / small.height,
    clarity: Math.min(1, best.score * 8),
  };
}
