/** Reads something from the database repeatedly while it is waited for, and how often. */
import type { Logger } from '../telemetry/log.ts';

export interface Poller {
  /**
   * Plans the next poll, if it is needed and none is in progress. One that is planned already is moved only forward,
   * where the wait has become shorter.
   */
  schedule(): void;
  /** Drops the next poll; one in progress ends. */
  stop(): void;
}

export interface PollerOptions {
  /** What is read, for the log: `the task event feed`. */
  readonly what: string;
  readonly poll: () => Promise<void>;
  /** Whether anything waits for it; otherwise polling pauses. */
  readonly isNeeded: () => boolean;
  /** How long to wait before the next poll, in milliseconds. @param failures how many have failed in a row. */
  readonly waitMs: (failures: number) => number;
  readonly onFailure?: () => void;
  readonly logger: Logger;
}

/** One poll at a time, and another one after one that failed. A failure is logged once, until a poll succeeds. */
export function createPoller({ what, poll, isNeeded, waitMs, onFailure, logger }: PollerOptions): Poller {
  let timer: NodeJS.Timeout | undefined;
  let dueAt = 0;
  let isPolling = false;
  let failures = 0;

  const tick = async (): Promise<void> => {
    timer = undefined;
    isPolling = true;
    try {
      await poll();
      if (failures > 0) logger.info({ failures }, `reading ${what} resumed`);
      failures = 0;
    } catch (error) {
      if (failures === 0) logger.warn({ err: error }, `reading ${what} failed`);
      failures += 1;
      onFailure?.();
    } finally {
      isPolling = false;
    }
    schedule();
  };

  const schedule = (): void => {
    if (isPolling || !isNeeded()) return;
    const wait = waitMs(failures);
    const isDueAt = performance.now() + wait;
    if (timer !== undefined && dueAt <= isDueAt) return;
    clearTimeout(timer);
    dueAt = isDueAt;
    timer = setTimeout(() => void tick(), wait);
    timer.unref();
  };

  return {
    schedule,
    stop() {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}

/** Readers see a change 13 ms late on average, and one process polls at most forty times a second. */
const FASTEST_MS = 25;
/** The pace that ten thousand readers and fifty processes were measured with (bench streams): four polls a second. */
const SLOWEST_MS = 250;
/** From 32 watched tasks on, the pace is the slowest one: something happens to some of them all the time. */
const MS_PER_WATCHED = 8;
const GROWTH = 1.5;
/** One poll occupies one connection for no more than a tenth of the time. */
const REST_PER_POLL = 10;

export interface PollPace {
  /** Something happened: a reader began to wait, or was given something. */
  happened(): void;
  /** Times a poll, and counts it. Failed ones too. */
  timed(poll: () => Promise<void>): Promise<void>;
  /** The wait before the next poll, in milliseconds. @param watched how many things the poll asks for. */
  waitMs(watched: number): number;
}

/**
 * How often a feed polls for its waiting readers (docs/decisions/0010): often while something happens and few are
 * watched, so that a reader hardly waits longer than for a notification, and at the slowest pace otherwise, so that
 * neither many readers nor many processes cost the database more than four polls a second each.
 *
 * The wait before a poll is the longest of these, and never more than `SLOWEST_MS`:
 * - `FASTEST_MS`, times 1.5 for each poll since something happened last: a reader began to wait, or got something. So
 *   what happens costs six polls at most, and what comes next is late by a third of the time since then on average;
 * - `MS_PER_WATCHED` for each thing that is watched: its part of a statement is looked up no more often in total;
 * - ten times as long as the last poll took: a slow or loaded database is asked less often.
 *
 * @param now milliseconds, of a clock that never goes back.
 */
export function createPollPace(now: () => number = () => performance.now()): PollPace {
  let quietMs = SLOWEST_MS;
  let lastPollMs = 0;
  return {
    happened() {
      quietMs = FASTEST_MS;
    },
    async timed(poll) {
      const begunAt = now();
      // Before the poll: what happens during it sets the pace after it.
      quietMs = Math.min(quietMs * GROWTH, SLOWEST_MS);
      try {
        await poll();
      } finally {
        lastPollMs = now() - begunAt;
      }
    },
    waitMs: (watched) => Math.min(Math.max(quietMs, watched * MS_PER_WATCHED, lastPollMs * REST_PER_POLL), SLOWEST_MS),
  };
}
