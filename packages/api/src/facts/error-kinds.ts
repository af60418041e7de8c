/**
 * The table of all kinds of errors (contract §1). It is read by the HTTP API and its reference, the text dialects,
 * JSON-RPC, the command-line programs, the activities, and clients that interpret a response.
 */

/**
 * Who can resolve an error. `request`: the caller, with another request. `access` and `balance`: whoever grants access
 * or adds to the balance. `service`: the service itself, or its operator.
 */
export type ErrorCategory = 'request' | 'access' | 'balance' | 'service';

export interface ErrorKindFacts {
  /** HTTP status code. */
  readonly status: number;
  /** `error_code` of the envelope. */
  readonly errorCode: string;
  /** OpenAI's class of the error, on which its clients branch. */
  readonly openAiType: string;
  /** OpenAI's code for this kind, unless the error has a code of its own; null: OpenAI has no code for it. */
  readonly openAiCode: string | null;
  /** Error code of JSON-RPC 2.0, §5.1. */
  readonly rpcCode: number;
  readonly category: ErrorCategory;
  /** Whether the same request can succeed later. */
  readonly isRetryable: boolean;
  /** Seconds for `Retry-After`, unless the error states its own; undefined: the response has no such header. */
  readonly retryAfterSeconds?: number;
  /** When the error occurs, for the reference. */
  readonly description: string;
  /** The message for callers if the error's own message is not public or missing; otherwise an example. */
  readonly message: string;
  /** Whether callers see the error's own message. Otherwise it is only logged. */
  readonly isMessagePublic: boolean;
}

/** The first code that JSON-RPC reserves for servers; the SDKs of the Model Context Protocol use it too. */
const SERVER_ERROR = -32_000;
const INVALID_RPC_REQUEST = -32_600;

const CALLER_MISTAKE = {
  status: 400,
  errorCode: 'INVALID_REQUEST',
  openAiType: 'invalid_request_error',
  openAiCode: null,
  rpcCode: INVALID_RPC_REQUEST,
  category: 'request',
  isRetryable: false,
  isMessagePublic: true,
} as const;

const FAULT = {
  status: 500,
  errorCode: 'INTERNAL_ERROR',
  openAiType: 'server_error',
  openAiCode: null,
  rpcCode: -32_603,
  category: 'service',
  isRetryable: true,
  isMessagePublic: false,
  message: 'an internal error occurred; retry later and name the X-Request-Id if it persists',
} as const;

/** In the order of contract §1. Kinds that share a code follow the one that the reference describes. */
export const ERROR_KINDS = {
  invalid_request: {
    ...CALLER_MISTAKE,
    description: 'The request is wrong in itself; the message names the field.',
    message: 'invalid input: image_urls: maxItems: got 4, want 3',
  },
  unreadable_body: {
    ...CALLER_MISTAKE,
    rpcCode: -32_700,
    description: 'The body is not JSON.',
    message: 'invalid request: the body is not JSON',
  },
  request_timeout: {
    ...CALLER_MISTAKE,
    status: 408,
    category: 'service',
    isRetryable: true,
    description: 'The request did not arrive in time.',
    message: 'the request did not arrive in time',
  },
  expectation_failed: {
    ...CALLER_MISTAKE,
    status: 417,
    description: 'The header `Expect` has an expectation that cannot be met.',
    message: 'invalid request: Expect: only 100-continue can be met',
  },
  headers_too_large: {
    ...CALLER_MISTAKE,
    status: 431,
    description: 'The address and the headers are larger than 8 kB.',
    message: 'the request headers are larger than 8 kB',
  },
  model_unavailable: {
    ...CALLER_MISTAKE,
    errorCode: 'MODEL_UNAVAILABLE',
    openAiCode: 'model_not_found',
    rpcCode: SERVER_ERROR,
    description: 'The model is unknown, retired or unavailable at this moment.',
    message: 'the model "acme/none" does not exist or is not available; names are case-sensitive',
  },
  unauthenticated: {
    status: 401,
    errorCode: 'UNAUTHORIZED',
    openAiType: 'authentication_error',
    openAiCode: 'permission_denied',
    rpcCode: SERVER_ERROR,
    category: 'access',
    isRetryable: false,
    isMessagePublic: false,
    description: 'The key is missing, malformed, unknown, revoked or expired: one answer for all.',
    message: 'the API key is missing or not valid; send Authorization: Bearer <API key>',
  },
  insufficient_balance: {
    status: 402,
    errorCode: 'INSUFFICIENT_BALANCE',
    openAiType: 'insufficient_quota',
    openAiCode: 'insufficient_quota',
    rpcCode: SERVER_ERROR,
    category: 'balance',
    isRetryable: false,
    isMessagePublic: true,
    description: 'The available balance, or what the key may still spend, does not cover the worst-case cost.',
    message:
      'the request can cost up to 0.06 USD and 0.01 USD is available; reduce the request, wait until running tasks release their holds (GET /v1/account), or contact the operator of this service to add to the balance',
  },
  forbidden: {
    status: 403,
    errorCode: 'FORBIDDEN',
    openAiType: 'permission_error',
    openAiCode: 'permission_denied',
    rpcCode: SERVER_ERROR,
    category: 'access',
    isRetryable: false,
    isMessagePublic: true,
    description: 'The key may not do this.',
    message: 'this key lacks the scope tasks:write',
  },
  account_suspended: {
    status: 403,
    errorCode: 'ACCOUNT_SUSPENDED',
    openAiType: 'permission_error',
    openAiCode: 'account_suspended',
    rpcCode: SERVER_ERROR,
    category: 'access',
    isRetryable: false,
    isMessagePublic: false,
    description: 'The account is suspended.',
    message: 'this account is suspended',
  },
  url_expired: {
    status: 403,
    errorCode: 'URL_EXPIRED',
    openAiType: 'permission_error',
    openAiCode: null,
    rpcCode: SERVER_ERROR,
    category: 'access',
    isRetryable: false,
    isMessagePublic: true,
    description: 'The time of the URL has passed.',
    message: 'this download URL has expired; GET /v1/tasks/<id> gives a fresh one',
  },
  not_found: {
    status: 404,
    errorCode: 'NOT_FOUND',
    openAiType: 'not_found_error',
    openAiCode: 'not_found',
    rpcCode: SERVER_ERROR,
    category: 'request',
    isRetryable: false,
    isMessagePublic: false,
    description: "Unknown, or another account's: the same answer.",
    message: 'not found',
  },
  method_not_allowed: {
    ...CALLER_MISTAKE,
    status: 405,
    errorCode: 'METHOD_NOT_ALLOWED',
    openAiCode: 'method_not_allowed',
    rpcCode: SERVER_ERROR,
    description: 'The path does not take this method.',
    message: 'this path does not take this method; see the Allow header',
  },
  response_in_progress: {
    ...CALLER_MISTAKE,
    status: 409,
    errorCode: 'RESPONSE_IN_PROGRESS',
    openAiCode: 'response_in_progress',
    rpcCode: SERVER_ERROR,
    isRetryable: true,
    retryAfterSeconds: 2,
    description: 'The response is still being made.',
    message: 'the response resp_01M7Z0GCVXTPAJ0W4R12P3FJ4M is still in progress',
  },
  task_pruned: {
    ...CALLER_MISTAKE,
    status: 410,
    errorCode: 'TASK_PRUNED',
    openAiType: 'not_found_error',
    openAiCode: 'task_pruned',
    rpcCode: SERVER_ERROR,
    description:
      'The task ended longer ago than tasks are retained. The message states when it was created, ended and removed.',
    message:
      'the task was created at 2026-01-02T03:04:05Z, ended at 2026-01-02T03:04:17Z and was removed at 2026-07-01T00:10:00Z, because tasks are retained for a limited time',
  },
  payload_too_large: {
    ...CALLER_MISTAKE,
    status: 413,
    errorCode: 'PAYLOAD_TOO_LARGE',
    openAiCode: 'payload_too_large',
    rpcCode: SERVER_ERROR,
    description: 'The body is too large.',
    message: 'the body is larger than 256000 bytes',
  },
  unsupported_media_type: {
    ...CALLER_MISTAKE,
    status: 415,
    errorCode: 'UNSUPPORTED_MEDIA_TYPE',
    openAiCode: 'unsupported_media_type',
    rpcCode: SERVER_ERROR,
    description: 'The body is not of a type that is taken here.',
    message: 'send the body as Content-Type: application/json, in UTF-8 and not compressed',
  },
  idempotency_key_mismatch: {
    ...CALLER_MISTAKE,
    status: 422,
    errorCode: 'IDEMPOTENCY_KEY_MISMATCH',
    openAiCode: 'idempotency_key_mismatch',
    rpcCode: SERVER_ERROR,
    description: 'The same `Idempotency-Key` came with another body before.',
    message: 'this Idempotency-Key was used with a different request body; use a new key for a new request',
  },
  rate_limited: {
    status: 429,
    errorCode: 'RATE_LIMITED',
    openAiType: 'rate_limit_error',
    openAiCode: 'rate_limit_exceeded',
    rpcCode: SERVER_ERROR,
    category: 'service',
    isRetryable: true,
    retryAfterSeconds: 2,
    isMessagePublic: true,
    description: 'Too many requests, or too much in waiting already.',
    message: 'too many requests; slow down, and retry after the time in Retry-After',
  },
  internal: { ...FAULT, description: 'A fault of ours.' },
  /** The configuration of the service is wrong. The message is for its operator. */
  configuration_invalid: {
    ...FAULT,
    isRetryable: false,
    description: 'The configuration is invalid; fix the configuration before restarting.',
  },
  /** Something outside the configuration needs the operator. The message states what to do. */
  operator_action_required: {
    ...FAULT,
    isRetryable: false,
    description: 'An operator of the service has to act first.',
  },
  unavailable: {
    status: 503,
    errorCode: 'SERVICE_UNAVAILABLE',
    openAiType: 'server_error',
    openAiCode: null,
    rpcCode: SERVER_ERROR,
    category: 'service',
    isRetryable: true,
    retryAfterSeconds: 2,
    isMessagePublic: false,
    description: 'A dependency is temporarily unavailable.',
    message: 'the service is not available at this moment; retry with the same Idempotency-Key',
  },
} as const satisfies Readonly<Record<string, ErrorKindFacts>>;

/** The kind of an error. */
export type ErrorKind = keyof typeof ERROR_KINDS;

/** `error_code` of the envelope. */
export type ErrorCode = (typeof ERROR_KINDS)[ErrorKind]['errorCode'];

/** The table's row for a kind, including the members that only some rows have. */
export function factsOf(kind: ErrorKind): ErrorKindFacts & { readonly errorCode: ErrorCode } {
  return ERROR_KINDS[kind];
}

const KINDS = Object.keys(ERROR_KINDS) as readonly ErrorKind[];

/**
 * The kind of an error response, as a client sees it. Responses of intermediate proxies have no code; they are
 * classified by their status.
 *
 * @param errorCode `error_code` of the envelope; empty if the response has none.
 */
export function kindOfResponse(status: number, errorCode: string): ErrorKind {
  // On the text endpoints an invalid key yields OpenAI's code as `error_code` (spec §4.4.5).
  if (status === 401) return 'unauthenticated';
  const named = KINDS.filter((kind) => ERROR_KINDS[kind].errorCode === errorCode);
  const ofStatus = (named.length > 0 ? named : KINDS).find((kind) => ERROR_KINDS[kind].status === status);
  return ofStatus ?? named[0] ?? (status >= 500 ? 'unavailable' : 'invalid_request');
}
