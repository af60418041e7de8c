/**
 * A scene in the colours, the light and the layout of a reference image: the prompt's own words take precedence.
 */
import { adjust, hex, lightness, mix, tint, toLab } from '../colour.ts';
import type { Colour } from '../colour.ts';
import type { Composition } from '../composition.ts';
import type { TimeOfDay } from '../lexicon.ts';
import type { Palette } from '../palette.ts';
import type { ImageFeatures } from '../analysis/image-features.ts';
import type { PromptReading } from '../prompt-reading.ts';
import type { Stage } from '../stage.ts';

/** Lightness below which an image shows the night, or the hour before it. */
const NIGHT_LIGHT = 0.33;
const DUSK_LIGHT = 0.42;
/** Warmth of the sky near the horizon from which it is an evening sky. */
const EVENING_WARMTH = 0.045;
const CLEAR_HORIZON = 0.2;

function hourOf({ light, above }: ImageFeatures): TimeOfDay {
  if (light < NIGHT_LIGHT) return 'night';
  if (light < DUSK_LIGHT) return 'dusk';
  const [, greenRed, blueYellow] = toLab(above[3]);
  if (blueYellow + greenRed * 0.5 > EVENING_WARMTH) return light > 0.66 ? 'afternoon' : 'sunset';
  return light > 0.7 ? 'noon' : 'morning';
}

/** The reading with the hour of the reference if it names none. */
export function atItsHour(reading: PromptReading, features: ImageFeatures): PromptReading {
  return reading.time === undefined ? { ...reading, time: hourOf(features) } : reading;
}

/** The composition with the horizon of the reference, if that has a clear one. */
export function laidOutAs(composition: Composition, { horizon }: ImageFeatures): Composition {
  if (horizon.clarity < CLEAR_HORIZON || composition.setting === 'space') return composition;
  return { ...composition, horizon: Math.max(0.42, Math.min(0.68, horizon.position)) };
}

/** The stage with its light at the brightest point of the reference. */
export function litAs(stage: Stage, { brightest }: ImageFeatures): Stage {
  const { light, width, horizon } = stage;
  const y = Math.max(horizon * 0.12, Math.min(horizon * 0.9, brightest.y * stage.height));
  return { ...stage, light: { ...light, x: width * Math.max(0.08, Math.min(0.92, brightest.x)), y } };
}

/** How much of a reference's colours a scene takes if its prompt describes the light itself. */
const SHARE_IF_LIGHT_IS_NAMED = 0.22;

/** How much a scene takes of the colours of its reference: less if the prompt names an hour, a season, a weather. */
export function shareOfColours({ time, season, weather }: PromptReading): number {
  return time === undefined && season === undefined && weather.size === 0 ? 1 : SHARE_IF_LIGHT_IS_NAMED;
}

/**
 * The palette shifted towards the colours of the reference; its sky is the reference's, unless the prompt names
 * colours.
 *
 * @param share 0 to 1: how far.
 */
export function colouredAs(palette: Palette, features: ImageFeatures, reading: PromptReading, share = 1): Palette {
  const hasOwnSky =
    reading.colours.length > 0 || reading.mentions.some(({ thing, colour }) => thing === 'sky' && colour);
  const nearest = (colour: Colour): Colour => {
    const lab = toLab(colour);
    const distance = (other: Colour): number => {
      const [light, greenRed, blueYellow] = toLab(other);
      return Math.abs(light - lab[0]) + 1.6 * Math.hypot(greenRed - lab[1], blueYellow - lab[2]);
    };
    const colours = features.palette.map((leading) => leading.colour);
    return colours.reduce((best, other) => (distance(other) < distance(best) ? other : best));
  };
  const drawn = (colour: Colour, most: number): Colour => {
    const near = nearest(colour);
    return adjust(tint(colour, near, most * share), (lightness(near) - lightness(colour)) * 0.25 * share);
  };
  const [zenith, high, low, bottom] = palette.sky;
  const skyOf = (colour: Colour, given: Colour): Colour => (hasOwnSky ? colour : mix(colour, given, 0.86 * share));
  const sky = [
    skyOf(zenith, features.above[0]),
    skyOf(high, features.above[1]),
    skyOf(low, features.above[2]),
    skyOf(bottom, features.above[3]),
  ] as const;
  return {
    ...palette,
    sky,
    sun: mix(palette.sun, mix(features.brightest.colour, hex('#ffffff'), 0.4), 0.5 * share),
    haze: mix(sky[3], sky[2], 0.35),
    land: drawn(palette.land, 0.7),
    foliage: drawn(palette.foliage, 0.55),
    grass: mix(drawn(palette.grass, 0.6), features.below, 0.3 * share ** 2),
    rock: drawn(palette.rock, 0.75),
    sand: mix(drawn(palette.sand, 0.6), features.below, 0.3 * share ** 2),
    snow: drawn(palette.snow, 0.35),
    water: mix(drawn(palette.water, 0.65), sky[1], 0.3),
    rim: mix(palette.rim, mix(features.brightest.colour, hex('#ffffff'), 0.2), 0.6 * share),
  };
}
