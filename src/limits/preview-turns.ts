/** Which preview is made next: accounts share the children that make them. */
import os from 'node:os';
import type { ShareMetrics } from '../telemetry/metrics.ts';
import { createTenantShares } from './tenant-shares.ts';
import type { TenantShares } from './tenant-shares.ts';

/**
 * The maximum number of waiting preview requests. A task has several images, and a client may request all of them at
 * once.
 */
const WAITING = { perTenant: 32, perProcess: 500 };
const RETRY_SECONDS = 5;

/** @param children at once; default one more than cores, so that one account can use as many as there are cores. */
export function createPreviewTurns(
  metrics?: ShareMetrics,
  children: number = os.availableParallelism() + 1,
): TenantShares {
  return createTenantShares({
    resource: 'previews',
    capacity: children,
    leavesFree: true,
    waiting: WAITING,
    retryAfterSeconds: RETRY_SECONDS,
    metrics,
  });
}
