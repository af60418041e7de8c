/**
 * A subject without the ground that was included with it: parts of its mask whose colour also occurs just outside the
 * mask are removed, and the largest remaining piece is kept. For subjects that are put elsewhere; an edit may keep the
 * ground.
 */
import { hueOf } from '../colour.ts';
import type { Pixels } from '../finish/pixels.ts';
import { boxBlur, lightPlane, mapPlane, resizePlane, sharpened, smoothStep } from './planes.ts';
import type { Plane } from './planes.ts';
import { shrink, solid } from './subject-mask.ts';
import type { Small, SubjectMask } from './subject-mask.ts';

/** Points outside the mask with which each point inside is compared. */
const SAMPLES = 700;
/** How much a distance of the whole width counts as a difference of colour: distant grounds are different grounds. */
const FAR = 0.16;
/** Differences of colour, 1 from black to white, below which a point is ground, and above which it is not. */
const [SAME, OTHER] = [0.035, 0.095] as const;
/** The difference across the outline from which it follows an edge in the image. */
const EDGE = 0.05;

/** The share of its box that a single thing fills: several in a row fill less. */
const COMPACT = [0.34, 0.48] as const;

interface Sample {
  readonly x: number;
  readonly y: number;
  readonly colour: readonly [number, number, number];
}

function colourAt({ channels }: Small, index: number): [number, number, number] {
  return [channels[0][index] ?? 0, channels[1][index] ?? 0, channels[2][index] ?? 0];
}

function samplesOutside(small: Small, mask: Plane): Sample[] {
  const near = boxBlur(mask, Math.round(small.width / 7));
  const all: Sample[] = [];
  for (const [index, value] of mask.values.entries()) {
    if (value > 0.1 || (near.values[index] ?? 0) < 0.002) continue;
    const [x, y] = [(index % small.width) / small.width, Math.floor(index / small.width) / small.width];
    all.push({ x, y, colour: colourAt(small, index) });
  }
  const step = Math.max(1, all.length / SAMPLES);
  return Array.from({ length: Math.min(SAMPLES, all.length) }, (_, index) => all[Math.floor(index * step)]).filter(
    (sample) => sample !== undefined,
  );
}

/** How far a point differs from the surroundings of the mask. */
function apart(small: Small, index: number, samples: readonly Sample[]): number {
  const [light, greenRed, blueYellow] = colourAt(small, index);
  const [x, y] = [(index % small.width) / small.width, Math.floor(index / small.width) / small.width];
  let least = 1;
  for (const { colour, x: fromX, y: fromY } of samples) {
    const difference = Math.hypot(light - colour[0], greenRed - colour[1], blueYellow - colour[2]);
    if (difference >= least) continue;
    least = Math.min(least, difference + Math.hypot(x - fromX, y - fromY) * FAR);
  }
  return least;
}

/** The share of the outline on which the image has an edge too: a low share means a guess. */
function outlined(small: Small, plane: Plane): number {
  const { width, height } = small;
  let [edges, all] = [0, 0.001];
  for (let row = 2; row < height - 2; row++) {
    for (let column = 2; column < width - 2; column++) {
      const index = row * width + column;
      if ((plane.values[index] ?? 0) < 0.5) continue;
      for (const step of [1, -1, width, -width]) {
        if ((plane.values[index + step] ?? 0) >= 0.5) continue;
        const [inside, outside] = [colourAt(small, index - step), colourAt(small, index + step * 2)];
        all += 1;
        if (Math.hypot(...inside.map((value, channel) => value - (outside[channel] ?? 0))) > EDGE) edges += 1;
      }
    }
  }
  return edges / all;
}

/** The subject in one piece; its clarity falls with the part of its outline that the image does not confirm. */
export function inOnePiece(pixels: Pixels, subject: SubjectMask): SubjectMask {
  const small = shrink(pixels);
  const coarse = resizePlane(subject.mask, small.width, small.height);
  const samples = samplesOutside(small, coarse);
  const own = mapPlane(coarse, (value, index) =>
    value < 0.3 ? value * 0.5 : value * smoothStep(SAME, OTHER, apart(small, index, samples)),
  );
  // Thin bridges do not connect two things: the thickest piece is found first, then its surroundings.
  const thick = boxBlur(own, 2);
  const core = solid(mapPlane(own, (value, index) => ((thick.values[index] ?? 0) < 0.62 ? 0 : value)));
  const about = boxBlur(
    mapPlane(core, (value) => (value >= 0.5 ? 1 : 0)),
    3,
  );
  const piece = solid(mapPlane(own, (value, index) => value * smoothStep(0.02, 0.12, about.values[index] ?? 0)));
  let [left, right, top, bottom, area] = [small.width, 0, small.height, 0, 0];
  for (const [index, value] of piece.values.entries()) {
    if (value < 0.5) continue;
    const [column, row] = [index % small.width, Math.floor(index / small.width)];
    [left, right] = [Math.min(left, column), Math.max(right, column + 1)];
    [top, bottom] = [Math.min(top, row), Math.max(bottom, row + 1)];
    area += 1;
  }
  if (area < piece.values.length * 0.008) return { ...subject, clarity: 0 };
  // A piece that reaches from side to side is a part of the land.
  const isBand = right - left > small.width * 0.88;
  const fill = isBand ? 0 : area / Math.max(1, (right - left) * (bottom - top));
  return {
    mask: mapPlane(sharpened(piece, lightPlane(pixels)), (value) => smoothStep(0.45, 0.85, value)),
    left: Math.max(0, left - 1) / small.width,
    right: Math.min(small.width, right + 1) / small.width,
    top: Math.max(0, top - 1) / small.height,
    bottom: Math.min(small.height, bottom + 1) / small.height,
    clarity: subject.clarity * smoothStep(0.45, 0.75, outlined(small, piece)) * smoothStep(...COMPACT, fill),
  };
}

/** OKLab hue, in radians, and chroma of skin in most lights. */
const SKIN = { hue: [0.55, 1.25], chroma: [0.035, 0.125] } as const;
/** The share from which a subject is a face that lost its hair and shoulders to the ground. */
const MOSTLY = 0.5;

/** Whether a piece is mostly skin: a face without its head cannot stand anywhere. */
export function isFace({ data }: Pixels, { mask }: SubjectMask): boolean {
  let [skin, all] = [0, 0.001];
  for (let index = 0; index < mask.values.length; index += 13) {
    if ((mask.values[index] ?? 0) < 0.6) continue;
    const { angle, chroma } = hueOf([data[index * 4] ?? 0, data[index * 4 + 1] ?? 0, data[index * 4 + 2] ?? 0]);
    all += 1;
    const isHue = angle > SKIN.hue[0] && angle < SKIN.hue[1];
    if (isHue && chroma > SKIN.chroma[0] && chroma < SKIN.chroma[1]) skin += 1;
  }
  return skin / all > MOSTLY;
}
