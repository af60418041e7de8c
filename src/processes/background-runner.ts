/**
 * Runs the text calls in the background that are due, in every api: woken after a commit of its own process and polling
 * otherwise. A claim is a short lease, which moves the row's `due_at` ahead; what keeps a call from being made twice is
 * that one attempt of it is alive (call-record.ts). Any number of processes may run it.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { WorkerStoppingError } from '../generation/stopped.ts';
import type { BackgroundContext } from '../text/background/context.ts';
import { claimDueCalls } from '../text/background/call-record.ts';
import type { ClaimedCall } from '../text/background/call-record.ts';
import { runBackgroundCall } from '../text/background/run.ts';

/** Calls that one process answers at the same time. */
const SLOTS = 100;
/** Calls that are claimed at a time: others may be claimed by another process meanwhile. */
const CLAIMED_TOGETHER = 10;
/** The polling interval: the longest delay before what another process wrote, or what is due again, is seen. */
const POLL_MS = 250;
/** After a failure nothing is claimed for this long. */
const PAUSE_AFTER_FAILURE_MS = 1_000;
/** How long an attempt that was ended may take to release its call. */
const FORCE_AFTER_MS = 5_000;

export interface BackgroundRunner {
  /** Calls may be due. */
  wake(): void;
  /**
   * Claims no more. Attempts that have sent nothing to an upstream are left to other processes, and the others are waited
   * for as long as they may take.
   */
  close(): Promise<void>;
}

/** @param graceMs how long attempts that an upstream works on may take when the process stops. */
export function startBackgroundRunner(context: BackgroundContext, graceMs: number): BackgroundRunner {
  const { database, logger, ledger, attempts } = context;
  const [stopping, ending] = [new AbortController(), new AbortController()];
  // Each attempt adds a listener.
  setMaxListeners(0, stopping.signal, ending.signal);
  const stops = { stopping: stopping.signal, ending: ending.signal };
  const running = new Set<Promise<void>>();
  /** How many of them each account has. */
  const shares = new Map<string, number>();
  let wantsAnother = false;
  let claiming: Promise<void> | undefined;
  let pausedUntil = -Infinity;

  const mayClaim = (): boolean =>
    wantsAnother && !stopping.signal.aborted && running.size < SLOTS && performance.now() >= pausedUntil;

  const wake = (): void => {
    wantsAnother = true;
    claiming ??= claimAll().finally(() => {
      claiming = undefined;
      // Woken after the last check.
      if (mayClaim()) wake();
    });
  };

  const claimAll = async (): Promise<void> => {
    try {
      while (mayClaim()) {
        wantsAnother = false;
        const free = SLOTS - running.size;
        // An account leaves as many slots free as it has.
        const accounts = [...shares].filter(([, count]) => count >= free).map(([accountId]) => accountId);
        const without = { calls: [...attempts], accounts };
        const limit = Math.min(CLAIMED_TOGETHER, Math.ceil(free / 2));
        const calls = await claimDueCalls(database, ledger.processId, without, limit);
        for (const call of calls) run(call);
        // Only an empty claim shows that nothing is left.
        if (calls.length > 0) wantsAnother = true;
      }
    } catch (error) {
      pausedUntil = performance.now() + PAUSE_AFTER_FAILURE_MS;
      logger.warn({ err: error }, 'claiming text calls in the background failed; retrying');
    }
  };

  const run = ({ id, accountId }: ClaimedCall): void => {
    shares.set(accountId, (shares.get(accountId) ?? 0) + 1);
    const attempt = runBackgroundCall(context, id, stops)
      .then(() => undefined)
      .catch((error: unknown) => {
        if (!(error instanceof WorkerStoppingError)) {
          logger.warn({ err: error, call: id }, 'an attempt at a text call in the background failed; it is repeated');
        }
      })
      .finally(() => {
        running.delete(attempt);
        const left = (shares.get(accountId) ?? 1) - 1;
        if (left > 0) shares.set(accountId, left);
        else shares.delete(accountId);
        wake();
      });
    running.add(attempt);
  };

  const poll = setInterval(wake, POLL_MS);

  return {
    wake,
    async close() {
      clearInterval(poll);
      stopping.abort(new WorkerStoppingError());
      const over = new AbortController();
      const timer = setTimeout(() => ending.abort(new WorkerStoppingError()), graceMs);
      await claiming;
      const settled = Promise.all(running);
      await Promise.race([settled, sleep(graceMs + FORCE_AFTER_MS, undefined, { signal: over.signal })]);
      over.abort();
      clearTimeout(timer);
    },
  };
}
