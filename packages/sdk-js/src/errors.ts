/**
 * The errors of the SDK. Each class is something that a program can act on; `code` of an `ApiError` is the `error_code`
 * of the API (contract §1.3).
 */
import { ApiError as RejectedResponse, UnreachableError } from '@darkroom/api/client/api-client';
import { kindOfResponse } from '@darkroom/api/facts/error-kinds';
import type { ErrorKind } from '@darkroom/api/facts/error-kinds';
import type { ErrorCode, Task, Violation } from './generated/types.ts';

/** What all errors of the SDK have in common. */
export class DarkroomError extends Error {
  override readonly name: string = 'DarkroomError';
}

/** What the API said about a request that it rejected. */
export interface Rejection {
  readonly message: string;
  readonly status: number;
  readonly code: ErrorCode | '';
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly violations: readonly Violation[];
}

/** The API rejected a request. */
export class ApiError extends DarkroomError {
  override readonly name: string = 'ApiError';
  /** The HTTP status. */
  readonly status: number;
  /** The API's code for programs; empty if something between the client and the API responded. */
  readonly code: ErrorCode | '';
  /** For the operator of the service, who can find the request by it. */
  readonly requestId: string | undefined;
  /** When the same request may succeed, if the API said so. */
  readonly retryAfterSeconds: number | undefined;
  /** What is wrong with the request, field by field, where the fields are known. */
  readonly violations: readonly Violation[];

  constructor(rejection: Rejection, options?: ErrorOptions) {
    super(rejection.message, options);
    this.status = rejection.status;
    this.code = rejection.code;
    this.requestId = rejection.requestId;
    this.retryAfterSeconds = rejection.retryAfterSeconds;
    this.violations = rejection.violations;
  }
}

/** The request is wrong in itself; the message names the field. */
export class InvalidRequestError extends ApiError {
  override readonly name = 'InvalidRequestError';
}

/** The model is unknown, retired or unavailable at this moment. */
export class ModelUnavailableError extends ApiError {
  override readonly name = 'ModelUnavailableError';
}

/** The API key is missing, malformed, unknown, revoked or expired. */
export class AuthenticationError extends ApiError {
  override readonly name = 'AuthenticationError';
}

/** The key may not do this, the account is suspended, or a download URL has expired. */
export class PermissionDeniedError extends ApiError {
  override readonly name = 'PermissionDeniedError';
}

/** The worst-case cost exceeds the available balance, or what the key may still spend. */
export class InsufficientBalanceError extends ApiError {
  override readonly name = 'InsufficientBalanceError';
}

/** There is no such task, file or model in this account. */
export class NotFoundError extends ApiError {
  override readonly name = 'NotFoundError';
}

/** The task ended longer ago than the service retains tasks. The message has its dates. */
export class TaskPrunedError extends ApiError {
  override readonly name = 'TaskPrunedError';
}

/** The idempotency key was used with a different request before. */
export class IdempotencyKeyMismatchError extends ApiError {
  override readonly name = 'IdempotencyKeyMismatchError';
}

/** Too many requests, or too many queued tasks. Thrown when the automatic retries are used up. */
export class RateLimitError extends ApiError {
  override readonly name = 'RateLimitError';
}

/** The service failed or is not available at this moment. Thrown when the automatic retries are used up. */
export class ServiceError extends ApiError {
  override readonly name = 'ServiceError';
}

/** No complete response was received: the URL is wrong, nothing listens there, or the connection broke. */
export class ConnectionError extends DarkroomError {
  override readonly name: string = 'ConnectionError';
}

/** A request, or the whole wait for a task, took longer than allowed. A task that was created continues. */
export class TimeoutError extends ConnectionError {
  override readonly name = 'TimeoutError';
}

/** A task that was run has failed. */
export class TaskFailedError extends DarkroomError {
  override readonly name = 'TaskFailedError';
  readonly task: Task;
  /** The code of the failure, such as `TASK_TIMEOUT`. */
  readonly code: string;
  /** The reason within the code, such as `content_rejected`. */
  readonly reason: string | undefined;
  /** Whether the same request may succeed as a new task. */
  readonly isRetryable: boolean;

  constructor(task: Task) {
    super(`the task ${task.taskId} failed: ${task.error?.message ?? 'without a message'}`);
    this.task = task;
    this.code = task.error?.code ?? '';
    this.reason = task.error?.reason;
    this.isRetryable = task.error?.retryable ?? false;
  }
}

/** A delivery was not signed with this secret, or not at about this time. */
export class WebhookVerificationError extends DarkroomError {
  override readonly name = 'WebhookVerificationError';
}

type ErrorClass = new (rejection: Rejection, options?: ErrorOptions) => ApiError;

const CLASSES: Readonly<Record<ErrorKind, ErrorClass>> = {
  invalid_request: InvalidRequestError,
  unreadable_body: InvalidRequestError,
  expectation_failed: InvalidRequestError,
  headers_too_large: InvalidRequestError,
  method_not_allowed: InvalidRequestError,
  payload_too_large: InvalidRequestError,
  unsupported_media_type: InvalidRequestError,
  response_in_progress: ServiceError,
  model_unavailable: ModelUnavailableError,
  unauthenticated: AuthenticationError,
  forbidden: PermissionDeniedError,
  account_suspended: PermissionDeniedError,
  url_expired: PermissionDeniedError,
  insufficient_balance: InsufficientBalanceError,
  not_found: NotFoundError,
  task_pruned: TaskPrunedError,
  idempotency_key_mismatch: IdempotencyKeyMismatchError,
  rate_limited: RateLimitError,
  request_timeout: ServiceError,
  internal: ServiceError,
  configuration_invalid: ServiceError,
  operator_action_required: ServiceError,
  unavailable: ServiceError,
};

/** The error of one item of a request that was accepted as a whole. */
export function itemError(status: number, message: string, errorCode: string): ApiError {
  const kind = kindOfResponse(status, errorCode);
  const rejection = { message, status, code: errorCode as ErrorCode | '', violations: [] };
  return new CLASSES[kind]({ ...rejection, requestId: undefined, retryAfterSeconds: undefined });
}

/** The SDK's error for one of the typed client. Anything else, such as the reason of an abort, is returned as it is. */
export function toSdkError(error: unknown): unknown {
  if (error instanceof UnreachableError) return new ConnectionError(error.message, { cause: error });
  if (!(error instanceof RejectedResponse)) return error;
  const { message, status, errorCode, requestId, retryAfterSeconds, violations, kind } = error;
  // The API's codes are those of the table; what a proxy responds has none.
  const code = errorCode as ErrorCode | '';
  return new CLASSES[kind]({ message, status, code, requestId, retryAfterSeconds, violations }, { cause: error });
}
