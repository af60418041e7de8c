/** One attempt at a text call in the background (src/text/background/run.ts). */
import { ApplicationFailure } from '@temporalio/common';
import type { BackgroundContext } from '../src/text/background/context.ts';
import { runBackgroundCall } from '../src/text/background/run.ts';
import type { ApiActivities } from '../workflows/contracts.ts';
import { untilWorkerStops } from './heartbeat.ts';

/** @param stopping aborted when the process stops. */
export function createAnswerInBackground(
  context: BackgroundContext,
  stopping: AbortSignal,
): ApiActivities['answerInBackground'] {
  return async ({ callId }) => {
    const result = await untilWorkerStops({ stopping }, (signal) => runBackgroundCall(context, callId, signal));
    if (result.kind === 'ended') return;
    // A retry adds nothing to the history, unlike a timer of the workflow.
    const details = { type: 'TextCallWaits', nonRetryable: false, nextRetryDelay: result.ms };
    throw ApplicationFailure.create({ message: 'the call has to wait', ...details });
  };
}
