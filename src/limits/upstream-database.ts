/**
 * An upstream's share of a process's connections to the database. Slots and queue of a capped upstream change under a
 * lock of its one row (src/upstreams/slots.ts), and each transaction that waits for it holds a connection
 * (row-database.ts).
 */
import { timeOutMs } from '../config/time-outs.ts';
import { DatabaseUnavailableError } from '../database/database.ts';
import type { Database } from '../database/database.ts';
import type { ShareMetrics } from '../telemetry/metrics-shares.ts';
import { createRowDatabase } from './row-database.ts';
import { createStalledRows } from './stalled-rows.ts';

/**
 * The database for transactions that lock the row of one upstream. Not to be used inside a transaction: it would wait
 * for a connection.
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
const WAITING = { perTenant: 1_000, perProcess: 10_000 };
/** The longest wait in the queue, in milliseconds. A waiting operation occupies a slot of the worker. */
const WAIT_MS = timeOutMs(2_000);
/**
 * The share of the connection pool that these operations may use. An upstream's row allows one operation at a time, so
 * a pool of ten connections serves two upstreams at once.
 */
const SHARE_OF_POOL = 0.2;

/** @param poolSize connections of the process. */
export function createUpstreamDatabase(database: Database, poolSize: number, metrics?: ShareMetrics): UpstreamDatabase {
  const databaseOf = createRowDatabase({
    database,
    resource: 'upstream_transactions',
    connections: Math.max(1, Math.floor(poolSize * SHARE_OF_POOL)),
    waiting: WAITING,
    stalled: createStalledRows(),
    busy: (options) => new UpstreamBusyError('the transactions of this upstream wait for one another', options),
    metrics,
  });
  return (upstream, isLeaving = false) => databaseOf(upstream, { waitMs: WAIT_MS, isFirstOfTenant: isLeaving });
}
