/**
 * Finishes that break the picture into plain areas: triangles, panes of glass, large pixels.
 */
import { createCanvas } from '@napi-rs/canvas';
import { css } from '../colour.ts';
import { fillShape } from '../draw.ts';
import type { Point, Stage } from '../stage.ts';
import { colourAt, pixelsOf } from './pixels.ts';
import type { Pixels } from './pixels.ts';

/** Triangles between jittered points, each in the colour at its centre. */
export function lowPoly(stage: Stage): void {
  const { context, scale, width, height } = stage;
  const pixels = pixelsOf(context);
  const random = stage.random.fork('facets');
  const cell = 16;
  const [columns, rows] = [Math.ceil(width / cell) + 2, Math.ceil(height / cell) + 2];
  const grid: Point[] = Array.from({ length: columns * rows }, (_, index) => ({
    x: ((index % columns) - 0.5) * cell + random.between(-0.42, 0.42) * cell,
    y: (Math.floor(index / columns) - 0.5) * cell + random.between(-0.42, 0.42) * cell,
  }));
  for (let index = 0; index < grid.length - columns - 1; index++) {
    if ((index + 1) % columns === 0) continue;
    const corners = [grid[index], grid[index + 1], grid[index + columns], grid[index + columns + 1]];
    const [a, b, c, d] = corners;
    if (a === undefined || b === undefined || c === undefined || d === undefined) continue;
    const triangles = random.chance(0.5)
      ? [
          [a, b, c],
          [b, d, c],
        ]
      : [
          [a, b, d],
          [a, d, c],
        ];
    for (const triangle of triangles) {
      const x = triangle.reduce((sum, point) => sum + point.x, 0) / 3;
      const y = triangle.reduce((sum, point) => sum + point.y, 0) / 3;
      const shift = random.between(-9, 9);
      const [red, green, blue] = colourAt(pixels, scale, x, y);
      const tone = css([red + shift, green + shift, blue + shift]);
      fillShape(context, triangle, tone);
      context.strokeStyle = tone;
      context.lineWidth = 0.8;
      context.stroke();
    }
  }
}

/** Panes of coloured glass between leads. */
export function glass(stage: Stage): void {
  const { context, scale, width, height } = stage;
  const random = stage.random.fork('panes');
  const cell = 19;
  const [columns, rows] = [Math.ceil(width / cell) + 3, Math.ceil(height / cell) + 3];
  const seeds = Array.from({ length: columns * rows }, (_, index) => ({
    x: ((index % columns) - 1 + random.between(0.08, 0.92)) * cell,
    y: (Math.floor(index / columns) - 1 + random.between(0.08, 0.92)) * cell,
    shift: random.between(-16, 22),
  }));
  const pixels = pixelsOf(context);
  const source: Pixels = { ...pixels, data: Uint8ClampedArray.from(pixels.data) };
  const tones = seeds.map(({ x, y, shift }) =>
    colourAt(source, scale, x, y).map((value) => Math.min(255, value * 1.3 + 12 + shift)),
  );
  for (let row = 0; row < pixels.height; row++) {
    const y = row / scale;
    const seedRow = Math.floor(y / cell) + 1;
    for (let column = 0; column < pixels.width; column++) {
      const x = column / scale;
      const seedColumn = Math.floor(x / cell) + 1;
      let [nearest, second, best] = [Infinity, Infinity, 0];
      for (let down = -1; down <= 1; down++) {
        for (let across = -1; across <= 1; across++) {
          const index = (seedRow + down) * columns + seedColumn + across;
          const seed = seeds[index];
          if (seed === undefined) continue;
          const far = (seed.x - x) ** 2 + (seed.y - y) ** 2;
          if (far < nearest) [nearest, second, best] = [far, nearest, index];
          else if (far < second) second = far;
        }
      }
      const lead = Math.max(0, Math.min(1, (Math.sqrt(second) - Math.sqrt(nearest) - 0.8) / 1.2));
      const shine = 1.12 - Math.sqrt(nearest) / (cell * 2.4);
      const place = (row * pixels.width + column) * 4;
      for (let channel = 0; channel < 3; channel++)
        pixels.data[place + channel] = 22 + ((tones[best]?.[channel] ?? 0) * shine - 22) * lead;
    }
  }
  pixels.put();
}

/** Large square pixels in few tones, dithered. */
export function pixelArt(stage: Stage): void {
  const { context } = stage;
  const { canvas } = context;
  const block = Math.max(1, Math.round(Math.sqrt(canvas.width * canvas.height) / 190));
  const small = createCanvas(Math.ceil(canvas.width / block), Math.ceil(canvas.height / block));
  const tiny = small.getContext('2d');
  tiny.imageSmoothingEnabled = true;
  tiny.imageSmoothingQuality = 'high';
  tiny.drawImage(canvas, 0, 0, small.width, small.height);
  const image = tiny.getImageData(0, 0, small.width, small.height);
  const columns = small.width;
  const bayer = [0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5];
  const step = 255 / 9;
  for (let place = 0; place < image.data.length; place += 4) {
    const index = place / 4;
    const order =
      ((bayer[((Math.floor(index / columns) & 3) << 2) | ((index % columns) & 3)] ?? 0) / 16 - 0.5) * step * 0.6;
    for (let channel = 0; channel < 3; channel++)
      image.data[place + channel] = Math.round(((image.data[place + channel] ?? 0) + order) / step) * step;
  }
  tiny.putImageData(image, 0, 0);
  context.save();
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, small.width * block, small.height * block);
  context.restore();
}
