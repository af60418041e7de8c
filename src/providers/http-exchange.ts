/**
 * One exchange with a provider of media: JSON or a file in, JSON or a file out, read to its end and bounded in size and
 * time.
 */
import { Readable } from 'node:stream';
import { CollectedBytes } from '../domain/collected-bytes.ts';
import type { JsonScanner } from '../domain/json-scanner.ts';
import { JsonBoundsError, UPSTREAM_JSON_BOUNDS, createJsonScanner } from '../domain/json-scanner.ts';
import { parseRetryAfterMs } from '../domain/retry-after.ts';
import { createExchanges } from '../upstreams/exchange.ts';
import type { StartExchange } from '../upstreams/exchange.ts';

/** The longest delay that a provider can request, in milliseconds: 10 min, no longer than a task may last. */
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
  /** The time limit of the whole exchange including the connection; undefined: only the signal limits it. */
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

/** The exchange failed before a status arrived. */
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

/** Creates an exchange with its own connections. Idle ones do not keep the process alive. */
export function createHttpExchange(): HttpExchange {
  const { start } = createExchanges();
  return (request) => exchange(start, request);
}

function exchange(start: StartExchange, request: ExchangeRequest): Promise<ExchangeAnswer> {
  return new Promise((resolve, reject) => {
    if (request.signal.aborted) {
      if (request.content?.body instanceof Readable) request.content.body.destroy();
      return reject(new ExchangeLost(false, 'ABORTED'));
    }
    let isOver = false;
    let status: number | undefined;
    let retryAfterMs: number | undefined;
    let isFile = false;
    const received = new CollectedBytes();
    const scanner = createJsonScanner(UPSTREAM_JSON_BOUNDS);

    /** @returns false: it was over before. */
    const end = (): boolean => {
      if (isOver) return false;
      isOver = true;
      clearTimeout(timer);
      request.signal.removeEventListener('abort', onAbort);
      return true;
    };
    const settle = (fault: string | undefined, wasSent: boolean): void => {
      if (status === undefined) reject(new ExchangeLost(wasSent, fault ?? 'NO_STATUS'));
      else if (fault !== undefined) resolve({ status, retryAfterMs, ...unread(fault) });
      else if (isFile) resolve({ status, retryAfterMs, json: undefined, file: received.take() });
      else resolve({ status, retryAfterMs, ...parse(received.take()) });
    };
    const stop = (fault: string): void => {
      if (end()) settle(fault, running.abort());
    };
    const onAbort = (): void => stop('ABORTED');
    const timer = request.timeoutMs === undefined ? undefined : setTimeout(() => stop('TIMEOUT'), request.timeoutMs);
    request.signal.addEventListener('abort', onAbort);

    const running = start(
      {
        origin: request.url.origin,
        path: request.url.pathname + request.url.search,
        method: request.method,
        headers: {
          ...request.headers,
          accept: request.bringsFile === true ? '*/*' : 'application/json',
          'accept-encoding': 'identity',
          ...(request.content === undefined ? {} : { 'content-length': String(request.content.byteLength) }),
        },
        body: request.content?.body ?? (request.body === undefined ? null : JSON.stringify(request.body)),
        onFreshConnection: request.onFreshConnection,
      },
      {
        head(statusCode, headers) {
          status = statusCode;
          isFile = request.bringsFile === true && statusCode < 300 && !isText(headers['content-type']);
          retryAfterMs = parseRetryAfterMs(headers['retry-after'], Date.now(), MAX_RETRY_AFTER_MS);
          if (Number(headers['content-length'] ?? 0) > request.maxBytes) stop('BODY_TOO_LARGE');
        },
        data(chunk) {
          if (received.length + chunk.length > request.maxBytes) return stop('BODY_TOO_LARGE');
          received.push(chunk);
          // Checked chunk by chunk: parsing at the end takes time in proportion to the number of values, and blocks
          // everything else.
          if (!isFile && !isWithinBounds(scanner, chunk)) stop('JSON_TOO_LARGE');
        },
        end() {
          if (end()) settle(undefined, true);
        },
        lost(code, wasSent) {
          if (end()) settle(code, wasSent);
        },
      },
    );
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
