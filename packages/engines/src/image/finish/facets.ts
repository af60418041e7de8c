/**
 * Finishes that break the image into plain areas: triangles, panes of glass, large pixels.
 */
import { createCanvas } from '@napi-rs/canvas';
import { css } from '../colour.ts';
import { fillShape } from '../draw.ts';
import type { Colour } from '../colour.ts';
import type { Stage } from '../stage.ts';
import { colourAt, grainTile, pixelsOf } from './pixels.ts';
import { pointsOn, segmentsOf, trianglesOf } from './segments.ts';

/** Distance between the corners of triangles, in units. */
const FACET = 27;

/** Triangles with corners on the image's edges, each in the colour at its centre and shaded a little by its angle. */
export function lowPoly(stage: Stage): void {
  const { context, scale, width, height } = stage;
  const pixels = pixelsOf(context);
  const random = stage.random.fork('facets');
  const lightAt = (x: number, y: number): number => {
    const [red, green, blue] = colourAt(pixels, scale, x, y);
    return red * 0.3 + green * 0.59 + blue * 0.11;
  };
  const points = pointsOn(lightAt, { width, height }, FACET, random);
  for (const [a, b, c] of trianglesOf(points, width, height)) {
    const [x, y] = [(a.x + b.x + c.x) / 3, (a.y + b.y + c.y) / 3];
    // The mean of the centre and the points halfway to the corners: one pixel does not show the area's colour.
    const parts = [{ x, y }, ...[a, b, c].map((corner) => ({ x: (x + corner.x) / 2, y: (y + corner.y) / 2 }))].map(
      (position) => colourAt(pixels, scale, position.x, position.y),
    );
    const shift = random.between(-7, 7) + Math.max(-8, Math.min(8, (b.y - a.y + c.y - a.y) * 0.12));
    const tone = css(
      [0, 1, 2].map(
        (channel) => parts.reduce((sum, part) => sum + (part[channel] ?? 0), 0) / 4 + shift,
      ) as unknown as Colour,
    );
    fillShape(context, [a, b, c], tone);
    context.strokeStyle = tone;
    context.lineWidth = 0.9;
    context.stroke();
  }
}

/** The size of a pane in units, and pixels of the longer side of the copy that is divided into panes. */
const PANE = 36;
const DIVIDED = 620;
/** Half the width of the lead between two panes, in units. */
const LEAD = 1.7;

/** Panes of coloured glass that follow the content, with leads between them. */
export function glass(stage: Stage): void {
  const { context, scale } = stage;
  const { canvas } = context;
  const share = Math.min(1, DIVIDED / Math.max(canvas.width, canvas.height));
  const small = createCanvas(
    Math.max(1, Math.round(canvas.width * share)),
    Math.max(1, Math.round(canvas.height * share)),
  );
  const tiny = small.getContext('2d');
  tiny.imageSmoothingQuality = 'high';
  tiny.drawImage(canvas, 0, 0, small.width, small.height);
  const { width, height, labels, colours } = segmentsOf(pixelsOf(tiny), PANE * scale * share);
  const random = stage.random.fork('panes');
  const shifts = Float32Array.from({ length: colours.length / 3 }, () => random.between(-15, 22));
  const tile = grainTile(random);
  const pixels = pixelsOf(context);
  const reach = LEAD * scale;
  const labelAt = (column: number, row: number): number => {
    const x = Math.max(0, Math.min(width - 1, Math.floor(column * share)));
    return labels[Math.max(0, Math.min(height - 1, Math.floor(row * share))) * width + x] ?? 0;
  };
  const steps = [0, 1, 2, 3, 4, 5, 6, 7].map((step) => (step * Math.PI) / 4);
  for (let row = 0; row < pixels.height; row++) {
    for (let column = 0; column < pixels.width; column++) {
      const label = labelAt(column, row);
      let lead = 0;
      for (const angle of steps) {
        const [x, y] = [Math.cos(angle) * reach, Math.sin(angle) * reach];
        if (labelAt(column + x, row + y) !== label) lead += 1;
      }
      const glow = lead === 0 ? 1 : Math.max(0, 1 - lead / 2.6);
      const position = (row * pixels.width + column) * 4;
      const speck = (tile[((row >> 1) & 255) * 256 + ((column >> 1) & 255)] ?? 0) * 5;
      for (let channel = 0; channel < 3; channel++) {
        const tone = (colours[label * 3 + channel] ?? 0) * 1.2 + 8 + (shifts[label] ?? 0);
        // A little of the content of the pane shows through it.
        const shown = tone * 0.74 + (pixels.data[position + channel] ?? 0) * 0.34 + speck;
        pixels.data[position + channel] = 24 + (shown - 24) * glow;
      }
    }
  }
  pixels.put();
}

/**
 * Large square pixels in few tones, dithered.
 *
 * @param across how many of them on a square image.
 */
export function pixelArt(stage: Stage, across = 190): void {
  const { context } = stage;
  const { canvas } = context;
  const block = Math.max(1, Math.round(Math.sqrt(canvas.width * canvas.height) / across));
  const small = createCanvas(Math.ceil(canvas.width / block), Math.ceil(canvas.height / block));
  const tiny = small.getContext('2d');
  tiny.imageSmoothingEnabled = true;
  tiny.imageSmoothingQuality = 'high';
  tiny.drawImage(canvas, 0, 0, small.width, small.height);
  const image = tiny.getImageData(0, 0, small.width, small.height);
  const columns = small.width;
  const bayer = [0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5];
  const step = 255 / 9;
  for (let position = 0; position < image.data.length; position += 4) {
    const index = position / 4;
    const order =
      ((bayer[((Math.floor(index / columns) & 3) << 2) | ((index % columns) & 3)] ?? 0) / 16 - 0.5) * step * 0.6;
    for (let channel = 0; channel < 3; channel++)
      image.data[position + channel] = Math.round(((image.data[position + channel] ?? 0) + order) / step) * step;
  }
  tiny.putImageData(image, 0, 0);
  context.save();
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, small.width * block, small.height * block);
  context.restore();
}
