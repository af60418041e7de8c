/**
 * A cliff that comes in from one side and falls into the water: a wall of rock with turf on its brow, rocks at its
 * foot.
 */
import { adjust, css, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { fillBelow, fillEllipse, fillShape, strokeLine } from '../draw.ts';
import { createLineNoise, fractal } from '../noise.ts';
import { lightSide } from '../stage.ts';
import type { Point, Stage, Surface } from '../stage.ts';
import { groundColour } from './ground.ts';
import type { GroundKind } from './ground.ts';

/** The profile from the brow into the water, by eye: distance inland and height, as shares of reach and height. */
const PROFILE = [
  [0, 0],
  [0.02, 0.2],
  [0.05, 0.27],
  [0.07, 0.6],
  [0.105, 0.67],
  [0.125, 0.92],
  [0.19, 1],
  [0.6, 0.97],
  [1, 0.88],
] as const;
const BROW = 0.19;

function heightAt(inland: number): number {
  const next = PROFILE.findIndex(([position]) => position >= inland);
  const [after, before] = [PROFILE[next] ?? PROFILE[PROFILE.length - 1], PROFILE[next - 1] ?? PROFILE[0]];
  if (after === undefined || after === before) return after?.[1] ?? 0;
  const share = Math.min(1, (inland - before[0]) / (after[0] - before[0]));
  return before[1] + (after[1] - before[1]) * share;
}

/** @param tall its height as a fraction of the image's. */
export function makeCliff(stage: Stage, side: 1 | -1, tall: number): Surface {
  const { width, height, horizon } = stage;
  const noise = createLineNoise(stage.random.fork('cliff'));
  const reach = width * 0.5;
  const rise = Math.min(height * tall, horizon * 0.5, reach);
  const foot = horizon + 2;
  const edge = side === 1 ? width - reach : reach;
  const inlandAt = (x: number): number => (side === 1 ? x - edge : edge - x) / reach;
  return {
    form: 'cliff',
    depth: 0.2,
    scale: 0.56,
    left: side === 1 ? edge + reach * BROW : 0,
    right: side === 1 ? width : edge - reach * BROW,
    headroom: (foot - rise) * 0.92,
    yAt: (x) => {
      const inland = inlandAt(x);
      if (inland <= 0) return foot;
      const rough = fractal(noise, x / 46, 3) * 8 * Math.min(1, inland / BROW);
      return Math.min(foot, foot - rise * heightAt(inland) + rough);
    },
  };
}

/** The points of a cliff, in steps from one side to the other, without those at sea. */
function crestPointsOf(stage: Stage, surface: Surface, step: number): Point[] {
  const count = Math.ceil((stage.width + 8) / step);
  return Array.from({ length: count + 1 }, (_, index) => {
    const x = -4 + index * step;
    return { x, y: surface.yAt(x) };
  }).filter(({ y }) => y < stage.horizon - 1);
}

/** Draws a cliff down to the water. */
export function drawCliff(stage: Stage, surface: Surface, kind: GroundKind): void {
  const { context, palette, isFlat, width, horizon } = stage;
  const random = stage.random.fork('cliff face');
  const foot = horizon + 3;
  const haze = surface.depth * 0.5;
  const rock = mix(mix(palette.rock, palette.land, 0.3), palette.haze, haze);
  const turf = mix(groundColour(stage, kind), palette.haze, haze);
  const crestPoints = crestPointsOf(stage, surface, 3);
  const [first, last] = [crestPoints[0], crestPoints.at(-1)];
  if (first === undefined || last === undefined) return;
  const seaward = first.x > 0 ? -1 : 1;
  const isLit = lightSide(stage, (first.x + last.x) / 2) === seaward;
  const light = mix(rock, palette.rim, 0.42);
  const shade = mix(adjust(rock, palette.isDark ? -0.05 : -0.13), palette.land, 0.25);
  const top = Math.min(...crestPoints.map(({ y }) => y));
  const gradient = context.createLinearGradient(0, top, 0, foot);
  gradient.addColorStop(0, css(mix(rock, palette.rim, 0.14)));
  gradient.addColorStop(0.6, css(rock));
  gradient.addColorStop(1, css(shade));
  const area = { left: -4, right: width + 4, bottom: foot, step: 2 };
  fillBelow(context, (x) => surface.yAt(x), area, isFlat ? rock : gradient);
  drawFacets(stage, surface, { crestPoints, foot, light: isLit ? light : mix(light, rock, 0.5), shade });
  if (!isFlat) drawLedges(stage, surface, { top, foot, shade });
  drawTurf(stage, surface, crestPoints, turf);
  for (let stone = 0; stone < 9; stone++) {
    const edge = seaward === -1 ? first.x : last.x;
    const size = random.between(5, 17);
    const x = edge + seaward * (random.next() ** 1.6 * 58 - 12);
    fillShape(
      context,
      [
        { x: x - size, y: foot },
        { x: x - size * 0.6, y: foot - size * 0.7 },
        { x: x + size * 0.1, y: foot - size * random.between(0.8, 1.1) },
        { x: x + size * 0.75, y: foot - size * 0.5 },
        { x: x + size, y: foot },
      ],
      random.chance(0.5) ? mix(rock, shade, 0.5) : shade,
    );
  }
}

interface Face {
  readonly foot: number;
  readonly shade: Colour;
}

/** Buttresses from the brow to the water, each lighter on its side towards the sun. */
function drawFacets(
  stage: Stage,
  surface: Surface,
  { crestPoints, foot, light, shade }: Face & { readonly crestPoints: readonly Point[]; readonly light: Colour },
): void {
  const { context, isFlat } = stage;
  const random = stage.random.fork('buttresses');
  const [first, last] = [crestPoints[0], crestPoints.at(-1)];
  if (first === undefined || last === undefined) return;
  const lean = (x: number): number => (x < (first.x + last.x) / 2 ? -1 : 1);
  for (let x = first.x; x < last.x;) {
    const wide = random.between(16, 46);
    const [left, right] = [x, Math.min(last.x, x + wide)];
    const [top, other] = [surface.yAt(left), surface.yAt(right)];
    const middle = left + wide * random.between(0.35, 0.65);
    const down = random.between(0.62, 1);
    const low = Math.max(top, other) + (foot - Math.max(top, other)) * down;
    const slip = random.between(-6, 6) + lean(x) * 3;
    const isBright = random.chance(0.5);
    fillShape(
      context,
      [
        { x: left, y: top },
        { x: middle, y: surface.yAt(middle) },
        { x: middle + slip, y: (top + low) / 2 },
        { x: middle + slip * 0.4, y: low },
        { x: left + slip * 0.5, y: low - random.between(0, 14) },
      ],
      css(isBright ? light : shade, isFlat ? 0.4 : random.between(0.28, 0.6)),
    );
    if (!isFlat && random.chance(0.7)) {
      const crack = [
        { x: right, y: other + 6 },
        { x: right + slip * 0.7, y: other + (low - other) * 0.5 },
        { x: right + slip * 0.2, y: low },
      ];
      strokeLine(context, crack, random.between(0.8, 2), shade, 0.6);
    }
    x += wide;
  }
}

/** Layers of the rock, and the wet line at the water. */
function drawLedges(stage: Stage, surface: Surface, { top, foot, shade }: Face & { readonly top: number }): void {
  const { context, width } = stage;
  const random = stage.random.fork('ledges');
  const noise = createLineNoise(random);
  context.save();
  context.beginPath();
  context.moveTo(-4, foot);
  for (let x = -4; x <= width + 4; x += 4) context.lineTo(x, surface.yAt(x));
  context.lineTo(width + 4, foot);
  context.clip();
  for (let ledge = 1; ledge < 7; ledge++) {
    const y = top + ((foot - top) * ledge) / 7;
    for (let x = random.between(-60, 0); x < width; x += random.between(70, 190)) {
      const long = random.between(30, 110);
      const line = Array.from({ length: 6 }, (_, step) => {
        const position = x + (long * step) / 5;
        return { x: position, y: y + fractal(noise, position / 70 + ledge * 17, 2) * 9 };
      });
      strokeLine(context, line, random.between(0.8, 2.2), shade, 0.45);
    }
  }
  context.fillStyle = css(adjust(shade, -0.07), 0.55);
  context.fillRect(-4, foot - 6, width + 8, 8);
  context.restore();
}

/** Grass, sand or snow on the brow, hanging over it in tongues; only where it is not too steep. */
function drawTurf(stage: Stage, surface: Surface, crestPoints: readonly Point[], colour: Colour): void {
  const { context, palette, isFlat } = stage;
  const ragged = createLineNoise(stage.random.fork('turf'));
  const crest = crestPoints.filter(({ x }) => x >= surface.left - 14 && x <= surface.right + 14);
  const all = crestPoints.filter(({ x }) => x < 0 || x > stage.width);
  const upper = [...new Set([...crest, ...all])].toSorted((one, other) => one.x - other.x);
  const [first, last] = [upper[0], upper.at(-1)];
  if (first === undefined || last === undefined) return;
  const lower = upper.map(({ x, y }) => {
    const thin = Math.min(
      1,
      Math.min(Math.abs(x - first.x) + (first.x < 0 ? 40 : 0), Math.abs(last.x - x) + (last.x > stage.width ? 40 : 0)) /
        30,
    );
    return { x, y: y + (15 + fractal(ragged, x / 15, 3) * 13) * thin };
  });
  fillShape(context, [...upper, ...lower.toReversed()], isFlat ? colour : mix(colour, palette.rim, 0.1));
  if (isFlat) return;
  strokeLine(context, upper, 2.6, mix(colour, palette.rim, palette.isDark ? 0.25 : 0.45), 0.85);
}

/** White water where the sea breaks at the foot of a cliff; drawn on the water. */
export function drawSurf(stage: Stage, surface: Surface): void {
  const { context, palette, horizon } = stage;
  if (stage.isFlat) return;
  const random = stage.random.fork('surf');
  const crestPoints = crestPointsOf(stage, surface, 9);
  for (const { x } of crestPoints) {
    const at = { x: x + random.between(-14, 14), y: horizon + random.between(1, 5) };
    const foam = mix(palette.snow, palette.rim, 0.35);
    fillEllipse(context, at, random.between(6, 20), random.between(0.8, 1.9), css(foam, random.between(0.3, 0.65)));
  }
}
