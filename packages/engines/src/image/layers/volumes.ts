/**
 * Round things close by: balls, cylinders and shadows with light from one side, and the table's own light.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { fillEllipse } from '../draw.ts';
import type { Gradient } from '../draw.ts';
import type { Context, Point } from '../stage.ts';

/** Across a round thing: lit on one side, dark before the far edge, a little reflected light at it. */
export function rounded(context: Context, left: number, right: number, colour: Colour, side: 1 | -1 = -1): Gradient {
  const [from, to] = side === -1 ? [left, right] : [right, left];
  const gradient = context.createLinearGradient(from, 0, to, 0);
  gradient.addColorStop(0, css(adjust(colour, -0.03)));
  gradient.addColorStop(0.2, css(mix(adjust(colour, 0.07), hex('#fff6e4'), 0.18)));
  gradient.addColorStop(0.45, css(colour));
  gradient.addColorStop(0.84, css(adjust(colour, -0.17, 1.05)));
  gradient.addColorStop(1, css(adjust(colour, -0.1)));
  return gradient;
}

/** The colours of a ball whose light comes from above on one side. */
export function globe(context: Context, centre: Point, radius: number, colour: Colour, side: 1 | -1 = -1): Gradient {
  const [x, y] = [centre.x + side * radius * 0.36, centre.y - radius * 0.42];
  const gradient = context.createRadialGradient(x, y, radius * 0.04, centre.x, centre.y, radius * 1.06);
  gradient.addColorStop(0, css(mix(adjust(colour, 0.12), hex('#fffaf0'), 0.5)));
  gradient.addColorStop(0.16, css(adjust(colour, 0.07, 1.04)));
  gradient.addColorStop(0.55, css(colour));
  gradient.addColorStop(0.88, css(adjust(colour, -0.18, 1.05)));
  gradient.addColorStop(1, css(adjust(colour, -0.12)));
  return gradient;
}

/** A ball with its shine. */
export function drawBall(context: Context, centre: Point, radius: number, colour: Colour, side: 1 | -1 = -1): void {
  fillEllipse(context, centre, radius, radius, globe(context, centre, radius, colour, side));
  fillEllipse(
    context,
    { x: centre.x + side * radius * 0.4, y: centre.y - radius * 0.48 },
    radius * 0.16,
    radius * 0.09,
    css(hex('#ffffff'), 0.55),
    side * 0.6,
  );
}

/** The shadow of a thing on its ground: dark below it, long away from the light. */
export function drawContact(context: Context, foot: Point, half: number, side: 1 | -1 = -1): void {
  for (const [shift, reach, alpha] of [
    [0, 1, 0.34],
    [0.55, 1.5, 0.2],
    [1.2, 2.1, 0.1],
  ] as const) {
    context.save();
    context.translate(foot.x - side * half * shift, foot.y);
    context.scale(1, 0.17);
    const soft = context.createRadialGradient(0, 0, half * reach * 0.25, 0, 0, half * reach);
    soft.addColorStop(0, css(hex('#1d120c'), alpha));
    soft.addColorStop(1, css(hex('#1d120c'), 0));
    context.fillStyle = soft;
    context.fillRect(-half * reach, -half * reach, half * reach * 2, half * reach * 2);
    context.restore();
  }
}
