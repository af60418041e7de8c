/**
 * Waits when the service requests it: a response of 429 or 503 states when to retry (`Retry-After`), and the client
 * does so, within limits and with a message. A request without an answer times out.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { UnreachableError, isRetryRequested } from '@darkroom/api/client/api-client';
import type { ApiClient, RequestOptions } from '@darkroom/api/client/api-client';

/** If the answer does not state how long. */
const DEFAULT_WAIT_SECONDS = 2;
/**
 * The longest total wait of one request: two of the service's rate windows. If more is requested, the error is
 * reported.
 */
const LONGEST_WAIT_SECONDS = 120;
/** The time limit of a request, in milliseconds: longer than any response takes. A long poll takes 30 s at most. */
const ANSWER_TIMEOUT_MS = 60_000;
/** An upload is answered when it is complete: as long as the service allows it to take. */
const UPLOAD_TIMEOUT_MS = 3_600_000;

export interface RetryOptions {
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
}

/** The same client, waiting and retrying when the service requests it. */
export function createRetryingClient(client: ApiClient, { signal, say }: RetryOptions): ApiClient {
  /** The last message, which is not repeated while nothing else happens. */
  let lastMessage = '';

  const eitherSignal = (options: RequestOptions): AbortSignal =>
    options.signal === undefined ? signal : AbortSignal.any([signal, options.signal]);

  /** Retries one request until it succeeds or fails for another reason. */
  async function withRetries<Answer>(attempt: () => Promise<Answer>): Promise<Answer> {
    let waited = 0;
    for (;;) {
      try {
        const answer = await attempt();
        lastMessage = '';
        return answer;
      } catch (error) {
        if (!isRetryRequested(error)) throw error;
        const { message, status, retryAfterSeconds = DEFAULT_WAIT_SECONDS } = error;
        const seconds = Math.max(1, retryAfterSeconds);
        if (waited + seconds > LONGEST_WAIT_SECONDS) throw error;
        if (message !== lastMessage) say(`${message} (${status}); retrying in ${seconds} s`);
        lastMessage = message;
        await sleep(seconds * 1000, undefined, { signal });
        waited += seconds;
      }
    }
  }

  return {
    baseUrl: client.baseUrl,
    call: <Data>(method: string, path: string, options: RequestOptions = {}) =>
      withRetries(async () => {
        const timeout = AbortSignal.timeout(options.body instanceof Blob ? UPLOAD_TIMEOUT_MS : ANSWER_TIMEOUT_MS);
        const signals = [signal, timeout, ...(options.signal === undefined ? [] : [options.signal])];
        try {
          return await client.call<Data>(method, path, { ...options, signal: AbortSignal.any(signals) });
        } catch (error) {
          if (!timeout.aborted || signal.aborted || options.signal?.aborted === true) throw error;
          const { origin } = new URL(client.baseUrl);
          throw new UnreachableError(`${origin} does not respond in time`, { cause: error });
        }
      }),
    async *events(method, path, options = {}) {
      const signals = [signal, ...(options.signal === undefined ? [] : [options.signal])];
      // Only opening the stream is retried; if it breaks off later, the reader resumes it.
      const { events, first } = await withRetries(async () => {
        const opened = client.events(method, path, { ...options, signal: AbortSignal.any(signals) });
        return { events: opened, first: await opened.next() };
      });
      if (first.done === true) return;
      try {
        yield first.value;
        yield* events;
      } finally {
        await events.return(undefined);
      }
    },
    get: (path, options = {}) => withRetries(() => client.get(path, { ...options, signal: eitherSignal(options) })),
    fetch: (url, options = {}) => withRetries(() => client.fetch(url, { ...options, signal: eitherSignal(options) })),
  };
}
