/**
 * Requests to the API with the behaviour that people expect of an SDK: each attempt has a time limit, and what can
 * succeed later is sent again, after the time that the API asks for. Built on the typed client of `@darkroom/api`.
 */
import { ApiError as RejectedResponse, createApiClient, isRetryable } from '@darkroom/api/client/api-client';
import type { ApiClient, RequestOptions } from '@darkroom/api/client/api-client';
import { ApiError, ConnectionError, TimeoutError, toSdkError } from './errors.ts';
import type { CallOptions } from './options.ts';

export interface RequesterOptions {
  /** The base URL of the API, which ends in `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string | (() => string | Promise<string>);
  readonly timeoutMs: number;
  readonly maxRetries: number;
  readonly fetch: typeof globalThis.fetch;
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8_000;
/** If the API asks for a longer wait, the caller gets the error with `retryAfterSeconds`. */
const LONGEST_REQUESTED_WAIT_MS = 60_000;
/** A timer takes no more. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

export class Requester {
  readonly maxRetries: number;
  readonly #client: ApiClient;
  readonly #timeoutMs: number;

  constructor({ baseUrl, apiKey, timeoutMs, maxRetries, fetch: send }: RequesterOptions) {
    this.maxRetries = maxRetries;
    this.#timeoutMs = timeoutMs;
    this.#client = createApiClient({
      baseUrl,
      async fetch(url, init) {
        // A download may be at another address, which is none of the key's business.
        if (typeof url !== 'string' || !url.startsWith(`${baseUrl}/`)) return send(url, init);
        const key = typeof apiKey === 'string' ? apiKey : await apiKey();
        const headers = new Headers(init?.headers);
        headers.set('Authorization', `Bearer ${requireVisible(key)}`);
        return send(url, { ...init, headers });
      },
    });
  }

  /** Returns the data of a response. @throws {ApiError} @throws {ConnectionError} */
  call<Data>(method: string, path: string, request: RequestOptions, options: CallOptions): Promise<Data> {
    return this.retry(options, (signal) => this.#client.call<Data>(method, path, { ...request, signal }));
  }

  /** Yields what a list in the form of OpenAI's API has, page by page. @throws as `call`. */
  async *listed<Item extends { readonly id: string }>(
    path: string,
    query: RequestOptions['query'],
    options: CallOptions,
  ): AsyncGenerator<Item, void> {
    for (let after: string | undefined; ;) {
      const page = await this.call<Page<Item>>('GET', path, { query: { ...query, after } }, options);
      yield* page.data;
      after = page.data.at(-1)?.id;
      if (!page.has_more || after === undefined) return;
    }
  }

  /** Opens a response of the API, once; the time limit is for its headers alone. @throws as `call`. */
  open(path: string, request: RequestOptions, options: CallOptions): Promise<Response> {
    return this.retry({ ...options, maxRetries: 0 }, (signal) => this.#client.get(path, { ...request, signal }));
  }

  /** Sends a request whose response is not JSON of our own. @throws as `call`. */
  send(method: string, path: string, request: RequestOptions, options: CallOptions): Promise<Response> {
    const { baseUrl } = this.#client;
    return this.retry(options, (signal) => this.#client.fetch(baseUrl + path, { ...request, method, signal }));
  }

  /** The same for any address, without the key. @throws as `call`. */
  download(url: string, options: CallOptions): Promise<Response> {
    return this.retry(options, (signal) => this.#client.fetch(url, { signal }));
  }

  /** Attempts something until it succeeds, cannot succeed, or the retries are used up. */
  async retry<Result>(options: CallOptions, attempt: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const { signal, timeoutMs = this.#timeoutMs, maxRetries = this.maxRetries } = options;
    for (let retries = 0; ; retries++) {
      signal?.throwIfAborted();
      const limit = new AbortController();
      const timer = setTimeout(() => limit.abort(), Math.min(timeoutMs, LONGEST_TIMEOUT_MS));
      try {
        return await attempt(signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal]));
      } catch (error) {
        signal?.throwIfAborted();
        const failure = limit.signal.aborted ? timedOut(timeoutMs, error) : toSdkError(error);
        const waitMs = waitBefore(retries, failure);
        if (retries >= maxRetries || waitMs === undefined) throw failure;
        await pause(waitMs, signal);
      } finally {
        // A body that is still to be read is not limited any more: a download may take long.
        clearTimeout(timer);
      }
    }
  }
}

interface Page<Item> {
  readonly data: readonly Item[];
  readonly has_more: boolean;
}

function timedOut(timeoutMs: number, cause: unknown): TimeoutError {
  return new TimeoutError(`there was no response within ${timeoutMs} ms`, { cause });
}

/** How long to wait before the next attempt, in milliseconds; undefined: it would not succeed. */
export function waitBefore(retries: number, failure: unknown): number | undefined {
  if (!(failure instanceof ConnectionError) && !(failure instanceof ApiError && canSucceedLater(failure.cause))) {
    return undefined;
  }
  // Half of it is random: clients that failed together do not come back together.
  const backoffMs = Math.min(FIRST_WAIT_MS * 2 ** retries, LONGEST_WAIT_MS) * (0.5 + Math.random() / 2);
  const requestedMs = failure instanceof ApiError ? (failure.retryAfterSeconds ?? 0) * 1000 : 0;
  return requestedMs > LONGEST_REQUESTED_WAIT_MS ? undefined : Math.max(backoffMs, requestedMs);
}

function canSucceedLater(rejected: unknown): boolean {
  return isRetryable(rejected) && !(rejected instanceof RejectedResponse && rejected.isFinal);
}

/** @throws the signal's reason. */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve) => {
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end, { once: true });
    function end(): void {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    }
  });
  signal?.throwIfAborted();
}

/** @throws {TypeError} the key is malformed; the message does not contain it, as that of `fetch` would. */
function requireVisible(key: unknown): string {
  if (typeof key !== 'string' || key === '') throw new TypeError('apiKey is missing: pass an API key of the service');
  for (const character of key) {
    if (character < '!' || character > '~') throw new TypeError('apiKey contains invalid characters');
  }
  return key;
}
