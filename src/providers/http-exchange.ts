/**
 * One exchange with a provider of media: JSON or a file in, JSON or a file out, read to its end and bounded in size and
 * time.
 */
import { CollectedBytes } from '@darkroom/media/collected-bytes';
import { JsonBoundsError, UPSTREAM_JSON_BOUNDS, createJsonScanner } from '../domain/json-scanner.ts';
import { ThreadEndedError } from '../limits/timed-threads.ts';
import type { JsonScanner } from '../domain/json-scanner.ts';
import { createExchanges } from '../upstreams/exchange.ts';
import type { AnswerHeaders, StartExchange } from '../upstreams/exchange.ts';
import { retryAfterMsOfBody, retryAfterMsOfHeaders } from './answer-status.ts';
import type { AnswerThreads } from './answer-threads.ts';
import { createFileWriter } from './file-writer.ts';
import type { FileWriter, ReceivedFile } from './file-writer.ts';
import { parseAnswer } from './json-answer.ts';
import { discardBody } from './request-body.ts';
import type { RequestBody } from './request-body.ts';

/** The maximum size of a file that is the response itself, the same as of one that is downloaded. */
const MAX_FILE_BYTES = 2 * 1024 * 1024 * 1024;

/** The largest answer that is parsed on the event loop; it takes some milliseconds. Others are parsed in a thread. */
const INLINE_BYTES = 128_000;
const INLINE_VALUES = 5_000;

/** How much of a body that is declared as text is looked at: as much as browsers do (WHATWG MIME Sniffing). */
const SNIFFED_BYTES = 1445;

/** The request to send, and its limits. */
export interface ExchangeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: URL;
  /** The name of the upstream, in whose share of the threads a large answer is parsed; absent: answers are small. */
  readonly upstream?: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent unchanged. A stream is destroyed if it is not sent to its end. */
  readonly content?: RequestBody | undefined;
  readonly signal: AbortSignal;
  /** The time limit of the whole exchange including the connection; undefined: only the signal limits it. */
  readonly timeoutMs: number | undefined;
  readonly maxBytes: number;
  /** Whether to open a connection for this exchange alone: a pooled one may turn out dead only after we wrote to it. */
  readonly onFreshConnection: boolean;
  /** Set if success returns a file and not JSON: the path of the file to write it to. */
  readonly fileTo?: string | undefined;
  /** With `fileTo`: what the file has before the bytes of the response, by its type and its first bytes. */
  readonly fileHead?: ((contentType: string, beginning: Buffer) => Buffer | undefined) | undefined;
  /** With `fileTo`: receives the bytes of the file as they arrive. Must not throw. */
  readonly onFileBytes?: ((bytes: Buffer) => void) | undefined;
  /** Receives the response as it arrived, before it is read: `admin models try` shows it. */
  readonly onAnswer?: (answer: RawAnswer) => void;
}

/** A response as it arrived. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** As much as was read of it, in memory of its own; empty for a file. */
  readonly body: Buffer<ArrayBuffer>;
}

/** The response. If the body is not JSON, too long or cut off, `json` is undefined and `bodyFault` has the reason. */
export interface ExchangeAnswer {
  readonly status: number;
  /** How long the provider asks us to wait, by a header or by the JSON; at most 10 min. */
  readonly retryAfterMs: number | undefined;
  readonly json: unknown;
  /** The length of a body that was read and is no file; else 0. */
  readonly byteLength: number;
  /** The body of a successful response that should be a file, if it is one: text and JSON are none. */
  readonly file?: ReceivedFile;
  /** `REDIRECTED`, `EMPTY`, `ENCODED`, `NOT_JSON`, `BODY_TOO_LARGE`, `JSON_TOO_LARGE`, `TIMEOUT`, or a code of Node or undici. */
  readonly bodyFault?: string;
  /** With a fault: what the headers say about the body, for the operator's log. */
  readonly found?: FoundBody;
}

export interface FoundBody {
  readonly contentType?: string;
  readonly contentEncoding?: string;
  /** Of a redirect, which is not followed. */
  readonly redirectHost?: string;
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

/**
 * Creates an exchange with its own connections. Idle ones do not keep the process alive.
 *
 * @param threads where large answers are parsed; absent: on the event loop.
 */
export function createHttpExchange(threads?: AnswerThreads): HttpExchange {
  const { start } = createExchanges();
  return (request) => exchange(start, request, threads);
}

function exchange(
  start: StartExchange,
  request: ExchangeRequest,
  threads: AnswerThreads | undefined,
): Promise<ExchangeAnswer> {
  return new Promise((resolve, reject) => {
    const { content } = request;
    if (request.signal.aborted) {
      discardBody(content);
      return reject(new ExchangeLost(false, 'ABORTED'));
    }
    let isOver = false;
    let head: Pick<RawAnswer, 'status' | 'headers'> | undefined;
    let file: FileWriter | undefined;
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
      if (head === undefined) return reject(new ExchangeLost(wasSent, fault ?? 'NO_STATUS'));
      const isRead = fault === undefined || request.onAnswer !== undefined;
      const raw = { ...head, body: isRead ? received.take() : Buffer.alloc(0) };
      request.onAnswer?.(raw);
      const { upstream, signal } = request;
      const isLarge = raw.body.length > INLINE_BYTES || scanner.values > INLINE_VALUES;
      // A thread takes the bytes over, which an observer still reads.
      const isWatched = request.onAnswer !== undefined;
      if (fault !== undefined || threads === undefined || upstream === undefined || !isLarge || isWatched) {
        return resolve(readAnswer(raw, fault));
      }
      readInThread(raw, (bytes) => threads.parse(upstream, bytes, signal), signal).then(resolve, reject);
    };
    const stop = (fault: string): void => {
      if (!end()) return;
      const wasSent = running.abort();
      file?.discard();
      settle(fault, wasSent);
    };
    const onAbort = (): void => stop('ABORTED');
    const openFile = (fileTo: string): FileWriter => {
      file = createFileWriter(fileTo, running, () => stop('FILE_NOT_WRITTEN'));
      return file;
    };
    const writeFile = (writer: FileWriter, bytes: Buffer): void => {
      const contentType = String(head?.headers['content-type'] ?? '');
      const before = writer.byteLength === 0 ? request.fileHead?.(contentType, bytes) : undefined;
      for (const each of before === undefined ? [bytes] : [before, bytes]) {
        request.onFileBytes?.(each);
        writer.write(each);
      }
    };
    const timer = request.timeoutMs === undefined ? undefined : setTimeout(() => stop('TIMEOUT'), request.timeoutMs);
    request.signal.addEventListener('abort', onAbort);

    const running = start(
      {
        origin: request.url.origin,
        path: request.url.pathname + request.url.search,
        method: request.method,
        headers: {
          ...request.headers,
          accept: request.fileTo === undefined ? 'application/json' : '*/*',
          'accept-encoding': 'identity',
          ...(content === undefined
            ? {}
            : { 'content-type': content.contentType, 'content-length': String(content.byteLength) }),
        },
        body: content?.body ?? null,
        onFreshConnection: request.onFreshConnection,
      },
      {
        head(statusCode, headers) {
          head = { status: statusCode, headers };
          if (request.fileTo !== undefined && statusCode < 300 && isFile(headers)) {
            openFile(request.fileTo);
          }
          if (Number(headers['content-length'] ?? 0) > maxBytesOf(request, file)) stop('BODY_TOO_LARGE');
        },
        data(chunk) {
          const isExpected =
            request.fileTo !== undefined &&
            file === undefined &&
            head !== undefined &&
            head.status < 300 &&
            !isEncoded(head.headers);
          if (isExpected && beginsAsFile(received.length, chunk)) {
            writeFile(openFile(request.fileTo), received.take());
          }
          const length = file?.byteLength ?? received.length;
          if (length + chunk.length > maxBytesOf(request, file)) return stop('BODY_TOO_LARGE');
          if (file !== undefined) return writeFile(file, chunk);
          received.push(chunk);
          // Checked chunk by chunk: parsing at the end takes time in proportion to the number of values, and blocks
          // everything else.
          if (!isWithinBounds(scanner, chunk)) stop('JSON_TOO_LARGE');
        },
        end() {
          if (file === undefined) {
            if (end()) settle(undefined, true);
            return;
          }
          // Until then an abort or the time limit still counts.
          void file.finish().then((written) => {
            if (written === undefined || !end()) return;
            if (head !== undefined) request.onAnswer?.({ ...head, body: Buffer.alloc(0) });
            resolve({
              status: head?.status ?? 0,
              retryAfterMs: undefined,
              json: undefined,
              byteLength: 0,
              file: written,
            });
          });
        },
        lost(code, wasSent) {
          if (!end()) return;
          file?.discard();
          settle(code, wasSent);
        },
      },
    );
  });
}

function maxBytesOf(request: ExchangeRequest, file: FileWriter | undefined): number {
  return file === undefined ? request.maxBytes : MAX_FILE_BYTES;
}

/** If success is a file, text or JSON is something else, from a gateway or an error handler. */
function isFile(headers: AnswerHeaders): boolean {
  const isText = /^\s*(text\/|application\/(problem\+)?json)/i.test(String(headers['content-type'] ?? ''));
  return !isText && !isEncoded(headers);
}

/** Every request says `identity`: a body in another encoding is not decoded, because it may be of any size. */
function isEncoded(headers: AnswerHeaders): boolean {
  return !/^(identity)?$/i.test(String(headers['content-encoding'] ?? '').trim());
}

/**
 * Whether a body that is declared as text is a file: some servers declare none of their types, and the default of their
 * library is a text. No text has a NUL, and the media types all have one at their beginning.
 *
 * @param before how much was received before this piece, without one.
 */
function beginsAsFile(before: number, chunk: Buffer): boolean {
  return before < SNIFFED_BYTES && chunk.subarray(0, SNIFFED_BYTES - before).includes(0);
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

/** @param fault why the body cannot be used. */
export function readAnswer(raw: RawAnswer, fault?: string): ExchangeAnswer {
  const json = fault === undefined ? parseAnswer(raw.body) : undefined;
  return answerOf(raw, json, fault);
}

/** The same for a large body, whose bytes are gone afterwards. */
async function readInThread(
  raw: RawAnswer,
  parse: (bytes: Buffer<ArrayBuffer>) => Promise<unknown>,
  signal: AbortSignal,
): Promise<ExchangeAnswer> {
  const { status, headers, body } = raw;
  const { length } = body;
  const found = { status, headers, body: { length } };
  try {
    return answerOf(found, await parse(body), undefined);
  } catch (error) {
    if (signal.aborted) return answerOf(found, undefined, 'ABORTED');
    if (error instanceof ThreadEndedError) return answerOf(found, undefined, 'JSON_TOO_LARGE');
    throw error;
  }
}

type FoundAnswer = Pick<RawAnswer, 'status' | 'headers'> & { readonly body: Pick<Buffer, 'length'> };

function answerOf(raw: FoundAnswer, json: unknown, fault: string | undefined): ExchangeAnswer {
  const { status, headers, body } = raw;
  const bodyFault = json === undefined ? (fault ?? faultOf(raw)) : undefined;
  const retryAfterMs = retryAfterMsOfHeaders(headers, Date.now()) ?? retryAfterMsOfBody(json);
  const found = bodyFault === undefined ? {} : foundBody(raw);
  return {
    status,
    retryAfterMs,
    json,
    byteLength: body.length,
    ...(bodyFault === undefined ? {} : { bodyFault }),
    ...(Object.keys(found).length === 0 ? {} : { found }),
  };
}

function faultOf({ status, headers, body }: FoundAnswer): string {
  if (status >= 300 && status < 400) return 'REDIRECTED';
  if (isEncoded(headers)) return 'ENCODED';
  return body.length === 0 ? 'EMPTY' : 'NOT_JSON';
}

/** Values of another form than they usually have are a stranger's text, and not for the log. */
function foundBody({ status, headers }: FoundAnswer): FoundBody {
  const [contentType] = /^[a-z]{1,20}\/[a-z0-9.+-]{1,60}/i.exec(String(headers['content-type'] ?? '').trim()) ?? [];
  const [contentEncoding] = /^[a-z-]{1,20}$/i.exec(String(headers['content-encoding'] ?? '').trim()) ?? [];
  const location = String(headers['location'] ?? '');
  const isRedirect = status >= 300 && status < 400 && URL.canParse(location);
  return {
    ...(contentType === undefined ? {} : { contentType }),
    ...(contentEncoding === undefined ? {} : { contentEncoding }),
    ...(isRedirect ? { redirectHost: new URL(location).host } : {}),
  };
}
