/**
 * Keeps colours out of an image: every pixel that has one of them, whichever layer painted it, is turned to another
 * hue.
 */
import { hueOf, turnedTo } from '../colour.ts';
import type { Colour } from '../colour.ts';
import type { Context } from '../stage.ts';
import { pixelsOf } from './pixels.ts';

/** Steps of each channel in the table that replaces the computation for each pixel. */
const STEPS = 32;
/** Radians of hue to both sides that count as the colour. */
const REACH = 0.85;
/** OKLab chroma below which a colour is a shade of grey. */
const GREY = 0.022;

/** The angle to the nearest hue outside the reach of all colours. */
function escaped(hue: number, avoided: readonly number[]): number {
  const distance = (one: number, other: number): number =>
    Math.abs(Math.atan2(Math.sin(one - other), Math.cos(one - other)));
  const isFree = (angle: number): boolean => avoided.every((other) => distance(angle, other) >= REACH);
  for (let step = 0; step <= 32; step++) {
    const turn = (step / 32) * Math.PI;
    if (isFree(hue + turn)) return hue + turn;
    if (isFree(hue - turn)) return hue - turn;
  }
  return hue + Math.PI;
}

/** Turns every pixel of one of the colours' hues to the nearest other hue; greys and weak tints stay. */
export function avoidColours(context: Context, colours: readonly Colour[]): void {
  const hues = colours.map(hueOf).filter(({ chroma }) => chroma > GREY);
  if (hues.length === 0) return;
  const avoided = hues.map(({ angle }) => angle);
  const table: (Colour | null | undefined)[] = Array.from({ length: STEPS ** 3 });
  const size = 255 / (STEPS - 1);
  const change = (red: number, green: number, blue: number): Colour | null => {
    const colour: Colour = [red * size, green * size, blue * size];
    const { angle, chroma } = hueOf(colour);
    if (chroma < GREY) return null;
    const other = escaped(angle, avoided);
    if (Math.abs(other - angle) < 1e-6) return null;
    const turned = turnedTo(colour, other);
    return [turned[0] - colour[0], turned[1] - colour[1], turned[2] - colour[2]];
  };
  const pixels = pixelsOf(context);
  for (let position = 0; position < pixels.data.length; position += 4) {
    const red = Math.round((pixels.data[position] ?? 0) / size);
    const green = Math.round((pixels.data[position + 1] ?? 0) / size);
    const blue = Math.round((pixels.data[position + 2] ?? 0) / size);
    const key = (red * STEPS + green) * STEPS + blue;
    let shift = table[key];
    if (shift === undefined) shift = table[key] = change(red, green, blue);
    if (shift === null) continue;
    for (let channel = 0; channel < 3; channel++) {
      pixels.data[position + channel] = (pixels.data[position + channel] ?? 0) + (shift[channel] ?? 0);
    }
  }
  pixels.put();
}
