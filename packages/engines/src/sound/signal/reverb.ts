/**
 * The room around a sound: eight delay lines that feed each other (a feedback delay network), with walls that absorb
 * high frequencies. It works block by block, so that a tail can have any length.
 */

/** The acoustics of a room. */
export interface Room {
  /** Time for a sound to decay by 60 dB. */
  readonly decaySeconds: number;
  /** 0 stone to 1 curtains: how fast high frequencies decay. */
  readonly damping: number;
  /** 0.3 a cupboard to 2 a valley. */
  readonly size: number;
  /** Delay before the first reflection. */
  readonly delaySeconds: number;
}

/** In milliseconds at size 1; no two share a factor that would be heard as a pitch. */
const LINES_MS = [29.7, 37.1, 41.1, 43.7, 53.3, 59.9, 67.7, 73.1];

export class Reverb {
  readonly #lines: readonly Float32Array[];
  readonly #gains: readonly number[];
  readonly #walls = new Float32Array(LINES_MS.length);
  readonly #positions = new Int32Array(LINES_MS.length);
  readonly #outputs = new Float32Array(LINES_MS.length);
  readonly #before: Float32Array;
  readonly #damping: number;
  #beforeAt = 0;

  constructor(sampleRate: number, { decaySeconds, damping, size, delaySeconds }: Room) {
    this.#lines = LINES_MS.map((ms) => new Float32Array(Math.max(8, Math.round((ms / 1000) * size * sampleRate))));
    this.#gains = this.#lines.map((line) => 10 ** ((-3 * line.length) / sampleRate / decaySeconds));
    this.#before = new Float32Array(Math.max(1, Math.round(delaySeconds * sampleRate)));
    this.#damping = damping * 0.85;
  }

  /**
   * Adds the room's reverb.
   *
   * @param send the input of the room; one channel.
   */
  process(send: Float32Array, left: Float32Array, right: Float32Array): void {
    const lines = this.#lines;
    const outputs = this.#outputs;
    const count = lines.length;
    for (let index = 0; index < send.length; index++) {
      const input = this.#before[this.#beforeAt] ?? 0;
      this.#before[this.#beforeAt] = send[index] ?? 0;
      this.#beforeAt = (this.#beforeAt + 1) % this.#before.length;
      let sum = 0;
      for (let line = 0; line < count; line++) {
        const read = (lines[line]?.[this.#positions[line] ?? 0] ?? 0) * (this.#gains[line] ?? 0);
        const wall = read + ((this.#walls[line] ?? 0) - read) * this.#damping;
        this.#walls[line] = wall;
        outputs[line] = wall;
        sum += wall;
      }
      // Householder: each line receives the mean of all with the sign inverted, so that energy is preserved.
      const mean = (sum * 2) / count;
      let [l, r] = [0, 0];
      for (let line = 0; line < count; line++) {
        const output = outputs[line] ?? 0;
        const buffer = lines[line];
        if (buffer === undefined) continue;
        const position = this.#positions[line] ?? 0;
        buffer[position] = output - mean + (line % 4 < 2 ? input : -input);
        this.#positions[line] = position + 1 === buffer.length ? 0 : position + 1;
        if (line % 2 === 0) l += line % 4 === 0 ? output : -output;
        else r += line % 4 === 1 ? output : -output;
      }
      left[index] = (left[index] ?? 0) + l * 0.5;
      right[index] = (right[index] ?? 0) + r * 0.5;
    }
  }
}
