/**
 * What every layer is given: the canvas, its size in logical units, the scene's light and its own chance. A picture is
 * laid out in units of which about 1000 x 1000 cover any aspect ratio, so that every resolution shows the same picture.
 */
import type { SKRSContext2D } from '@napi-rs/canvas';
import type { Colour } from './colour.ts';
import type { Season, Style, TimeOfDay, Weather } from './lexicon.ts';
import type { Palette } from './palette.ts';
import type { Random } from './random.ts';

export type Context = SKRSContext2D;

/** A place in logical units; y grows downwards. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Where the light comes from. */
export interface LightSource extends Point {
  readonly body: 'sun' | 'moon' | 'crescent';
  /** Hidden behind clouds: it lights, but is not drawn. */
  readonly isVisible: boolean;
  readonly radius: number;
}

/** How much is drawn beyond what makes the scene; a plain amount where a stage tells none. */
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
  /** How a sky without gradients is divided: plain where absent. */
  readonly skyForm?: 'rays' | 'rings' | 'bands';
  readonly random: Random;
}

/** Ground to stand on: a curve across the picture, and how far away it is. */
export interface Surface {
  yAt(x: number): number;
  readonly left: number;
  readonly right: number;
  /** 0 close by to 1 at the horizon. */
  readonly depth: number;
  /** How much smaller things are here than close by. */
  readonly scale: number;
  /** What it is besides open ground: a wall of rock, level ground with rails, the deck of a bridge. */
  readonly form?: 'cliff' | 'track' | 'deck';
  /** The tallest that something on it may be and still be seen whole. */
  readonly headroom?: number;
}

/** 1 where the light comes from the right of a place, -1 from the left. */
export function lightSide(stage: Stage, x: number): 1 | -1 {
  return stage.light.x >= x ? 1 : -1;
}

/** Whether snow lies. */
export function isSnowy(stage: Stage): boolean {
  return stage.season === 'winter' || stage.weather.has('snow');
}

/** How one thing is drawn: whatever it is, it stands on its foot (or hangs at its centre) and its size is its height. */
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

/** Draws one thing at a place. */
export type DrawThing = (stage: Stage, place: Point, size: number, look: Look) => void;
