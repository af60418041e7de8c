/**
 * Limits how many reads that may take long are in progress in one process: lists and sums, whose statements hold a
 * database connection for as long as their filters make them run. Together they may use half of the pool, and one
 * account at most as many connections as it leaves free, so that no account's lists keep others, or creates and
 * settlements, from a connection.
 */
import { timeOutMs } from '../../config/time-outs.ts';
import { createTenantShares } from '../../limits/tenant-shares.ts';
import type { TenantShares } from '../../limits/tenant-shares.ts';
import type { ShareMetrics } from '../../telemetry/metrics.ts';

/** The maximum number of waiting reads. Further requests would only wait until it is too late to respond. */
const WAITING = { perTenant: 100, perProcess: 1_000 };
/**
 * The longest wait of a read, in milliseconds: as long as a request waits for a connection (src/database/database.ts).
 */
export const EXPENSIVE_WAIT_MS = timeOutMs(5_000);

/** @param poolSize connections of this process to the database. */
export function createExpensiveReads(poolSize: number, metrics?: ShareMetrics): TenantShares {
  return createTenantShares({
    resource: 'expensive_reads',
    capacity: Math.max(1, Math.floor(poolSize / 2)),
    leavesFree: true,
    waiting: WAITING,
    retryAfterSeconds: 2,
    metrics,
  });
}
