/**
 * From a composed scene to the stage that its painters work on: the logical size, the light, the horizon.
 */
import { placeLight } from './composition.ts';
import type { Composition } from './composition.ts';
import type { Style } from './lexicon.ts';
import type { Palette } from './palette.ts';
import type { Random } from '@darkroom/seeded-random/random';
import type { PixelSize } from './sizes.ts';
import type { Context, Detail, Stage } from './stage.ts';

/** Area of an image in square units, for every shape except a strip. */
const AREA = 1_000_000;
/** The least units of the short side: a strip shows more of the scene, not larger things. */
const SHORTEST = 640;

/** Pixels in one logical unit of an image. */
export function unitOf({ width, height }: PixelSize): number {
  const shape = Math.max(width, height) / Math.min(width, height);
  return Math.sqrt((width * height) / Math.max(AREA, SHORTEST ** 2 * shape));
}

/** The stage of a scene on a canvas of a given size; scales the context to logical units. */
export function stageFor(
  context: Context,
  composition: Composition,
  look: { readonly palette: Palette; readonly style: Style; readonly detail?: Detail },
  random: Random,
): Stage {
  const { width, height } = context.canvas;
  const scale = unitOf({ width, height });
  const size = { width: width / scale, height: height / scale };
  // A very tall sky over a strip of land would be empty: the land takes the part above twice its width.
  const horizon = Math.max(composition.horizon * size.height, size.height - size.width * 1.4);
  const { palette, style, detail } = look;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return {
    context,
    ...size,
    scale,
    horizon,
    palette: composition.setting === 'space' ? { ...palette, light: [232, 236, 246] } : palette,
    light: placeLight({ ...composition, horizon: horizon / size.height }, size, random.fork('light')),
    time: composition.time,
    season: composition.season,
    weather: composition.weather,
    style,
    isFlat: style === 'minimal',
    ...(detail === undefined ? {} : { detail }),
    random: random.fork('stage'),
  };
}
