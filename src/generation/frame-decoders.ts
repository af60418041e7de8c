/**
 * Limits how many videos one worker decodes at the same time to extract their frames. Each decoding needs a copy of the
 * video on the scratch disk and a child process that may use a gigabyte, and its duration depends on the file that the
 * provider delivered. There is one decoder more than there are cores, and one account may hold at most one decoder more
 * than it leaves free. On a machine with two cores a single account can therefore use both, and another account still
 * finds a free decoder. Archiving activities wait for a decoder in a fair order; a local activity does not wait,
 * because other workflow tasks need its slot.
 */
import os from 'node:os';
import { createTenantShares } from '../limits/tenant-shares.ts';
import type { TenantShares } from '../limits/tenant-shares.ts';
import type { ShareMetrics } from '../telemetry/metrics.ts';
import { VIDEO_ARCHIVING_SLOTS } from './archiving-slots.ts';
import { retryableFailure } from './failure.ts';

/**
 * Creates the limit. A request that gets no decoder fails with a retryable failure.
 *
 * @param metrics the worker's metrics of shares.
 * @param decoders the number of decoders, for tests; default: the number of cores plus one.
 */
export function createFrameDecoders(
  metrics?: ShareMetrics,
  decoders: number = os.availableParallelism() + 1,
): TenantShares {
  return createTenantShares({
    resource: 'frame_decoders',
    capacity: decoders,
    leavesFree: true,
    // More tasks of video models cannot be archived at the same time; a task of another model releases its slot.
    waiting: { perTenant: VIDEO_ARCHIVING_SLOTS / 2, perProcess: VIDEO_ARCHIVING_SLOTS },
    createError: () => retryableFailure('provider_unavailable'),
    metrics,
  });
}
