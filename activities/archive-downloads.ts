/**
 * How many tasks of one account may be downloading their outputs at a time. A download holds a slot of the worker for as
 * long as a provider's server likes, and everybody's archiving stands in the same queue; so an account holds at most as
 * many slots as it leaves free. Whoever finds none gives its slot back and is tried again.
 */
import { createTenantShares } from '../src/limits/tenant-shares.ts';
import type { TenantShares } from '../src/limits/tenant-shares.ts';
import type { ShareMetrics } from '../src/telemetry/metrics-shares.ts';
import { passing } from './failures.ts';

/** Archiving at once in one worker: bounded by the store and the database pool. */
export const ARCHIVING_SLOTS = 40;
/** Downloads are mostly over within a second; spread, so that those who wait do not come back at the same moment. */
const RETRY_MS = 1_000;

/** Throws a passing `ApplicationFailure` where the account has its share. @param slots for tests; default `ARCHIVING_SLOTS`. */
export function createArchiveDownloads(metrics?: ShareMetrics, slots: number = ARCHIVING_SLOTS): TenantShares {
  return createTenantShares({
    resource: 'archive_downloads',
    capacity: slots,
    leavesFree: true,
    refusal: () => passing('provider_unavailable', Math.round(RETRY_MS * (1 + Math.random()))),
    metrics,
  });
}
