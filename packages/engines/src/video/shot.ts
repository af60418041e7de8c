/**
 * The shots that a video is cut from, each a period of time and a painter for its frames. Shots are opened when they
 * start and closed when they end, so that a video of many shots holds the layers of two at most.
 */
import type { Frame } from './raster/drawing.ts';

/** A moment of a shot that is being painted. */
interface ShotTime {
  /** Since the shot began. */
  readonly seconds: number;
  /** The elapsed share of the shot, 0 to 1. */
  readonly share: number;
  /** The elapsed share of the video, 0 to 1. */
  readonly videoShare: number;
}

export interface ShotPainter {
  /** Paints one frame. Moments come in order. */
  paint(frame: Frame, time: ShotTime): void | Promise<void>;
  close?(): Promise<void>;
}

export interface Shot {
  /** Of the video, in seconds. */
  readonly from: number;
  readonly to: number;
  /** How long the shot before it remains visible at its beginning; 0: a cut. The shot before lasts that much longer. */
  readonly dissolveSeconds: number;
  open(): ShotPainter | Promise<ShotPainter>;
}

/** Something that is drawn over every frame of a video. */
export type Overlay = (frame: Frame, seconds: number) => void;
