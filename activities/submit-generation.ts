/**
 * Hands a task to its provider, once (architecture, "Submitting is split from waiting, and never repeated blindly"): a
 * submit that cannot be repeated is announced by an intent first, and a retry that finds one without a job ends as
 * `outcome_unknown` instead of charging twice.
 */
import { CancelledFailure, Context } from '@temporalio/activity';
import { isTerminal } from '../src/domain/task-status.ts';
import { ProviderFailure, ProviderRefusal } from '../src/providers/provider.ts';
import type { GenerationRequest, Submission } from '../src/providers/provider.ts';
import { beginHandling, clearIntent, declareIntent, recordFiles, recordJob, recordRefusal } from '../src/tasks/work.ts';
import type { WorkingTask } from '../src/tasks/work.ts';
import type { Activities, MediaTaskInput } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';
import { passing, permanent } from './failures.ts';
import { DeadlinePassedError, withHeartbeats } from './heartbeat.ts';
import { keepAnswer } from './keep-answer.ts';
import { stageFiles } from './stage-files.ts';
import { stageInputs } from './stage-inputs.ts';
import { routeOf } from './task-route.ts';
import type { TaskRoute } from './task-route.ts';

/** A provider that keeps refusing is given up after this many attempts: with its own pauses that is some minutes. */
const MAX_REFUSALS = 6;

/** Also after the signal has fired: an intent that stays says, wrongly, that something may have been sent. */
const CLEAR_WITHIN_MS = 15_000;

export function createSubmitGeneration(context: ActivityContext): Activities['submitGeneration'] {
  return async (input: MediaTaskInput) => {
    const { task, generation } = await beginHandling(context.database, input.taskId, input.handlingSeconds);
    if (isTerminal(task.status)) return { kind: 'over' };
    if (generation?.state === 'produced') return { kind: 'produced' };
    if (generation?.state === 'submitted') return { kind: 'job' };
    if (task.isCancelRequested) throw permanent('cancelled');
    if (task.deadlineAt !== null && task.deadlineAt <= Date.now()) throw new DeadlinePassedError();

    const route = await routeOf(context, task);
    return withHeartbeats(task.deadlineAt, async (stopSignal, deadlineSignal) => {
      const signal = route.provider.worksWhileSubmitting ? stopSignal : deadlineSignal;
      // Before the intent: what fails until then was not sent.
      const request = await stageInputs(context, task, route, stopSignal);
      if (!route.provider.isSubmitRepeatable) {
        const isFirst = await declareIntent(context.database, task.id, route.upstreamName);
        if (!isFirst) throw permanent('outcome_unknown');
      }
      const submission = await submit(context, task, route, request, signal);
      if (submission.kind === 'job') {
        const { jobId } = submission;
        await keepAnswer(signal, () => recordJob(context.database, task.id, route.upstreamName, jobId));
        return { kind: 'job' };
      }
      if (submission.files.length === 0) throw permanent('no_output');
      const files = await stageFiles(context, task.id, submission.files, signal);
      await keepAnswer(signal, () => recordFiles(context.database, task.id, route.upstreamName, files));
      return { kind: 'produced', isStored: files.every((file) => 'key' in file) };
    });
  };
}

async function submit(
  context: ActivityContext,
  task: WorkingTask,
  route: TaskRoute,
  request: GenerationRequest,
  signal: AbortSignal,
): Promise<Submission> {
  try {
    return await route.provider.submit(request, { signal });
  } catch (error) {
    // Nothing was accepted, so another attempt may submit again.
    if (error instanceof ProviderRefusal && !route.provider.isSubmitRepeatable) {
      await keepAnswer(AbortSignal.timeout(CLEAR_WITHIN_MS), () => clearIntent(context.database, task.id));
    }
    if (signal.aborted && isStop(signal.reason)) throw signal.reason;
    if (error instanceof ProviderRefusal) throw await refused(context, task, route, error);
    if (error instanceof ProviderFailure) throw permanent(error.reason);
    // Nobody knows whether the work was taken.
    if (!route.provider.isSubmitRepeatable) throw permanent('outcome_unknown');
    throw error;
  }
}

function isStop(reason: unknown): reason is Error {
  return reason instanceof DeadlinePassedError || reason instanceof CancelledFailure;
}

/** Writes the refusal down, and says whether to try again. */
async function refused(context: ActivityContext, task: WorkingTask, route: TaskRoute, refusal: ProviderRefusal) {
  const isLast = refusal.retryAfterMs === undefined || Context.current().info.attempt >= MAX_REFUSALS;
  context.logger.info(
    { taskId: task.id, upstream: route.upstreamName, reason: refusal.reason, isLast },
    'the provider refused a task',
  );
  await recordRefusal(context.database, task.id, refusal.reason);
  return isLast ? permanent(refusal.reason) : passing(refusal.reason, refusal.retryAfterMs);
}
