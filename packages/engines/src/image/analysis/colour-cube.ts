/**
 * Changes the colours of an image by a function of the colour: computed for a grid of colours and interpolated between
 * its points, so that a costly function costs the same for an image of any size.
 */
import type { Colour } from '../colour.ts';
import type { Pixels } from '../finish/pixels.ts';
import type { Plane } from './planes.ts';

/** Points of the grid along each channel. */
const GRID = 25;
const STEP = 255 / (GRID - 1);

function gridOf(change: (colour: Colour) => Colour): Float32Array {
  const grid = new Float32Array(GRID ** 3 * 3);
  let position = 0;
  for (let red = 0; red < GRID; red++) {
    for (let green = 0; green < GRID; green++) {
      for (let blue = 0; blue < GRID; blue++) {
        grid.set(change([red * STEP, green * STEP, blue * STEP]), position);
        position += 3;
      }
    }
  }
  return grid;
}

/**
 * Changes every colour of an image, in place.
 *
 * @param mask how far each pixel changes, 0 to 1, at the size of the image; fully if absent.
 */
export function changeColours(pixels: Pixels, change: (colour: Colour) => Colour, mask?: Plane): void {
  const grid = gridOf(change);
  const { data } = pixels;
  for (let position = 0, index = 0; position < data.length; position += 4, index++) {
    const share = mask === undefined ? 1 : (mask.values[index] ?? 0);
    if (share <= 0.002) continue;
    const red = (data[position] ?? 0) / STEP;
    const green = (data[position + 1] ?? 0) / STEP;
    const blue = (data[position + 2] ?? 0) / STEP;
    const [lowRed, lowGreen, lowBlue] = [
      Math.min(GRID - 2, red | 0),
      Math.min(GRID - 2, green | 0),
      Math.min(GRID - 2, blue | 0),
    ];
    const [partRed, partGreen, partBlue] = [red - lowRed, green - lowGreen, blue - lowBlue];
    const near = ((lowRed * GRID + lowGreen) * GRID + lowBlue) * 3;
    for (let channel = 0; channel < 3; channel++) {
      const from = near + channel;
      const value = mixAlong(grid, from, partRed, partGreen, partBlue);
      const old = data[position + channel] ?? 0;
      data[position + channel] = old + (value - old) * share;
    }
  }
}

const NEXT_GREEN = GRID * 3;
const NEXT_RED = GRID * GRID * 3;

function mixAlong(grid: Float32Array, from: number, red: number, green: number, blue: number): number {
  const near = between(grid, from, blue) * (1 - green) + between(grid, from + NEXT_GREEN, blue) * green;
  const behind = from + NEXT_RED;
  const far = between(grid, behind, blue) * (1 - green) + between(grid, behind + NEXT_GREEN, blue) * green;
  return near * (1 - red) + far * red;
}

function between(grid: Float32Array, position: number, share: number): number {
  return (grid[position] ?? 0) * (1 - share) + (grid[position + 3] ?? 0) * share;
}

/** Blends the colours of a whole image into another: 0 is the first, 1 the second. Same size; the first changes. */
export function blendInto(pixels: Pixels, other: Pixels, share: (index: number) => number): void {
  const { data } = pixels;
  for (let position = 0, index = 0; position < data.length; position += 4, index++) {
    const part = share(index);
    if (part <= 0) continue;
    for (let channel = 0; channel < 3; channel++) {
      const old = data[position + channel] ?? 0;
      data[position + channel] = old + ((other.data[position + channel] ?? 0) - old) * part;
    }
  }
}
