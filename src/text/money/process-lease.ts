/**
 * How long an API process counts as alive, and what becomes of the text calls of a dead one. Each holds a lease, and
 * its text calls are its own as long as the lease runs; after that any other process settles them. Only the database's
 * clock counts, so that clocks of machines may differ. A process that was paused or cut off for longer takes the lease
 * again under the same id: what was settled meanwhile stays settled, and the rest is its own as before.
 */
import { randomUUID } from 'node:crypto';
import type { Database, Queryable, Statement } from '../../database/database.ts';
import type { Logger } from '../../telemetry/log.ts';
import { moveTextMoney, estimatedSettlement } from './move.ts';

/** The duration of the lease: three renewals may fail before it expires. */
export const LEASE_SECONDS = 20;
const RENEW_MS = 5_000;
/** The longest time that calls of a dead process wait beyond its lease. */
const SWEEP_EVERY_MS = 5_000;
/** Calls in one transaction: an account's row is not locked for long. */
const MAX_TOGETHER = 200;

const renewLease: Statement = {
  name: 'renew_text_process_lease',
  text: `INSERT INTO text_processes AS p (id, leased_until) VALUES ($1, now() + make_interval(secs => $2))
         ON CONFLICT (id) DO UPDATE
            SET leased_until = excluded.leased_until,
                unbroken_since = CASE WHEN p.leased_until > now() THEN p.unbroken_since ELSE now() END`,
};
/** The other processes may settle at once what this one did not. */
const endLease: Statement = {
  name: 'end_text_process_lease',
  text: 'UPDATE text_processes SET leased_until = now() WHERE id = $1',
};

export interface ProcessLease {
  /** A UUID: identifies this run of the process. */
  readonly processId: string;
  /** Acquires or renews it now. @throws {DatabaseUnavailableError} */
  renew(): Promise<void>;
  /** Ends it: this process has settled what it could. Never fails. */
  close(): Promise<void>;
}

/** Acquires a lease and renews it at intervals. @throws {DatabaseUnavailableError} */
export async function acquireProcessLease(dependencies: {
  readonly database: Queryable;
  readonly logger: Logger;
}): Promise<ProcessLease> {
  const { database, logger } = dependencies;
  const processId = randomUUID();
  const renew = async (): Promise<void> => {
    await database.query(renewLease, [processId, LEASE_SECONDS]);
  };
  await renew();

  let renewing = Promise.resolve();
  const timer = setInterval(() => {
    renewing = renew().catch((error: unknown) => {
      logger.warn({ err: error, processId }, 'renewing the lease of this process failed; retrying');
    });
  }, RENEW_MS).unref();

  return {
    processId,
    renew,
    async close() {
      clearInterval(timer);
      await renewing;
      await database.query(endLease, [processId]).catch((error: unknown) => {
        logger.warn({ err: error, processId }, 'ending the lease of this process failed; it will expire');
      });
    },
  };
}

/** The calls in the background are settled when they have ended (background/record-outcome.ts). */
const IS_ORPHANED = `c.settled_at IS NULL AND NOT EXISTS (
                       SELECT FROM text_processes p WHERE p.id = c.process_id AND p.leased_until > now())
                     AND NOT EXISTS (SELECT FROM background_calls b WHERE b.id = c.id)`;

const selectAccounts: Statement = {
  name: 'select_accounts_with_orphaned_text_calls',
  text: `SELECT DISTINCT c.account_id AS "accountId" FROM text_calls c
          WHERE ${IS_ORPHANED}
            AND EXISTS (SELECT FROM text_processes
                         WHERE id = $1 AND leased_until > now()
                           AND unbroken_since <= now() - make_interval(secs => $2))`,
};

/** Rows that another sweep is working on are left to it. */
const lockOrphaned: Statement = {
  name: 'lock_orphaned_text_calls',
  text: `SELECT c.id, c.floor_micro_usd AS "floorMicroUsd", c.input_tokens AS "inputTokens" FROM text_calls c
          WHERE c.account_id = $1 AND ${IS_ORPHANED}
          LIMIT ${MAX_TOGETHER} FOR NO KEY UPDATE SKIP LOCKED`,
};

/** A row that is being renewed at this moment is checked with its new values. */
const removeProcesses: Statement = {
  name: 'remove_dead_text_processes',
  text: `DELETE FROM text_processes p
          WHERE p.leased_until <= now()
            AND NOT EXISTS (SELECT FROM text_calls c WHERE c.process_id = p.id AND c.settled_at IS NULL)`,
};

/**
 * Settles what dead processes left behind, once: a hold whose process's lease is gone is settled at its counted input,
 * output 0, marked estimated. Several processes at once share the work. A process sweeps others only after its own
 * lease has run unbroken for as long as a lease lasts: if the database was unavailable, every lease has expired, and
 * each process gets the time to take its own again.
 *
 * @param processId the calling process, which has a lease itself.
 * @returns how many calls were settled.
 */
export async function sweepTextCalls(database: Database, processId: string): Promise<number> {
  let settled = 0;
  for (const { accountId } of await database.query<{ accountId: string }>(selectAccounts, [processId, LEASE_SECONDS])) {
    for (;;) {
      const calls = await database.transaction((transaction) => settleOrphaned(transaction, accountId, processId));
      settled += calls;
      if (calls < MAX_TOGETHER) break;
    }
  }
  await database.query(removeProcesses);
  return settled;
}

async function settleOrphaned(transaction: Queryable, accountId: string, processId: string): Promise<number> {
  const calls = await transaction.query<{ id: string; floorMicroUsd: bigint; inputTokens: number }>(lockOrphaned, [
    accountId,
  ]);
  if (calls.length === 0) return 0;
  const settlements = calls.map((call) => estimatedSettlement({ ...call, accountId }, call.floorMicroUsd));
  await moveTextMoney(transaction, accountId, processId, settlements, []);
  return calls.length;
}

/** Starts sweeping periodically. */
export function startTextSweep(dependencies: {
  readonly database: Database;
  readonly processId: string;
  /** Settles what this process considered settled (text-ledger.ts). */
  readonly settleReopened: () => Promise<number>;
  /** Settles calls in the background that have ended, at most as many. @returns how many. */
  readonly settleEnded: (limit: number) => Promise<number>;
  /** Admits calls in the background that nothing else has admitted. */
  readonly admitWaiting: () => Promise<void>;
  readonly logger: Logger;
}): { close(): Promise<void> } {
  const { database, processId, settleReopened, settleEnded, admitWaiting, logger } = dependencies;
  let sweeping: Promise<void> | undefined;

  const sweep = async (): Promise<void> => {
    try {
      const calls = await sweepTextCalls(database, processId);
      if (calls > 0) logger.warn({ calls }, 'text calls of dead processes settled');
      const reopened = await settleReopened();
      if (reopened > 0)
        logger.warn({ calls: reopened }, 'settling text calls again: the database lost their settlements');
      await admitWaiting();
      const ended = await settleEnded(MAX_TOGETHER);
      if (ended > 0) logger.warn({ calls: ended }, 'settling text calls in the background that dead processes ended');
    } catch (error) {
      logger.warn({ err: error }, 'text call sweep failed; retrying');
    }
  };
  const timer = setInterval(() => {
    sweeping ??= sweep().finally(() => {
      sweeping = undefined;
    });
  }, SWEEP_EVERY_MS).unref();

  return {
    async close() {
      clearInterval(timer);
      await sweeping;
    },
  };
}
