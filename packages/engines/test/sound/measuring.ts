/**
 * What the tests of speech and sounds measure, with code of their own and none of the engines': pitch, spectrum,
 * onsets.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after } from 'node:test';

/** A new empty directory, removed after the test file. */
export async function scratchDirectory(): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'darkroom-sound-'));
  after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** The content of a 16-bit WAV file. */
export interface Wav {
  readonly sampleRate: number;
  readonly channels: readonly Float32Array[];
}

/** Reads a WAV file by its chunks. */
export function readWav(bytes: Buffer): Wav {
  if (bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WAVE')
    throw new Error('no WAV');
  let [sampleRate, count] = [0, 0];
  for (let at = 12; at + 8 <= bytes.length;) {
    const length = bytes.readUInt32LE(at + 4);
    const kind = bytes.toString('latin1', at, at + 4);
    if (kind === 'fmt ') {
      count = bytes.readUInt16LE(at + 10);
      sampleRate = bytes.readUInt32LE(at + 12);
    }
    if (kind === 'data') {
      const frames = Math.floor(Math.min(length, bytes.length - at - 8) / 2 / count);
      const channels = Array.from({ length: count }, (_, channel) =>
        Float32Array.from(
          { length: frames },
          (__, frame) => bytes.readInt16LE(at + 8 + (frame * count + channel) * 2) / 32_768,
        ),
      );
      return { sampleRate, channels };
    }
    at += 8 + length + (length % 2);
  }
  throw new Error('no samples');
}

/** Root mean square in decibels below full scale. */
export function levelOf(samples: Float32Array, from = 0, to = samples.length): number {
  let sum = 0;
  for (let index = from; index < to; index++) sum += (samples[index] ?? 0) ** 2;
  return 10 * Math.log10(sum / Math.max(1, to - from) + 1e-12);
}

/** The levels of consecutive windows. */
export function levelsOf(samples: Float32Array, window: number): number[] {
  const levels: number[] = [];
  for (let from = 0; from + window <= samples.length; from += window)
    levels.push(levelOf(samples, from, from + window));
  return levels;
}

/** The median pitch in Hz of all windows that have one, by autocorrelation. */
export function medianPitch(samples: Float32Array, sampleRate: number, lowest: number, highest: number): number {
  const window = Math.round(sampleRate * 0.04);
  const [shortest, longest] = [Math.floor(sampleRate / highest), Math.ceil(sampleRate / lowest)];
  const found: number[] = [];
  for (let start = 0; start + window + longest < samples.length; start += Math.round(sampleRate * 0.03)) {
    if (levelOf(samples, start, start + window) < -35) continue;
    const likeness = new Map<number, number>();
    let best = 0;
    for (let lag = shortest; lag <= longest; lag++) {
      let [product, first, second] = [0, 1e-9, 1e-9];
      for (let index = start; index < start + window; index++) {
        const [a, b] = [samples[index] ?? 0, samples[index + lag] ?? 0];
        product += a * b;
        first += a * a;
        second += b * b;
      }
      likeness.set(lag, product / Math.sqrt(first * second));
      best = Math.max(best, likeness.get(lag) ?? 0);
    }
    if (best < 0.75) continue;
    // The first peak that is nearly as high as the highest: not an octave below.
    const period = [...likeness].find(
      ([lag, alike]) =>
        alike > 0.9 * best && alike >= (likeness.get(lag - 1) ?? 1) && alike >= (likeness.get(lag + 1) ?? 1),
    );
    if (period !== undefined) found.push(sampleRate / period[0]);
  }
  found.sort((a, b) => a - b);
  return found[Math.floor(found.length / 2)] ?? 0;
}

/** The power at each of `size / 2` frequencies, averaged over a section of the audio. */
export function spectrumOf(samples: Float32Array, size = 4096, from = 0, to = samples.length): Float64Array {
  const power = new Float64Array(size / 2);
  for (let start = from; start + size <= to; start += size / 2) {
    const real = Float64Array.from(
      { length: size },
      (_, index) => (samples[start + index] ?? 0) * (0.5 - 0.5 * Math.cos((2 * Math.PI * index) / size)),
    );
    const imaginary = new Float64Array(size);
    transform(real, imaginary);
    for (let bin = 0; bin < size / 2; bin++)
      power[bin] = (power[bin] ?? 0) + (real[bin] ?? 0) ** 2 + (imaginary[bin] ?? 0) ** 2;
  }
  return power;
}

/** Cooley and Tukey, in place; a power of two. */
function transform(real: Float64Array, imaginary: Float64Array): void {
  const size = real.length;
  for (let index = 1, reversed = 0; index < size; index++) {
    let bit = size >> 1;
    for (; (reversed & bit) !== 0; bit >>= 1) reversed ^= bit;
    reversed ^= bit;
    if (index >= reversed) continue;
    for (const part of [real, imaginary]) [part[index], part[reversed]] = [part[reversed] ?? 0, part[index] ?? 0];
  }
  for (let length = 2; length <= size; length <<= 1) {
    for (let offset = 0; offset < length / 2; offset++) {
      const [cos, sin] = [Math.cos((-2 * Math.PI * offset) / length), Math.sin((-2 * Math.PI * offset) / length)];
      for (let start = offset; start < size; start += length) {
        const other = start + length / 2;
        const [r, i] = [real[other] ?? 0, imaginary[other] ?? 0];
        const [turnedReal, turnedImaginary] = [r * cos - i * sin, r * sin + i * cos];
        real[other] = (real[start] ?? 0) - turnedReal;
        imaginary[other] = (imaginary[start] ?? 0) - turnedImaginary;
        real[start] = (real[start] ?? 0) + turnedReal;
        imaginary[start] = (imaginary[start] ?? 0) + turnedImaginary;
      }
    }
  }
}

/** The part of the power that is above a frequency, in decibels below the total. */
export function powerAbove(samples: Float32Array, sampleRate: number, hertz: number): number {
  const spectrum = spectrumOf(samples);
  const first = Math.ceil((hertz / sampleRate) * spectrum.length * 2);
  const all = spectrum.reduce((sum, power) => sum + power, 1e-20);
  return 10 * Math.log10((spectrum.subarray(first).reduce((sum, power) => sum + power, 0) + 1e-20) / all);
}

/** The level between two frequencies, in decibels below full scale. */
export function bandLevel(samples: Float32Array, sampleRate: number, lowest: number, highest: number): number {
  // Windows of about the same length at every rate.
  const spectrum = spectrumOf(samples, 2 ** Math.ceil(Math.log2(sampleRate * 0.1)));
  const bins = (hertz: number): number => Math.round((hertz / sampleRate) * spectrum.length * 2);
  const all = spectrum.reduce((sum, power) => sum + power, 1e-20);
  const band = spectrum.subarray(bins(lowest), bins(highest)).reduce((sum, power) => sum + power, 1e-20);
  return levelOf(samples) + 10 * Math.log10(band / all);
}

/** The centroid of the power, in Hz: how bright a sound is. */
export function centroidOf(samples: Float32Array, sampleRate: number): number {
  const spectrum = spectrumOf(samples);
  let [weighted, all] = [0, 1e-20];
  for (const [bin, power] of spectrum.entries()) {
    weighted += (power * bin * sampleRate) / (spectrum.length * 2);
    all += power;
  }
  return weighted / all;
}

/** How flat a spectrum is between two frequencies: 1 noise, near 0 a few tones. */
export function flatnessOf(samples: Float32Array, sampleRate: number, lowest: number, highest: number): number {
  const spectrum = spectrumOf(samples);
  const bins = (hertz: number): number => Math.round((hertz / sampleRate) * spectrum.length * 2);
  const band = spectrum.subarray(bins(lowest), bins(highest));
  const mean = band.reduce((sum, power) => sum + power, 0) / band.length;
  const geometric = Math.exp(band.reduce((sum, power) => sum + Math.log(power + 1e-20), 0) / band.length);
  return geometric / mean;
}

/** The frequencies of the highest peaks of a spectrum, highest first. */
export function topsOf(samples: Float32Array, sampleRate: number, count: number): number[] {
  const spectrum = spectrumOf(samples, 16_384);
  const tops = [...spectrum.keys()].filter(
    (bin) =>
      bin > 2 && (spectrum[bin] ?? 0) > (spectrum[bin - 1] ?? 0) && (spectrum[bin] ?? 0) > (spectrum[bin + 1] ?? 0),
  );
  tops.sort((a, b) => (spectrum[b] ?? 0) - (spectrum[a] ?? 0));
  return tops.slice(0, count).map((bin) => (bin * sampleRate) / (spectrum.length * 2));
}

/** When sounds begin, in seconds: the level jumps by some decibels within 10 ms, at least `gap` seconds apart. */
export function onsetsOf(samples: Float32Array, sampleRate: number, gap: number, jump = 12): number[] {
  const levels = levelsOf(samples, Math.round(sampleRate * 0.01));
  const highest = Math.max(...levels);
  const onsets: number[] = [];
  for (let index = 1; index < levels.length; index++) {
    const before = Math.max(-75, ...levels.slice(Math.max(0, index - 3), index));
    const isLoud = (levels[index] ?? -120) > highest - 25;
    if (!isLoud || (levels[index] ?? -120) - before < jump) continue;
    if (onsets.length === 0 || index * 0.01 - (onsets.at(-1) ?? 0) >= gap) onsets.push(index * 0.01);
  }
  return onsets;
}
