/**
 * Second-order filters, the building block of every equaliser here. Formulas: R. Bristow-Johnson's audio equaliser
 * cookbook. A filter keeps its state from block to block, so a long sound can be filtered piece by piece.
 */

/** Normalised coefficients: the first of the feedback side is 1. */
export interface Coefficients {
  readonly b0: number;
  readonly b1: number;
  readonly b2: number;
  readonly a1: number;
  readonly a2: number;
}

/** Q of a filter that is flat up to its corner frequency. */
export const BUTTERWORTH_Q = Math.SQRT1_2;

/** Above this fraction of the sampling rate the formulas produce aliasing. */
const HIGHEST_PART = 0.49;

interface Corner {
  readonly cos: number;
  readonly alpha: number;
}

function corner(sampleRate: number, hertz: number, q: number): Corner {
  const omega = 2 * Math.PI * Math.min(Math.max(hertz / sampleRate, 1e-5), HIGHEST_PART);
  return { cos: Math.cos(omega), alpha: Math.sin(omega) / (2 * q) };
}

function normalised(b0: number, b1: number, b2: number, a0: number, a1: number, a2: number): Coefficients {
  return { b0: b0 / a0, b1: b1 / a0, b2: b2 / a0, a1: a1 / a0, a2: a2 / a0 };
}

/** Passes frequencies below `hertz`, 12 dB per octave. */
export function lowPass(sampleRate: number, hertz: number, q: number = BUTTERWORTH_Q): Coefficients {
  const { cos, alpha } = corner(sampleRate, hertz, q);
  return normalised((1 - cos) / 2, 1 - cos, (1 - cos) / 2, 1 + alpha, -2 * cos, 1 - alpha);
}

/** Passes frequencies above `hertz`, 12 dB per octave. */
export function highPass(sampleRate: number, hertz: number, q: number = BUTTERWORTH_Q): Coefficients {
  const { cos, alpha } = corner(sampleRate, hertz, q);
  return normalised((1 + cos) / 2, -1 - cos, (1 + cos) / 2, 1 + alpha, -2 * cos, 1 - alpha);
}

/** Passes a band; 0 dB in its middle, narrower with a higher Q. */
export function bandPass(sampleRate: number, hertz: number, q: number): Coefficients {
  const { cos, alpha } = corner(sampleRate, hertz, q);
  return normalised(alpha, 0, -alpha, 1 + alpha, -2 * cos, 1 - alpha);
}

/** Boosts or cuts a band by a number of decibels. */
export function peak(sampleRate: number, hertz: number, q: number, decibels: number): Coefficients {
  const { cos, alpha } = corner(sampleRate, hertz, q);
  const a = 10 ** (decibels / 40);
  return normalised(1 + alpha * a, -2 * cos, 1 - alpha * a, 1 + alpha / a, -2 * cos, 1 - alpha / a);
}

/** Boosts or cuts frequencies above `hertz` by a number of decibels. */
export function highShelf(sampleRate: number, hertz: number, decibels: number): Coefficients {
  const { cos, alpha } = corner(sampleRate, hertz, BUTTERWORTH_Q);
  const a = 10 ** (decibels / 40);
  const root = 2 * Math.sqrt(a) * alpha;
  return normalised(
    a * (a + 1 + (a - 1) * cos + root),
    -2 * a * (a - 1 + (a + 1) * cos),
    a * (a + 1 + (a - 1) * cos - root),
    a + 1 - (a - 1) * cos + root,
    2 * (a - 1 - (a + 1) * cos),
    a + 1 - (a - 1) * cos - root,
  );
}

/** Boosts or cuts frequencies below `hertz` by a number of decibels. */
export function lowShelf(sampleRate: number, hertz: number, decibels: number): Coefficients {
  const { cos, alpha } = corner(sampleRate, hertz, BUTTERWORTH_Q);
  const a = 10 ** (decibels / 40);
  const root = 2 * Math.sqrt(a) * alpha;
  return normalised(
    a * (a + 1 - (a - 1) * cos + root),
    2 * a * (a - 1 - (a + 1) * cos),
    a * (a + 1 - (a - 1) * cos - root),
    a + 1 + (a - 1) * cos + root,
    -2 * (a - 1 + (a + 1) * cos),
    a + 1 + (a - 1) * cos - root,
  );
}

/** A filter with its state. */
export class Biquad {
  #c: Coefficients;
  #z1 = 0;
  #z2 = 0;

  constructor(coefficients: Coefficients) {
    this.#c = coefficients;
  }

  /** Changes the coefficients of the filter and keeps its state: for filters that move. */
  retune(coefficients: Coefficients): void {
    this.#c = coefficients;
  }

  /** Processes one sample. */
  step(input: number): number {
    const { b0, b1, b2, a1, a2 } = this.#c;
    const output = b0 * input + this.#z1;
    this.#z1 = b1 * input - a1 * output + this.#z2;
    this.#z2 = b2 * input - a2 * output;
    return output;
  }

  /** Processes a block, in place. */
  process(samples: Float32Array): void {
    const { b0, b1, b2, a1, a2 } = this.#c;
    let z1 = this.#z1;
    let z2 = this.#z2;
    for (let index = 0; index < samples.length; index++) {
      const input = samples[index] ?? 0;
      const output = b0 * input + z1;
      z1 = b1 * input - a1 * output + z2;
      z2 = b2 * input - a2 * output;
      samples[index] = output;
    }
    // Numbers near zero are slow on some processors and have no effect.
    this.#z1 = Math.abs(z1) < 1e-20 ? 0 : z1;
    this.#z2 = Math.abs(z2) < 1e-20 ? 0 : z2;
  }
}

/** Filters a whole sound through several filters in sequence, in place. @returns the same samples. */
export function filtered(samples: Float32Array, ...chain: readonly Coefficients[]): Float32Array {
  for (const coefficients of chain) new Biquad(coefficients).process(samples);
  return samples;
}
