/**
 * Finds the water in an image: wide stretches of blue or of the sky's colour in its lower part. A guess, and only made
 * if the prompt mentions water or the image clearly contains some.
 */
import type { Thing } from '../image/lexicon.ts';
import type { VideoPromptReading } from './prompt-reading.ts';
import { createBitmap } from './raster/bitmap.ts';
import type { Bitmap } from './raster/bitmap.ts';

const WATERS: readonly Thing[] = ['sea', 'lake', 'river', 'beach', 'waterfall', 'island', 'boat', 'ship', 'rowboat'];
/** Sides of the map on which water is searched. */
const COLUMNS = 64;
const ROWS = 48;
/** Of the lower half, so that single blue things are ignored. */
const LEAST_SHARE_NAMED = 0.06;
const LEAST_SHARE_FOUND = 0.42;

/** How much a colour looks like water, 0 to 1. */
function wateriness(pixel: number): number {
  const [red, green, blue] = [pixel & 255, (pixel >>> 8) & 255, (pixel >>> 16) & 255];
  const cool = blue - red * 0.92;
  const isLeafy = green > blue * 1.06;
  return isLeafy ? 0 : Math.max(0, Math.min(1, (cool - 4) / 22));
}

/** The water of an image as a layer of its own, soft at its edges; undefined where there is none. */
export function findWater(bitmap: Bitmap, reading: VideoPromptReading): Bitmap | undefined {
  const { width, height, pixels } = bitmap;
  const isNamed =
    reading.scene.mentions.some(({ thing }) => WATERS.includes(thing)) ||
    /\b(ripples?|water)\b/i.test(reading.scene.scenery);
  const map = new Float32Array(COLUMNS * ROWS);
  let found = 0;
  for (let row = ROWS / 2; row < ROWS; row++) {
    for (let column = 0; column < COLUMNS; column++) {
      const x = Math.floor(((column + 0.5) / COLUMNS) * width);
      const y = Math.floor(((row + 0.5) / ROWS) * height);
      const value = wateriness(pixels[y * width + x] ?? 0);
      map[row * COLUMNS + column] = value;
      found += value;
    }
  }
  const share = found / (COLUMNS * (ROWS / 2));
  if (share < (isNamed ? LEAST_SHARE_NAMED : LEAST_SHARE_FOUND)) return undefined;
  const soft = blurred(blurred(map));
  const layer = new Uint32Array(width * height);
  for (let y = Math.floor(height / 2); y < height; y++) {
    for (let x = 0; x < width; x++) {
      const alpha = Math.round(255 * Math.max(0, Math.min(1, at(soft, x / width, y / height) * 2.4 - 0.9)));
      if (alpha === 0) continue;
      const pixel = pixels[y * width + x] as number;
      const channel = (shift: number): number => ((((pixel >>> shift) & 255) * alpha) / 255) << shift;
      layer[y * width + x] = ((alpha << 24) | channel(16) | channel(8) | channel(0)) >>> 0;
    }
  }
  return createBitmap(layer, width, height);
}

function blurred(map: Float32Array): Float32Array {
  const result = new Float32Array(map.length);
  for (let row = 0; row < ROWS; row++) {
    for (let column = 0; column < COLUMNS; column++) {
      let [sum, count] = [0, 0];
      for (let down = -1; down <= 1; down++) {
        for (let across = -1; across <= 1; across++) {
          const [y, x] = [row + down, column + across];
          if (y < 0 || y >= ROWS || x < 0 || x >= COLUMNS) continue;
          sum += map[y * COLUMNS + x] ?? 0;
          count += 1;
        }
      }
      result[row * COLUMNS + column] = sum / count;
    }
  }
  return result;
}

/** A value of the map between its cells, at shares of its width and height. */
function at(map: Float32Array, across: number, down: number): number {
  const x = Math.max(0, Math.min(COLUMNS - 1.001, across * COLUMNS - 0.5));
  const y = Math.max(0, Math.min(ROWS - 1.001, down * ROWS - 0.5));
  const [column, row] = [Math.floor(x), Math.floor(y)];
  const cell = (dx: number, dy: number): number => map[(row + dy) * COLUMNS + column + dx] ?? 0;
  const top = cell(0, 0) + (cell(1, 0) - cell(0, 0)) * (x - column);
  const bottom = cell(0, 1) + (cell(1, 1) - cell(0, 1)) * (x - column);
  return top + (bottom - top) * (y - row);
}
