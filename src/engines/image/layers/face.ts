/**
 * A head and shoulders from the front, as a painter of posters would see them: plain forms, light from the left. Drawn
 * round the middle of the face; its size is the height of the head.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { at, fillBox, fillCurve, fillEllipse, fillShape, glow, outline, points, strokeLine } from '../draw.ts';
import type { Sitter } from '../portrait-reading.ts';
import type { Context, Point, Stage } from '../stage.ts';
import { rounded } from './volumes.ts';

interface Tones {
  readonly skin: Colour;
  readonly shade: Colour;
  readonly light: Colour;
  readonly hair: Colour;
}

function drawHairBehind(context: Context, sitter: Sitter, { hair }: Tones): void {
  const dark = adjust(hair, -0.07);
  switch (sitter.hairForm) {
    case 'long':
      fillCurve(
        context,
        outline(
          '-0.1,-0.66 -0.46,-0.5 -0.5,0 -0.58,0.44 -0.52,0.8 -0.2,0.86 0.2,0.86 0.52,0.8 0.58,0.44 0.5,0 0.46,-0.5 0.1,-0.66',
        ),
        dark,
      );
      for (const side of [-1, 1])
        for (let strand = 0; strand < 5; strand++)
          strokeLine(
            context,
            points(
              side * (0.36 + strand * 0.03),
              -0.3,
              side * (0.42 + strand * 0.03),
              0.2,
              side * (0.36 + strand * 0.045),
              0.76,
            ),
            0.012,
            adjust(hair, 0.05),
            0.5,
          );
      return;
    case 'bob':
      fillCurve(
        context,
        outline('-0.1,-0.66 -0.46,-0.5 -0.52,0 -0.5,0.34 -0.36,0.42 0.36,0.42 0.5,0.34 0.52,0 0.46,-0.5 0.1,-0.66'),
        dark,
      );
      return;
    case 'curly':
      for (let curl = 0; curl < 26; curl++) {
        const angle = Math.PI * (0.86 + (1.28 * curl) / 25);
        fillEllipse(
          context,
          { x: Math.cos(angle) * 0.46, y: -0.14 + Math.sin(angle) * 0.46 },
          0.15,
          0.15,
          curl % 3 === 0 ? adjust(hair, 0.03) : dark,
        );
      }
      return;
    case 'bun':
      fillEllipse(context, { x: 0.04, y: -0.7 }, 0.2, 0.17, dark);
      fillEllipse(context, { x: -0.02, y: -0.73 }, 0.1, 0.07, css(adjust(hair, 0.07), 0.6));
      return;
    case 'braids':
      for (const side of [-1, 1])
        for (let knot = 0; knot < 8; knot++)
          fillEllipse(
            context,
            { x: side * (0.42 + Math.sin(knot) * 0.012), y: 0.12 + knot * 0.1 },
            0.085 - knot * 0.003,
            0.068,
            knot % 2 === 0 ? dark : hair,
          );
      return;
    default:
  }
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

function drawBeard(context: Context, sitter: Sitter, { hair }: Tones): void {
  if (sitter.beard === 'stubble') {
    fillCurve(
      context,
      outline('-0.33,0.1 -0.3,0.3 -0.16,0.45 0,0.49 0.16,0.45 0.3,0.3 0.33,0.1 0.2,0.2 0,0.19 -0.2,0.2'),
      css(hair, 0.2),
    );
  }
  if (sitter.beard === 'beard') {
    fillCurve(
      context,
      outline(
        '-0.375,0 -0.37,0.3 -0.25,0.55 -0.1,0.74 0,0.8 0.1,0.74 0.25,0.55 0.37,0.3 0.375,0 0.28,0.14 0.15,0.19 0.14,0.3 0,0.34 -0.14,0.3 -0.15,0.19 -0.28,0.14',
      ),
      hair,
    );
    for (let strand = -4; strand <= 4; strand++)
      strokeLine(
        context,
        points(strand * 0.055, 0.36, strand * 0.045, 0.55, strand * 0.024, 0.72),
        0.011,
        adjust(hair, strand % 2 === 0 ? 0.08 : -0.06),
        0.6,
      );
  }
  if (sitter.beard === 'beard' || sitter.beard === 'moustache')
    fillCurve(
      context,
      outline(
        '0,0.175 -0.08,0.165 -0.19,0.235 -0.235,0.215 -0.15,0.27 0,0.226 0.15,0.27 0.235,0.215 0.19,0.235 0.08,0.165',
      ),
      adjust(hair, 0.03),
    );
}

function drawHairBefore(context: Context, sitter: Sitter, { hair }: Tones): void {
  const lightHair = adjust(hair, 0.06);
  switch (sitter.hairForm) {
    case 'bald':
      fillEllipse(context, { x: -0.13, y: -0.42 }, 0.11, 0.05, css(hex('#ffffff'), 0.22), -0.4);
      for (const side of [-1, 1])
        fillCurve(
          context,
          points(side * 0.4, -0.1, side * 0.41, -0.28, side * 0.34, -0.36, side * 0.35, -0.14),
          css(hair, 0.75),
        );
      return;
    case 'curly':
      for (let curl = 0; curl < 15; curl++) {
        const angle = Math.PI * (1.02 + (0.96 * curl) / 14);
        fillEllipse(
          context,
          { x: Math.cos(angle) * 0.34, y: -0.2 + Math.sin(angle) * 0.35 },
          0.125,
          0.115,
          curl % 2 === 0 ? hair : lightHair,
        );
      }
      return;
    case 'short':
      fillCurve(
        context,
        outline(
          '-0.4,-0.08 -0.45,-0.4 -0.3,-0.62 0.02,-0.68 0.32,-0.6 0.45,-0.38 0.4,-0.08 0.35,-0.26 0.2,-0.4 -0.06,-0.36 -0.3,-0.4 -0.36,-0.26',
        ),
        hair,
      );
      for (let strand = 0; strand < 6; strand++)
        strokeLine(
          context,
          points(-0.24 + strand * 0.09, -0.4, -0.2 + strand * 0.09, -0.52, -0.1 + strand * 0.08, -0.61),
          0.013,
          lightHair,
          0.55,
        );
      return;
    default:
      fillCurve(
        context,
        outline(
          '0.06,-0.6 -0.22,-0.66 -0.43,-0.46 -0.45,-0.06 -0.38,0.1 -0.37,-0.16 -0.24,-0.36 0.04,-0.5 0.26,-0.34 0.37,-0.14 0.38,0.1 0.45,-0.06 0.43,-0.46 0.26,-0.64',
        ),
        hair,
      );
      for (let strand = 0; strand < 4; strand++)
        strokeLine(
          context,
          points(0.03 - strand * 0.05, -0.56, -0.2 - strand * 0.04, -0.46 + strand * 0.02, -0.35, -0.2 + strand * 0.05),
          0.012,
          lightHair,
          0.6,
        );
  }
}

function drawHeadWear(context: Context, sitter: Sitter): void {
  const cloth = sitter.clothes;
  switch (sitter.headWear) {
    case 'hat':
      fillEllipse(context, { x: 0, y: -0.4 }, 0.72, 0.1, hex('#a57c48'));
      fillCurve(
        context,
        outline('-0.38,-0.42 -0.34,-0.74 -0.16,-0.86 0.16,-0.86 0.34,-0.74 0.38,-0.42 0,-0.36'),
        rounded(context, -0.38, 0.38, hex('#c79a5c')),
      );
      fillCurve(context, outline('-0.385,-0.42 -0.37,-0.52 0,-0.47 0.37,-0.52 0.385,-0.42 0,-0.365'), hex('#5a3a2a'));
      return;
    case 'cap':
    case 'beret':
      fillCurve(
        context,
        outline('-0.44,-0.38 -0.42,-0.62 -0.14,-0.78 0.24,-0.76 0.48,-0.56 0.42,-0.38 0,-0.46'),
        rounded(context, -0.45, 0.48, adjust(cloth, -0.03)),
      );
      if (sitter.headWear === 'cap')
        fillCurve(
          context,
          outline('-0.5,-0.36 -0.2,-0.44 0.2,-0.44 0.5,-0.36 0.2,-0.33 -0.2,-0.33'),
          adjust(cloth, -0.12),
        );
      return;
    case 'crown':
      fillShape(
        context,
        outline('-0.36,-0.46 -0.42,-0.8 -0.22,-0.62 0,-0.9 0.22,-0.62 0.42,-0.8 0.36,-0.46'),
        rounded(context, -0.4, 0.4, hex('#e6b93c')),
      );
      fillBox(context, -0.365, -0.51, 0.73, 0.09, rounded(context, -0.37, 0.37, hex('#c9922a')));
      for (const [x, tone] of [
        [-0.2, '#b0303c'],
        [0, '#2f6fd0'],
        [0.2, '#b0303c'],
      ] as const)
        fillEllipse(context, { x, y: -0.465 }, 0.034, 0.034, hex(tone));
      for (const x of [-0.42, 0, 0.42])
        fillEllipse(context, { x, y: x === 0 ? -0.9 : -0.8 }, 0.036, 0.036, hex('#f6e3a0'));
      return;
    case 'hood':
      context.beginPath();
      fillCurve(
        context,
        outline(
          '0,-0.82 -0.42,-0.68 -0.58,-0.2 -0.6,0.4 -0.8,0.8 -0.36,0.74 -0.4,0.2 -0.41,-0.2 -0.28,-0.5 0,-0.58 0.28,-0.5 0.41,-0.2 0.4,0.2 0.36,0.74 0.8,0.8 0.6,0.4 0.58,-0.2 0.42,-0.68',
        ),
        rounded(context, -0.62, 0.62, adjust(cloth, -0.05)),
      );
      return;
    case 'helmet':
      fillEllipse(context, { x: 0, y: -0.04 }, 0.64, 0.68, css(hex('#dfe9f2'), 0.16));
      context.lineWidth = 0.06;
      context.strokeStyle = css(hex('#f1f0ec'));
      context.beginPath();
      context.ellipse(0, -0.04, 0.66, 0.7, 0, 0, Math.PI * 2);
      context.stroke();
      fillEllipse(context, { x: -0.32, y: -0.42 }, 0.16, 0.07, css(hex('#ffffff'), 0.5), -0.7);
      return;
    case 'none':
  }
}

function drawGlasses(context: Context): void {
  for (const side of [-1, 1]) {
    context.beginPath();
    context.ellipse(side * 0.165, -0.035, 0.125, 0.1, 0, 0, Math.PI * 2);
    context.fillStyle = css(hex('#dff0f6'), 0.18);
    context.fill();
    context.lineWidth = 0.018;
    context.strokeStyle = css(hex('#2a2326'));
    context.stroke();
    strokeLine(context, points(side * 0.29, -0.045, side * 0.385, -0.06), 0.015, hex('#2a2326'));
    strokeLine(context, points(side * 0.165 - 0.06, -0.08, side * 0.165 - 0.02, -0.1), 0.012, hex('#ffffff'), 0.6);
  }
  strokeLine(context, outline('-0.042,-0.05 0,-0.065 0.042,-0.05'), 0.016, hex('#2a2326'));
}

/** Draws a sitter; the light of the scene tints all of it. */
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
    drawHairBehind(context, sitter, tones);
    drawBody(context, sitter, tones);
    fillEllipse(context, { x: 0.03, y: 0.46 }, 0.2, 0.09, css(tones.shade, 0.7));
    drawHead(context, sitter, tones);
    drawFeatures(context, sitter, tones);
    drawBeard(context, sitter, tones);
    if (sitter.headWear !== 'hood') drawHairBefore(context, sitter, tones);
    if (sitter.hasGlasses) drawGlasses(context);
    drawHeadWear(context, sitter);
    if (!isCovered) strokeLine(context, outline('-0.37,-0.3 -0.385,-0.05 -0.34,0.22'), 0.014, stage.palette.rim, 0.4);
  });
}
