/**
 * Short sounds as whole arrays of samples: tones that glide, struck bodies that ring, bursts of noise, and their
 * processing. Everything here is at `SAMPLE_RATE`; times are in seconds, a decay is the time to fall by 60 dB.
 */
import type { Random } from '@darkroom/seeded-random/random';
import { Biquad } from './biquad.ts';
import type { Coefficients } from './biquad.ts';
import type { Source } from './noise.ts';

/** In Hz: the rate of every file of these sounds. */
export const SAMPLE_RATE = 48_000;

/** A value at a time: seconds from the beginning of the sound. */
export type Curve = (seconds: number) => number;

/** How often the coefficients of a moving filter are updated, in samples: 0.67 ms. */
const FILTER_STEP = 32;

/** The number of samples, at least one. */
export function samplesIn(seconds: number): number {
  return Math.max(1, Math.round(seconds * SAMPLE_RATE));
}

/** Falls from 1 by 60 dB in the given seconds. */
export function fallingIn(seconds: number): Curve {
  const rate = -6.9078 / seconds;
  return (at) => Math.exp(rate * at);
}

/** Rises to 1 within the attack and falls by 60 dB in the rest. */
export function struck(attack: number, decay: number): Curve {
  const fall = fallingIn(decay);
  return (at) => (at < attack ? at / attack : fall(at - attack));
}

/** Swells from 0 to 1 and back: the top after `rise`, the end after `rise + fall`, smooth throughout. */
export function swelling(rise: number, fall: number): Curve {
  return (at) => {
    if (at <= 0 || at >= rise + fall) return 0;
    return at < rise
      ? 0.5 - 0.5 * Math.cos((Math.PI * at) / rise)
      : 0.5 + 0.5 * Math.cos((Math.PI * (at - rise)) / fall);
  };
}

/** A polyline through points: `[second, value]`, in order. */
export function through(...points: readonly (readonly [number, number])[]): Curve {
  return (at) => {
    let before = points[0] ?? [0, 0];
    for (const point of points) {
      if (at < point[0]) {
        const span = point[0] - before[0];
        return span <= 0 ? point[1] : before[1] + ((point[1] - before[1]) * (at - before[0])) / span;
      }
      before = point;
    }
    return before[1];
  };
}

/** From one value to another in equal ratios: perceived as an even glide. */
export function gliding(from: number, to: number, seconds: number): Curve {
  const ratio = Math.log(to / from) / seconds;
  return (at) => from * Math.exp(ratio * Math.min(at, seconds));
}

/** A wave by its phase, 0 to 1. */
export type Wave = (phase: number) => number;

export const sine: Wave = (phase) => Math.sin(2 * Math.PI * phase);
/** Hollow, without even harmonics. */
export const triangle: Wave = (phase) => 4 * Math.abs(phase - 0.5) - 1;
/** Buzzing: all harmonics, the higher ones attenuated to avoid aliasing. */
export const buzz: Wave = (phase) => {
  const angle = 2 * Math.PI * phase;
  return 0.75 * Math.atan2(Math.sin(angle), 1.12 - Math.cos(angle));
};
/** A square with soft edges. */
export const square: Wave = (phase) => Math.tanh(6 * Math.sin(2 * Math.PI * phase));

/** A tone whose pitch, in Hz, and level may change. */
export function tone(seconds: number, hertz: number | Curve, level: Curve, wave: Wave = sine): Float32Array {
  const samples = new Float32Array(samplesIn(seconds));
  let phase = 0;
  for (let index = 0; index < samples.length; index++) {
    const at = index / SAMPLE_RATE;
    samples[index] = wave(phase) * level(at);
    phase += (typeof hertz === 'number' ? hertz : hertz(at)) / SAMPLE_RATE;
    phase -= Math.floor(phase);
  }
  return samples;
}

/** Noise of a source under a level that changes. */
export function burst(seconds: number, source: Source, level: Curve): Float32Array {
  const samples = new Float32Array(samplesIn(seconds));
  for (let index = 0; index < samples.length; index++) samples[index] = source() * level(index / SAMPLE_RATE);
  return samples;
}

/** One way in which a struck body rings. */
export interface Mode {
  readonly hertz: number;
  readonly level: number;
  /** Time to fall by 60 dB. */
  readonly decay: number;
}

/** A body struck once: each of its modes rings and dies away. */
export function ringing(seconds: number, modes: readonly Mode[], attack: number = 0): Float32Array {
  const samples = new Float32Array(samplesIn(seconds));
  for (const { hertz, level, decay } of modes) {
    if (hertz >= SAMPLE_RATE * 0.45) continue;
    const radius = Math.exp(-6.9078 / (decay * SAMPLE_RATE));
    const omega = (2 * Math.PI * hertz) / SAMPLE_RATE;
    const feedback = 2 * radius * Math.cos(omega);
    const loss = radius * radius;
    let before = 0;
    let last = level * radius * Math.sin(omega);
    for (let index = 1; index < samples.length; index++) {
      samples[index] = (samples[index] ?? 0) + last;
      const next = feedback * last - loss * before;
      before = last;
      last = next;
    }
  }
  if (attack > 0) {
    const length = Math.min(samplesIn(attack), samples.length);
    for (let index = 0; index < length; index++) samples[index] = (samples[index] ?? 0) * (index / length);
  }
  return samples;
}

/** Passes a sound through a filter that moves. */
export function swept(samples: Float32Array, filter: (hertz: number) => Coefficients, hertz: Curve): Float32Array {
  const biquad = new Biquad(filter(hertz(0)));
  for (let start = 0; start < samples.length; start += FILTER_STEP) {
    biquad.retune(filter(hertz(start / SAMPLE_RATE)));
    biquad.process(samples.subarray(start, start + FILTER_STEP));
  }
  return samples;
}

/** Applies a changing level to a sound, in place. */
export function shaped(samples: Float32Array, level: Curve): Float32Array {
  for (let index = 0; index < samples.length; index++) {
    samples[index] = (samples[index] ?? 0) * level(index / SAMPLE_RATE);
  }
  return samples;
}

/** Drives a sound into distortion, in place; 1 is warm, 5 is rough. */
export function driven(samples: Float32Array, drive: number): Float32Array {
  const makeUp = 1 / Math.tanh(drive);
  for (let index = 0; index < samples.length; index++) {
    samples[index] = Math.tanh((samples[index] ?? 0) * drive) * makeUp;
  }
  return samples;
}

/** Adds a sound to another, in place; the part beyond its end is omitted. */
export function addAt(into: Float32Array, samples: Float32Array, seconds: number, gain: number = 1): Float32Array {
  const start = Math.round(seconds * SAMPLE_RATE);
  const end = Math.min(samples.length, into.length - start);
  for (let index = Math.max(0, -start); index < end; index++) {
    into[start + index] = (into[start + index] ?? 0) + (samples[index] ?? 0) * gain;
  }
  return into;
}

/** Several sounds at once: `[sound, second, gain]`; as long as the longest. */
export function together(...parts: readonly (readonly [Float32Array, number?, number?])[]): Float32Array {
  const length = Math.max(1, ...parts.map(([samples, at = 0]) => samples.length + Math.round(at * SAMPLE_RATE)));
  const mixed = new Float32Array(length);
  for (const [samples, at = 0, gain = 1] of parts) addAt(mixed, samples, at, gain);
  return mixed;
}

/** Fades the last moment out, in place, so that a cut sound does not click. */
export function fadingOut(samples: Float32Array, seconds: number = 0.01): Float32Array {
  const length = Math.min(samplesIn(seconds), samples.length);
  for (let index = 0; index < length; index++) {
    const at = samples.length - 1 - index;
    samples[at] = (samples[at] ?? 0) * (index / length);
  }
  return samples;
}

/** A random value near `value`: times 1 plus or minus `part`. */
export function about(random: Random, value: number, part: number): number {
  return value * (1 + part * (random.next() * 2 - 1));
}
