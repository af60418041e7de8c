/**
 * One HTTP exchange with a provider: JSON out, JSON back, bounded in size and time, no redirects, no proxy from the
 * environment. It answers the question that everything else hangs on: was anything sent?
 *
 * undici calls `onRequestStart` after the connection stands and before it writes the first byte. An exchange that
 * ended before that call has certainly sent nothing, whatever the error was; no list of error codes is needed.
 * The base addresses come from the operator's model definitions, so they may be private; addresses that a provider
 * names (results) are fetched elsewhere, by the guarded client.
 */
import { Agent } from 'undici';
import type { Dispatcher } from 'undici';
import { parseRetryAfterMs } from '../domain/retry-after.ts';

/** 10 min: no provider can park a task for longer than a task may live. */
const MAX_RETRY_AFTER_MS = 600_000;

/** What is sent, and within which bounds. */
export interface ExchangeRequest {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly signal: AbortSignal;
  /** For the whole exchange, connecting included; undefined leaves it to the signal. */
  readonly timeoutMs: number | undefined;
  readonly maxBytes: number;
  /** Whether to open a connection for this exchange alone: a pooled one may turn out dead only after we wrote to it. */
  readonly onFreshConnection: boolean;
}

/** What came back. A body that is no JSON, too long or cut off leaves `json` undefined and says why in `bodyFault`. */
export interface ExchangeAnswer {
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  readonly json: unknown;
  readonly bodyFault?: string;
}

/** No status arrived. */
export class ExchangeLost extends Error {
  override readonly name = 'ExchangeLost';
  /** False: the provider certainly received nothing. */
  readonly wasSent: boolean;
  /** `TIMEOUT`, `ABORTED`, or the code of Node or undici. */
  readonly code: string;

  constructor(wasSent: boolean, code: string) {
    super(`no answer (${code})`);
    this.wasSent = wasSent;
    this.code = code;
  }
}

/** Sends one request and reads its answer. */
export type HttpExchange = (request: ExchangeRequest) => Promise<ExchangeAnswer>;

/** 10 s to connect: a provider that takes longer is down, and saying so early lets another route take the work. */
const CONNECT_TIMEOUT_MS = 10_000;

/** Makes an exchange with its own connections. Idle ones do not keep the process alive. */
export function createHttpExchange(): HttpExchange {
  // Our own clock bounds the exchange; undici's idle time-outs would cut a synchronous generation at 5 min.
  const shared = { connect: { timeout: CONNECT_TIMEOUT_MS }, headersTimeout: 0, bodyTimeout: 0 };
  const pooled = new Agent(shared);
  const fresh = new Agent({ ...shared, pipelining: 0 });
  return (request) => exchange(request.onFreshConnection ? fresh : pooled, request);
}

function exchange(agent: Agent, request: ExchangeRequest): Promise<ExchangeAnswer> {
  return new Promise((resolve, reject) => {
    let wasSent = false;
    let isOver = false;
    let controller: Dispatcher.DispatchController | undefined;
    let status: number | undefined;
    let retryAfterMs: number | undefined;
    const chunks: Buffer[] = [];
    let receivedBytes = 0;

    const finish = (fault?: string): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      request.signal.removeEventListener('abort', onAbort);
      if (fault !== undefined) controller?.abort(new Error(fault));
      if (status === undefined) reject(new ExchangeLost(wasSent, fault ?? 'NO_STATUS'));
      else resolve({ status, retryAfterMs, ...(fault === undefined ? parse(chunks) : unread(fault)) });
    };
    const onAbort = (): void => finish('ABORTED');
    const timer = request.timeoutMs === undefined ? undefined : setTimeout(() => finish('TIMEOUT'), request.timeoutMs);
    if (request.signal.aborted) return finish('ABORTED');
    request.signal.addEventListener('abort', onAbort);

    const options: Dispatcher.DispatchOptions = {
      origin: request.url.origin,
      path: request.url.pathname + request.url.search,
      method: request.method,
      headers: { ...request.headers, accept: 'application/json', 'accept-encoding': 'identity' },
      body: request.body === undefined ? null : JSON.stringify(request.body),
    };
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(started) {
        // Aborting here keeps the first byte from being written: an exchange given up while connecting sent nothing.
        if (isOver) return started.abort(new Error('ABORTED'));
        controller = started;
        wasSent = true;
      },
      onResponseStart(_controller, statusCode, headers) {
        if (statusCode < 200) return;
        status = statusCode;
        retryAfterMs = parseRetryAfterMs(headers['retry-after'], Date.now(), MAX_RETRY_AFTER_MS);
      },
      onResponseData(_controller, chunk) {
        receivedBytes += chunk.length;
        if (receivedBytes > request.maxBytes) finish('BODY_TOO_LARGE');
        else chunks.push(chunk);
      },
      onResponseEnd: () => finish(),
      onResponseError: (_controller, error) => finish(codeOf(error)),
    };
    try {
      agent.dispatch(options, handler);
    } catch (error) {
      finish(codeOf(error));
    }
  });
}

function parse(chunks: readonly Buffer[]): Pick<ExchangeAnswer, 'json' | 'bodyFault'> {
  try {
    return { json: JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown };
  } catch {
    return unread('NOT_JSON');
  }
}

function unread(bodyFault: string): Pick<ExchangeAnswer, 'json' | 'bodyFault'> {
  return { json: undefined, bodyFault };
}

/** The code of an error of Node or undici; its message may hold an address and is dropped. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z0-9_]{1,64}$/.test(code) ? code : 'FAILED';
}
