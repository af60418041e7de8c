/**
 * The one place where errors become HTTP (contract §1). Nothing else in the program knows a status code, and no
 * response contains a stack, SQL, a host name, a key or a provider's words.
 */
import { UnknownLedgerEntryError } from '../../billing/ledger-list.ts';
import { SpendCapError } from '../../billing/spend-caps.ts';
import { TooMuchUsageError } from '../../billing/usage.ts';
import { AccountSuspendedError, ForbiddenError, UnauthenticatedError } from '../../accounts/authenticate.ts';
import { AccountNotFoundError } from '../../accounts/accounts.ts';
import { AdjustmentTooLargeError, InsufficientBalanceError } from '../../billing/ledger.ts';
import { BalanceTooLargeError, ReferenceUsedError } from '../../billing/operator-entries.ts';
import { KeyNotFoundError, KeyRefusedError } from '../../accounts/keys.ts';
import {
  ContradictoryRouteError,
  ModelUnavailableError,
  OtherModalityError,
  UnknownRouteError,
} from '../../catalogue/catalogue.ts';
import { DatabaseUnavailableError } from '../../database/database.ts';
import { formatUsd } from '../../domain/money.ts';
import { ObjectNotFoundError } from '../../objects/stores/object-store.ts';
import { StoreUnavailableError } from '../../objects/stores/store-unavailable-error.ts';
import { ExpiredUrlError, InvalidUrlError } from '../../objects/urls/signed-url.ts';
import { UploadNotFoundError, UploadsFullError } from '../../objects/uploads.ts';
import { UnsupportedMediaError } from '@darkroom/media/inspect';
import { PreviewTooSlowError } from '@darkroom/media/preview';
import { OutputNotFoundError } from '../../objects/outputs/outputs.ts';
import { RateLimitedError } from '../../limits/rate-limiter.ts';
import { ShareExhaustedError } from '../../limits/tenant-shares.ts';
import { ResponseInProgressError } from '../../text/responses/awaiting.ts';
import { ResponseNotFoundError } from '../../text/responses/stored-responses.ts';
import { InvalidTextRequest, TextFailure } from '../../text/text-failure.ts';
import type { TextFailureReason } from '../../text/text-failure.ts';
import { TooManyStreamsError } from '../../text/money/text-ledger.ts';
import { IdempotencyMismatchError, QueueFullError } from '../../tasks/create/accept.ts';
import { InvalidTaskError } from '../../tasks/create/create.ts';
import { TaskNotFoundError } from '../../tasks/record/read.ts';
import { TaskNotOverError } from '../../tasks/lifecycle/erase.ts';
import { NotRedeliverableError } from '../../tasks/lifecycle/redeliver.ts';

/** An error response: `headers` beside the envelope. */
export interface HttpProblem {
  readonly status: number;
  readonly errorCode: string;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** For clients of OpenAI's API (error-form.ts): the parameter at fault, and its code for the case. */
  readonly param?: string | undefined;
  readonly code?: string | undefined;
  /** The body is not JSON, for which JSON-RPC has a code of its own. */
  readonly isUnreadable?: true;
}

/** A request that is invalid in itself; thrown by the HTTP module only. */
export class RequestError extends Error {
  override readonly name = 'RequestError';
  readonly problem: HttpProblem;

  constructor(problem: HttpProblem, options: { cause?: unknown } = {}) {
    super(problem.message, options);
    this.problem = problem;
  }
}

/** 400 `INVALID_REQUEST`, with a message that names the field. */
export function invalidRequest(
  message: string,
  { param, code }: Pick<HttpProblem, 'param' | 'code'> = {},
): RequestError {
  return new RequestError({ status: 400, errorCode: 'INVALID_REQUEST', message, param, code });
}

/** 400 `INVALID_REQUEST` for a body that is not JSON at all. */
export function unreadableBody(message: string): RequestError {
  return new RequestError({ status: 400, errorCode: 'INVALID_REQUEST', message, isUnreadable: true });
}

/** The same body for an unknown path, an unknown task and another account's task. */
export const NOT_FOUND: HttpProblem = { status: 404, errorCode: 'NOT_FOUND', message: 'not found' };

/** How long a client should wait before it retries, in seconds. */
const RETRY_SOON_SECONDS = '2';

const RETRY_QUEUE_SECONDS = '10';

/** What an API client can do about a 402. What the operator can do is in the log (balance-log.ts). */
const WITHOUT_BALANCE =
  'ask for less, wait until running tasks release what they hold (GET /v1/account), or have whoever runs this service add to the balance';

/** The response to a text call that failed: the words are ours, and the upstream's stay in the log. */
const TEXT_FAILURES: Readonly<Record<TextFailureReason, (retryAfterSeconds: number | undefined) => HttpProblem>> = {
  upstream_unavailable: (seconds) => unserved('upstream_unavailable', 'the model cannot be reached', seconds),
  upstream_rate_limited: (seconds) => unserved('upstream_rate_limited', 'the model asks for patience', seconds),
  upstream_timeout: (seconds) => unserved('upstream_timeout', 'the model did not answer in time', seconds),
  upstream_invalid: (seconds) => unserved('upstream_invalid', 'the model did not answer as it should', seconds),
  interrupted: (seconds) => unserved('interrupted', 'the service is being restarted', seconds),
  upstream_refused: () => ({
    status: 400,
    errorCode: 'INVALID_REQUEST',
    message: 'the model refuses this request; what it does not take is not known more exactly',
    code: 'upstream_refused',
  }),
};

function unserved(code: TextFailureReason, what: string, retryAfterSeconds: number | undefined): HttpProblem {
  const headers = { 'Retry-After': String(retryAfterSeconds ?? RETRY_SOON_SECONDS) };
  return { status: 503, errorCode: 'SERVICE_UNAVAILABLE', message: `${what}; retry later`, headers, code };
}

/** The error for an exhausted shared resource: 429 where the caller's own share is used up, 503 where all of it is. */
function exhaustedShare({ by, retryAfterSeconds }: ShareExhaustedError): HttpProblem {
  const headers = { 'Retry-After': String(retryAfterSeconds) };
  if (by === 'process') {
    const message = 'the service is too busy for this request at this moment; retry after the time in Retry-After';
    return { status: 503, errorCode: 'SERVICE_UNAVAILABLE', message, headers };
  }
  const message = 'too many requests of this account at the same moment; retry after the time in Retry-After';
  return { status: 429, errorCode: 'RATE_LIMITED', message, headers };
}

/**
 * Maps an error to its response.
 *
 * @returns undefined for an internal error: a 500, which the caller logs.
 */
export function problemOf(error: unknown): HttpProblem | undefined {
  if (error instanceof RequestError) return error.problem;
  if (error instanceof UnauthenticatedError) {
    return {
      status: 401,
      errorCode: 'UNAUTHORIZED',
      message: 'the API key is missing or not valid; send Authorization: Bearer <API key>',
      headers: { 'WWW-Authenticate': 'Bearer' },
    };
  }
  if (error instanceof AccountSuspendedError) {
    return { status: 403, errorCode: 'ACCOUNT_SUSPENDED', message: 'this account is suspended' };
  }
  if (error instanceof ForbiddenError) return { status: 403, errorCode: 'FORBIDDEN', message: error.message };
  if (error instanceof ModelUnavailableError || error instanceof OtherModalityError) {
    return {
      status: 400,
      errorCode: 'MODEL_UNAVAILABLE',
      message: error.message,
      param: 'model',
      code: 'model_not_found',
    };
  }
  if (error instanceof InvalidTextRequest) {
    const { message, param, code } = error;
    return { status: 400, errorCode: 'INVALID_REQUEST', message, param, code };
  }
  if (error instanceof TextFailure) return TEXT_FAILURES[error.reason](error.retryAfterSeconds);
  if (error instanceof ResponseInProgressError) {
    return {
      status: 409,
      errorCode: 'RESPONSE_IN_PROGRESS',
      message: error.message,
      headers: { 'Retry-After': RETRY_SOON_SECONDS },
    };
  }
  if (error instanceof TooManyStreamsError) {
    return {
      status: 429,
      errorCode: 'RATE_LIMITED',
      message: `${error.cap} text calls are under way already, as many as this account may have at once; retry when one is over`,
      headers: { 'Retry-After': RETRY_SOON_SECONDS },
    };
  }
  if (
    error instanceof InvalidTaskError ||
    error instanceof NotRedeliverableError ||
    error instanceof TaskNotOverError ||
    error instanceof KeyRefusedError ||
    error instanceof ReferenceUsedError ||
    error instanceof BalanceTooLargeError ||
    error instanceof AdjustmentTooLargeError ||
    error instanceof UnknownRouteError ||
    error instanceof ContradictoryRouteError
  ) {
    return { status: 400, errorCode: 'INVALID_REQUEST', message: error.message };
  }
  if (error instanceof UnknownLedgerEntryError) {
    const message = 'invalid request: cursor: not one that this list gave';
    return { status: 400, errorCode: 'INVALID_REQUEST', message };
  }
  if (error instanceof TooMuchUsageError) {
    const message = 'invalid request: groupBy: more rows than one answer holds; ask for fewer days or groups';
    return { status: 400, errorCode: 'INVALID_REQUEST', message };
  }
  if (error instanceof InsufficientBalanceError) {
    const needed = formatUsd(error.neededMicroUsd);
    const available = formatUsd(error.availableMicroUsd);
    const message = `the request can cost up to ${needed} USD and ${available} USD is available; ${WITHOUT_BALANCE}`;
    return { status: 402, errorCode: 'INSUFFICIENT_BALANCE', message };
  }
  if (error instanceof SpendCapError) {
    const needed = formatUsd(error.neededMicroUsd);
    const left = formatUsd(error.leftMicroUsd);
    const period = error.period === 'day' ? 'today' : 'in total';
    const cap = formatUsd(error.capMicroUsd);
    const advice = error.period === 'day' ? 'retry after midnight UTC, or use another key' : 'use another key';
    const message = `the request can cost up to ${needed} USD and this key may spend ${left} USD more ${period} (its cap is ${cap} USD); ${advice}`;
    return { status: 402, errorCode: 'INSUFFICIENT_BALANCE', message };
  }
  if (error instanceof RateLimitedError) {
    return {
      status: 429,
      errorCode: 'RATE_LIMITED',
      message: `too many ${error.what}; slow down, and retry after the time in Retry-After`,
      headers: { 'Retry-After': String(error.retryAfterSeconds) },
    };
  }
  if (error instanceof ShareExhaustedError) return exhaustedShare(error);
  if (error instanceof IdempotencyMismatchError) {
    return { status: 422, errorCode: 'IDEMPOTENCY_KEY_MISMATCH', message: error.message };
  }
  if (error instanceof QueueFullError) {
    return {
      status: 429,
      errorCode: 'RATE_LIMITED',
      message: 'as many tasks are waiting as this account may have waiting; retry when some have finished',
      headers: { 'Retry-After': RETRY_QUEUE_SECONDS },
    };
  }
  if (error instanceof UploadsFullError) {
    return {
      status: 429,
      errorCode: 'RATE_LIMITED',
      message:
        'this account keeps 10 GB of uploads, which is all it may; delete some with DELETE /v1/files/<id>, or wait: each is kept 24 h',
      headers: { 'Retry-After': String(error.retryAfterSeconds) },
    };
  }
  if (error instanceof UnsupportedMediaError) {
    if (error.problem !== undefined) {
      const message = `the file is not taken: it ${error.problem}`;
      return { status: 415, errorCode: 'UNSUPPORTED_MEDIA_TYPE', message };
    }
    const got = error.mimeType === undefined ? '' : ` (it is ${error.mimeType})`;
    const message = `the file is no image, video or audio of a type that is taken${got}`;
    return { status: 415, errorCode: 'UNSUPPORTED_MEDIA_TYPE', message };
  }
  if (error instanceof PreviewTooSlowError) {
    return {
      status: 503,
      errorCode: 'SERVICE_UNAVAILABLE',
      message: 'the preview could not be made in time; retry after the time in Retry-After',
      headers: { 'Retry-After': RETRY_QUEUE_SECONDS },
    };
  }
  if (error instanceof ExpiredUrlError) {
    const place = error.outputId.startsWith('file_') ? 'GET /v1/files/<id>' : 'GET /v1/tasks/<id>';
    const message = `this download URL has expired; ${place} gives a fresh one`;
    return { status: 403, errorCode: 'URL_EXPIRED', message };
  }
  if (error instanceof InvalidUrlError) {
    return { status: 403, errorCode: 'FORBIDDEN', message: 'this download URL is not valid' };
  }
  if (
    error instanceof TaskNotFoundError ||
    error instanceof AccountNotFoundError ||
    error instanceof KeyNotFoundError ||
    error instanceof OutputNotFoundError ||
    error instanceof UploadNotFoundError ||
    error instanceof ResponseNotFoundError ||
    error instanceof ObjectNotFoundError
  ) {
    return NOT_FOUND;
  }
  if (error instanceof DatabaseUnavailableError || error instanceof StoreUnavailableError) {
    return {
      status: 503,
      errorCode: 'SERVICE_UNAVAILABLE',
      message: 'the service is not available at this moment; retry with the same Idempotency-Key',
      headers: { 'Retry-After': RETRY_SOON_SECONDS },
    };
  }
  return undefined;
}
