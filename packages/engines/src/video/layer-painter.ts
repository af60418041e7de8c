/**
 * Paints the layers of a world one after the other, with the image engine's own painters, and copies each into a
 * bitmap. Canvases are only as high as the part of a layer that is kept, and are reused: their memory is the largest
 * cost of painting.
 */
import { createCanvas } from '@napi-rs/canvas';
import type { Canvas } from '@napi-rs/canvas';
import { adjust, css } from '../image/colour.ts';
import { glow } from '../image/draw.ts';
import type { Stage } from '../image/stage.ts';
import { finishedPixels, isFinishedInLayers } from './layer-finish.ts';
import { createBitmap, trimmed } from './raster/bitmap.ts';
import type { PlacedBitmap } from './raster/bitmap.ts';

/** Where a layer may be cut off because the rest is invisible or empty: logical units. */
interface Cut {
  readonly top?: number;
  readonly bottom?: number;
}

/** Canvas heights are multiples of this many rows, so that layers of about the same height share one. */
const ROWS_STEP = 64;

export class LayerPainter {
  readonly #canvases = new Map<number, Canvas>();
  /** The stage that is painted for; its context is for measuring only. */
  readonly stage: Stage;
  /** Of the whole world, in pixels. */
  readonly width: number;
  readonly height: number;

  /** @param stage everything but the context. */
  constructor(stage: Omit<Stage, 'context'>) {
    this.width = Math.ceil(stage.width * stage.scale);
    this.height = Math.ceil(stage.height * stage.scale);
    this.stage = { ...stage, context: createCanvas(1, 1).getContext('2d') };
  }

  /** Paints a layer that is transparent where nothing is painted; undefined if all of it is. */
  paint(paint: (stage: Stage) => void, cut: Cut = {}): PlacedBitmap | undefined {
    const { pixels, from, rows } = this.#paint(paint, cut);
    const found = trimmed(pixels, this.width, rows);
    return found === undefined ? undefined : { ...found, top: found.top + from };
  }

  /** Paints a layer that covers the whole world, or its rows within the cut. */
  paintFull(paint: (stage: Stage) => void, cut: Cut = {}): PlacedBitmap {
    const { pixels, from, rows } = this.#paint(paint, cut);
    return { bitmap: createBitmap(pixels, this.width, rows, true), left: 0, top: from };
  }

  #paint(
    paint: (stage: Stage) => void,
    { top = 0, bottom = Infinity }: Cut,
  ): { readonly pixels: Uint32Array; readonly from: number; readonly rows: number } {
    const { scale, style, isFlat } = this.stage;
    const from = isFinishedInLayers(style) ? 0 : Math.max(0, Math.floor(top * scale));
    const to = Math.min(this.height, Math.ceil(bottom * scale));
    const rows = Math.ceil((to - from) / ROWS_STEP) * ROWS_STEP;
    const canvas = this.#canvases.get(rows) ?? createCanvas(this.width, rows);
    this.#canvases.set(rows, canvas);
    const context = canvas.getContext('2d');
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.width, rows);
    context.setTransform(scale, 0, 0, scale, 0, -from);
    const stage = { ...this.stage, context };
    context.save();
    paint(stage);
    context.restore();
    if (!isFlat) shadeCorners(stage);
    const pixels = finishedPixels(stage);
    // The part below the cut was only there to fill the canvas.
    return { pixels: pixels.subarray(0, (to - from) * this.width), from, rows: to - from };
  }
}

/** Light that lies over everything, on painted pixels only: warm towards its source, the corners a little darker. */
function shadeCorners(stage: Stage): void {
  const { context, width, height, palette, light } = stage;
  context.save();
  context.globalCompositeOperation = 'source-atop';
  if (light.body === 'sun' && light.isVisible && !palette.isDark) {
    glow(context, light, Math.max(width, height) * 0.6, palette.rim, 0.13);
  }
  const reach = Math.hypot(width, height) * 0.56;
  const corner = context.createRadialGradient(width / 2, height * 0.47, reach * 0.55, width / 2, height / 2, reach);
  corner.addColorStop(0, css(palette.sky[0], 0));
  corner.addColorStop(1, css(adjust(palette.sky[0], -0.16), palette.isDark ? 0.42 : 0.24));
  context.fillStyle = corner;
  context.fillRect(0, 0, width, height);
  context.restore();
}
