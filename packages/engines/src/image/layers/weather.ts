/**
 * Everything that falls and drifts in the foreground: rain, snow, fog, lightning, leaves; and the final light.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import { fillEllipse, glow, strokeLine } from '../draw.ts';
import { createLineNoise, fractal } from '../noise.ts';
import type { Point, Stage } from '../stage.ts';

export function drawRain(stage: Stage): void {
  const { context, width, height, palette } = stage;
  const random = stage.random.fork('rain');
  const slant = stage.weather.has('storm') || stage.weather.has('wind') ? 0.34 : 0.16;
  const drop = mix(palette.snow, palette.sky[3], 0.4);
  for (let index = 0; index < 520; index++) {
    const near = random.next();
    const long = 14 + near * 46;
    const start = { x: random.between(-0.05, 1.15) * width, y: random.between(-0.05, 1) * height };
    strokeLine(
      context,
      [start, { x: start.x - long * slant, y: start.y + long }],
      0.5 + near * 1.1,
      drop,
      0.14 + near * 0.24,
    );
  }
  for (let index = 0; index < 70; index++) {
    const y = height * random.between(0.78, 1);
    fillEllipse(
      context,
      { x: random.between(0, width), y },
      random.between(4, 13),
      random.between(0.8, 2.2),
      css(drop, 0.2),
    );
  }
}

export function drawSnowfall(stage: Stage): void {
  const { context, width, height } = stage;
  const random = stage.random.fork('snowfall');
  for (let index = 0; index < 430; index++) {
    const near = random.next() ** 3;
    const position = { x: random.between(0, width), y: random.between(0, height) };
    const radius = 0.9 + near * 6;
    if (near > 0.45) glow(context, position, radius * 2.1, hex('#ffffff'), 0.5);
    else fillEllipse(context, position, radius, radius, css(hex('#ffffff'), random.between(0.45, 0.95)));
  }
}

/** Veils of fog over the whole depth; stronger if the prompt names fog. */
export function drawFog(stage: Stage, strength: number): void {
  const { context, width, height, horizon, palette } = stage;
  const random = stage.random.fork('fog');
  for (let band = 0; band < 16; band++) {
    const y = horizon + random.between(-0.3, 0.5) * (height - horizon);
    context.save();
    context.translate(random.between(0, width), y);
    context.scale(4.2, 0.5);
    glow(
      context,
      { x: 0, y: 0 },
      random.between(70, 150),
      mix(palette.haze, hex('#ffffff'), palette.isDark ? 0.04 : 0.2),
      strength * random.between(0.3, 0.62),
    );
    context.restore();
  }
  const veil = context.createLinearGradient(0, horizon * 0.55, 0, height);
  veil.addColorStop(0, css(palette.haze, 0));
  veil.addColorStop(0.45, css(palette.haze, 0.34 * strength));
  veil.addColorStop(1, css(palette.haze, 0.06 * strength));
  context.fillStyle = veil;
  context.fillRect(0, 0, width, height);
}

export function drawLightning(stage: Stage): void {
  const { context, width, horizon } = stage;
  const random = stage.random.fork('lightning');
  const bolt = (from: Point, to: Point, wide: number, depth: number): void => {
    const line: Point[] = [from];
    for (let step = 1; step < 11; step++) {
      const share = step / 11;
      const position = {
        x: from.x + (to.x - from.x) * share + random.between(-17, 17),
        y: from.y + (to.y - from.y) * share,
      };
      line.push(position);
      if (depth > 0 && random.chance(0.24))
        bolt(
          position,
          { x: position.x + random.between(-110, 110), y: position.y + random.between(50, 130) },
          wide * 0.5,
          depth - 1,
        );
    }
    line.push(to);
    for (const [factor, alpha] of [
      [7, 0.1],
      [3, 0.28],
      [1, 1],
    ] as const)
      strokeLine(context, line, wide * factor, hex('#eef0ff'), alpha);
  };
  context.save();
  context.globalCompositeOperation = 'screen';
  const x = width * random.pick([0.22, 0.34, 0.68, 0.8]);
  glow(context, { x, y: horizon * 0.15 }, horizon * 0.95, hex('#aab6ff'), 0.55);
  bolt({ x, y: -5 }, { x: x + random.between(-60, 60), y: horizon * 0.97 }, 2.6, 2);
  context.restore();
}

/** Leaves or petals in the wind. */
export function drawLeaves(stage: Stage, colour: readonly [number, number, number]): void {
  const { context, width, height } = stage;
  const random = stage.random.fork('leaves');
  const path = createLineNoise(random);
  for (let index = 0; index < 46; index++) {
    const x = random.between(0, width);
    const y = height * (0.25 + 0.7 * random.next()) + fractal(path, x / 200, 2) * 40;
    const size = random.between(3, 8);
    fillEllipse(
      context,
      { x, y },
      size,
      size * 0.45,
      css(adjust(colour, random.between(-0.08, 0.1)), 0.85),
      random.between(0, Math.PI),
    );
  }
}

/** Light that lies over everything: warm towards its source, the corners a little darker. */
export function drawLightOver(stage: Stage): void {
  const { context, width, height, palette, light } = stage;
  if (stage.isFlat) return;
  if (light.body === 'sun' && light.isVisible && !palette.isDark) {
    context.save();
    context.globalCompositeOperation = 'screen';
    glow(context, light, Math.max(width, height) * 0.72, palette.rim, 0.2);
    context.restore();
  }
  const corner = context.createRadialGradient(
    width / 2,
    height * 0.46,
    Math.min(width, height) * 0.42,
    width / 2,
    height / 2,
    Math.hypot(width, height) * 0.62,
  );
  corner.addColorStop(0, css(palette.sky[0], 0));
  corner.addColorStop(1, css(adjust(palette.sky[0], -0.16), palette.isDark ? 0.5 : 0.3));
  context.fillStyle = corner;
  context.fillRect(0, 0, width, height);
}
