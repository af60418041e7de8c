/**
 * The objects to which rows are exported before they are pruned (docs/decisions/0026): a JSON line for each
 * task or text call, compressed with gzip. An export counts only once it was read back, and only if the rows have not
 * changed meanwhile: what an owner erases while it is exported must not outlive that in the store.
 */
import { createHash, randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { timeOutMs } from '../config/time-outs.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';
import { unlessAborted } from '../domain/waits.ts';
import { StoreUnavailableError } from './stores/object-store.ts';
import type { ObjectStore } from './stores/object-store.ts';

/** How long writing an archive, reading it back, and deleting it, may each take. */
const STORE_WITHIN_MS = timeOutMs(8_000);

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

/** How often a page is exported that changes during each export; the next round tries it again. */
export const MAX_EXPORTS = 3;

/**
 * Writes rows, reads them back, and has them deleted. If that fails, a pass that was killed here has left an object that
 * nothing lists, and the sweep deletes it (activities/sweep-objects.ts).
 *
 * @param under what the key begins with: `tasks/<account>` or `text-calls`.
 * @param rows at least one, in the order of their times.
 * @param deleteRows lists the archive and deletes the rows in one transaction, unless one of them has changed or
 *   another pass has it: then it does nothing, and returns false.
 * @returns what it returned; if that is false, the archive is gone again.
 * @throws {StoreUnavailableError} @throws {ArchiveDamagedError}
 */
export async function exportAndDelete(
  store: ObjectStore,
  under: string,
  rows: readonly ArchivedRow[],
  signal: AbortSignal,
  deleteRows: (archive: StoredArchive) => Promise<boolean>,
): Promise<boolean> {
  const archive = await writeArchive(store, under, rows, signal);
  signal.throwIfAborted();
  if (await deleteRows(archive)) return true;
  await within('delete', signal, (bounded) => store.delete(archive.objectKey, { signal: bounded }));
  return false;
}

/** No two exports have the same key, so that a pass that deletes an archive deletes no other pass's. */
async function writeArchive(
  store: ObjectStore,
  under: string,
  rows: readonly ArchivedRow[],
  signal: AbortSignal,
): Promise<StoredArchive> {
  const body = await compress(rows.map(({ line }) => `${line}\n`).join(''));
  const sha256 = createHash('sha256').update(body).digest('hex');
  const objectKey = archiveKey(under, rows);
  await within('put', signal, (bounded) =>
    store.put(objectKey, body, { mimeType: 'application/gzip', signal: bounded }),
  );
  const stored = await within('read', signal, async () => buffer(await store.read(objectKey)));
  if (createHash('sha256').update(stored).digest('hex') !== sha256) throw new ArchiveDamagedError(objectKey);
  return { objectKey, sizeBytes: body.length, sha256 };
}

function archiveKey(under: string, rows: readonly ArchivedRow[]): string {
  const [first] = rows;
  if (first === undefined) throw new RangeError('an archive without rows');
  return `archive/${under}/${first.createdAt.slice(0, 7)}/${first.id}-${randomBytes(8).toString('hex')}.ndjson.gz`;
}

/** @throws {StoreUnavailableError} the time is over. Also what the work throws, and the signal's reason. */
async function within<Result>(
  operation: 'put' | 'read' | 'delete',
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
