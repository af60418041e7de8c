/**
 * Gives a layer the finish of its style, as if it were a whole image, and removes the pixels outside the layer again:
 * so that painted scenes stay painted when their layers move against each other.
 */
import { css } from '../image/colour.ts';
import { applyFinish } from '../image/finish.ts';
import type { Style } from '../image/lexicon.ts';
import type { Stage } from '../image/stage.ts';
import { pixelsOf } from './raster/bitmap.ts';

/** Styles whose finish is in each layer. Others are applied to whole frames (frame-finish.ts), or need none. */
const IN_LAYERS: ReadonlySet<Style> = new Set(['watercolour', 'oil', 'ink', 'sketch', 'low-poly', 'glass']);

/** Whether the finish of a style is in each layer. Coordinates count from an image's upper left corner. */
export function isFinishedInLayers(style: Style): boolean {
  return IN_LAYERS.has(style);
}

/** The pixels of the stage's canvas with the finish of its style. */
export function finishedPixels(stage: Stage): Uint32Array {
  const { context, style } = stage;
  const { canvas } = context;
  if (!isFinishedInLayers(style)) return pixelsOf(canvas);
  const before = pixelsOf(canvas);
  context.save();
  context.setTransform(1, 0, 0, 1, 0, 0);
  // The finishes mix neighbouring pixels: beside the layer there is air.
  context.globalCompositeOperation = 'destination-over';
  context.fillStyle = css(stage.palette.haze);
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.restore();
  applyFinish(stage);
  const after = pixelsOf(canvas);
  for (let index = 0; index < after.length; index++) {
    const alpha = (before[index] as number) >>> 24;
    if (alpha === 255) continue;
    const pixel = after[index] as number;
    after[index] =
      alpha === 0
        ? 0
        : ((alpha << 24) |
            (((((pixel >>> 16) & 255) * alpha) / 255) << 16) |
            (((((pixel >>> 8) & 255) * alpha) / 255) << 8) |
            (((pixel & 255) * alpha) / 255)) >>>
          0;
  }
  return after;
}
