/**
 * From the error of an activity to the reason of the task's failure. Activities state it by the type of an
 * `ApplicationFailure`, a member of the closed list; every other error is mapped to a reason here.
 */
import { ActivityFailure, ApplicationFailure, TimeoutFailure, isCancellation } from '@temporalio/workflow';
import { isFailureReason } from '../src/domain/failure-reason.ts';
import type { FailureReason } from '../src/domain/failure-reason.ts';
import { TASK_NOT_FOUND } from '../src/domain/run-record.ts';

/** Why the task failed. */
export function reasonOf(error: unknown): FailureReason {
  if (isCancellation(error)) return 'cancelled';
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof TimeoutFailure) return 'timed_out';
  if (cause instanceof ApplicationFailure && isFailureReason(cause.type)) return cause.type;
  return 'provider_error';
}

/** Whether an activity, regular or local, found that the task is not in the database: there is nothing to settle. */
export function isTaskNotFound(error: unknown): boolean {
  // The failure of a local activity is not wrapped.
  const cause = error instanceof ActivityFailure ? error.cause : error;
  return cause instanceof ApplicationFailure && cause.type === TASK_NOT_FOUND;
}

/** Whether an activity reported that a retry is pointless. */
export function isPermanent(error: unknown): boolean {
  return (
    error instanceof ActivityFailure && error.cause instanceof ApplicationFailure && error.cause.nonRetryable === true
  );
}
