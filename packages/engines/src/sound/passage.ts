/**
 * A thing that moves past the listener: nearer and further, from one side to the other, and higher and lower in pitch
 * as it comes and goes, because the path of its sound gets shorter and longer (Doppler).
 */
import { Biquad, lowPass } from './signal/biquad.ts';
import { SAMPLE_RATE } from './signal/shapes.ts';

const METRES_A_SECOND = 343;
/** The smallest distance. */
const NEAREST_METRES = 4;
/** How far it comes from, and no faster than this: about 90 km/h. */
const FARTHEST_METRES = 110;
const FASTEST = 26;
const CONTROL_STEP = 64;

export class MovingSource {
  readonly #course: 'passing' | 'approaching' | 'leaving';
  readonly #length: number;
  readonly #toRight: number;
  readonly #delays: readonly [Float32Array, Float32Array];
  readonly #dull: readonly [Biquad, Biquad] = [
    new Biquad(lowPass(SAMPLE_RATE, 20_000)),
    new Biquad(lowPass(SAMPLE_RATE, 20_000)),
  ];
  #at = 0;

  /** @param length of the whole passage, in samples. */
  constructor(course: 'passing' | 'approaching' | 'leaving', length: number, isToRight: boolean) {
    this.#course = course;
    this.#length = length;
    this.#toRight = isToRight ? 1 : -1;
    const longest = Math.ceil(((FARTHEST_METRES + 10) / METRES_A_SECOND) * SAMPLE_RATE) + 4;
    this.#delays = [new Float32Array(longest), new Float32Array(longest)];
  }

  /** Metres along its path from the nearest point; negative before it. */
  #alongAt(sample: number): number {
    const seconds = this.#length / SAMPLE_RATE;
    const part = Math.min(Math.max(sample / this.#length, 0), 1.2);
    if (this.#course === 'passing') {
      const reach = Math.min(FARTHEST_METRES, (FASTEST * seconds) / 2);
      return (part * 2 - 1) * reach;
    }
    const reach = Math.min(FARTHEST_METRES, FASTEST * seconds);
    return this.#course === 'approaching' ? (Math.min(part, 1) - 1) * reach : part * reach;
  }

  /** Moves a block, in place. @param from its first sample, from the beginning of the passage. */
  process(left: Float32Array, right: Float32Array, from: number): void {
    const longest = this.#delays[0].length;
    for (let start = 0; start < left.length; start += CONTROL_STEP) {
      const end = Math.min(start + CONTROL_STEP, left.length);
      const [first, last] = [this.#alongAt(from + start), this.#alongAt(from + end)];
      const [distanceFirst, distanceLast] = [first, last].map((along) => Math.hypot(along, NEAREST_METRES)) as [
        number,
        number,
      ];
      const side = Math.max(-1, Math.min(1, (first / (Math.abs(first) + 14)) * 1.15)) * this.#toRight;
      const gain = 1 / (1 + Math.max(0, distanceFirst - NEAREST_METRES) / 9);
      const [gainLeft, gainRight] = [Math.min(1, 1 - side) * gain, Math.min(1, 1 + side) * gain];
      const dull = lowPass(SAMPLE_RATE, 18_000 / (1 + distanceFirst / 22));
      for (const filter of this.#dull) filter.retune(dull);
      for (let index = start; index < end; index++) {
        const metres = distanceFirst + ((distanceLast - distanceFirst) * (index - start)) / (end - start);
        const behind = (metres / METRES_A_SECOND) * SAMPLE_RATE;
        const whole = Math.floor(behind);
        const part = behind - whole;
        for (const [channel, plane] of [left, right].entries()) {
          const delay = this.#delays[channel === 0 ? 0 : 1];
          delay[this.#at] = plane[index] ?? 0;
          const near = delay[(this.#at - whole + longest * 2) % longest] ?? 0;
          const far = delay[(this.#at - whole - 1 + longest * 2) % longest] ?? 0;
          plane[index] =
            this.#dull[channel === 0 ? 0 : 1].step(near * (1 - part) + far * part) *
            (channel === 0 ? gainLeft : gainRight);
        }
        this.#at = (this.#at + 1) % longest;
      }
    }
  }
}
