/** Some seconds of work on a batch (src/batches/advance.ts). */
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { advanceBatch } from '../src/batches/advance.ts';
import type { BatchContext } from '../src/batches/context.ts';
import type { ApiActivities } from '../workflows/contracts.ts';
import { untilWorkerStops } from './heartbeat.ts';

/** @param stopping aborted when the process stops. */
export function createAdvanceBatch(context: BatchContext, stopping: AbortSignal): ApiActivities['advanceBatch'] {
  return async ({ batchId }) => {
    const { attempt } = Context.current().info;
    const result = await untilWorkerStops({ stopping }, (signal) => advanceBatch(context, batchId, signal, attempt));
    if (result.kind !== 'waits') return { isEnded: result.kind === 'ended' };
    // A retry adds nothing to the history.
    const details = { type: 'BatchWaits', nonRetryable: false, nextRetryDelay: result.ms };
    throw ApplicationFailure.create({ message: 'the batch has to wait', ...details });
  };
}
