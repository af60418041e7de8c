/** The door of the SDK. */
export { Darkroom } from './client.ts';
export {
  ApiError,
  AuthenticationError,
  ConnectionError,
  DarkroomError,
  IdempotencyKeyMismatchError,
  InsufficientBalanceError,
  InvalidRequestError,
  ModelUnavailableError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  ServiceError,
  TaskFailedError,
  TimeoutError,
  WebhookVerificationError,
} from './errors.ts';
export type { Rejection } from './errors.ts';
export type { Files } from './files.ts';
export type { Models } from './models.ts';
export type {
  ApiRequest,
  CallOptions,
  DarkroomOptions,
  ListQuery,
  RunOptions,
  SubmitOptions,
  SubmittedTask,
  SubscribeOptions,
  TaskReference,
  WaitOptions,
} from './options.ts';
export { webhooks } from './webhooks.ts';
export type { Delivery, VerifyOptions, Webhooks } from './webhooks.ts';
export type {
  Account,
  ErrorCode,
  Estimate,
  Model,
  ModelDetail,
  Output,
  Task,
  TaskEvent,
  TaskPage,
  TaskRequest,
  TaskStatus,
  UploadedFile,
  Violation,
} from './generated/types.ts';
