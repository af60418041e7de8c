/**
 * The object store on a local directory: the default of a standalone installation (`npm start`), and enough for one
 * machine. A file is written to a temporary name in the same file system, made durable and renamed, so a reader
 * never sees half of one, even after a crash. Keys are paths below the directory.
 *
 * Unlike S3, a file system cannot hold `a` and `a/b` at once, nor a segment over 255 characters: `put` rejects them.
 */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, readFile, rename, rm, unlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import {
  codeOf,
  ifThere,
  isPlainDirectory,
  makePlainDirectories,
  openDiskDirectory,
  removeEmptyDirectories,
  syncDirectory,
  walkFiles,
} from './disk-directory.ts';
import type { DiskDirectory } from './disk-directory.ts';
import { IncomingBody, assertWithin, measure } from './incoming-body.ts';
import type { BodyBounds } from './incoming-body.ts';
import {
  assertByteRange,
  beyondTheEnd,
  assertKeyPrefix,
  assertObjectKey,
  ObjectNotFoundError,
  StoreUnavailableError,
} from './object-store.ts';
import type { ByteRange, ObjectStore, PutResult, StoredObject, StoreOperation } from './object-store.ts';

// A link is never followed, and a pipe at this path never blocks us.
const READ_PLAIN = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
// A quarter of the default's system calls for media, which are some megabytes.
const READ_CHUNK_BYTES = 256 * 1024;
// A concurrent delete may remove the directory we just made; it can do so only once for each object it deletes.
const MAX_RENAME_ATTEMPTS = 20;

/** Stores objects below a directory, which is created when first used. @param directory an absolute path. */
export function createDiskStore(directory: string): ObjectStore {
  if (!path.isAbsolute(directory)) throw new TypeError('the directory of a disk store must be an absolute path');
  return new DiskStore(directory);
}

class DiskStore implements ObjectStore {
  readonly #directory: string;
  #opened: Promise<DiskDirectory> | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async put(key: string, body: Uint8Array | Readable, options: BodyBounds): Promise<PutResult> {
    if (body instanceof Uint8Array) return await this.#putBytes(key, body, options);
    const incoming = new IncomingBody(body, options);
    try {
      return await this.#write(key, options, async (file) => {
        for await (const chunk of incoming.chunks()) await writeAll(file, chunk);
        return incoming.result();
      });
    } catch (error) {
      throw incoming.failure === undefined ? translate('put', error) : error;
    } finally {
      incoming.release();
    }
  }

  async #putBytes(key: string, bytes: Uint8Array, options: BodyBounds): Promise<PutResult> {
    assertWithin(bytes.byteLength, options.maxBytes);
    try {
      return await this.#write(key, options, async (file) => {
        await writeAll(file, bytes);
        return measure(bytes);
      });
    } catch (error) {
      throw translate('put', error);
    }
  }

  async #write(
    key: string,
    { signal }: BodyBounds,
    fill: (file: FileHandle) => Promise<PutResult>,
  ): Promise<PutResult> {
    assertObjectKey(key);
    signal?.throwIfAborted();
    const { root, partial } = await this.#open();
    const unfinished = path.join(partial, randomUUID());
    const file = await open(unfinished, 'wx');
    try {
      let result: PutResult;
      try {
        result = await fill(file);
        await file.datasync();
      } finally {
        await file.close();
      }
      signal?.throwIfAborted();
      await moveToTarget(root, unfinished, path.join(root, key));
      return result;
    } catch (error) {
      await rm(unfinished, { force: true });
      throw error;
    }
  }

  async head(key: string): Promise<StoredObject> {
    return await this.#withFile('head', key, async (file, sizeBytes) => {
      await file.close();
      return { key, sizeBytes };
    });
  }

  async read(key: string, range?: ByteRange): Promise<Readable> {
    if (range) assertByteRange(range);
    return await this.#withFile('read', key, (file, sizeBytes) => {
      if (range && range.start >= sizeBytes) throw beyondTheEnd(range);
      // The stream owns the open file from here on: a delete or a replacement does not reach it.
      return file.createReadStream({
        highWaterMark: READ_CHUNK_BYTES,
        ...(range && { start: range.start, end: range.end }),
      });
    });
  }

  async #withFile<T>(
    operation: StoreOperation,
    key: string,
    use: (file: FileHandle, sizeBytes: number) => T | Promise<T>,
  ): Promise<T> {
    assertObjectKey(key);
    try {
      const { root } = await this.#open();
      const target = path.join(root, key);
      const file = (await isPlainDirectory(path.dirname(target))) ? await ifThere(open(target, READ_PLAIN)) : undefined;
      if (!file) {
        await this.#assertMounted();
        throw new ObjectNotFoundError(key);
      }
      try {
        const facts = await file.stat();
        if (!facts.isFile()) throw new ObjectNotFoundError(key);
        return await use(file, facts.size);
      } catch (error) {
        await file.close();
        throw error;
      }
    } catch (error) {
      throw translate(operation, error);
    }
  }

  async delete(key: string, { signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    assertObjectKey(key);
    signal?.throwIfAborted();
    try {
      const { root } = await this.#open();
      const target = path.join(root, key);
      const directory = path.dirname(target);
      await this.#assertMounted();
      if (!(await isPlainDirectory(directory))) return;
      const facts = await ifThere(lstat(target));
      if (!facts || facts.isDirectory()) return; // A key that is a directory of other keys is no object.
      await ifThere(unlink(target));
      await removeEmptyDirectories(root, directory);
    } catch (error) {
      throw translate('delete', error);
    }
  }

  async *list(
    prefix: string,
    { onUnreadable }: { readonly onUnreadable?: (key: string, error: Error) => void } = {},
  ): AsyncGenerator<StoredObject & { readonly modifiedAt: Date }> {
    assertKeyPrefix(prefix);
    const leaveOut =
      onUnreadable && ((key: string, cause: Error) => onUnreadable(key, new StoreUnavailableError('list', { cause })));
    try {
      const { root } = await this.#open();
      await this.#assertMounted();
      yield* walkFiles(root, prefix, leaveOut);
    } catch (error) {
      throw translate('list', error);
    }
  }

  async check(): Promise<void> {
    const written = randomUUID();
    try {
      const { partial } = await this.#open();
      const file = path.join(partial, written);
      try {
        await writeDurably(file, Buffer.from(written));
        if ((await readFile(file, 'utf8')) !== written)
          throw new Error('the disk read back different bytes than were written');
      } finally {
        await rm(file, { force: true });
      }
    } catch (error) {
      throw new StoreUnavailableError('check', { cause: error });
    }
  }

  async close(): Promise<void> {
    // Nothing is held open between calls.
  }

  /**
   * An object is missing, deleted or not listed only where the store is: a disk that is not mounted leaves an empty
   * directory, or none. Our own directory in it was created when the store was opened.
   *
   * @throws the system's error.
   */
  async #assertMounted(): Promise<void> {
    const { partial } = await this.#open();
    await lstat(partial);
  }

  async #open(): Promise<DiskDirectory> {
    this.#opened ??= openDiskDirectory(this.#directory);
    try {
      return await this.#opened;
    } catch (error) {
      this.#opened = undefined; // The next call tries again: the disk may be mounted by then.
      throw error;
    }
  }
}

async function moveToTarget(root: string, unfinished: string, target: string): Promise<void> {
  const directory = path.dirname(target);
  const changed = [directory];
  for (let attempt = 1; ; attempt++) {
    try {
      changed.push(...(await makePlainDirectories(root, directory)));
      await rename(unfinished, target);
      break;
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || attempt === MAX_RENAME_ATTEMPTS) throw error;
    }
  }
  // At once: a journalling file system then writes them in one go.
  await Promise.all([...new Set(changed)].map(syncDirectory));
}

async function writeDurably(target: string, bytes: Uint8Array): Promise<void> {
  const file = await open(target, 'wx');
  try {
    await writeAll(file, bytes);
    await file.datasync();
  } finally {
    await file.close();
  }
}

/** A write may take less than it was given (a disk that is nearly full): the rest is written or fails with the reason. */
async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let offset = 0; offset < bytes.byteLength;) {
    const { bytesWritten } = await file.write(bytes, offset, bytes.byteLength - offset);
    offset += bytesWritten;
  }
}

/** System errors become the store's own; all other errors are the caller's already. */
function translate(operation: StoreOperation, error: unknown): unknown {
  return codeOf(error) === undefined ? error : new StoreUnavailableError(operation, { cause: error });
}
