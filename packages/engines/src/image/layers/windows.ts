/**
 * A window in a wall: its frame, curtains, and the land outside.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import type { Composition } from '../composition.ts';
import { fillBox, fillCurve, strokeLine } from '../draw.ts';
import { choosePalette } from '../palette.ts';
import { readPrompt } from '../prompt-reading.ts';
import type { Stage } from '../stage.ts';
import { drawClouds } from './clouds.ts';
import { drawHills, drawMountains } from './ridges.ts';
import { drawSky, drawStars } from './sky.ts';
import { drawRain, drawSnowfall } from './weather.ts';
import { drawBelt } from './woods.ts';

export interface Opening {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** The land outside, in the hour and weather of the scene. */
function paintOutside(stage: Stage, { time, season, weather }: Composition, opening: Opening): void {
  const random = stage.random.fork('outside');
  const reading = { ...readPrompt(''), time, season, weather };
  const palette = choosePalette(reading, time, season, random.fork('palette'));
  const { context } = stage;
  const horizon = opening.height * 0.7;
  context.save();
  context.beginPath();
  context.rect(opening.x, opening.y, opening.width, opening.height);
  context.clip();
  context.translate(opening.x, opening.y);
  const outside: Stage = {
    ...stage,
    width: opening.width,
    height: opening.height,
    horizon,
    palette,
    time,
    season,
    weather,
    light: { ...stage.light, x: opening.width * 0.7, y: horizon * 0.4 },
    random,
  };
  drawSky(outside);
  if (time === 'night') drawStars(outside, 1.4);
  drawClouds(outside, time === 'night' ? 0 : 1, undefined);
  drawMountains(outside, undefined, 0.55);
  drawHills(outside, palette.grass, 3);
  drawBelt(outside, {
    yAt: () => horizon + opening.height * 0.06,
    size: opening.height * 0.16,
    depth: 0.35,
    kind: 'conifer',
    colour: palette.foliage,
    name: 'outside',
  });
  fillBox(
    context,
    0,
    horizon + opening.height * 0.07,
    opening.width,
    opening.height,
    season === 'winter' ? palette.snow : adjust(palette.grass, -0.04),
  );
  if (weather.has('rain') || weather.has('storm')) drawRain(outside);
  if (weather.has('snow') || season === 'winter') drawSnowfall(outside);
  context.restore();
}

/** A window with the land outside, its frame, sill and curtains. */
export function drawWindow(stage: Stage, composition: Composition, opening: Opening, curtain = hex('#b85c4a')): void {
  const { context } = stage;
  const { x, y, width, height } = opening;
  const frame = hex('#f0e8da');
  const bar = Math.min(width, height) * 0.035;
  paintOutside(stage, composition, opening);
  context.lineWidth = bar * 2;
  context.strokeStyle = css(frame);
  context.strokeRect(x, y, width, height);
  context.lineWidth = bar * 0.4;
  context.strokeStyle = css(adjust(frame, -0.16), 0.8);
  context.strokeRect(x + bar, y + bar, width - bar * 2, height - bar * 2);
  fillBox(context, x + width / 2 - bar / 2, y, bar, height, frame);
  fillBox(context, x, y + height * 0.4 - bar / 2, width, bar, frame);
  fillBox(context, x - bar * 2.4, y + height, width + bar * 4.8, bar * 1.5, mix(frame, hex('#ffffff'), 0.4));
  fillBox(context, x - bar * 2.4, y + height + bar * 1.5, width + bar * 4.8, bar * 0.6, adjust(frame, -0.2));
  const rod = y - bar * 2.4;
  for (const side of [-1, 1]) {
    const edge = side === -1 ? x - bar * 2.6 : x + width + bar * 2.6;
    const reach = width * 0.2 * -side;
    const bottom = y + height + bar * 3;
    fillCurve(
      context,
      [
        { x: edge, y: rod },
        { x: edge + reach * 0.6, y: rod },
        { x: edge + reach, y: rod },
        { x: edge + reach * 0.92, y: y + height * 0.3 },
        { x: edge + reach * 0.5, y: y + height * 0.62 },
        { x: edge + reach * 0.62, y: bottom },
        { x: edge, y: bottom },
        { x: edge - reach * 0.12, y: y + height * 0.5 },
      ],
      curtain,
    );
    for (let fold = 1; fold < 5; fold++) {
      const share = fold / 5;
      strokeLine(
        context,
        [
          { x: edge + reach * share * 0.94, y: rod + bar * 0.5 },
          { x: edge + reach * share * 0.8, y: y + height * 0.35 },
          { x: edge + reach * share * 0.46, y: y + height * 0.64 },
          { x: edge + reach * share * 0.56, y: bottom - 2 },
        ],
        bar * 0.5,
        adjust(curtain, fold % 2 === 0 ? -0.08 : 0.06),
        0.6,
      );
    }
  }
  strokeLine(
    context,
    [
      { x: x - width * 0.14, y: rod },
      { x: x + width * 1.14, y: rod },
    ],
    bar * 0.7,
    hex('#6a4a2e'),
  );
}
