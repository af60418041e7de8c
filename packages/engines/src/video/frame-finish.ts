/**
 * Styles that are applied to whole frames: photographs that are faded or have no colour, and large pixels.
 */
import type { Style } from '../image/lexicon.ts';
import type { VideoSize } from './video-size.ts';
import { createLook } from './look.ts';
import { grade } from './raster/blending.ts';
import { createFrame } from './raster/drawing.ts';
import type { Frame } from './raster/drawing.ts';
import type { ShotPainter } from './shot.ts';

/** Pixels across the mean side of an image in large pixels. */
const LARGE_PIXELS = 190;
/** Tones of each channel. */
const TONES = 10;
/** Bayer matrix: which of sixteen neighbours turns brighter first. */
const ORDER = [0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5] as const;

/** The size at which the shots of a style are painted. */
export function paintedSize(style: Style, size: VideoSize): VideoSize {
  if (style !== 'pixel') return size;
  const block = blockOf(size);
  return { width: Math.ceil(size.width / block), height: Math.ceil(size.height / block) };
}

function blockOf({ width, height }: VideoSize): number {
  return Math.max(2, Math.round(Math.sqrt(width * height) / LARGE_PIXELS));
}

/** A shot in the finish of its style. @param open paints frames of `paintedSize`. */
export function inStyle(style: Style, size: VideoSize, painter: ShotPainter): ShotPainter {
  const close = painter.close === undefined ? {} : { close: () => painter.close?.() ?? Promise.resolve() };
  if (style === 'noir' || style === 'vintage') {
    const look = createLook(style);
    return {
      ...close,
      async paint(frame, time) {
        await painter.paint(frame, time);
        grade(frame, look);
      },
    };
  }
  if (style !== 'pixel') return painter;
  const small = paintedSize(style, size);
  const painted = createFrame(small.width, small.height);
  return {
    ...close,
    async paint(frame, time) {
      await painter.paint(painted, time);
      enlarge(painted, frame, blockOf(size));
    },
  };
}

/** Copies a small frame as large pixels of few tones. */
function enlarge(small: Frame, frame: Frame, block: number): void {
  const step = 255 / (TONES - 1);
  const tone = (value: number, shift: number): number =>
    Math.max(0, Math.min(255, Math.round(Math.round((value + shift) / step) * step)));
  for (let row = 0; row < small.height; row++) {
    const top = row * block;
    const line = top * frame.width;
    for (let column = 0; column < small.width; column++) {
      const pixel = small.pixels[row * small.width + column] as number;
      const shift = ((ORDER[((row & 3) << 2) | (column & 3)] ?? 0) / 16 - 0.5) * step * 0.6;
      const [red, green, blue] = [
        tone(pixel & 255, shift),
        tone((pixel >>> 8) & 255, shift),
        tone((pixel >>> 16) & 255, shift),
      ];
      const from = line + column * block;
      frame.pixels.fill(
        0xff000000 | (blue << 16) | (green << 8) | red,
        from,
        Math.min(from + block, line + frame.width),
      );
    }
    for (let copy = 1; copy < block && top + copy < frame.height; copy++) {
      frame.pixels.copyWithin(line + copy * frame.width, line, line + frame.width);
    }
  }
}
