/**
 * Trees: conifers, broadleaved and blossoming ones, palms, cacti. A tree stands on its foot; its size is its height in
 * logical units.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { at, fillCurve, fillEllipse, fillShape, strokeLine } from '../draw.ts';
import type { Random } from '@darkroom/seeded-random/random';
import { isSnowy, lightSide } from '../stage.ts';
import type { Point, Stage } from '../stage.ts';

/** How one tree is coloured: leaves, and the share of haze in front of it. */
export interface TreeLook {
  readonly colour: Colour;
  readonly depth: number;
  readonly random: Random;
}

function aerial(stage: Stage, colour: Colour, depth: number): Colour {
  return mix(colour, stage.palette.haze, depth * 0.8);
}

/** A conifer: tiers of drooping branches, the light on one half, snow on the tiers in winter. */
export function drawConifer(stage: Stage, foot: Point, size: number, look: TreeLook): void {
  const { context, palette } = stage;
  const { random, depth } = look;
  const body = aerial(stage, look.colour, depth);
  const bright = mix(body, palette.rim, 0.24);
  const half = size * random.between(0.17, 0.22);
  const tiers = size > 90 ? 8 : 5;
  const jags = Array.from({ length: tiers }, () => [random.between(0.82, 1.12), random.between(0.82, 1.12)] as const);
  const edge = (side: 1 | -1): Point[] =>
    jags.flatMap((jag, tier) => {
      const share = (tier + 1) / tiers;
      const out = half * share * (side === 1 ? jag[0] : jag[1]);
      const y = foot.y - size + size * 0.93 * share;
      return [
        { x: foot.x + side * out, y: y + size * 0.012 },
        { x: foot.x + side * out * 0.58, y: y - size * 0.022 },
      ];
    });
  const top = { x: foot.x, y: foot.y - size };
  strokeLine(context, [foot, { x: foot.x, y: foot.y - size * 0.15 }], Math.max(1, size * 0.035), adjust(body, -0.08));
  fillShape(context, [top, ...edge(1), ...edge(-1).toReversed()], body);
  if (size < 26 || stage.isFlat) return;
  const side = lightSide(stage, foot.x);
  const spine = jags.map((_, tier) => ({
    x: foot.x + side * half * (tier % 2 === 0 ? 0.02 : 0.13),
    y: foot.y - size + size * 0.93 * ((tier + 1) / tiers),
  }));
  fillShape(context, [top, ...edge(side), ...spine.toReversed()], css(bright, 0.75));
  if (!isSnowy(stage)) return;
  const snow = aerial(stage, palette.snow, depth);
  for (const [tier, jag] of jags.entries()) {
    const share = (tier + 1) / tiers;
    const y = foot.y - size + size * 0.93 * share;
    const out = half * share;
    fillCurve(
      context,
      [
        { x: foot.x - out * 0.86 * jag[1], y: y - size * 0.012 },
        { x: foot.x - out * 0.2, y: y - size * 0.07 },
        { x: foot.x + out * 0.35, y: y - size * 0.085 },
        { x: foot.x + out * 0.86 * jag[0], y: y - size * 0.012 },
        { x: foot.x + out * 0.2, y: y - size * 0.04 },
        { x: foot.x - out * 0.3, y: y - size * 0.028 },
      ],
      css(snow, 0.85),
    );
  }
}

/** Trunk and boughs by splitting; returns the ends of the twigs. */
function drawBoughs(stage: Stage, foot: Point, size: number, look: TreeLook, bark: Colour): Point[] {
  const tips: Point[] = [];
  const grow = (from: Point, angle: number, length: number, wide: number, level: number): void => {
    const end = { x: from.x + Math.sin(angle) * length, y: from.y - Math.cos(angle) * length };
    strokeLine(stage.context, [from, end], Math.max(0.7, wide), bark);
    if (level === 0) {
      tips.push(end);
      return;
    }
    const children = level > 2 ? 3 : 2;
    for (let child = 0; child < children; child++) {
      const spread = (child / (children - 1) - 0.5) * 1.15 + look.random.between(-0.22, 0.22);
      grow(end, angle * 0.7 + spread, length * look.random.between(0.62, 0.8), wide * 0.62, level - 1);
    }
  };
  grow(foot, look.random.between(-0.06, 0.06), size * 0.3, size * 0.05, size > 120 ? 4 : 3);
  return tips;
}

/** A broadleaved tree; bare in winter. Its crown is made of clumps, lit from the side of the light. */
export function drawBroadleaf(stage: Stage, foot: Point, size: number, look: TreeLook, isBlossoming = false): void {
  const { context, palette } = stage;
  const { random, depth } = look;
  const bark = aerial(
    stage,
    mix(mix(palette.land, hex('#4b372c'), palette.isDark ? 0.15 : 0.45), palette.land, 0.2),
    depth,
  );
  if (size < 34) {
    strokeLine(context, [foot, { x: foot.x, y: foot.y - size * 0.5 }], Math.max(0.8, size * 0.06), bark);
    if (stage.season === 'winter' && !isBlossoming) return;
    fillEllipse(
      context,
      { x: foot.x, y: foot.y - size * 0.64 },
      size * 0.32,
      size * 0.36,
      aerial(stage, look.colour, depth),
    );
    return;
  }
  const tips = drawBoughs(stage, foot, size, look, bark);
  if (stage.season === 'winter' && !isBlossoming) {
    if (isSnowy(stage))
      for (const tip of tips) fillEllipse(context, tip, size * 0.014, size * 0.008, css(palette.snow, 0.8));
    return;
  }
  const side = lightSide(stage, foot.x);
  const body = aerial(stage, look.colour, depth);
  const layers = [
    { shift: 0, tone: adjust(body, -0.09), grow: 1.15 },
    { shift: 0.035, tone: body, grow: 0.92 },
    { shift: 0.08, tone: mix(adjust(body, 0.04), palette.rim, 0.22), grow: 0.55 },
  ];
  for (const { shift, tone, grow } of stage.isFlat ? layers.slice(1, 2) : layers) {
    for (const tip of tips) {
      const radius = size * random.between(0.075, 0.125) * grow;
      fillEllipse(
        context,
        { x: tip.x + side * size * shift, y: tip.y - size * shift * 0.9 },
        radius,
        radius * 0.86,
        css(tone, isBlossoming ? 0.86 : 0.95),
      );
    }
  }
  if (!isBlossoming && stage.season !== 'autumn') return;
  const petal = aerial(stage, isBlossoming ? adjust(look.colour, 0.12) : adjust(look.colour, 0.06, 1.2), depth);
  for (const tip of tips) {
    for (let leaf = 0; leaf < 4; leaf++) {
      const position = { x: tip.x + random.between(-0.11, 0.11) * size, y: tip.y + random.between(-0.1, 0.1) * size };
      fillEllipse(context, position, size * 0.009, size * 0.007, css(petal, 0.9));
    }
  }
  for (let leaf = 0; leaf < 16; leaf++) {
    const position = { x: foot.x + random.between(-0.42, 0.42) * size, y: foot.y + random.between(-0.01, 0.03) * size };
    fillEllipse(context, position, size * 0.014, size * 0.006, css(petal, 0.85));
  }
}

/** A palm: a leaning trunk and a head of fronds. */
export function drawPalm(stage: Stage, foot: Point, size: number, look: TreeLook): void {
  const { context, palette } = stage;
  const { random, depth } = look;
  const lean = random.between(0.12, 0.34) * (random.chance(0.5) ? 1 : -1);
  const bark = aerial(stage, mix(palette.land, hex('#7a5a3c'), palette.isDark ? 0.15 : 0.5), depth);
  const trunk = Array.from({ length: 13 }, (_, step) => {
    const share = step / 12;
    return { x: foot.x + lean * size * share ** 1.7, y: foot.y - size * 0.8 * share };
  });
  for (const [index, position] of trunk.entries()) {
    const next = trunk[index + 1];
    if (next !== undefined)
      strokeLine(
        context,
        [position, next],
        size * (0.042 - index * 0.0016),
        index % 2 === 0 ? bark : adjust(bark, -0.03),
      );
  }
  const head = trunk.at(-1) ?? foot;
  const body = aerial(stage, look.colour, depth);
  for (let frond = 0; frond < 11; frond++) {
    const angle = (frond / 11) * Math.PI * 2 + random.between(-0.2, 0.2);
    const reach = size * random.between(0.3, 0.4);
    const [out, up] = [Math.cos(angle) * reach, Math.sin(angle) * reach * 0.34];
    const middle = { x: head.x + out * 0.55, y: head.y - Math.abs(reach) * 0.2 + up * 0.5 };
    const tip = { x: head.x + out, y: head.y + reach * 0.28 + up };
    const tone = mix(body, palette.rim, Math.sign(out) === lightSide(stage, foot.x) ? 0.2 : 0);
    context.beginPath();
    context.moveTo(head.x, head.y);
    context.quadraticCurveTo(middle.x, middle.y - size * 0.03, tip.x, tip.y);
    context.quadraticCurveTo(middle.x, middle.y + size * 0.055, head.x, head.y + size * 0.012);
    context.fillStyle = css(frond % 2 === 0 ? tone : adjust(tone, -0.06));
    context.fill();
  }
  for (let nut = 0; nut < 3; nut++)
    fillEllipse(
      context,
      { x: head.x + (nut - 1) * size * 0.022, y: head.y + size * 0.02 },
      size * 0.016,
      size * 0.018,
      adjust(bark, -0.06),
    );
}

/** A saguaro: a ribbed column with one to three arms. */
export function drawCactus(stage: Stage, foot: Point, size: number, look: TreeLook): void {
  const { context, palette } = stage;
  const { random, depth } = look;
  const body = aerial(stage, look.colour, depth);
  const side = lightSide(stage, foot.x);
  const arms = Array.from({ length: random.integer(1, 3) }, (_, index) => ({
    side: index % 2 === 0 ? (random.chance(0.5) ? 1 : -1) : index === 1 ? 1 : -1,
    y: random.between(0.38, 0.6),
    tall: random.between(0.2, 0.34),
  }));
  at(context, foot, size, 1, () => {
    const limb = (points: readonly Point[], wide: number): void => {
      strokeLine(context, points, wide, body);
      if (stage.isFlat) return;
      const shifted = points.map(({ x, y }) => ({ x: x + side * wide * 0.24, y }));
      strokeLine(context, shifted, wide * 0.26, mix(body, palette.rim, 0.35), 0.8);
      strokeLine(
        context,
        points.map(({ x, y }) => ({ x: x - side * wide * 0.26, y })),
        wide * 0.1,
        adjust(body, -0.08),
        0.8,
      );
    };
    for (const arm of arms) {
      limb(
        [
          { x: 0, y: -arm.y },
          { x: arm.side * 0.17, y: -arm.y - 0.01 },
          { x: arm.side * 0.2, y: -arm.y - 0.06 },
          { x: arm.side * 0.2, y: -arm.y - arm.tall },
        ],
        0.095,
      );
    }
    limb(
      [
        { x: 0, y: 0 },
        { x: 0, y: -0.94 },
      ],
      0.14,
    );
  });
}
