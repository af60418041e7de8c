/**
 * The objects to which rows are exported before they are pruned (docs/decisions/0054 and 0055): a JSON line for each
 * task or text call, compressed with gzip. An export counts only once it was read back.
 */
import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { DarkroomError } from '../domain/darkroom-error.ts';
import { unlessAborted } from '../domain/unless-aborted.ts';
import type { ObjectStore } from './stores/object-store.ts';
import { StoreUnavailableError } from './stores/store-unavailable-error.ts';

/** How long writing an archive, and reading it back, may each take. */
const STORE_WITHIN_MS = 8_000;

const compress = promisify(gzip);

/** A row, and what belongs to it, as one line of JSON. */
export interface ArchivedRow {
  readonly id: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly line: string;
}

/** An archive that is in the store. */
export interface StoredArchive {
  readonly objectKey: string;
  readonly sizeBytes: number;
  readonly sha256: string;
}

/** What was read back differs from what was written. */
export class ArchiveDamagedError extends DarkroomError {
  override readonly name = 'ArchiveDamagedError';
  override readonly kind = 'operator_action_required';

  constructor(objectKey: string) {
    super(`the store returned other bytes for ${objectKey} than were written; nothing was pruned`);
  }
}

/**
 * Writes rows, and reads them back. The key contains the hash of the content, so that a page that is exported again
 * replaces only an equal object.
 *
 * @param under what the key begins with: `tasks/<account>` or `text-calls`.
 * @param rows at least one, in the order of their times.
 * @throws {StoreUnavailableError} @throws {ArchiveDamagedError}
 */
export async function writeArchive(
  store: ObjectStore,
  under: string,
  rows: readonly ArchivedRow[],
  signal: AbortSignal,
): Promise<StoredArchive> {
  const body = await compress(rows.map(({ line }) => `${line}\n`).join(''));
  const sha256 = createHash('sha256').update(body).digest('hex');
  const objectKey = archiveKey(under, rows, sha256);
  await within('put', signal, (bounded) =>
    store.put(objectKey, body, { mimeType: 'application/gzip', signal: bounded }),
  );
  const stored = await within('read', signal, async () => buffer(await store.read(objectKey)));
  if (createHash('sha256').update(stored).digest('hex') !== sha256) throw new ArchiveDamagedError(objectKey);
  return { objectKey, sizeBytes: body.length, sha256 };
}

function archiveKey(under: string, rows: readonly ArchivedRow[], sha256: string): string {
  const [first] = rows;
  if (first === undefined) throw new RangeError('an archive without rows');
  return `archive/${under}/${first.createdAt.slice(0, 7)}/${first.id}-${sha256.slice(0, 16)}.ndjson.gz`;
}

/** @throws {StoreUnavailableError} the time is over. Also what the work throws, and the signal's reason. */
async function within<Result>(
  operation: 'put' | 'read',
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const timeout = AbortSignal.timeout(STORE_WITHIN_MS);
  const either = AbortSignal.any([signal, timeout]);
  try {
    return await unlessAborted(work(either), either);
  } catch (error) {
    if (timeout.aborted && !signal.aborted) throw new StoreUnavailableError(operation, { cause: error });
    throw error;
  }
}
