/**
 * Things that fall and drift between the viewer and the scene: rain, snow, leaves and petals, fireflies, sparks, dust
 * in the light. Small sprites, each on a path that is a function of time.
 */
import { adjust, css, hex, mix } from '../image/colour.ts';
import type { Colour } from '../image/colour.ts';
import { fillCurve, fillEllipse, glow, points, strokeLine } from '../image/draw.ts';
import type { Random } from '@darkroom/seeded-random/random';
import type { Stage } from '../image/stage.ts';
import { createSprite, stamp } from './raster/sprites.ts';
import type { Sprite } from './raster/sprites.ts';
import type { Frame } from './raster/drawing.ts';
import type { Part } from './scene-parts.ts';
import type { WorldStage } from './world-stage.ts';

type Look = Pick<Stage, 'scale' | 'palette' | 'random' | 'weather'>;

/** A value wrapped to a length, so that what leaves at one side enters at the other. */
function wrap(value: number, length: number): number {
  return ((value % length) + length) % length;
}

/** Everything that the scene's weather, season and things bring with them. */
export function airParts(stage: Stage, world: WorldStage): Part[] {
  const { weather, mentions, absent, setting, ground, season } = world.composition;
  const parts: Part[] = [];
  const isDark = world.palettes.some((palette) => palette.isDark);
  if (setting === 'space') return [dustPart(stage, hex('#cfd8ff'), 26)];
  if (weather.has('rain') || weather.has('storm')) parts.push(rainPart(stage, 1));
  if (weather.has('snow')) parts.push(snowPart(stage, 1));
  const isWooded = mentions.has('forest') || mentions.has('tree');
  if (mentions.has('blossom') && !absent.has('blossom')) parts.push(leafPart(stage, hex('#f6bccd'), 70, 0.55));
  else if ((weather.has('wind') || (season === 'autumn' && isWooded)) && !absent.has('tree') && season !== 'winter') {
    parts.push(leafPart(stage, stage.palette.foliage, 60, weather.has('wind') ? 2.4 : 1));
  }
  const isGreen = ground === 'meadow' || ground === 'forest';
  const isWarm = season === 'summer' || season === 'spring';
  const isFoul = weather.has('rain') || weather.has('storm') || weather.has('snow');
  if (setting === 'land' && isGreen && isDark && isWarm && !isFoul && !mentions.has('city'))
    parts.push(fireflyPart(stage));
  if (mentions.has('campfire') || mentions.has('volcano'))
    parts.push(sparkPart(stage, mentions.has('campfire') ? 40 : 70));
  const isSunny = stage.light.isVisible && stage.light.body === 'sun' && !isDark && !isFoul;
  if (isSunny && (ground === 'sand' || isGreen) && setting === 'land')
    parts.push(dustPart(stage, stage.palette.rim, 44));
  return parts;
}

/** Rain at three distances. @param amount 1 for a good rain. */
export function rainPart(stage: Look, amount: number): Part {
  const { scale, palette } = stage;
  const random = stage.random.fork('rain');
  const slant = stage.weather.has('storm') || stage.weather.has('wind') ? 0.34 : 0.14;
  const colour = mix(mix(palette.snow, palette.sky[3], 0.4), hex('#ffffff'), 0.25);
  const streaks = [0.2, 0.5, 0.9].map((near) => {
    const long = (16 + near * 52) * scale;
    return createSprite({ width: long * slant + 4, height: long }, (context) => {
      const line = points((long * slant) / 2, -long / 2, (-long * slant) / 2, long / 2);
      strokeLine(context, line, (0.6 + near * 1.2) * Math.max(0.7, scale), colour, 0.26 + near * 0.2);
    });
  });
  const drops = Array.from({ length: Math.round(560 * amount) }, () => {
    const depth = Math.floor(random.next() ** 1.4 * 3);
    return { x: random.next(), y: random.next(), depth, speed: 1.05 + depth * 0.55 + random.next() * 0.25 };
  });
  const rings = splashes(stage, colour, Math.round(46 * amount));
  return (frame, moment) => {
    for (const drop of drops) {
      const sprite = streaks[drop.depth];
      if (sprite === undefined) continue;
      const fallen = drop.y + moment.seconds * drop.speed;
      const y = wrap(fallen, 1.15) - 0.08;
      const row = Math.floor(fallen / 1.15);
      const drift = moment.view.camera.x * (0.4 + drop.depth * 0.5);
      const x = wrap(drop.x + row * 0.37 - (y * slant * frame.height) / frame.width - drift, 1.1) - 0.05;
      stamp(frame, sprite, x * frame.width, y * frame.height);
    }
    rings(frame, moment);
  };
}

/** Where drops fall on the ground: small flat rings that open and vanish. */
function splashes(stage: Look, colour: Colour, count: number): Part {
  const random = stage.random.fork('splashes');
  const sprites = [3, 6, 9].map((radius) =>
    createSprite({ width: radius * 2.4 * stage.scale, height: radius * 0.9 * stage.scale + 2 }, (context) => {
      context.beginPath();
      context.ellipse(0, 0, radius * stage.scale, radius * 0.28 * stage.scale, 0, 0, Math.PI * 2);
      context.lineWidth = Math.max(0.6, stage.scale);
      context.strokeStyle = css(colour, 0.55);
      context.stroke();
    }),
  );
  const splashPoints = Array.from({ length: count }, () => ({
    x: random.next(),
    y: 0.74 + 0.26 * random.next(),
    phase: random.next(),
    pace: random.between(1.6, 2.6),
  }));
  return (frame, { seconds }) => {
    for (const point of splashPoints) {
      const life = point.phase + seconds * point.pace;
      const age = life - Math.floor(life);
      const sprite = sprites[Math.min(2, Math.floor(age * 3))];
      if (sprite === undefined) continue;
      const x = wrap(point.x + Math.floor(life) * 0.381, 1);
      stamp(frame, sprite, x * frame.width, point.y * frame.height, (1 - age) * 0.8);
    }
  };
}

/** Snow, near flakes large and out of focus. */
export function snowPart(stage: Look, amount: number): Part {
  const { scale } = stage;
  const random = stage.random.fork('snow');
  const flake = (radius: number, isSoft: boolean): Sprite =>
    createSprite({ width: radius * 4.4, height: radius * 4.4 }, (context) => {
      if (isSoft) glow(context, { x: 0, y: 0 }, radius * 2.1, hex('#ffffff'), 0.8);
      else fillEllipse(context, { x: 0, y: 0 }, radius, radius, css(hex('#ffffff'), 0.92));
    });
  const flakes = [
    flake(0.9 * scale, false),
    flake(1.6 * scale, false),
    flake(2.8 * scale, true),
    flake(6 * scale, true),
  ];
  const isStormy = stage.weather.has('wind') || stage.weather.has('storm');
  const falling = Array.from({ length: Math.round(430 * amount) }, () => {
    const near = random.next();
    const kind = near < 0.5 ? 0 : near < 0.84 ? 1 : near < 0.965 ? 2 : 3;
    return {
      kind,
      x: random.next(),
      y: random.next(),
      speed: 0.045 + kind * 0.04 + random.next() * 0.03,
      swing: random.between(0.004, 0.016) * (1 + kind * 0.5),
      phase: random.between(0, 7),
      strength: random.between(0.55, 1),
    };
  });
  return (frame, { seconds, view }) => {
    for (const one of falling) {
      const sprite = flakes[one.kind];
      if (sprite === undefined) continue;
      const y = wrap(one.y + seconds * one.speed * (isStormy ? 1.7 : 1), 1.1) - 0.05;
      const blown = isStormy ? seconds * (0.1 + one.kind * 0.07) : seconds * 0.012;
      const sway = Math.sin(seconds * 1.1 + one.phase) * one.swing;
      const x = wrap(one.x + sway + blown - view.camera.x * (0.5 + one.kind * 0.4), 1.1) - 0.05;
      stamp(frame, sprite, x * frame.width, y * frame.height, one.strength);
    }
  };
}

/** Leaves or petals that tumble down. */
export function leafPart(stage: Look, colour: Colour, count: number, wind: number): Part {
  const random = stage.random.fork('leaves');
  // Turned and tilted in steps: a leaf tumbles by changing its image.
  const turns = 10;
  const sprites = [4, 6.5, 9].map((size) =>
    [-0.07, 0, 0.09].map((tone) =>
      Array.from({ length: turns }, (_, turn) => {
        const long = size * stage.scale;
        return createSprite({ width: long * 2.2, height: long * 2.2 }, (context) => {
          context.rotate((turn / turns) * Math.PI * 2);
          context.scale(long, long * (0.2 + 0.3 * Math.abs(Math.sin((turn / turns) * Math.PI * 3 + 0.5))));
          fillCurve(context, points(-1, 0, -0.3, -0.9, 0.6, -0.7, 1, 0, 0.6, 0.7, -0.3, 0.9), adjust(colour, tone));
        });
      }),
    ),
  );
  const leaves = Array.from({ length: count }, () => ({
    size: random.integer(0, 2),
    tone: random.integer(0, 2),
    x: random.next(),
    y: random.next(),
    fall: random.between(0.05, 0.11),
    blow: random.between(0.03, 0.07) * wind,
    swing: random.between(0.012, 0.035),
    pace: random.between(0.9, 1.8),
    phase: random.between(0, 7),
    spin: random.between(0.5, 1.3) * (random.chance(0.5) ? 1 : -1),
  }));
  return (frame, { seconds, view }) => {
    for (const leaf of leaves) {
      const swing = Math.sin(seconds * leaf.pace + leaf.phase);
      const x = wrap(leaf.x + seconds * leaf.blow + swing * leaf.swing - view.camera.x * 0.8, 1.1) - 0.05;
      const y = wrap(leaf.y + seconds * leaf.fall + Math.cos(seconds * leaf.pace * 2 + leaf.phase) * 0.008, 1.1) - 0.05;
      const turn = Math.floor(wrap(seconds * leaf.spin + leaf.phase + swing * 0.3, 1) * turns);
      const sprite = sprites[leaf.size]?.[leaf.tone]?.[turn];
      if (sprite !== undefined) stamp(frame, sprite, x * frame.width, y * frame.height, 0.92);
    }
  };
}

function glowSprite(radius: number, colour: Colour, core: number): Sprite {
  return createSprite({ width: radius * 2, height: radius * 2 }, (context) => {
    glow(context, { x: 0, y: 0 }, radius, colour, 0.8);
    if (core > 0) fillEllipse(context, { x: 0, y: 0 }, core, core, css(mix(colour, hex('#ffffff'), 0.6), 0.9));
  });
}

/** Fireflies: they wander low over the ground and glow for a moment. */
export function fireflyPart(stage: Look): Part {
  const random = stage.random.fork('fireflies');
  const sprite = glowSprite(9 * stage.scale, hex('#d8ff7a'), 1.3 * stage.scale);
  const flies = Array.from({ length: 46 }, () => ({
    x: random.next(),
    y: 0.52 + 0.44 * random.next(),
    phase: random.between(0, 9),
    pace: random.between(0.5, 1.1),
  }));
  return (frame, { seconds, view }) => {
    for (const { x, y, phase, pace } of flies) {
      const light = Math.max(0, Math.sin(seconds * pace * 1.9 + phase * 3));
      const at = x + Math.sin(seconds * pace * 0.6 + phase) * 0.03 - view.camera.x * 0.8;
      const up = y + Math.sin(seconds * pace * 0.9 + phase * 2) * 0.02;
      stamp(frame, sprite, wrap(at, 1) * frame.width, up * frame.height, light * light * 0.95, true);
    }
  };
}

/** Sparks that rise and go out. */
export function sparkPart(stage: Look, count: number): Part {
  const random = stage.random.fork('sparks');
  const sprites = [
    glowSprite(4 * stage.scale, hex('#ff9a3c'), 0.9 * stage.scale),
    glowSprite(7 * stage.scale, hex('#ffb95c'), 1.3 * stage.scale),
  ];
  const sparks = Array.from({ length: count }, () => ({
    x: random.next(),
    life: random.between(3, 6.5),
    phase: random.next(),
    swing: random.between(0.006, 0.02),
    kind: random.chance(0.75) ? 0 : 1,
  }));
  return (frame: Frame, { seconds, view }) => {
    for (const spark of sparks) {
      const age = wrap(spark.phase + seconds / spark.life, 1);
      const sprite = sprites[spark.kind];
      if (sprite === undefined) continue;
      const x = spark.x + Math.sin(seconds * 1.3 + spark.phase * 20) * spark.swing - view.camera.x * 0.8;
      const light = Math.sin(age * Math.PI) * (0.75 + 0.25 * Math.sin(seconds * 9 + spark.phase * 30));
      stamp(frame, sprite, wrap(x, 1) * frame.width, (1.02 - age * 0.9) * frame.height, light, true);
    }
  };
}

/** Dust or pollen that hangs in the light. */
export function dustPart(stage: Pick<Look, 'scale' | 'random'>, colour: Colour, count: number): Part {
  const random: Random = stage.random.fork('dust');
  const sprites = [glowSprite(2.4 * stage.scale, colour, 0), glowSprite(4.5 * stage.scale, colour, 0)];
  const motes = Array.from({ length: count }, () => ({
    x: random.next(),
    y: random.next(),
    phase: random.between(0, 9),
    kind: random.chance(0.7) ? 0 : 1,
    pace: random.between(0.2, 0.5),
  }));
  return (frame, { seconds, view }) => {
    for (const { x, y, phase, kind, pace } of motes) {
      const sprite = sprites[kind];
      if (sprite === undefined) continue;
      const at = x + seconds * 0.008 + Math.sin(seconds * pace + phase) * 0.02 - view.camera.x * (0.8 + kind * 0.5);
      const up = y + Math.cos(seconds * pace * 0.8 + phase) * 0.02;
      const light = 0.3 + 0.3 * Math.sin(seconds * pace * 2.3 + phase * 2);
      stamp(frame, sprite, wrap(at, 1) * frame.width, wrap(up, 1) * frame.height, light, true);
    }
  };
}
