/**
 * The hair and the beard of a sitter, around the middle of the face in `face.ts`: the part behind the head is drawn
 * before it, the rest over it.
 */
import { adjust, css, hex } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { fillCurve, fillEllipse, outline, points, strokeLine } from '../draw.ts';
import type { Sitter } from '../portrait-reading.ts';
import type { Context } from '../stage.ts';

/** The hair that falls behind the head and the shoulders. */
export function drawHairBehind(context: Context, sitter: Sitter, hair: Colour): void {
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

/** The beard, down to stubble. */
export function drawBeard(context: Context, sitter: Sitter, hair: Colour): void {
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

/** The hair on the forehead and at the temples, or the shine of a bald head. */
export function drawHairBefore(context: Context, sitter: Sitter, hair: Colour): void {
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
