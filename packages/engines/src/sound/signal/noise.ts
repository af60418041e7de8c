/** Random signals, each a function that returns its next sample: for rain, wind, breath and everything that hisses. */
import type { Random } from '@darkroom/seeded-random/random';

/** Returns the next sample, about -1 to 1. */
export type Source = () => number;

/** Equal power at all frequencies. */
export function whiteNoise(random: Random): Source {
  return () => random.next() * 2 - 1;
}

/** Equal power in every octave: -3 dB per octave, as most sounds of nature. The filter is Paul Kellet's. */
export function pinkNoise(random: Random): Source {
  let [a, b, c, d, e, f, last] = [0, 0, 0, 0, 0, 0, 0];
  return () => {
    const white = random.next() * 2 - 1;
    a = 0.99886 * a + white * 0.0555179;
    b = 0.99332 * b + white * 0.0750759;
    c = 0.969 * c + white * 0.153852;
    d = 0.8665 * d + white * 0.3104856;
    e = 0.55 * e + white * 0.5329522;
    f = -0.7616 * f - white * 0.016898;
    const pink = a + b + c + d + e + f + last + white * 0.5362;
    last = white * 0.115926;
    return pink * 0.2;
  };
}

/** Deep noise: -6 dB per octave. */
export function brownNoise(random: Random): Source {
  let level = 0;
  return () => {
    level = level * 0.996 + (random.next() * 2 - 1) * 0.09;
    return level;
  };
}

/**
 * A slow smooth change between -1 and 1 that never repeats: gusts, swells, an unsteady hand.
 *
 * @param hertz how often it takes a new direction.
 * @param steps samples per second.
 */
export function wander(random: Random, hertz: number, steps: number): Source {
  let from = random.next() * 2 - 1;
  let to = random.next() * 2 - 1;
  let at = random.next();
  const increment = hertz / steps;
  return () => {
    at += increment;
    if (at >= 1) {
      at -= 1;
      from = to;
      to = random.next() * 2 - 1;
    }
    return from + (to - from) * (0.5 - 0.5 * Math.cos(Math.PI * at));
  };
}
