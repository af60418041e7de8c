/**
 * Hands a task to a provider, once (architecture, "Submitting is split from waiting, and never repeated blindly"): a
 * submit that cannot be repeated is announced by an intent first, and a retry that finds one without a job ends as
 * `outcome_unknown` instead of charging twice. Which of a route's upstreams is asked, and when, is in ask-upstreams.ts.
 */
import { isTerminal } from '../src/domain/task-status.ts';
import { createProgressRecord } from '../src/tasks/progress.ts';
import { beginHandling, recordFault } from '../src/tasks/work.ts';
import type { Activities, MediaTaskInput } from '../workflows/contracts.ts';
import { askUpstreams } from './ask-upstreams.ts';
import type { ActivityContext } from './context.ts';
import { faultOf, permanent } from './failures.ts';
import { DeadlinePassedError, withHeartbeats } from './heartbeat.ts';
import { withScratch } from './scratch.ts';
import { routesOf } from './task-route.ts';

export function createSubmitGeneration(context: ActivityContext): Activities['submitGeneration'] {
  return async (input: MediaTaskInput) => {
    const { task, generation } = await beginHandling(context.database, input.taskId, input.handlingSeconds);
    if (isTerminal(task.status)) return { kind: 'over' };
    if (generation?.state === 'produced') return { kind: 'produced' };
    if (generation?.state === 'submitted') return { kind: 'job' };
    if (task.isCancelRequested) throw permanent('cancelled');
    if (task.deadlineAt !== null && task.deadlineAt <= Date.now()) throw new DeadlinePassedError();

    const routes = await routesOf(context, task);
    return withHeartbeats(task.deadlineAt, (stopSignal, deadlineSignal) =>
      withScratch(context.config.worker.scratchDir, (scratch) =>
        askUpstreams({
          context,
          task,
          routes,
          triedPlace: generation?.place,
          stopSignal,
          deadlineSignal,
          scratch,
          onProgress: createProgressRecord(context, task.id),
        }),
      ),
    ).catch(async (error: unknown) => {
      const fault = faultOf(error);
      // Before the failure, which ends the task: the settlement that follows tells its owner.
      if (fault !== undefined) await recordFault(context.database, task.id, fault);
      throw error;
    });
  };
}
