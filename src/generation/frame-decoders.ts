/**
 * How many videos one worker decodes for their frames at the same time. Each takes a copy on the scratch disk and a
 * child process that may use a gigabyte, and the account's provider determines how long it takes; so there is one
 * decoder more than there are cores, and an account holds at most as many as it leaves free: alone it can use two
 * cores of two. Archiving waits for its turn in a fair order; an attempt inside a workflow's worker does not wait,
 * because other workflow tasks need its slot.
 */
import os from 'node:os';
import { createTenantShares } from '../limits/tenant-shares.ts';
import type { TenantShares } from '../limits/tenant-shares.ts';
import type { ShareMetrics } from '../telemetry/metrics-shares.ts';
import { VIDEO_ARCHIVING_SLOTS } from './archiving-slots.ts';
import { retryableFailure } from './failure.ts';

/**
 * Rejects with a retryable failure.
 *
 * @param metrics of the worker.
 * @param decoders for tests; default one more than cores.
 */
export function createFrameDecoders(
  metrics?: ShareMetrics,
  decoders: number = os.availableParallelism() + 1,
): TenantShares {
  return createTenantShares({
    resource: 'frame_decoders',
    capacity: decoders,
    leavesFree: true,
    // There are no more tasks of video models than that; a task of another model releases its slot.
    waiting: { perTenant: VIDEO_ARCHIVING_SLOTS / 2, perProcess: VIDEO_ARCHIVING_SLOTS },
    createError: () => retryableFailure('provider_unavailable'),
    metrics,
  });
}
