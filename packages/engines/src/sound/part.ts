/**
 * One thing in the sound: when it strikes, from which direction it is heard, and how far away it is. Produces its
 * samples block by block, dry and for the reverb.
 */
import type { Random } from '@darkroom/seeded-random/random';
import { Biquad, lowPass } from './signal/biquad.ts';
import { LoudnessMeter } from './signal/loudness.ts';
import { SAMPLE_RATE } from './signal/shapes.ts';
import { MovingSource } from './passage.ts';
import type { Mention } from './prompt-reading.ts';
import type { Bed, Manner, Rhythm, Take } from './thing.ts';

/** Everything is brought to this level before the prompt's own words make it louder or softer. */
const BED_LUFS = -24;
const STRIKE_LUFS = -19;
const HIGHEST_PEAK = 0.9;
/** A bed is measured at its beginning: for about as long as a gust of wind lasts. */
const SHORTEST_TRIAL = 0.8;
const LONGEST_TRIAL = 4;
const FADE_IN_SECONDS = 0.12;
const FADE_OUT_SECONDS = 0.35;
const DEFAULT_FIRST = 0.05;

/** A take that is playing. */
interface Sounding {
  readonly left: Float32Array;
  readonly right: Float32Array;
  /** Its next sample. */
  at: number;
}

function between(random: Random, [low, high]: readonly [number, number]): number {
  return random.between(low, high);
}

/**
 * When a thing strikes, in seconds from the beginning of its part.
 *
 * @param room how much of the part must remain for another strike to begin; the first always does.
 * @param count the number of strikes; if absent, the rhythm determines it.
 */
export function strikeTimes(
  random: Random,
  rhythm: Rhythm,
  pace: number,
  seconds: number,
  room: number,
  count?: number,
): number[] {
  const times: number[] = [];
  const gap = rhythm.gap ?? rhythm.every;
  let at = rhythm.first ?? DEFAULT_FIRST;
  if (count !== undefined) {
    // The exact count: at the usual intervals, or closer together if there is not enough time.
    const step = Math.min(between(random, gap) / pace, Math.max(0.12, (seconds - at) / (count + 0.5)));
    return Array.from({ length: count }, (_, index) => at + index * step);
  }
  while (at < seconds) {
    const group = rhythm.group === undefined ? 1 : random.integer(...rhythm.group);
    for (let index = 0; index < group && at < seconds; index++) {
      times.push(at);
      if (index < group - 1) at += between(random, gap) / pace;
    }
    at += between(random, rhythm.every) / pace;
  }
  return times.filter((time, index) => index === 0 || time + room <= seconds);
}

function sidesOf(take: Take): readonly [Float32Array, Float32Array] {
  return take instanceof Float32Array ? [take, take] : take;
}

export class Part {
  readonly #mention: Mention;
  readonly #manner: Manner;
  readonly #random: Random;
  readonly #start: number;
  readonly #end: number;
  readonly #bed: Bed | undefined;
  readonly #bedGain: number = 0;
  readonly #strikes: number[];
  readonly #sounding: Sounding[] = [];
  readonly #far: readonly [Biquad, Biquad];
  readonly #gain: number;
  readonly #passage: MovingSource | undefined;
  readonly wet: number;
  #turn = 0;
  #strikeGain: number | undefined;

  /**
   * @param start and end: of its part of the whole, in samples. Strikes before the end ring on after it.
   * @param isLast nothing follows its part.
   */
  constructor(mention: Mention, random: Random, start: number, end: number, isLast: boolean) {
    const { thing, distance } = mention;
    this.#mention = mention;
    this.#random = random;
    this.#start = start;
    this.#end = end;
    this.#manner = { ...mention.manner, seconds: (end - start) / SAMPLE_RATE };
    const { pace, seconds, course, weight } = this.#manner;
    // If a count is given, a thing with a bed and a strike only uses the strike.
    if (thing.bed !== undefined && (mention.count === undefined || thing.strike === undefined)) {
      this.#bedGain = this.#trialGain(thing.bed);
      this.#bed = thing.bed(random.fork('bed'), this.#manner);
    }
    // A rare event does not begin so late that the next part would cut it off.
    const isRare = (thing.rhythm?.every[0] ?? 0) > 1;
    const room = isRare && !isLast ? (thing.naturalSeconds ?? 0) * 0.6 : 0;
    this.#strikes =
      thing.strike === undefined || thing.rhythm === undefined
        ? []
        : strikeTimes(random.fork('times'), thing.rhythm, pace, seconds, room, mention.count);
    const decibels = (thing.level ?? 0) + 20 * Math.log10(weight) * 0.6;
    this.#passage =
      course === 'passing' || course === 'approaching' || course === 'leaving'
        ? new MovingSource(course, end - start, random.chance(0.5))
        : undefined;
    this.#gain = 10 ** (decibels / 20) / Math.sqrt(1 + Math.max(0, distance - 4) / 7);
    const dull = lowPass(SAMPLE_RATE, 20_000 / (1 + Math.max(0, distance - 4) / 8));
    this.#far = [new Biquad(dull), new Biquad(dull)];
    this.wet = Math.min(1, (thing.wet ?? 0.2) * (distance < 2 ? 0.5 : 1 + Math.max(0, distance - 4) / 30));
  }

  /** The gain of its bed. */
  #trialGain(make: NonNullable<Mention['thing']['bed']>): number {
    const bed = make(this.#random.fork('bed'), this.#manner);
    const length = Math.round(SAMPLE_RATE * Math.min(Math.max(this.#manner.seconds, SHORTEST_TRIAL), LONGEST_TRIAL));
    const planes = [new Float32Array(length), new Float32Array(length)] as const;
    bed(planes[0], planes[1]);
    const meter = new LoudnessMeter(SAMPLE_RATE, 2);
    meter.add(planes);
    const target = BED_LUFS + (this.#mention.thing.bedLevel ?? 0);
    return 10 ** ((target - Math.max(meter.integrated(), -60)) / 20);
  }

  /** Adds the next block, which begins at a sample of the whole. @param send for the reverb; one channel. */
  render(blockStart: number, left: Float32Array, right: Float32Array, send: Float32Array): void {
    const length = left.length;
    const from = blockStart - this.#start;
    if (from + length <= 0 || (blockStart >= this.#end && this.#sounding.length === 0)) return;
    const own = [new Float32Array(length), new Float32Array(length)] as const;
    this.#renderBed(blockStart, own[0], own[1]);
    this.#beginTakes(from, length);
    this.#renderTakes(own[0], own[1]);
    this.#far[0].process(own[0]);
    this.#far[1].process(own[1]);
    this.#passage?.process(own[0], own[1], from);
    for (let index = 0; index < length; index++) {
      const [l, r] = [(own[0][index] ?? 0) * this.#gain, (own[1][index] ?? 0) * this.#gain];
      left[index] = (left[index] ?? 0) + l;
      right[index] = (right[index] ?? 0) + r;
      send[index] = (send[index] ?? 0) + (l + r) * 0.5 * this.wet;
    }
  }

  #renderBed(blockStart: number, left: Float32Array, right: Float32Array): void {
    const [begin, end] = [Math.max(0, this.#start - blockStart), Math.min(left.length, this.#end - blockStart)];
    if (this.#bed === undefined || begin >= end) return;
    this.#bed(left.subarray(begin, end), right.subarray(begin, end));
    const side = this.#mention.side ?? 0;
    const [gainLeft, gainRight] = [Math.min(1, 1 - side), Math.min(1, 1 + side)];
    const fadeIn = Math.min(FADE_IN_SECONDS * SAMPLE_RATE, (this.#end - this.#start) * 0.1);
    const fadeOut = Math.min(FADE_OUT_SECONDS * SAMPLE_RATE, (this.#end - this.#start) * 0.15);
    for (let index = begin; index < end; index++) {
      const at = blockStart + index;
      const fade = Math.min(1, (at - this.#start) / fadeIn, (this.#end - at) / fadeOut) * this.#bedGain;
      left[index] = (left[index] ?? 0) * fade * gainLeft;
      right[index] = (right[index] ?? 0) * fade * gainRight;
    }
  }

  /** Creates the takes that begin within a block. */
  #beginTakes(from: number, length: number): void {
    for (
      let next = this.#strikes[0];
      next !== undefined && next * SAMPLE_RATE < from + length;
      next = this.#strikes[0]
    ) {
      this.#strikes.shift();
      const { thing, side } = this.#mention;
      const random = this.#random.fork(`take ${this.#turn}`);
      const sides = sidesOf(thing.strike?.(random, this.#manner, this.#turn) ?? new Float32Array(1));
      const gain = this.#gainOf(sides) * (this.#turn === 0 ? 1 : random.between(0.78, 1.04));
      const spread = (thing.spread ?? 0.3) * (thing.rhythm?.isFixed === true ? 0 : 1);
      // A take that is already stereo is only panned a little.
      const lean = (side ?? random.between(-spread, spread)) * (sides[0] === sides[1] ? 1 : 0.4);
      const angle = ((Math.max(-1, Math.min(1, lean)) + 1) * Math.PI) / 4;
      const [gainLeft, gainRight] = [Math.cos(angle) * Math.SQRT2 * gain, Math.sin(angle) * Math.SQRT2 * gain];
      const at = from - Math.round(next * SAMPLE_RATE);
      this.#sounding.push({
        left: sides[0].map((sample) => sample * gainLeft),
        right: sides[1].map((sample) => sample * gainRight),
        at,
      });
      this.#turn += 1;
    }
  }

  /** One gain for all takes, so that a soft one stays softer than a hard one; none above full scale. */
  #gainOf(sides: readonly [Float32Array, Float32Array]): number {
    const meter = new LoudnessMeter(SAMPLE_RATE, 2);
    meter.add(sides);
    this.#strikeGain ??= 10 ** ((STRIKE_LUFS - Math.max(meter.loudestBlock(), -60)) / 20);
    return Math.min(this.#strikeGain, HIGHEST_PEAK / Math.max(meter.peak, 1e-6));
  }

  #renderTakes(left: Float32Array, right: Float32Array): void {
    for (const take of this.#sounding) {
      const begin = Math.max(0, -take.at);
      const end = Math.min(left.length, take.left.length - take.at);
      for (let index = begin; index < end; index++) {
        left[index] = (left[index] ?? 0) + (take.left[take.at + index] ?? 0);
        right[index] = (right[index] ?? 0) + (take.right[take.at + index] ?? 0);
      }
      take.at += left.length;
    }
    for (let index = this.#sounding.length - 1; index >= 0; index--) {
      const take = this.#sounding[index];
      if (take !== undefined && take.at >= take.left.length) this.#sounding.splice(index, 1);
    }
  }
}
