/**
 * The port behind which outputs are kept: a local directory or any S3. Both run the same contract suite
 * (test/objects/object-store-contract.ts). Bytes stream; nothing here holds a whole file.
 */
import type { Readable } from 'node:stream';
import { DarkroomError } from '../../domain/darkroom-error.ts';

/** What is known of a stored object. */
export interface StoredObject {
  readonly key: string;
  readonly sizeBytes: number;
}

/** The first and the last byte, inclusive, as in an HTTP Range. */
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
