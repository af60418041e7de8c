/**
 * Finishes of photography: grain, faded colours, black and white.
 */
import { css, hex } from '../colour.ts';
import type { Stage } from '../stage.ts';
import { grainTile, pixelsOf } from './pixels.ts';

/** Fine noise, so that gradients do not show steps. `strength` in levels of 255. */
export function grain(stage: Stage, strength: number): void {
  const pixels = pixelsOf(stage.context);
  const tile = grainTile(stage.random.fork('grain'));
  for (let row = 0; row < pixels.height; row++) {
    for (let column = 0; column < pixels.width; column++) {
      const position = (row * pixels.width + column) * 4;
      const noise = (tile[((row & 255) << 8) | ((column + (row >> 8) * 97) & 255)] ?? 0) * strength;
      pixels.data[position] = (pixels.data[position] ?? 0) + noise;
      pixels.data[position + 1] = (pixels.data[position + 1] ?? 0) + noise;
      pixels.data[position + 2] = (pixels.data[position + 2] ?? 0) + noise;
    }
  }
  pixels.put();
}

/** Faded colours on warm paper with a light border, or black and white with deep shadows. */
export function film(stage: Stage, kind: 'vintage' | 'noir'): void {
  const { context, width, height } = stage;
  const pixels = pixelsOf(context);
  for (let position = 0; position < pixels.data.length; position += 4) {
    const [red, green, blue] = [
      pixels.data[position] ?? 0,
      pixels.data[position + 1] ?? 0,
      pixels.data[position + 2] ?? 0,
    ];
    const grey = 0.3 * red + 0.59 * green + 0.11 * blue;
    if (kind === 'noir') {
      const share = grey / 255;
      const curve = 255 * (share * share * (3 - 2 * share) * 0.85 + share * 0.15);
      [pixels.data[position], pixels.data[position + 1], pixels.data[position + 2]] = [curve, curve, curve * 1.01];
    } else {
      pixels.data[position] = 34 + (red * 0.62 + grey * 0.38) * 0.86;
      pixels.data[position + 1] = 26 + (green * 0.6 + grey * 0.36) * 0.85;
      pixels.data[position + 2] = 32 + (blue * 0.55 + grey * 0.3) * 0.78;
    }
  }
  pixels.put();
  grain(stage, kind === 'noir' ? 22 : 16);
  if (kind === 'noir') return;
  context.lineWidth = 44;
  context.strokeStyle = css(hex('#f3e9d2'));
  context.strokeRect(0, 0, width, height);
}
