/**
 * Clouds: heaps with a flat base for fair weather, long banks near the horizon, an overcast sky for bad weather.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { fillEllipse, glow } from '../draw.ts';
import type { Random } from '@darkroom/seeded-random/random';
import type { Point, Stage } from '../stage.ts';

/** One heap: circles along a base line, lit from above and tinted below. */
function drawHeap(
  stage: Stage,
  centre: Point,
  length: number,
  random: Random,
  colours: { top: Colour; bottom: Colour },
): void {
  const { context } = stage;
  const tall = length * random.between(0.2, 0.3);
  const puffs = Array.from({ length: 13 }, (_, index) => {
    const share = (index + random.between(0.1, 0.9)) / 13;
    const bulge = Math.sin(share * Math.PI) ** 0.8;
    const radius = tall * (0.2 + 0.4 * bulge * random.between(0.55, 1.15));
    const lift = tall * 0.6 * bulge * random.next() ** 1.5;
    return { x: centre.x + (share - 0.5) * length * 0.86, y: centre.y - radius * 0.5 - lift, radius };
  });
  context.save();
  context.beginPath();
  context.rect(centre.x - length, centre.y - tall * 3, length * 2, tall * 3);
  context.clip();
  const body = context.createLinearGradient(0, centre.y - tall * 1.35, 0, centre.y);
  body.addColorStop(0, css(colours.top));
  body.addColorStop(1, css(colours.bottom));
  context.beginPath();
  for (const { x, y, radius } of puffs) {
    context.moveTo(x + radius, y);
    context.arc(x, y, radius, 0, Math.PI * 2);
  }
  context.fillStyle = stage.isFlat ? css(colours.top) : body;
  context.fill();
  context.rect(centre.x - length * 0.46, centre.y - tall * 0.3, length * 0.92, tall * 0.3);
  context.fill();
  context.restore();
}

/** A long flat bank of cloud with soft ends. */
function drawBank(stage: Stage, centre: Point, length: number, random: Random, colour: Colour, alpha: number): void {
  for (let strip = 0; strip < 6; strip++) {
    const part = length * random.between(0.3, 0.75);
    const x = centre.x + (length - part) * random.between(-0.5, 0.5);
    const y = centre.y + random.between(-7, 7);
    fillEllipse(
      stage.context,
      { x, y },
      part / 2,
      random.between(2.5, 6.5),
      css(colour, alpha * random.between(0.35, 0.8)),
    );
  }
}

/** An overcast sky, darker above: rain and storm. */
function drawCover(stage: Stage, strength: number): void {
  const { context, width, horizon, palette } = stage;
  const random = stage.random.fork('cover');
  const dark = adjust(mix(palette.sky[0], hex('#2c333d'), 0.45), -0.02);
  const pale = mix(palette.sky[2], palette.sky[3], 0.4);
  for (let index = 0; index < 120; index++) {
    const share = random.next() ** 1.4;
    const centre = { x: random.between(-80, width + 80), y: horizon * share * 0.72 };
    const colour = mix(dark, pale, share * 0.8 + random.between(-0.15, 0.2));
    const radius = random.between(90, 200) * (1.1 - share * 0.6);
    context.save();
    context.translate(centre.x, centre.y);
    context.scale(1.7, 0.62);
    glow(context, { x: 0, y: 0 }, radius, colour, 0.5 * strength);
    context.restore();
  }
}

/**
 * The clouds of the scene.
 *
 * @param count heaps requested by the prompt; 0 leaves it to the weather.
 */
export function drawClouds(stage: Stage, count: number, colour: Colour | undefined): void {
  const { width, horizon, palette, weather, light } = stage;
  const random = stage.random.fork('clouds');
  if (weather.has('storm')) drawCover(stage, 1);
  else if (weather.has('rain') || weather.has('cloudy')) drawCover(stage, 0.62);
  else if (weather.has('snow')) drawCover(stage, 0.35);
  const isFoul = weather.has('storm') || weather.has('rain') || weather.has('fog');
  const white = colour ?? (palette.isDark ? mix(palette.sky[2], palette.sky[3], 0.4) : hex('#ffffff'));
  const top = mix(mix(white, palette.rim, 0.35), palette.sky[3], palette.isDark ? 0.35 : 0.12);
  const banks = stage.isFlat ? 0 : random.integer(3, 6);
  for (let index = 0; index < banks; index++) {
    const y = horizon * random.between(0.45, 0.92);
    const near = Math.abs(light.y - y) < 120;
    const bank = near && light.body === 'sun' ? mix(palette.rim, palette.sky[3], 0.3) : mix(palette.sky[2], top, 0.35);
    drawBank(stage, { x: random.between(0, width), y }, random.between(180, 460), random, bank, isFoul ? 0.25 : 0.5);
  }
  const heaps = count > 0 ? count + 2 : isFoul || weather.has('clear') ? 0 : palette.isDark ? 0 : random.integer(0, 4);
  for (let index = 0; index < heaps; index++) {
    const share = random.between(0.12, 0.78);
    const length = random.between(150, 300) * (1.15 - share * 0.75);
    const centre = { x: width * ((index + random.between(0.15, 0.85)) / heaps), y: horizon * share };
    const bottom = mix(palette.sky[1], palette.sky[2], 0.3 + share * 0.7);
    const far = share * 0.45;
    drawHeap(stage, centre, length, random, {
      top: mix(top, palette.sky[3], far),
      bottom: mix(mix(top, bottom, 0.62), palette.sky[3], far),
    });
  }
}
