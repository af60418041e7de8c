/**
 * When the next piece may be emitted: at once, unless the catalogue gives the model a speed. Now and then other work
 * gets its turn, because the model runs in the process that answers requests.
 */
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import type { TextModelDefinition } from '../../catalogue/text-definition.ts';
import { TextFailure } from '../text-failure.ts';

/** The number of pieces after which other work gets its turn: some 0.2 ms of work. */
const PIECES_PER_TURN = 16;

export class Pace {
  readonly #signal: AbortSignal;
  readonly #millisecondsPerToken: number;
  readonly #startedAt = performance.now();
  #tokens = 0;
  #pieces = 0;

  constructor(model: TextModelDefinition, signal: AbortSignal) {
    this.#signal = signal;
    const upstream = model.upstreams.find(({ protocol }) => protocol === 'embedded');
    const speed = Number(upstream?.parameters?.['tokensPerSecond'] ?? 0);
    this.#millisecondsPerToken = speed > 0 ? 1000 / speed : 0;
  }

  /** Resolves when this many more tokens may be emitted. @throws {TextFailure} the client no longer listens. */
  async wait(tokens: number): Promise<void> {
    this.#tokens += tokens;
    this.#pieces += 1;
    const due = this.#startedAt + this.#tokens * this.#millisecondsPerToken - performance.now();
    try {
      if (this.#millisecondsPerToken > 0 && due >= 1) await delay(due, undefined, { signal: this.#signal });
      else if (this.#pieces % PIECES_PER_TURN === 0) await nextTurn(undefined, { signal: this.#signal });
      this.#signal.throwIfAborted();
    } catch (error) {
      throw new TextFailure('interrupted', 'the answer was cancelled', { cause: error });
    }
  }
}
