/**
 * Holds peaks below a ceiling by turning the level down shortly before they come, so that nothing clips and nothing is
 * distorted. Works on a stream: its output is delayed by its look-ahead.
 */

const LOOK_AHEAD_SECONDS = 0.004;
const RELEASE_SECONDS = 0.09;

/** -1 dBFS: a lossy codec overshoots by about that. */
export const CEILING = 0.891;

export class Limiter {
  readonly #ceiling: number;
  readonly #lookAhead: number;
  readonly #release: number;
  readonly #delays: readonly Float32Array[];
  /** The gain that each delayed sample needs. */
  readonly #needed: Float32Array;
  #at = 0;
  #held = 1;
  #gain = 1;
  #holdLeft = 0;

  constructor(sampleRate: number, channels: number, ceiling: number = CEILING) {
    this.#ceiling = ceiling;
    this.#lookAhead = Math.max(1, Math.round(sampleRate * LOOK_AHEAD_SECONDS));
    this.#release = 1 - Math.exp(-1 / (sampleRate * RELEASE_SECONDS));
    this.#delays = Array.from({ length: channels }, () => new Float32Array(this.#lookAhead));
    this.#needed = new Float32Array(this.#lookAhead).fill(1);
  }

  /** The delay of the output in samples. */
  get delay(): number {
    return this.#lookAhead;
  }

  /** Processes a block, in place, all channels with the same gain. */
  process(planes: readonly Float32Array[]): void {
    const length = planes[0]?.length ?? 0;
    const attack = 1 / this.#lookAhead;
    for (let index = 0; index < length; index++) {
      let highest = 0;
      for (const plane of planes) highest = Math.max(highest, Math.abs(plane[index] ?? 0));
      const needed = highest > this.#ceiling ? this.#ceiling / highest : 1;
      if (needed <= this.#held) {
        this.#held = needed;
        this.#holdLeft = this.#lookAhead;
      } else if (this.#holdLeft > 0) {
        this.#holdLeft -= 1;
      } else {
        this.#held = this.#lowestNeeded(needed);
      }
      if (this.#gain > this.#held) this.#gain = Math.max(this.#held, this.#gain - (1 - this.#held) * attack - 1e-6);
      else this.#gain += (this.#held - this.#gain) * this.#release;
      this.#needed[this.#at] = needed;
      for (const [channel, plane] of planes.entries()) {
        const delay = this.#delays[channel];
        if (delay === undefined) throw new RangeError('more channels than the limiter has');
        const delayed = (delay[this.#at] ?? 0) * this.#gain;
        delay[this.#at] = plane[index] ?? 0;
        // The ramp is linear and its last step exact except for rounding: the clamp is for the rounding.
        plane[index] = Math.min(Math.max(delayed, -this.#ceiling), this.#ceiling);
      }
      this.#at = (this.#at + 1) % this.#lookAhead;
    }
  }

  #lowestNeeded(newest: number): number {
    let lowest = newest;
    for (const needed of this.#needed) if (needed < lowest) lowest = needed;
    return lowest;
  }
}

/** Limits a whole sound, without the delay. @returns new planes of the same length. */
export function limited(
  planes: readonly Float32Array[],
  sampleRate: number,
  ceiling: number = CEILING,
): Float32Array[] {
  const limiter = new Limiter(sampleRate, planes.length, ceiling);
  const padded = planes.map((plane) => {
    const longer = new Float32Array(plane.length + limiter.delay);
    longer.set(plane);
    return longer;
  });
  limiter.process(padded);
  return padded.map((plane) => plane.subarray(limiter.delay));
}
