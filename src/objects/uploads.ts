/**
 * The rows of uploaded files: what an account may refer to in its inputs (contract §7 "Uploads"), for 24 h, or as long
 * as a client of OpenAI's API wants (openai-files.ts). The bytes are in the object store under `files/`; a row is
 * written when they are complete, so an interrupted upload leaves none.
 *
 * An upload that has expired gets no new URL. Its existing URLs work to their end, so it is marked gone only then.
 */
import type { StoredPurpose } from '@darkroom/api/openai/files';
import type { MediaMetadata } from '@darkroom/media/inspect';
import type { Database, Queryable, Statement } from '../database/database.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';
import { RateLimitedError } from '../limits/rate-limiter.ts';
import { createTenantShares } from '../limits/tenant-shares.ts';
import type { TenantShares } from '../limits/tenant-shares.ts';
import type { ShareMetrics } from '../telemetry/metrics.ts';

/** The maximum size of one upload. Contract §7: "≤ 100 MB". */
export const MAX_UPLOAD_BYTES = 100_000_000;

/** How many seconds an upload in our form is kept. Contract §7: "kept 24 h". */
export const UPLOAD_KEPT_SECONDS = 24 * 60 * 60;

/**
 * The maximum total size of an account's uploads: 100 of the largest files, so that uploads are no free storage. This
 * limit is ours.
 */
export const ACCOUNT_UPLOAD_BYTES = 10_000_000_000;

const FILE_ID = /^file[_-][0-9A-HJKMNP-TV-Z]{26}$/;

/** Whether a text has the form of an upload's id: `file_…` in our form, `file-…` in OpenAI's. */
export function isFileId(text: string): boolean {
  return FILE_ID.test(text);
}

/** What the inspection found of a file, which is recorded with it and not found out again; null: it has none. */
export interface FileFacts {
  readonly mimeType: string;
  /** In pixels, upright. */
  readonly width: number | null;
  readonly height: number | null;
  readonly durationSeconds: number | null;
  /** Of its audio. */
  readonly channels: number | null;
}

/** What is recorded of a file by its inspection. */
export function factsOf(metadata: Omit<MediaMetadata, 'kind' | 'extension'>): FileFacts {
  const { mimeType, width = null, height = null, durationSeconds = null, channels = null } = metadata;
  return { mimeType, width, height, durationSeconds, channels };
}

/** Everything that is recorded of an upload. */
export interface Upload extends FileFacts {
  readonly id: string;
  readonly accountId: string;
  readonly objectKey: string;
  readonly sizeBytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
  /** What its client wants to use it for, and the name that the client gave it; null: it has our form. */
  readonly purpose: StoredPurpose | null;
  readonly fileName: string | null;
  /** Unix seconds. */
  readonly createdAt: number;
  /** Unix seconds: from then on it gets no new URL. */
  readonly expiresAt: number;
  /** Deleted, or expired long enough ago that no URL of it is left. */
  readonly isGone: boolean;
}

/** There is no such upload, it is another account's, or it is gone: one error for all (contract §1). */
export class UploadNotFoundError extends DarkroomError {
  override readonly name = 'UploadNotFoundError';
  override readonly kind = 'not_found';
}

/** The account stores as many uploads as it may. */
export class UploadsFullError extends DarkroomError {
  override readonly name = 'UploadsFullError';
  override readonly kind = 'rate_limited';
  /** Whole seconds, at least 1, until the oldest upload expires. */
  override readonly retryAfterSeconds: number;

  constructor(retryAfterSeconds: number) {
    super(
      'this account keeps 10 GB of uploads, which is all it may; delete some with DELETE /v1/files/<id>, or wait until some have expired',
    );
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/**
 * The maximum number of concurrent uploads of one account in one process: their bytes are not counted in the database
 * yet.
 */
const UPLOADS_AT_ONCE = 16;
/** `Retry-After` for an upload above that limit: one of the others ends soon. */
const RETRY_UPLOAD_SECONDS = 5;

/** Counts the uploads in progress in this process; throws `RateLimitedError` at the limit. */
export function createUploadSlots(metrics?: ShareMetrics): TenantShares {
  return createTenantShares({
    resource: 'uploads',
    perTenant: UPLOADS_AT_ONCE,
    createError: () => new RateLimitedError(RETRY_UPLOAD_SECONDS),
    metrics,
  });
}

/** Where an upload's bytes are stored; directories are shared by the ids' last two characters, which spread evenly. */
export function uploadKey(id: string): string {
  return `files/${id.slice(-2)}/${id}-original`;
}

// Uploads of one account are recorded one after another, so that together they cannot pass the limit.
const lockUploads: Statement = {
  name: 'lock_uploads',
  text: `SELECT pg_advisory_xact_lock(hashtextextended('uploads:' || $1::text, 0))`,
};

const sumUploads: Statement = {
  name: 'sum_uploads',
  // The second sum is of the files that are being joined beside their parts (multipart-uploads.ts).
  text: `SELECT (coalesce(sum(size_bytes), 0) + (
                  SELECT coalesce(sum(u.size_bytes), 0) FROM uploads u
                   WHERE u.account_id = $1 AND u.completing_until > to_timestamp($2::float8)))::float8 AS "sizeBytes",
                extract(epoch FROM min(expires_at))::float8 AS "nextExpiry"
           FROM files WHERE account_id = $1 AND gone_at IS NULL AND expires_at > to_timestamp($2::float8)`,
};

const insertUpload: Statement = {
  name: 'insert_upload',
  text: `INSERT INTO files (id, account_id, object_key, mime_type, size_bytes, sha256, created_at, expires_at, purpose,
                            filename, width, height, duration_seconds, channels)
         VALUES ($1, $2, $3, $4, $5, $6, to_timestamp($7::float8), to_timestamp($8::float8), $9, $10, $11, $12, $13,
                 $14)`,
};

/**
 * Whether an account may store that much more at this moment.
 *
 * @param now milliseconds since 1970.
 * @throws {UploadsFullError} it may not.
 */
export async function requireUploadRoom(
  database: Queryable,
  accountId: string,
  sizeBytes: number,
  now: number,
): Promise<void> {
  const [sum] = await database.query<{ sizeBytes: number; nextExpiry: number | null }>(sumUploads, [
    accountId,
    now / 1000,
  ]);
  if (sum === undefined || sum.sizeBytes + sizeBytes <= ACCOUNT_UPLOAD_BYTES) return;
  throw new UploadsFullError(Math.max(1, Math.ceil((sum.nextExpiry ?? 0) - now / 1000)));
}

/** What is recorded of an upload when it is created. */
export type NewUpload = Omit<Upload, 'createdAt' | 'expiresAt' | 'isGone' | keyof FileFacts> &
  Pick<Upload, 'mimeType'> &
  Partial<FileFacts>;

/** Keeps the other uploads of an account waiting until the transaction has recorded its own. */
export async function lockUploadRoom(transaction: Queryable, accountId: string): Promise<void> {
  await transaction.query(lockUploads, [accountId]);
}

/** Inserts the row of a file; `createdAt` and `expiresAt` in Unix seconds. */
export async function insertFile(
  transaction: Queryable,
  file: NewUpload,
  { createdAt, expiresAt }: Pick<Upload, 'createdAt' | 'expiresAt'>,
): Promise<void> {
  const { id, accountId, objectKey, mimeType, sizeBytes, sha256, purpose, fileName } = file;
  const { width = null, height = null, durationSeconds = null, channels = null } = file;
  const described = [id, accountId, objectKey, mimeType, sizeBytes, sha256, createdAt, expiresAt, purpose, fileName];
  const values = [...described, width, height, durationSeconds, channels];
  await transaction.query(insertUpload, values);
}

/**
 * Records an upload whose bytes are in the store.
 *
 * @param now milliseconds since 1970: it is kept from then.
 * @throws {UploadsFullError} with it the account would store more than it may.
 */
export async function recordUpload(
  database: Database,
  upload: NewUpload,
  { keptSeconds, now }: { readonly keptSeconds: number; readonly now: number },
): Promise<Upload> {
  const { accountId, sizeBytes } = upload;
  const createdAt = now / 1000;
  const expiresAt = Math.floor(createdAt) + keptSeconds;
  await database.transaction(async (transaction) => {
    await lockUploadRoom(transaction, accountId);
    await requireUploadRoom(transaction, accountId, sizeBytes, now);
    await insertFile(transaction, upload, { createdAt, expiresAt });
  });
  const facts = { width: null, height: null, durationSeconds: null, channels: null };
  return { ...facts, ...upload, createdAt, expiresAt, isGone: false };
}

/** SQL: the columns of an `Upload`. */
export const UPLOAD_COLUMNS = `id, account_id AS "accountId", object_key AS "objectKey", mime_type AS "mimeType",
                size_bytes::float8 AS "sizeBytes", sha256, purpose, filename AS "fileName", width, height,
                duration_seconds AS "durationSeconds", channels,
                extract(epoch FROM created_at)::float8 AS "createdAt",
                extract(epoch FROM expires_at)::float8 AS "expiresAt", gone_at IS NOT NULL AS "isGone"`;

const selectUploads: Statement = {
  name: 'select_uploads',
  text: `SELECT ${UPLOAD_COLUMNS} FROM files WHERE id = ANY($1)`,
};

/** The uploads of these ids, of any account and gone or not; unknown ids are missing. */
export async function findUploads(database: Queryable, ids: readonly string[]): Promise<readonly Upload[]> {
  return ids.length === 0 ? [] : database.query<Upload>(selectUploads, [ids]);
}

/**
 * Reads an upload for its owner.
 *
 * @param now milliseconds since 1970: one that has expired by then is not found.
 * @throws {UploadNotFoundError}
 */
export async function readUpload(database: Queryable, accountId: string, id: string, now: number): Promise<Upload> {
  const [upload] = await findUploads(database, [id]);
  if (upload?.accountId !== accountId || upload.isGone || upload.expiresAt <= now / 1000) {
    throw new UploadNotFoundError();
  }
  return upload;
}

/**
 * Reads an upload for the holder of a URL of it that has not expired.
 *
 * @throws {UploadNotFoundError}
 */
export async function readServableUpload(database: Queryable, id: string): Promise<Upload> {
  const [upload] = await findUploads(database, [id]);
  if (upload === undefined || upload.isGone) throw new UploadNotFoundError();
  return upload;
}

const deleteUpload: Statement = {
  name: 'delete_upload',
  text: `UPDATE files SET gone_at = to_timestamp($3::float8)
          WHERE id = $1 AND account_id = $2 AND gone_at IS NULL AND expires_at > to_timestamp($3::float8)
          RETURNING purpose`,
};

/**
 * Removes an upload for all readers at once; its bytes follow with the sweep, once no open task needs them.
 *
 * @param now milliseconds since 1970.
 * @throws {UploadNotFoundError}
 */
export async function markUploadDeleted(
  database: Queryable,
  accountId: string,
  id: string,
  now: number,
): Promise<Pick<Upload, 'purpose'>> {
  const [row] = await database.query<Pick<Upload, 'purpose'>>(deleteUpload, [id, accountId, now / 1000]);
  if (row === undefined) throw new UploadNotFoundError();
  return row;
}

const expireUploads: Statement = {
  name: 'expire_uploads',
  text: `UPDATE files SET gone_at = to_timestamp($1::float8)
          WHERE id IN (SELECT id FROM files
                        WHERE gone_at IS NULL AND expires_at <= to_timestamp($2::float8)
                        ORDER BY expires_at LIMIT $3 FOR UPDATE SKIP LOCKED)
          RETURNING id`,
};

/**
 * Marks the uploads gone of which no URL can be left. Safe to run at any time and twice.
 *
 * @param urlGraceSeconds how long the last URL of an upload outlives it: the lifetime of URLs.
 * @returns how many, at most `limit`.
 */
export async function expireFiles(
  database: Queryable,
  { now, urlGraceSeconds, limit }: { readonly now: number; readonly urlGraceSeconds: number; readonly limit: number },
): Promise<number> {
  const rows = await database.query(expireUploads, [now / 1000, now / 1000 - urlGraceSeconds, limit]);
  return rows.length;
}

/** Much longer than anybody lists files for, and as long as the other records of what is gone. */
const GONE_KEPT_DAYS = 30;
const SECONDS_PER_DAY = 86_400;

const deleteGone: Statement = {
  name: 'delete_files_long_gone',
  text: `DELETE FROM files
          WHERE id IN (SELECT id FROM files
                        WHERE bytes_deleted_at <= to_timestamp($1::float8) AND gone_at IS NOT NULL
                        ORDER BY bytes_deleted_at LIMIT $2 FOR UPDATE SKIP LOCKED)
          RETURNING id`,
};

/**
 * Deletes the rows of files whose bytes were deleted long ago. To readers, inputs and batches such a file is one that
 * never was (contract §7.5), so that nothing needs its row, except a client that lists files and continues after one
 * that was deleted meanwhile. Safe to run at any time, and twice at the same time.
 *
 * @param now milliseconds since 1970.
 * @returns how many, at most `limit`.
 */
export async function pruneFiles(
  database: Queryable,
  { now, limit }: { readonly now: number; readonly limit: number },
): Promise<number> {
  return (await database.query(deleteGone, [now / 1000 - GONE_KEPT_DAYS * SECONDS_PER_DAY, limit])).length;
}
