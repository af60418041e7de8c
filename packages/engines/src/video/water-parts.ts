/**
 * Water in motion: a reflection of everything above it, whose rows move with the waves, ripples that come and go,
 * crests that roll in, and the glitter below the sun or the moon.
 */
import { adjust, css, mix } from '../image/colour.ts';
import type { Colour } from '../image/colour.ts';
import { fillEllipse, strokeLine } from '../image/draw.ts';
import type { Random } from '@darkroom/seeded-random/random';
import type { Stage } from '../image/stage.ts';
import { project } from './camera.ts';
import type { View } from './camera.ts';
import type { LayerPainter } from './layer-painter.ts';
import { brightestProgress, lightOf, WATER } from './light-transition.ts';
import { createBitmap } from './raster/bitmap.ts';
import type { PlacedBitmap } from './raster/bitmap.ts';
import { createFrame, draw } from './raster/drawing.ts';
import { createSprite, stamp } from './raster/sprites.ts';
import type { Sprite } from './raster/sprites.ts';
import type { Part } from './scene-parts.ts';
import type { WorldStage } from './world-stage.ts';

const HORIZON = 0.2;
/** Lengths of ripples from far to near, as fractions of the longest. */
const LENGTHS = [0.12, 0.2, 0.32, 0.48, 0.7, 1] as const;

/** How near the water is at a share of its depth: 0 at the horizon, 1 at the lower edge. */
function nearnessAt(near: number): number {
  return HORIZON + (1 - HORIZON) * Math.max(0, near) ** 1.15;
}

/** The parts of the water. @param behind everything that it mirrors. */
export function waterParts(painter: LayerPainter, world: WorldStage, behind: readonly Part[]): Part[] {
  const { stage, composition } = world;
  const isSea = composition.water === 'sea';
  const surface = surfacePart(world, mirrorOf(painter, world, behind), isSea);
  const parts = [surface, ripplePart(stage, isSea)];
  if (isSea && !stage.isFlat) parts.push(crestPart(stage));
  if (stage.light.isVisible || !stage.weather.has('fog')) parts.push(glitterPart(stage));
  return parts;
}

/** Everything above the horizon, upside down, under the colour of the water. */
function mirrorOf(painter: LayerPainter, world: WorldStage, behind: readonly Part[]): PlacedBitmap {
  const { stage, composition, view } = world;
  const { width, height } = painter;
  const top = Math.round(stage.horizon * stage.scale);
  const above = createFrame(width, top);
  const camera = { x: 0, y: 0, rise: 0, zoom: 1, pivot: 0 };
  const whole: View = { ...view, width, height, left: 0, top: 0, camera };
  const progress = brightestProgress(world.palettes);
  for (const part of behind) part(above, { view: whole, seconds: 0, progress, shade: undefined });
  const isSea = composition.water === 'sea';
  const rows = height - top;
  const pixels = new Uint32Array(width * rows);
  const squeeze = isSea ? 1.35 : 1.08;
  for (let row = 0; row < rows; row++) {
    const from = Math.max(0, Math.min(top - 1, Math.round(top - 1 - row * squeeze)));
    const line = above.pixels.subarray(from * width, (from + 1) * width);
    const { colour, alpha } = coverAt(stage, row / rows, isSea);
    tintRow(line, pixels, row * width, colour, alpha);
  }
  return { bitmap: createBitmap(pixels, width, rows, true), left: 0, top };
}

/** The water's own colour at a depth, and how much of it covers the mirror. */
function coverAt(stage: Omit<Stage, 'context'>, near: number, isSea: boolean): { colour: Colour; alpha: number } {
  const { palette } = stage;
  const strong = isSea ? 0.12 : 0;
  const far = mix(palette.sky[3], palette.water, 0.35);
  const deep = adjust(palette.water, -0.08);
  if (near < 0.4) return { colour: mix(far, palette.water, near / 0.4), alpha: 0.25 + 0.11 * (near / 0.4) + strong };
  return { colour: mix(palette.water, deep, (near - 0.4) / 0.6), alpha: 0.36 + 0.24 * ((near - 0.4) / 0.6) + strong };
}

function tintRow(line: Uint32Array, target: Uint32Array, at: number, colour: Colour, alpha: number): void {
  const keep = 1 - alpha;
  const [red, green, blue] = [colour[0] * alpha, colour[1] * alpha, colour[2] * alpha];
  for (let index = 0; index < line.length; index++) {
    const pixel = line[index] as number;
    const mixed =
      (((((pixel >>> 16) & 255) * keep + blue) | 0) << 16) |
      (((((pixel >>> 8) & 255) * keep + green) | 0) << 8) |
      (((pixel & 255) * keep + red) | 0);
    target[at + index] = (0xff000000 | mixed) >>> 0;
  }
}

function surfacePart(world: WorldStage, mirror: PlacedBitmap, isSea: boolean): Part {
  const { scale } = world.stage;
  const wave = (isSea ? 6.5 : 2.6) * scale;
  const light = lightOf(world.palettes, WATER);
  return (frame, { view, seconds, progress }) => {
    const shade = light?.(progress);
    const far = project(view, HORIZON);
    const top = Math.floor(mirror.top * far.scale + far.y);
    const deep = frame.height * 1.08 - top;
    draw(frame, mirror.bitmap, {
      x: 0,
      y: 0,
      top,
      ...(shade === undefined ? {} : { shade }),
      bend: (y, position) => {
        const near = (y - top) / deep;
        const seen = project(view, nearnessAt(near));
        const depth = Math.log(1 + near * 14);
        const swell = Math.sin(depth * 19 - seconds * 1.7) + 0.6 * Math.sin(depth * 41 + seconds * 2.3);
        const sway = Math.sin(depth * 27 - seconds * 1.2) + 0.6 * Math.sin(depth * 58 - seconds * 2.9);
        position.x = seen.x + sway * wave * (0.1 + near);
        position.scale = seen.scale;
        // The first row stays at the horizon, whatever the waves do.
        position.row = Math.max(0, (y - seen.y) / seen.scale - mirror.top + swell * wave * 0.55 * near);
      },
    });
  };
}

interface Ripple {
  readonly x: number;
  readonly near: number;
  readonly sprite: Sprite;
  readonly strength: number;
  readonly pace: number;
  readonly phase: number;
}

/** Where a point on the water appears. */
function onWater(
  stage: Omit<Stage, 'context'>,
  view: View,
  x: number,
  near: number,
): { readonly x: number; readonly y: number } {
  const seen = project(view, nearnessAt(near));
  const y = stage.horizon + 2 + near * (stage.height - stage.horizon);
  return { x: x * stage.scale * seen.scale + seen.x, y: y * stage.scale * seen.scale + seen.y };
}

function dashes(stage: Omit<Stage, 'context'>, longest: number, thick: number, colour: Colour): readonly Sprite[] {
  const { scale } = stage;
  return LENGTHS.map((length) => {
    const [wide, tall] = [longest * length * scale, (0.5 + thick * length) * scale];
    return createSprite({ width: wide, height: tall * 2 }, (context) => {
      fillEllipse(context, { x: 0, y: 0 }, wide / 2, Math.max(0.45, tall), css(colour, 0.85));
      fillEllipse(context, { x: wide * 0.1, y: 0 }, wide * 0.3, Math.max(0.3, tall * 0.6), css(colour, 0.6));
    });
  });
}

function ofLength(sprites: readonly Sprite[], near: number, random: Random): Sprite | undefined {
  const index = Math.round(near * (sprites.length - 1) + random.between(-0.9, 0.7));
  return sprites[Math.max(0, Math.min(sprites.length - 1, index))];
}

/** Light and dark ripples that come and go where they are. */
function ripplePart(stage: Omit<Stage, 'context'>, isSea: boolean): Part {
  const { palette, width } = stage;
  const random = stage.random.fork('ripples');
  const thick = isSea ? 2.4 : 1.2;
  const light = dashes(stage, 150, thick, mix(palette.sky[2], palette.rim, 0.4));
  const dark = dashes(stage, 150, thick, adjust(palette.water, -0.1));
  const count = Math.round((isSea ? 190 : 110) * (stage.isFlat ? 0.3 : 1) * (width / 1000));
  const ripples = Array.from({ length: count }, (): Ripple | undefined => {
    const near = random.next() ** 1.3;
    const sprite = ofLength(random.chance(0.5) ? light : dark, near, random);
    if (sprite === undefined) return undefined;
    return {
      x: random.between(0, width),
      near,
      sprite,
      strength: random.between(0.2, 0.5),
      pace: random.between(0.8, 2.2),
      phase: random.between(0, 7),
    };
  });
  const drift = isSea ? 9 : 4;
  return (frame, { view, seconds }) => {
    for (const ripple of ripples) {
      if (ripple === undefined) continue;
      const shown = Math.sin(seconds * ripple.pace + ripple.phase);
      if (shown <= 0.05) continue;
      const x = (ripple.x + drift * seconds * (0.2 + ripple.near)) % width;
      const at = onWater(stage, view, x, ripple.near);
      const rise = Math.cos(seconds * ripple.pace + ripple.phase) * 2.5 * ripple.near * stage.scale;
      stamp(frame, ripple.sprite, at.x, at.y + rise, ripple.strength * shown);
    }
  };
}

/** Crests that roll towards the viewer. */
function crestPart(stage: Omit<Stage, 'context'>): Part {
  const { palette, width, scale } = stage;
  const random = stage.random.fork('crests');
  const colour = mix(palette.snow, palette.rim, 0.4);
  const sprites = LENGTHS.map((length) => {
    const wide = 150 * length * scale;
    return createSprite({ width: wide, height: 14 * length * scale + 4 }, (context) => {
      const crest = Array.from({ length: 9 }, (_, step) => ({
        x: (step / 8 - 0.5) * wide,
        y: -Math.sin((step / 8) * Math.PI) * 6 * length * scale + 3 * length * scale,
      }));
      strokeLine(context, crest, Math.max(0.7, 2.2 * length * scale), colour, 0.8);
    });
  });
  const crests = Array.from({ length: 26 }, () => ({
    x: random.between(0, width),
    from: random.next(),
    wander: random.between(-20, 20),
  }));
  return (frame, { view, seconds }) => {
    for (const { x, from, wander } of crests) {
      const life = (from + seconds * 0.045) % 1;
      const near = 0.16 + life * 0.84;
      const sprite = sprites[Math.min(sprites.length - 1, Math.floor(near * sprites.length))];
      if (sprite === undefined) continue;
      const at = onWater(stage, view, x + wander * life, near);
      stamp(frame, sprite, at.x, at.y, Math.sin(life * Math.PI) ** 0.7 * (0.16 + near * 0.3));
    }
  };
}

/** Short bright strokes below the light, each shining for a moment. */
function glitterPart(stage: Omit<Stage, 'context'>): Part {
  const { palette, light } = stage;
  const random = stage.random.fork('glitter');
  const sprites = dashes(stage, 52, 2, mix(palette.sun, palette.rim, 0.35));
  const strength = light.isVisible ? 0.85 : 0.3;
  const glints = Array.from({ length: 230 }, () => {
    const near = random.next() ** 1.15 * 0.97;
    const spread = light.radius * (0.5 + near * 1.9);
    return {
      x: light.x + (random.next() + random.next() - 1) * spread,
      near,
      sprite: ofLength(sprites, near, random),
      strength: strength * (0.95 - near * 0.6) * random.between(0.5, 1),
      pace: random.between(2.2, 5.5),
      phase: random.between(0, 7),
    };
  });
  return (frame, { view, seconds }) => {
    for (const glint of glints) {
      const shown = Math.sin(seconds * glint.pace + glint.phase);
      if (shown <= 0 || glint.sprite === undefined) continue;
      const wander = Math.sin(seconds * 0.9 + glint.phase * 3) * 5 * glint.near;
      const at = onWater(stage, view, glint.x + wander, glint.near);
      stamp(frame, glint.sprite, at.x, at.y, glint.strength * shown * shown, true);
    }
  };
}
