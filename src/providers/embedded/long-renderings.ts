/**
 * Limits the long renderings (videos, songs) in progress at a time, working or paused. A paused one keeps its memory
 * and the process that encodes it: about 1 GB at 3840 x 2160. So the limit is low, and renderings beyond it stay in
 * Temporal, where they hold none of the worker's slots.
 */
import { createTenantShares } from '../../limits/tenant-shares.ts';
import type { TenantShares } from '../../limits/tenant-shares.ts';
import type { ShareMetrics } from '../../telemetry/metrics.ts';

/**
 * The number of long renderings in addition to one per thread. They let other accounts' videos take turns with those of
 * the first account.
 */
const EXTRA_RENDERINGS = 2;
/**
 * The maximum number of renderings that wait for a slot, in total and per account. Those beyond it have to be retried.
 */
const WAITING = { perProcess: 2, perTenant: 1 } as const;

/** @returns how many may be in progress, and how many including those that wait for a slot. */
export function longRenderingLimits(threads: number): { readonly active: number; readonly activeAndWaiting: number } {
  const active = threads + EXTRA_RENDERINGS;
  return { active, activeAndWaiting: active + WAITING.perProcess };
}

/** One account has at most one rendering in progress per thread. */
export function createLongRenderings(threads: number, metrics?: ShareMetrics): TenantShares {
  return createTenantShares({
    resource: 'long_renderings',
    capacity: longRenderingLimits(threads).active,
    perTenant: threads,
    waiting: WAITING,
    metrics,
  });
}
