/** Records each run of an activity in the trace of its task, including how long it waited for a worker. */
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { Tracing } from '../telemetry/tracing.ts';
import { taskOfWorkflow } from '../domain/workflow-ids.ts';

export function traceActivities(tracing: Tracing, now: () => number): ActivityInterceptorsFactory {
  return ({ info }) => ({
    inbound: {
      async execute(input, next) {
        const startedAt = now();
        let failure: string | undefined;
        try {
          return await next(input);
        } catch (error) {
          failure = failureOf(error);
          throw error;
        } finally {
          const { activityType, attempt, taskQueue, workflowExecution, currentAttemptScheduledTimestampMs } = info;
          const taskId = taskOfWorkflow(workflowExecution?.workflowId ?? '');
          if (taskId !== undefined) {
            tracing.task(taskId, {
              name: activityType,
              startedAt,
              attributes: {
                'darkroom.task_id': taskId,
                'temporal.workflow_id': workflowExecution?.workflowId,
                'temporal.task_queue': taskQueue,
                'temporal.attempt': attempt,
                'darkroom.waited_ms': Math.max(0, startedAt - currentAttemptScheduledTimestampMs),
              },
              failure,
            });
          }
        }
      },
    },
  });
}

function failureOf(error: unknown): string {
  if (error instanceof CancelledFailure) return 'cancelled';
  // The types of our failures come from a closed list (activities/failures.ts).
  return error instanceof ApplicationFailure ? (error.type ?? 'failed') : 'failed';
}
