/**
 * The image in the light of another hour or of a lamp: its colours, a field of light across it, and, if it has a sky,
 * the sky of that hour.
 */
import { createCanvas } from '@napi-rs/canvas';
import { adjust, css, hex, mix, toLab } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { glow } from '../draw.ts';
import { drawLightSource } from '../layers/celestial.ts';
import { drawRays } from '../layers/richness.ts';
import { drawStars } from '../layers/sky.ts';
import type { TimeOfDay } from '../lexicon.ts';
import { changeColours } from '../analysis/colour-cube.ts';
import { pixelsIn } from '../analysis/input-images.ts';
import { boxBlur, mapPlane, planeOf, smoothStep } from '../analysis/planes.ts';
import type { Plane } from '../analysis/planes.ts';
import { stageOver } from './image-stage.ts';
import type { Hour, Lamp } from './plan-rules.ts';
import { contrasted, split } from './tones.ts';
import type { Workpiece } from './workpiece.ts';

interface HourLook {
  readonly time: TimeOfDay;
  readonly colours: (colour: Colour) => Colour;
  /** Colours of the sky from the top to the horizon, laid over the existing sky. */
  readonly sky: readonly [string, string, string];
  /** Their strength. */
  readonly skyShare: number;
  /** The light that comes from one side, and how strong it is. */
  readonly shine: string;
  readonly strength: number;
  readonly isNight?: boolean;
}

/** The colour under a light: multiplied, then lightened or darkened for the hour. */
function under(colour: Colour, light: string, exposure: number, strength = 1): Colour {
  const [red, green, blue] = hex(light);
  return adjust(
    [(colour[0] * red * exposure) / 255, (colour[1] * green * exposure) / 255, (colour[2] * blue * exposure) / 255],
    0,
    strength,
  );
}

const HOURS: Record<Hour, HourLook> = {
  golden: {
    time: 'afternoon',
    colours: (colour) =>
      contrasted(split(under(colour, '#ffe9cc', 1.07, 1.1), hex('#4c4068'), hex('#ffc470'), 0.26), 1.1, 128),
    sky: ['#6d9dc9', '#e6c9a4', '#ffb757'],
    skyShare: 0.6,
    shine: '#ffb451',
    strength: 0.55,
  },
  sunset: {
    time: 'sunset',
    colours: (colour) =>
      contrasted(split(under(colour, '#f2ab8c', 0.86, 1.1), hex('#33204d'), hex('#ff9c5a'), 0.42), 1.12),
    sky: ['#43316b', '#d9586a', '#ffb25a'],
    skyShare: 0.85,
    shine: '#ff8a3c',
    strength: 0.62,
  },
  dawn: {
    time: 'dawn',
    colours: (colour) =>
      contrasted(split(under(colour, '#f3d0d2', 1.0, 0.9), hex('#4a4f7d'), hex('#ffd9c4'), 0.36), 0.94, 140),
    sky: ['#6f79ad', '#eab0b4', '#ffe2bd'],
    skyShare: 0.75,
    shine: '#ffd3b0',
    strength: 0.45,
  },
  noon: {
    time: 'noon',
    colours: (colour) => contrasted(adjust(under(colour, '#fffbef', 1.16, 1.18), 0.05), 1.06),
    sky: ['#2e86d6', '#76bbea', '#cfe9f3'],
    skyShare: 0.7,
    shine: '#fff6d6',
    strength: 0.3,
  },
  dusk: {
    time: 'dusk',
    colours: (colour) =>
      contrasted(split(under(colour, '#8f9fd6', 0.72, 0.85), hex('#141f4a'), hex('#c9a4c4'), 0.42), 1.08, 96),
    sky: ['#1a2350', '#4a4f92', '#d595a4'],
    skyShare: 0.88,
    shine: '#8f9cf0',
    strength: 0.2,
  },
  night: {
    time: 'night',
    colours: (colour) => nocturnal(colour, 0.52),
    sky: ['#050a1e', '#0d1c40', '#1d3a66'],
    skyShare: 0.93,
    shine: '#5f7fc4',
    strength: 0.12,
    isNight: true,
  },
  moonlight: {
    time: 'night',
    colours: (colour) => nocturnal(colour, 0.66),
    sky: ['#0a1430', '#1a3460', '#3f6a94'],
    skyShare: 0.9,
    shine: '#b9cdf2',
    strength: 0.42,
    isNight: true,
  },
};

/** Dark and blue; warm light sources keep their light. */
function nocturnal(colour: Colour, exposure: number): Colour {
  const [lightness, greenRed, blueYellow] = toLab(colour);
  const lamp = smoothStep(0.74, 0.93, lightness) * smoothStep(0.03, 0.1, blueYellow + greenRed * 0.4);
  const dark = split(under(colour, '#7d97d9', exposure, 0.5), hex('#0a1230'), hex('#86a3d9'), 0.5);
  return mix(contrasted(dark, 1.12, 60), adjust(colour, 0.02, 1.15), lamp);
}

/**
 * Lays a gradient of the hour over the sky; parts that are lighter or darker than the surrounding sky, such as clouds,
 * stay so. The surroundings of a point are measured in the sky alone: with the land included, every ridge would have a
 * halo.
 */
function changeSky(work: Workpiece, look: HourLook): void {
  const { sky } = work;
  if (sky.share === 0) return;
  const { width, height } = work;
  const { data } = work.pixels;
  const radius = Math.max(2, Math.round(width / 9));
  const light = mapPlane(planeOf(width, height), (_, index) => (data[index * 4 + 1] ?? 0) / 255 + 0.02);
  const lightOfSky = boxBlur(
    mapPlane(light, (value, index) => value * (sky.mask.values[index] ?? 0)),
    radius,
  );
  const amount = boxBlur(sky.mask, radius);
  const stops = look.sky.map((code) => hex(code));
  for (let row = 0; row < height; row++) {
    const position = Math.min(1, row / (height * sky.bottom)) * 2;
    const from = stops[Math.min(1, Math.floor(position))] ?? [0, 0, 0];
    const painted = mix(
      from,
      stops[Math.min(1, Math.floor(position)) + 1] ?? from,
      position - Math.min(1, Math.floor(position)),
    );
    for (let index = row * width; index < (row + 1) * width; index++) {
      const share = (sky.mask.values[index] ?? 0) * look.skyShare;
      if (share < 0.004) continue;
      const mean = (lightOfSky.values[index] ?? 0) / Math.max(0.02, amount.values[index] ?? 0);
      const relief = Math.max(0.55, Math.min(1.5, (light.values[index] ?? 0) / mean));
      for (let channel = 0; channel < 3; channel++) {
        const at = index * 4 + channel;
        data[at] = (data[at] ?? 0) * (1 - share) + (painted[channel] ?? 0) * relief * share;
      }
    }
  }
}

/** Draws on an empty sheet, and lays it over the sky of the image. */
export function drawInSky(
  work: Workpiece,
  time: TimeOfDay,
  name: string,
  paint: (stage: ReturnType<typeof stageOver>) => void,
): void {
  const { width, height } = work;
  const sheet = createCanvas(width, height);
  paint(stageOver(sheet, work, { time, name }));
  const painted = pixelsIn(sheet);
  const { mask } = work.sky;
  const { data } = work.pixels;
  for (let index = 0; index < width * height; index++) {
    const share = ((painted.data[index * 4 + 3] ?? 0) / 255) * (mask.values[index] ?? 0);
    if (share === 0) continue;
    for (let channel = 0; channel < 3; channel++) {
      const position = index * 4 + channel;
      data[position] = (data[position] ?? 0) * (1 - share) + (painted.data[position] ?? 0) * share;
    }
  }
}

/** Puts the image into the light of an hour. */
export function relight(work: Workpiece, hour: Hour): void {
  const look = HOURS[hour];
  const { width, height, features } = work;
  const hasSky = work.sky.share > 0.08;
  const isDark = look.isNight === true && (work.isNight || features.light < 0.3);
  work.isNight ||= look.isNight === true;
  // Dark parts only take the colours of the night.
  changeColours(work.pixels, isDark ? (colour) => mix(colour, look.colours(colour), 0.35) : look.colours);
  if (hasSky) changeSky(work, look);
  const side = features.brightest.x < 0.5 ? 0.12 : 0.88;
  const source = { x: width * side, y: height * (hasSky ? Math.min(0.5, work.sky.bottom * 0.8) : 0.16) };
  if (look.isNight === true && hasSky) {
    drawInSky(work, 'night', 'night sky', (stage) => {
      drawStars(stage, hour === 'night' ? 1.3 : 0.7);
      const light = { ...stage.light, x: stage.width * side, y: stage.horizon * 0.3, isVisible: true };
      if (hour === 'moonlight') drawLightSource({ ...stage, light }, undefined);
    });
  }
  work.draw((canvas) => {
    const context = canvas.getContext('2d');
    const reach = Math.hypot(width, height);
    context.globalCompositeOperation = 'soft-light';
    const wash = context.createRadialGradient(source.x, source.y, 0, source.x, source.y, reach * 0.95);
    const far = mix(hex(look.sky[0]), hex('#000000'), 0.5);
    // In small steps of a smooth curve: a hard edge in the light of a lamp would be visible.
    for (let step = 0; step <= 10; step++) {
      const share = smoothStep(0, 1, step / 10);
      const strength = look.strength * (1 - share) ** 1.5 + (look.isNight === true ? 0.5 : 0.26) * share ** 2;
      wash.addColorStop(step / 10, css(mix(hex(look.shine), far, share), strength));
    }
    context.fillStyle = wash;
    context.fillRect(0, 0, width, height);
    context.globalCompositeOperation = 'screen';
    glow(context, source, reach * 0.6, hex(look.shine), look.strength * 0.42);
  });
}

/** A field over the image as a function of position: its strength is the strength of the lamp. */
function field(work: Workpiece, at: (x: number, y: number) => number): Plane {
  const { width, height } = work;
  return mapPlane(planeOf(width, height), (_, index) =>
    at((index % width) / width, Math.floor(index / width) / height),
  );
}

/** Puts the image into the light of a lamp. */
export function lightWith(work: Workpiece, lamp: Lamp): void {
  const { subject, width, height } = work;
  switch (lamp) {
    case 'neon': {
      changeColours(work.pixels, (colour) =>
        contrasted(split(under(colour, '#a78fe0', 0.62, 0.8), hex('#12063a'), hex('#a06cff'), 0.55), 1.2, 80),
      );
      const left = field(work, (x, y) => smoothStep(0.62, 0, x + (y - 0.5) * 0.2));
      const right = field(work, (x, y) => smoothStep(0.38, 1, x + (y - 0.5) * 0.2));
      changeColours(work.pixels, (colour) => split(adjust(colour, 0.09), hex('#5a0a5e'), hex('#ff4fb0'), 0.92), left);
      changeColours(work.pixels, (colour) => split(adjust(colour, 0.07), hex('#06325e'), hex('#34e6ff'), 0.92), right);
      return;
    }
    case 'candle': {
      changeColours(work.pixels, (colour) =>
        contrasted(split(under(colour, '#ffb066', 0.86, 1.05), hex('#2a0f08'), hex('#ffb65c'), 0.5), 1.12, 100),
      );
      const dark = field(work, (x, y) => smoothStep(0.2, 0.75, Math.hypot(x - 0.5, y - 0.62)));
      changeColours(work.pixels, (colour) => under(colour, '#6b3a2a', 0.55), dark);
      return;
    }
    case 'dramatic': {
      changeColours(work.pixels, (colour) => contrasted(adjust(colour, -0.05, 0.86), 1.3, 110));
      const dark = field(work, (x, y) => smoothStep(0.22, 0.85, Math.hypot(x - 0.38, (y - 0.3) * 0.9)));
      const shade = mapPlane(dark, (value, index) => value * (1 - (subject.mask.values[index] ?? 0) * 0.35));
      changeColours(work.pixels, (colour) => under(colour, '#3a4158', 0.42, 0.8), shade);
      return;
    }
    case 'studio': {
      const behind = mapPlane(subject.mask, (value) => 1 - value);
      changeColours(work.pixels, (colour) => adjust(contrasted(colour, 1.08), 0.045, 1.06));
      changeColours(work.pixels, (colour) => mix(adjust(colour, 0.02, 0.5), hex('#d9dce2'), 0.62), behind);
      return;
    }
    case 'rays':
      changeColours(work.pixels, (colour) => split(adjust(colour, 0.01), hex('#473a4d'), hex('#ffe3ac'), 0.22));
      work.draw((canvas) => {
        const stage = stageOver(canvas, work, { time: 'afternoon', name: 'rays' });
        const light = {
          ...stage.light,
          x: stage.width * (work.features.brightest.x < 0.5 ? 0.08 : 0.92),
          y: stage.height * 0.04,
        };
        glow(stage.context, light, Math.max(stage.width, stage.height) * 0.55, hex('#ffe2a0'), 0.55);
        for (const name of ['one', 'two', 'three']) drawRays({ ...stage, light, random: stage.random.fork(name) });
      });
      return;
    default:
      throw new RangeError(`no such lamp at ${width} x ${height}`);
  }
}
