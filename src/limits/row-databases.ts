/**
 * Shares of a process's connections to the database, by the row that transactions lock: that of an account
 * (account-database.ts), or of an upstream (upstream-database.ts). Each transaction waits for its row with a
 * connection. If another process holds a row locked, such as one that stopped in the middle of a transaction, all
 * requests for it would in the end wait with all connections of the pool. A row has at most as many transactions in
 * progress as it leaves free of the connections that there are for all such rows, and these are not the whole pool.
 * Rows that stay locked have a few together (stalled-rows.ts).
 */
import { DatabaseUnavailableError, LockTimeoutError } from '../database/database.ts';
import type { Database } from '../database/database.ts';
import type { SharedResource, ShareMetrics } from '../telemetry/metrics.ts';
import type { StalledRows } from './stalled-rows.ts';
import { createTenantShares } from './tenant-shares.ts';
import type { TakeOptions, TenantShares } from './tenant-shares.ts';

/** The share of the connections for such rows that may wait for rows that stay locked. */
const STALLED_SHARE = 1 / 3;

/** How many transactions that need one row, or any, may wait for their turn. */
export interface RowWaiting {
  readonly perTenant: number;
  readonly perProcess: number;
}

/**
 * The database for transactions that lock one row. Not to be used inside a transaction: it would wait for a
 * connection.
 */
export type RowDatabase = (row: string, options: Pick<TakeOptions, 'waitMs' | 'isFirstOfTenant'>) => Database;

export interface RowDatabaseOptions {
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

export function createRowDatabase(options: RowDatabaseOptions): RowDatabase {
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

  /** The others are read without keeping this connection. Those that cannot be read are found to be stalled one by one. */
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
