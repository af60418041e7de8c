/** Batches: many requests in a file, and later files of results (contract §10). */
import { DarkroomError, TimeoutError } from './errors.ts';
import type { FileData, Files } from './files.ts';
import type { Batch, BatchLine, BatchResult } from './generated/types.ts';
import { fileOfLines, readLines } from './lines.ts';
import type { CallOptions } from './options.ts';
import { pause } from './requests.ts';
import type { Requester } from './requests.ts';
import { randomKey } from './settings.ts';

export interface Batches {
  /**
   * Creates a batch, after uploading its lines if they are no file yet.
   *
   * All attempts of a call have one `Idempotency-Key`, so none of them creates a second batch. Another call creates
   * another one: after a `ConnectionError` or a `ServiceError`, `list` shows whether the batch exists.
   *
   * @param input the requests, each with a `custom_id` and a `body`; or a file of complete lines, or its id.
   * @throws {ApiError} @throws {ConnectionError}
   */
  create(input: BatchInput, options?: CreateBatchOptions): Promise<Batch>;
  /** Reads a batch. */
  retrieve(batch: BatchReference, options?: CallOptions): Promise<Batch>;
  /** Yields all batches, newest first, page by page. */
  list(options?: CallOptions): AsyncGenerator<Batch, void>;
  /** Requests that a batch be cancelled: no further line is started. @returns the batch as it is. */
  cancel(batch: BatchReference, options?: CallOptions): Promise<Batch>;
  /**
   * Waits until a batch has ended.
   *
   * @returns the batch: completed, failed, expired or cancelled.
   * @throws {TimeoutError} it did not end within `waitMs`; it continues. @throws {ApiError} @throws {ConnectionError}
   */
  wait(batch: BatchReference, options?: WaitForBatchOptions): Promise<Batch>;
  /**
   * Yields the lines that succeeded, in the order of the input, while they are downloaded.
   *
   * @throws {DarkroomError} the batch has not ended. @throws {ApiError} @throws {ConnectionError}
   */
  results(batch: BatchReference, options?: CallOptions): AsyncGenerator<BatchResult, void>;
  /** Yields all other lines. @throws as `results`. */
  errors(batch: BatchReference, options?: CallOptions): AsyncGenerator<BatchResult, void>;
}

export type BatchInput = string | FileData | Iterable<BatchLine> | AsyncIterable<BatchLine>;

/** A batch, or its id. */
export type BatchReference = string | Pick<Batch, 'id'>;

export interface CreateBatchOptions extends CallOptions {
  /** What the lines are requests of. Default: `/v1/tasks`. */
  readonly endpoint?: Batch['endpoint'] | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** How long the files of results are kept: 3,600 to 2,592,000. Default: 30 days. */
  readonly outputExpiresAfterSeconds?: number | undefined;
}

export interface WaitForBatchOptions extends CallOptions {
  /** How long to wait in all, in milliseconds. Default: until the batch has ended. */
  readonly waitMs?: number | undefined;
  /** Called with the batch each time it was read. */
  readonly onUpdate?: ((batch: Batch) => void) | undefined;
}

const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'expired', 'cancelled']);
/** Between two reads: short ones first, for small batches. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 15_000;
/** As for a task: a wait survives a restart of the service. */
const WAIT_RETRIES = 20;

/** @internal */
export function createBatches(requester: Requester, files: Pick<Files, 'create' | 'content'>): Batches {
  const batches: Batches = {
    async create(input, { endpoint = '/v1/tasks', metadata, outputExpiresAfterSeconds, ...options } = {}) {
      const body = {
        input_file_id: await fileIdOf(files, input, endpoint, options),
        endpoint,
        completion_window: '24h',
        metadata,
        ...(outputExpiresAfterSeconds === undefined
          ? {}
          : { output_expires_after: { anchor: 'created_at', seconds: outputExpiresAfterSeconds } }),
      };
      return requester.call('POST', '/batches', { body, headers: { 'Idempotency-Key': randomKey() } }, options);
    },
    retrieve: async (batch, options = {}) => requester.call('GET', pathOf(batch), {}, options),
    list: (options = {}) => requester.listed<Batch>('/batches', { limit: 100 }, options),
    cancel: async (batch, options = {}) => requester.call('POST', `${pathOf(batch)}/cancel`, {}, options),
    async wait(batch, { waitMs = Infinity, onUpdate, maxRetries = WAIT_RETRIES, ...rest } = {}) {
      const begunAt = Date.now();
      for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS)) {
        const current = await batches.retrieve(batch, { ...rest, maxRetries });
        onUpdate?.(current);
        if (ENDED.has(current.status)) return current;
        const leftMs = begunAt + waitMs - Date.now();
        if (leftMs <= 0) {
          throw new TimeoutError(`the batch ${current.id} did not end within ${waitMs} ms; it continues`);
        }
        await pause(Math.min(pauseMs, leftMs), rest.signal);
      }
    },
    results: (batch, options = {}) => linesOf(batch, 'output_file_id', options),
    errors: (batch, options = {}) => linesOf(batch, 'error_file_id', options),
  };

  /** None without a file: the batch has no such lines. */
  async function* linesOf(
    batch: BatchReference,
    kind: 'output_file_id' | 'error_file_id',
    options: CallOptions,
  ): AsyncGenerator<BatchResult, void> {
    const { id, status, [kind]: fileId } = await batches.retrieve(batch, options);
    if (!ENDED.has(status)) throw new DarkroomError(`the batch ${id} is ${status} and has no results yet`);
    if (fileId === undefined) return;
    const { body } = await files.content(fileId, options);
    if (body !== null) yield* readLines<BatchResult>(body);
  }
  return batches;
}

async function fileIdOf(
  files: Pick<Files, 'create'>,
  input: BatchInput,
  endpoint: string,
  options: CallOptions,
): Promise<string> {
  if (typeof input === 'string') return input;
  const isFile = input instanceof Blob || input instanceof ArrayBuffer || input instanceof Uint8Array;
  const file = isFile ? input : await fileOfLines(requestsOf(input, endpoint));
  return (await files.create(file, { ...options, purpose: 'batch' })).id;
}

async function* requestsOf(lines: Iterable<BatchLine> | AsyncIterable<BatchLine>, url: string) {
  for await (const { custom_id, body } of lines) yield { custom_id, method: 'POST', url, body };
}

function pathOf(batch: BatchReference): string {
  const id: unknown = typeof batch === 'string' ? batch : batch.id;
  if (typeof id !== 'string' || id === '') throw new TypeError('the id of the batch is missing');
  return `/batches/${encodeURIComponent(id)}`;
}
