/**
 * What works on rows of the database that are due, in every api: text calls in the background, and batches. It is woken
 * after a commit of its own process and polling otherwise. A claim makes a row due again a little later, so that
 * another process continues where one dies; what two of them may do at once to the same row is the work's own concern.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { WorkerStoppingError } from '../generation/stopping.ts';
import type { Logger } from '../telemetry/log.ts';
import { setMaxListeners } from 'node:events';
import { claimDueCalls } from '../text/background/call-record.ts';
import type { BackgroundContext } from '../text/background/context.ts';
import { runBackgroundCall } from '../text/background/run.ts';
import { advanceBatch } from '../batches/advance.ts';
import { claimDueBatches, postponeBatch, renewBatchLeases } from '../batches/batch-record.ts';
import type { BatchContext } from '../batches/context.ts';
import { createPaces } from '../batches/pace.ts';
import type { HttpContext } from '../http/app/context.ts';
import { createLineBodies } from '../http/bodies/json-body.ts';
import { createLineEndpoints } from '../http/media-calls/line-endpoints.ts';

/** The polling interval: the longest delay before what another process wrote, or what is due again, is seen. */
const POLL_MS = 250;
/** After a failure nothing is claimed for this long. */
const PAUSE_AFTER_FAILURE_MS = 1_000;
/** How long work that was ended may take to say so. */
const FORCE_AFTER_MS = 5_000;

export interface ClaimedRow {
  readonly id: string;
  readonly accountId: string;
}

/** What a claim leaves out: rows that this process works on, and accounts that are to have no more of its slots. */
export interface ClaimExceptions {
  readonly rows: readonly string[];
  readonly accounts: readonly string[];
}

export interface ClaimRunnerOptions {
  /** In log lines: `text calls in the background`. */
  readonly what: string;
  /** Rows that this process works on at the same time; an account has at most as many of them as it leaves free. */
  readonly slots: number;
  /** Rows that are claimed at a time: others may be claimed by another process meanwhile. */
  readonly claimedTogether: number;
  readonly claim: (without: ClaimExceptions, limit: number) => Promise<readonly ClaimedRow[]>;
  /** @param isCrowded whether its slot is one that another row could use. */
  readonly work: (row: ClaimedRow, isCrowded: () => boolean) => Promise<unknown>;
  readonly logger: Logger;
}

export interface ClaimRunner {
  /** Rows may be due. */
  wake(): void;
  /** Claims no more, and waits for the work in progress. @param endAfterMs when that is to be ended, by `end`. */
  close(endAfterMs: number, end: () => void): Promise<void>;
}

/** Work that is claimed from a table, as an api runs it. */
export interface DueWork {
  /** There may be some. */
  wake(): void;
  /** Begins no more, and leaves to other processes what can be left. */
  close(): Promise<void>;
}

export function startClaimRunner(options: ClaimRunnerOptions): ClaimRunner {
  const { what, slots, claimedTogether, claim, work, logger } = options;
  const running = new Map<string, Promise<void>>();
  /** How many of them each account has. */
  const shares = new Map<string, number>();
  let isClosed = false;
  let wantsAnother = false;
  let claiming: Promise<void> | undefined;
  let pausedUntil = -Infinity;

  const mayClaim = (): boolean => wantsAnother && !isClosed && running.size < slots && performance.now() >= pausedUntil;

  const wake = (): void => {
    wantsAnother = true;
    claiming ??= claimAll().finally(() => {
      claiming = undefined;
      // Woken after the last check.
      if (mayClaim()) wake();
    });
  };

  /** Whether an account gets no more slots at present. */
  const isFull = (accountId: string): boolean => (shares.get(accountId) ?? 0) >= slots - running.size;

  const claimAll = async (): Promise<void> => {
    try {
      while (mayClaim()) {
        wantsAnother = false;
        const free = slots - running.size;
        const accounts = [...shares.keys()].filter(isFull);
        const limit = Math.min(claimedTogether, Math.ceil(free / 2));
        const rows = await claim({ rows: [...running.keys()], accounts }, limit);
        for (const row of rows) run(row);
        // Only an empty claim shows that nothing is left.
        if (rows.length > 0) wantsAnother = true;
      }
    } catch (error) {
      pausedUntil = performance.now() + PAUSE_AFTER_FAILURE_MS;
      logger.warn({ err: error }, `claiming ${what} failed; retrying`);
    }
  };

  const run = (row: ClaimedRow): void => {
    const { id, accountId } = row;
    shares.set(accountId, (shares.get(accountId) ?? 0) + 1);
    const working = work(row, () => isFull(accountId))
      .then(() => undefined)
      .catch((error: unknown) => {
        if (!(error instanceof WorkerStoppingError)) {
          logger.warn({ err: error, id, accountId }, `work on ${what} failed; it is repeated`);
        }
      })
      .finally(() => {
        running.delete(id);
        const left = (shares.get(accountId) ?? 1) - 1;
        if (left > 0) shares.set(accountId, left);
        else shares.delete(accountId);
        wake();
      });
    running.set(id, working);
  };

  const poll = setInterval(wake, POLL_MS);

  return {
    wake,
    async close(endAfterMs, end) {
      isClosed = true;
      clearInterval(poll);
      const over = new AbortController();
      const timer = setTimeout(end, endAfterMs);
      await claiming;
      const settled = Promise.all(running.values());
      await Promise.race([settled, sleep(endAfterMs + FORCE_AFTER_MS, undefined, { signal: over.signal })]);
      over.abort();
      clearTimeout(timer);
    },
  };
}

const CALL_SLOTS = 100;
const CALLS_CLAIMED_TOGETHER = 10;

/**
 * Answers the text calls in the background that are due. What keeps a call from being made twice is that one attempt of
 * it is alive (src/text/background/call-record.ts).
 *
 * @param graceMs how long attempts that an upstream works on may take when the process stops.
 */
export function startBackgroundRunner(context: BackgroundContext, graceMs: number): DueWork {
  const { database, logger, ledger } = context;
  const [stopping, ending] = [new AbortController(), new AbortController()];
  // Each attempt adds a listener.
  setMaxListeners(0, stopping.signal, ending.signal);
  const stops = { stopping: stopping.signal, ending: ending.signal };
  const runner = startClaimRunner({
    what: 'text calls in the background',
    slots: CALL_SLOTS,
    claimedTogether: CALLS_CLAIMED_TOGETHER,
    claim: (without, limit) => claimDueCalls(database, ledger.processId, without, limit),
    work: ({ id }) => runBackgroundCall(context, id, stops),
    logger,
  });
  return {
    wake: () => runner.wake(),
    async close() {
      stopping.abort(new WorkerStoppingError());
      await runner.close(graceMs, () => ending.abort(new WorkerStoppingError()));
    },
  };
}

const BATCH_SLOTS = 10;
const BATCHES_CLAIMED_TOGETHER = 3;
/** Two renewals of a lease may fail before it ends. */
const RENEW_MS = 10_000;
/** When a batch is tried again on which the work has failed: what it needs is away. */
const RETURN_AFTER_FAILURE_MS = 3_000;

/** What the work on batches needs, of an api. */
export function createBatchContext(http: HttpContext, installationId: string): BatchContext {
  return {
    ...http,
    installationId,
    endpoints: createLineEndpoints(http),
    paces: createPaces(),
    lineBodies: createLineBodies(http),
    nextTurn: () => http.turns.next(),
  };
}

/**
 * Works on the batches that are due. In an api, because it creates tasks, which needs the catalogue as it is now and
 * not the definitions that tasks have pinned.
 */
export function startBatchRunner(context: BatchContext): DueWork {
  const { database, logger } = context;
  const stopping = new AbortController();
  // Each step adds a listener.
  setMaxListeners(0, stopping.signal);
  const working = new Set<string>();

  const work = async ({ id }: ClaimedRow, isCrowded: () => boolean): Promise<void> => {
    working.add(id);
    try {
      const result = await advanceBatch(context, id, stopping.signal, isCrowded);
      if (result.kind === 'waits') await postponeBatch(database, id, result.ms);
    } catch (error) {
      await postponeBatch(database, id, stopping.signal.aborted ? 0 : RETURN_AFTER_FAILURE_MS);
      throw error;
    } finally {
      working.delete(id);
    }
  };
  const renewal = setInterval(() => {
    void renewBatchLeases(database, [...working]).catch((error: unknown) =>
      logger.warn({ err: error }, 'renewing the leases of batches failed; two processes may work on one'),
    );
  }, RENEW_MS);
  const runner = startClaimRunner({
    what: 'batches',
    slots: BATCH_SLOTS,
    claimedTogether: BATCHES_CLAIMED_TOGETHER,
    claim: (without, limit) => claimDueBatches(database, without, limit),
    work,
    logger,
  });
  return {
    wake: () => runner.wake(),
    async close() {
      stopping.abort(new WorkerStoppingError());
      await runner.close(0, () => {});
      clearInterval(renewal);
    },
  };
}
