/**
 * How a job is polled: at short intervals at first, then at longer ones, because most jobs are short and a long one
 * should cost few requests; and how many unreadable answers are tolerated. No clock and no network, so that it can be
 * tested by itself.
 */

const FIRST_WAIT_MS = 500;
const BACKOFF = 1.3;
const SLOWEST_WAIT_MS = 5_000;
/**
 * The longest polling interval while the provider's webhooks arrive, in milliseconds: polling then only covers a lost
 * webhook.
 */
const SLOWEST_WAIT_WITH_HOOKS_MS = 15_000;
/**
 * An HTML page instead of JSON, an unknown state, an oversized answer: this often in a row, which takes over a minute,
 * it is no longer a short disturbance of a gateway.
 */
const MAX_UNREADABLE = 20;

export interface PollPace {
  /** How long to wait until the next poll, in milliseconds. @param requestedMs what the provider requested. */
  next(requestedMs: number | undefined, isHeard: boolean): number;
  /** The provider gave a readable answer. */
  readable(): void;
  /** The provider answered with success, but unreadably. @returns whether that has gone on for too long. */
  unreadable(): boolean;
}

export function createPollPace(): PollPace {
  let waitMs = FIRST_WAIT_MS;
  let unreadable = 0;
  return {
    next(requestedMs, isHeard) {
      const slowest = isHeard ? SLOWEST_WAIT_WITH_HOOKS_MS : SLOWEST_WAIT_MS;
      const now = Math.min(waitMs, slowest);
      waitMs = Math.min(waitMs * BACKOFF, SLOWEST_WAIT_WITH_HOOKS_MS);
      return Math.max(requestedMs ?? 0, now);
    },
    readable() {
      unreadable = 0;
    },
    unreadable() {
      unreadable += 1;
      return unreadable >= MAX_UNREADABLE;
    },
  };
}
