/** The effects of a prompt on a whole sound: under water, over the radio, behind a wall, with an echo. */
import type { Random } from '@darkroom/seeded-random/random';
import type { Effects } from './prompt-words.ts';
import { Biquad, highPass, lowPass, peak } from './signal/biquad.ts';
import { wander, whiteNoise } from './signal/noise.ts';
import { SAMPLE_RATE } from './signal/shapes.ts';
import { underwater } from './things/water.ts';
import type { Bed } from './thing.ts';

const CONTROL_STEP = 64;
/** A repeated echo from a wall about 65 m away. */
const ECHO_SECONDS = 0.38;
const ECHO_GAIN = 0.48;
const USUAL = { weight: 0.8, pace: 1, pitch: 1, surface: undefined, course: undefined, seconds: 1 } as const;

export class WholeEffects {
  readonly #effects: Effects;
  readonly #filters: readonly (readonly Biquad[])[];
  readonly #water: Bed | undefined;
  readonly #wobble: () => number;
  readonly #static: () => number;
  readonly #echoes: readonly [Float32Array, Float32Array];
  #echoAt = 0;

  constructor(effects: Effects, random: Random) {
    this.#effects = effects;
    const { isUnderwater, isThroughRadio, isMuffled } = effects;
    this.#filters = [0, 1].map(() =>
      [
        ...(isMuffled ? [lowPass(SAMPLE_RATE, 650), lowPass(SAMPLE_RATE, 900)] : []),
        ...(isThroughRadio
          ? [
              highPass(SAMPLE_RATE, 420),
              highPass(SAMPLE_RATE, 420),
              peak(SAMPLE_RATE, 1700, 1, 6),
              lowPass(SAMPLE_RATE, 3000),
              lowPass(SAMPLE_RATE, 3000),
            ]
          : []),
        ...(isUnderwater ? [lowPass(SAMPLE_RATE, 500), lowPass(SAMPLE_RATE, 700)] : []),
      ].map((coefficients) => new Biquad(coefficients)),
    );
    this.#water = isUnderwater ? underwater(random.fork('water'), USUAL) : undefined;
    this.#wobble = wander(random.fork('wobble'), 0.7, SAMPLE_RATE / CONTROL_STEP);
    this.#static = whiteNoise(random.fork('static'));
    const length = Math.round(ECHO_SECONDS * SAMPLE_RATE);
    this.#echoes = [new Float32Array(length), new Float32Array(Math.round(length * 1.07))];
  }

  /** Processes a block, in place. */
  process(left: Float32Array, right: Float32Array): void {
    const { isThroughRadio, isUnderwater, hasEcho } = this.#effects;
    if (hasEcho) this.#echo(left, right);
    if (isThroughRadio) this.#driveInOne(left, right);
    if (isUnderwater) this.#sink();
    for (const [channel, plane] of [left, right].entries()) {
      for (const filter of this.#filters[channel] ?? []) filter.process(plane);
    }
    if (this.#water === undefined) return;
    const [bubblesLeft, bubblesRight] = [new Float32Array(left.length), new Float32Array(left.length)];
    this.#water(bubblesLeft, bubblesRight);
    for (let index = 0; index < left.length; index++) {
      left[index] = (left[index] ?? 0) * 1.8 + (bubblesLeft[index] ?? 0) * 0.05;
      right[index] = (right[index] ?? 0) * 1.8 + (bubblesRight[index] ?? 0) * 0.05;
    }
  }

  #echo(left: Float32Array, right: Float32Array): void {
    const [first, second] = this.#echoes;
    for (let index = 0; index < left.length; index++) {
      const [placeLeft, placeRight] = [(this.#echoAt + index) % first.length, (this.#echoAt + index) % second.length];
      const [l, r] = [first[placeLeft] ?? 0, second[placeRight] ?? 0];
      left[index] = (left[index] ?? 0) + l;
      right[index] = (right[index] ?? 0) + r;
      // From side to side.
      first[placeLeft] = (right[index] ?? 0) * ECHO_GAIN;
      second[placeRight] = (left[index] ?? 0) * ECHO_GAIN;
    }
    this.#echoAt = (this.#echoAt + left.length) % (first.length * second.length);
  }

  /** A small loudspeaker has one channel, distorts and hisses. */
  #driveInOne(left: Float32Array, right: Float32Array): void {
    for (let index = 0; index < left.length; index++) {
      const both = ((left[index] ?? 0) + (right[index] ?? 0)) * 0.5;
      const driven = Math.tanh(both * 5) * 0.4 + this.#static() * 0.004;
      left[index] = driven;
      right[index] = driven;
    }
  }

  #sink(): void {
    const hertz = 480 * (1 + 0.35 * this.#wobble());
    for (const chain of this.#filters) chain.at(-1)?.retune(lowPass(SAMPLE_RATE, hertz, 1.1));
  }
}
