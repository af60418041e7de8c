/**
 * Analysis for the tests of music: reads a WAV file and measures its tempo, its key, its pitch and its loudness from
 * the samples alone, without knowing how they were made.
 */
import { readFileSync } from 'node:fs';

export interface Recording {
  readonly rate: number;
  readonly channels: readonly Float32Array[];
  readonly seconds: number;
}

/** Reads 16-bit PCM. */
export function readWav(path: string): Recording {
  const bytes = readFileSync(path);
  let at = 12;
  let rate = 0;
  let count = 0;
  while (at + 8 <= bytes.length) {
    const name = bytes.toString('latin1', at, at + 4);
    const size = bytes.readUInt32LE(at + 4);
    if (name === 'fmt ') {
      count = bytes.readUInt16LE(at + 10);
      rate = bytes.readUInt32LE(at + 12);
    }
    if (name === 'data') {
      const frames = Math.floor(Math.min(size, bytes.length - at - 8) / 2 / count);
      const channels = Array.from({ length: count }, (_, channel) =>
        Float32Array.from(
          { length: frames },
          (_, frame) => bytes.readInt16LE(at + 8 + (frame * count + channel) * 2) / 32_768,
        ),
      );
      return { rate, channels, seconds: frames / rate };
    }
    at += 8 + size + (size % 2);
  }
  throw new Error('no samples in this file');
}

export function mono({ channels }: Recording): Float32Array {
  const [left, right = left] = channels;
  if (left === undefined || right === undefined) return new Float32Array(0);
  return left.map((sample, index) => (sample + (right[index] ?? 0)) / 2);
}

/** In-place FFT of a power of two. */
export function fft(real: Float64Array, imaginary: Float64Array): void {
  const size = real.length;
  for (let index = 1, other = 0; index < size; index++) {
    let bit = size >> 1;
    for (; other & bit; bit >>= 1) other ^= bit;
    other ^= bit;
    if (index < other) {
      [real[index], real[other]] = [real[other] ?? 0, real[index] ?? 0];
      [imaginary[index], imaginary[other]] = [imaginary[other] ?? 0, imaginary[index] ?? 0];
    }
  }
  for (let length = 2; length <= size; length <<= 1) {
    const angle = (-2 * Math.PI) / length;
    for (let start = 0; start < size; start += length) {
      for (let step = 0; step < length / 2; step++) {
        const [cos, sin] = [Math.cos(angle * step), Math.sin(angle * step)];
        const [one, two] = [start + step, start + step + length / 2];
        const re = (real[two] ?? 0) * cos - (imaginary[two] ?? 0) * sin;
        const im = (real[two] ?? 0) * sin + (imaginary[two] ?? 0) * cos;
        real[two] = (real[one] ?? 0) - re;
        imaginary[two] = (imaginary[one] ?? 0) - im;
        real[one] = (real[one] ?? 0) + re;
        imaginary[one] = (imaginary[one] ?? 0) + im;
      }
    }
  }
}

/** Magnitudes of windows of `size` samples, `hop` apart. */
export function* spectra(samples: Float32Array, size: number, hop: number): Generator<Float64Array> {
  const window = Float64Array.from({ length: size }, (_, index) => 0.5 - 0.5 * Math.cos((2 * Math.PI * index) / size));
  for (let start = 0; start + size <= samples.length; start += hop) {
    const real = window.map((weight, index) => weight * (samples[start + index] ?? 0));
    const imaginary = new Float64Array(size);
    fft(real, imaginary);
    yield Float64Array.from({ length: size / 2 }, (_, bin) => Math.hypot(real[bin] ?? 0, imaginary[bin] ?? 0));
  }
}

/** The strength of each pitch class, C first; they add up to 1. */
function chroma({ rate, ...recording }: Recording): number[] {
  const size = 8192;
  const classes = Array.from({ length: 12 }, () => 0);
  for (const magnitudes of spectra(mono({ rate, ...recording }), size, size / 2)) {
    const loudest = Math.max(...magnitudes);
    for (let bin = Math.ceil((80 * size) / rate); bin < (2000 * size) / rate; bin++) {
      const here = magnitudes[bin] ?? 0;
      if (here < loudest * 0.03 || here < (magnitudes[bin - 1] ?? 0) || here < (magnitudes[bin + 1] ?? 0)) continue;
      const pitch = 69 + 12 * Math.log2((bin * rate) / size / 440);
      const position = ((Math.round(pitch) % 12) + 12) % 12;
      classes[position] = (classes[position] ?? 0) + Math.sqrt(here);
    }
  }
  const sum = classes.reduce((all, one) => all + one, 0) || 1;
  return classes.map((one) => one / sum);
}

// How well each degree fits a key (C. Krumhansl's listeners).
const MAJOR = [6.35, 2.23, 3.48, 2.33, 4.38, 4.09, 2.52, 5.19, 2.39, 3.66, 2.29, 2.88];
const MINOR = [6.33, 2.68, 3.52, 5.38, 2.6, 3.53, 2.54, 4.75, 3.98, 2.69, 3.34, 3.17];

function correlation(one: readonly number[], other: readonly number[]): number {
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [a, b] = [mean(one), mean(other)];
  let [product, left, right] = [0, 0, 0];
  for (const [index, value] of one.entries()) {
    const [x, y] = [value - a, (other[index] ?? 0) - b];
    product += x * y;
    left += x * x;
    right += y * y;
  }
  return product / Math.sqrt(left * right || 1);
}

/** The likeliest keys, best first. */
export function keysOf(recording: Recording): { tonic: number; mode: 'major' | 'minor'; likeness: number }[] {
  const heard = chroma(recording);
  return [...Array(12).keys()]
    .flatMap((tonic) =>
      (
        [
          ['major', MAJOR],
          ['minor', MINOR],
        ] as const
      ).map(([mode, profile]) => ({
        tonic,
        mode,
        likeness: correlation(
          heard,
          heard.map((_, pitch) => profile[(pitch - tonic + 12) % 12] ?? 0),
        ),
      })),
    )
    .sort((one, other) => other.likeness - one.likeness);
}

const ENVELOPE_RATE = 100;

/** The strength of new onsets, 100 times per second. */
export function onsets(recording: Recording): Float64Array {
  const { rate } = recording;
  const hop = Math.round(rate / ENVELOPE_RATE);
  const found: number[] = [];
  let before: Float64Array | undefined;
  for (const magnitudes of spectra(mono(recording), 1024, hop)) {
    const logs = magnitudes.map((value) => Math.log1p(100 * value));
    let flux = 0;
    for (const [bin, value] of logs.entries()) flux += Math.max(0, value - (before?.[bin] ?? value));
    before = logs;
    found.push(flux);
  }
  const mean = found.reduce((sum, value) => sum + value, 0) / Math.max(1, found.length);
  return Float64Array.from(found, (value) => value - mean);
}

/** How well the onsets repeat with the beat of a tempo and its next three multiples, up to an unknown factor. */
export function pulse(envelope: Float64Array, rate: number, bpm: number): number {
  let sum = 0;
  for (const multiple of [1, 2, 4]) {
    const lag = (60 / bpm) * rate * multiple;
    const whole = Math.floor(lag);
    const part = lag - whole;
    let product = 0;
    for (let index = 0; index + whole + 1 < envelope.length; index++) {
      const later = (envelope[index + whole] ?? 0) * (1 - part) + (envelope[index + whole + 1] ?? 0) * part;
      product += (envelope[index] ?? 0) * later;
    }
    sum += product / Math.max(1, envelope.length - whole);
  }
  return sum;
}

/** The tempo between two bounds that the onsets fit best, in beats per minute. */
export function tempoOf(recording: Recording, low: number, high: number): number {
  const envelope = onsets(recording);
  const rate = recording.rate / Math.round(recording.rate / ENVELOPE_RATE);
  let [best, bestPulse] = [low, -Infinity];
  for (let bpm = low; bpm <= high; bpm += 0.25) {
    const here = pulse(envelope, rate, bpm);
    if (here > bestPulse) [best, bestPulse] = [bpm, here];
  }
  return best;
}

/** The pitch of a section of a single voice in Hz, by autocorrelation; undefined if it has none. */
export function pitchOf(samples: Float32Array, rate: number, low: number, high: number): number | undefined {
  const scores: number[] = [];
  const [shortest, longest] = [Math.floor(rate / high), Math.ceil(rate / low)];
  const length = samples.length - longest;
  for (let lag = shortest; lag <= longest; lag++) {
    let [product, one, other] = [0, 0, 0];
    for (let index = 0; index < length; index++) {
      const [a, b] = [samples[index] ?? 0, samples[index + lag] ?? 0];
      product += a * b;
      one += a * a;
      other += b * b;
    }
    scores.push(product / Math.sqrt(one * other + 1e-12));
  }
  const best = Math.max(...scores);
  if (!(best > 0.6)) return undefined;
  const index = scores.findIndex(
    (score, position) =>
      score > best * 0.93 && score >= (scores[position - 1] ?? -1) && score >= (scores[position + 1] ?? -1),
  );
  const [left, here, right] = [scores[index - 1] ?? 0, scores[index] ?? 0, scores[index + 1] ?? 0];
  const bend = (left - right) / (2 * (left - 2 * here + right) || 1);
  return rate / (shortest + index + bend);
}
