/**
 * A head and shoulders from the front, in the plain style of a poster: simple shapes, light from the left. Drawn around
 * the middle of the face; its size is the height of the head.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { at, fillCurve, fillEllipse, fillShape, glow, outline, points, strokeLine } from '../draw.ts';
import type { Sitter } from '../portrait-reading.ts';
import type { Context, Point, Stage } from '../stage.ts';
import { drawBeard, drawHairBefore, drawHairBehind } from './face-hair.ts';
import { drawGlasses, drawHeadWear } from './face-wear.ts';
import { rounded } from './volumes.ts';

interface Tones {
  readonly skin: Colour;
  readonly shade: Colour;
  readonly light: Colour;
  readonly hair: Colour;
}

function drawBody(context: Context, sitter: Sitter, { skin, shade }: Tones): void {
  const { clothes } = sitter;
  fillCurve(
    context,
    outline('-0.17,0.3 -0.18,0.52 -0.3,0.66 0,0.84 0.3,0.66 0.18,0.52 0.17,0.3'),
    rounded(context, -0.2, 0.2, shade),
  );
  fillCurve(
    context,
    outline(
      '-0.2,0.6 -0.6,0.72 -0.92,0.94 -1,1.3 -1.04,1.8 1.04,1.8 1,1.3 0.92,0.94 0.6,0.72 0.2,0.6 0.12,0.8 0,0.86 -0.12,0.8',
    ),
    rounded(context, -1.02, 1.02, clothes),
  );
  if (sitter.isWoman)
    fillCurve(context, outline('-0.22,0.58 -0.3,0.66 -0.16,0.84 0,0.92 0.16,0.84 0.3,0.66 0.22,0.58 0,0.74'), skin);
  else {
    fillShape(context, outline('-0.2,0.58 -0.3,0.66 -0.1,0.98 0,0.8'), mix(clothes, hex('#ffffff'), 0.55));
    fillShape(context, outline('0.2,0.58 0.3,0.66 0.1,0.98 0,0.8'), mix(clothes, hex('#ffffff'), 0.4));
  }
  for (const side of [-1, 1])
    strokeLine(
      context,
      points(side * 0.7, 1.04, side * 0.62, 1.4, side * 0.66, 1.8),
      0.016,
      adjust(clothes, -0.12),
      0.7,
    );
}

function drawHead(context: Context, sitter: Sitter, { skin, shade, light }: Tones): void {
  for (const side of [-1, 1]) {
    fillEllipse(context, { x: side * 0.385, y: 0.02 }, 0.06, 0.105, side === -1 ? skin : shade);
    if (sitter.hasEarrings) fillEllipse(context, { x: side * 0.4, y: 0.15 }, 0.026, 0.036, hex('#e8c45a'));
  }
  const jaw = sitter.isChild ? 0.33 : sitter.isWoman ? 0.29 : 0.34;
  const form = `0,-0.54 -0.3,-0.48 -0.385,-0.2 -0.37,0.08 -${jaw},0.28 -0.17,0.43 0,0.48 0.17,0.43 ${jaw},0.28 0.37,0.08 0.385,-0.2 0.3,-0.48`;
  fillCurve(context, outline(form), rounded(context, -0.42, 0.42, skin));
  context.save();
  context.beginPath();
  context.ellipse(0, -0.03, 0.375, 0.5, 0, 0, Math.PI * 2);
  context.clip();
  // The far cheek and the side of the nose lie in shadow.
  fillCurve(context, outline('0.1,-0.5 0.16,-0.1 0.12,0.12 0.2,0.3 0.12,0.5 0.5,0.5 0.5,-0.5'), css(shade, 0.5));
  glow(context, { x: -0.18, y: -0.3 }, 0.34, light, 0.42);
  for (const side of [-1, 1])
    glow(context, { x: side * 0.22, y: 0.14 }, 0.15, mix(skin, hex('#e0604c'), 0.6), sitter.isChild ? 0.5 : 0.32);
  context.restore();
  if (sitter.isOld) {
    for (const y of [-0.37, -0.32, -0.27])
      strokeLine(context, points(-0.2, y, 0, y - 0.015, 0.2, y), 0.007, shade, 0.75);
    for (const side of [-1, 1]) {
      strokeLine(context, points(side * 0.12, 0.12, side * 0.185, 0.2, side * 0.17, 0.28), 0.01, shade, 0.85);
      strokeLine(context, points(side * 0.1, 0.055, side * 0.16, 0.075, side * 0.22, 0.05), 0.007, shade, 0.8);
    }
  }
}

function drawFeatures(context: Context, sitter: Sitter, { skin, shade, hair, light }: Tones): void {
  const dark = hex('#2a1b18');
  const big = sitter.isChild ? 1.2 : 1;
  for (const side of [-1, 1]) {
    const x = side * 0.162;
    fillEllipse(context, { x, y: -0.045 }, 0.105 * big, 0.075, css(shade, 0.3));
    fillCurve(
      context,
      points(
        x - 0.088 * big,
        -0.03,
        x - 0.03,
        -0.078 * big,
        x + 0.03,
        -0.078 * big,
        x + 0.088 * big,
        -0.028,
        x + 0.03,
        0.012,
        x - 0.03,
        0.012,
      ),
      hex('#f7f3ee'),
    );
    fillEllipse(context, { x: x + 0.006, y: -0.034 }, 0.039 * big, 0.041 * big, sitter.eyes);
    fillEllipse(context, { x: x + 0.006, y: -0.034 }, 0.021 * big, 0.022 * big, dark);
    fillEllipse(context, { x: x - 0.009, y: -0.048 }, 0.011 * big, 0.011 * big, hex('#ffffff'));
    strokeLine(
      context,
      points(x - 0.092 * big, -0.022, x - 0.04, -0.074 * big, x + 0.03, -0.08 * big, x + 0.094 * big, -0.03),
      sitter.isWoman ? 0.019 : 0.012,
      dark,
    );
    const lift = sitter.mood < 0 ? side * 0.012 : 0;
    strokeLine(
      context,
      points(x - 0.1, -0.135 + (side === -1 ? -0 : 0.0) + lift, x - 0.01, -0.168, x + 0.1, -0.135 - lift),
      sitter.isWoman ? 0.022 : 0.034,
      mix(hair, dark, 0.45),
    );
  }
  strokeLine(context, outline('0.02,-0.06 0.05,0.06 0.065,0.125 0.02,0.15'), 0.016, shade, 0.9);
  strokeLine(context, outline('-0.03,-0.1 -0.022,0.08'), 0.026, light, 0.5);
  fillEllipse(context, { x: -0.005, y: 0.128 }, 0.052, 0.034, css(mix(skin, hex('#e58a70'), 0.3), 0.8));
  for (const side of [-1, 1]) fillEllipse(context, { x: side * 0.034, y: 0.146 }, 0.013, 0.008, css(dark, 0.55));
  const bend = 0.02 + sitter.mood * 0.035;
  const wide = 0.115 + sitter.mood * 0.025;
  if (sitter.mood > 0.8) {
    fillCurve(
      context,
      points(-wide, 0.235, -0.05, 0.232, 0.05, 0.232, wide, 0.235, 0.05, 0.235 + bend * 1.9, -0.05, 0.235 + bend * 1.9),
      hex('#fbf6f0'),
    );
    strokeLine(
      context,
      points(-wide - 0.015, 0.222, -0.05, 0.24, 0, 0.244, 0.05, 0.24, wide + 0.015, 0.222),
      0.018,
      sitter.lips,
    );
    strokeLine(
      context,
      points(-wide + 0.02, 0.262, -0.04, 0.236 + bend * 1.9, 0.04, 0.236 + bend * 1.9, wide - 0.02, 0.262),
      0.026,
      sitter.lips,
    );
  } else {
    fillCurve(
      context,
      points(
        -wide,
        0.245 - bend * 0.6,
        -0.04,
        0.222,
        0,
        0.232,
        0.04,
        0.222,
        wide,
        0.245 - bend * 0.6,
        0.04,
        0.25,
        -0.04,
        0.25,
      ),
      adjust(sitter.lips, -0.04),
    );
    fillCurve(
      context,
      points(
        -wide,
        0.245 - bend * 0.6,
        -0.04,
        0.248,
        0.04,
        0.248,
        wide,
        0.245 - bend * 0.6,
        0.05,
        0.285 + bend * 0.4,
        -0.05,
        0.285 + bend * 0.4,
      ),
      sitter.lips,
    );
    strokeLine(
      context,
      points(-wide - 0.01, 0.242 - bend, -0.04, 0.25, 0.04, 0.25, wide + 0.01, 0.242 - bend),
      0.009,
      mix(sitter.lips, dark, 0.6),
    );
    fillEllipse(context, { x: -0.025, y: 0.268 }, 0.03, 0.008, css(hex('#ffffff'), 0.3));
  }
  if (sitter.hasFreckles) {
    for (let index = 0; index < 22; index++) {
      const side = index % 2 === 0 ? -1 : 1;
      const [x, y] = [side * (0.07 + ((index * 37) % 17) * 0.011), 0.05 + ((index * 53) % 13) * 0.009];
      fillEllipse(context, { x, y }, 0.008, 0.008, css(mix(skin, hex('#8a4a2a'), 0.6), 0.65));
    }
  }
}

/** Draws a sitter; the light of the scene tints everything. */
export function drawSitter(stage: Stage, centre: Point, size: number, sitter: Sitter): void {
  const warm = mix(stage.palette.light, hex('#ffffff'), 0.72);
  const under = (colour: Colour): Colour => [
    (colour[0] * warm[0]) / 255,
    (colour[1] * warm[1]) / 255,
    (colour[2] * warm[2]) / 255,
  ];
  const skin = under(sitter.skin);
  const tones: Tones = {
    skin,
    shade: mix(adjust(skin, -0.14, 1.1), stage.palette.sky[1], 0.12),
    light: mix(skin, hex('#fff4e2'), 0.55),
    hair: under(sitter.hair),
  };
  const { context } = stage;
  at(context, centre, size, 1, () => {
    const isCovered = sitter.headWear === 'hood' || sitter.headWear === 'helmet';
    drawHairBehind(context, sitter, tones.hair);
    drawBody(context, sitter, tones);
    fillEllipse(context, { x: 0.03, y: 0.46 }, 0.2, 0.09, css(tones.shade, 0.7));
    drawHead(context, sitter, tones);
    drawFeatures(context, sitter, tones);
    drawBeard(context, sitter, tones.hair);
    if (sitter.headWear !== 'hood') drawHairBefore(context, sitter, tones.hair);
    if (sitter.hasGlasses) drawGlasses(context);
    drawHeadWear(context, sitter);
    if (!isCovered) strokeLine(context, outline('-0.37,-0.3 -0.385,-0.05 -0.34,0.22'), 0.014, stage.palette.rim, 0.4);
  });
}
