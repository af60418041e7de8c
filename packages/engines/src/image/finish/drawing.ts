/**
 * Finishes with one dark medium on paper: brush and ink, pencil.
 */
import { css, hex } from '../colour.ts';
import { strokeLine } from '../draw.ts';
import { createPlaneNoise } from '../noise.ts';
import type { Stage } from '../stage.ts';
import { grainTile, pixelsOf } from './pixels.ts';
import type { Pixels } from './pixels.ts';

/** How strong the edge is at each pixel, 0 to 1, with the lightness beside it. */
function edgesOf(pixels: Pixels, reach: number): { tone: Float32Array; edge: Float32Array } {
  const { width, height, data } = pixels;
  const tone = new Float32Array(width * height);
  for (let index = 0; index < tone.length; index++) {
    tone[index] =
      (0.3 * (data[index * 4] ?? 0) + 0.59 * (data[index * 4 + 1] ?? 0) + 0.11 * (data[index * 4 + 2] ?? 0)) / 255;
  }
  const edge = new Float32Array(width * height);
  for (let row = reach; row < height - reach; row++) {
    for (let column = reach; column < width - reach; column++) {
      const index = row * width + column;
      const across = (tone[index + reach] ?? 0) - (tone[index - reach] ?? 0);
      const down = (tone[index + reach * width] ?? 0) - (tone[index - reach * width] ?? 0);
      edge[index] = Math.min(1, Math.hypot(across, down) * 5.5);
    }
  }
  return { tone, edge };
}

/** One ink on paper: washes in few steps, dark outlines, a dry brush at the border; and a red seal. */
export function ink(stage: Stage): void {
  const { context, scale, width, height } = stage;
  const pixels = pixelsOf(context);
  const random = stage.random.fork('ink');
  const [bleed, tile] = [createPlaneNoise(random), grainTile(random)];
  const { tone, edge } = edgesOf(pixels, Math.max(1, Math.round(scale)));
  for (let row = 0; row < pixels.height; row++) {
    const y = row / scale;
    for (let column = 0; column < pixels.width; column++) {
      const x = column / scale;
      const index = row * pixels.width + column;
      const speck = tile[((row & 255) << 8) | (column & 255)] ?? 0;
      const soak = bleed(x / 90, y / 90) * 0.05 + bleed(x / 17, y / 17) * 0.02;
      const above = Math.max(0, 1 - y / stage.horizon) * 0.3;
      const depth = Math.max(0, 1 - (tone[index] ?? 0) * 1.16 - above + soak);
      const step = Math.floor(depth * 5 + 0.5 + speck * 0.2) / 5;
      const wash = depth * 0.6 + step * 0.4;
      const dark = Math.min(1, wash ** 1.25 * 0.95 + (edge[index] ?? 0) * 0.6);
      const out = Math.min(x, y, width - x, height - y) + bleed(x / 26, y / 26) * 26;
      const shown = dark * Math.max(0, Math.min(1, (out - 16) / 26));
      const position = index * 4;
      const paper = 1 + speck * 0.012;
      pixels.data[position] = (246 - 222 * shown) * paper;
      pixels.data[position + 1] = (240 - 214 * shown) * paper;
      pixels.data[position + 2] = (226 - 192 * shown) * paper;
    }
  }
  pixels.put();
  const seal = { x: width - 96, y: height - 104 };
  context.fillStyle = css(hex('#b5312a'), 0.92);
  context.fillRect(seal.x, seal.y, 46, 46);
  for (let mark = 0; mark < 5; mark++)
    strokeLine(
      context,
      [
        { x: seal.x + 8 + random.next() * 30, y: seal.y + 8 + random.next() * 30 },
        { x: seal.x + 8 + random.next() * 30, y: seal.y + 8 + random.next() * 30 },
      ],
      3,
      hex('#f6efdf'),
    );
}

/** The lightness below which the darkest fiftieth of the image lies, and above which the lightest. */
function endsOf(tone: Float32Array): { dark: number; light: number } {
  const counts = new Uint32Array(64);
  for (const value of tone)
    counts[Math.min(63, Math.floor(value * 64))] = (counts[Math.min(63, Math.floor(value * 64))] ?? 0) + 1;
  const at = (share: number): number => {
    let below = 0;
    return counts.findIndex((count) => (below += count) >= tone.length * share) / 64;
  };
  const [dark, light] = [at(0.02), at(0.98)];
  // An image of one tone stays so.
  return light - dark < 0.2 ? { dark: 0, light: 1 } : { dark, light };
}

/**
 * Pencil: outlines, the soft tone of the side of a lead that the tooth of the paper breaks, and hatching that grows
 * denser with the shade, in three directions. The image's own range of light becomes that of the pencil.
 */
export function sketch(stage: Stage): void {
  const { context, scale } = stage;
  const pixels = pixelsOf(context);
  const random = stage.random.fork('pencil');
  const [shake, tile] = [createPlaneNoise(random), grainTile(random)];
  const { tone, edge } = edgesOf(pixels, Math.max(1, Math.round(scale)));
  const { dark: darkest, light: lightest } = endsOf(tone);
  const lines = (across: number, along: number): number =>
    0.5 + 0.5 * Math.sin(across * 1.1 + shake(along / 70, across / 90) * 3.2);
  for (let row = 0; row < pixels.height; row++) {
    const y = row / scale;
    for (let column = 0; column < pixels.width; column++) {
      const x = column / scale;
      const index = row * pixels.width + column;
      const grain = tile[((row & 255) << 8) | (column & 255)] ?? 0;
      const light = Math.max(0, Math.min(1, ((tone[index] ?? 0) - darkest) / (lightest - darkest)));
      const shade = 1 - light;
      let lead = shade ** 1.4 * (0.52 + 0.2 * grain);
      if (shade > 0.18) lead += lines(x + y, x - y) * Math.min(0.26, (shade - 0.18) * 0.7);
      if (shade > 0.46) lead += lines(x - y, x + y) * Math.min(0.22, (shade - 0.46) * 0.8);
      if (shade > 0.7) lead += lines(y * 1.4, x) * 0.16;
      lead = Math.min(0.94, lead * (0.96 + 0.06 * shake(x / 30, y / 30)) + (edge[index] ?? 0) * (0.66 + 0.16 * grain));
      const position = index * 4;
      pixels.data[position] = 250 - 214 * lead;
      pixels.data[position + 1] = 247 - 210 * lead;
      pixels.data[position + 2] = 240 - 198 * lead;
    }
  }
  pixels.put();
}
