/**
 * Frames around a finished image: an instant print, a margin, wood, film. The image keeps its size; the frame takes its
 * space from it.
 */
import { createCanvas } from '@napi-rs/canvas';
import { adjust, css, hex } from '../colour.ts';
import { createLineNoise } from '../noise.ts';
import { canvasOf, pixelsIn } from '../analysis/input-images.ts';
import { coverCrop } from '../analysis/cut-out.ts';
import type { FrameForm } from './plan-rules.ts';
import type { Workpiece } from './workpiece.ts';

interface Margins {
  readonly side: number;
  readonly top: number;
  readonly bottom: number;
  readonly colour: string;
}

/** As fractions of the shorter side. */
const MARGINS: Record<FrameForm, Margins> = {
  polaroid: { side: 0.06, top: 0.06, bottom: 0.2, colour: '#fbf9f3' },
  border: { side: 0.055, top: 0.055, bottom: 0.055, colour: '#ffffff' },
  wood: { side: 0.075, top: 0.075, bottom: 0.075, colour: '#6f4526' },
  film: { side: 0, top: 0.11, bottom: 0.11, colour: '#0b0a0c' },
};

/** Frames the image. */
export function frameWith(work: Workpiece, form: FrameForm): void {
  const { width, height } = work;
  const margins = MARGINS[form];
  const unit = Math.min(width, height);
  const [side, top, bottom] = [margins.side * unit, margins.top * unit, margins.bottom * unit];
  const [wide, tall] = [width - side * 2, height - top - bottom];
  const canvas = createCanvas(width, height);
  const context = canvas.getContext('2d');
  context.fillStyle = margins.colour;
  context.fillRect(0, 0, width, height);
  if (form === 'wood') {
    const noise = createLineNoise(work.random.fork('wood'));
    for (let line = 0; line < height; line += 2) {
      context.fillStyle = css(adjust(hex(margins.colour), noise(line / 9) * 0.05 + noise(line / 2.3) * 0.02), 0.7);
      context.fillRect(0, line, width, 2);
    }
    context.fillStyle = css(hex('#d8b36a'));
    context.fillRect(side * 0.78, top * 0.78, width - side * 1.56, height - (top + bottom) * 0.78);
    context.fillStyle = css(hex('#f6f1e6'));
    context.fillRect(side * 0.88, top * 0.88, width - side * 1.76, height - (top + bottom) * 0.88);
    context.strokeStyle = css(hex('#2e1a0c'), 0.7);
    context.lineWidth = unit * 0.006;
    context.strokeRect(0, 0, width, height);
  }
  const image = canvasOf(work.pixels);
  const part = coverCrop(image, wide / tall, { x: 0.5, y: 0.5 });
  context.imageSmoothingQuality = 'high';
  context.drawImage(image, part.left, part.top, part.width, part.height, side, top, wide, tall);
  if (form === 'film') {
    const hole = top * 0.42;
    for (let x = hole * 0.6; x < width; x += hole * 1.9) {
      for (const y of [top * 0.29, height - bottom * 0.71]) {
        context.fillStyle = css(hex('#e9e6df'));
        context.beginPath();
        context.roundRect(x, y, hole, hole, hole * 0.2);
        context.fill();
      }
    }
  } else {
    context.strokeStyle = css(hex('#000000'), 0.28);
    context.lineWidth = Math.max(1, unit * 0.002);
    context.strokeRect(side, top, wide, tall);
  }
  work.replace(pixelsIn(canvas));
}
