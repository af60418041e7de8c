/**
 * The closed lists of what a failed task can report: `error.code` and `error.reason` of contract §3, with the message
 * that a caller reads for each. Pure: workflows pass reasons, never texts, so that no provider's words enter a
 * history.
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
    message: 'a media address in the input could not be fetched; check that it is public and answers',
    retryable: true,
  },
  input_invalid: {
    code: 'INVALID_REQUEST',
    message: 'the provider rejected the input as invalid for this model',
    retryable: false,
  },
  provider_unavailable: {
    code: 'TASK_FAILED',
    message: 'the provider could not be reached or took no work; nothing was charged, create a new task to try again',
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
    message: 'the model is not available at this moment, and the operator has to look; nothing was charged',
    // A credential, a balance, a name or a protocol: what is missing is missing for the next task too.
    retryable: false,
  },
};

/** What a caller reads for a reason: contract §3 `error{code,message,reason,retryable}`. */
export function failureFace(reason: FailureReason): FailureFace {
  return FACES[reason];
}

/** Whether a text (from a failure's type or a stored row) is one of the list. */
export function isFailureReason(text: unknown): text is FailureReason {
  return typeof text === 'string' && (FAILURE_REASONS as readonly string[]).includes(text);
}
