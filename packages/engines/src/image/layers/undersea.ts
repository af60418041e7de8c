/**
 * The view below the surface: the water column, rays of light, rocks, corals and weed, bubbles.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import { downwards, fillBelow, fillEllipse, fillShape, points, strokeLine } from '../draw.ts';
import { createLineNoise, fractal } from '../noise.ts';
import type { Stage } from '../stage.ts';

/** The water column, rays from above, rocks and corals on the ground, bubbles. */
export function drawUndersea(stage: Stage): void {
  const { context, width, height, palette } = stage;
  const random = stage.random.fork('undersea');
  const deep = palette.isDark ? hex('#04142c') : hex('#0b3a63');
  const [bright, mid] = palette.isDark ? [hex('#16507a'), hex('#0b2c52')] : [hex('#7fe0e0'), hex('#2b93b8')];
  const hue = palette.water;
  context.fillStyle = downwards(
    context,
    0,
    height,
    css(mix(bright, hue, 0.15)),
    css(mix(mid, hue, 0.25)),
    css(mix(deep, hue, 0.2)),
  );
  context.fillRect(0, 0, width, height);
  context.save();
  context.globalCompositeOperation = 'screen';
  for (let ray = 0; ray < 11; ray++) {
    const x = stage.light.x + random.between(-0.5, 0.5) * width;
    const wide = random.between(16, 70);
    const lean = (x - stage.light.x) * 0.8;
    const shaft = context.createLinearGradient(0, 0, 0, height * 0.85);
    shaft.addColorStop(0, css(bright, random.between(0.14, 0.34)));
    shaft.addColorStop(1, css(bright, 0));
    fillShape(
      context,
      points(
        x - wide * 0.4,
        -10,
        x + wide * 0.4,
        -10,
        x + lean + wide * 1.7,
        height * 0.9,
        x + lean - wide * 1.7,
        height * 0.9,
      ),
      shaft,
    );
  }
  context.restore();
  for (const layer of [0, 1, 2]) {
    const noise = createLineNoise(random.fork(`reef ${layer}`));
    const base = height * (0.74 + layer * 0.1);
    const rock = mix(mix(deep, hex('#14243a'), 0.5), mix(mid, deep, 0.4), 0.7 - layer * 0.3);
    const yAt = (x: number): number => base + fractal(noise, x / 150, 4) * 62;
    fillBelow(
      context,
      yAt,
      { left: -4, right: width + 4, bottom: height + 4 },
      downwards(context, base - 40, height, css(adjust(rock, 0.05)), css(rock)),
    );
    const hues = ['#f2727f', '#f4a24c', '#b072d1', '#f6c95c', '#e85f9c', '#5fc9a8'] as const;
    for (let index = 0; index < 9 + layer * 5; index++) {
      const x = random.between(0, width);
      const tone = mix(hex(random.pick(hues)), rock, 0.62 - layer * 0.24);
      if (random.chance(0.55))
        drawCoral(stage, x, yAt(x) + 6, random.between(26, 64) * (0.7 + layer * 0.35), tone, random);
      else
        drawWeed(
          stage,
          x,
          yAt(x) + 6,
          random.between(60, 150) * (0.6 + layer * 0.3),
          mix(hex('#2f8f6a'), rock, 0.55 - layer * 0.2),
          random,
        );
    }
  }
  for (let bubble = 0; bubble < 60; bubble++) {
    const position = { x: random.between(0, width), y: random.between(0, height) };
    const radius = 1 + random.next() ** 3 * 8;
    context.beginPath();
    context.arc(position.x, position.y, radius, 0, Math.PI * 2);
    context.lineWidth = 0.9;
    context.strokeStyle = css(hex('#d8fbff'), 0.45);
    context.stroke();
    fillEllipse(
      context,
      { x: position.x - radius * 0.3, y: position.y - radius * 0.3 },
      radius * 0.25,
      radius * 0.2,
      css(hex('#ffffff'), 0.6),
    );
  }
}

function drawCoral(
  stage: Stage,
  x: number,
  y: number,
  size: number,
  tone: ReturnType<typeof hex>,
  random: Stage['random'],
): void {
  const branch = (fromX: number, fromY: number, angle: number, length: number, level: number): void => {
    const end = { x: fromX + Math.sin(angle) * length, y: fromY - Math.cos(angle) * length };
    strokeLine(
      stage.context,
      [{ x: fromX, y: fromY }, end],
      Math.max(1.6, size * 0.042 * (level + 1)),
      level === 0 ? adjust(tone, 0.08) : tone,
    );
    if (level === 0) return;
    for (const side of [-1, 0, 1])
      if (side !== 0 || random.chance(0.5))
        branch(end.x, end.y, angle + side * random.between(0.25, 0.6), length * 0.72, level - 1);
  };
  branch(x, y, random.between(-0.15, 0.15), size * 0.38, 3);
}

function drawWeed(
  stage: Stage,
  x: number,
  y: number,
  size: number,
  tone: ReturnType<typeof hex>,
  random: Stage['random'],
): void {
  for (let blade = 0; blade < 5; blade++) {
    const phase = random.between(0, 6);
    const line = Array.from({ length: 12 }, (_, step) => ({
      x: x + (blade - 2) * 7 + Math.sin(step * 0.62 + phase) * step * 0.9,
      y: y - (step / 11) * size * random.between(0.92, 1),
    }));
    strokeLine(stage.context, line, random.between(2.5, 5), adjust(tone, random.between(-0.04, 0.07)), 0.9);
  }
}
