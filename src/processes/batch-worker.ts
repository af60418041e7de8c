/**
 * The part of an api that works on batches: it creates tasks, which needs the catalogue as it is now and not the
 * definitions that tasks have pinned.
 */
import type { NativeConnection } from '@temporalio/worker';
import { createBatchActivities } from '../../activities/index.ts';
import type { HttpContext } from '../http/app/context.ts';
import { createLineEndpoints } from '../http/media-calls/line-endpoints.ts';
import { startApiActivityWorker } from './api-activity-worker.ts';
import type { ApiActivityWorker } from './api-activity-worker.ts';

/** Batches that one process works on at the same time. */
const BATCH_SLOTS = 10;

export function startBatchWorker(
  http: HttpContext,
  connection: NativeConnection,
  installationId: string,
): ApiActivityWorker {
  const context = {
    ...http,
    installationId,
    endpoints: createLineEndpoints(http),
    nextTurn: () => http.turns.next(),
  };
  return startApiActivityWorker({
    http,
    connection,
    installationId,
    queue: 'batches',
    slots: BATCH_SLOTS,
    createActivities: (stopping) => createBatchActivities(context, stopping),
  });
}
