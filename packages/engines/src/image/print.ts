/**
 * Printing: maps every pixel to one of a few inks. Between two inks of the ramp a screen of dots is printed, as by a
 * press with no more than those inks; the accent goes where the painted colour is closest to it.
 */
import type { Colour } from './colour.ts';
import { pixelsOf } from './finish/pixels.ts';
import type { Inks } from './inks.ts';
import type { Context } from './stage.ts';

/** Distance of the dots in logical units. */
const SCREEN = 5;
/** Steps of each colour channel in the table that replaces the search for each pixel. */
const STEPS = 32;

interface Choice {
  readonly below: Colour;
  readonly above: Colour;
  /** How much of the lighter ink, 0 to 1. */
  readonly share: number;
}

function distance(first: Colour, second: Colour): number {
  return 2 * (first[0] - second[0]) ** 2 + 4 * (first[1] - second[1]) ** 2 + 3 * (first[2] - second[2]) ** 2;
}

/** The pure ink or mixture of two neighbours nearest to a colour; mixtures only where they are clearly nearer. */
function chooseInk(colour: Colour, inks: Inks): Choice {
  const { ramp, accent } = inks;
  let best: Choice = { below: accent, above: accent, share: 1 };
  let least = distance(colour, accent) * 1.15;
  for (const [index, ink] of ramp.entries()) {
    const pure = distance(colour, ink);
    if (pure < least) [best, least] = [{ below: ink, above: ink, share: 1 }, pure];
    const next = ramp[index + 1];
    if (next === undefined) continue;
    for (const share of [0.3, 0.6]) {
      const mixed: Colour = [
        ink[0] + (next[0] - ink[0]) * share,
        ink[1] + (next[1] - ink[1]) * share,
        ink[2] + (next[2] - ink[2]) * share,
      ];
      const far = distance(colour, mixed) + 900;
      if (far < least) [best, least] = [{ below: ink, above: next, share }, far];
    }
  }
  return best;
}

/** Prints the whole canvas with the inks. */
export function printWith(context: Context, inks: Inks, scale: number): void {
  const pixels = pixelsOf(context);
  const table: (Choice | undefined)[] = Array.from({ length: STEPS ** 3 });
  const turn = Math.PI / 4;
  const [cos, sin] = [Math.cos(turn) / (SCREEN * scale), Math.sin(turn) / (SCREEN * scale)];
  const size = 255 / (STEPS - 1);
  for (let row = 0; row < pixels.height; row++) {
    for (let column = 0; column < pixels.width; column++) {
      const position = (row * pixels.width + column) * 4;
      const red = Math.round((pixels.data[position] ?? 0) / size);
      const green = Math.round((pixels.data[position + 1] ?? 0) / size);
      const blue = Math.round((pixels.data[position + 2] ?? 0) / size);
      const key = (red * STEPS + green) * STEPS + blue;
      const choice = (table[key] ??= chooseInk([red * size, green * size, blue * size], inks));
      let ink = choice.above;
      if (choice.share < 1) {
        const across = column * cos + row * sin;
        const down = row * cos - column * sin;
        const dot = 0.5 + 0.25 * (Math.cos(across * 2 * Math.PI) + Math.cos(down * 2 * Math.PI));
        ink = dot < choice.share ? choice.above : choice.below;
      }
      pixels.data[position] = ink[0];
      pixels.data[position + 1] = ink[1];
      pixels.data[position + 2] = ink[2];
    }
  }
  pixels.put();
}
