/**
 * The port behind which outputs are kept, a local directory or any S3, with its errors and the rules that are the same
 * in every store. Both run the same contract suite (test/objects/object-store-contract.ts). Bytes stream; nothing here
 * holds a whole file.
 */
import type { Readable } from 'node:stream';
import type { ByteSource } from '@darkroom/media/byte-source';
import { DarkroomError, errorCodeOf } from '../../domain/darkroom-error.ts';

/** What is known of a stored object. */
export interface StoredObject {
  readonly key: string;
  readonly sizeBytes: number;
}

/**
 * The first and the last byte, inclusive, as in an HTTP Range. The end is cut to the object; a range that begins beyond
 * it holds nothing.
 */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** What `put` did: how many bytes it wrote, and their SHA-256 in lower-case hex. */
export interface PutResult {
  readonly sizeBytes: number;
  readonly sha256: string;
}

/** How an object is to be fetched from the store itself. */
export interface DirectRead {
  readonly method: 'GET' | 'HEAD';
  /** How long the URL works, in seconds: at most 7 days. */
  readonly seconds: number;
  readonly mimeType: string;
  /** The `Content-Disposition` of the response. */
  readonly disposition: string;
}

/**
 * Keys are relative paths of `[A-Za-z0-9._-]` segments joined by `/`, at most 512 characters, no empty, `.` or `..`
 * segment; anything else throws `TypeError`.
 */
export interface ObjectStore {
  /**
   * Stores an object, replacing one of the same key. Atomic: a reader sees the old object, the new one or none.
   *
   * @throws {ObjectTooLargeError} the body has more than `maxBytes` bytes; nothing is kept.
   */
  put(
    key: string,
    body: Uint8Array | Readable,
    options: { readonly mimeType: string; readonly maxBytes?: number; readonly signal?: AbortSignal },
  ): Promise<PutResult>;
  /** @throws {ObjectNotFoundError} */
  head(key: string): Promise<StoredObject>;
  /**
   * Opens an object, or a part of it, for reading. A reader that has begun finishes even if the object is deleted
   * meanwhile.
   *
   * @throws {ObjectNotFoundError}
   */
  read(key: string, range?: ByteRange): Promise<Readable>;
  /**
   * A URL at the store's public endpoint that opens an object for any holder; signing it sends no request, so the
   * object may be missing. Absent where the store has no endpoint of its own.
   */
  presign?(key: string, read: DirectRead): Promise<string>;
  /**
   * Deletes an object; one that is not there is no error.
   *
   * @param options.signal ends the wait for a server that does not respond; the object may be deleted all the same.
   */
  delete(key: string, options?: { readonly signal?: AbortSignal }): Promise<void>;
  /**
   * All objects whose key begins with a prefix, in no particular order.
   *
   * @param options.onUnreadable is given the key, or the beginning of the keys, of what cannot be listed, and why; the
   *   rest is listed. Without it that ends the listing.
   */
  list(
    prefix: string,
    options?: { readonly onUnreadable?: (key: string, error: Error) => void },
  ): AsyncIterable<StoredObject & { readonly modifiedAt: Date }>;
  /** Throws unless the store can be written and read at this moment. For `readyz` and start-up. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** There is no object of that key. */
export class ObjectNotFoundError extends DarkroomError {
  override readonly name = 'ObjectNotFoundError';
  override readonly kind = 'not_found';
  readonly key: string;

  constructor(key: string, options: { cause?: unknown } = {}) {
    super(`no object ${key}`, options);
    this.key = key;
  }
}

/** A body was longer than its bound; nothing of it was kept. */
export class ObjectTooLargeError extends Error {
  override readonly name = 'ObjectTooLargeError';
  readonly maxBytes: number;

  constructor(maxBytes: number) {
    super(`the object is larger than ${maxBytes} bytes`);
    this.maxBytes = maxBytes;
  }
}

/** What a store was doing when it failed. */
export type StoreOperation = 'put' | 'head' | 'read' | 'delete' | 'list' | 'check';

/**
 * The store could not do its work, and the caller is not at fault: disk full, no permission, network, wrong
 * credentials. Callers respond with 503 or retry later. `cause` has the system's or the server's own error, for the log
 * only.
 */
export class StoreUnavailableError extends DarkroomError {
  override readonly name = 'StoreUnavailableError';
  override readonly kind = 'unavailable';
  readonly operation: StoreOperation;

  constructor(operation: StoreOperation, options: { cause: unknown }) {
    super(`the object store could not ${operation}: ${codeOf(options.cause)}`, options);
    this.operation = operation;
  }

  /** Names the store: the rest of the service may work. */
  override get publicMessage(): string {
    return 'the object store is not available at this moment; retry with the same Idempotency-Key';
  }
}

/** A short, safe word for what happened (`ENOSPC`, `AccessDenied`): messages of the system hold paths and hosts. */
function codeOf(cause: unknown): string {
  if (!(cause instanceof Error)) return 'unknown error';
  return errorCodeOf(cause) ?? cause.name;
}

const KEY_SEGMENT = /^[A-Za-z0-9._-]+$/;
const KEY_PREFIX = /^[A-Za-z0-9._/-]*$/;
const MAX_KEY_LENGTH = 512;

/**
 * Whether a string is a key, by the rule of `ObjectStore`: the same for every store, so that no store rejects a key
 * that another accepts, and so that no key can leave a directory or a prefix.
 */
export function isObjectKey(text: string): boolean {
  return (
    text.length <= MAX_KEY_LENGTH && text.split('/').every((segment) => KEY_SEGMENT.test(segment) && !isDots(segment))
  );
}

/** @throws {TypeError} the string is not a key. The message does not repeat it, because it may come from outside. */
export function assertObjectKey(key: string): void {
  if (!isObjectKey(key)) throw new TypeError('not an object key: segments of [A-Za-z0-9._-] joined by /');
}

/**
 * A prefix is the beginning of a key, cut anywhere; the empty one begins every key.
 *
 * @throws {TypeError} no key begins like that.
 */
export function assertKeyPrefix(prefix: string): void {
  const whole = prefix.split('/').slice(0, -1);
  const isPrefix =
    prefix.length <= MAX_KEY_LENGTH && KEY_PREFIX.test(prefix) && !whole.some((s) => s === '' || isDots(s));
  if (!isPrefix) throw new TypeError('not the beginning of an object key');
}

function isDots(segment: string): boolean {
  return segment === '.' || segment === '..';
}

/** @throws {RangeError} not whole numbers in order. */
export function assertByteRange(range: ByteRange): void {
  const isOrdered = Number.isSafeInteger(range.start) && Number.isSafeInteger(range.end) && range.start <= range.end;
  if (!isOrdered || range.start < 0) throw new RangeError(`not a byte range: ${range.start}-${range.end}`);
}

/** What a store throws for a range that begins at or after the object's end. */
export function beyondTheEnd(range: ByteRange): RangeError {
  return new RangeError(`the object ends before byte ${range.start}`);
}

/** A stored object as a source of bytes, for the package that reads media. Reads fail as `ObjectStore.read` does. */
export function storedSource(store: Pick<ObjectStore, 'read'>, key: string, sizeBytes: number): ByteSource {
  return {
    sizeBytes,
    async read(start, end) {
      const chunks: Buffer[] = [];
      for await (const chunk of await store.read(key, { start, end: end - 1 })) chunks.push(chunk as Buffer);
      return Buffer.concat(chunks);
    },
  };
}
