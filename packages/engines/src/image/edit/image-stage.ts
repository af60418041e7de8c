/**
 * A stage over the caller's image, so that the painters of scenes can paint into it: its horizon, its light, its
 * colours.
 */
import type { Canvas } from '@napi-rs/canvas';
import type { Style, TimeOfDay, Weather } from '../lexicon.ts';
import { choosePalette } from '../palette.ts';
import type { Palette } from '../palette.ts';
import { readPrompt } from '../prompt-reading.ts';
import { colouredAs } from '../reference/look.ts';
import { unitOf } from '../scene-stage.ts';
import type { Stage } from '../stage.ts';
import type { Workpiece } from './workpiece.ts';

/** How the painters see the image. */
export interface Seen {
  readonly time?: TimeOfDay;
  readonly weather?: ReadonlySet<Weather>;
  readonly style?: Style;
  /** Another name gives other random values. */
  readonly name: string;
}

/** The hour whose light an image shows, estimated from its lightness. */
function hourOf(light: number): TimeOfDay {
  return light < 0.33 ? 'night' : light < 0.45 ? 'dusk' : 'noon';
}

/** The stage of a canvas that shows the image; scales its context to logical units. */
export function stageOver(canvas: Canvas, work: Workpiece, seen: Seen): Stage {
  const { features, sky } = work;
  const context = canvas.getContext('2d');
  const scale = unitOf(canvas);
  const size = { width: canvas.width / scale, height: canvas.height / scale };
  const time = seen.time ?? hourOf(features.light);
  const random = work.random.fork(seen.name);
  const reading = { ...readPrompt(''), time };
  const plain = choosePalette(reading, time, 'summer', random.fork('palette'));
  const palette: Palette = seen.time === undefined ? colouredAs(plain, features, reading) : plain;
  const horizon = size.height * (sky.share > 0 ? Math.max(0.2, sky.bottom) : features.horizon.position);
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return {
    context,
    ...size,
    scale,
    horizon,
    palette,
    light: {
      x: size.width * Math.max(0.1, Math.min(0.9, features.brightest.x)),
      y: Math.min(horizon * 0.8, size.height * features.brightest.y),
      body: time === 'night' ? 'moon' : 'sun',
      isVisible: false,
      radius: 44,
    },
    time,
    season: 'summer',
    weather: seen.weather ?? new Set(),
    style: seen.style ?? 'natural',
    isFlat: false,
    random,
  };
}
