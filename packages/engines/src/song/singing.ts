/**
 * Turns spoken lines into sung ones: each syllable begins on its note, consonants keep their length, vowels are
 * extended in their steady middle, and the pitch follows the tune with small glides and a vibrato on long notes. Grains
 * of two periods are laid down at the periods of the tune (pitch-synchronous overlap and add), blended from two
 * neighbours each, so that a long vowel flows instead of stuttering. The timbre of the voice stays its own.
 */
import type { Random } from '@darkroom/seeded-random/random';
import type { Mark } from './pitch-marks.ts';
import type { SpokenLine } from './singer.ts';
import type { SungNote } from './sung-tune.ts';

/** How a line is sung besides its notes. */
export interface Delivery {
  /** Samples per second of the result. */
  readonly rate: number;
  /** Keeps the pitch of speech and only the rhythm of the tune. */
  readonly isSpoken: boolean;
  /** Semitones off the written pitch: the interval of a second voice; small for a double. */
  readonly detune: number;
  /** Its delay in seconds. */
  readonly late: number;
}

/** A stretch of time in the result, and its source in the spoken line. */
interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly source: number;
  readonly sourceEnd: number;
}

/** Lines are spoken slowly; this restores the usual speed of consonants. */
const CONSONANT_PACE = 0.82;
/** The largest share of a note that consonants may take. */
const CONSONANT_SHARE = 0.5;
/** Which part of a spoken vowel is held: after its attack, before it changes to the next sound. */
const [HOLD_FROM, HOLD_TO] = [0.32, 0.56];
const SHORTEST_VOWEL_SECONDS = 0.045;
const GLIDE_SECONDS = 0.07;
const [SCOOP_SEMITONES, SCOOP_SECONDS] = [0.7, 0.09];
const VIBRATO = { hertz: 5.3, semitones: 0.32, after: 0.32, grows: 0.35, shortest: 0.5 };
const HISS_STEP_SECONDS = 0.003;
const RELEASE_SECONDS = 0.09;
const ATTACK_SECONDS = 0.006;

function lengthOf(phones: readonly { readonly start: number; readonly end: number }[]): number {
  return phones.reduce((sum, { start, end }) => sum + end - start, 0);
}

/** Lays the sounds of a line over its notes. */
function layOut(line: SpokenLine, notes: readonly SungNote[]): Stretch[] {
  const { syllables } = line;
  const onsets = syllables.map(({ onset }, index) => {
    const gap = index === 0 ? Infinity : (notes[index]?.at ?? 0) - (notes[index - 1]?.at ?? 0);
    return Math.min(lengthOf(onset) * CONSONANT_PACE, gap * CONSONANT_SHARE);
  });
  return syllables.flatMap(({ onset, vowel, coda }, index) => {
    const note = notes[index];
    if (note === undefined) return [];
    const next = notes[index + 1];
    const end = Math.min(note.at + note.seconds, next === undefined ? Infinity : next.at - (onsets[index + 1] ?? 0));
    const room = Math.max(0.02, end - note.at);
    const codaSeconds = Math.max(
      0,
      Math.min(lengthOf(coda) * CONSONANT_PACE, room * CONSONANT_SHARE, room - SHORTEST_VOWEL_SECONDS),
    );
    const vowelEnd = end - codaSeconds;
    return [
      ...consonants(onset, note.at - (onsets[index] ?? 0), note.at),
      ...heldVowel(vowel.start, vowel.end, note.at, Math.max(vowelEnd, note.at + 0.01)),
      ...consonants(coda, vowelEnd, end),
    ];
  });
}

function consonants(
  phones: readonly { readonly start: number; readonly end: number }[],
  from: number,
  to: number,
): Stretch[] {
  const whole = lengthOf(phones);
  let at = from;
  return phones.map(({ start, end }) => {
    const begin = at;
    at += whole === 0 ? 0 : ((end - start) / whole) * (to - from);
    return { from: begin, to: at, source: start, sourceEnd: end };
  });
}

/** A vowel in three parts: how it begins, how it is held, how it ends. Only the middle is extended. */
function heldVowel(start: number, end: number, from: number, to: number): Stretch[] {
  const [spoken, sung] = [end - start, to - from];
  if (sung <= spoken) return [{ from, to, source: start, sourceEnd: end }];
  const [holdFrom, holdTo] = [start + spoken * HOLD_FROM, start + spoken * HOLD_TO];
  const [attack, release] = [holdFrom - start, end - holdTo];
  return [
    { from, to: from + attack, source: start, sourceEnd: holdFrom },
    { from: from + attack, to: to - release, source: holdFrom, sourceEnd: holdTo },
    { from: to - release, to, source: holdTo, sourceEnd: end },
  ];
}

/** The pitch of the tune at a time, as a fractional MIDI number. */
function pitchCurve(notes: readonly SungNote[], random: Random): (at: number) => number {
  const drift = Array.from({ length: 8 }, () => ({ hertz: random.between(0.3, 1.6), phase: random.between(0, 6.28) }));
  const phase = random.between(0, 6.28);
  let index = 0;
  return (at) => {
    while (index < notes.length - 1 && at >= (notes[index + 1]?.at ?? Infinity) - GLIDE_SECONDS / 2) index += 1;
    while (index > 0 && at < (notes[index]?.at ?? 0) - GLIDE_SECONDS / 2) index -= 1;
    const note = notes[index];
    if (note === undefined) return 60;
    const inside = at - note.at;
    const before = notes[index - 1]?.pitch ?? note.pitch - SCOOP_SEMITONES;
    const glide = index === 0 ? SCOOP_SECONDS : GLIDE_SECONDS;
    const way = Math.min(1, Math.max(0, inside / glide + (index === 0 ? 0 : 0.5)));
    let pitch = before + (note.pitch - before) * (0.5 - 0.5 * Math.cos(Math.PI * way));
    if (note.seconds > VIBRATO.shortest && inside > VIBRATO.after) {
      const grown = Math.min(1, (inside - VIBRATO.after) / VIBRATO.grows);
      pitch += VIBRATO.semitones * grown * Math.sin(2 * Math.PI * VIBRATO.hertz * inside + phase);
    }
    let wander = 0;
    for (const one of drift) wander += Math.sin(2 * Math.PI * one.hertz * at + one.phase);
    return pitch + wander * 0.012;
  };
}

/** Adds the sound around one position of the line to the result, under a window of two periods. */
function addGrain(
  into: Float32Array,
  rate: number,
  target: number,
  line: SpokenLine,
  source: number,
  half: number,
  gain: number,
): void {
  const { samples, sampleRate } = line;
  const first = Math.ceil((target - half) * rate);
  const last = Math.floor((target + half) * rate);
  const ratio = sampleRate / rate;
  for (let index = Math.max(0, first); index <= Math.min(last, into.length - 1); index++) {
    const offset = index / rate - target;
    const position = source * sampleRate + offset * rate * ratio;
    const window = 0.5 + 0.5 * Math.cos((Math.PI * offset) / half);
    into[index] = (into[index] ?? 0) + between(samples, position) * window * gain;
  }
}

/** A sample between samples, by a cubic through four of them. */
function between(samples: Float32Array, position: number): number {
  const whole = Math.floor(position);
  const x = position - whole;
  const [a, b, c, d] = [samples[whole - 1] ?? 0, samples[whole] ?? 0, samples[whole + 1] ?? 0, samples[whole + 2] ?? 0];
  return b + 0.5 * x * (c - a + x * (2 * a - 5 * b + 4 * c - d + x * (3 * (b - c) + d - a)));
}

/** Fades like the end of a breath: the last sound dies away, and the first begins without a click. */
function fadeEnds(samples: Float32Array, rate: number, seconds: number): void {
  const from = Math.floor((seconds - RELEASE_SECONDS) * rate);
  for (let index = Math.max(0, from); index < samples.length; index++) {
    const left = Math.max(0, 1 - (index - from) / (RELEASE_SECONDS * 1.5 * rate));
    samples[index] = (samples[index] ?? 0) * left * left;
  }
  const rise = Math.min(samples.length, Math.round(ATTACK_SECONDS * rate));
  for (let index = 0; index < rise; index++) samples[index] = ((samples[index] ?? 0) * index) / rise;
}

/** A line as samples; `startSeconds` is when they begin in the song. */
export interface SungSamples {
  readonly startSeconds: number;
  readonly samples: Float32Array;
}

/** @param marks of the line, from `marksOf`. */
export function singLine(
  line: SpokenLine,
  marks: readonly Mark[],
  notes: readonly SungNote[],
  delivery: Delivery,
  random: Random,
): SungSamples {
  const { rate, isSpoken, detune, late } = delivery;
  const stretches = layOut(line, notes);
  const begin = stretches[0]?.from ?? 0;
  const end = stretches.at(-1)?.to ?? begin;
  const samples = new Float32Array(Math.ceil((end - begin + RELEASE_SECONDS * 2) * rate));
  const curve = pitchCurve(notes, random);
  let position = 0;
  let mark = 0;
  let at = begin;
  while (at < end) {
    while (position < stretches.length - 1 && at >= (stretches[position]?.to ?? Infinity)) position += 1;
    const stretch = stretches[position];
    if (stretch === undefined) break;
    if (at < stretch.from) {
      at = stretch.from;
      continue;
    }
    const way = (at - stretch.from) / Math.max(1e-6, stretch.to - stretch.from);
    const source = stretch.source + (stretch.sourceEnd - stretch.source) * way;
    while (mark < marks.length - 2 && (marks[mark + 1]?.at ?? Infinity) <= source) mark += 1;
    while (mark > 0 && (marks[mark]?.at ?? 0) > source) mark -= 1;
    const [one, two] = [marks[mark], marks[mark + 1] ?? marks[mark]];
    if (one === undefined || two === undefined) break;
    const target = at - begin;
    if (!one.isVoiced) {
      addGrain(samples, rate, target, line, source, HISS_STEP_SECONDS, 1);
      at += HISS_STEP_SECONDS;
      continue;
    }
    const period = isSpoken ? one.period : 1 / (440 * 2 ** ((curve(at) + detune - 69) / 12));
    const gain = Math.sqrt(period / one.period);
    // Between two periods both sound, each as much as it is near.
    const share = two.isVoiced ? Math.min(1, Math.max(0, (source - one.at) / Math.max(1e-6, two.at - one.at))) : 0;
    const half = Math.max(one.period, Math.min(period, one.period * 1.4));
    if (share < 1) addGrain(samples, rate, target, line, one.at, half, gain * (1 - share));
    if (share > 0) addGrain(samples, rate, target, line, two.at, half, gain * share);
    at += period;
  }
  fadeEnds(samples, rate, end - begin);
  return { startSeconds: begin + late, samples };
}
