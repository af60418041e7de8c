/**
 * Raises or lowers the pitch of a voice without changing its length and timbre: the speech is cut into grains of two
 * periods each, and these are laid down again closer together or further apart (pitch-synchronous overlap and add).
 * Parts without a pitch, hissing and silence, stay as they are.
 */

/** One position where a period begins, in samples. */
interface Mark {
  readonly at: number;
  /** To the next period; for parts without a pitch, half a grain. */
  readonly period: number;
  readonly isVoiced: boolean;
}

const FRAME_SECONDS = 0.005;
const WINDOW_SECONDS = 0.03;
const UNVOICED_PERIOD_SECONDS = 0.004;
/** Below this a window differs too much from its neighbour to have a pitch. */
const VOICING_LIKENESS = 0.55;
/** A voice's pitch is detectable below 4 kHz: every second sample is enough to find it. */
const TRACKING_STRIDE = 2;
const SILENCE_MEAN_SQUARE = 1e-6;

/** How alike two stretches of a sound are: 1 for the same shape, whatever their levels. */
function likeness(samples: Float32Array, first: number, second: number, length: number, stride = 1): number {
  let product = 0;
  let energies = 0;
  let others = 0;
  for (let index = 0; index < length; index += stride) {
    const a = samples[first + index] ?? 0;
    const b = samples[second + index] ?? 0;
    product += a * b;
    energies += a * a;
    others += b * b;
  }
  return product / Math.sqrt(energies * others + 1e-12);
}

/** The period at each frame in samples, 0 where there is none. */
function periodsOf(samples: Float32Array, sampleRate: number, lowestHertz: number, highestHertz: number): Float32Array {
  const step = Math.round(sampleRate * FRAME_SECONDS);
  const window = Math.round(sampleRate * WINDOW_SECONDS);
  const [shortest, longest] = [Math.floor(sampleRate / highestHertz), Math.ceil(sampleRate / lowestHertz)];
  const periods = new Float32Array(Math.ceil(samples.length / step));
  let before = 0;
  for (let frame = 0; frame < periods.length; frame++) {
    const start = Math.max(0, frame * step - Math.round((window + longest) / 2));
    let energy = 0;
    for (let index = start; index < start + window; index++) energy += (samples[index] ?? 0) ** 2;
    if (energy / window < SILENCE_MEAN_SQUARE) {
      before = 0;
      continue;
    }
    let best = 0;
    let bestScore = 0;
    for (let lag = shortest; lag <= longest; lag++) {
      const alike = likeness(samples, start, start + lag, window, TRACKING_STRIDE);
      // Twice a period is as alike as one: the shorter one wins, and the one near the previous one.
      const jump = before === 0 ? 0 : Math.min(Math.abs(Math.log2(lag / before)), 1);
      const score = alike - 0.0004 * (lag - shortest) - 0.12 * jump;
      if (alike > VOICING_LIKENESS && score > bestScore) {
        best = lag;
        bestScore = score;
      }
    }
    periods[frame] = best;
    before = best;
  }
  return periods;
}

/** The loudest position near the middle of a stretch: where a period may begin. */
function loudestNear(samples: Float32Array, from: number, length: number): number {
  let loudest = from;
  for (let index = from; index < from + length; index++) {
    if (Math.abs(samples[index] ?? 0) > Math.abs(samples[loudest] ?? 0)) loudest = index;
  }
  return loudest;
}

function marksOf(samples: Float32Array, sampleRate: number, periods: Float32Array): Mark[] {
  const step = Math.round(sampleRate * FRAME_SECONDS);
  const unvoiced = Math.round(sampleRate * UNVOICED_PERIOD_SECONDS);
  const periodAt = (at: number): number => periods[Math.min(periods.length - 1, Math.round(at / step))] ?? 0;
  const marks: Mark[] = [];
  let at = 0;
  let wasVoiced = false;
  while (at < samples.length) {
    const period = periodAt(at);
    if (period === 0) {
      marks.push({ at, period: unvoiced, isVoiced: false });
      wasVoiced = false;
      at += unvoiced;
      continue;
    }
    if (!wasVoiced) at = loudestNear(samples, at, period);
    marks.push({ at, period, isVoiced: true });
    wasVoiced = true;
    // The next period begins where the sound looks most like here.
    let [best, bestAlike] = [period, -1];
    const half = Math.round(period / 2);
    for (let lag = Math.round(period * 0.85); lag <= period * 1.15; lag++) {
      const alike = likeness(samples, at - half, at - half + lag, period);
      if (alike > bestAlike) [best, bestAlike] = [lag, alike];
    }
    at += best;
  }
  return marks;
}

/** Adds the grain around a mark to the result, its middle at `target`. */
function addGrain(into: Float32Array, samples: Float32Array, mark: Mark, target: number, gain: number): void {
  const half = mark.period;
  const whole = Math.floor(target);
  const part = target - whole;
  for (let offset = -half; offset <= half; offset++) {
    const position = whole + offset;
    if (position < 0 || position >= into.length) continue;
    // Between two samples: the pitch would jitter if grains lay on whole samples only.
    const from = mark.at + offset;
    const sample = (samples[from] ?? 0) * (1 - part) + (samples[from - 1] ?? 0) * part;
    const window = 0.5 + 0.5 * Math.cos((Math.PI * (offset - part)) / half);
    into[position] = (into[position] ?? 0) + sample * window * gain;
  }
}

/**
 * Shifts the pitch of speech.
 *
 * @param semitones -12 to 12; 0 returns the samples unchanged.
 * @param range the pitch range of the voice, in Hz.
 * @returns the same number of samples.
 */
export function pitchShifted(
  samples: Float32Array,
  sampleRate: number,
  semitones: number,
  range: { readonly lowestHertz: number; readonly highestHertz: number },
): Float32Array {
  if (semitones === 0) return samples;
  const ratio = 2 ** (semitones / 12);
  const marks = marksOf(samples, sampleRate, periodsOf(samples, sampleRate, range.lowestHertz, range.highestHertz));
  const shifted = new Float32Array(samples.length);
  let position = 0;
  let target = 0;
  while (target < samples.length) {
    while (
      position < marks.length - 1 &&
      Math.abs((marks[position + 1]?.at ?? 0) - target) <= Math.abs((marks[position]?.at ?? 0) - target)
    ) {
      position += 1;
    }
    const mark = marks[position];
    if (mark === undefined) break;
    if (mark.isVoiced) {
      // The ratio changes the number of grains: this keeps the power the same.
      addGrain(shifted, samples, mark, target, 1 / Math.sqrt(ratio));
      target += mark.period / ratio;
    } else {
      target = Math.max(mark.at, target);
      addGrain(shifted, samples, mark, mark.at, 1);
      const next = marks[position + 1];
      target = next === undefined ? samples.length : next.at;
    }
  }
  return shifted;
}
