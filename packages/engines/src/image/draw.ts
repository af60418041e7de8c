/**
 * The few strokes that all layers are made of, over the canvas's own path calls.
 */
import { css } from './colour.ts';
import type { Colour } from './colour.ts';
import type { Context, Point } from './stage.ts';

export type Gradient = ReturnType<Context['createLinearGradient']>;
export type Fill = Colour | string | Gradient;

function isColour(fill: Fill): fill is Colour {
  return Array.isArray(fill);
}

function setFill(context: Context, fill: Fill): void {
  context.fillStyle = isColour(fill) ? css(fill) : fill;
}

/** Fills a polygon. */
export function fillShape(context: Context, corners: Iterable<Point>, fill: Fill): void {
  context.beginPath();
  for (const { x, y } of corners) context.lineTo(x, y);
  context.closePath();
  setFill(context, fill);
  context.fill();
}

/** Points from a flat list of coordinates: x, y, x, y, … */
export function points(...coordinates: readonly number[]): Point[] {
  return Array.from({ length: coordinates.length / 2 }, (_, index) => ({
    x: coordinates[index * 2] ?? 0,
    y: coordinates[index * 2 + 1] ?? 0,
  }));
}

/** Points from a text of pairs, as in an SVG polygon: `x,y x,y`. For shapes of many points, drawn by eye. */
export function outline(pairs: string): Point[] {
  return pairs.split(' ').map((pair) => {
    const [x, y] = pair.split(',').map(Number);
    return { x: x ?? 0, y: y ?? 0 };
  });
}

/** The same in a frame of its own: moved to an origin, stretched in both directions. */
export function placed(pairs: string, origin: Point, wide: number, tall: number): Point[] {
  return outline(pairs).map(({ x, y }) => ({ x: origin.x + x * wide, y: origin.y + y * tall }));
}

/** Fills a closed curve that runs smoothly past its points. */
export function fillCurve(context: Context, guides: readonly Point[], fill: Fill): void {
  const count = guides.length;
  const pointAt = (index: number): Point => guides[(index + count) % count] ?? { x: 0, y: 0 };
  context.beginPath();
  const first = pointAt(0);
  const last = pointAt(-1);
  context.moveTo((first.x + last.x) / 2, (first.y + last.y) / 2);
  for (let index = 0; index < count; index++) {
    const [here, next] = [pointAt(index), pointAt(index + 1)];
    context.quadraticCurveTo(here.x, here.y, (here.x + next.x) / 2, (here.y + next.y) / 2);
  }
  context.closePath();
  setFill(context, fill);
  context.fill();
}

/** Fills the ground below a curve, down to a line. */
export function fillBelow(
  context: Context,
  yAt: (x: number) => number,
  area: { readonly left: number; readonly right: number; readonly bottom: number; readonly step?: number },
  fill: Fill,
): void {
  const { left, right, bottom, step = 4 } = area;
  context.beginPath();
  context.moveTo(left, bottom);
  for (let x = left; x < right; x += step) context.lineTo(x, yAt(x));
  context.lineTo(right, yAt(right));
  context.lineTo(right, bottom);
  context.closePath();
  setFill(context, fill);
  context.fill();
}

/** Fills an ellipse, turned by an angle in radians. */
export function fillEllipse(
  context: Context,
  centre: Point,
  radiusX: number,
  radiusY: number,
  fill: Fill,
  turn = 0,
): void {
  context.beginPath();
  context.ellipse(centre.x, centre.y, Math.abs(radiusX), Math.abs(radiusY), turn, 0, Math.PI * 2);
  setFill(context, fill);
  context.fill();
}

/** Fills an upright rectangle. */
export function fillBox(context: Context, x: number, y: number, width: number, height: number, fill: Fill): void {
  setFill(context, fill);
  context.fillRect(x, y, width, height);
}

/** Draws a line through points with round ends. */
export function strokeLine(context: Context, line: Iterable<Point>, width: number, colour: Colour, alpha = 1): void {
  context.beginPath();
  for (const { x, y } of line) context.lineTo(x, y);
  context.lineWidth = width;
  context.lineCap = 'round';
  context.lineJoin = 'round';
  context.strokeStyle = css(colour, alpha);
  context.stroke();
}

/** A gradient from top to bottom, stops evenly spaced. */
export function downwards(context: Context, top: number, bottom: number, ...stops: readonly string[]): Gradient {
  const gradient = context.createLinearGradient(0, top, 0, bottom);
  for (const [index, stop] of stops.entries()) gradient.addColorStop(index / Math.max(1, stops.length - 1), stop);
  return gradient;
}

/** How a glow falls off: smoothly enough that no ring is visible. */
const FALL = [
  [0, 1],
  [0.12, 0.77],
  [0.25, 0.54],
  [0.4, 0.32],
  [0.6, 0.13],
  [0.8, 0.032],
  [1, 0],
] as const;

/** A soft round glow that ends in nothing at its rim. */
export function glow(context: Context, centre: Point, radius: number, colour: Colour, alpha: number): void {
  const gradient = context.createRadialGradient(centre.x, centre.y, 0, centre.x, centre.y, radius);
  for (const [position, share] of FALL) gradient.addColorStop(position, css(colour, alpha * share));
  context.fillStyle = gradient;
  context.fillRect(centre.x - radius, centre.y - radius, radius * 2, radius * 2);
}

/** Draws in a coordinate system with its origin at `position` and `size` as its unit; x is reversed for `-1`. */
export function at(context: Context, position: Point, size: number, facing: 1 | -1, draw: () => void): void {
  context.save();
  context.translate(position.x, position.y);
  context.scale(size * facing, size);
  draw();
  context.restore();
}
