/**
 * The additions of a richly detailed image: high cloud, the grain of the ground, rays and motes in the light, leaves
 * out of focus close to the viewer, and a bloom of the light over everything.
 */
import { createCanvas } from '@napi-rs/canvas';
import type { Canvas } from '@napi-rs/canvas';
import { adjust, css, hex, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { fillEllipse, fillShape, glow } from '../draw.ts';
import { createPlaneNoise } from '../noise.ts';
import type { PlaneNoise } from '../noise.ts';
import type { Random } from '@darkroom/seeded-random/random';
import type { Stage } from '../stage.ts';

/** Pixels per side of the noise that is stretched over a part of the image. */
const VEIL = 256;

function octaves(noise: PlaneNoise, x: number, y: number): number {
  return noise(x, y) * 0.5 + noise(x * 2.1 + 7, y * 2.1) * 0.27 + noise(x * 4.3, y * 4.3 + 3) * 0.15;
}

/** A veil of one colour whose density is defined for every point, 0 to 1 across and down. */
function veil(colour: Colour, density: (across: number, down: number) => number): Canvas {
  const canvas = createCanvas(VEIL, VEIL);
  const context = canvas.getContext('2d');
  const image = context.createImageData(VEIL, VEIL);
  for (let position = 0; position < VEIL * VEIL; position++) {
    const alpha = density((position % VEIL) / VEIL, Math.floor(position / VEIL) / VEIL);
    image.data.set([...colour, Math.max(0, Math.min(1, alpha)) * 255], position * 4);
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

/** High cloud in streaks that close up towards the horizon. */
export function drawCirrus(stage: Stage): void {
  const { context, width, horizon, palette } = stage;
  const random = stage.random.fork('cirrus');
  const [noise, warp] = [createPlaneNoise(random), createPlaneNoise(random)];
  const lean = random.between(-0.8, 0.8);
  const shape = width / Math.max(1, horizon);
  const white = palette.isDark ? mix(palette.sky[2], palette.rim, 0.5) : mix(hex('#ffffff'), palette.rim, 0.45);
  const clouds = veil(white, (across, down) => {
    const far = 1.9 / (1.14 - down);
    const [x, y] = [(across - 0.5) * far * shape * 1.1 + down * lean, far * 1.4];
    const bent = warp(x * 0.7, y * 0.7) * 0.9;
    const body = octaves(noise, x * 0.8 + bent, y * 1.7 + bent * 0.6);
    const edge = Math.min(1, (1 - down) * 6) * Math.min(1, 0.35 + down);
    return Math.max(0, body * 1.7 + 0.02) ** 1.25 * edge * (palette.isDark ? 0.4 : 0.78);
  });
  context.drawImage(clouds, 0, 0, width, horizon);
}

/** The unevenness of the ground, finer towards the horizon. */
export function drawGroundGrain(stage: Stage): void {
  const { context, width, height, horizon, palette } = stage;
  const random = stage.random.fork('ground grain');
  const noise = createPlaneNoise(random);
  for (const [tone, turn, strength] of [
    [adjust(palette.land, -0.18), 0, 0.3],
    [mix(palette.rim, hex('#ffffff'), 0.2), 31, 0.2],
  ] as const) {
    const grain = veil(tone, (across, down) => {
      const far = 1 / (0.1 + down);
      const body = octaves(noise, (across - 0.5) * far * 7 + turn, far * 16 + turn);
      return Math.max(0, body * 1.9) * strength * Math.min(1, down * 5);
    });
    context.drawImage(grain, 0, horizon, width, height - horizon);
  }
}

/** Shafts of light from the sun. */
export function drawRays(stage: Stage): void {
  const { context, width, height, light, palette } = stage;
  const random = stage.random.fork('shafts');
  const reach = Math.hypot(width, height);
  context.save();
  context.globalCompositeOperation = 'screen';
  for (let ray = 0; ray < 13; ray++) {
    const angle = random.between(0, Math.PI * 2);
    const wide = random.between(0.015, 0.07);
    const end = (turn: number, far: number): { x: number; y: number } => ({
      x: light.x + Math.cos(angle + turn) * far,
      y: light.y + Math.sin(angle + turn) * far,
    });
    const long = reach * random.between(0.35, 0.8);
    const fade = context.createRadialGradient(light.x, light.y, light.radius, light.x, light.y, long);
    fade.addColorStop(0, css(palette.rim, 0.15));
    fade.addColorStop(1, css(palette.rim, 0));
    fillShape(context, [light, end(-wide, long), end(wide, long)], fade);
  }
  context.restore();
}

/** Motes that catch the light, and leaves too close to be sharp. */
export function drawCloseness(stage: Stage): void {
  const { context, width, height, horizon, palette, light } = stage;
  const random = stage.random.fork('closeness');
  for (let mote = 0; mote < 70; mote++) {
    const position = { x: random.between(0, width), y: random.between(horizon * 0.6, height) };
    const near = Math.max(0.25, 1 - Math.abs(position.x - light.x) / width);
    glow(
      context,
      position,
      random.between(1.5, 5) + random.next() ** 6 * 22,
      palette.rim,
      random.between(0.2, 0.5) * near,
    );
  }
  drawLeavesOutOfFocus(stage, random);
}

/** Units per pixel of the sheet on which out-of-focus things are drawn: more pixels would not be visible. */
const SOFT_UNIT = 4;

function drawLeavesOutOfFocus(stage: Stage, random: Random): void {
  const { context, width, height, palette } = stage;
  const leaf = adjust(mix(palette.foliage, palette.land, 0.35), -0.1);
  const sheet = createCanvas(Math.ceil(width / SOFT_UNIT), Math.ceil(height / SOFT_UNIT));
  const soft = sheet.getContext('2d');
  soft.scale(1 / SOFT_UNIT, 1 / SOFT_UNIT);
  for (const side of [-1, 1]) {
    const edge = side === -1 ? 0 : width;
    for (let blade = 0; blade < 9; blade++) {
      const position = {
        x: edge - side * random.between(-20, 110) * random.next(),
        y: height - random.between(-20, 90),
      };
      const tall = random.between(40, 120);
      fillEllipse(soft, position, tall * 0.17, tall, css(leaf, 0.75), side * random.between(-0.7, 0.1));
    }
  }
  const blurred = createCanvas(sheet.width, sheet.height);
  const sheetContext = blurred.getContext('2d');
  sheetContext.filter = `blur(${(7 / SOFT_UNIT).toFixed(2)}px)`;
  sheetContext.drawImage(sheet, 0, 0);
  context.drawImage(blurred, 0, 0, width, height);
}

/** Light that spills over the edges of bright parts, as in a lens. */
export function applyBloom(stage: Stage, strength: number): void {
  const { context } = stage;
  const { canvas } = context;
  const size = [Math.max(1, Math.round(canvas.width / 8)), Math.max(1, Math.round(canvas.height / 8))] as const;
  const sharp = createCanvas(...size);
  sharp.getContext('2d').drawImage(canvas, 0, 0, ...size);
  const small = createCanvas(...size);
  const tiny = small.getContext('2d');
  tiny.filter = `blur(${Math.max(1, Math.sqrt(size[0] * size[1]) / 60).toFixed(1)}px) brightness(0.9) contrast(1.25)`;
  tiny.drawImage(sharp, 0, 0);
  context.save();
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.globalCompositeOperation = 'soft-light';
  context.globalAlpha = strength;
  context.drawImage(small, 0, 0, canvas.width, canvas.height);
  context.globalCompositeOperation = 'screen';
  context.globalAlpha = strength * 0.25;
  context.drawImage(small, 0, 0, canvas.width, canvas.height);
  context.restore();
}
