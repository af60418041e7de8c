/**
 * Paints the layers of a world one after the other on one canvas, with the picture engine's own painters, and takes each
 * away as a bitmap. One canvas for all: its memory is what painting costs most.
 */
import { createCanvas } from '@napi-rs/canvas';
import type { Canvas } from '@napi-rs/canvas';
import { adjust, css } from '../image/colour.ts';
import { glow } from '../image/draw.ts';
import type { Stage } from '../image/stage.ts';
import { finishedPixels } from './layer-finish.ts';
import { createBitmap, trimmed } from './raster/bitmap.ts';
import type { PlacedBitmap } from './raster/bitmap.ts';

/** Where a layer may be cut off because nobody sees it: logical units. */
interface Cut {
  readonly top?: number;
  readonly bottom?: number;
}

export class LayerPainter {
  readonly #canvas: Canvas;
  /** The stage whose context is this painter's canvas. */
  readonly stage: Stage;

  /** @param stage everything but the context. */
  constructor(stage: Omit<Stage, 'context'>) {
    this.#canvas = createCanvas(Math.ceil(stage.width * stage.scale), Math.ceil(stage.height * stage.scale));
    const context = this.#canvas.getContext('2d');
    context.scale(stage.scale, stage.scale);
    this.stage = { ...stage, context };
  }

  /** Pixels. */
  get width(): number {
    return this.#canvas.width;
  }

  /** Pixels. */
  get height(): number {
    return this.#canvas.height;
  }

  /** Paints a layer that is empty where nothing is painted; undefined where that is everywhere. */
  paint(paint: (stage: Stage) => void, cut: Cut = {}): PlacedBitmap | undefined {
    const pixels = this.#paint(paint);
    const { from, to } = this.#rows(cut);
    const part = pixels.subarray(from * this.width, to * this.width);
    const found = trimmed(part, this.width, to - from);
    return found === undefined ? undefined : { ...found, top: found.top + from };
  }

  /** Paints a layer that covers the whole world, or its rows within the cut. */
  paintFull(paint: (stage: Stage) => void, cut: Cut = {}): PlacedBitmap {
    const pixels = this.#paint(paint);
    const { from, to } = this.#rows(cut);
    const part = pixels.slice(from * this.width, to * this.width);
    return { bitmap: createBitmap(part, this.width, to - from, true), left: 0, top: from };
  }

  #paint(paint: (stage: Stage) => void): Uint32Array {
    const { context } = this.stage;
    context.clearRect(0, 0, this.stage.width, this.stage.height);
    context.save();
    paint(this.stage);
    context.restore();
    if (!this.stage.isFlat) shadeCorners(this.stage);
    return finishedPixels(this.stage);
  }

  #rows({ top = 0, bottom = Infinity }: Cut): { from: number; to: number } {
    const { scale } = this.stage;
    return {
      from: Math.max(0, Math.floor(top * scale)),
      to: Math.min(this.height, Math.ceil(bottom * scale)),
    };
  }
}

/** Light that lies over everything, on what is painted only: warm towards its source, the corners a little darker. */
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
