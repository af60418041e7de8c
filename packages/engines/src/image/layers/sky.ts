/**
 * The sky itself: its gradient, and the things that are only visible at night or in clear weather: stars, the Milky
 * Way, northern lights.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import { downwards, fillEllipse, fillShape, glow } from '../draw.ts';
import { createLineNoise, createPlaneNoise, fractal } from '../noise.ts';
import type { Stage } from '../stage.ts';

/** Fills the whole image; below the horizon other layers cover it. */
export function drawSky(stage: Stage): void {
  const { context, width, height, horizon, palette } = stage;
  const [zenith, high, low, bottom] = palette.sky;
  if (stage.style === 'minimal') {
    context.fillStyle = downwards(context, 0, horizon, css(mix(high, low, 0.35)), css(mix(low, bottom, 0.5)));
  } else {
    const gradient = context.createLinearGradient(0, 0, 0, horizon);
    for (const [position, colour] of [
      [0, zenith],
      [0.42, high],
      [0.78, low],
      [1, bottom],
    ] as const) {
      gradient.addColorStop(position, css(colour));
    }
    context.fillStyle = gradient;
  }
  context.fillRect(0, 0, width, height);
  if (stage.skyForm !== undefined) drawSkyForm(stage, stage.skyForm);
}

/** Plain shapes around the light, in steps between two colours of the sky. */
function drawSkyForm(stage: Stage, form: 'rays' | 'rings' | 'bands'): void {
  const { context, width, height, horizon, light, palette } = stage;
  const [top, , , low] = palette.sky;
  const reach = Math.hypot(width, height);
  context.fillStyle = css(top);
  context.fillRect(0, 0, width, height);
  if (form === 'rays') {
    for (let ray = 0; ray < 36; ray += 2) {
      const [from, to] = [(ray / 36) * Math.PI * 2, ((ray + 1) / 36) * Math.PI * 2];
      const corner = (angle: number): { x: number; y: number } => ({
        x: light.x + Math.cos(angle) * reach,
        y: light.y + Math.sin(angle) * reach,
      });
      fillShape(context, [light, corner(from), corner(to)], mix(top, low, 0.6));
    }
    return;
  }
  for (let step = 0; step < 4; step++) {
    const tone = mix(top, low, (step + 1) / 4.5);
    if (form === 'rings')
      fillEllipse(context, light, light.radius * (6.2 - step * 1.5), light.radius * (6.2 - step * 1.5), tone);
    else {
      context.fillStyle = css(tone);
      context.fillRect(0, horizon * (0.3 + step * 0.19), width, height);
    }
  }
}

/** Stars thin out towards the horizon; a few are larger and have a glow. */
export function drawStars(stage: Stage, density = 1): void {
  const { context, width, horizon, palette } = stage;
  const random = stage.random.fork('stars');
  const count = Math.round(0.00042 * width * horizon * density);
  for (let index = 0; index < count; index++) {
    const y = horizon * random.next() ** 1.25;
    const position = { x: random.between(0, width), y };
    const fade = 1 - (y / horizon) * 0.85;
    const size = 0.45 + random.next() ** 6 * 2.1;
    const colour = mix(hex('#ffffff'), random.pick([hex('#bcd4ff'), hex('#ffe3bd'), palette.rim]), random.next() * 0.6);
    fillEllipse(context, position, size, size, css(colour, fade * random.between(0.35, 1)));
    if (size > 1.7) glow(context, position, size * 7, colour, 0.35 * fade);
  }
}

/** A band of light clouds and dense stars across the sky. */
export function drawGalaxy(stage: Stage): void {
  const { context, width, horizon, palette } = stage;
  const random = stage.random.fork('galaxy');
  const wander = createLineNoise(random);
  const rise = random.chance(0.5) ? 1 : -1;
  const along = (share: number): { x: number; y: number } => ({
    x: width * share,
    y: horizon * (0.5 + rise * (share - 0.5) * 0.75) + wander(share * 3) * 45,
  });
  const hues = [adjust(palette.sky[3], 0, 1.5), hex('#7f8cf0'), hex('#d98bd0'), hex('#f3cfa8')] as const;
  context.save();
  context.globalCompositeOperation = 'screen';
  for (let index = 0; index < 90; index++) {
    const centre = along(random.between(-0.1, 1.1));
    const spread = (random.next() + random.next() - 1) * 85;
    glow(
      context,
      { x: centre.x, y: centre.y + spread },
      random.between(50, 150),
      random.pick(hues),
      random.between(0.04, 0.13),
    );
  }
  for (let index = 0; index < 900; index++) {
    const centre = along(random.next());
    const spread = (random.next() + random.next() + random.next() - 1.5) * 110;
    fillEllipse(
      context,
      { x: centre.x, y: centre.y + spread },
      0.7,
      0.7,
      css(hex('#ffffff'), random.between(0.15, 0.8)),
    );
  }
  context.restore();
}

/** Curtains of light: vertical strokes that follow wandering lines. */
export function drawAurora(stage: Stage): void {
  const { context, width, horizon } = stage;
  const random = stage.random.fork('aurora');
  const hues = [hex('#4dffb0'), hex('#38e0c8'), hex('#8f7bff'), hex('#ff6fb5')] as const;
  context.save();
  context.globalCompositeOperation = 'screen';
  for (let curtain = 0; curtain < 4; curtain++) {
    const line = createLineNoise(random);
    const strength = createLineNoise(random);
    const base = horizon * random.between(0.42, 0.85);
    const colour = mix(hues[0], hues[curtain % 4] ?? hues[0], 0.75);
    for (let x = -10; x < width + 10; x += 3) {
      const y = base + fractal(line, x / 230 + curtain * 9, 3) * horizon * 0.26;
      const power = 0.5 + 0.5 * fractal(strength, x / 60, 3);
      const tall = horizon * (0.22 + 0.4 * power);
      const gradient = context.createLinearGradient(0, y - tall, 0, y + 16);
      gradient.addColorStop(0, css(mix(colour, hues[2], 0.7), 0));
      gradient.addColorStop(0.55, css(mix(colour, hues[2], 0.25), 0.12 * power));
      gradient.addColorStop(0.93, css(colour, 0.42 * power));
      gradient.addColorStop(1, css(colour, 0));
      context.fillStyle = gradient;
      context.fillRect(x, y - tall, 3.6, tall + 16);
    }
  }
  context.restore();
}

/** Soft coloured clouds between the stars, for images of space. */
export function drawNebula(stage: Stage): void {
  const { context, width, height, palette } = stage;
  const random = stage.random.fork('nebula');
  const noise = createPlaneNoise(random);
  const hues = [
    adjust(palette.sky[2], 0.05, 1.5),
    adjust(palette.sky[3], 0, 1.5),
    hex('#c25bb0'),
    hex('#3f7fd6'),
  ] as const;
  context.save();
  context.globalCompositeOperation = 'screen';
  for (let index = 0; index < 150; index++) {
    const [x, y] = [random.between(0, width), random.between(0, height)];
    const density = noise(x / 260, y / 260) + 0.5 * noise(x / 120, y / 120);
    if (density < 0) continue;
    glow(context, { x, y }, random.between(60, 190), random.pick(hues), 0.13 * density);
  }
  context.restore();
}
