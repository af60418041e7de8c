/**
 * How many videos one worker decodes at a time for their frames. Each is a copy on the scratch disk and a child process
 * that may use a gigabyte, and an account's provider decides how long it takes; so there is one more than there are cores,
 * and an account holds at most as many as it leaves free: alone it can use two cores of two. Archiving waits for its turn,
 * whose order is fair; an attempt inside a workflow's worker does not, because workflow tasks of others need its slot.
 */
import os from 'node:os';
import { createTenantShares } from '../src/limits/tenant-shares.ts';
import type { TenantShares } from '../src/limits/tenant-shares.ts';
import type { ShareMetrics } from '../src/telemetry/metrics-shares.ts';
import { FILM_SLOTS } from './archiving-slots.ts';
import { passing } from './failures.ts';

/** Refuses with a passing failure. @param metrics of the worker. @param decoders for tests; default one more than cores. */
export function createFrameDecoders(
  metrics?: ShareMetrics,
  decoders: number = os.availableParallelism() + 1,
): TenantShares {
  return createTenantShares({
    resource: 'frame_decoders',
    capacity: decoders,
    leavesFree: true,
    // Tasks of models that make films are no more than that; one of another model gives its slot back.
    waiting: { perTenant: FILM_SLOTS / 2, perProcess: FILM_SLOTS },
    refusal: () => passing('provider_unavailable'),
    metrics,
  });
}
