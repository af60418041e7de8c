/**
 * Asks the provider to stop a task's job (src/generation/stop-job.ts), as often as the workflow wants to wait for it.
 */
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { GenerationFailure } from '../src/generation/failure.ts';
import { stopJob } from '../src/generation/stop-job.ts';
import type { Activities } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';

/** An attempt ends this long before Temporal ends it, so that its slot is free when the next one begins. */
const END_BEFORE_MS = 1_000;

export function createCancelGeneration(context: ActivityContext): Activities['cancelGeneration'] {
  return async ({ taskId, tries }) => {
    const { cancellationSignal, info } = Context.current();
    const end = AbortSignal.timeout(info.startToCloseTimeoutMs - END_BEFORE_MS);
    try {
      return await stopJob(context, taskId, AbortSignal.any([cancellationSignal, end]), {
        attempt: info.attempt,
        runId: info.workflowExecution?.runId,
      });
    } catch (error) {
      // A `GenerationFailure` states itself whether it is retried: a denied slot always is.
      if (error instanceof GenerationFailure || cancellationSignal.aborted) throw error;
      if (info.attempt < tries) throw error;
      context.logger.warn({ err: error, taskId, attempt: info.attempt }, 'stop request to the provider failed');
      throw ApplicationFailure.nonRetryable('the stop request to the provider failed', 'ProviderNotStopped');
    }
  };
}
