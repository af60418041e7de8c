/**
 * JSON bodies, of requests and of the lines of batches: size, type, depth, counts and form are checked before anything
 * is trusted (contract §1), most of it while the bytes arrive. Large bodies are parsed in a thread.
 */
import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { deserialize } from 'node:v8';
import type { LineBodies } from '../../batches/line.ts';
import { packageModule } from '../../config/package-root.ts';
import { timeOutMs } from '../../config/time-outs.ts';
import { CollectedBytes } from '@darkroom/media/collected-bytes';
import { JsonBoundsError, createJsonScanner } from '../../domain/json-scanner.ts';
import type { JsonScanner } from '../../domain/json-scanner.ts';
import { ShareExhaustedError } from '../../limits/tenant-shares.ts';
import { ThreadEndedError, createThreadPool } from '../../limits/timed-threads.ts';
import type { ThreadPool } from '../../limits/timed-threads.ts';
import type { Turns } from '../../limits/turns.ts';
import type { BodyFacts } from '../../tasks/record/body-facts.ts';
import type { ShareMetrics } from '../../telemetry/metrics.ts';
import type { HttpContext } from '../app/context.ts';
import { RequestError, invalidRequest } from '../app/errors.ts';
import type { BodyAllowance } from './body-allowance.ts';
import { parseBody } from './parse-body.ts';
import type { BodyJob, BodyJobAnswer, ParsedBody } from './parse-body.ts';

/** The maximum size of a body on create, estimate and the text endpoints (contract §1). */
export const CREATE_BODY_BYTES = 10_000_000;

/** The maximum size of a body on the other endpoints (contract §1). */
export const SMALL_BODY_BYTES = 256_000;

/** The number of bytes in which a body of unknown length is charged to the allowance. */
const CHARGED_TOGETHER = 64_000;
/** A value is charged as at least this many bytes: objects of many members take longest to parse. */
const BYTES_PER_VALUE = 100;
/**
 * The maximum size of a body that is parsed on the event loop, which takes some milliseconds at most. Larger bodies are
 * parsed in a thread.
 */
const INLINE_BYTES = 128_000;
const INLINE_VALUES = 5_000;
/** `Retry-After` in seconds if a thread does not finish a body or crashes on it. */
const RETRY_AFTER_SECONDS = 2;
/** How long a rejected client may continue to send before it is disconnected: time to read the response. */
const LINGER_MS = 10_000;
/** The limit of a thread's JavaScript heap: 10 MB of short values take some 100 MB. */
const THREAD_HEAP_MB = 512;
/** The time limit of parsing one body. The worst body within the bounds takes a second on a slow machine. */
const JOB_TIMEOUT_MS = timeOutMs(10_000);
const WAIT_MS = timeOutMs(20_000);
/** A reservation that finds no room is repeated after this long, and so never stands before a request in a line. */
const RESERVE_AGAIN_MS = 500;

/** A body as it was read. */
interface ReadBody {
  readonly value: unknown;
  /** Whether work on it takes long enough to be done in turns (limits/turns.ts). */
  readonly isLarge: boolean;
  /** Of a large one that is an object, where they were requested. */
  readonly facts?: BodyFacts | undefined;
}

/** How a body is read. */
interface BodyReading {
  readonly maxBytes: number;
  /** Whose body it is; what it holds is for the caller to release, once the body is done with. */
  readonly allowance: BodyAllowance;
  /** Where large bodies are parsed. */
  readonly threads: BodyThreads;
  /** The turns in which their values are built here. */
  readonly turns: Turns;
  /** Whether the body is that of a create. */
  readonly needsFacts: boolean;
}

/**
 * Reads and parses a JSON body, of any form.
 *
 * @throws {RequestError} 400, 413 or 415. @throws {RateLimitedError} nothing was read. @throws {ShareExhaustedError}
 */
export async function readJson(request: IncomingMessage, reading: BodyReading): Promise<ReadBody> {
  const { maxBytes, allowance } = reading;
  requireJsonType(request);
  const scanner = createJsonScanner();
  const collected = new CollectedBytes();
  const length = await readBody(request, maxBytes, allowance, (chunk) => {
    const grown = collected.push(chunk);
    if (grown > 0) allowance.hold(grown);
    scan(scanner, chunk);
  });
  await allowance.charge(scanner.values * BYTES_PER_VALUE - length);
  const parsed = await parseJson(collected.take(), scanner.values, {
    threads: reading.threads,
    turns: reading.turns,
    tenant: allowance.tenant,
    factsOf: reading.needsFacts ? 'value' : undefined,
  });
  if (parsed.kind === 'not_utf8') throw new RequestError('unreadable_body', 'invalid request: the body is not UTF-8');
  if (parsed.kind === 'not_json') throw new RequestError('unreadable_body', 'invalid request: the body is not JSON');
  return parsed;
}

function scan(scanner: JsonScanner, chunk: Uint8Array): void {
  try {
    scanner.push(chunk);
  } catch (error) {
    throw error instanceof JsonBoundsError ? invalidRequest(`invalid request: ${error.message}`) : error;
  }
}

/** Who parses, and for whom. */
interface JsonParsing extends Pick<BodyReading, 'threads' | 'turns'> {
  /** Whose threads it uses. */
  readonly tenant: string;
  /** Of what a create has to know the facts, if it is large (`BodyJob`). */
  readonly factsOf: ParseJob['factsOf'];
  /** Whether of a large one only an outline is needed (`BodyJob`). */
  readonly isOutline?: boolean;
}

/** What the bytes are, if they are JSON. */
type ParsedJson = Exclude<ParsedBody, { kind: 'parsed' }> | ({ readonly kind: 'parsed' } & ReadBody);

/**
 * Parses JSON that is within the bounds of json-scanner.ts: here where it is small, else in a thread.
 *
 * @param bytes in memory of their own, which can be transferred. @param values as the scanner has counted them.
 * @throws {ShareExhaustedError}
 */
export async function parseJson(
  bytes: Uint8Array<ArrayBuffer>,
  values: number,
  { threads, turns, tenant, factsOf, isOutline }: JsonParsing,
): Promise<ParsedJson> {
  if (bytes.length <= INLINE_BYTES && values <= INLINE_VALUES) {
    const parsed = parseBody(bytes);
    return parsed.kind === 'parsed' ? { ...parsed, isLarge: false } : parsed;
  }
  const answer = await runInThread(threads, tenant, { kind: 'parse', bytes, factsOf, isOutline });
  if (answer.kind !== 'parsed') return answer;
  await turns.next();
  const facts = answer.facts && withBuffer(answer.facts);
  return { kind: 'parsed', value: deserialize(answer.serialized) as unknown, isLarge: true, facts };
}

/** A Buffer arrives from a thread as a Uint8Array, which has neither `equals` nor another encoding. */
function withBuffer({ fingerprint, ...facts }: BodyFacts): BodyFacts {
  return { ...facts, fingerprint: { ...fingerprint, hash: Buffer.from(fingerprint.hash) } };
}

type ParseJob = Extract<BodyJob, { kind: 'parse' }>;
type Parsed = Exclude<BodyJobAnswer, { kind: 'started' }>;

async function runInThread(
  threads: BodyThreads,
  tenant: string,
  job: ParseJob & { readonly bytes: Uint8Array<ArrayBuffer> },
): Promise<Parsed> {
  try {
    return (await threads.run(tenant, job, { transferred: [job.bytes.buffer] })) as Parsed;
  } catch (error) {
    if (!(error instanceof ThreadEndedError)) throw error;
    throw new ShareExhaustedError('body_threads', 'process', RETRY_AFTER_SECONDS);
  }
}

/** Whether a request has no body at all. */
export function hasNoBody(request: IncomingMessage): boolean {
  const length = request.headers['content-length'];
  return request.headers['transfer-encoding'] === undefined && (length === undefined || length === '0');
}

function requireJsonType(request: IncomingMessage): void {
  const [type, ...parameters] = (request.headers['content-type'] ?? '').toLowerCase().split(';');
  const isUtf8 = parameters.every(
    (parameter) => !/^\s*charset\s*=/.test(parameter) || /=\s*"?utf-?8"?\s*$/.test(parameter),
  );
  const encoding = request.headers['content-encoding']?.toLowerCase() ?? 'identity';
  if (type?.trim() !== 'application/json' || !isUtf8 || encoding !== 'identity') {
    throw new RequestError('unsupported_media_type');
  }
}

/**
 * Passes a body on as it arrives, each piece charged before it is read.
 *
 * @returns its length. @throws {RequestError} 400 or 413, {RateLimitedError}, and what `take` throws.
 */
export async function readBody(
  request: IncomingMessage,
  maxBytes: number,
  allowance: BodyAllowance,
  take: (chunk: Buffer) => void,
): Promise<number> {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > maxBytes) throw tooLarge(maxBytes);
  let paid = announced > 0 ? announced : CHARGED_TOGETHER;
  await allowance.charge(paid);
  let bytes = 0;
  try {
    // A body that is not read to its end must not close its connection, which the response needs.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      for (; bytes > paid; paid += CHARGED_TOGETHER) await allowance.charge(CHARGED_TOGETHER);
      take(chunk);
    }
  } catch (error) {
    if (request.errored !== null) throw invalidRequest('invalid request: the body did not arrive whole');
    drainRejected(request);
    throw error;
  }
  return bytes;
}

/** A rejected client may still be sending: its data is discarded for a moment, so that it can read the response. */
export function drainRejected(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  request.resume();
  const cut = setTimeout(() => request.destroy(), LINGER_MS);
  cut.unref();
  request.once('close', () => clearTimeout(cut));
  request.once('end', () => clearTimeout(cut));
}

function tooLarge(maxBytes: number): RequestError {
  const message = `the body is larger than ${maxBytes} bytes`;
  return new RequestError('payload_too_large', message);
}

export type BodyThreads = ThreadPool<BodyJob, BodyJobAnswer>;

/**
 * The threads in which large request bodies are parsed, outside the event loop: ten megabytes of JSON take some tenths
 * of a second to decode, parse and fingerprint, in which no other request would be served. Accounts share the threads.
 *
 * The result is turned into a value of this thread in one piece, which takes a fraction of that. This, and all
 * further work on a large body here, is done in turns (limits/turns.ts).
 */
export function createBodyThreads(metrics?: ShareMetrics): BodyThreads {
  return createThreadPool<BodyJob, BodyJobAnswer>({
    resource: 'body_threads',
    module: packageModule('src/http/bodies/body-thread.ts'),
    startJob: { kind: 'start' },
    heapMb: THREAD_HEAP_MB,
    timeoutMs: JOB_TIMEOUT_MS,
    waitMs: WAIT_MS,
    metrics,
  });
}

/**
 * The lines of batches as the bodies of requests: what they take in memory is their account's share of it, and large
 * ones are parsed in the same threads. They are not charged to its bytes per minute: no client waits for them, and
 * their pace is that of the shares. What needs more than the account can have, as the answer of a line may, counts as
 * most of its share, and so is in memory alone.
 */
export function createLineBodies(http: Pick<HttpContext, 'bodies' | 'bodyThreads' | 'turns'>): LineBodies {
  const { bodies, bodyThreads: threads, turns } = http;
  return {
    async reserve(accountId, bytes, signal) {
      const allowance = bodies.ofAccount({ accountId });
      for (;;) {
        signal.throwIfAborted();
        try {
          allowance.hold(Math.min(bytes, bodies.mostAtOnce));
          return () => allowance.release();
        } catch (error) {
          if (!(error instanceof ShareExhaustedError)) throw error;
        }
        await sleep(RESERVE_AGAIN_MS, undefined, { signal });
      }
    },
    parse: (tenant, bytes, { values, needed }) =>
      parseJson(bytes, values, {
        threads,
        turns,
        tenant,
        factsOf: needed === 'task' ? 'body' : undefined,
        isOutline: needed === 'outline',
      }),
  };
}
