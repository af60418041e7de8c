/**
 * Fewer and plainer areas, as a painter would see them: a photograph has too many for the finishes that paint.
 */
import type { Style } from '../lexicon.ts';
import type { Pixels } from '../finish/pixels.ts';
import { guided } from '../analysis/planes.ts';
import type { Plane } from '../analysis/planes.ts';

/** How plain a style requires it: the variance below which an area is one, and steps of light if it uses them. */
const PLAINNESS: { readonly [Name in Style]?: { readonly softness: number; readonly steps?: number } } = {
  watercolour: { softness: 0.012, steps: 9 },
  minimal: { softness: 0.03, steps: 5 },
  'paper-cut': { softness: 0.03, steps: 6 },
  pop: { softness: 0.02 },
  glass: { softness: 0.012 },
  'low-poly': { softness: 0.008 },
  pixel: { softness: 0.004 },
  sketch: { softness: 0.004 },
  ink: { softness: 0.004 },
  oil: { softness: 0.002 },
};

function channelOf({ width, height, data }: Pixels, channel: number): Plane {
  const values = new Float32Array(width * height);
  for (let index = 0; index < values.length; index++) values[index] = (data[index * 4 + channel] ?? 0) / 255;
  return { width, height, values };
}

/** Makes an image plainer for a style, in place; unchanged for styles that need all detail. */
export function simplify(pixels: Pixels, style: Style): void {
  const wanted = PLAINNESS[style];
  if (wanted === undefined) return;
  const { width, height, data } = pixels;
  const radius = Math.max(2, Math.round(Math.sqrt(width * height) / 170));
  const channels = [0, 1, 2].map((channel) => {
    const plane = channelOf(pixels, channel);
    const once = guided(plane, plane, radius, wanted.softness);
    return guided(once, once, radius, wanted.softness);
  });
  for (let index = 0; index < width * height; index++) {
    const colour = channels.map(({ values }) => (values[index] ?? 0) * 255);
    const light = (colour[0] ?? 0) * 0.3 + (colour[1] ?? 0) * 0.59 + (colour[2] ?? 0) * 0.11;
    const step = wanted.steps === undefined ? light : stepped(light, 255 / wanted.steps);
    for (let channel = 0; channel < 3; channel++) data[index * 4 + channel] = (colour[channel] ?? 0) + (step - light);
  }
}

/** Moved to the middle of its step, with a short slope between two. */
function stepped(value: number, step: number): number {
  const position = value / step;
  const share = position - Math.floor(position);
  const slope = Math.max(0, Math.min(1, (share - 0.38) / 0.24));
  return (Math.floor(position) + slope) * step;
}
