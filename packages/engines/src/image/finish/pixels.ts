/**
 * Pixels of the painted canvas for the finishes: reading, writing, and their shared noise.
 */
import type { Random } from '@darkroom/seeded-random/random';
import type { Context } from '../stage.ts';

/** Four bytes per pixel, row by row. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8ClampedArray;
}

/** The pixels of a canvas; `put` writes them back. */
export function pixelsOf(context: Context): Pixels & { put(): void } {
  const { width, height } = context.canvas;
  const image = context.getImageData(0, 0, width, height);
  return { width, height, data: image.data, put: () => context.putImageData(image, 0, 0) };
}

/** Red, green and blue at a point in logical units. */
export function colourAt(pixels: Pixels, scale: number, x: number, y: number): [number, number, number] {
  const column = Math.max(0, Math.min(pixels.width - 1, Math.round(x * scale)));
  const row = Math.max(0, Math.min(pixels.height - 1, Math.round(y * scale)));
  const position = (row * pixels.width + column) * 4;
  return [pixels.data[position] ?? 0, pixels.data[position + 1] ?? 0, pixels.data[position + 2] ?? 0];
}

/** A tile of noise, -1 to 1, so that a finish over millions of pixels needs no further random numbers. */
export function grainTile(random: Random): Float32Array {
  return Float32Array.from({ length: 256 * 256 }, () => random.next() + random.next() - 1);
}
