/**
 * What a film is cut from: shots, each a stretch of time and something that paints its frames. Shots are opened when they
 * are due and closed when they are over, so that a film of many shots holds the layers of two at most.
 */
import type { Frame } from './raster/drawing.ts';

/** A moment of a shot that is being painted. */
interface ShotTime {
  /** Since the shot began. */
  readonly seconds: number;
  /** How much of the shot is over, 0 to 1. */
  readonly share: number;
  /** How much of the film is over, 0 to 1. */
  readonly filmShare: number;
}

export interface ShotPainter {
  /** Paints one frame. Moments come in their order. */
  paint(frame: Frame, time: ShotTime): void | Promise<void>;
  close?(): Promise<void>;
}

export interface Shot {
  /** Of the film, in seconds. */
  readonly from: number;
  readonly to: number;
  /** For how long the shot before it shows through at its beginning; 0: a cut. The shot before lasts that much longer. */
  readonly dissolveSeconds: number;
  open(): ShotPainter | Promise<ShotPainter>;
}

/** What is drawn over every frame of a film. */
export type Overlay = (frame: Frame, seconds: number) => void;
