/**
 * A body on its way into a store: measured, hashed, bounded and abortable while it streams. Both stores use it, so that
 * a bound or an abort means the same in each, and so that a failing source is never taken for a failing store.
 */
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { CollectedBytes } from '@darkroom/media/collected-bytes';
import { ObjectTooLargeError } from './object-store.ts';
import type { PutResult } from './object-store.ts';

/** The sender of a body decides how it is cut: smaller pieces than this are put together. */
const GATHERED_BYTES = 16 * 1_024;

export interface BodyBounds {
  readonly maxBytes?: number;
  readonly signal?: AbortSignal;
}

/** One streamed body. Create it before the first `await` of a `put`, read `chunks` once, `release` it always. */
export class IncomingBody {
  /** Why the body ended early: its own error, the bound or the abort. Undefined while all is well. */
  failure: unknown;
  readonly #body: Readable;
  readonly #bounds: BodyBounds;
  readonly #hash = createHash('sha256');
  #sizeBytes = 0;

  constructor(body: Readable, bounds: BodyBounds) {
    this.#body = body;
    this.#bounds = bounds;
    // A source may fail while the store still opens its file: without a listener that would end the process.
    // Nothing is lost, iterating throws the same error.
    body.on('error', ignore);
    bounds.signal?.addEventListener('abort', this.#stop);
    if (bounds.signal?.aborted) this.#stop();
  }

  /**
   * The bytes, each counted and hashed as it passes, in pieces of at least 16 kB where they can be told apart.
   *
   * @throws {ObjectTooLargeError} at the first byte beyond `maxBytes`; the signal's reason; the source's own error.
   */
  async *chunks(): AsyncGenerator<Buffer, void, undefined> {
    try {
      for await (const bytes of gathered(this.#counted())) {
        this.#hash.update(bytes);
        yield bytes;
      }
      this.#bounds.signal?.throwIfAborted();
    } catch (error) {
      this.failure = this.#bounds.signal?.aborted ? this.#bounds.signal.reason : error;
      throw this.failure;
    }
  }

  async *#counted(): AsyncGenerator<Buffer, void, undefined> {
    for await (const chunk of this.#body) {
      const bytes = toBuffer(chunk);
      this.#sizeBytes += bytes.byteLength;
      assertWithin(this.#sizeBytes, this.#bounds.maxBytes);
      yield bytes;
    }
  }

  /** Length and SHA-256 of what passed. Once, after the last chunk. */
  result(): PutResult {
    return { sizeBytes: this.#sizeBytes, sha256: this.#hash.digest('hex') };
  }

  /** Releases the source: nothing reads it any more, so its connection or file is closed. */
  release(): void {
    this.#bounds.signal?.removeEventListener('abort', this.#stop);
    this.#body.destroy();
  }

  readonly #stop = (): void => {
    const reason: unknown = this.#bounds.signal?.reason;
    this.#body.destroy(reason instanceof Error ? reason : new Error('aborted', { cause: reason }));
  };
}

/** @throws {ObjectTooLargeError} there are more than `maxBytes` bytes; undefined: no bound. */
export function assertWithin(sizeBytes: number, maxBytes: number | undefined): void {
  if (maxBytes !== undefined && sizeBytes > maxBytes) throw new ObjectTooLargeError(maxBytes);
}

/** Length and SHA-256 of a body that is in memory already. */
export function measure(bytes: Uint8Array): PutResult {
  return { sizeBytes: bytes.byteLength, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/** The same bytes in pieces of some size: a store holds those of a part, and writes each of them by itself. */
async function* gathered(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  const small = new CollectedBytes();
  for await (const piece of pieces) {
    const isSmall = piece.length < GATHERED_BYTES;
    if (isSmall) small.push(piece);
    if (small.length >= GATHERED_BYTES || (!isSmall && small.length > 0)) yield small.take();
    if (!isSmall) yield piece;
  }
  if (small.length > 0) yield small.take();
}

function toBuffer(chunk: unknown): Buffer {
  if (Buffer.isBuffer(chunk)) return chunk;
  if (chunk instanceof Uint8Array) return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  if (typeof chunk === 'string') return Buffer.from(chunk);
  throw new TypeError('a body must be a stream of bytes');
}

function ignore(): void {}
