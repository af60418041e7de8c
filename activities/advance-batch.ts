/** Some seconds of work on a batch (src/batches/advance.ts). */
import { advanceBatch } from '../src/batches/advance.ts';
import type { BatchContext } from '../src/batches/context.ts';
import type { ApiActivities } from '../workflows/contracts.ts';
import { untilWorkerStops } from './heartbeat.ts';

/** @param stopping aborted when the process stops. */
export function createAdvanceBatch(context: BatchContext, stopping: AbortSignal): ApiActivities['advanceBatch'] {
  return ({ batchId }) =>
    untilWorkerStops({ stopping }, async (signal) => ({ isEnded: await advanceBatch(context, batchId, signal) }));
}
