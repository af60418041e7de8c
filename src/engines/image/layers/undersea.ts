/**
 * Life in the water, and the view below its surface: fish, jellyfish, corals, rays of light; whales and dolphins that
 * show above it, and the birds that swim on it.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import { at, downwards, fillBelow, fillCurve, fillEllipse, fillShape, points, strokeLine } from '../draw.ts';
import { createLineNoise, fractal } from '../noise.ts';
import { lit } from '../palette.ts';
import type { DrawThing, Stage } from '../stage.ts';

/** The water column, rays from above, rocks and corals on the ground, bubbles. */
export function drawUndersea(stage: Stage): void {
  const { context, width, height, palette } = stage;
  const random = stage.random.fork('undersea');
  const deep = palette.isDark ? hex('#04142c') : hex('#0b3a63');
  const [bright, mid] = palette.isDark ? [hex('#16507a'), hex('#0b2c52')] : [hex('#7fe0e0'), hex('#2b93b8')];
  const hue = palette.water;
  context.fillStyle = downwards(context, 0, height, css(mix(bright, hue, 0.15)), css(mix(mid, hue, 0.25)), css(mix(deep, hue, 0.2)));
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
    fillShape(context, points(x - wide * 0.4, -10, x + wide * 0.4, -10, x + lean + wide * 1.7, height * 0.9, x + lean - wide * 1.7, height * 0.9), shaft);
  }
  context.restore();
  for (const layer of [0, 1, 2]) {
    const noise = createLineNoise(random.fork(`reef ${layer}`));
    const base = height * (0.74 + layer * 0.1);
    const rock = mix(mix(deep, hex('#14243a'), 0.5), mix(mid, deep, 0.4), 0.7 - layer * 0.3);
    const yAt = (x: number): number => base + fractal(noise, x / 150, 4) * 62;
    fillBelow(context, yAt, { left: -4, right: width + 4, bottom: height + 4 }, downwards(context, base - 40, height, css(adjust(rock, 0.05)), css(rock)));
    const hues = ['#f2727f', '#f4a24c', '#b072d1', '#f6c95c', '#e85f9c', '#5fc9a8'] as const;
    for (let index = 0; index < 9 + layer * 5; index++) {
      const x = random.between(0, width);
      const tone = mix(hex(random.pick(hues)), rock, 0.62 - layer * 0.24);
      if (random.chance(0.55)) drawCoral(stage, x, yAt(x) + 6, random.between(26, 64) * (0.7 + layer * 0.35), tone, random);
      else drawWeed(stage, x, yAt(x) + 6, random.between(60, 150) * (0.6 + layer * 0.3), mix(hex('#2f8f6a'), rock, 0.55 - layer * 0.2), random);
    }
  }
  for (let bubble = 0; bubble < 60; bubble++) {
    const place = { x: random.between(0, width), y: random.between(0, height) };
    const radius = 1 + random.next() ** 3 * 8;
    context.beginPath();
    context.arc(place.x, place.y, radius, 0, Math.PI * 2);
    context.lineWidth = 0.9;
    context.strokeStyle = css(hex('#d8fbff'), 0.45);
    context.stroke();
    fillEllipse(context, { x: place.x - radius * 0.3, y: place.y - radius * 0.3 }, radius * 0.25, radius * 0.2, css(hex('#ffffff'), 0.6));
  }
}

function drawCoral(stage: Stage, x: number, y: number, size: number, tone: ReturnType<typeof hex>, random: Stage['random']): void {
  const branch = (fromX: number, fromY: number, angle: number, length: number, level: number): void => {
    const end = { x: fromX + Math.sin(angle) * length, y: fromY - Math.cos(angle) * length };
    strokeLine(stage.context, [{ x: fromX, y: fromY }, end], Math.max(1.6, size * 0.042 * (level + 1)), level === 0 ? adjust(tone, 0.08) : tone);
    if (level === 0) return;
    for (const side of [-1, 0, 1]) if (side !== 0 || random.chance(0.5)) branch(end.x, end.y, angle + side * random.between(0.25, 0.6), length * 0.72, level - 1);
  };
  branch(x, y, random.between(-0.15, 0.15), size * 0.38, 3);
}

function drawWeed(stage: Stage, x: number, y: number, size: number, tone: ReturnType<typeof hex>, random: Stage['random']): void {
  for (let blade = 0; blade < 5; blade++) {
    const phase = random.between(0, 6);
    const line = Array.from({ length: 12 }, (_, step) => ({ x: x + (blade - 2) * 7 + Math.sin(step * 0.62 + phase) * step * 0.9, y: y - (step / 11) * size * random.between(0.92, 1) }));
    strokeLine(stage.context, line, random.between(2.5, 5), adjust(tone, random.between(-0.04, 0.07)), 0.9);
  }
}

export const drawFish: DrawThing = (stage, centre, size, look) => {
  const { context } = stage;
  const [paint, fin] = look.random.pick([['#f58a2c', '#fff3df'], ['#f2c53a', '#2f5fa8'], ['#4aa3d8', '#f4e06a'], ['#e8557f', '#ffd3a8']] as const);
  const body = mix(look.colour ?? hex(paint), stage.palette.water, look.depth * 0.6);
  const band = mix(hex(fin), stage.palette.water, look.depth * 0.6);
  at(context, centre, size, look.facing, () => {
    fillCurve(context, points(-0.55, 0, -0.95, -0.42, -1, -0.3, -0.86, 0, -1, 0.3, -0.95, 0.42), adjust(body, -0.05));
    fillCurve(context, points(-0.2, -0.3, -0.1, -0.66, 0.3, -0.5, 0.35, -0.3), adjust(body, -0.07));
    fillCurve(context, points(-0.1, 0.3, -0.12, 0.56, 0.16, 0.42, 0.2, 0.3), adjust(body, -0.07));
    fillCurve(context, points(-0.66, 0, -0.3, -0.32, 0.2, -0.4, 0.66, -0.22, 0.86, 0.02, 0.66, 0.22, 0.2, 0.38, -0.3, 0.3), body);
    for (const x of [-0.18, 0.28]) fillCurve(context, points(x - 0.06, -0.36, x + 0.08, -0.38, x + 0.12, 0, x + 0.06, 0.37, x - 0.08, 0.35, x - 0.02, 0), css(band, 0.9));
    fillCurve(context, points(0.05, 0.06, -0.26, 0.2, -0.2, 0.3, 0.08, 0.2), adjust(body, 0.07));
    fillEllipse(context, { x: 0.58, y: -0.06 }, 0.09, 0.1, hex('#ffffff'));
    fillEllipse(context, { x: 0.61, y: -0.06 }, 0.05, 0.06, hex('#16181f'));
  });
};

export const drawJellyfish: DrawThing = (stage, centre, size, look) => {
  const { context } = stage;
  const body = look.colour ?? look.random.pick([hex('#f3a8d8'), hex('#a8c8ff'), hex('#d8b3ff')]);
  at(context, centre, size, 1, () => {
    for (let arm = 0; arm < 9; arm++) {
      const x = (arm - 4) * 0.085;
      const phase = look.random.between(0, 6);
      const line = Array.from({ length: 14 }, (_, step) => ({ x: x + Math.sin(step * 0.6 + phase) * 0.035 * (1 + step * 0.12), y: step * 0.075 }));
      strokeLine(context, line, arm % 2 === 0 ? 0.022 : 0.045, body, arm % 2 === 0 ? 0.7 : 0.35);
    }
    const bell = context.createRadialGradient(0, -0.25, 0.05, 0, -0.2, 0.5);
    bell.addColorStop(0, css(adjust(body, 0.12), 0.95));
    bell.addColorStop(1, css(body, 0.55));
    fillCurve(context, points(-0.42, 0.02, -0.46, -0.2, -0.3, -0.48, 0, -0.58, 0.3, -0.48, 0.46, -0.2, 0.42, 0.02, 0.28, -0.04, 0.14, 0.04, 0, -0.03, -0.14, 0.04, -0.28, -0.04), bell);
  });
};

/** A whale that blows, its back and fluke above the water. */
export const drawWhale: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const skin = lit(palette, look.colour ?? hex('#3f5a78'), look.depth);
  const pale = mix(adjust(skin, 0.2, 0.6), palette.rim, 0.15);
  const foam = mix(palette.snow, palette.rim, 0.25);
  at(context, foot, size, look.facing, () => {
    for (let jet = 0; jet < 22; jet++) {
      const share = look.random.next();
      const side = look.random.chance(0.5) ? 1 : -1;
      fillEllipse(context, { x: 0.62 + side * share * 0.24, y: -0.62 - Math.sin(share * Math.PI * 0.8) * 0.62 - look.random.between(0, 0.1) }, 0.03 + share * 0.04, 0.03 + share * 0.035, css(foam, 0.5));
    }
    fillCurve(context, points(-1.2, 0.02, -1.25, -0.42, -1.52, -0.74, -1.86, -0.8, -1.5, -0.9, -1.22, -0.74, -1.02, -0.95, -0.7, -0.98, -0.94, -0.78, -1.04, -0.42, -0.98, 0.02), skin);
    fillCurve(context, points(-0.86, 0.06, -0.6, -0.26, 0, -0.54, 0.62, -0.58, 1.08, -0.4, 1.28, -0.06, 1.22, 0.06, 0.2, 0.08), skin);
    fillCurve(context, points(0.36, 0.06, 0.7, -0.1, 1.08, -0.14, 1.27, -0.06, 1.2, 0.06), pale);
    for (let groove = 0; groove < 4; groove++) strokeLine(context, points(0.6 + groove * 0.05, 0.04 - groove * 0.005, 1.2, -0.02 - groove * 0.03), 0.009, adjust(pale, -0.12), 0.7);
    fillEllipse(context, { x: 0.86, y: -0.2 }, 0.03, 0.032, hex('#14161c'));
    strokeLine(context, points(-0.5, -0.3, 0, -0.5, 0.6, -0.54, 1, -0.4), 0.03, mix(skin, palette.rim, 0.5), 0.7);
    for (const x of [-1.1, -0.5, 0.1, 0.7, 1.15]) fillEllipse(context, { x, y: 0.06 }, 0.34, 0.035, css(foam, 0.55));
  });
};

/** A dolphin in mid leap. */
export const drawDolphin: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const skin = lit(palette, look.colour ?? hex('#5d7f9c'), look.depth);
  const foam = mix(palette.snow, palette.rim, 0.25);
  at(context, foot, size, look.facing, () => {
    fillCurve(context, points(-0.95, -0.1, -0.86, -0.32, -0.6, -0.6, -0.2, -0.84, 0.25, -0.86, 0.56, -0.7, 0.86, -0.46, 0.84, -0.4, 0.56, -0.5, 0.2, -0.56, -0.2, -0.5, -0.6, -0.3), skin);
    fillCurve(context, points(0.62, -0.52, 0.3, -0.56, -0.1, -0.5, -0.5, -0.34, -0.16, -0.42, 0.28, -0.48), adjust(skin, 0.2, 0.6));
    fillCurve(context, points(-0.12, -0.82, -0.14, -1.08, -0.3, -1.12, -0.36, -0.72), adjust(skin, -0.05));
    fillCurve(context, points(0.2, -0.54, 0.1, -0.3, 0, -0.26, 0.02, -0.5), adjust(skin, -0.06));
    fillCurve(context, points(-0.9, -0.16, -1.24, -0.12, -1.28, 0.02, -0.98, -0.02, -0.78, 0.1, -0.74, 0), adjust(skin, -0.04));
    fillEllipse(context, { x: 0.54, y: -0.62 }, 0.024, 0.026, hex('#14161c'));
    for (let drop = 0; drop < 16; drop++) fillEllipse(context, { x: -1 + look.random.between(-0.4, 0.4), y: look.random.between(-0.26, 0.06) }, 0.03, 0.03, css(foam, 0.7));
    fillEllipse(context, { x: -1, y: 0.05 }, 0.5, 0.04, css(foam, 0.6));
  });
};

/** A swan or a duck on the water. */
export const drawSwan: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const body = lit(palette, look.colour ?? hex('#faf8f2'), look.depth);
  at(context, foot, size, look.facing, () => {
    for (let row = 0; row < 6; row++) fillEllipse(context, { x: look.random.between(-0.1, 0.1), y: 0.05 + row * 0.07 }, 0.5 - row * 0.06, 0.014, css(body, 0.4 - row * 0.055));
    strokeLine(context, points(0.36, -0.2, 0.5, -0.42, 0.4, -0.66, 0.36, -0.8, 0.44, -0.92, 0.54, -0.9), 0.1, body);
    fillCurve(context, points(-0.72, -0.4, -0.5, -0.36, -0.1, -0.46, 0.3, -0.34, 0.5, -0.14, 0.3, 0.03, -0.3, 0.04, -0.56, -0.08), body);
    fillCurve(context, points(-0.78, -0.52, -0.4, -0.5, 0.1, -0.4, 0.2, -0.2, -0.1, -0.12, -0.44, -0.22), mix(body, palette.rim, 0.35));
    fillEllipse(context, { x: 0.53, y: -0.9 }, 0.085, 0.07, body);
    fillShape(context, points(0.58, -0.93, 0.74, -0.85, 0.58, -0.85), lit(palette, hex('#e8842c'), look.depth));
    fillEllipse(context, { x: 0.55, y: -0.915 }, 0.015, 0.015, hex('#16161a'));
  });
};
