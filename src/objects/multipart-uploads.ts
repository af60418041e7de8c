/**
 * Files that are sent in parts (contract §7.5): OpenAI's uploads. A part is a row of `files` that belongs to an upload:
 * it counts against the limit of its account, expires with its upload and is deleted like any other file. Completing an
 * upload replaces its parts by the file, in one transaction.
 */
import type { FilePurpose } from '@darkroom/api/openai/files';
import { UPLOAD_SECONDS } from '@darkroom/api/openai/uploads';
import type { Database, Queryable, Statement } from '../database/database.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';
import { newId } from '../domain/ids.ts';
import { insertFile, lockUploadRoom, requireUploadRoom } from './uploads.ts';
import type { NewUpload, Upload } from './uploads.ts';

/** How long an upload is remembered after it has expired, in seconds. */
const REMEMBERED_SECONDS = 86_400;
/** The lease of a completion: a process that dies leaves the upload to others after that. */
const COMPLETION_SECONDS = 60;

const UPLOAD_ID = /^upload_[0-9A-HJKMNP-TV-Z]{26}$/;

export type UploadStatus = 'pending' | 'completed' | 'cancelled' | 'expired';

export interface MultipartUpload {
  readonly id: string;
  readonly accountId: string;
  readonly fileName: string;
  readonly purpose: FilePurpose;
  readonly sizeBytes: number;
  readonly keptSeconds: number;
  readonly status: UploadStatus;
  /** Null: it is not completed. */
  readonly fileId: string | null;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** There is no such upload, or it is another account's. */
export class MultipartUploadNotFoundError extends DarkroomError {
  override readonly name = 'MultipartUploadNotFoundError';
  override readonly kind = 'not_found';
}

/** What the parts of an upload were hashed to, and how often they were. */
export interface PartsHash {
  /** SHA-256 of the ids of the parts in their order; null: they were not hashed. */
  readonly partsPrint: string | null;
  /** Lower-case hex; null: they were not hashed. */
  readonly md5: string | null;
  readonly hashings: number;
}

/** The upload has ended. */
export class UploadEndedError extends DarkroomError {
  override readonly name = 'UploadEndedError';
  override readonly kind = 'invalid_request';

  constructor({ id, status }: Pick<MultipartUpload, 'id' | 'status'>) {
    super(`invalid request: the upload ${id} is ${status}; create another one`);
  }
}

const insertUpload: Statement = {
  name: 'insert_multipart_upload',
  text: `INSERT INTO uploads (id, account_id, filename, purpose, size_bytes, kept_seconds, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, to_timestamp($7::float8), to_timestamp($8::float8))`,
};

/** @param now milliseconds since 1970. @throws {UploadsFullError} the account has no room for such a file. */
export async function createMultipartUpload(
  database: Queryable,
  upload: Pick<MultipartUpload, 'accountId' | 'fileName' | 'purpose' | 'sizeBytes' | 'keptSeconds'>,
  now: number,
): Promise<MultipartUpload> {
  const { accountId, fileName, purpose, sizeBytes, keptSeconds } = upload;
  await requireUploadRoom(database, accountId, sizeBytes, now);
  const id = newId('upload');
  const createdAt = now / 1000;
  const expiresAt = Math.floor(createdAt) + UPLOAD_SECONDS;
  const values = [id, accountId, fileName, purpose, sizeBytes, keptSeconds, createdAt, expiresAt];
  await database.query(insertUpload, values);
  return { ...upload, id, status: 'pending', fileId: null, createdAt, expiresAt };
}

const COLUMNS = `id, account_id AS "accountId", filename AS "fileName", purpose, size_bytes::float8 AS "sizeBytes",
                 kept_seconds AS "keptSeconds", status, file_id AS "fileId",
                 extract(epoch FROM created_at)::float8 AS "createdAt",
                 extract(epoch FROM expires_at)::float8 AS "expiresAt"`;

const selectUpload: Statement = {
  name: 'select_multipart_upload',
  text: `SELECT ${COLUMNS} FROM uploads WHERE id = $1 AND account_id = $2`,
};

/** @throws {MultipartUploadNotFoundError} */
export async function readMultipartUpload(
  database: Queryable,
  accountId: string,
  id: string,
  now: number,
): Promise<MultipartUpload> {
  const [upload] = UPLOAD_ID.test(id) ? await database.query<MultipartUpload>(selectUpload, [id, accountId]) : [];
  if (upload === undefined) throw new MultipartUploadNotFoundError();
  const isExpired = upload.status === 'pending' && upload.expiresAt <= now / 1000;
  return isExpired ? { ...upload, status: 'expired' } : upload;
}

/** Throws unless parts may be added and the upload may be completed. @throws {UploadEndedError} */
export function requirePending(upload: MultipartUpload): void {
  if (upload.status !== 'pending') throw new UploadEndedError(upload);
}

const lockPending: Statement = {
  name: 'lock_pending_upload',
  text: `SELECT id FROM uploads WHERE id = $1 AND status = 'pending' FOR SHARE`,
};

const assignPart: Statement = {
  name: 'assign_part',
  text: 'UPDATE files SET upload_id = $2 WHERE id = $1',
};

/**
 * Records a part whose bytes are in the store.
 *
 * @throws {UploadEndedError} it ended while the part arrived. @throws {UploadsFullError}
 */
export async function recordPart(
  database: Database,
  upload: MultipartUpload,
  part: Pick<Upload, 'id' | 'objectKey' | 'sizeBytes' | 'sha256'>,
  now: number,
): Promise<void> {
  const { accountId, expiresAt } = upload;
  await database.transaction(async (transaction) => {
    await lockUploadRoom(transaction, accountId);
    await requireUploadRoom(transaction, accountId, part.sizeBytes, now);
    const [pending] = await transaction.query(lockPending, [upload.id]);
    if (pending === undefined)
      throw new UploadEndedError(await readMultipartUpload(transaction, accountId, upload.id, now));
    const described = { accountId, mimeType: 'application/octet-stream', purpose: null, fileName: null };
    await insertFile(transaction, { ...part, ...described }, { createdAt: now / 1000, expiresAt });
    await transaction.query(assignPart, [part.id, upload.id]);
  });
}

/** A part of an upload. */
export interface Part {
  readonly id: string;
  readonly objectKey: string;
  readonly sizeBytes: number;
}

const selectParts: Statement = {
  name: 'select_parts',
  text: `SELECT id, object_key AS "objectKey", size_bytes::float8 AS "sizeBytes"
           FROM files WHERE upload_id = $1 AND gone_at IS NULL AND id = ANY ($2)`,
};

/** @returns the parts in the order of their ids; undefined where there is no such part of the upload. */
export async function readParts(
  database: Queryable,
  { id }: MultipartUpload,
  partIds: readonly string[],
): Promise<readonly (Part | undefined)[]> {
  const parts = new Map((await database.query<Part>(selectParts, [id, partIds])).map((part) => [part.id, part]));
  return partIds.map((partId) => parts.get(partId));
}

const claimCompletion: Statement = {
  name: 'claim_upload_completion',
  text: `UPDATE uploads SET completing_until = to_timestamp($2::float8)
          WHERE id = $1 AND status = 'pending'
            AND (completing_until IS NULL OR completing_until <= to_timestamp($3::float8))
          RETURNING hashed_parts AS "partsPrint", hashed_md5 AS md5, hashings`,
};

/**
 * Leases the completion of an upload, which writes its bytes once more: they count against the account until the lease
 * ends or is released.
 *
 * @returns undefined: another request completes it, or it has ended.
 * @throws {UploadsFullError} the account has no room for the file beside its parts.
 */
export async function leaseCompletion(
  database: Database,
  { id, accountId }: MultipartUpload,
  now: number,
): Promise<PartsHash | undefined> {
  return database.transaction(async (transaction) => {
    await lockUploadRoom(transaction, accountId);
    const until = now / 1000 + COMPLETION_SECONDS;
    const [claimed] = await transaction.query<PartsHash>(claimCompletion, [id, until, now / 1000]);
    if (claimed !== undefined) await requireUploadRoom(transaction, accountId, 0, now);
    return claimed;
  });
}

const setCompletionLease: Statement = {
  name: 'set_upload_completion_lease',
  text: `UPDATE uploads SET completing_until = to_timestamp($2::float8)
          WHERE id = $1 AND completing_until IS NOT NULL`,
};

/** Renews the lease of a completion that is still at work. */
export async function renewCompletion(database: Queryable, id: string, now: number): Promise<void> {
  await database.query(setCompletionLease, [id, now / 1000 + COMPLETION_SECONDS]);
}

/** Ends the lease of a completion. */
export async function releaseCompletion(database: Queryable, id: string): Promise<void> {
  await database.query(setCompletionLease, [id, null]);
}

const rememberHash: Statement = {
  name: 'remember_upload_hash',
  text: `UPDATE uploads SET hashed_parts = $2, hashed_md5 = $3, hashings = hashings + 1 WHERE id = $1`,
};

/** Remembers what the parts of an upload were hashed to. */
export async function recordPartsHash(
  database: Queryable,
  id: string,
  { partsPrint, md5 }: Pick<PartsHash, 'partsPrint' | 'md5'>,
): Promise<void> {
  await database.query(rememberHash, [id, partsPrint, md5]);
}

const endUpload: Statement = {
  name: 'end_multipart_upload',
  text: `UPDATE uploads SET status = $2, file_id = $3, completing_until = NULL
          WHERE id = $1 AND status = 'pending' RETURNING id`,
};

const dropParts: Statement = {
  name: 'drop_parts',
  text: 'UPDATE files SET gone_at = to_timestamp($2::float8) WHERE upload_id = $1 AND gone_at IS NULL',
};

/**
 * Replaces the parts of an upload by its file, whose bytes are in the store.
 *
 * @returns false: the upload has ended meanwhile, and nothing was changed.
 */
export async function completeMultipartUpload(
  database: Database,
  { id, accountId, keptSeconds }: MultipartUpload,
  file: NewUpload,
  now: number,
): Promise<boolean> {
  return database.transaction(async (transaction) => {
    await lockUploadRoom(transaction, accountId);
    const ended = await transaction.query(endUpload, [id, 'completed', file.id]);
    if (ended.length === 0) return false;
    // They make room for the file, which has the same bytes.
    await transaction.query(dropParts, [id, now / 1000]);
    await requireUploadRoom(transaction, accountId, file.sizeBytes, now);
    const createdAt = now / 1000;
    await insertFile(transaction, file, { createdAt, expiresAt: Math.floor(createdAt) + keptSeconds });
    return true;
  });
}

/** Drops the parts of an upload. One that has ended does not change. */
export async function cancelMultipartUpload(database: Database, id: string, now: number): Promise<void> {
  await database.transaction(async (transaction) => {
    const ended = await transaction.query(endUpload, [id, 'cancelled', null]);
    if (ended.length > 0) await transaction.query(dropParts, [id, now / 1000]);
  });
}

const deleteOld: Statement = {
  name: 'delete_old_multipart_uploads',
  text: `DELETE FROM uploads WHERE id IN (
           SELECT id FROM uploads WHERE expires_at <= to_timestamp($1::float8)
            ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)
         RETURNING id`,
};

/** Forgets uploads that expired long ago; their parts expire like other files. @returns how many, at most `limit`. */
export async function deleteOldMultipartUploads(
  database: Queryable,
  { now, limit }: { readonly now: number; readonly limit: number },
): Promise<number> {
  return (await database.query(deleteOld, [now / 1000 - REMEMBERED_SECONDS, limit])).length;
}
