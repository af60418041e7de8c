/**
 * The singer's track: every line sung, levelled, with a second and a third voice in choruses, and reverb. Produced
 * block by block; only the sounding lines are in memory.
 */
import type { Random } from '@darkroom/seeded-random/random';
import { filtered, highPass, highShelf, peak } from '../sound/signal/biquad.ts';
import { Reverb } from '../sound/signal/reverb.ts';
import type { Stereo } from './mastering.ts';
import { marksOf } from './pitch-marks.ts';
import type { Mark } from './pitch-marks.ts';
import type { Singer, SpokenLine } from './singer.ts';
import { singLine } from './singing.ts';
import type { SungLine, SungNote } from './sung-tune.ts';
import { scaleOf } from './theory.ts';
import type { Key } from './theory.ts';

/** The level that every line is brought to, as the mean square of its sounding samples. */
const LINE_POWER = 0.1 ** 2;
const QUIET = 0.004;
/** Levelling: the length of a word, and the share of a difference in level that is removed. */
const [LEVEL_SECONDS, LEVEL_SHARE] = [0.12, 0.6];
const WET = 0.17;

/** One voice of several that sing a line. */
interface Voice {
  /** Steps of the scale above the tune. */
  readonly above: number;
  readonly detune: number;
  readonly late: number;
  readonly gain: number;
  readonly pan: number;
}

const ALONE: readonly Voice[] = [{ above: 0, detune: 0, late: 0, gain: 1, pan: 0 }];
const CHORUS: readonly Voice[] = [
  { above: 0, detune: 0, late: 0, gain: 1, pan: 0 },
  { above: 0, detune: 0.09, late: 0.016, gain: 0.3, pan: -0.75 },
  { above: 2, detune: -0.06, late: 0.022, gain: 0.34, pan: 0.7 },
];
const RAP_CHORUS: readonly Voice[] = [
  { above: 0, detune: 0, late: 0, gain: 1, pan: 0 },
  { above: 0, detune: 0.2, late: 0.02, gain: 0.35, pan: -0.7 },
  { above: 0, detune: -0.2, late: 0.028, gain: 0.35, pan: 0.7 },
];

/** The same notes, raised by some steps of the scale. */
function raised(notes: readonly SungNote[], steps: number, key: Key): readonly SungNote[] {
  if (steps === 0) return notes;
  const scale = scaleOf(key);
  return notes.map((note) => {
    let { pitch } = note;
    for (let left = steps; left > 0; left--) {
      do pitch += 1;
      while (!scale.includes(pitch % 12));
    }
    return { ...note, pitch };
  });
}

/** Evens out the levels of the words, as a sound engineer does with a fader, and brings the line to its level. */
function levelled(samples: Float32Array, rate: number): Float32Array {
  filtered(samples, highPass(rate, 95), peak(rate, 300, 0.8, -4), peak(rate, 2900, 0.8, 5), highShelf(rate, 5200, 6));
  const hold = Math.exp(-1 / (LEVEL_SECONDS * rate));
  const powers = new Float32Array(samples.length);
  let power = 0;
  for (let index = 0; index < samples.length; index++)
    powers[index] = power = power * hold + (samples[index] ?? 0) ** 2 * (1 - hold);
  // Backwards as well, so that a word is not louder at its beginning.
  power = 0;
  for (let index = samples.length - 1; index >= 0; index--) {
    power = power * hold + (powers[index] ?? 0) * (1 - hold);
    powers[index] = power;
  }
  let sum = 0;
  let loud = 0;
  for (const one of powers) {
    if (one < QUIET ** 2) continue;
    sum += one;
    loud += 1;
  }
  const mean = loud === 0 ? 1 : sum / loud;
  for (let index = 0; index < samples.length; index++) {
    const here = Math.max(powers[index] ?? 0, mean * 0.02);
    const gain = (LINE_POWER / mean) ** 0.5 * (mean / here) ** (LEVEL_SHARE / 2);
    samples[index] = (samples[index] ?? 0) * gain;
  }
  return samples;
}

interface Part {
  readonly start: number;
  readonly samples: Float32Array;
  /** Gains for the left and the right. */
  readonly l: number;
  readonly r: number;
}

/** One line by all of its voices. */
function performLine(sung: SungLine, marks: readonly Mark[], key: Key, rate: number, random: Random): Part[] {
  const { line, notes, section, isSpoken } = sung;
  const voices = section.kind !== 'chorus' ? ALONE : isSpoken ? RAP_CHORUS : CHORUS;
  return voices.map(({ above, detune, late, gain, pan }, index) => {
    const delivery = { rate, isSpoken, detune, late };
    const { startSeconds, samples } = singLine(
      line,
      marks,
      raised(notes, above, key),
      delivery,
      random.fork(`voice ${index}`),
    );
    levelled(samples, rate);
    // Equal power between the sides.
    const angle = ((pan + 1) * Math.PI) / 4;
    const [l, r] = [gain * Math.cos(angle) * Math.SQRT2, gain * Math.sin(angle) * Math.SQRT2];
    return { start: Math.round(startSeconds * rate), samples, l, r };
  });
}

function addPart(part: Part, start: number, [left, right]: Stereo): void {
  const from = Math.max(0, part.start - start);
  const to = Math.min(left.length, part.start + part.samples.length - start);
  for (let index = from; index < to; index++) {
    const sample = part.samples[index + start - part.start] ?? 0;
    left[index] = (left[index] ?? 0) + sample * part.l;
    right[index] = (right[index] ?? 0) + sample * part.r;
  }
}

/** How early a sung line is prepared before it sounds: its first consonants begin before its first note. */
const AHEAD_SECONDS = 1.5;

/**
 * Sings all lines.
 *
 * @param total samples; @param blockSamples samples per block.
 * @param wet the amount of reverb, 0 to 1.
 */
export function* singTrack(
  lines: readonly SungLine[],
  singer: Singer,
  keyOf: (line: SungLine) => Key,
  track: { readonly rate: number; readonly total: number; readonly blockSamples: number; readonly wet: number },
  random: Random,
): Generator<Stereo> {
  const { rate, total, blockSamples, wet } = track;
  const marks = new Map<SpokenLine, Mark[]>();
  const room = new Reverb(rate, { decaySeconds: 1 + 1.6 * wet, damping: 0.35, size: 1, delaySeconds: 0.028 });
  let waiting: Part[] = [];
  let next = 0;
  for (let start = 0; start < total; start += blockSamples) {
    const length = Math.min(blockSamples, total - start);
    const block: Stereo = [new Float32Array(length), new Float32Array(length)];
    for (let sung = lines[next]; sung !== undefined; sung = lines[++next]) {
      if (((sung.notes[0]?.at ?? 0) - AHEAD_SECONDS) * rate >= start + length) break;
      let own = marks.get(sung.line);
      if (own === undefined) {
        own = marksOf(sung.line, singer.lowestHertz, singer.highestHertz);
        marks.set(sung.line, own);
      }
      waiting.push(...performLine(sung, own, keyOf(sung), rate, random.fork(`line ${next}`)));
    }
    for (const part of waiting) addPart(part, start, block);
    waiting = waiting.filter((part) => part.start + part.samples.length > start + length);
    const [left, right] = block;
    const send = left.map((sample, index) => (sample + (right[index] ?? 0)) * 0.5 * WET * (0.6 + wet));
    room.process(send, left, right);
    yield block;
  }
}
