/**
 * The processing of a finished mix: it removes rumble, adds a little air, compresses gently, brings the mix to the
 * loudness of its genre with a limiter, and fades it out at the very end. In two passes, because loudness is only known
 * when everything has been played.
 */
import { Biquad, highPass, highShelf, peak } from '../sound/signal/biquad.ts';

/** Left and right. */
export type Stereo = readonly [Float32Array, Float32Array];

/** No sample goes above: -1.2 dB, so that the overshoot of an mp3 encoder stays below full scale. */
export const CEILING = 10 ** (-1.2 / 20);
/** The largest reduction by the limiter: beyond it music is squashed. */
const MOST_LIMITING_DB = 7;
/** More than any mix needs; a nearly silent one stays so. */
const MOST_GAIN = 40;
/** How often the compressor reads its meter: every 0.7 ms. */
const CONTROL_SAMPLES = 32;
const [ATTACK_SECONDS, RELEASE_SECONDS, AVERAGE_SECONDS] = [0.025, 0.22, 0.01];
/** The compressor works above this level, two to one, and never reduces more than this. */
const [THRESHOLD_DB, MOST_REDUCTION_DB] = [-18, 6];

/** The first pass: tone and compression, in place, block after block. */
export interface MixBus {
  process(block: Stereo): void;
}

export function createMixBus(rate: number): MixBus {
  const chain = (): Biquad[] =>
    [highPass(rate, 28), peak(rate, 280, 0.8, -1.5), peak(rate, 3200, 0.8, 1), highShelf(rate, 8500, 2)].map(
      (coefficients) => new Biquad(coefficients),
    );
  const [ofLeft, ofRight] = [chain(), chain()];
  const attack = Math.exp(-CONTROL_SAMPLES / (ATTACK_SECONDS * rate));
  const release = Math.exp(-CONTROL_SAMPLES / (RELEASE_SECONDS * rate));
  const average = 1 - Math.exp(-1 / (AVERAGE_SECONDS * rate));
  let power = 0;
  let reduction = 0;
  let gain = 1;
  return {
    process([left, right]) {
      for (const filter of ofLeft) filter.process(left);
      for (const filter of ofRight) filter.process(right);
      for (let start = 0; start < left.length; start += CONTROL_SAMPLES) {
        const end = Math.min(start + CONTROL_SAMPLES, left.length);
        for (let index = start; index < end; index++) {
          const l = left[index] ?? 0;
          const r = right[index] ?? 0;
          power += ((l * l + r * r) * 0.5 - power) * average;
        }
        const level = 10 * Math.log10(power + 1e-9);
        const wanted = Math.min(MOST_REDUCTION_DB, Math.max(0, (level - THRESHOLD_DB) * 0.5));
        const speed = wanted > reduction ? attack : release;
        reduction = reduction * speed + wanted * (1 - speed);
        const slope = (10 ** (-reduction / 20) - gain) / (end - start);
        for (let index = start; index < end; index++) {
          gain += slope;
          left[index] = (left[index] ?? 0) * gain;
          right[index] = (right[index] ?? 0) * gain;
        }
      }
    },
  };
}

/**
 * The gain that brings a mix to a loudness, within the limits of its peaks.
 *
 * @param measured and wanted: LUFS. @param highest the highest sample.
 * @returns a factor.
 */
export function loudnessGain(measured: number, wanted: number, highest: number): number {
  const most = (CEILING / Math.max(highest, 1e-6)) * 10 ** (MOST_LIMITING_DB / 20);
  return Math.min(10 ** ((wanted - measured) / 20), most, MOST_GAIN);
}

/** How loud the music still is at a sample: 1 until the fade begins, 0 at the end; like a hand on a fader. */
export function fadeAt(sample: number, total: number, fadeSamples: number): number {
  const left = total - sample;
  if (left >= fadeSamples) return 1;
  const share = Math.max(0, left / fadeSamples);
  return share * share * (3 - 2 * share);
}
