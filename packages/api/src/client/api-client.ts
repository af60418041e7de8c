/**
 * Darkroom's HTTP API as a program uses it: `fetch`, the envelope, typed errors, and event streams. The command line
 * and the MCP tools are built on it; it depends on neither.
 */
import { factsOf, kindOfResponse } from '../facts/error-kinds.ts';
import type { ErrorKind } from '../facts/error-kinds.ts';
import { readEvents } from './event-stream.ts';
import type { ServerSentEvent } from './event-stream.ts';
import type { Violation } from '../facts/violation.ts';
import type { Failure } from '../tasks/envelope.ts';

export interface ApiClientOptions {
  /** Paths are relative to it; it ends in `/v1`. */
  readonly baseUrl: string;
  /** Visible ASCII characters. Sent as `Authorization`; undefined: the given `fetch` takes care of it. */
  readonly apiKey?: string;
  /** Default: the platform's. */
  readonly fetch?: typeof globalThis.fetch;
}

/** How a request differs from the default. */
export interface RequestOptions {
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
  /** Sent as JSON; a `Blob` and a form are sent as they are. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** The service rejected the request, with its own message. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** The HTTP status. */
  readonly status: number;
  readonly kind: ErrorKind;
  /** `error_code` of the envelope; the empty string if the answer had none. */
  readonly errorCode: string;
  /** Undefined if the answer does not contain it. */
  readonly retryAfterSeconds: number | undefined;
  readonly requestId: string | undefined;
  /** Whether the answer says that the same request cannot succeed later, as that of a task that has failed does. */
  readonly isFinal: boolean;
  /** What is wrong with the request, where its field is known. */
  readonly violations: readonly Violation[];

  constructor(response: Response, message: string, errorCode: string, violations: readonly Violation[] = []) {
    super(message);
    this.status = response.status;
    this.errorCode = errorCode;
    this.violations = violations;
    this.kind = kindOfResponse(response.status, errorCode);
    this.retryAfterSeconds = secondsUntil(response.headers.get('Retry-After'));
    this.requestId = response.headers.get('X-Request-Id') ?? undefined;
    this.isFinal = response.headers.get('X-Should-Retry') === 'false';
  }
}

/** The error for a response that need not be requested, because its kind is known. */
export function apiErrorOf(kind: ErrorKind, message = factsOf(kind).message): ApiError {
  const { status, errorCode } = factsOf(kind);
  return new ApiError(new Response(null, { status }), message, errorCode);
}

/** No complete response was received: the URL is wrong, nothing listens there, or the connection broke. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

/** Whether the same request can succeed later; for a response, the table of kinds decides. */
export function isRetryable(error: unknown): boolean {
  return error instanceof UnreachableError || (error instanceof ApiError && factsOf(error.kind).isRetryable);
}

/**
 * Whether the service requests that the same request be sent later. Not a 502 or 504 of a gateway: it is as retryable
 * as a 503, but none of them requests a retry.
 */
export function isRetryRequested(error: unknown): error is ApiError {
  if (!(error instanceof ApiError)) return false;
  const { status, retryAfterSeconds } = factsOf(error.kind);
  return error.status === status && retryAfterSeconds !== undefined;
}

/** Whether the request may have been carried out although it failed: it is sent again only if that does no harm. */
export function isOutcomeUnknown(error: unknown): error is ApiError | UnreachableError {
  return error instanceof UnreachableError || (error instanceof ApiError && factsOf(error.kind).status >= 500);
}

export interface ApiClient {
  readonly baseUrl: string;
  /**
   * Returns the content of an answer: `data` of the envelope, or the bare answer of a route without an envelope.
   *
   * @param path below the base URL: `/tasks`.
   * @throws {ApiError} @throws {UnreachableError}
   */
  call<Data>(method: string, path: string, options?: RequestOptions): Promise<Data>;
  /** The same for an answer that is a stream of events. @throws as `call`, also while the stream is read. */
  events(method: string, path: string, options?: RequestOptions): AsyncGenerator<ServerSentEvent>;
  /** The response itself, for a path that answers with bytes. @throws as `call`. */
  get(path: string, options?: RequestOptions): Promise<Response>;
  /** The response itself, for any address: a download. @throws as `call`. */
  fetch(url: string, options?: RequestOptions & { readonly method?: string }): Promise<Response>;
}

/** @throws {TypeError} the key is malformed; the message does not contain it, as that of `fetch` would. */
export function createApiClient({ baseUrl, apiKey, fetch = globalThis.fetch }: ApiClientOptions): ApiClient {
  const base = baseUrl.replace(/\/+$/, '');
  if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new TypeError('the API key contains invalid characters');
  }

  async function request(url: string, method: string, options: RequestOptions, isOurs: boolean): Promise<Response> {
    if (isOurs && leadsElsewhere(url)) throw apiErrorOf('not_found');
    const { body, headers = {}, signal } = options;
    const isJson = body !== undefined && !(body instanceof Blob) && !(body instanceof FormData);
    const sent = isJson ? JSON.stringify(body) : body;
    let response: Response;
    try {
      response = await fetch(withQuery(url, options.query), {
        method,
        headers: {
          // An address that was given to us may belong to a third party.
          ...(apiKey === undefined || !isOurs ? {} : { Authorization: `Bearer ${apiKey}` }),
          ...(isJson ? { 'Content-Type': 'application/json' } : {}),
          ...headers,
        },
        ...(sent === undefined ? {} : { body: sent }),
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (error) {
      if (signal?.aborted === true) throw error;
      throw new UnreachableError(`${new URL(url).origin} is not responding: ${reasonOf(error)}`, { cause: error });
    }
    if (!response.ok) throw await toApiError(response);
    return response;
  }

  return {
    baseUrl: base,
    async call<Data>(method: string, path: string, options: RequestOptions = {}): Promise<Data> {
      const response = await request(base + path, method, options, true);
      const answer = await readJson<{ readonly data?: Data; readonly error_code?: string }>(
        response,
        new URL(base).origin,
        options.signal,
      );
      return (answer.error_code === undefined ? answer : answer.data) as Data;
    },
    async *events(method, path, options = {}) {
      const headers = { Accept: 'text/event-stream', ...options.headers };
      const response = await request(base + path, method, { ...options, headers }, true);
      if (response.body === null) return;
      try {
        yield* readEvents(response.body);
      } catch (error) {
        if (options.signal?.aborted === true) throw error;
        throw new UnreachableError(`${new URL(base).origin} closed the connection: ${reasonOf(error)}`, {
          cause: error,
        });
      }
    },
    get: (path, options = {}) => request(base + path, 'GET', options, true),
    fetch: (url, { method = 'GET', ...options } = {}) => request(url, method, options, false),
  };
}

/** The reason of a failed `fetch` is in its cause, and if several addresses were tried only in the cause's code. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (!(cause instanceof Error)) return String(cause);
  return cause.message || ('code' in cause ? String(cause.code) : cause.name);
}

/** @throws {UnreachableError} the answer broke off, or is not from this API: another service listens there. */
async function readJson<Answer>(response: Response, origin: string, signal: AbortSignal | undefined): Promise<Answer> {
  let text: string;
  try {
    text = await response.text();
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new UnreachableError(`${origin} closed the connection: ${reasonOf(error)}`, { cause: error });
  }
  try {
    const answer = JSON.parse(text) as Answer | null;
    if (typeof answer === 'object' && answer !== null) return answer;
  } catch {
    // Reported below.
  }
  throw new UnreachableError(`${origin} did not return a Darkroom API response; check that the base URL ends in /v1`);
}

/** `Retry-After` in either of its forms: seconds, or a date. */
function secondsUntil(header: string | null): number | undefined {
  if (header === null) return undefined;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, Math.ceil(seconds));
}

/** Names are parts of paths, and one that is `..` would change the path: nothing has such a name. */
function leadsElsewhere(url: string): boolean {
  const [path = ''] = url.split(/[?#]/, 1);
  return path.split('/').some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment));
}

function withQuery(url: string, query: RequestOptions['query'] = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    search.set(name, Array.isArray(value) ? value.join(',') : String(value));
  }
  return search.size === 0 ? url : `${url}?${search.toString()}`;
}

/** All errors of the API have the envelope; the answer of a proxy in between is reported as it is, shortened. */
async function toApiError(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => '');
  try {
    const { message, error_code: errorCode, violations } = JSON.parse(text) as Partial<Failure>;
    if (typeof message === 'string') {
      const code = typeof errorCode === 'string' ? errorCode : '';
      return new ApiError(response, message, code, Array.isArray(violations) ? violations : []);
    }
  } catch {
    // Not an answer of this API.
  }
  return new ApiError(response, `HTTP ${response.status}: ${text.slice(0, 200)}`.trim(), '');
}

/** The path of a model: slashes in its name are not encoded. */
export function modelPath(name: string): string {
  return `/models/${name.split('/').map(encodeURIComponent).join('/')}`;
}
