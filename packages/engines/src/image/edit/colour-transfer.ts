/**
 * Gives one image the colours of another: lightness by rank, as far as the image allows, and the mean colour of each
 * zone of lightness.
 */
import { fromLab, mix, toLab } from '../colour.ts';
import type { Colour } from '../colour.ts';
import type { Pixels } from '../finish/pixels.ts';
import { changeColours } from '../analysis/colour-cube.ts';

/** Zones of lightness, from black to white. */
const ZONES = 6;

interface ZoneStatistics {
  readonly greenRed: number;
  readonly blueYellow: number;
  readonly chroma: number;
  readonly weight: number;
}

interface ColourStatistics {
  readonly zones: readonly ZoneStatistics[];
  /** The lightness below which each hundredth of the pixels lies. */
  readonly levels: readonly number[];
}

function statisticsOf({ data }: Pixels): ColourStatistics {
  const lights: number[] = [];
  const sums = Array.from({ length: ZONES }, () => ({ greenRed: 0, blueYellow: 0, chroma: 0, weight: 1e-6 }));
  const step = Math.max(1, Math.floor(data.length / 4 / 20_000));
  for (let index = 0; index < data.length / 4; index += step) {
    const [light, greenRed, blueYellow] = toLab([
      data[index * 4] ?? 0,
      data[index * 4 + 1] ?? 0,
      data[index * 4 + 2] ?? 0,
    ]);
    lights.push(light);
    for (const [zone, sum] of sums.entries()) {
      const weight = Math.max(0, 1 - Math.abs(light * (ZONES - 1) - zone)) + 0.004;
      sum.greenRed += greenRed * weight;
      sum.blueYellow += blueYellow * weight;
      sum.chroma += Math.hypot(greenRed, blueYellow) * weight;
      sum.weight += weight;
    }
  }
  lights.sort((one, other) => one - other);
  return {
    zones: sums.map(({ greenRed, blueYellow, chroma, weight }) => ({
      greenRed: greenRed / weight,
      blueYellow: blueYellow / weight,
      chroma: chroma / weight,
      weight: weight / lights.length,
    })),
    levels: Array.from({ length: 101 }, (_, part) => lights[Math.round((part / 100) * (lights.length - 1))] ?? 0),
  };
}

/** Gives an image the light and the tones of another, in place. @param strength 0 to 1. */
export function transferColours(pixels: Pixels, other: Pixels, strength: number): void {
  const [own, theirs] = [statisticsOf(pixels), statisticsOf(other)];
  const zone = (statistics: ColourStatistics, light: number): ZoneStatistics => {
    const position = Math.max(0, Math.min(ZONES - 1.001, light * (ZONES - 1)));
    const [low, high] = [statistics.zones[Math.floor(position)], statistics.zones[Math.floor(position) + 1]];
    const share = position - Math.floor(position);
    const between = (one = 0, two = 0): number => one * (1 - share) + two * share;
    return {
      greenRed: between(low?.greenRed, high?.greenRed),
      blueYellow: between(low?.blueYellow, high?.blueYellow),
      chroma: between(low?.chroma, high?.chroma),
      weight: between(low?.weight, high?.weight),
    };
  };
  const relight = (light: number): number => {
    const rank = own.levels.findIndex((level) => level >= light);
    return theirs.levels[rank < 0 ? 100 : rank] ?? light;
  };
  changeColours(pixels, (colour): Colour => {
    const [light, greenRed, blueYellow] = toLab(colour);
    const goal = light + (relight(light) - light) * 0.6 * strength;
    const [from, to] = [zone(own, light), zone(theirs, goal)];
    const gain = Math.max(0.6, Math.min(1.7, (to.chroma + 0.02) / (from.chroma + 0.02)));
    const moved: Colour = fromLab([
      goal,
      to.greenRed + (greenRed - from.greenRed) * gain,
      to.blueYellow + (blueYellow - from.blueYellow) * gain,
    ]);
    return mix(colour, moved, strength);
  });
}
