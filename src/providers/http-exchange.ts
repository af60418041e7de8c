/**
 * One HTTP exchange with a provider: JSON request, JSON response, bounded in size and time, no redirects, no proxy
 * from the environment. It answers the question on which everything else depends: was anything sent?
 *
 * undici calls `onRequestStart` after the connection is established and before it writes the first byte. An exchange
 * that ended before that call has certainly sent nothing, whatever the error was; no list of error codes is needed.
 * The base addresses come from the operator's model definitions, so they may be private; addresses that a provider
 * returns (results) are fetched elsewhere, by the guarded client.
 */
import { Readable } from 'node:stream';
import { Agent } from 'undici';
import type { Dispatcher } from 'undici';
import { CollectedBytes } from '../domain/collected-bytes.ts';
import type { JsonScanner } from '../domain/json-scanner.ts';
import { JsonBoundsError, UPSTREAM_JSON_BOUNDS, createJsonScanner } from '../domain/json-scanner.ts';
import { parseRetryAfterMs } from '../domain/retry-after.ts';
import { connectorOf } from '../egress/end-when-read.ts';

/** 10 min: no provider can delay a task for longer than a task may live. */
const MAX_RETRY_AFTER_MS = 600_000;

/** The request to send, and its limits. */
export interface ExchangeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent instead, unchanged; its type is in the headers. A stream is destroyed if it is not sent to its end. */
  readonly content?: { readonly body: Buffer | Readable; readonly byteLength: number };
  readonly signal: AbortSignal;
  /** For the whole exchange, connecting included; undefined leaves it to the signal. */
  readonly timeoutMs: number | undefined;
  readonly maxBytes: number;
  /** Whether to open a connection for this exchange alone: a pooled one may turn out dead only after we wrote to it. */
  readonly onFreshConnection: boolean;
  /** Set if success returns a file and not JSON: then `file` holds it. */
  readonly bringsFile?: boolean;
}

/** The response. If the body is not JSON, too long or cut off, `json` is undefined and `bodyFault` has the reason. */
export interface ExchangeAnswer {
  readonly status: number;
  /** The value of `Retry-After`; at most 10 min. */
  readonly retryAfterMs: number | undefined;
  readonly json: unknown;
  /** The body of a successful response that should be a file, if it is one: text and JSON are not. */
  readonly file?: Buffer;
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

/** Sends one request and reads its response. */
export type HttpExchange = (request: ExchangeRequest) => Promise<ExchangeAnswer>;

/** 10 s to connect: a provider that takes longer is down, and failing early lets another route take the work. */
const CONNECT_TIMEOUT_MS = 10_000;

/** Creates an exchange with its own connections. Idle ones do not keep the process alive. */
export function createHttpExchange(): HttpExchange {
  // Our own timer bounds the exchange; undici's idle timeouts would cut off a synchronous generation at 5 min.
  const shared = { connect: connectorOf(CONNECT_TIMEOUT_MS), headersTimeout: 0, bodyTimeout: 0 };
  const pooled = new Agent(shared);
  const fresh = new Agent({ ...shared, pipelining: 0 });
  return (request) => exchange(request.onFreshConnection ? fresh : pooled, request);
}

function exchange(agent: Agent, request: ExchangeRequest): Promise<ExchangeAnswer> {
  return new Promise((resolve, reject) => {
    const content = request.content?.body;
    let isBegun = false;
    // A server cannot have accepted a request that it did not receive completely.
    let isRead = !(content instanceof Readable);
    if (content instanceof Readable) content.once('end', () => (isRead = true));
    let isOver = false;
    let controller: Dispatcher.DispatchController | undefined;
    let status: number | undefined;
    let retryAfterMs: number | undefined;
    let isFile = false;
    const received = new CollectedBytes();
    const scanner = createJsonScanner(UPSTREAM_JSON_BOUNDS);

    const finish = (fault?: string): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      request.signal.removeEventListener('abort', onAbort);
      if (fault !== undefined) {
        controller?.abort(new Error(fault));
        if (content instanceof Readable) content.destroy();
      }
      if (status === undefined) reject(new ExchangeLost(isBegun && isRead, fault ?? 'NO_STATUS'));
      else if (fault !== undefined) resolve({ status, retryAfterMs, ...unread(fault) });
      else if (isFile) resolve({ status, retryAfterMs, json: undefined, file: received.take() });
      else resolve({ status, retryAfterMs, ...parse(received.take()) });
    };
    const onAbort = (): void => finish('ABORTED');
    const timer = request.timeoutMs === undefined ? undefined : setTimeout(() => finish('TIMEOUT'), request.timeoutMs);
    if (request.signal.aborted) return finish('ABORTED');
    request.signal.addEventListener('abort', onAbort);

    const options: Dispatcher.DispatchOptions = {
      origin: request.url.origin,
      path: request.url.pathname + request.url.search,
      method: request.method,
      headers: {
        ...request.headers,
        accept: request.bringsFile === true ? '*/*' : 'application/json',
        'accept-encoding': 'identity',
        ...(request.content === undefined ? {} : { 'content-length': String(request.content.byteLength) }),
      },
      body: content ?? (request.body === undefined ? null : JSON.stringify(request.body)),
    };
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(started) {
        // Aborting here prevents the first byte from being written: an exchange aborted while connecting sent nothing.
        if (isOver) return started.abort(new Error('ABORTED'));
        controller = started;
        isBegun = true;
      },
      onResponseStart(_controller, statusCode, headers) {
        if (statusCode < 200) return;
        status = statusCode;
        isFile = request.bringsFile === true && statusCode < 300 && !isText(headers['content-type']);
        retryAfterMs = parseRetryAfterMs(headers['retry-after'], Date.now(), MAX_RETRY_AFTER_MS);
        if (Number(headers['content-length'] ?? 0) > request.maxBytes) return finish('BODY_TOO_LARGE');
      },
      onResponseData(_controller, chunk) {
        if (received.length + chunk.length > request.maxBytes) return finish('BODY_TOO_LARGE');
        received.push(chunk);
        // Checked chunk by chunk: parsing at the end takes time in proportion to the number of values, and blocks
        // everything else.
        if (!isFile && !isWithinBounds(scanner, chunk)) finish('JSON_TOO_LARGE');
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

/** If success is a file, text or JSON is something else, from a gateway or an error handler. */
function isText(contentType: string | readonly string[] | undefined): boolean {
  return /^\s*(text\/|application\/(problem\+)?json)/i.test(String(contentType ?? ''));
}

function isWithinBounds(scanner: JsonScanner, chunk: Buffer): boolean {
  try {
    scanner.push(chunk);
    return true;
  } catch (error) {
    if (error instanceof JsonBoundsError) return false;
    throw error;
  }
}

function parse(body: Buffer): Pick<ExchangeAnswer, 'json' | 'bodyFault'> {
  try {
    return { json: JSON.parse(body.toString('utf8')) as unknown };
  } catch {
    return unread('NOT_JSON');
  }
}

function unread(bodyFault: string): Pick<ExchangeAnswer, 'json' | 'bodyFault'> {
  return { json: undefined, bodyFault };
}

/** The code of an error of Node or undici; its message may contain an address and is dropped. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z0-9_]{1,64}$/.test(code) ? code : 'FAILED';
}
