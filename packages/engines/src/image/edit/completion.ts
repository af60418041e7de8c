/**
 * Fills the part of an image from which something was removed, with patches from the rest of it. They are matched and
 * voted upon from coarse to fine (`patch-matching.ts`); the last step copies pixels at full size from the sources of
 * the patches.
 */
import { createCanvas } from '@napi-rs/canvas';
import type { Pixels } from '../finish/pixels.ts';
import { canvasOf, pixelsIn } from '../analysis/input-images.ts';
import { boxBlur } from '../analysis/planes.ts';
import type { SubjectMask } from '../analysis/subject-mask.ts';
import type { Random } from '@darkroom/seeded-random/random';
import { Matcher } from './patch-matching.ts';
import type { Level, Matches, Pull } from './patch-matching.ts';

/** Pixels of the longer side up to which patches are matched; at finer sizes they are copied. Few if blurred later. */
const MATCHED = { sharp: 280, soft: 130 } as const;
/** The size at which matching begins. */
const COARSEST = 40;
/** Rounds of matching and voting at a level, the coarsest first. */
const ROUNDS = [10, 6, 4, 3, 2] as const;

/** The missing part. */
interface Gap {
  /** 1 where a pixel is missing; the current values of the missing pixels are the first guess. */
  readonly hole: Uint8Array;
  readonly pull: Pull;
}

function levelOf(pixels: Pixels, gap: Gap, width: number, height: number): Level {
  const { hole } = gap;
  const small = createCanvas(width, height);
  const context = small.getContext('2d');
  context.imageSmoothingQuality = 'high';
  context.drawImage(canvasOf(pixels), 0, 0, width, height);
  const { data } = pixelsIn(small);
  const colours = new Float32Array(width * height * 3);
  const holes = new Uint8Array(width * height);
  for (let index = 0; index < width * height; index++) {
    for (let channel = 0; channel < 3; channel++) colours[index * 3 + channel] = data[index * 4 + channel] ?? 0;
    holes[index] = isIn(hole, pixels, index, width, height) ? 1 : 0;
  }
  return { width, height, colours, hole: holes };
}

/** Whether any pixel below a point of a level is marked. */
function isIn(marks: Uint8Array, pixels: Pixels, index: number, width: number, height: number): boolean {
  const [column, row] = [index % width, Math.floor(index / width)];
  const [left, top] = [Math.floor((column * pixels.width) / width), Math.floor((row * pixels.height) / height)];
  const right = Math.max(left + 1, Math.ceil(((column + 1) * pixels.width) / width));
  const bottom = Math.max(top + 1, Math.ceil(((row + 1) * pixels.height) / height));
  for (let y = top; y < bottom; y++) {
    for (let x = left; x < right; x++) if (marks[y * pixels.width + x] === 1) return true;
  }
  return false;
}

/** Removes the subject from an image, in place, and fills the gap from its surroundings. */
export function fillSubject(
  pixels: Pixels,
  subject: SubjectMask,
  random: Random,
  look: 'sharp' | 'soft' = 'sharp',
): void {
  const { width, height } = pixels;
  const wide = boxBlur(subject.mask, Math.max(2, Math.round(Math.max(width, height) / 70)));
  const hole = Uint8Array.from(wide.values, (value) => (value > 0.06 ? 1 : 0));
  complete(pixels, { hole, pull: { across: 20_000, down: 400_000 } }, random, MATCHED[look]);
}

/** Fills the missing part, in place. */
function complete(pixels: Pixels, gap: Gap, random: Random, matched: number): void {
  const longest = Math.max(pixels.width, pixels.height);
  const sizes: number[] = [Math.min(matched, longest)];
  while ((sizes[0] ?? 0) > COARSEST * 1.6) sizes.unshift(Math.round((sizes[0] ?? 0) / 1.65));
  let before: Matches | undefined;
  let finest: Level | undefined;
  for (const [index, size] of sizes.entries()) {
    const share = size / longest;
    const width = Math.max(2, Math.round(pixels.width * share));
    const height = Math.max(2, Math.round(pixels.height * share));
    const level = levelOf(pixels, gap, width, height);
    const matcher = new Matcher(level, random.fork(`level ${index}`), gap.pull);
    if (!matcher.isPossible) continue;
    matcher.begin(before);
    for (let round = 0; round < (ROUNDS[index] ?? 2); round++) matcher.round();
    before = { matches: matcher.matches, width, height };
    finest = level;
  }
  if (before !== undefined && finest !== undefined) copyBack(pixels, gap.hole, before, finest);
}

/** Copies pixels at full size from the sources of the patches, adjusted towards the voted colours. */
function copyBack(pixels: Pixels, hole: Uint8Array, { matches, width, height }: Matches, { colours }: Level): void {
  const { data } = pixels;
  const source = Uint8ClampedArray.from(data);
  const [scaleX, scaleY] = [pixels.width / width, pixels.height / height];
  for (let row = 0; row < pixels.height; row++) {
    for (let column = 0; column < pixels.width; column++) {
      const index = row * pixels.width + column;
      if (hole[index] !== 1) continue;
      const [x, y] = [(column + 0.5) / scaleX - 0.5, (row + 0.5) / scaleY - 0.5];
      const [left, top] = [Math.floor(x), Math.floor(y)];
      let [red, green, blue, total] = [0, 0, 0, 0];
      for (let corner = 0; corner < 4; corner++) {
        const toX = Math.max(0, Math.min(width - 1, left + (corner & 1)));
        const toY = Math.max(0, Math.min(height - 1, top + (corner >> 1)));
        const position = toY * width + toX;
        const match = matches[position] ?? -1;
        const weight = Math.abs(1 - (corner & 1) - (x - left)) * Math.abs(1 - (corner >> 1) - (y - top)) + 0.001;
        let [fromRed, fromGreen, fromBlue] = [
          colours[position * 3] ?? 0,
          colours[position * 3 + 1] ?? 0,
          colours[position * 3 + 2] ?? 0,
        ];
        if (match >= 0) {
          const fromX = Math.max(0, Math.min(pixels.width - 1, Math.round(((match % width) - toX) * scaleX) + column));
          const fromY = Math.max(
            0,
            Math.min(pixels.height - 1, Math.round((Math.floor(match / width) - toY) * scaleY) + row),
          );
          const from = (fromY * pixels.width + fromX) * 4;
          // The detail of the source is added to the voted colour, so that no seam shows a step of brightness.
          const tone = match * 3;
          fromRed += ((source[from] ?? 0) - (colours[tone] ?? 0)) * 0.85;
          fromGreen += ((source[from + 1] ?? 0) - (colours[tone + 1] ?? 0)) * 0.85;
          fromBlue += ((source[from + 2] ?? 0) - (colours[tone + 2] ?? 0)) * 0.85;
        }
        red += fromRed * weight;
        green += fromGreen * weight;
        blue += fromBlue * weight;
        total += weight;
      }
      data[index * 4] = red / total;
      data[index * 4 + 1] = green / total;
      data[index * 4 + 2] = blue / total;
      data[index * 4 + 3] = 255;
    }
  }
}
