/**
 * How long a call may take at an upstream: until it begins, between two pieces, and altogether (textLimitsOf). One
 * timer for a call, however many pieces there are: a piece only records the time.
 */

/** `first`: it did not begin; `idle`: it fell silent; `total`: it took too long. */
export type TimeLimit = 'first' | 'idle' | 'total';

export interface ClockLimits {
  /** The time limit from the clock's start; Infinity if the whole response arrives at once. */
  readonly firstMs: number;
  readonly idleMs: number;
  readonly totalMs: number;
}

export class CallClock {
  readonly #limits: ClockLimits;
  readonly #onLimit: (limit: TimeLimit) => void;
  readonly #startedAt = performance.now();
  readonly #totalAt: number;
  #hasBegun = false;
  #waitingSince: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** @param callStartedAt by `performance.now()`: another upstream may have used up a part of the time. */
  constructor(limits: ClockLimits, callStartedAt: number, onLimit: (limit: TimeLimit) => void) {
    this.#limits = limits;
    this.#onLimit = onLimit;
    this.#totalAt = callStartedAt + limits.totalMs;
    this.#arm();
  }

  /** The answer has begun: from now on silence counts, while the reader waits. */
  begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    clearTimeout(this.#timer);
    this.#arm();
  }

  /** Starts to count the time for which the reader waits for the upstream; also called after each received piece. */
  wait(): void {
    this.#waitingSince = performance.now();
  }

  /** The reader does not wait for the upstream. */
  pause(): void {
    this.#waitingSince = undefined;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #arm(): void {
    const now = performance.now();
    const due = Math.min(this.#totalAt, this.#phaseEnd(now));
    this.#timer = setTimeout(() => this.#check(), Math.max(1, Math.ceil(due - now)));
  }

  #phaseEnd(now: number): number {
    if (!this.#hasBegun) return this.#startedAt + this.#limits.firstMs;
    return (this.#waitingSince ?? now) + this.#limits.idleMs;
  }

  #check(): void {
    const now = performance.now();
    if (now >= this.#totalAt) return this.#onLimit('total');
    if (now >= this.#phaseEnd(now)) return this.#onLimit(this.#hasBegun ? 'idle' : 'first');
    this.#arm();
  }
}
