/**
 * Where the periods of a spoken line lie: one mark per period where the voice sounds, marks at even distances where it
 * only hisses. The known sounds help: an `s` has no pitch, however much it looks like one.
 */
import type { SpokenLine } from './singer.ts';

/** One period. Times in seconds. */
export interface Mark {
  readonly at: number;
  readonly period: number;
  readonly isVoiced: boolean;
}

const VOICELESS: ReadonlySet<string> = new Set(['p', 't', 'k', 'f', 'th', 's', 'sh', 'ch', 'hh', 'pau']);
const FRAME_SECONDS = 0.007;
/** Pitch is detectable below 4 kHz: every second product is enough. */
const TRACKING_STRIDE = 2;
const WINDOW_SECONDS = 0.028;
const HISS_PERIOD_SECONDS = 0.003;
/** Below this a window differs too much from itself one period later to have a pitch. */
const LIKENESS = 0.45;
/** The cost of changing the pitch by an octave from one frame to the next. */
const JUMP_COST = 2.2;

/** Measures how alike two stretches of a line are: 1 for the same shape, whatever their levels. */
type Likeness = (start: number, lag: number, length: number, stride: number) => number;

/** Sums of squares are precomputed, so that only the products have to be summed. */
function createLikeness(samples: Float32Array): Likeness {
  const energies = new Float64Array(samples.length + 1);
  for (let index = 0; index < samples.length; index++)
    energies[index + 1] = (energies[index] ?? 0) + (samples[index] ?? 0) ** 2;
  const energy = (from: number, to: number): number =>
    (energies[Math.min(to, samples.length)] ?? 0) - (energies[Math.min(from, samples.length)] ?? 0);
  return (start, lag, length, stride) => {
    let product = 0;
    const end = Math.min(start + length, samples.length - lag);
    for (let index = start; index < end; index += stride)
      product += (samples[index] ?? 0) * (samples[index + lag] ?? 0);
    return (
      (product * stride) / Math.sqrt(energy(start, start + length) * energy(start + lag, start + lag + length) + 1e-9)
    );
  };
}

/** The period of each frame in samples, 0 where there is none: the smoothest way through the likeliest ones. */
function trackPeriods(line: SpokenLine, alike: Likeness, lowest: number, highest: number): Float64Array {
  const { samples, sampleRate } = line;
  const hop = FRAME_SECONDS * sampleRate;
  const window = Math.round(WINDOW_SECONDS * sampleRate);
  const [shortest, longest] = [Math.floor(sampleRate / highest), Math.ceil(sampleRate / lowest)];
  const frames = Math.floor(samples.length / hop);
  const options: { lag: number; worth: number; from: number }[][] = [];
  for (let frame = 0; frame < frames; frame++) {
    const start = Math.max(0, Math.round(frame * hop - (window + longest) / 2));
    const scores = Float64Array.from({ length: longest - shortest + 1 }, (_, index) =>
      alike(start, shortest + index, window, TRACKING_STRIDE),
    );
    const peaks: { lag: number; worth: number; from: number }[] = [];
    for (let index = 1; index < scores.length - 1; index++) {
      const [left, here, right] = [scores[index - 1] ?? 0, scores[index] ?? 0, scores[index + 1] ?? 0];
      if (here < LIKENESS || here < left || here < right) continue;
      const bend = (left - right) / (2 * (left - 2 * here + right) || 1);
      const lag = shortest + index + bend;
      // Two periods look like one: the shorter scores a little higher.
      peaks.push({ lag, worth: here - (0.12 * (lag - shortest)) / (longest - shortest), from: -1 });
    }
    const before = options.at(-1);
    for (const peak of peaks) {
      if (before === undefined || before.length === 0) continue;
      let best = -Infinity;
      for (const [position, option] of before.entries()) {
        const worth = option.worth - JUMP_COST * Math.abs(Math.log2(option.lag / peak.lag));
        if (worth > best) {
          best = worth;
          peak.from = position;
        }
      }
      peak.worth += best;
    }
    options.push(peaks);
  }
  const periods = new Float64Array(frames);
  let position = -1;
  for (let frame = frames - 1; frame >= 0; frame--) {
    const here = options[frame] ?? [];
    if (position < 0)
      position = here.reduce(
        (best, option, index) => (option.worth > (here[best]?.worth ?? -Infinity) ? index : best),
        -1,
      );
    const option = here[position];
    periods[frame] = option?.lag ?? 0;
    position = option?.from ?? -1;
  }
  return periods;
}

/** Whether a voice can sound at a time, according to the sounds of the line. */
function voicingOf(line: SpokenLine): (seconds: number) => boolean {
  const phones = line.syllables.flatMap(({ onset, vowel, coda }) => [...onset, vowel, ...coda]);
  const mute = phones.filter(({ name }) => VOICELESS.has(name));
  return (seconds) => !mute.some(({ start, end }) => seconds >= start && seconds < end);
}

/** All marks of a line in order, from its beginning to its end. */
export function marksOf(line: SpokenLine, lowestHertz: number, highestHertz: number): Mark[] {
  const { samples, sampleRate } = line;
  const alike = createLikeness(samples);
  const periods = trackPeriods(line, alike, lowestHertz, highestHertz);
  const canSound = voicingOf(line);
  const end = samples.length / sampleRate;
  const marks: Mark[] = [];
  let at = 0;
  let wasVoiced = false;
  while (at < end) {
    const period = (periods[Math.min(periods.length - 1, Math.round(at / FRAME_SECONDS))] ?? 0) / sampleRate;
    if (period === 0 || !canSound(at)) {
      marks.push({ at, period: HISS_PERIOD_SECONDS, isVoiced: false });
      at += HISS_PERIOD_SECONDS;
      wasVoiced = false;
      continue;
    }
    if (!wasVoiced) at = highestIn(samples, at * sampleRate, period * sampleRate) / sampleRate;
    marks.push({ at, period, isVoiced: true });
    wasVoiced = true;
    // The next period begins where the sound looks most like here: between samples, or the pitch would jitter.
    const length = Math.round(period * sampleRate);
    const start = Math.max(0, Math.round(at * sampleRate) - (length >> 1));
    const scores: number[] = [];
    const reach = Math.max(2, Math.round(length * 0.12));
    for (let lag = length - reach; lag <= length + reach; lag++) scores.push(alike(start, lag, length, 1));
    const best = scores.indexOf(Math.max(...scores));
    const [left, here, right] = [scores[best - 1] ?? 0, scores[best] ?? 0, scores[best + 1] ?? 0];
    const isEdge = best === 0 || best === scores.length - 1;
    const bend = isEdge ? 0 : (left - right) / (2 * (left - 2 * here + right) || 1);
    at += isEdge ? period : (length - reach + best + bend) / sampleRate;
  }
  return marks;
}

/** The index of the highest sample in a stretch. */
function highestIn(samples: Float32Array, from: number, length: number): number {
  let highest = Math.round(from);
  for (let index = highest; index < from + length; index++)
    if ((samples[index] ?? 0) > (samples[highest] ?? 0)) highest = index;
  return highest;
}
