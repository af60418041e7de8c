/**
 * An image extended beyond its borders: mirrored there, so that every line continues, and more out of focus the further
 * out, so that nothing visibly repeats.
 */
import { createCanvas } from '@napi-rs/canvas';
import type { Pixels } from '../finish/pixels.ts';
import { grainTile } from '../finish/pixels.ts';
import { blendInto } from '../analysis/colour-cube.ts';
import { canvasOf, pixelsIn } from '../analysis/input-images.ts';
import { smoothStep } from '../analysis/planes.ts';
import { findSubject } from '../analysis/subject-mask.ts';
import type { Random } from '@darkroom/seeded-random/random';
import { blurred } from './blur.ts';
import { fillSubject } from './completion.ts';

/** The position of the image on the larger sheet, and the size of the sheet; in pixels. */
export interface Sheet {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** The clarity from which a subject is removed from the mirrored part. */
const CLEAR = 0.1;

/** Radii of the blur, as fractions of the mean side, and the distances over which each takes over. */
const SOFTER = [
  { radius: 0.004, from: 0.004, to: 0.05 },
  { radius: 0.012, from: 0.04, to: 0.14 },
  { radius: 0.034, from: 0.1, to: 0.3 },
  { radius: 0.07, from: 0.26, to: 0.6 },
] as const;

/** The image mirrored at its borders, as often as needed to fill the sheet. */
function mirrored(pixels: Pixels, { left, top, width, height }: Sheet): Pixels {
  const canvas = createCanvas(width, height);
  const context = canvas.getContext('2d');
  const source = canvasOf(pixels);
  for (let row = -Math.ceil(top / pixels.height); row * pixels.height + top < height; row++) {
    for (let column = -Math.ceil(left / pixels.width); column * pixels.width + left < width; column++) {
      context.save();
      const [flipX, flipY] = [column % 2 === 0 ? 1 : -1, row % 2 === 0 ? 1 : -1];
      const x = left + (column + (flipX < 0 ? 1 : 0)) * pixels.width;
      context.translate(x, top + (row + (flipY < 0 ? 1 : 0)) * pixels.height);
      context.scale(flipX, flipY);
      context.drawImage(source, 0, 0);
      context.restore();
    }
  }
  return pixelsIn(canvas);
}

/** The image at its position on a larger sheet, the rest extended from its content. */
export function extended(pixels: Pixels, sheet: Sheet, random: Random): Pixels {
  const { left, top, width, height } = sheet;
  const [right, bottom] = [left + pixels.width, top + pixels.height];
  const unit = Math.sqrt(pixels.width * pixels.height);
  const result = mirrored(pixels, sheet);
  const distance = (index: number): number => {
    const [x, y] = [index % width, Math.floor(index / width)];
    return Math.hypot(Math.max(0, left - x, x - right + 1), Math.max(0, top - y, y - bottom + 1)) / unit;
  };
  // The subject is removed from the mirrored part: it must not appear twice.
  const subject = findSubject(pixels);
  if (subject.clarity > CLEAR) {
    const empty = { ...pixels, data: Uint8ClampedArray.from(pixels.data) };
    fillSubject(empty, subject, random.fork('emptied'), 'soft');
    const emptied = mirrored(empty, sheet);
    blendInto(result, emptied, (index) => smoothStep(0.01, 0.07, distance(index)));
  }
  const source = { width, height, data: Uint8ClampedArray.from(result.data) };
  for (const { radius, from, to } of SOFTER) {
    const soft = pixelsIn(blurred(source, (radius * unit) / Math.sqrt(width * height)));
    blendInto(result, soft, (index) => smoothStep(from, to, distance(index)));
  }
  for (const plain of plainSides(pixels, sheet)) fillArea(result, plain);
  // Restores the grain that the blur removed, so that the extension does not look smoother than a photograph.
  const tile = grainTile(random.fork('grain'));
  for (let index = 0; index < width * height; index++) {
    const share = smoothStep(0.01, 0.1, distance(index));
    if (share === 0) continue;
    const noise = (tile[((Math.floor(index / width) & 255) << 8) | ((index % width) & 255)] ?? 0) * 5 * share;
    for (let channel = 0; channel < 3; channel++) {
      result.data[index * 4 + channel] = (result.data[index * 4 + channel] ?? 0) + noise;
    }
  }
  return result;
}

interface PlainArea {
  readonly from: readonly [x: number, y: number];
  readonly to: readonly [x: number, y: number];
  readonly colour: readonly number[];
}

/** A border of one colour, as paper around a print: differences of its pixels up to this are noise, 0 to 255. */
const PLAIN = 7;

/** The areas beyond single-coloured borders of an image: there is nothing to mirror. */
function plainSides({ width, height, data }: Pixels, sheet: Sheet): PlainArea[] {
  const { left, top } = sheet;
  const beyond = (from: PlainArea['from'], to: PlainArea['to'], placeAt: (share: number) => number): PlainArea[] => {
    if (to[0] <= from[0] || to[1] <= from[1]) return [];
    const colours = Array.from({ length: 64 }, (_, step) => {
      const position = placeAt((step + 0.5) / 64) * 4;
      return [data[position] ?? 0, data[position + 1] ?? 0, data[position + 2] ?? 0];
    });
    const mean = [0, 1, 2].map((channel) => colours.reduce((sum, colour) => sum + (colour[channel] ?? 0), 0) / 64);
    const isPlain = colours.every((colour) =>
      colour.every((value, channel) => Math.abs(value - (mean[channel] ?? 0)) < PLAIN),
    );
    return isPlain ? [{ from, to, colour: mean }] : [];
  };
  const row = (share: number): number => Math.floor(share * height) * width;
  const column = (share: number): number => Math.floor(share * width);
  const [right, bottom] = [left + width, top + height];
  return [
    ...beyond([0, 0], [left, sheet.height], row),
    ...beyond([right, 0], [sheet.width, sheet.height], (share) => row(share) + width - 1),
    ...beyond([0, 0], [sheet.width, top], column),
    ...beyond([0, bottom], [sheet.width, sheet.height], (share) => column(share) + (height - 1) * width),
  ];
}

function fillArea(pixels: Pixels, { from, to, colour }: PlainArea): void {
  for (let y = from[1]; y < to[1]; y++) {
    for (let x = from[0]; x < to[0]; x++) {
      const position = (y * pixels.width + x) * 4;
      for (let channel = 0; channel < 3; channel++) pixels.data[position + channel] = colour[channel] ?? 0;
    }
  }
}
