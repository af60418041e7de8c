/**
 * Many trees together: belts of woodland along a curve, and the dark trunks that frame a view into a forest.
 */
import { adjust, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { fillShape, strokeLine } from '../draw.ts';
import { createLineNoise, fractal } from '../noise.ts';
import { lightSide } from '../stage.ts';
import type { Stage } from '../stage.ts';
import { drawConifer, drawBroadleaf } from './trees.ts';

/** A belt of woodland along a curve, trees small and close. */
export function drawBelt(
  stage: Stage,
  options: {
    yAt: (x: number) => number;
    size: number;
    depth: number;
    kind: 'conifer' | 'broadleaf';
    colour: Colour;
    name: string;
    density?: number;
  },
): void {
  const { width } = stage;
  const random = stage.random.fork(`belt ${options.name}`);
  const gaps = createLineNoise(random);
  const step = options.size * 0.2;
  for (let x = -options.size; x < width + options.size; x += step * random.between(0.6, 1.4)) {
    const stand = fractal(gaps, x / 190, 2);
    if (stand < (options.density ?? 0) - 0.6) continue;
    const size = options.size * (0.72 + 0.4 * stand + random.between(-0.15, 0.3));
    const tone = adjust(options.colour, random.between(-0.035, 0.035));
    const look = { colour: tone, depth: options.depth, random };
    const foot = { x, y: options.yAt(x) + 3 };
    if (options.kind === 'conifer') drawConifer(stage, foot, size * 1.25, look);
    else drawBroadleaf(stage, foot, size, look);
  }
}

/** Dark trunks and branches at both edges, very close: they frame a view into a forest. */
export function drawFramingTrunks(stage: Stage, colour: Colour): void {
  const { context, width, height, palette } = stage;
  const random = stage.random.fork('trunks');
  for (const x of [
    random.between(-0.01, 0.05),
    random.between(0.12, 0.17),
    random.between(0.86, 0.9),
    random.between(0.95, 1.01),
  ]) {
    const wide = random.between(26, 52);
    const lean = random.between(-16, 16);
    const foot = { x: x * width, y: height + 10 };
    const side = lightSide(stage, foot.x);
    const trunk = [
      { x: foot.x - wide * 0.75, y: foot.y },
      { x: foot.x - wide * 0.5, y: height * 0.75 },
      { x: foot.x - wide * 0.4 + lean, y: -10 },
      { x: foot.x + wide * 0.4 + lean, y: -10 },
      { x: foot.x + wide * 0.5, y: height * 0.75 },
      { x: foot.x + wide * 0.75, y: foot.y },
    ];
    fillShape(context, trunk, colour);
    strokeLine(
      context,
      [
        { x: foot.x + side * wide * 0.46, y: height * 0.78 },
        { x: foot.x + side * wide * 0.36 + lean, y: -10 },
      ],
      wide * 0.1,
      mix(colour, palette.rim, 0.3),
      0.8,
    );
    for (let bough = 0; bough < 3; bough++) {
      const from = { x: foot.x + lean * 0.7, y: height * random.between(0.02, 0.4) };
      const reach = random.between(60, 150) * (x < 0.5 ? 1 : -1);
      strokeLine(
        context,
        [from, { x: from.x + reach * 0.6, y: from.y - 22 }, { x: from.x + reach, y: from.y - 64 }],
        random.between(4, 9),
        colour,
      );
    }
  }
}
