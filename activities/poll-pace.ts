/**
 * How a job is asked for: soon at first, then ever more seldom, because most are short and a long one shall cost few
 * requests; and how often an answer may make no sense. No clock and no network, so that it can be judged by itself.
 */

const FIRST_WAIT_MS = 500;
const BACKOFF = 1.3;
const SLOWEST_WAIT_MS = 5_000;
/** While the provider's hooks are known to arrive, asking is only for the one that gets lost. */
const SLOWEST_WAIT_WITH_HOOKS_MS = 15_000;
/**
 * A page instead of JSON, a state that nobody knows, more than any answer holds: this often in a row, which is over a
 * minute, it is no moment's trouble of a gateway.
 */
const MAX_UNREADABLE = 20;

export interface PollPace {
  /** How long to wait until the next question, in milliseconds. @param askedForMs what the provider asked for. */
  next(askedForMs: number | undefined, isHeard: boolean): number;
  /** The provider told something. */
  readable(): void;
  /** The provider answered with success and told nothing. @returns whether that has gone on for too long. */
  unreadable(): boolean;
}

export function createPollPace(): PollPace {
  let waitMs = FIRST_WAIT_MS;
  let unreadable = 0;
  return {
    next(askedForMs, isHeard) {
      const slowest = isHeard ? SLOWEST_WAIT_WITH_HOOKS_MS : SLOWEST_WAIT_MS;
      const now = Math.min(waitMs, slowest);
      waitMs = Math.min(waitMs * BACKOFF, SLOWEST_WAIT_WITH_HOOKS_MS);
      return Math.max(askedForMs ?? 0, now);
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
