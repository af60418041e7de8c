/**
 * How many long renderings (films, songs) may be under way at a time, working or paused. A paused one keeps its memory and
 * the process that encodes it: at 3840 x 2160 some 1 GB. So they are few, and those beyond them stay in Temporal, where they
 * hold none of the worker's slots.
 */
import { createTenantShares } from '../limits/tenant-shares.ts';
import type { TenantShares } from '../limits/tenant-shares.ts';
import type { ShareMetrics } from '../telemetry/metrics-shares.ts';

/** Beyond one for each thread: films of other accounts that take turns with those of the one that was first. */
const BEYOND_THREADS = 2;
/** Those that wait for the next place, so that none stays empty until somebody tries again: of all, and of one account. */
const WAITING = { perProcess: 2, perTenant: 1 } as const;

/** @returns how many may be under way, and how many with those that wait for a place. */
export function longRenderingsOf(threads: number): { readonly underWay: number; readonly inProcess: number } {
  const underWay = threads + BEYOND_THREADS;
  return { underWay, inProcess: underWay + WAITING.perProcess };
}

/** One account has at most one under way for each thread. */
export function createLongRenderings(threads: number, metrics?: ShareMetrics): TenantShares {
  return createTenantShares({
    resource: 'long_renderings',
    capacity: longRenderingsOf(threads).underWay,
    perTenant: threads,
    waiting: WAITING,
    metrics,
  });
}
