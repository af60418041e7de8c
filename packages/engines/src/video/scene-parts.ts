/**
 * The parts of a scene in motion, which are drawn over each other for every frame, from far to near.
 */
import type { View } from './camera.ts';
import { project } from './camera.ts';
import { draw } from './raster/drawing.ts';
import type { Frame, RowPosition, Shade } from './raster/drawing.ts';
import type { PlacedBitmap } from './raster/bitmap.ts';

/** One moment of a shot. */
export interface Moment {
  readonly view: View;
  /** Since the shot began. */
  readonly seconds: number;
  /** How far the video's light has gone from its first time of day to its last, 0 to 1. */
  readonly progress: number;
  /** The light on the land, if it differs from the painted light. */
  readonly shade: Shade | undefined;
}

/** Draws one part of a scene. */
export type Part = (frame: Frame, moment: Moment) => void;

interface LayerOptions {
  /** Whether the light of the moment applies to it. */
  readonly isShaded?: boolean;
  /** Pixels of the world per second, to the right. */
  readonly drift?: number;
  /** How far its top sways in the wind, in pixels, standing on its lower edge. */
  readonly sway?: number;
  readonly strength?: (moment: Moment) => number;
  readonly isLight?: boolean;
  readonly bend?: (y: number, position: RowPosition, moment: Moment) => void;
}

/** A painted layer as a part: moves with the camera, and drifts or sways. */
export function layerPart(placed: PlacedBitmap | undefined, nearness: number, options: LayerOptions = {}): Part {
  if (placed === undefined) return () => {};
  const { bitmap, left, top } = placed;
  const { drift = 0, sway = 0, isShaded = true, isLight = false } = options;
  return (frame, moment) => {
    const { scale, x, y } = project(moment.view, nearness);
    const strength = options.strength?.(moment) ?? 1;
    const foot = (top + bitmap.height) * scale + y;
    const lean = sway === 0 ? 0 : (sway * gust(moment.seconds, left)) / (bitmap.height * scale);
    draw(frame, bitmap, {
      x: (left + drift * moment.seconds) * scale + x,
      y: top * scale + y,
      scale,
      strength,
      isLight,
      ...(isShaded && moment.shade !== undefined ? { shade: moment.shade } : {}),
      ...(sway === 0 ? {} : { lean: { foot, by: lean } }),
      ...(options.bend === undefined
        ? {}
        : { bend: (row: number, position: RowPosition) => options.bend?.(row, position, moment) }),
    });
  };
}

/** Wind that comes and goes, -1 to 1. @param position where it blows: neighbours move one after the other. */
export function gust(seconds: number, position: number): number {
  const phase = position * 0.004;
  return 0.6 * Math.sin(seconds * 1.3 - phase) + 0.4 * Math.sin(seconds * 2.9 - phase * 1.7 + 1);
}
