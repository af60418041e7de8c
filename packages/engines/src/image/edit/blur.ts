/**
 * Blurring whole images, by the canvas library's own filter.
 */
import { createCanvas } from '@napi-rs/canvas';
import type { Canvas } from '@napi-rs/canvas';
import type { Pixels } from '../finish/pixels.ts';
import { canvasOf } from '../analysis/input-images.ts';

/** The blurred image; the radius is a share of its mean side. Blurred small and scaled up where that is not visible. */
export function blurred(pixels: Pixels, share: number): Canvas {
  const { width, height } = pixels;
  const radius = Math.sqrt(width * height) * share;
  const shrink = Math.max(1, Math.floor(radius / 4));
  const small = createCanvas(Math.max(1, Math.round(width / shrink)), Math.max(1, Math.round(height / shrink)));
  const tiny = small.getContext('2d');
  tiny.imageSmoothingQuality = 'high';
  tiny.drawImage(canvasOf(pixels), 0, 0, small.width, small.height);
  // The filter treats the outside as empty: the border is extended first.
  const edge = Math.ceil((radius / shrink) * 3);
  const wide = createCanvas(small.width + edge * 2, small.height + edge * 2);
  const context = wide.getContext('2d');
  for (const [x, y, turnX, turnY] of [
    [-1, -1, -1, -1],
    [0, -1, 1, -1],
    [1, -1, -1, -1],
    [-1, 0, -1, 1],
    [0, 0, 1, 1],
    [1, 0, -1, 1],
    [-1, 1, -1, -1],
    [0, 1, 1, -1],
    [1, 1, -1, -1],
  ] as const) {
    context.save();
    context.translate(
      edge + x * small.width + (turnX < 0 ? small.width : 0),
      edge + y * small.height + (turnY < 0 ? small.height : 0),
    );
    context.scale(turnX, turnY);
    context.drawImage(small, 0, 0);
    context.restore();
  }
  const soft = createCanvas(wide.width, wide.height);
  const softContext = soft.getContext('2d');
  softContext.filter = `blur(${(radius / shrink).toFixed(2)}px)`;
  softContext.drawImage(wide, 0, 0);
  const result = createCanvas(width, height);
  const resultContext = result.getContext('2d');
  resultContext.imageSmoothingQuality = 'high';
  resultContext.drawImage(soft, edge, edge, small.width, small.height, 0, 0, width, height);
  return result;
}
