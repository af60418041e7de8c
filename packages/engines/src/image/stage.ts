/**
 * Input of every layer: the canvas, its size in logical units, the scene's light and its own random numbers. An image
 * is laid out in units of which about 1000 x 1000 cover any aspect ratio, so that every resolution shows the same
 * image.
 */
import type { SKRSContext2D } from '@napi-rs/canvas';
import type { Colour } from './colour.ts';
import type { Season, Style, TimeOfDay, Weather } from './lexicon.ts';
import type { Palette } from './palette.ts';
import type { Random } from '@darkroom/seeded-random/random';

export type Context = SKRSContext2D;

/** A point in logical units; y grows downwards. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Where the light comes from. */
export interface LightSource extends Point {
  readonly body: 'sun' | 'moon' | 'crescent';
  /** False if hidden behind clouds: it lights, but is not drawn. */
  readonly isVisible: boolean;
  readonly radius: number;
}

/** How much is drawn beyond the essentials of the scene; the usual amount if a stage does not specify it. */
export type Detail = 'low' | 'high';

export interface Stage {
  readonly context: Context;
  /** Logical units. */
  readonly width: number;
  readonly height: number;
  /** Pixels in one logical unit. */
  readonly scale: number;
  /** The y of the horizon. */
  readonly horizon: number;
  readonly palette: Palette;
  readonly light: LightSource;
  readonly time: TimeOfDay;
  readonly season: Season;
  readonly weather: ReadonlySet<Weather>;
  readonly style: Style;
  /** Whether shapes are of one colour, without gradients and detail. */
  readonly isFlat: boolean;
  readonly detail?: Detail;
  /** How a sky without gradients is divided: plain if absent. */
  readonly skyForm?: 'rays' | 'rings' | 'bands';
  readonly random: Random;
}

/** Ground for things to stand on: a curve across the image, and its distance. */
export interface Surface {
  yAt(x: number): number;
  readonly left: number;
  readonly right: number;
  /** 0 close by to 1 at the horizon. */
  readonly depth: number;
  /** The scale of things here relative to things close by. */
  readonly scale: number;
  /** Its form if it is not open ground: a wall of rock, level ground with rails, the deck of a bridge. */
  readonly form?: 'cliff' | 'track' | 'deck';
  /** The largest height at which a thing on it is still completely visible. */
  readonly headroom?: number;
}

/** 1 if the light comes from the right of a point, -1 from the left. */
export function lightSide(stage: Stage, x: number): 1 | -1 {
  return stage.light.x >= x ? 1 : -1;
}

/** Whether there is snow on the ground. */
export function isSnowy(stage: Stage): boolean {
  return stage.season === 'winter' || stage.weather.has('snow');
}

/** How one thing is drawn: every thing stands on its foot (or hangs at its centre) and its size is its height. */
export interface Look {
  /** The prompt's colour for it, as paint in daylight. */
  readonly colour: Colour | undefined;
  /** 0 close by to 1 at the horizon. */
  readonly depth: number;
  readonly facing: 1 | -1;
  /** The word that named it: a person can be a knight. */
  readonly word?: string | undefined;
  readonly random: Random;
}

/** Draws one thing at a point. */
export type DrawThing = (stage: Stage, position: Point, size: number, look: Look) => void;
