/**
 * A city on the horizon, three rows deep, and a village of small houses.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { fillBox, fillShape, glow, strokeLine } from '../draw.ts';
import type { Random } from '@darkroom/seeded-random/random';
import { lightSide } from '../stage.ts';
import type { Stage } from '../stage.ts';

interface Block {
  readonly x: number;
  readonly wide: number;
  readonly tall: number;
  readonly roof: 'flat' | 'step' | 'spire' | 'slant' | 'mast';
}

function drawBlock(
  stage: Stage,
  block: Block,
  base: number,
  body: Colour,
  windows: { share: number; depth: number },
  random: Random,
): void {
  const { context, palette, isFlat } = stage;
  const { x, wide, tall } = block;
  const top = base - tall;
  const side = lightSide(stage, x + wide / 2);
  const bright = mix(body, palette.rim, stage.style === 'neon' ? 0.1 : 0.24);
  fillBox(context, x, top, wide, tall + 4, body);
  const roof = mix(body, palette.rim, 0.1);
  if (block.roof === 'step') {
    fillBox(context, x + wide * 0.2, top - tall * 0.07, wide * 0.6, tall * 0.08, body);
    fillBox(context, x + wide * 0.34, top - tall * 0.13, wide * 0.32, tall * 0.07, roof);
  } else if (block.roof === 'spire')
    fillShape(
      context,
      [
        { x: x + wide * 0.12, y: top },
        { x: x + wide / 2, y: top - tall * 0.26 },
        { x: x + wide * 0.88, y: top },
      ],
      body,
    );
  else if (block.roof === 'slant')
    fillShape(
      context,
      [
        { x, y: top },
        { x: x + wide, y: top },
        { x: side === 1 ? x : x + wide, y: top - wide * 0.45 },
      ],
      body,
    );
  else if (block.roof === 'mast')
    strokeLine(
      context,
      [
        { x: x + wide / 2, y: top },
        { x: x + wide / 2, y: top - tall * 0.22 },
      ],
      1.6,
      body,
    );
  const strip = wide * 0.3;
  if (!isFlat) fillBox(context, side === 1 ? x + wide - strip : x, top, strip, tall + 4, css(bright, 0.75));
  if (windows.share <= 0) return;
  const lamp = stage.style === 'neon' ? random.pick([hex('#3ff3ff'), hex('#ff5fd0'), hex('#ffe066')]) : hex('#ffd88a');
  const glass = mix(body, palette.sky[2], 0.4);
  const [columns, rows] = [Math.max(2, Math.floor(wide / 7.5)), Math.floor(tall / 10)];
  for (let column = 0; column < columns; column++) {
    for (let row = 0; row < rows; row++) {
      const isOn = random.chance(windows.share);
      if (!isOn && windows.depth > 0.5) continue;
      const position = { x: x + ((column + 0.5) * wide) / columns - 1.6, y: top + 5 + row * 10 };
      fillBox(
        context,
        position.x,
        position.y,
        3.2,
        4.6,
        isOn ? css(mix(lamp, palette.haze, windows.depth * 0.5), random.between(0.6, 1)) : css(glass, 0.3),
      );
    }
  }
  if (stage.style === 'neon' && windows.depth < 0.3) {
    context.save();
    context.shadowColor = css(lamp);
    context.shadowBlur = 14 * stage.scale;
    strokeLine(
      context,
      [
        { x, y: base },
        { x, y: top },
        { x: x + wide, y: top },
        { x: x + wide, y: base },
      ],
      1.6,
      lamp,
      0.9,
    );
    context.restore();
  }
}

/** The rows of a city, the far ones pale; tallest near the middle. */
export function drawSkyline(stage: Stage, colour: Colour | undefined, size: number): void {
  const { context, width, horizon, palette } = stage;
  const random = stage.random.fork('skyline');
  const isLampLit =
    palette.isDark || stage.time === 'sunset' || stage.weather.has('rain') || stage.weather.has('storm');
  const middle = width * random.between(0.35, 0.65);
  const rows = [
    { depth: 0.74, tall: 0.72, wide: [34, 64] as const },
    { depth: 0.46, tall: 0.62, wide: [38, 76] as const },
    { depth: 0.14, tall: 0.4, wide: [44, 92] as const },
  ];
  const stone = colour ?? mix(palette.land, palette.sky[0], 0.35);
  for (const row of rows) {
    let x = -30;
    while (x < width) {
      const wide = random.between(row.wide[0], row.wide[1]);
      const centred = Math.exp(-(((x + wide / 2 - middle) / (width * 0.3)) ** 2));
      const tall =
        horizon * row.tall * Math.min(1.3, size) * (0.22 + 0.5 * centred + random.between(-0.06, 0.28 * centred + 0.1));
      const body = mix(adjust(stone, random.between(-0.03, 0.03)), palette.haze, row.depth);
      const roof =
        tall > horizon * 0.3
          ? random.pick(['flat', 'step', 'spire', 'mast', 'slant'] as const)
          : random.pick(['flat', 'flat', 'step', 'slant'] as const);
      drawBlock(
        stage,
        { x, wide, tall, roof },
        horizon + 3,
        body,
        { share: isLampLit ? 0.42 : 0.1, depth: row.depth },
        random,
      );
      x += wide + random.between(-4, 7);
    }
    if (stage.isFlat) continue;
    const veil = context.createLinearGradient(0, horizon - 130, 0, horizon);
    veil.addColorStop(0, css(palette.haze, 0));
    veil.addColorStop(1, css(palette.haze, 0.42));
    context.fillStyle = veil;
    context.fillRect(0, horizon - 130, width, 132);
  }
  if (!isLampLit || stage.isFlat) return;
  context.save();
  context.globalCompositeOperation = 'screen';
  context.translate(middle, horizon);
  context.scale(2.6, 0.5);
  glow(context, { x: 0, y: 0 }, 250, stage.style === 'neon' ? hex('#ff4fb8') : hex('#ffb35e'), 0.32);
  context.restore();
}
