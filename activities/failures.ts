/**
 * How an activity reports failures to Temporal. A permanent failure is an `ApplicationFailure` whose type is a member
 * of the closed list of reasons; a retryable one is identified by its class alone, so that no prompt, address or
 * message of a provider enters a history (architecture, "Nothing private or large passes through Temporal").
 */
import { CancelledFailure, CompleteAsyncError, Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { DarkroomError, factsOf } from '../src/domain/darkroom-error.ts';
import type { FailureReason } from '../src/domain/failure-reason.ts';
import { inputFault, isFaultKind, reasonOfFault } from '../src/domain/input-fault.ts';
import type { FaultKind, InputFault } from '../src/domain/input-fault.ts';
import type { Logger } from '../src/telemetry/log.ts';
import { TASK_NOT_FOUND } from '../src/domain/run-record.ts';
import { TaskNotFoundError } from '../src/tasks/record/read.ts';
import { isFormerQueue } from '../src/domain/workflow-ids.ts';
import { DeadlinePassedError, heartbeating } from './heartbeat.ts';

/**
 * The task can no longer succeed.
 *
 * @param fault the failure's one detail: a field's path and a member of a closed list.
 */
export function permanent(reason: FailureReason, fault?: InputFault): ApplicationFailure {
  return ApplicationFailure.nonRetryable(`permanent: ${reason}`, reason, ...(fault === undefined ? [] : [fault]));
}

/** The same for an invalid field of the input. @param path of the field, as in the model's schema. */
export function unusable(kind: FaultKind, path: readonly string[]): ApplicationFailure {
  return permanent(reasonOfFault(kind), inputFault(kind, path.join('.')));
}

/** What a failure says about the input; undefined: nothing. */
export function faultOf(error: unknown): InputFault | undefined {
  if (!(error instanceof ApplicationFailure)) return undefined;
  const [detail] = (error.details ?? []) as readonly Partial<Record<keyof InputFault, unknown>>[];
  if (!isFaultKind(detail?.kind)) return undefined;
  return inputFault(detail.kind, typeof detail.field === 'string' ? detail.field : undefined);
}

/** The attempt failed; another may well succeed, after `retryAfterMs` if that is known. */
export function passing(reason: FailureReason, retryAfterMs?: number): ApplicationFailure {
  return ApplicationFailure.create({
    message: `passing: ${reason}`,
    type: reason,
    nonRetryable: false,
    ...(retryAfterMs === undefined ? {} : { nextRetryDelay: retryAfterMs }),
  });
}

/**
 * Wraps an activity so that it heartbeats all the time and everything it throws is a failure of ours. The original
 * error is logged here, once.
 */
export function shielded<Arguments extends readonly unknown[], Result>(
  name: string,
  logger: Logger,
  activity: (...args: Arguments) => Promise<Result>,
): (...args: Arguments) => Promise<Result> {
  return async (...args) => {
    try {
      return await heartbeating(() => activity(...args));
    } catch (error) {
      throw shield(name, logger, error);
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

function shield(name: string, logger: Logger, error: unknown): unknown {
  if (error instanceof CompleteAsyncError || error instanceof CancelledFailure) return error;
  const { workflowExecution, attempt, taskQueue } = Context.current().info;
  const fields = { activity: name, workflowId: workflowExecution?.workflowId, attempt };
  if (error instanceof ApplicationFailure) {
    logger.info({ ...fields, failure: error.type, ...faultOf(error) }, 'an activity failed');
    return error;
  }
  if (error instanceof TaskNotFoundError && isFormerQueue(taskQueue)) {
    logger.info(fields, 'an activity on a former queue has no task here: it is left to the installation that has it');
    return taskElsewhere();
  }
  if (error instanceof TaskNotFoundError) {
    logger.error(fields, 'the task of a workflow is not in the database: has it lost commits?');
    return taskNotFound();
  }
  if (error instanceof DeadlinePassedError) {
    logger.info(fields, 'an activity reached the deadline of its task');
    return permanent('timed_out');
  }
  const { cancellationSignal } = Context.current();
  if (cancellationSignal.aborted && cancellationSignal.reason instanceof CancelledFailure) {
    return cancellationSignal.reason;
  }
  const canPass = !(error instanceof DarkroomError) || factsOf(error.kind).isRetryable;
  if (canPass) logger.warn({ ...fields, err: error }, 'an activity failed and will be retried');
  else logger.error({ ...fields, err: error }, 'an activity failed for a reason that may not pass; it will be retried');
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
