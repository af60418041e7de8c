/**
 * The subject of a reference image, cut out, as a thing of the scene: in its light and air, with its shadow, and with
 * the ground details in front of its foot.
 */
import { createCanvas } from '@napi-rs/canvas';
import type { Canvas } from '@napi-rs/canvas';
import { adjust, css, hex, mix } from '../colour.ts';
import { fillEllipse } from '../draw.ts';
import { drawTufts } from '../layers/flora.ts';
import { groundColour } from '../layers/ground.ts';
import type { GroundKind } from '../layers/ground.ts';
import type { CutOut } from '../analysis/cut-out.ts';
import { lightSide } from '../stage.ts';
import type { Point, Stage } from '../stage.ts';

interface Standing {
  readonly foot: Point;
  readonly tall: number;
  readonly ground: GroundKind;
}

/** Opacity from which a pixel is part of the thing. */
const SOLID = 110;

/** The position of the lowest tenth of a cut-out, as fractions of its width: its base. */
function baseOf(canvas: Canvas): { left: number; right: number } {
  const { width, height } = canvas;
  const rows = Math.max(1, Math.round(height * 0.1));
  const { data } = canvas.getContext('2d').getImageData(0, height - rows, width, rows);
  let [left, right] = [width, 0];
  for (let index = 0; index < width * rows; index++) {
    if ((data[index * 4 + 3] ?? 0) < SOLID) continue;
    const column = index % width;
    [left, right] = [Math.min(left, column), Math.max(right, column + 1)];
  }
  return right > left ? { left: left / width, right: right / width } : { left: 0.2, right: 0.8 };
}

/** The cut-out under the light of the scene: its colour, the brighter side, the darkness near the ground. */
function inLight(stage: Stage, cut: Canvas, side: 1 | -1): Canvas {
  const { palette } = stage;
  const { width, height } = cut;
  const canvas = createCanvas(width, height);
  const context = canvas.getContext('2d');
  context.drawImage(cut, 0, 0);
  context.globalCompositeOperation = 'multiply';
  const light = mix(palette.light, hex('#ffffff'), palette.isDark ? 0.28 : 0.4);
  const across = context.createLinearGradient(side === 1 ? width : 0, 0, side === 1 ? 0 : width, height * 0.25);
  across.addColorStop(0, css(mix(light, hex('#ffffff'), 0.5)));
  across.addColorStop(0.5, css(light));
  across.addColorStop(1, css(mix(light, palette.land, palette.isDark ? 0.5 : 0.3)));
  context.fillStyle = across;
  context.fillRect(0, 0, width, height);
  const down = context.createLinearGradient(0, height * 0.6, 0, height);
  down.addColorStop(0, css(hex('#ffffff')));
  down.addColorStop(1, css(mix(palette.land, hex('#ffffff'), 0.45)));
  context.fillStyle = down;
  context.fillRect(0, 0, width, height);
  // The air between it and the viewer, and the sky above it.
  context.globalCompositeOperation = 'soft-light';
  const above = context.createLinearGradient(0, 0, 0, height);
  above.addColorStop(0, css(palette.rim, 0.4));
  above.addColorStop(0.5, css(palette.rim, 0));
  context.fillStyle = above;
  context.fillRect(0, 0, width, height);
  context.globalCompositeOperation = 'source-over';
  context.fillStyle = css(palette.haze, palette.isDark ? 0.1 : 0.06);
  context.fillRect(0, 0, width, height);
  // All of this only on the pixels of the thing.
  context.globalCompositeOperation = 'destination-in';
  context.drawImage(cut, 0, 0);
  return canvas;
}

/** Draws the subject in the scene. One cut off by its image's lower border stands behind the scene's lower border. */
export function drawCutOut(stage: Stage, { canvas, isCutBelow }: CutOut, standing: Standing): void {
  const { context, palette, width, height } = stage;
  const { tall, ground } = standing;
  const scale = Math.min((tall * (isCutBelow ? 1.35 : 1)) / canvas.height, (width * 0.62) / canvas.width);
  const [wide, high] = [canvas.width * scale, canvas.height * scale];
  const foot = {
    x: Math.max(wide * 0.42, Math.min(width - wide * 0.42, standing.foot.x)),
    y: isCutBelow ? height + 2 : standing.foot.y,
  };
  const side = lightSide(stage, foot.x);
  const base = baseOf(canvas);
  const left = foot.x - wide / 2 + wide * base.left;
  const half = (wide * (base.right - base.left)) / 2;
  const centre = { x: left + half, y: foot.y };
  context.save();
  context.imageSmoothingQuality = 'high';
  if (!isCutBelow) {
    const dark = adjust(palette.land, -0.14);
    const reach = Math.min(wide * 0.9, high * 0.55);
    // Away from the light, and soft; then where it touches the ground.
    for (const [share, alpha] of [
      [1, 0.1],
      [0.72, 0.13],
      [0.46, 0.16],
    ] as const) {
      const position = { x: centre.x - side * reach * 0.5 * share, y: foot.y - 1 };
      fillEllipse(context, position, half * 1.05 + reach * 0.5 * share, 4 + high * 0.032 * share, css(dark, alpha));
    }
    fillEllipse(context, { x: centre.x, y: foot.y - 1 }, half * 1.02, 3 + high * 0.012, css(dark, 0.5));
  }
  context.drawImage(inLight(stage, canvas, side), foot.x - wide / 2, foot.y - high, wide, high);
  context.restore();
  if (isCutBelow || stage.isFlat) return;
  const colour = groundColour(stage, ground);
  if (ground === 'meadow' || ground === 'forest' || ground === 'lavender') {
    for (const share of [-0.85, -0.4, 0.1, 0.5, 0.9]) {
      const position = { x: centre.x + half * share, y: foot.y + 4 };
      drawTufts(stage, position, Math.min(60, 16 + half * 0.4), adjust(colour, -0.04));
    }
  } else if (ground === 'snow' || ground === 'sand') {
    // It sinks in a little.
    const random = stage.random.fork('drift');
    for (let drift = 0; drift < 9; drift++) {
      const position = { x: centre.x + half * random.between(-0.95, 0.95), y: foot.y + random.between(2, 6) };
      fillEllipse(
        context,
        position,
        half * random.between(0.1, 0.3),
        high * random.between(0.004, 0.012) + 1,
        css(colour, 0.9),
      );
    }
  }
}
