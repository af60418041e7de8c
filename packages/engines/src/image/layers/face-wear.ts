/**
 * Headwear and glasses of a sitter, around the middle of the face in `face.ts`.
 */
import { adjust, css, hex } from '../colour.ts';
import { fillBox, fillCurve, fillEllipse, fillShape, outline, points, strokeLine } from '../draw.ts';
import type { Sitter } from '../portrait-reading.ts';
import type { Context } from '../stage.ts';
import { rounded } from './volumes.ts';

/** What the sitter wears on the head: from a hat to the helmet of an astronaut. */
export function drawHeadWear(context: Context, sitter: Sitter): void {
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

/** A pair of glasses. */
export function drawGlasses(context: Context): void {
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
