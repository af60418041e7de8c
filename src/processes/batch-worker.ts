/**
 * The part of an api that works on batches: it creates tasks, which needs the catalogue as it is now and not the
 * definitions that tasks have pinned.
 */
import type { NativeConnection } from '@temporalio/worker';
import { createBatchActivities } from '../../activities/index.ts';
import type { BatchContext } from '../batches/context.ts';
import { createPaces } from '../batches/pace.ts';
import { createSlotShares } from '../generation/slot-shares.ts';
import type { HttpContext } from '../http/app/context.ts';
import { createLineBodies } from '../http/bodies/line-bodies.ts';
import { createLineEndpoints } from '../http/media-calls/line-endpoints.ts';
import { startApiActivityWorker } from './api-activity-worker.ts';
import type { ApiActivityWorker } from './api-activity-worker.ts';

/** Batches that one process works on at the same time; an account has at most as many of them as it leaves free. */
const BATCH_SLOTS = 10;
/** The longest wait of a batch whose account has its share. */
const LONGEST_RETURN_MS = 10_000;

/** What the work on batches needs, of an api. */
export function createBatchContext(http: HttpContext, installationId: string): BatchContext {
  return {
    ...http,
    installationId,
    endpoints: createLineEndpoints(http),
    paces: createPaces(),
    slots: createSlotShares({
      resource: 'batch_slots',
      capacity: BATCH_SLOTS,
      leavesFree: true,
      longestReturnMs: LONGEST_RETURN_MS,
      metrics: http.metrics.shares,
    }),
    lineBodies: createLineBodies(http),
    nextTurn: () => http.turns.next(),
  };
}

export function startBatchWorker(
  http: HttpContext,
  connection: NativeConnection,
  installationId: string,
): ApiActivityWorker {
  const context = createBatchContext(http, installationId);
  return startApiActivityWorker({
    http,
    connection,
    installationId,
    queue: 'batches',
    slots: BATCH_SLOTS,
    graceMs: 0,
    createActivities: ({ stopping }) => createBatchActivities(context, stopping),
  });
}
