/**
 * Shares of a process's connections to the database, by the row that transactions lock: that of an account, or of an
 * upstream. Each transaction waits for its row with a connection. If another process holds a row locked, such as one
 * that stopped in the middle of a transaction, all requests for it would in the end wait with all connections of the
 * pool. A row has at most as many transactions in progress as it leaves free of the connections that there are for all
 * such rows, and these are not the whole pool. Rows that stay locked have a few together.
 */
import { timeOutMs } from '../config/time-outs.ts';
import { DatabaseUnavailableError, LockTimeoutError } from '../database/database.ts';
import type { Database, Statement } from '../database/database.ts';
import type { ShareMetrics, SharedResource } from '../telemetry/metrics.ts';
import { createTenantShares } from './tenant-shares.ts';
import type { TakeOptions, TenantShares } from './tenant-shares.ts';

/** The share of the connections for such rows that may wait for rows that stay locked. */
const STALLED_SHARE = 1 / 3;

/** How many transactions that need one row, or any, may wait for their turn. */
interface RowWaiting {
  readonly perTenant: number;
  readonly perProcess: number;
}

/** The database for transactions that lock one row. */
type RowDatabase = (row: string, options: Pick<TakeOptions, 'waitMs' | 'isFirstOfTenant'>) => Database;

interface RowDatabaseOptions {
  readonly database: Database;
  readonly resource: SharedResource;
  /** Connections for all rows together. */
  readonly connections: number;
  readonly waiting: RowWaiting;
  readonly stalled: StalledRows;
  /**
   * Other rows whose transactions lock a row that those of this one lock too: they are stalled with it, before each of
   * them has waited in vain as well.
   */
  readonly stalledWith?: (row: string) => Promise<readonly string[]>;
  /** The error if a row has no connection for one more, or stayed locked. Nothing was done. */
  readonly busy: (options?: ErrorOptions) => DatabaseUnavailableError;
  readonly metrics: ShareMetrics | undefined;
}

function createRowDatabase(options: RowDatabaseOptions): RowDatabase {
  const { database, resource, connections, waiting, stalled, stalledWith, busy, metrics } = options;
  const trials = Math.max(1, Math.floor(connections * STALLED_SHARE));
  const shares: TenantShares = createTenantShares({
    resource,
    capacity: connections,
    leavesFree: true,
    mostOf: (row) => stalled.mostOf(row, trials, (other) => shares.heldBy(other)),
    waiting,
    createError: () => busy(),
    metrics,
  });

  /**
   * The others are read without keeping this connection. Those that cannot be read are found to be stalled one by one.
   */
  const addStalled = (row: string): void => {
    stalled.add(row);
    stalledWith?.(row).then(
      (others) => {
        if (stalled.has(row)) for (const other of others) stalled.add(other);
      },
      () => undefined,
    );
  };

  /** Records whether the row could be locked, before the connection is the next one's. */
  const observed = async <T>(row: string, work: () => Promise<T>): Promise<T> => {
    try {
      const result = await work();
      stalled.delete(row);
      return result;
    } catch (error) {
      if (error instanceof LockTimeoutError) {
        addStalled(row);
        throw busy({ cause: error });
      }
      if (!(error instanceof DatabaseUnavailableError)) stalled.delete(row);
      throw error;
    }
  };

  return (row, take) => ({
    ...database,
    query: (statement, values) => shares.run(row, () => observed(row, () => database.query(statement, values)), take),
    transaction: (work) => shares.run(row, () => observed(row, () => database.transaction(work)), take),
  });
}

/**
 * The server ends the session of a stopped process after 10 s (src/database/database.ts); many rows are tried in
 * turns.
 */
const FORGOTTEN_AFTER_MS = 60_000;

/**
 * Rows that have been locked for longer than a transaction waits for one (src/database/database.ts): of
 * accounts, or of upstreams. Each transaction that needs such a row holds a connection until it has waited in vain,
 * so that the stalled rows of one stopped process could take all that there are. They are therefore tried by a few
 * transactions at a time, in turns, until one of these succeeds. All others wait in memory.
 */
export interface StalledRows {
  /** A transaction has waited for this row in vain. */
  add(row: string): void;
  /** A transaction has locked it. */
  delete(row: string): void;
  has(row: string): boolean;
  /**
   * How many units a row may take of what it shares with others (tenant-shares.ts, `mostOf`): one if it is stalled
   * and has its turn, none until then, and its whole share otherwise.
   *
   * @param trials units for all stalled rows together.
   * @param heldBy how many of them a row holds.
   */
  mostOf(row: string, trials: number, heldBy: (row: string) => number): number;
}

/** @param now milliseconds; only differences count. */
export function createStalledRows(now: () => number = () => performance.now()): StalledRows {
  /** When each was last waited for in vain, longest ago first. */
  const since = new Map<string, number>();

  const forgetOld = (): void => {
    for (const [row, at] of since) {
      if (now() - at < FORGOTTEN_AFTER_MS) return;
      since.delete(row);
    }
  };

  return {
    add(row) {
      forgetOld();
      since.delete(row);
      since.set(row, now());
    },
    delete(row) {
      since.delete(row);
    },
    has(row) {
      forgetOld();
      return since.has(row);
    },
    mostOf(row, trials, heldBy) {
      if (!since.has(row)) return Infinity;
      forgetOld();
      let heldByOthers = 0;
      for (const other of since.keys()) if (other !== row) heldByOthers += heldBy(other);
      return heldByOthers < trials ? 1 : 0;
    },
  };
}

/**
 * The database for transactions that lock the row of one account: every one that moves its money or slots waits for its
 * one row of counters. Not to be used inside a transaction: it would wait for a connection.
 */
export type AccountDatabase = (accountId: string) => Database;

/**
 * The account's row stays locked, or as many of its transactions are in progress, or wait, as may. Nothing was done.
 */
export class AccountBusyError extends DatabaseUnavailableError {
  override readonly name = 'AccountBusyError';
}

/** The kind of caller, and so how many of an account may wait for a connection, and for how long. */
interface AccountWaiting extends RowWaiting {
  readonly waitMs: number;
}

/** The queue limits of API requests. A client gets a `Retry-After` before it gives up by itself. */
export const REQUESTS_WAIT: AccountWaiting = { perTenant: 1_000, perProcess: 10_000, waitMs: timeOutMs(5_000) };

/**
 * Activities: each occupies a slot of the worker that others need, of 40 for workflow tasks and as many for short
 * activities. A few wait for a moment, which a busy account needs; the others retry.
 */
export const ACTIVITIES_WAIT: AccountWaiting = { perTenant: 16, perProcess: 1_000, waitMs: timeOutMs(500) };

/**
 * The other connections are for work that locks no account (sign-in, reads and claims of the outbox), and for
 * upstreams.
 */
const ACCOUNT_SHARE = 0.6;

/** The others that share the wallet of an account, whose row they lock too (docs/decisions/0014). */
const selectOfSameWallet: Statement = {
  name: 'select_accounts_of_same_wallet',
  text: `WITH wallet AS (
           SELECT coalesce(wallet_id, account_id) AS id FROM account_counters WHERE account_id = $1)
         SELECT c.account_id AS "accountId" FROM wallet w JOIN account_counters c ON c.wallet_id = w.id
          WHERE c.account_id <> $1
          UNION ALL
         SELECT id FROM wallet WHERE id <> $1`,
};

/**
 * @param poolSize connections of the process.
 * @param stalled the accounts whose rows stay locked, for other code that waits for such rows.
 */
export function createAccountDatabase(
  database: Database,
  poolSize: number,
  { waitMs, ...waiting }: AccountWaiting,
  metrics?: ShareMetrics,
  stalled: StalledRows = createStalledRows(),
): AccountDatabase {
  const databaseOf = createRowDatabase({
    database,
    resource: 'account_transactions',
    connections: Math.max(1, Math.floor(poolSize * ACCOUNT_SHARE)),
    waiting,
    stalled,
    async stalledWith(accountId) {
      const others = await database.query<{ accountId: string }>(selectOfSameWallet, [accountId]);
      return others.map((other) => other.accountId);
    },
    busy: (options) => new AccountBusyError('the transactions of this account wait for one another', options),
    metrics,
  });
  return (accountId) => databaseOf(accountId, { waitMs });
}

/**
 * The database for transactions that lock the row of one upstream: slots and queue of a capped upstream change under
 * that lock (src/upstreams/slots.ts). Not to be used inside a transaction: it would wait for a connection.
 *
 * @param isLeaving a slot is given back: before everything else for the same upstream, which may be waiting for the
 * slot.
 */
export type UpstreamDatabase = (upstream: string, isLeaving?: boolean) => Database;

/** The upstream's row stays locked, or its transactions wait for one another. Nothing was done. */
export class UpstreamBusyError extends DatabaseUnavailableError {
  override readonly name = 'UpstreamBusyError';
}

/**
 * The queue limits of operations on one upstream's row. Each takes some milliseconds, one after the other; an operation
 * that finds the queue full is retried.
 */
const UPSTREAM_WAITING = { perTenant: 1_000, perProcess: 10_000 };
/** The longest wait in the queue, in milliseconds. A waiting operation occupies a slot of the worker. */
const UPSTREAM_WAIT_MS = timeOutMs(2_000);
/**
 * The share of the connection pool that these operations may use. An upstream's row allows one operation at a time, so
 * a pool of ten connections serves two upstreams at once.
 */
const UPSTREAM_SHARE = 0.2;

/** @param poolSize connections of the process. */
export function createUpstreamDatabase(database: Database, poolSize: number, metrics?: ShareMetrics): UpstreamDatabase {
  const databaseOf = createRowDatabase({
    database,
    resource: 'upstream_transactions',
    connections: Math.max(1, Math.floor(poolSize * UPSTREAM_SHARE)),
    waiting: UPSTREAM_WAITING,
    stalled: createStalledRows(),
    busy: (options) => new UpstreamBusyError('the transactions of this upstream wait for one another', options),
    metrics,
  });
  return (upstream, isLeaving = false) =>
    databaseOf(upstream, { waitMs: UPSTREAM_WAIT_MS, isFirstOfTenant: isLeaving });
}
