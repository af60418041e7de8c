/**
 * Finishes that look painted: watercolour on paper, oil on canvas.
 */
import { strokeLine } from '../draw.ts';
import { createPlaneNoise } from '../noise.ts';
import type { Stage } from '../stage.ts';
import { colourAt, grainTile, pixelsOf } from './pixels.ts';

/** Bleeding edges, pigment that gathers in the grain of the paper, and a torn white border. */
export function watercolour(stage: Stage): void {
  const { context, scale, width, height } = stage;
  const pixels = pixelsOf(context);
  const random = stage.random.fork('paper');
  const [wander, fine, tile] = [createPlaneNoise(random), createPlaneNoise(random), grainTile(random)];
  const source = Uint8ClampedArray.from(pixels.data);
  const border = 34;
  for (let row = 0; row < pixels.height; row++) {
    const y = row / scale;
    for (let column = 0; column < pixels.width; column++) {
      const x = column / scale;
      const position = (row * pixels.width + column) * 4;
      const slow = wander(x / 46, y / 46);
      const quick = fine(x / 11, y / 11);
      const fromX = Math.max(0, Math.min(pixels.width - 1, Math.round(column + (slow * 6 + quick * 2.6) * scale)));
      const fromY = Math.max(
        0,
        Math.min(pixels.height - 1, Math.round(row + (wander(y / 46, x / 46 + 50) * 6 + quick * 2.2) * scale)),
      );
      const from = (fromY * pixels.width + fromX) * 4;
      const speck = tile[((row & 255) << 8) | (column & 255)] ?? 0;
      const wash = 1.04 + 0.13 * wander(x / 150 + 9, y / 150) + 0.05 * quick + 0.035 * speck;
      const edge = Math.min(x, y, width - x, height - y) + slow * 11 + quick * 5;
      const paint = Math.max(0, Math.min(1, (edge - border + 10) / 9)) * 0.94;
      const rim = edge > border - 2 && edge < border + 7 ? 0.9 : 1;
      const paper = 249 + speck * 3.5 + quick * 1.5;
      for (let channel = 0; channel < 3; channel++) {
        const pigment = Math.min(255, (source[from + channel] ?? 0) * wash * rim);
        const sheet = paper - channel * 4;
        pixels.data[position + channel] = sheet + ((pigment * sheet) / 255 - sheet) * paint;
      }
    }
  }
  pixels.put();
}

/** Strokes of a loaded brush, large ones first, along a slow current. */
export function oil(stage: Stage): void {
  const { context, scale, width, height } = stage;
  const pixels = pixelsOf(context);
  const random = stage.random.fork('brush');
  const current = createPlaneNoise(random);
  for (const [count, long, wide] of [
    [2400, 38, 15],
    [8000, 19, 6.5],
    [17000, 9, 3],
  ] as const) {
    for (let stroke = 0; stroke < count; stroke++) {
      const [x, y] = [random.between(0, width), random.between(0, height)];
      const [red, green, blue] = colourAt(pixels, scale, x, y);
      const shift = random.between(-11, 11);
      const angle = current(x / 210, y / 210) * 2.2;
      const half = long * random.between(0.3, 0.6);
      const [dx, dy] = [Math.cos(angle) * half, Math.sin(angle) * half];
      const bend = random.between(-0.2, 0.2) * half;
      const line = [
        { x: x - dx, y: y - dy },
        { x: x - dy * 0.2 + bend * 0.2, y: y + dx * 0.2 + bend * 0.2 },
        { x: x + dx, y: y + dy },
      ];
      strokeLine(
        context,
        line,
        wide * random.between(0.6, 1.1),
        [red + shift, green + shift, blue + shift],
        wide < 5 ? 0.75 : 0.9,
      );
    }
  }
}
