/**
 * The light of a scene as colours: sky, sun, haze, land, water, by time of day, then changed by weather, season, the
 * colours of the prompt and the style. The tables are chosen by eye; this module draws nothing.
 */
import { adjust, hex, mix, tint, underLight } from './colour.ts';
import type { Colour } from './colour.ts';
import type { Season, Style, Thing, TimeOfDay } from './lexicon.ts';
import type { PromptReading } from './prompt-reading.ts';
import type { Random } from '@darkroom/seeded-random/random';

/** The colours of one scene. */
export interface Palette {
  /** From the zenith to the horizon. */
  readonly sky: readonly [Colour, Colour, Colour, Colour];
  readonly sun: Colour;
  /** The colour that the distance fades into. */
  readonly haze: Colour;
  /** Bare land close by. */
  readonly land: Colour;
  readonly foliage: Colour;
  readonly grass: Colour;
  readonly rock: Colour;
  readonly sand: Colour;
  readonly snow: Colour;
  /** Water close by; far water takes the sky's colour. */
  readonly water: Colour;
  /** The colour of the light that falls on things: white at noon. */
  readonly light: Colour;
  /** The rim on the side of the light. */
  readonly rim: Colour;
  readonly isDark: boolean;
}

interface TimeTable {
  readonly skies: readonly [readonly string[], ...(readonly string[])[]];
  readonly sun: string;
  readonly light: string;
  readonly rim: string;
  readonly shade: string;
  /** How far land goes from its own colour to `shade`, 0 to 1. */
  readonly silhouette: number;
}

const TIMES: Record<TimeOfDay, TimeTable> = {
  dawn: {
    skies: [
      ['#48588f', '#9a8cb8', '#f4b8a8', '#ffe9c9'],
      ['#3f6a94', '#8fb3c4', '#f0cdb4', '#fff0d0'],
      ['#5b5490', '#b48bb0', '#f7b5a0', '#ffdfae'],
    ],
    sun: '#fff4dc',
    light: '#f4d6cc',
    rim: '#ffe1bd',
    shade: '#38415f',
    silhouette: 0.45,
  },
  morning: {
    skies: [
      ['#4b93cf', '#86bfe6', '#c6e3ee', '#f6f1dc'],
      ['#3d86bb', '#7fb8d4', '#c9e4e0', '#fdf3d7'],
    ],
    sun: '#fff8e0',
    light: '#fff4e2',
    rim: '#fff6d8',
    shade: '#2c4a58',
    silhouette: 0.12,
  },
  noon: {
    skies: [
      ['#2e7fcb', '#5ea9e3', '#a5d3f0', '#e2f2f4'],
      ['#2a8bc4', '#62b6dd', '#abdcec', '#eaf5ee'],
    ],
    sun: '#fffdf0',
    light: '#ffffff',
    rim: '#fffbe6',
    shade: '#24435a',
    silhouette: 0.06,
  },
  afternoon: {
    skies: [
      ['#5a8cba', '#a3c1cd', '#f3dcaa', '#ffc978'],
      ['#7094b0', '#c2c9b8', '#f6d394', '#fbb565'],
    ],
    sun: '#fff1c4',
    light: '#ffe2b4',
    rim: '#ffe3a0',
    shade: '#4b3d4e',
    silhouette: 0.28,
  },
  sunset: {
    skies: [
      ['#2d2c62', '#82407f', '#e8636a', '#ffb765'],
      ['#22305f', '#66508f', '#f07b73', '#ffd07a'],
      ['#46305f', '#b5486c', '#f58a60', '#fbdc8c'],
      ['#1e4a6b', '#5f8191', '#f2a66e', '#ffd98c'],
    ],
    sun: '#fff0c2',
    light: '#f2b8a0',
    rim: '#ffcb8a',
    shade: '#2a2140',
    silhouette: 0.62,
  },
  dusk: {
    skies: [
      ['#151d44', '#3a3b78', '#84609a', '#efa595'],
      ['#122740', '#2c5273', '#6f8da3', '#f0bf9c'],
    ],
    sun: '#ffe2c4',
    light: '#a892bb',
    rim: '#f0b5a6',
    shade: '#181b3a',
    silhouette: 0.68,
  },
  night: {
    skies: [
      ['#050a1e', '#0e1d42', '#1d3d6b', '#3f6a8f'],
      ['#0a0923', '#1c1848', '#3a2b6c', '#6a5394'],
      ['#04131f', '#0b2c3f', '#17525f', '#3f8585'],
    ],
    sun: '#f6f1dc',
    light: '#6f86b8',
    rim: '#b7cdec',
    shade: '#070d20',
    silhouette: 0.7,
  },
};

const FOLIAGE: Record<Season, { foliage: readonly [string, ...string[]]; grass: string }> = {
  spring: { foliage: ['#5d9b52', '#78ad58'], grass: '#86b85a' },
  summer: { foliage: ['#2f6b47', '#3c7a45', '#2c6a58'], grass: '#6ea24c' },
  autumn: { foliage: ['#c9682a', '#b5482c', '#d8952f'], grass: '#b99a4a' },
  winter: { foliage: ['#41605c', '#3b5a63'], grass: '#dfe8ee' },
};

/** Skies of neon images, at any time. */
const NEON_SKIES: readonly [readonly string[], ...(readonly string[])[]] = [
  ['#0b0324', '#2b0a5a', '#8a1c8c', '#ff4f9a'],
  ['#03081f', '#0d1f5c', '#3a2aa8', '#ff3fb4'],
  ['#0a0220', '#37085e', '#b01e7a', '#ff8a4c'],
];

type Sky = [Colour, Colour, Colour, Colour];

function skyOf(colours: readonly string[]): Sky {
  const [zenith = '#000000', high = zenith, low = high, horizon = low] = colours;
  return [hex(zenith), hex(high), hex(low), hex(horizon)];
}

function mapSky(sky: Sky, change: (colour: Colour, position: number) => Colour): Sky {
  return [change(sky[0], 0), change(sky[1], 1), change(sky[2], 2), change(sky[3], 3)];
}

/** Clouds, rain and fog desaturate the sky and bring it closer to grey. */
function underWeather(sky: Sky, reading: PromptReading, time: TimeOfDay): Sky {
  const { weather } = reading;
  const isDark = time === 'night' || time === 'dusk';
  if (weather.has('storm'))
    return mapSky(sky, (colour, position) =>
      adjust(mix(colour, hex('#3a4454'), 0.6), position === 3 ? 0.06 : -0.08, 0.8),
    );
  if (weather.has('rain')) return mapSky(sky, (colour) => mix(colour, hex(isDark ? '#27303f' : '#8796a3'), 0.55));
  if (weather.has('fog'))
    return mapSky(sky, (colour, position) => mix(colour, hex(isDark ? '#4a5566' : '#d5dadb'), 0.3 + position * 0.12));
  if (weather.has('snow')) return mapSky(sky, (colour) => mix(colour, hex(isDark ? '#3b4a63' : '#c3ced9'), 0.45));
  if (weather.has('cloudy')) return mapSky(sky, (colour) => mix(colour, hex(isDark ? '#2c3442' : '#aab4bd'), 0.35));
  return sky;
}

/** The prompt's general colours: the first tints the upper sky and the shadows, the last the light. */
function tintedSky(sky: Sky, reading: PromptReading): Sky {
  const skyColour = reading.mentions.find(({ thing }) => thing === 'sky')?.colour;
  const [first] = reading.colours;
  const last = reading.colours.at(-1);
  if (skyColour !== undefined)
    return mapSky(sky, (colour, position) => tint(colour, skyColour, 0.85 - position * 0.08));
  if (first === undefined || last === undefined) return sky;
  return mapSky(sky, (colour, position) => tint(colour, position < 2 ? first : last, position === 1 ? 0.6 : 0.75));
}

function changeAll(palette: Palette, change: (colour: Colour) => Colour): Palette {
  const [zenith, high, low, horizon] = palette.sky;
  return {
    sky: [change(zenith), change(high), change(low), change(horizon)],
    sun: change(palette.sun),
    haze: change(palette.haze),
    land: change(palette.land),
    foliage: change(palette.foliage),
    grass: change(palette.grass),
    rock: change(palette.rock),
    sand: change(palette.sand),
    snow: change(palette.snow),
    water: change(palette.water),
    light: palette.light,
    rim: change(palette.rim),
    isDark: palette.isDark,
  };
}

function inStyle(palette: Palette, style: Style): Palette {
  switch (style) {
    case 'pastel':
      return {
        ...changeAll(palette, (colour) => adjust(mix(colour, hex('#fff4f4'), 0.42), 0.05, 0.92)),
        light: hex('#fff2f0'),
      };
    case 'watercolour':
      return {
        ...changeAll(palette, (colour) => adjust(mix(colour, hex('#fffaf0'), 0.2), 0.04, 1.15)),
        light: mix(palette.light, hex('#ffffff'), 0.4),
      };
    case 'minimal':
      return changeAll(palette, (colour) => adjust(colour, 0.02, 0.88));
    case 'oil':
    case 'glass':
    case 'low-poly':
      return changeAll(palette, (colour) => adjust(colour, 0.01, 1.25));
    case 'vintage':
      return changeAll(palette, (colour) => mix(adjust(colour, 0.02, 0.7), hex('#d9b98a'), 0.2));
    default:
      return palette;
  }
}

/** The colours of the scene that a prompt describes. */
export function choosePalette(reading: PromptReading, time: TimeOfDay, season: Season, random: Random): Palette {
  const table = TIMES[time];
  const isNeon = reading.style === 'neon';
  const base = isNeon ? skyOf(random.pick(NEON_SKIES)) : skyOf(random.pick(table.skies));
  const sky = tintedSky(isNeon ? base : underWeather(base, reading, time), reading);
  const shade = isNeon ? hex('#120630') : mix(hex(table.shade), sky[0], 0.25);
  const silhouette = isNeon ? 0.82 : table.silhouette;
  const lit = isNeon ? hex('#9a6cff') : hex(table.light);
  const own = (colour: string | Colour): Colour =>
    mix(underLight(typeof colour === 'string' ? hex(colour) : colour, lit), shade, silhouette);
  const named = (...things: Thing[]): Colour | undefined =>
    reading.mentions.find(({ thing, colour }) => colour !== undefined && things.includes(thing))?.colour;
  const plants = FOLIAGE[season];
  const tinted = named('sea', 'lake', 'river');
  const water = mix(own('#2c6f93'), sky[1], 0.35);
  const palette: Palette = {
    sky,
    sun: isNeon ? hex('#ffd54a') : hex(table.sun),
    haze: mix(sky[3], sky[2], 0.35),
    land: own('#5c5a52'),
    foliage: own(named('forest') ?? random.pick(plants.foliage)),
    grass: own(named('field', 'lavender') ?? plants.grass),
    rock: own('#77757c'),
    sand: own(named('desert', 'beach') ?? '#dfb77c'),
    snow: mix(underLight(hex('#f6f9fc'), mix(lit, hex('#ffffff'), 0.3)), shade, silhouette * 0.25),
    water: tinted === undefined ? water : tint(water, tinted, 0.8),
    light: lit,
    rim: isNeon ? hex('#3ff3ff') : hex(table.rim),
    isDark: isNeon || time === 'night' || time === 'dusk',
  };
  return inStyle(palette, reading.style);
}

/**
 * How a colour looks in this light and at this depth.
 *
 * @param depth 0 close by to 1 at the horizon.
 */
export function lit(palette: Palette, colour: Colour, depth = 0): Colour {
  const inLight = underLight(colour, palette.isDark ? mix(palette.light, hex('#ffffff'), 0.28) : palette.light);
  return mix(palette.isDark ? mix(inLight, palette.land, 0.22) : inLight, palette.haze, depth * 0.8);
}
