/**
 * Whole frames over each other: dissolves, and the colours of a look.
 */
import type { Frame } from './drawing.ts';
import { mixRows } from './kernels.ts';

/** Mixes another frame of the same size into a frame. @param share 0 leaves it as it is, 1 is the other. */
export function dissolve(frame: Frame, other: Frame, share: number): void {
  const part = Math.max(0, Math.min(256, Math.round(share * 256)));
  if (part > 0) mixRows(frame.pixels, 0, frame.pixels.length, frame.pixels, 0, other.pixels, 0, part);
}

/** A curve for each channel: the new value for each of 0 to 255. */
export interface Look {
  readonly red: Uint8Array;
  readonly green: Uint8Array;
  readonly blue: Uint8Array;
  /** How much of the colour remains, 0 to 1. */
  readonly strength: number;
}

/** Applies the colours of a look to a frame. */
export function grade(frame: Frame, look: Look): void {
  const { pixels } = frame;
  const { red, green, blue } = look;
  const keep = Math.round(look.strength * 256);
  for (let index = 0; index < pixels.length; index++) {
    const pixel = pixels[index] as number;
    let r = pixel & 255;
    let g = (pixel >>> 8) & 255;
    let b = (pixel >>> 16) & 255;
    if (keep !== 256) {
      // Rec. 709 luma in 256ths.
      const grey = (r * 54 + g * 183 + b * 19) >> 8;
      r = grey + (((r - grey) * keep) >> 8);
      g = grey + (((g - grey) * keep) >> 8);
      b = grey + (((b - grey) * keep) >> 8);
      r = r < 0 ? 0 : r > 255 ? 255 : r;
      g = g < 0 ? 0 : g > 255 ? 255 : g;
      b = b < 0 ? 0 : b > 255 ? 255 : b;
    }
    pixels[index] = 0xff000000 | ((blue[b] as number) << 16) | ((green[g] as number) << 8) | (red[r] as number);
  }
}
