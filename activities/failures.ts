/**
 * How an activity reports failures to Temporal. A permanent failure is an `ApplicationFailure` whose type is a member
 * of the closed list of reasons; a retryable one is identified by its class alone, so that no prompt, address or
 * message of a provider enters a history (architecture, "Nothing private or large passes through Temporal").
 */
import { CancelledFailure, CompleteAsyncError, Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { DarkroomError, factsOf } from '../src/domain/darkroom-error.ts';
import { TASK_NOT_FOUND } from '../src/domain/run-record.ts';
import { isFormerQueue } from '../src/domain/workflow-ids.ts';
import { GenerationFailure, permanentFailure } from '../src/generation/failure.ts';
import { DeadlinePassedError, TaskEndedError, WorkerStoppingError } from '../src/generation/stopped.ts';
import { TaskNotFoundError } from '../src/tasks/record/read.ts';
import type { Logger } from '../src/telemetry/log.ts';
import { heartbeating } from './heartbeat.ts';

/**
 * Wraps an activity so that it heartbeats all the time and everything it throws is a failure of ours. The original
 * error is logged here, once.
 */
export function translateFailures<Arguments extends readonly unknown[], Result>(
  name: string,
  logger: Logger,
  activity: (...args: Arguments) => Promise<Result>,
): (...args: Arguments) => Promise<Result> {
  return async (...args) => {
    try {
      return await heartbeating(() => activity(...args));
    } catch (error) {
      throw translate(name, logger, error);
    }
  };
}

/**
 * Carries the details that an earlier attempt had attached to its heartbeats: to which upstream it was about to send
 * the work.
 */
function taskNotFound(): ApplicationFailure {
  const { heartbeatDetails } = Context.current().info;
  const details = heartbeatDetails == null ? [] : [heartbeatDetails];
  return ApplicationFailure.nonRetryable('the task is not in the database', TASK_NOT_FOUND, ...details);
}

/**
 * The former names do not identify the installation: a task without a row here may have one in another installation's
 * database, whose worker gets the activity in a later attempt (docs/decisions/0038). The type differs from
 * `TASK_NOT_FOUND`, which ends a workflow.
 */
function taskElsewhere(): ApplicationFailure {
  return ApplicationFailure.retryable('the task is not in this database', 'TaskElsewhere');
}

/** @param failure its reason becomes the type, by which workflows know it (workflows/failure.ts). */
function fromGenerationFailure({
  message,
  reason,
  isPermanent,
  fault,
  retryAfterMs,
}: GenerationFailure): ApplicationFailure {
  if (isPermanent) return ApplicationFailure.nonRetryable(message, reason, ...(fault === undefined ? [] : [fault]));
  return ApplicationFailure.create({
    message,
    type: reason,
    nonRetryable: false,
    ...(retryAfterMs === undefined ? {} : { nextRetryDelay: retryAfterMs }),
  });
}

/** Another worker gets the work at once. */
function workerShutdown(): ApplicationFailure {
  return ApplicationFailure.retryable('the worker stops', 'WorkerShutdown');
}

function translate(name: string, logger: Logger, error: unknown): unknown {
  if (error instanceof CompleteAsyncError || error instanceof CancelledFailure) return error;
  if (error instanceof TaskEndedError) return new CancelledFailure(error.message);
  const { workflowExecution, attempt, taskQueue } = Context.current().info;
  const fields = { activity: name, workflowId: workflowExecution?.workflowId, attempt };
  if (error instanceof GenerationFailure) {
    logger.info({ ...fields, failure: error.reason, ...error.fault }, 'activity failed');
    return fromGenerationFailure(error);
  }
  const failure = error instanceof WorkerStoppingError ? workerShutdown() : error;
  if (failure instanceof ApplicationFailure) {
    logger.info({ ...fields, failure: failure.type }, 'activity failed');
    return failure;
  }
  if (error instanceof TaskNotFoundError && isFormerQueue(taskQueue)) {
    logger.info(
      fields,
      'the task of an activity on a former queue is not in this database; left to the installation that has it',
    );
    return taskElsewhere();
  }
  if (error instanceof TaskNotFoundError) {
    logger.error(fields, 'the task of a workflow is not in the database: has it lost commits?');
    return taskNotFound();
  }
  if (error instanceof DeadlinePassedError) {
    logger.info(fields, 'activity reached the deadline of its task');
    return fromGenerationFailure(permanentFailure('timed_out'));
  }
  const { cancellationSignal } = Context.current();
  if (cancellationSignal.aborted && cancellationSignal.reason instanceof CancelledFailure) {
    return cancellationSignal.reason;
  }
  const isTransient = !(error instanceof DarkroomError) || factsOf(error.kind).isRetryable;
  if (isTransient) logger.warn({ ...fields, err: error }, 'activity failed; retrying');
  else logger.error({ ...fields, err: error }, 'activity failed for a reason that may be permanent; retrying');
  return retryable(name, error);
}

/**
 * Any error that is not final for the task, which has a reason of its own: the activity is retried, and not before the
 * time that the error states.
 */
export function retryable(activity: string, error: unknown): ApplicationFailure {
  const type = error instanceof Error ? error.name : 'UnknownError';
  const retryAfterSeconds = error instanceof DarkroomError ? error.retryAfterSeconds : undefined;
  const delay = retryAfterSeconds === undefined ? {} : { nextRetryDelay: retryAfterSeconds * 1000 };
  return ApplicationFailure.create({ message: `${activity} failed: ${type}`, type, nonRetryable: false, ...delay });
}
