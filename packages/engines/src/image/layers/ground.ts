/**
 * The ground between the horizon and the viewer: bands of meadow, snow, sand or forest floor to stand on, the bank in
 * front of water, a headland at its side, roads and rivers.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { fillBelow, fillEllipse, fillShape, strokeLine } from '../draw.ts';
import { createLineNoise, fractal } from '../noise.ts';
import type { Point, Stage, Surface } from '../stage.ts';

export type GroundKind = 'meadow' | 'sand' | 'snow' | 'forest' | 'lavender' | 'moon' | 'street';

/** The colour of a ground close by. */
export function groundColour(stage: Stage, kind: GroundKind): Colour {
  const { palette } = stage;
  switch (kind) {
    case 'sand':
      return palette.sand;
    case 'snow':
      return palette.snow;
    case 'forest':
      return mix(palette.foliage, palette.land, 0.55);
    case 'moon':
      return mix(palette.rock, hex('#a9a7b4'), 0.25);
    case 'street':
      return mix(palette.land, hex('#3d4048'), 0.5);
    default:
      return palette.grass;
  }
}

/** A curve across the image as a surface; `drawSurface` draws its material. */
export function makeSurface(
  stage: Stage,
  name: string,
  options: { y: number; swing: number; depth: number; scale: number },
): Surface {
  const noise = createLineNoise(stage.random.fork(`surface ${name}`));
  const { y, swing, depth, scale } = options;
  return { depth, scale, left: 0, right: stage.width, yAt: (x) => y + fractal(noise, x / 420, 2, 0.3) * swing };
}

/** A bank that rises towards one side, in front of water. */
export function makeBank(stage: Stage, side: 1 | -1, y: number): Surface {
  const noise = createLineNoise(stage.random.fork('bank'));
  const { width, height } = stage;
  const rise = height * 0.075;
  return {
    depth: 0,
    scale: 1,
    left: side === 1 ? width * 0.32 : 0,
    right: side === 1 ? width : width * 0.68,
    yAt: (x) => {
      const share = side === 1 ? x / width : 1 - x / width;
      return y + rise * 0.55 - rise * 1.5 * share ** 1.2 + fractal(noise, x / 210, 3) * 9;
    },
  };
}

/** A headland that comes in from one side and stands in the water. */
export function makeHeadland(stage: Stage, side: 1 | -1, size: number): Surface {
  const { width, height, horizon } = stage;
  const noise = createLineNoise(stage.random.fork('headland'));
  const reach = width * 0.44 * size;
  const tall = height * 0.13 * size;
  const edge = side === 1 ? width - reach : reach;
  const foot = horizon + 2;
  return {
    depth: 0.24,
    scale: 0.56,
    left: side === 1 ? edge + reach * 0.22 : 0,
    right: side === 1 ? width : edge - reach * 0.22,
    yAt: (x) => {
      const inland = (side === 1 ? x - edge : edge - x) / reach;
      if (inland <= 0) return foot;
      const slope = Math.min(1, inland / 0.2) ** 0.7;
      return Math.min(
        foot,
        foot - tall * slope * (0.62 + 0.38 * Math.min(1, inland * 1.3)) + fractal(noise, x / 60, 3) * 9 * slope,
      );
    },
  };
}

/** Fills a surface down to the bottom, lit on its brow, with marks of its material. */
export function drawSurface(stage: Stage, surface: Surface, kind: GroundKind, bottom = stage.height + 4): void {
  const { context, palette, isFlat, width } = stage;
  const random = stage.random.fork(`ground ${surface.depth}`);
  const body = mix(groundColour(stage, kind), palette.haze, surface.depth * 0.72);
  const middle = surface.yAt(width / 2);
  const gradient = context.createLinearGradient(0, middle - 20, 0, Math.min(bottom, middle + 230 * surface.scale + 60));
  gradient.addColorStop(0, css(mix(body, palette.rim, palette.isDark ? 0.12 : 0.28)));
  gradient.addColorStop(0.3, css(body));
  gradient.addColorStop(1, css(mix(adjust(body, palette.isDark ? -0.06 : -0.1), palette.land, 0.2)));
  fillBelow(context, (x) => surface.yAt(x), { left: -4, right: width + 4, bottom }, isFlat ? body : gradient);
  if (isFlat) return;
  if (kind === 'lavender') drawRows(stage, surface, bottom);
  if (kind === 'snow' || kind === 'sand' || kind === 'moon') {
    for (let index = 0; index < 26; index++) {
      const x = random.between(0, width);
      const y = surface.yAt(x) + random.next() ** 1.3 * (bottom - surface.yAt(x));
      const tone = random.chance(0.5) ? mix(body, palette.rim, 0.5) : mix(body, palette.sky[0], 0.25);
      fillEllipse(
        context,
        { x, y },
        random.between(30, 120) * surface.scale,
        random.between(1.5, 5) * surface.scale,
        css(tone, 0.35),
      );
      if (kind === 'moon' && random.chance(0.5))
        drawCrater(stage, { x, y }, random.between(10, 42) * surface.scale, body);
    }
    return;
  }
  // Tufts and flecks, denser towards the brow where they catch the light.
  const count = kind === 'street' ? 0 : 240;
  for (let index = 0; index < count; index++) {
    const x = random.between(0, width);
    const top = surface.yAt(x);
    const y = top + random.next() ** 1.6 * Math.min(260, bottom - top);
    const tone = random.chance(0.55) ? mix(body, palette.rim, random.between(0.1, 0.45)) : adjust(body, -0.07);
    fillEllipse(
      context,
      { x, y },
      random.between(4, 26) * surface.scale,
      random.between(0.7, 2.2) * surface.scale,
      css(tone, 0.4),
    );
  }
}

function drawCrater(stage: Stage, centre: Point, radius: number, body: Colour): void {
  const { context, palette } = stage;
  fillEllipse(context, centre, radius, radius * 0.3, adjust(body, -0.13));
  fillEllipse(
    context,
    { x: centre.x, y: centre.y + radius * 0.07 },
    radius * 0.94,
    radius * 0.24,
    mix(body, palette.rim, 0.12),
  );
}

/** Rows of lavender that run together at the horizon. */
function drawRows(stage: Stage, surface: Surface, bottom: number): void {
  const { context, width, palette, horizon } = stage;
  const random = stage.random.fork(`rows ${surface.depth}`);
  const violet = mix(mix(hex('#7b5fc0'), palette.land, palette.isDark ? 0.5 : 0.05), palette.haze, surface.depth * 0.6);
  const vanishing = { x: width * 0.5, y: horizon - 30 };
  context.save();
  context.beginPath();
  context.moveTo(-4, bottom);
  for (let x = -4; x <= width + 4; x += 8) context.lineTo(x, surface.yAt(x));
  context.lineTo(width + 4, bottom);
  context.clip();
  for (let row = -16; row <= 16; row++) {
    const foot = width * 0.5 + row * width * 0.135;
    const half = width * 0.046;
    fillShape(context, [vanishing, { x: foot - half, y: bottom }, { x: foot + half, y: bottom }], violet);
    for (let tuft = 0; tuft < 70; tuft++) {
      const near = random.next() ** 0.6;
      const x = vanishing.x + (foot - vanishing.x) * near + random.between(-half, half) * near * 1.1;
      const y = vanishing.y + (bottom - vanishing.y) * near;
      const tone = random.chance(0.5) ? mix(violet, palette.rim, random.between(0.15, 0.5)) : adjust(violet, -0.1);
      fillEllipse(context, { x, y }, 7 * near, 4.5 * near, css(tone, 0.75));
    }
  }
  context.restore();
}

/** A road or a river: wide below, winding up to where it vanishes. */
export function drawWay(stage: Stage, kind: 'road' | 'river', top: number, startX: number): void {
  const { context, height, palette, width } = stage;
  const random = stage.random.fork(kind);
  const bend = random.between(0.75, 1.25) * (random.chance(0.5) ? 1 : -1);
  const wide = (kind === 'river' ? 0.3 : 0.17) * Math.min(width, height);
  const positions = Array.from({ length: 41 }, (_, step) => {
    const share = step / 40;
    const near = share ** 2;
    const x = startX + (width * 0.5 - startX) * near + Math.sin(share * 7.2) * bend * 105 * (0.12 + near);
    return { x, y: top + (height + 6 - top) * near, half: (wide / 2) * (0.015 + near) };
  });
  const left = positions.map(({ x, y, half }) => ({ x: x - half, y }));
  const right = positions.map(({ x, y, half }) => ({ x: x + half, y })).toReversed();
  const gradient = context.createLinearGradient(0, top, 0, height);
  if (kind === 'river') {
    gradient.addColorStop(0, css(mix(palette.sky[3], palette.sky[2], 0.3)));
    gradient.addColorStop(0.5, css(mix(palette.sky[1], palette.water, 0.45)));
    gradient.addColorStop(1, css(adjust(palette.water, -0.04)));
  } else {
    const paved = mix(mix(palette.land, hex('#5b5a60'), 0.55), palette.rim, 0.12);
    gradient.addColorStop(0, css(mix(paved, palette.haze, 0.5)));
    gradient.addColorStop(1, css(paved));
  }
  fillShape(context, [...left, ...right], gradient);
  if (stage.isFlat) return;
  for (const edge of [left, right])
    strokeLine(context, edge, 2, kind === 'river' ? adjust(palette.water, -0.12) : adjust(palette.land, 0.02), 0.4);
  if (kind === 'road') {
    for (let mark = 6; mark < 40; mark += 2) {
      const [from, to] = [positions[mark], positions[mark + 1]];
      if (from !== undefined && to !== undefined) strokeLine(context, [from, to], from.half * 0.05, palette.rim, 0.7);
    }
  }
  if (kind === 'river') {
    for (let index = 0; index < 60; index++) {
      const position = positions[random.integer(4, 40)];
      if (position === undefined) continue;
      const x = position.x + random.between(-0.75, 0.75) * position.half;
      fillEllipse(
        context,
        { x, y: position.y },
        position.half * random.between(0.06, 0.22),
        0.4 + position.half * 0.012,
        css(mix(palette.rim, palette.sky[3], 0.4), 0.5),
      );
    }
  }
}
