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
  TaskPrunedError,
  TimeoutError,
  WebhookVerificationError,
} from './errors.ts';
export type { Rejection } from './errors.ts';
export type { BatchInput, BatchReference, Batches, CreateBatchOptions, WaitForBatchOptions } from './batches.ts';
export type { CreateFileOptions, FileData, FileListQuery, Files } from './files.ts';
export type { Models } from './models.ts';
export type {
  ApiRequest,
  CallOptions,
  DarkroomOptions,
  ListQuery,
  NewTask,
  RunOptions,
  SubmitOptions,
  SubmitOutcome,
  SubmittedTask,
  SubscribeOptions,
  TaskReference,
  WaitOptions,
} from './options.ts';
export type { Tokens } from './tokens.ts';
export { webhooks } from './webhooks.ts';
export type { Delivery, VerifyOptions, Webhooks } from './webhooks.ts';
export type {
  Account,
  Batch,
  BatchLine,
  BatchResult,
  ErrorCode,
  Estimate,
  FileObject,
  Model,
  ModelDetail,
  Output,
  Task,
  TaskEvent,
  TaskPage,
  TaskRequest,
  TaskStatus,
  Token,
  TokenRequest,
  TokenScope,
  UploadedFile,
  Violation,
} from './generated/types.ts';
