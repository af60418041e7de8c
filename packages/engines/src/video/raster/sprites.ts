/**
 * Small images that appear many times a frame: flakes, drops, glints, stars. Each is stored at sixteen subpixel
 * positions, so that it moves smoothly although it is only copied.
 */
import { createCanvas } from '@napi-rs/canvas';
import type { Context } from '../../image/stage.ts';
import { pixelsOf } from './bitmap.ts';
import type { Frame } from './drawing.ts';
import { addLight, layOver } from './kernels.ts';

/** Positions between two pixels in each direction. */
const STEPS = 4;

export interface Sprite {
  /** Pixels per side, for each of the positions. */
  readonly width: number;
  readonly height: number;
  /** By position, row after row of positions. */
  readonly phases: readonly Uint32Array[];
  /** From the left and upper edge to its origin. */
  readonly originX: number;
  readonly originY: number;
}

/**
 * Paints a sprite.
 *
 * @param size.width and height: of what `paint` paints, in pixels; it paints around the origin, in pixels.
 */
export function createSprite(
  size: { readonly width: number; readonly height: number },
  paint: (context: Context) => void,
): Sprite {
  const [width, height] = [Math.ceil(size.width) + 3, Math.ceil(size.height) + 3];
  const canvas = createCanvas(width * STEPS, height * STEPS);
  const context = canvas.getContext('2d');
  const [originX, originY] = [Math.floor(width / 2), Math.floor(height / 2)];
  for (let phase = 0; phase < STEPS * STEPS; phase++) {
    const [column, row] = [phase % STEPS, Math.floor(phase / STEPS)];
    context.save();
    context.beginPath();
    context.rect(column * width, row * height, width, height);
    context.clip();
    context.translate(column * width + originX + column / STEPS, row * height + originY + row / STEPS);
    paint(context);
    context.restore();
  }
  const pixels = pixelsOf(canvas);
  const phases = Array.from({ length: STEPS * STEPS }, (_, phase) => {
    const cut = new Uint32Array(width * height);
    const start = Math.floor(phase / STEPS) * height * canvas.width + (phase % STEPS) * width;
    for (let row = 0; row < height; row++) {
      const from = start + row * canvas.width;
      cut.set(pixels.subarray(from, from + width), row * width);
    }
    return cut;
  });
  return { width, height, phases, originX, originY };
}

/** Draws a sprite with its origin at a point in the frame. @param strength 0 to 1. */
export function stamp(frame: Frame, sprite: Sprite, x: number, y: number, strength = 1, isLight = false): void {
  const [left, top] = [Math.floor(x * STEPS), Math.floor(y * STEPS)];
  const pixels = sprite.phases[(top & (STEPS - 1)) * STEPS + (left & (STEPS - 1))];
  const [column, row] = [(left >> 2) - sprite.originX, (top >> 2) - sprite.originY];
  const [first, last] = [Math.max(0, column), Math.min(frame.width, column + sprite.width)];
  const strength256 = Math.min(256, Math.round(strength * 256));
  if (pixels === undefined || first >= last || strength256 <= 0) return;
  const end = Math.min(frame.height, row + sprite.height);
  for (let line = Math.max(0, row); line < end; line++) {
    const from = (line - row) * sprite.width + first - column;
    if (isLight) addLight(frame.pixels, line * frame.width + first, last - first, pixels, from, strength256);
    else layOver(frame.pixels, line * frame.width + first, last - first, pixels, from, strength256);
  }
}
