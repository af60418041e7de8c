/**
 * The inks of a print: a few colours that were mixed for each other, and the palette of a scene painted with only
 * these.
 */
import { adjust, hex, lightness, mix, tint } from './colour.ts';
import type { Colour } from './colour.ts';
import type { TimeOfDay } from './lexicon.ts';
import type { Palette } from './palette.ts';
import type { PromptReading } from './prompt-reading.ts';
import type { Random } from '@darkroom/seeded-random/random';

/** Five inks from dark to light, one that stands out, and the paper. */
export interface Inks {
  readonly ramp: readonly [Colour, Colour, Colour, Colour, Colour];
  readonly accent: Colour;
  readonly paper: Colour;
}

type Recipe = readonly [string, string, string, string, string, accent: string];

const DAY: readonly [Recipe, ...Recipe[]] = [
  ['#1d3b4a', '#2f6f78', '#6fb0a3', '#e9c97f', '#f7ecd0', '#d9532f'],
  ['#28324f', '#3f6a94', '#84b4bf', '#f0c28c', '#faefd8', '#e2603f'],
  ['#2f3d2c', '#55743f', '#9bb55f', '#f1d27a', '#f8f0d6', '#d1462f'],
  ['#3a2f45', '#7a5a80', '#c98e98', '#f3c79b', '#fbefdc', '#2f8f8a'],
];
const EVENING: readonly [Recipe, ...Recipe[]] = [
  ['#2a1f3d', '#6b2f55', '#c24b50', '#f08b4a', '#fbd58a', '#fff1c9'],
  ['#14283d', '#2f5166', '#b5605a', '#ee8f57', '#f8d494', '#f9efd2'],
  ['#381d2a', '#7d2f37', '#cf5a3c', '#efa04f', '#f8dc9a', '#2e8088'],
];
const NIGHT: readonly [Recipe, ...Recipe[]] = [
  ['#0b1730', '#1a3358', '#35618a', '#7fa9bd', '#d8e3dd', '#f3b84f'],
  ['#150f33', '#33266b', '#6a4a9c', '#b58bbf', '#f0d7d5', '#f6c453'],
  ['#0a2226', '#164048', '#2f7272', '#86b3a1', '#e3e6cc', '#ef7f4d'],
];

/** The inks for a prompt: by time of day, shifted towards its general colours. */
export function chooseInks(reading: PromptReading, time: TimeOfDay, random: Random): Inks {
  const recipes = time === 'night' || time === 'dusk' ? NIGHT : time === 'sunset' || time === 'dawn' ? EVENING : DAY;
  const [darkest, dark, middle, light, lightest, accent] = random
    .pick(recipes)
    .map((colour) => hex(colour)) as unknown as readonly [Colour, Colour, Colour, Colour, Colour, Colour];
  const [first] = reading.colours;
  const last = reading.colours.at(-1);
  const cool = (colour: Colour, share: number): Colour => (first === undefined ? colour : tint(colour, first, share));
  const warm = (colour: Colour, share: number): Colour => (last === undefined ? colour : tint(colour, last, share));
  const named = reading.mentions.find(({ colour }) => colour !== undefined && lightness(colour) < 0.9)?.colour;
  return {
    ramp: [cool(darkest, 0.6), cool(dark, 0.8), cool(middle, 0.7), warm(light, 0.85), warm(lightest, 0.35)],
    accent: named ?? (reading.colours.length > 1 && last !== undefined ? last : accent),
    paper: mix(hex('#f6efdf'), lightest, 0.3),
  };
}

/** The palette of a scene made of the inks alone. */
export function inkPalette(inks: Inks, isDark: boolean): Palette {
  const [darkest, dark, middle, light, lightest] = inks.ramp;
  return {
    sky: isDark ? [darkest, dark, dark, middle] : [middle, light, light, lightest],
    sun: isDark ? lightest : mix(lightest, inks.paper, 0.5),
    haze: isDark ? middle : light,
    land: darkest,
    foliage: dark,
    grass: isDark ? darkest : dark,
    rock: isDark ? dark : middle,
    sand: isDark ? dark : light,
    snow: lightest,
    water: isDark ? darkest : dark,
    light: isDark ? adjust(middle, 0.18, 0.5) : hex('#fff6e8'),
    rim: isDark ? light : lightest,
    isDark,
  };
}
