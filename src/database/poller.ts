/**
 * Reads something from the database repeatedly while it is waited for: one poll at a time, and another one after one
 * that failed. A failure is logged once, until a poll succeeds.
 */
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
