/**
 * Where the camera is at each moment of a shot, and where things at any distance appear from there. A scene is flat
 * layers, one behind the other: near ones move and grow more than far ones, and all of them agree at the horizon.
 */
import { createLineNoise, fractal } from '../image/noise.ts';
import type { Random } from '@darkroom/seeded-random/random';

/** What the camera does in a shot. */
export type Move = 'push' | 'pull' | 'left' | 'right' | 'rise' | 'sink' | 'orbit' | 'calm' | 'still' | 'shake';

/** The position of the camera, as fractions of the frame. */
interface CameraState {
  /** To the right; near things move to the left by as much. */
  readonly x: number;
  /** Looking down; the whole image moves up. */
  readonly y: number;
  /** Standing higher: near things move down, the horizon stays. */
  readonly rise: number;
  /** How much larger near things appear; at least 1. */
  readonly zoom: number;
  /** The nearness that does not move when the camera moves sideways. */
  readonly pivot: number;
}

/** How much larger than the frame a world is painted: the reach of the camera, as fractions of the frame. */
export const MARGIN = { side: 0.125, top: 0.07, bottom: 0.11 } as const;

const REST: CameraState = { x: 0, y: 0, rise: 0, zoom: 1, pivot: 0 };
/** The nearest layers move half as much again as things close by. */
const REACH = 0.078;

/** Begins and ends slowly without stopping: shots are cut while the camera moves. */
function ease(share: number): number {
  const part = Math.max(0, Math.min(1, share));
  return part * 0.4 + part * part * (3 - 2 * part) * 0.6;
}

/** Begins from rest. */
export function easeIn(share: number): number {
  const part = Math.max(0, Math.min(1, share));
  return part * part * (1.8 - 0.8 * part);
}

/** A camera for one shot. @param strength 1 for a move of a few seconds; longer shots go further. */
export function createCamera(
  move: Move,
  strength: number,
  random: Random,
): (share: number, seconds: number) => CameraState {
  const [drift, tilt] = [createLineNoise(random.fork('drift')), createLineNoise(random.fork('tilt'))];
  const reach = REACH * Math.min(1, 0.55 + strength * 0.45);
  const calm = (seconds: number, amount: number): { x: number; y: number; rise: number } => ({
    x: fractal(drift, seconds * 0.35 + 3, 2) * amount,
    y: fractal(tilt, seconds * 0.3 + 9, 2) * amount * 0.45,
    rise: 0,
  });
  const side = random.chance(0.5) ? 1 : -1;
  return (share, seconds) => {
    const part = ease(share);
    const swing = part * 2 - 1;
    switch (move) {
      case 'push':
        return { ...REST, ...calm(seconds, 0.004), zoom: 1 + (0.1 + 0.12 * strength) * part, y: 0.03 * part };
      case 'pull':
        return {
          ...REST,
          ...calm(seconds, 0.004),
          zoom: 1 + (0.1 + 0.12 * strength) * (1 - part),
          y: 0.03 * (1 - part),
        };
      case 'left':
        return { ...REST, x: -swing * reach };
      case 'right':
        return { ...REST, x: swing * reach };
      case 'rise':
        return { ...REST, y: 0.055 - 0.115 * part, rise: -0.035 + 0.075 * part, zoom: 1.06 - 0.04 * part };
      case 'sink':
        return { ...REST, y: -0.06 + 0.1 * part, rise: 0.04 - 0.07 * part, zoom: 1.02 + 0.05 * part };
      case 'orbit':
        return { ...REST, x: side * swing * reach * 1.2, pivot: 0.45, zoom: 1.03 + 0.03 * Math.sin(part * Math.PI) };
      case 'shake':
        return {
          ...REST,
          x: fractal(drift, seconds * 1.4, 3) * 0.012,
          y: fractal(tilt, seconds * 1.5, 3) * 0.011,
          zoom: 1.05 + 0.03 * part,
        };
      case 'calm':
        return { ...REST, ...calm(seconds, 0.014), zoom: 1.02 + 0.05 * part };
      case 'still':
        return REST;
    }
  };
}

/** The part of a painted world that a frame shows; pixels. */
export interface View {
  readonly width: number;
  readonly height: number;
  /** The point of the world in the frame's upper left corner when the camera is at rest. */
  readonly left: number;
  readonly top: number;
  /** The point of the world to which the camera moves. */
  readonly focus: number;
  readonly horizon: number;
  readonly camera: CameraState;
}

/** A point of the world in the frame: `position * scale + offset`. */
interface Projection {
  readonly scale: number;
  readonly x: number;
  readonly y: number;
}

/** Things this far away do not grow when the camera comes closer. */
const FAR_AWAY = 0.3;

/** How the layer of a given nearness appears: 0 for the sky, 0.2 at the horizon, 1 close by, more in front of that. */
export function project(view: View, nearness: number): Projection {
  const { camera, focus, horizon } = view;
  const scale = 1 + (camera.zoom - 1) * Math.max(0, (nearness - FAR_AWAY) / (1 - FAR_AWAY));
  return {
    scale,
    x: focus * (1 - scale) - view.left - camera.x * view.width * (nearness - camera.pivot),
    y: horizon * (1 - scale) - view.top + (camera.rise * nearness - camera.y) * view.height,
  };
}
