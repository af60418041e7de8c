/**
 * Sunflowers: rows of them to the horizon, and large heads close by that face the viewer.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { at, fillCurve, fillEllipse, points, strokeLine } from '../draw.ts';
import { lit } from '../palette.ts';
import type { Random } from '@darkroom/seeded-random/random';
import type { Point, Stage, Surface } from '../stage.ts';

/** For one flower close by, in logical units. */
const TALL = 300;

function drawSunflower(stage: Stage, foot: Point, size: number, depth: number, random: Random): void {
  const { context, palette } = stage;
  const petal = lit(palette, hex(random.pick(['#f6bd2c', '#f2a922', '#fbcb45'])), depth);
  const stem = mix(palette.foliage, lit(palette, hex('#5f8f3c'), depth), 0.5);
  const heart = lit(palette, hex('#4a2c18'), depth);
  const lean = random.between(-0.08, 0.08);
  const head = { x: lean, y: -0.84 };
  at(context, foot, size, 1, () => {
    strokeLine(context, points(0, 0, lean * 0.3, -0.4, lean, -0.8), 0.035, stem);
    for (const side of [-1, 1]) {
      const y = random.between(-0.55, -0.3);
      fillCurve(
        context,
        points(0, y, side * 0.14, y - 0.12, side * 0.27, y - 0.05, side * 0.16, y + 0.04),
        adjust(stem, 0.03 * side),
      );
    }
    const ring = (reach: number, many: number, turn: number, colour: Colour): void => {
      for (let index = 0; index < many; index++) {
        const angle = (index / many) * Math.PI * 2 + turn;
        const centre = { x: head.x + Math.cos(angle) * reach, y: head.y + Math.sin(angle) * reach * 0.94 };
        fillEllipse(context, centre, 0.075, 0.03, colour, angle);
      }
    };
    const many = size < 90 ? 9 : 17;
    ring(0.13, many, 0.2, adjust(petal, -0.07));
    ring(0.11, many, 0, petal);
    fillEllipse(context, head, 0.1, 0.094, heart);
    fillEllipse(context, { x: head.x - 0.015, y: head.y - 0.015 }, 0.06, 0.055, css(mix(heart, petal, 0.35), 0.8));
  });
}

/** A field of them on a ground: small and close together far away, large in front of the viewer. */
export function drawSunflowers(stage: Stage, surface: Surface): void {
  const { width, height } = stage;
  const random = stage.random.fork(`sunflowers ${surface.depth}`);
  const isFar = surface.depth > 0.1;
  const count = Math.round((isFar ? 190 : 46) * (width / 1000));
  const bed = Array.from({ length: count }, () => ({
    x: random.between(-20, width + 20),
    near: random.next(),
  })).toSorted((first, second) => first.near - second.near);
  for (const { x, near } of bed) {
    const top = surface.yAt(x);
    const size = (isFar ? 34 + 46 * near : TALL * (0.34 + 0.66 * near)) * random.between(0.85, 1.15);
    const reach = isFar ? 60 : height + size * 0.3 - top;
    drawSunflower(stage, { x, y: top + 10 + near * reach }, size, surface.depth, random);
  }
}
