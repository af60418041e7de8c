/**
 * The activities of a media task, one for each step: what they do is in src/generation/, src/tasks/lifecycle/settle.ts
 * and src/tasks/lifecycle/cancel.ts.
 */
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { archiveOutputs } from '../src/generation/archive.ts';
import { findDecision } from '../src/generation/earlier-work.ts';
import { GenerationFailure } from '../src/generation/failure.ts';
import { stopJob } from '../src/generation/stop-job.ts';
import { submitGeneration } from '../src/generation/submit.ts';
import { verdictOf } from '../src/generation/verdict.ts';
import { awaitGeneration } from '../src/generation/wait.ts';
import { recordCancelRequest } from '../src/tasks/lifecycle/cancel.ts';
import type { Verdict } from '../src/tasks/lifecycle/settle.ts';
import type { WorkingTask } from '../src/tasks/lifecycle/transitions.ts';
import { TaskNotFoundError } from '../src/tasks/record/read.ts';
import type { Activities, SettleInput, SettleResult, SettledTask } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';
import { currentAttempt } from './heartbeat.ts';

/** An attempt of a stop request ends this long before Temporal ends it, so that its slot is free for the next one. */
const END_BEFORE_MS = 1_000;

/** Submits a task to a provider, once. */
export function createSubmitGeneration(context: ActivityContext): Activities['submitGeneration'] {
  return (input) => submitGeneration(context, currentAttempt(context), input);
}

/** Checks whether an earlier run had ended the task. */
export function createTakeOverRun(context: ActivityContext): Activities['takeOverRun'] {
  return async (input) => {
    const decided = await findDecision(context, input);
    return decided === undefined ? {} : { decided };
  };
}

/** Waits for a provider's job. */
export function createAwaitGeneration(context: ActivityContext): Activities['awaitGeneration'] {
  return (input) => awaitGeneration(context, currentAttempt(context), input);
}

/** Records that a task is to end, when its workflow was cancelled. */
export function createRecordCancel({ database }: ActivityContext): Activities['recordCancel'] {
  return ({ taskId }) => recordCancelRequest(database, taskId);
}

/** Asks the provider to stop a task's job, as often as the workflow wants to wait for it. */
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

/** Copies the generated files into the object store, and settles the task. */
export function createArchiveOutputs(context: ActivityContext): Activities['archiveOutputs'] {
  return (input) =>
    archiveOutputs(context, currentAttempt(context), input, (task, outputs) =>
      settleAtOnce(context, { ...input, status: 'success', outputs }, task),
    );
}

/** Ends a task, or returns how it ended. Idempotent by the task's id. */
export function createSettleTask(context: ActivityContext): Activities['settleTask'] {
  return async (input: SettleInput) => {
    const outcome = await settle(context, input, await verdictOf(context, input));
    if (outcome === undefined) throw new TaskNotFoundError();
    return outcome;
  };
}

/**
 * Settles a task in the activity that has archived its outputs: one step less, whose cost and time every task would
 * have. What prevents it is left to the settlement that follows then, which has retries of its own.
 *
 * @returns undefined: it may not have been settled.
 */
export async function settleAtOnce(
  context: ActivityContext,
  input: SettleInput,
  task: WorkingTask,
): Promise<SettleResult | undefined> {
  try {
    return await settle(context, input, await verdictOf(context, input, task));
  } catch (error) {
    context.logger.debug({ err: error, taskId: input.taskId }, 'a settlement of its own has to follow');
    return undefined;
  }
}

/** @returns undefined: the database does not have the task. */
async function settle(
  context: ActivityContext,
  { taskId, accountId }: SettledTask,
  verdict: Verdict,
): Promise<SettleResult | undefined> {
  const outcome = await context.settler.settle(taskId, accountId, verdict);
  if (outcome !== undefined) context.logger.info({ taskId, ...outcome }, 'task settled');
  return outcome;
}
