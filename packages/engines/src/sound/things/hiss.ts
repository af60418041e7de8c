/** Noise through moving filters: the basis of all airy sounds. */
import type { Random } from '@darkroom/seeded-random/random';
import { Biquad } from '../signal/biquad.ts';
import type { Coefficients } from '../signal/biquad.ts';
import type { Source } from '../signal/noise.ts';
import type { Bed } from '../thing.ts';
import { wide } from './grains.ts';

/** The distance of two settings of a moving filter or level, in samples: 1.3 ms at 48 kHz. */
export const CONTROL_STEP = 64;
/** Settings per second. */
export const CONTROLS_A_SECOND = 750;

/**
 * A bed of noise through filters that may move, at a level that may change, different on both sides.
 *
 * @param source makes the noise of one side.
 * @param controls returns the filters and the level of one side, called every `CONTROL_STEP` samples; the same number
 * of filters each time. It is made once for each side.
 */
export function hiss(
  random: Random,
  source: (random: Random) => Source,
  controls: (random: Random) => () => { readonly filters: readonly Coefficients[]; readonly level: number },
): Bed {
  let side = 0;
  return wide(() => {
    const own = random.fork(`side ${(side += 1)}`);
    const noise = source(own);
    const control = controls(own.fork('control'));
    let setting = control();
    const filters = setting.filters.map((coefficients) => new Biquad(coefficients));
    let level = setting.level;
    let until = 0;
    return (samples) => {
      for (let index = 0; index < samples.length; index++) {
        if (until === 0) {
          setting = control();
          for (const [filterIndex, filter] of filters.entries()) {
            const coefficients = setting.filters[filterIndex];
            if (coefficients !== undefined) filter.retune(coefficients);
          }
          until = CONTROL_STEP;
        }
        until -= 1;
        // The level follows within a few milliseconds: steps would be audible as a buzz.
        level += (setting.level - level) * 0.01;
        let sample = noise();
        for (const filter of filters) sample = filter.step(sample);
        samples[index] = sample * level;
      }
    };
  });
}

/** A bed of noise through fixed filters. */
export function steadyHiss(
  random: Random,
  source: (random: Random) => Source,
  filters: readonly Coefficients[],
  level: number,
): Bed {
  return hiss(random, source, () => () => ({ filters, level }));
}
