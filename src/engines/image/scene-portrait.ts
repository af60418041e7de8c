/**
 * A portrait: head and shoulders before a ground out of focus, or before the land that the prompt names.
 */
import { adjust, css, hex, mix } from './colour.ts';
import type { Composition } from './composition.ts';
import { fillEllipse, glow } from './draw.ts';
import { hasAny, LANDS } from './lands.ts';
import { drawSitter } from './layers/face.ts';
import { drawSky } from './layers/sky.ts';
import { readSitter } from './portrait-reading.ts';
import { paintBackdrop, paintSky } from './scene-backdrop.ts';
import type { Stage } from './stage.ts';

/** Discs of light out of focus. */
function paintBokeh(stage: Stage): void {
  const { context, width, height, palette, random } = stage;
  const chance = random.fork('bokeh');
  const [top, high, low, bottom] = palette.sky;
  const ground = context.createRadialGradient(
    width * 0.32,
    height * 0.34,
    0,
    width * 0.5,
    height * 0.5,
    Math.hypot(width, height) * 0.62,
  );
  ground.addColorStop(0, css(mix(low, bottom, 0.5)));
  ground.addColorStop(0.55, css(mix(high, low, 0.5)));
  ground.addColorStop(1, css(adjust(top, -0.08)));
  context.fillStyle = ground;
  context.fillRect(0, 0, width, height);
  context.save();
  context.globalCompositeOperation = 'screen';
  for (let disc = 0; disc < 26; disc++) {
    const place = { x: chance.between(0, width), y: chance.between(0, height * 0.95) };
    const radius = chance.between(14, 70);
    const colour = chance.pick([palette.rim, palette.sun, bottom, mix(palette.foliage, low, 0.4)]);
    fillEllipse(context, place, radius, radius, css(colour, chance.between(0.05, 0.17)));
    context.lineWidth = 2;
    context.strokeStyle = css(colour, 0.12);
    context.stroke();
  }
  context.restore();
}

/** Paints a portrait of whom the prompt describes. */
export function paintPortrait(stage: Stage, composition: Composition): void {
  const { width, height, palette, random, context } = stage;
  const sitter = readSitter(composition.words, random.fork('sitter'));
  const isOutside = hasAny(composition.mentions, LANDS);
  if (isOutside) {
    const far = { ...stage, horizon: height * 0.7 };
    paintSky(far, { ...composition, setting: 'land' });
    paintBackdrop(far, { ...composition, setting: 'land' });
    const haze = context.createLinearGradient(0, height * 0.55, 0, height);
    haze.addColorStop(0, css(palette.haze, 0));
    haze.addColorStop(0.6, css(mix(palette.haze, palette.grass, 0.5), 0.92));
    haze.addColorStop(1, css(adjust(palette.grass, -0.08)));
    context.fillStyle = haze;
    context.fillRect(0, 0, width, height);
  } else {
    drawSky(stage);
    paintBokeh(stage);
  }
  // What is worn on the head needs room above it.
  const size = Math.min(
    height * (sitter.headWear === 'crown' || sitter.headWear === 'hat' ? 0.48 : 0.56),
    width * 0.62,
  );
  const centre = { x: width * 0.5, y: Math.max(height * 0.42, height - size * 1.24) };
  glow(
    context,
    { x: centre.x - size * 0.5, y: centre.y - size * 0.3 },
    size * 1.5,
    palette.rim,
    palette.isDark ? 0.2 : 0.3,
  );
  const indoors = {
    ...stage,
    palette: { ...palette, light: palette.isDark ? mix(palette.light, hex('#ffe2c4'), 0.65) : palette.light },
  };
  drawSitter(indoors, centre, size, sitter);
  const corner = context.createRadialGradient(
    width * 0.5,
    height * 0.42,
    Math.min(width, height) * 0.42,
    width / 2,
    height / 2,
    Math.hypot(width, height) * 0.6,
  );
  corner.addColorStop(0, css(adjust(palette.sky[0], -0.2), 0));
  corner.addColorStop(1, css(adjust(palette.sky[0], -0.25), 0.5));
  context.fillStyle = corner;
  context.fillRect(0, 0, width, height);
}
