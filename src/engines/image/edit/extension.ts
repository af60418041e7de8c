/**
 * A picture carried on beyond its borders: mirrored there, so that every line goes on, and the further out the more out
 * of focus, so that nothing is seen twice.
 */
import { createCanvas } from '@napi-rs/canvas';
import type { Pixels } from '../finish/pixels.ts';
import { grainTile } from '../finish/pixels.ts';
import { blendInto } from '../picture/colour-cube.ts';
import { canvasOf, pixelsIn } from '../picture/given.ts';
import { smoothStep } from '../picture/planes.ts';
import { findSubject } from '../picture/subject-mask.ts';
import type { Random } from '../random.ts';
import { blurred } from './blur.ts';
import { fillSubject } from './completion.ts';

/** Where the picture lies on the larger sheet, and how large that is; in pixels. */
export interface Sheet {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** From which clarity a subject is taken out of what is mirrored. */
const CLEAR = 0.1;

/** Radii of the blur, as shares of the mean side, and the distances by which each has taken over. */
const SOFTER = [
  { radius: 0.004, from: 0.004, to: 0.05 },
  { radius: 0.012, from: 0.04, to: 0.14 },
  { radius: 0.034, from: 0.1, to: 0.3 },
  { radius: 0.07, from: 0.26, to: 0.6 },
] as const;

/** The picture mirrored at its borders, as often as it takes to fill the sheet. */
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

/** The picture at a place of a larger sheet, the rest of it carried on from what the picture shows. */
export function extended(pixels: Pixels, sheet: Sheet, random: Random): Pixels {
  const { left, top, width, height } = sheet;
  const [right, bottom] = [left + pixels.width, top + pixels.height];
  const unit = Math.sqrt(pixels.width * pixels.height);
  const result = mirrored(pixels, sheet);
  const distance = (index: number): number => {
    const [x, y] = [index % width, Math.floor(index / width)];
    return Math.hypot(Math.max(0, left - x, x - right + 1), Math.max(0, top - y, y - bottom + 1)) / unit;
  };
  // Beyond the border itself without what the picture is of: nobody stands beside himself.
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
  // The grain that the blur took, so that what was added does not look smoother than a photograph.
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
