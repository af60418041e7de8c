/**
 * How many tasks of one account may be fetching files of their inputs at a time. A fetch holds a slot of the worker, or of
 * an upstream, for as long as a stranger's server likes; with this bound no account can hold them all. Whoever finds no
 * place gives its slot back and is tried again.
 */
import { createTenantShares } from '../src/limits/tenant-shares.ts';
import type { TenantShares } from '../src/limits/tenant-shares.ts';
import type { ShareMetrics } from '../src/telemetry/metrics-shares.ts';
import { passing } from './failures.ts';

/** In one worker: fewer than its staging slots (src/processes/worker.ts), so that another account finds one. */
const FETCHES_AT_ONCE = 2;
/** A fetch is mostly over within a second; spread, so that those who wait do not come back at the same moment. */
const RETRY_MS = 1_000;

/** Throws a passing `ApplicationFailure` where the account has no place. */
export function createInputFetches(metrics?: ShareMetrics): TenantShares {
  return createTenantShares({
    resource: 'input_fetches',
    perTenant: FETCHES_AT_ONCE,
    refusal: () => passing('provider_unavailable', Math.round(RETRY_MS * (1 + Math.random()))),
    metrics,
  });
}
