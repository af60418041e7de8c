/**
 * How many tasks of one account may fetch files of their inputs at the same time. A fetch holds a slot of the worker,
 * or of an upstream, for as long as a third-party server takes; with this limit no account can hold them all. A task
 * that gets no slot releases the worker's slot and is retried.
 */
import { createTenantShares } from '../limits/tenant-shares.ts';
import type { TenantShares } from '../limits/tenant-shares.ts';
import type { ShareMetrics } from '../telemetry/metrics.ts';
import { retryableFailure } from './failure.ts';

/**
 * The maximum number of concurrent fetches of one account in one worker: fewer than its staging slots
 * (src/processes/worker.ts), so that other accounts find a free slot.
 */
const FETCHES_AT_ONCE = 2;
/**
 * The retry interval of a task that found no slot, in milliseconds. Most fetches take less than a second. The interval
 * is randomized, so that waiting tasks do not all retry at the same moment.
 */
const RETRY_MS = 1_000;

/** Throws a retryable `GenerationFailure` if the account has no free slot. */
export function createInputFetches(metrics?: ShareMetrics): TenantShares {
  return createTenantShares({
    resource: 'input_fetches',
    perTenant: FETCHES_AT_ONCE,
    createError: () => retryableFailure('provider_unavailable', Math.round(RETRY_MS * (1 + Math.random()))),
    metrics,
  });
}
