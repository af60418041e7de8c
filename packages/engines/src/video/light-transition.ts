/**
 * The transition from one time of day to another: the land is painted in the brighter light and shaded towards the
 * darker one, by way of the colours of the low sun.
 */
import { mix } from '../image/colour.ts';
import type { Colour } from '../image/colour.ts';
import type { Palette } from '../image/palette.ts';
import type { Shade } from './raster/drawing.ts';

/** The colours at the beginning, half-way and at the end; all the same if nothing changes. */
export type Palettes = readonly [first: Palette, between: Palette, last: Palette];

/** Whether the light changes. */
export function hasLightTransition([first, , last]: Palettes): boolean {
  return first !== last;
}

/** A colour that represents the lit surfaces. */
type Lit = (palette: Palette) => Colour;

const LAND: Lit = (palette) => mix(mix(palette.grass, palette.rock, 0.5), palette.haze, 0.45);
/** Water has the colours of the sky. */
export const WATER: Lit = (palette) => mix(mix(palette.sky[1], palette.sky[3], 0.6), palette.water, 0.45);

/** How much light a palette has; never zero. */
function levels(palette: Palette, lit: Lit = LAND): readonly [number, number, number] {
  const colour = lit(palette);
  return [colour[0] + 6, colour[1] + 6, colour[2] + 6];
}

function sum([red, green, blue]: readonly [number, number, number]): number {
  return red + green + blue;
}

/** The brightest of three: the land is painted in it. */
export function brightest(palettes: Palettes): Palette {
  return palettes.reduce((best, palette) => (sum(levels(palette)) > sum(levels(best)) ? palette : best));
}

/** When in the video the light is brightest, 0 to 1. */
export function brightestProgress(palettes: Palettes): number {
  return palettes.indexOf(brightest(palettes)) / 2;
}

/** The light on the land, or on the given surfaces, over the video; undefined if constant. @see Moment.shade */
export function lightOf(palettes: Palettes, lit: Lit = LAND): ((progress: number) => Shade) | undefined {
  if (!hasLightTransition(palettes)) return undefined;
  const full = levels(brightest(palettes), lit);
  const [first, between, last] = palettes.map((palette) => {
    const level = levels(palette, lit);
    return [0, 1, 2].map((channel) => Math.min(1, (level[channel] ?? 0) / (full[channel] ?? 1)));
  });
  return (progress) => {
    const [from, to, share] = progress < 0.5 ? [first, between, progress * 2] : [between, last, progress * 2 - 1];
    const channel = (index: number): number => {
      const [a, b] = [from?.[index] ?? 1, to?.[index] ?? 1];
      return Math.round(256 * (a + (b - a) * share));
    };
    return [channel(0), channel(1), channel(2)];
  };
}
