/**
 * Open water: a reflection of everything above the horizon, broken by ripples that grow towards the viewer, and the
 * track of the light on it.
 */
import { createCanvas } from '@napi-rs/canvas';
import { adjust, css, mix } from '../colour.ts';
import { fillEllipse, strokeLine } from '../draw.ts';
import { createLineNoise, fractal } from '../noise.ts';
import type { Point, Stage } from '../stage.ts';

/** How much of the part above is reflected in the water: calm lakes more than the sea. */
export type WaterKind = 'lake' | 'sea';

/** Copies the image above the horizon upside down below it, line by line, each shifted by a wave. */
function drawMirror(stage: Stage, kind: WaterKind, bottom: number): void {
  const { context, scale, horizon } = stage;
  // Read once: each access is a call into the canvas library.
  const [columns, bottomRow] = [context.canvas.width, context.canvas.height];
  const top = Math.round(horizon * scale);
  const rows = Math.min(bottomRow, Math.round(bottom * scale)) - top;
  const source = context.getImageData(0, 0, columns, top);
  const mirrored = context.createImageData(columns, rows);
  const from = new Uint32Array(source.data.buffer, source.data.byteOffset, source.data.length / 4);
  const to = new Uint32Array(mirrored.data.buffer, mirrored.data.byteOffset, mirrored.data.length / 4);
  const wave = createLineNoise(stage.random.fork('waves'));
  const squeeze = kind === 'sea' ? 1.35 : 1.08;
  for (let row = 0; row < rows; row++) {
    const near = row / rows;
    const calm = stage.isFlat ? 0 : (kind === 'sea' ? 9 : 3.2) * (0.08 + near);
    const depth = row / scale;
    const shift = fractal(wave, depth / (1.6 + near * 7), 2) * calm;
    const lift = fractal(wave, depth / (2.4 + near * 9) + 91, 2) * calm * 1.4;
    const sourceRow = Math.max(0, Math.min(top - 1, Math.round(top - 1 - (depth * squeeze + lift) * scale)));
    const offset = Math.round(shift * scale);
    const line = from.subarray(sourceRow * columns, (sourceRow + 1) * columns);
    const mirroredLine = to.subarray(row * columns, (row + 1) * columns);
    // Shifted as a whole; the pixels that come in at the edge repeat the last one.
    mirroredLine.fill((offset > 0 ? line.at(-1) : line[0]) ?? 0);
    mirroredLine.set(offset > 0 ? line.subarray(offset) : line.subarray(0, columns + offset), Math.max(0, -offset));
  }
  const layer = createCanvas(columns, Math.max(1, rows));
  layer.getContext('2d').putImageData(mirrored, 0, 0);
  context.save();
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.drawImage(layer, 0, top);
  context.restore();
}

/** Fills the image from the horizon down to a line with water. */
export function drawWater(stage: Stage, kind: WaterKind, bottom: number): void {
  const { context, width, horizon, palette } = stage;
  drawMirror(stage, kind, bottom);
  const cover = context.createLinearGradient(0, horizon, 0, bottom);
  const strong = kind === 'sea' ? 0.12 : 0;
  cover.addColorStop(0, css(mix(palette.sky[3], palette.water, 0.35), 0.25 + strong));
  cover.addColorStop(0.4, css(palette.water, 0.36 + strong));
  cover.addColorStop(1, css(adjust(palette.water, -0.08), 0.6 + strong));
  context.fillStyle = cover;
  context.fillRect(0, horizon, width, bottom - horizon);
  drawRipples(stage, kind, bottom);
  if (stage.light.isVisible || !stage.weather.has('fog')) drawGlitter(stage, bottom);
  if (!stage.isFlat) {
    context.fillStyle = css(mix(palette.rim, palette.sky[3], 0.5), 0.5);
    context.fillRect(0, horizon - 0.6, width, 1.2);
  }
}

function drawRipples(stage: Stage, kind: WaterKind, bottom: number): void {
  const { context, width, horizon, palette } = stage;
  const random = stage.random.fork('ripples');
  const count = (kind === 'sea' ? 150 : 70) * (stage.isFlat ? 0.3 : 1) * (width / 1000);
  for (let index = 0; index < count; index++) {
    const near = random.next() ** 1.3;
    const y = horizon + 3 + near * (bottom - horizon);
    const long = (14 + near * 130) * random.between(0.5, 1.3);
    const x = random.between(-30, width + 30);
    const isCrest = random.chance(0.5);
    const colour = isCrest ? mix(palette.sky[2], palette.rim, 0.4) : adjust(palette.water, -0.1);
    fillEllipse(
      context,
      { x, y },
      long / 2,
      0.5 + near * (kind === 'sea' ? 2.6 : 1.3),
      css(colour, random.between(0.1, 0.32)),
    );
  }
  if (kind !== 'sea' || stage.isFlat) return;
  for (let index = 0; index < 16; index++) {
    const near = 0.25 + random.next() * 0.75;
    const y = horizon + near * (bottom - horizon);
    const x = random.between(0, width);
    const long = 30 + near * 110;
    const crest: Point[] = [0, 1, 2, 3, 4, 5, 6].map((step) => ({
      x: x + (step - 3) * (long / 6),
      y: y - Math.sin((step / 6) * Math.PI) * near * 5,
    }));
    strokeLine(context, crest, 0.8 + near * 1.8, mix(palette.snow, palette.rim, 0.4), 0.22 + near * 0.2);
  }
}

/** Short bright strokes below the sun or the moon, wider apart the closer they come. */
function drawGlitter(stage: Stage, bottom: number): void {
  const { context, horizon, palette, light } = stage;
  const random = stage.random.fork('glitter');
  const strength = light.isVisible ? 1 : 0.35;
  context.save();
  if (!stage.isFlat) context.globalCompositeOperation = 'screen';
  for (let index = 0; index < 190; index++) {
    const near = random.next() ** 1.15;
    const y = horizon + 2 + near * (bottom - horizon) * 0.96;
    const spread = light.radius * (0.5 + near * 1.7);
    const x = light.x + (random.next() + random.next() - 1) * spread;
    const long = (5 + near * 44) * random.between(0.4, 1.2);
    const alpha = strength * (0.62 - near * 0.42) * random.between(0.5, 1);
    fillEllipse(context, { x, y }, long / 2, 0.6 + near * 1.7, css(mix(palette.sun, palette.rim, 0.35), alpha));
  }
  context.restore();
}

/** A fall of water from a height down to a pool. */
export function drawWaterfall(stage: Stage, top: Point, bottom: number, wide: number): void {
  const { context, palette } = stage;
  const random = stage.random.fork('waterfall');
  const body = mix(palette.snow, palette.sky[2], 0.3);
  context.fillStyle = css(body, 0.9);
  context.beginPath();
  context.moveTo(top.x - wide * 0.4, top.y);
  context.lineTo(top.x + wide * 0.4, top.y);
  context.lineTo(top.x + wide * 0.56, bottom);
  context.lineTo(top.x - wide * 0.56, bottom);
  context.fill();
  for (let index = 0; index < 34; index++) {
    const share = random.between(-0.42, 0.42);
    const start = top.y + random.next() * (bottom - top.y) * 0.6;
    const colour = random.chance(0.6) ? palette.snow : mix(palette.water, palette.sky[2], 0.4);
    strokeLine(
      context,
      [
        { x: top.x + share * wide, y: start },
        { x: top.x + share * wide * 1.25, y: Math.min(bottom, start + random.between(30, 120)) },
      ],
      random.between(0.8, 2.6),
      colour,
      0.6,
    );
  }
  for (let index = 0; index < 22; index++) {
    const position = { x: top.x + random.between(-0.9, 0.9) * wide, y: bottom + random.between(-16, 6) };
    fillEllipse(context, position, random.between(10, 30), random.between(5, 14), css(palette.snow, 0.16));
  }
}
