/**
 * Edits of sharpness: a background out of focus, a toy town, motion, a glow; and effects of lenses and photographic
 * film.
 */
import { createCanvas } from '@napi-rs/canvas';
import { css, hex } from '../colour.ts';
import type { Pixels } from '../finish/pixels.ts';
import { grainTile } from '../finish/pixels.ts';
import { applyBloom } from '../layers/richness.ts';
import { blendInto, changeColours } from '../analysis/colour-cube.ts';
import { canvasOf, pixelsIn } from '../analysis/input-images.ts';
import { boxBlur, smoothStep } from '../analysis/planes.ts';
import { blurred } from './blur.ts';
import { stageOver } from './image-stage.ts';
import type { Focus } from './plan-rules.ts';
import { contrasted } from './tones.ts';
import type { Workpiece } from './workpiece.ts';

/** The background blurred without the subject bleeding into it; lights in it become discs. */
function blurBackground(work: Workpiece): void {
  const { pixels, subject } = work;
  const { width, height } = pixels;
  // The subject is first filled with its surroundings, so that its colours do not bleed.
  const emptied = { width, height, data: Uint8ClampedArray.from(pixels.data) };
  const near = boxBlur(subject.mask, Math.max(2, Math.round(width / 60)));
  const around = pixelsIn(blurred({ ...emptied, data: withoutSubject(pixels, subject.mask.values) }, 0.045));
  blendInto(emptied, around, (index) => Math.min(1, (near.values[index] ?? 0) * 1.6));
  const soft = pixelsIn(blurred(emptied, 0.016));
  const softer = pixelsIn(blurred(emptied, 0.03));
  const mean = Math.max(0.3, subject.bottom);
  blendInto(soft, softer, (index) => smoothStep(0.05, 0.5, Math.abs(Math.floor(index / width) / height - mean)));
  changeColours(soft, (colour) => contrasted(colour, 1.04));
  blendInto(work.pixels, soft, (index) => 1 - smoothStep(0.25, 0.7, subject.mask.values[index] ?? 0));
}

/** The subject's pixels in the mean colour of the rest. */
function withoutSubject(pixels: Pixels, mask: Float32Array): Uint8ClampedArray {
  const data = Uint8ClampedArray.from(pixels.data);
  const sums = [0, 0, 0];
  let count = 1;
  for (let index = 0; index < mask.length; index += 5) {
    if ((mask[index] ?? 0) > 0.1) continue;
    for (let channel = 0; channel < 3; channel++)
      sums[channel] = (sums[channel] ?? 0) + (data[index * 4 + channel] ?? 0);
    count += 1;
  }
  for (let index = 0; index < mask.length; index++) {
    const share = Math.min(1, (mask[index] ?? 0) * 2);
    if (share === 0) continue;
    for (let channel = 0; channel < 3; channel++) {
      const position = index * 4 + channel;
      data[position] = (data[position] ?? 0) * (1 - share) + ((sums[channel] ?? 0) / count) * share;
    }
  }
  return data;
}

function streak(work: Workpiece, kind: 'motion' | 'zoom'): void {
  const { width, height, subject } = work;
  const sheet = createCanvas(width, height);
  const context = sheet.getContext('2d');
  const source = canvasOf(work.pixels);
  const centre = { x: ((subject.left + subject.right) / 2) * width, y: ((subject.top + subject.bottom) / 2) * height };
  const steps = 26;
  for (let step = 0; step < steps; step++) {
    context.globalAlpha = 1 / (step + 1);
    if (kind === 'motion') {
      const shift = (step / steps - 0.5) * width * 0.11;
      context.drawImage(source, shift, 0, width, height);
      if (shift > 0) context.drawImage(source, 0, 0, 1, height, 0, 0, shift, height);
      else context.drawImage(source, width - 1, 0, 1, height, width + shift, 0, -shift, height);
    } else {
      const scale = 1 + (step / steps) * 0.22;
      context.drawImage(source, centre.x * (1 - scale), centre.y * (1 - scale), width * scale, height * scale);
    }
  }
  const moved = pixelsIn(sheet);
  const keep = kind === 'motion' ? (subject.clarity > 0.2 ? 0.92 : 0) : 0;
  blendInto(work.pixels, moved, (index) => {
    if (kind === 'motion') return 1 - (subject.mask.values[index] ?? 0) * keep;
    const [x, y] = [(index % width) - centre.x, Math.floor(index / width) - centre.y];
    return smoothStep(0.06, 0.32, Math.hypot(x, y) / Math.hypot(width, height));
  });
}

function tiltShift(work: Workpiece): void {
  const { width, height, subject } = work;
  const middle = subject.clarity > 0.2 ? (subject.top + subject.bottom) / 2 : 0.6;
  changeColours(work.pixels, (colour) => contrasted(colour, 1.12));
  changeColours(work.pixels, ([red, green, blue]) => {
    const grey = red * 0.3 + green * 0.59 + blue * 0.11;
    return [grey + (red - grey) * 1.45, grey + (green - grey) * 1.45, grey + (blue - grey) * 1.45];
  });
  const soft = pixelsIn(blurred(work.pixels, 0.007));
  const softer = pixelsIn(blurred(work.pixels, 0.02));
  const far = (index: number): number => Math.abs(Math.floor(index / width) / height - middle);
  blendInto(work.pixels, soft, (index) => smoothStep(0.09, 0.2, far(index)));
  blendInto(work.pixels, softer, (index) => smoothStep(0.2, 0.42, far(index)));
}

function sharpen(work: Workpiece, strength: number): void {
  const soft = pixelsIn(blurred(work.pixels, 0.0016));
  const wide = pixelsIn(blurred(work.pixels, 0.012));
  const { data } = work.pixels;
  for (let position = 0; position < data.length; position++) {
    if (position % 4 === 3) continue;
    const value = data[position] ?? 0;
    data[position] =
      value +
      (value - (soft.data[position] ?? 0)) * 1.1 * strength +
      (value - (wide.data[position] ?? 0)) * 0.28 * strength;
  }
}

function addGrain(work: Workpiece): void {
  const { width, data } = work.pixels;
  const tile = grainTile(work.random.fork('film grain'));
  for (let index = 0; index < data.length / 4; index++) {
    const [column, row] = [index % width, Math.floor(index / width)];
    const noise = (tile[((row & 255) << 8) | ((column + (row >> 8) * 97) & 255)] ?? 0) * 24;
    for (let channel = 0; channel < 3; channel++) data[index * 4 + channel] = (data[index * 4 + channel] ?? 0) + noise;
  }
}

/** Changes which parts of the image are sharp. */
export function applyFocus(work: Workpiece, focus: Focus): void {
  const { width, height } = work;
  switch (focus) {
    case 'background':
      return blurBackground(work);
    case 'tilt':
      return tiltShift(work);
    case 'whole':
      return work.replace(pixelsIn(blurred(work.pixels, 0.012)));
    case 'motion':
    case 'zoom':
      return streak(work, focus);
    case 'soft': {
      const soft = pixelsIn(blurred(work.pixels, 0.012));
      blendInto(work.pixels, soft, () => 0.5);
      return changeColours(work.pixels, ([red, green, blue]) => [red * 0.95 + 14, green * 0.95 + 13, blue * 0.95 + 14]);
    }
    case 'sharp':
      return sharpen(work, 1);
    case 'glow':
      return work.draw((canvas) => {
        const stage = stageOver(canvas, work, { name: 'glow' });
        applyBloom(stage, 0.85);
        applyBloom(stage, 0.6);
      });
    case 'vignette':
      return work.draw((canvas) => {
        const context = canvas.getContext('2d');
        const [x, y] = [width / 2, height / 2];
        const dark = context.createRadialGradient(
          x,
          y,
          Math.min(width, height) * 0.34,
          x,
          y,
          Math.hypot(width, height) * 0.54,
        );
        dark.addColorStop(0, css(hex('#000000'), 0));
        dark.addColorStop(1, css(hex('#060408'), 0.86));
        context.fillStyle = dark;
        context.fillRect(0, 0, width, height);
      });
    case 'grain':
      return addGrain(work);
  }
}

/** A careful improvement, for prompts that contain no known request. */
export function improve(work: Workpiece): void {
  sharpen(work, 0.55);
}
