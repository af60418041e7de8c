/**
 * The perceived loudness of a sound: ITU-R BS.1770-4, with its filter, its blocks of 400 ms and its two gates. Fed
 * piece by piece, so that a sound of several minutes does not have to be in memory.
 */
import { Biquad } from './biquad.ts';
import type { Coefficients } from './biquad.ts';

const STEP_SECONDS = 0.1;
const STEPS_A_BLOCK = 4;
const ABSOLUTE_GATE = -70;
const RELATIVE_GATE = -10;
const OFFSET = -0.691;

/** The value for silence: far below any sound. */
export const SILENCE_LUFS = -120;

/** The standard defines its filters for 48 kHz; these are the same curves for any rate. */
function headShelf(sampleRate: number): Coefficients {
  const [hertz, decibels, q] = [1681.974450955533, 3.999843853973347, 0.7071752369554196];
  const k = Math.tan((Math.PI * hertz) / sampleRate);
  const vh = 10 ** (decibels / 20);
  const vb = vh ** 0.4996667741545416;
  const a0 = 1 + k / q + k * k;
  return {
    b0: (vh + (vb * k) / q + k * k) / a0,
    b1: (2 * (k * k - vh)) / a0,
    b2: (vh - (vb * k) / q + k * k) / a0,
    a1: (2 * (k * k - 1)) / a0,
    a2: (1 - k / q + k * k) / a0,
  };
}

function lowCut(sampleRate: number): Coefficients {
  const [hertz, q] = [38.13547087602444, 0.5003270373238773];
  const k = Math.tan((Math.PI * hertz) / sampleRate);
  const a0 = 1 + k / q + k * k;
  return { b0: 1, b1: -2, b2: 1, a1: (2 * (k * k - 1)) / a0, a2: (1 - k / q + k * k) / a0 };
}

function loudnessOf(meanSquare: number): number {
  return meanSquare > 0 ? OFFSET + 10 * Math.log10(meanSquare) : SILENCE_LUFS;
}

/** Measures the loudness of its input, in LUFS, and its highest sample. */
export class LoudnessMeter {
  readonly #filters: readonly (readonly [Biquad, Biquad])[];
  readonly #stepLength: number;
  readonly #steps: number[] = [];
  #stepEnergy = 0;
  #inStep = 0;
  #peak = 0;

  /** @param channels the number of planes of every piece. */
  constructor(sampleRate: number, channels: number) {
    this.#filters = Array.from({ length: channels }, () => [
      new Biquad(headShelf(sampleRate)),
      new Biquad(lowCut(sampleRate)),
    ]);
    this.#stepLength = Math.round(sampleRate * STEP_SECONDS);
  }

  /** The highest sample so far, 0 or more. */
  get peak(): number {
    return this.#peak;
  }

  add(planes: readonly Float32Array[]): void {
    const length = planes[0]?.length ?? 0;
    for (let index = 0; index < length; index++) {
      for (let channel = 0; channel < planes.length; channel++) {
        const sample = planes[channel]?.[index] ?? 0;
        const filters = this.#filters[channel];
        if (filters === undefined) throw new RangeError('more channels than the meter has');
        const heard = filters[1].step(filters[0].step(sample));
        this.#stepEnergy += heard * heard;
        if (Math.abs(sample) > this.#peak) this.#peak = Math.abs(sample);
      }
      this.#inStep += 1;
      if (this.#inStep === this.#stepLength) this.#closeStep();
    }
  }

  #closeStep(): void {
    this.#steps.push(this.#stepEnergy / this.#inStep);
    this.#stepEnergy = 0;
    this.#inStep = 0;
  }

  /** The loudness of everything that was added; a sound shorter than one block counts as one. */
  integrated(): number {
    const steps = [...this.#steps];
    if (steps.length < STEPS_A_BLOCK && this.#inStep > 0) steps.push(this.#stepEnergy / this.#inStep);
    const blocks: number[] = [];
    for (let end = Math.min(STEPS_A_BLOCK, steps.length); end <= steps.length && end > 0; end++) {
      const block = steps.slice(Math.max(0, end - STEPS_A_BLOCK), end);
      blocks.push(block.reduce((sum, energy) => sum + energy, 0) / block.length);
    }
    const loud = blocks.filter((block) => loudnessOf(block) > ABSOLUTE_GATE);
    const gate = loudnessOf(mean(loud)) + RELATIVE_GATE;
    return loudnessOf(mean(loud.filter((block) => loudnessOf(block) > gate)));
  }

  /** The loudness of the loudest 400 ms. */
  loudestBlock(): number {
    let loudest = 0;
    const steps = this.#steps.length === 0 && this.#inStep > 0 ? [this.#stepEnergy / this.#inStep] : this.#steps;
    for (let end = 1; end <= steps.length; end++) {
      const block = steps.slice(Math.max(0, end - STEPS_A_BLOCK), end);
      loudest = Math.max(loudest, block.reduce((sum, energy) => sum + energy, 0) / STEPS_A_BLOCK);
    }
    return loudnessOf(loudest);
  }
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The loudness of a whole sound in LUFS. */
export function integratedLoudness(planes: readonly Float32Array[], sampleRate: number): number {
  const meter = new LoudnessMeter(sampleRate, planes.length);
  meter.add(planes);
  return meter.integrated();
}
