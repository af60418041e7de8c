/**
 * Translates the errors of activities to failures for Temporal. A permanent failure is an `ApplicationFailure` whose
 * type is a member of the closed list of reasons; a retryable failure contains only the class name of the error, so
 * that no prompt, URL or message of a provider enters a history (architecture, "Nothing private or large passes through
 * Temporal").
 */
import { CancelledFailure, CompleteAsyncError, Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { DarkroomError } from '../src/domain/darkroom-error.ts';
import { factsOf } from '@darkroom/api/facts/error-kinds';
import { TASK_NOT_FOUND } from '../src/domain/run-record.ts';
import { GenerationFailure, permanentFailure } from '../src/generation/failure.ts';
import { DeadlinePassedError, TaskEndedError, WorkerStoppingError } from '../src/generation/stopping.ts';
import { TaskNotFoundError } from '../src/tasks/record/read.ts';
import type { CancelFeed } from '../src/tasks/record/cancel-feed.ts';
import type { Logger } from '../src/telemetry/log.ts';
import { heartbeating } from './heartbeat.ts';

/**
 * Wraps an activity so that it sends heartbeats and throws only failures that this module creates. The original error
 * is logged here, once.
 *
 * @param cancels as of `heartbeating`.
 */
export function translateFailures<Arguments extends readonly unknown[], Result>(
  name: string,
  logger: Logger,
  activity: (...args: Arguments) => Promise<Result>,
  cancels?: CancelFeed,
): (...args: Arguments) => Promise<Result> {
  return async (...args) => {
    try {
      return await heartbeating(() => activity(...args), cancels);
    } catch (error) {
      throw translate(name, logger, error);
    }
  };
}

/**
 * Contains the heartbeat details of an earlier attempt, if there are any: they name the upstream to which that attempt
 * was about to submit the work.
 */
function taskNotFound(): ApplicationFailure {
  const { heartbeatDetails } = Context.current().info;
  const details = heartbeatDetails == null ? [] : [heartbeatDetails];
  return ApplicationFailure.nonRetryable('the task is not in the database', TASK_NOT_FOUND, ...details);
}

/** @param failure its reason becomes the type of the result, which workflows read (workflows/failure.ts). */
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

/** Retryable, so that another worker gets the work at once. */
function workerShutdown(): ApplicationFailure {
  return ApplicationFailure.retryable('the worker stops', 'WorkerShutdown');
}

function translate(name: string, logger: Logger, error: unknown): unknown {
  if (error instanceof CompleteAsyncError || error instanceof CancelledFailure) return error;
  if (error instanceof TaskEndedError) return new CancelledFailure(error.message);
  const { workflowExecution, attempt } = Context.current().info;
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
  if (error instanceof TaskNotFoundError) {
    logger.error(fields, 'task of a workflow is not in the database; it may have lost commits');
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
 * Converts an error that does not fail the task to a retryable failure. If the error states a delay, the activity is
 * not retried before that.
 */
export function retryable(activity: string, error: unknown): ApplicationFailure {
  const type = error instanceof Error ? error.name : 'UnknownError';
  const retryAfterSeconds = error instanceof DarkroomError ? error.retryAfterSeconds : undefined;
  const delay = retryAfterSeconds === undefined ? {} : { nextRetryDelay: retryAfterSeconds * 1000 };
  return ApplicationFailure.create({ message: `${activity} failed: ${type}`, type, nonRetryable: false, ...delay });
}
