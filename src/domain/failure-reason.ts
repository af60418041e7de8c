/**
 * The closed lists of what a failed task can report: `error.code` and `error.reason` of contract §3, with the message
 * that a caller reads for each. Workflows import this module and pass reasons, never messages, so that no text of a
 * provider enters a history.
 */

export const FAILURE_REASONS = [
  'content_rejected',
  'input_unreachable',
  'input_invalid',
  'provider_unavailable',
  'provider_error',
  'no_output',
  'outcome_unknown',
  'timed_out',
  'cancelled',
  'terminated',
  'storage_unavailable',
  'model_unavailable',
] as const;

/** Why a task failed. The last two are internal: they show as an `error.code` of their own (presenters/task.ts). */
export type FailureReason = (typeof FAILURE_REASONS)[number];

export type TaskErrorCode =
  | 'TASK_FAILED'
  | 'TASK_TIMEOUT'
  | 'TASK_CANCELLED'
  | 'INVALID_REQUEST'
  | 'MODEL_UNAVAILABLE'
  | 'STORAGE_UNAVAILABLE';

/** How one reason shows on the wire. `retryable`: whether the same request may well succeed as a new task. */
export interface FailureFace {
  readonly code: TaskErrorCode;
  readonly message: string;
  readonly retryable: boolean;
}

const FACES: Record<FailureReason, FailureFace> = {
  content_rejected: {
    code: 'TASK_FAILED',
    message: 'the provider rejected this content; change the prompt or the reference media',
    retryable: false,
  },
  input_unreachable: {
    code: 'INVALID_REQUEST',
    message: 'a media URL in the input could not be fetched; check that it is public and responds',
    retryable: true,
  },
  input_invalid: {
    code: 'INVALID_REQUEST',
    message: 'the provider rejected the input as invalid for this model',
    retryable: false,
  },
  provider_unavailable: {
    code: 'TASK_FAILED',
    message:
      'the provider could not be reached or did not accept the work; nothing was charged, create a new task to try again',
    retryable: true,
  },
  provider_error: {
    code: 'TASK_FAILED',
    message: 'the provider failed while generating; nothing was charged, create a new task to try again',
    retryable: true,
  },
  no_output: {
    code: 'TASK_FAILED',
    message: 'the provider reported success but delivered no usable output; nothing was charged',
    retryable: true,
  },
  outcome_unknown: {
    code: 'TASK_FAILED',
    message:
      'it is unknown whether the provider accepted the work, and submitting it again could charge twice; nothing was charged to you',
    retryable: true,
  },
  timed_out: { code: 'TASK_TIMEOUT', message: 'the task did not finish in time; nothing was charged', retryable: true },
  cancelled: { code: 'TASK_CANCELLED', message: 'the task was cancelled', retryable: false },
  terminated: {
    code: 'TASK_FAILED',
    message: 'the task was stopped by an operator; nothing was charged, create a new task to try again',
    retryable: true,
  },
  storage_unavailable: {
    code: 'STORAGE_UNAVAILABLE',
    message: 'the outputs could not be stored; nothing was charged, create a new task to try again',
    retryable: true,
  },
  model_unavailable: {
    code: 'MODEL_UNAVAILABLE',
    message: 'the model is not available at the moment and needs the attention of the operator; nothing was charged',
    // The cause is a credential, a balance, a name or a protocol, which would be wrong for the next task too.
    retryable: false,
  },
};

/** What a caller reads for a reason: contract §3 `error{code,message,reason,retryable}`. */
export function failureFace(reason: FailureReason): FailureFace {
  return FACES[reason];
}

/** Whether a string (a failure's type or a stored value) is a reason of the list. */
export function isFailureReason(text: unknown): text is FailureReason {
  return typeof text === 'string' && FAILURE_REASONS.some((reason) => reason === text);
}
