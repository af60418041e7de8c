/**
 * The sky in motion: clouds that drift, stars that twinkle, the moving sun and moon, lightning, shooting stars,
 * fireworks, northern lights; and the transition from one time of day to another.
 */
import { css, hex, mix } from '../image/colour.ts';
import type { Colour } from '../image/colour.ts';
import { fillEllipse, glow } from '../image/draw.ts';
import { drawClouds } from '../image/layers/clouds.ts';
import { drawAurora } from '../image/layers/sky.ts';
import type { Composition } from '../image/composition.ts';
import type { Thing } from '../image/lexicon.ts';
import type { Palette } from '../image/palette.ts';
import { paintSky } from '../image/scene-backdrop.ts';
import type { Stage } from '../image/stage.ts';
import { paintBox } from './actors.ts';
import { project } from './camera.ts';
import { fireworkParts } from './firework-parts.ts';
import type { LayerPainter } from './layer-painter.ts';
import { lightningPart } from './lightning.ts';
import { hasLightTransition } from './light-transition.ts';
import type { Palettes } from './light-transition.ts';
import { createSprite, stamp } from './raster/sprites.ts';
import type { Sprite } from './raster/sprites.ts';
import { layerPart } from './scene-parts.ts';
import type { Part } from './scene-parts.ts';
import type { WorldStage } from './world-stage.ts';

const SKY = 0.04;

/** The parts of the sky, grouped by how water mirrors them. */
interface SkyParts {
  readonly still: readonly Part[];
  /** Single lights. */
  readonly bright: readonly Part[];
  readonly clouds: readonly Part[];
}

/** A scene whose sky has only things that do not move. */
function calmSky(composition: Composition, isChanging: boolean): Composition {
  const moving: Thing[] = [
    'comet',
    'firework',
    'aurora',
    ...(isChanging ? (['sun', 'moon', 'crescent'] as const) : []),
  ];
  const mentions = new Map([...composition.mentions].filter(([thing]) => !moving.includes(thing)));
  const weather = new Set([...composition.weather].filter((name) => name !== 'storm'));
  return { ...composition, mentions, weather, absent: new Set([...composition.absent, 'cloud']) };
}

/** The sky from far to near. @param seconds length of the shot: how far clouds drift. */
export function skyParts(painter: LayerPainter, world: WorldStage, seconds: number): SkyParts {
  const { stage, composition, palettes } = world;
  const isChanging = hasLightTransition(palettes);
  const calm = calmSky(composition, isChanging);
  const cut = { bottom: composition.setting === 'space' ? Infinity : stage.horizon + 24 };
  const paint = (palette: Palette, strength: (progress: number) => number): Part => {
    const light = { ...stage.light, isVisible: stage.light.isVisible && !isChanging };
    const time = isChanging ? (palette.isDark ? 'night' : 'noon') : calm.time;
    const sky = painter.paintFull((layer) => paintSky({ ...layer, palette, light }, { ...calm, time }), cut);
    return layerPart(sky, SKY, { isShaded: false, strength: ({ progress }) => strength(progress) });
  };
  const [first, between, last] = palettes;
  const still = isChanging
    ? [
        paint(first, () => 1),
        paint(between, (progress) => Math.min(1, progress * 2)),
        paint(last, (progress) => Math.max(0, progress * 2 - 1)),
      ]
    : [paint(first, () => 1)];
  const bright: Part[] = [];
  if (isStarry(world)) bright.push(twinklePart(world));
  if (isChanging) bright.push(...bodyParts(world));
  if (composition.mentions.has('aurora')) bright.push(...auroraParts(painter));
  const hasClouds = !composition.absent.has('cloud') && composition.setting !== 'space';
  const clouds = hasClouds ? cloudParts(world, seconds) : [];
  if (composition.weather.has('storm')) clouds.push(lightningPart(stage));
  if (composition.mentions.has('firework')) bright.push(...fireworkParts(stage, composition));
  return { still, bright, clouds };
}

function isStarry({ composition, palettes }: WorldStage): boolean {
  const { weather } = composition;
  const isCovered = weather.has('rain') || weather.has('storm') || weather.has('cloudy') || weather.has('fog');
  const isNight = composition.setting === 'space' || palettes.some(({ isDark }) => isDark);
  return isNight && !isCovered && !composition.absent.has('star');
}

/** Stars that twinkle, and now and then one that falls. */
function twinklePart(world: WorldStage): Part {
  const { stage, palettes, composition } = world;
  const random = stage.random.fork('twinkle');
  const star = (radius: number, colour: Colour): Sprite => {
    const reach = radius * 4.5 * stage.scale;
    return createSprite({ width: reach * 2, height: reach * 2 }, (context) => {
      glow(context, { x: 0, y: 0 }, reach, colour, 0.5);
      fillEllipse(context, { x: 0, y: 0 }, radius * stage.scale * 0.8, radius * stage.scale * 0.8, css(colour));
    });
  };
  const sprites = [star(1.1, hex('#dfe9ff')), star(1.5, hex('#fff1d8')), star(2, hex('#ffffff'))] as const;
  const top = composition.setting === 'space' ? stage.height * 0.8 : stage.horizon * 0.85;
  const stars = Array.from({ length: 90 }, () => ({
    x: random.between(0, stage.width) * stage.scale,
    y: top * random.next() ** 1.3 * stage.scale,
    sprite: random.pick(sprites),
    pace: random.between(1.4, 4.2),
    phase: random.between(0, 7),
    strength: random.between(0.35, 1),
  }));
  const wanted = composition.mentions.get('comet')?.count ?? 0;
  const fall = shootingStar(stage, wanted > 0 ? 1.6 : 5.5);
  return (frame, moment) => {
    const { scale, x, y } = project(moment.view, SKY);
    const seen = starlight(palettes, moment.progress);
    if (seen < 0.02) return;
    for (const one of stars) {
      const light = one.strength * (0.55 + 0.45 * Math.sin(moment.seconds * one.pace + one.phase)) * seen;
      stamp(frame, one.sprite, one.x * scale + x, one.y * scale + y, light, true);
    }
    fall(frame, { ...moment, progress: seen });
  };
}

/** How visible the stars are: not at all by day. */
function starlight([first, , last]: Palettes, progress: number): number {
  if (first.isDark === last.isDark) return 1;
  return Math.max(0, (last.isDark ? progress : 1 - progress) * 2 - 1) ** 1.5;
}

/** A star that falls every `every` seconds, each time at another position. */
function shootingStar(stage: Omit<Stage, 'context'>, every: number): Part {
  const random = stage.random.fork('falling star');
  const dot = 5 * stage.scale;
  const sprite = createSprite({ width: dot * 2, height: dot * 2 }, (context) => {
    glow(context, { x: 0, y: 0 }, dot, hex('#ffffff'), 0.95);
  });
  const falls = Array.from({ length: 24 }, (_, index) => ({
    at: every * (index + random.between(0.25, 0.75)),
    x: random.between(0.25, 0.9) * stage.width,
    y: random.between(0.06, 0.36) * stage.horizon,
    long: random.between(150, 280),
  }));
  return (frame, moment) => {
    const { scale, x, y } = project(moment.view, SKY);
    for (const { at, long, ...from } of falls) {
      const share = (moment.seconds - at) / 0.9;
      if (share <= 0 || share >= 1) continue;
      for (let part = 0; part < 26; part++) {
        const along = share * 1.25 - part * 0.014;
        if (along < 0) break;
        const [px, py] = [from.x - along * long, from.y + along * long * 0.5];
        const light = (1 - part / 26) ** 1.6 * Math.sin(share * Math.PI) * moment.progress;
        stamp(frame, sprite, px * stage.scale * scale + x, py * stage.scale * scale + y, light * 0.9, true);
      }
    }
  };
}

/** Clouds at two heights; the lower ones move faster. */
function cloudParts({ stage, composition, palettes }: WorldStage, seconds: number): Part[] {
  const { mentions, weather } = composition;
  const isWindy = weather.has('wind') || weather.has('storm');
  const isPassing = hasLightTransition(palettes);
  const speed = (isWindy ? 26 : 11) * (isPassing ? 3.2 : 1);
  const side = stage.random.fork('wind').chance(0.5) ? 1 : -1;
  const cloud = mentions.get('cloud');
  const layer = (name: string, count: number, pace: number, nearness: number): Part => {
    // Wide enough that more clouds always follow.
    const reach = Math.min(stage.width, speed * pace * seconds);
    const wide = { ...stage, width: stage.width + reach };
    const box = { left: 0, top: 0, width: wide.width, height: stage.horizon };
    const paint = (at: Stage): void => drawClouds({ ...at, random: stage.random.fork(name) }, count, cloud?.colour);
    const image = paintBox(wide, box, paint, true);
    if (image === undefined) return () => {};
    const placed = side === 1 ? { ...image, left: image.left - reach * stage.scale } : image;
    return layerPart(placed, nearness, { drift: side * speed * pace * stage.scale, isShaded: isPassing });
  };
  const count = cloud?.count ?? 0;
  return [
    layer('high clouds', count, 0.6, 0.06),
    ...(count > 0 || isWindy ? [layer('low clouds', count, 1, 0.1)] : []),
  ];
}

/** The sun on its path, and the moon if it gets dark or was dark. */
function bodyParts({ stage, palettes }: WorldStage): Part[] {
  const { scale, horizon, width } = stage;
  const [first, , last] = palettes;
  const disc = (colour: Colour, halo: Colour, radius: number): ReturnType<typeof paintBox> => {
    const reach = radius * 7;
    return paintBox(stage, { left: -reach, top: -reach, width: reach * 2, height: reach * 2 }, ({ context }) => {
      glow(context, { x: 0, y: 0 }, reach, halo, 0.6);
      fillEllipse(context, { x: 0, y: 0 }, radius, radius, colour);
    });
  };
  /** @param up 1 at the top of the sky, 0 at the horizon. */
  const travelling = (
    image: ReturnType<typeof paintBox>,
    path: (progress: number) => { across: number; up: number },
  ): Part => {
    return (frame, moment) => {
      const { across, up } = path(moment.progress);
      if (image === undefined || up < -0.15) return;
      const at = { x: width * across * scale, y: horizon * (1.02 - 0.86 * up) * scale };
      const placed = { ...image, left: image.left + at.x, top: image.top + at.y };
      layerPart(placed, SKY, { isShaded: false })(frame, moment);
    };
  };
  const day = last.isDark ? first : last;
  const sun = disc(day.sun, mix(day.sun, day.sky[3], 0.4), 40);
  const moon = disc(hex('#f4f0de'), hex('#8fa6d8'), 28);
  const side = stage.light.x < width / 2 ? -1 : 1;
  const across = (share: number): number => 0.5 + side * (0.04 + 0.2 * share);
  if (!first.isDark && !last.isDark) {
    return [
      travelling(sun, (progress) => ({
        across: 0.24 + 0.5 * progress,
        up: Math.sin((0.12 + progress * 0.72) * Math.PI) * 0.9,
      })),
    ];
  }
  /** The elapsed part of the day. */
  const over = (progress: number): number => (last.isDark ? progress : 1 - progress);
  return [
    travelling(sun, (progress) => ({ across: across(over(progress)), up: 0.62 - 1.25 * over(progress) })),
    travelling(moon, (progress) => ({
      across: 0.5 - side * (0.22 - 0.06 * progress),
      up: over(progress) * 1.7 - 1.02,
    })),
  ];
}

/** Two moving curtains of light, each bent by a slow wave. */
function auroraParts(painter: LayerPainter): Part[] {
  return [0, 1].map((curtain) => {
    const light = painter.paint((stage) => drawAurora({ ...stage, random: stage.random.fork(`curtain ${curtain}`) }), {
      bottom: painter.stage.horizon,
    });
    return layerPart(light, SKY, {
      isLight: true,
      isShaded: false,
      strength: ({ seconds }) => 0.42 + 0.22 * Math.sin(seconds * 0.7 + curtain * 2.4),
      bend: (y, position, { seconds }) => {
        position.x += Math.sin(y * 0.011 + seconds * 0.55 + curtain * 3) * 16 * painter.stage.scale;
        position.x += Math.sin(seconds * 0.21 + curtain) * 30 * painter.stage.scale;
      },
    });
  });
}
