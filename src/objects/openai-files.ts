/**
 * Files in the form of OpenAI's API (contract §7.5): uploads whose client sent a purpose. They are rows of the same
 * table, and expire, count and are deleted in the same way; only their ids begin with `file-`.
 */
import type { StoredPurpose } from '@darkroom/api/openai/files';
import type { Queryable, Statement } from '../database/database.ts';
import { UPLOAD_COLUMNS, findUploads } from './uploads.ts';
import type { Upload } from './uploads.ts';

/** The maximum size of a file of purpose `batch`: OpenAI's. */
export const MAX_BATCH_FILE_BYTES = 200_000_000;

/** An upload that has a purpose. */
export type PurposedFile = Upload & { readonly purpose: StoredPurpose; readonly fileName: string };

/** Whether an upload has the form of OpenAI's API. */
export function isPurposed(upload: Upload): upload is PurposedFile {
  return upload.purpose !== null && upload.fileName !== null;
}

/** `file-…` for `file_…`. */
export function purposedId(id: string): string {
  return id.replace(/^file_/, 'file-');
}

export interface FilePage {
  readonly files: readonly PurposedFile[];
  readonly hasMore: boolean;
}

export interface FilePageOptions {
  readonly purpose?: StoredPurpose | undefined;
  readonly order: 'asc' | 'desc';
  readonly limit: number;
  /** The id of a file of the same account, deleted or not; undefined: from the first. */
  readonly after?: string | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

function listStatement(order: 'asc' | 'desc'): Statement {
  const [comparison, direction] = order === 'asc' ? ['>', 'ASC'] : ['<', 'DESC'];
  return {
    name: `list_files_${order}`,
    text: `SELECT ${UPLOAD_COLUMNS} FROM files
            WHERE account_id = $1 AND purpose IS NOT NULL AND gone_at IS NULL
              AND expires_at > to_timestamp($2::float8)
              AND ($3::text IS NULL OR purpose = $3)
              AND ($4::text IS NULL
                   OR (created_at, id) ${comparison} ((SELECT created_at FROM files WHERE id = $4 AND account_id = $1), $4))
            ORDER BY created_at ${direction}, id ${direction} LIMIT $5`,
  };
}
const LIST_STATEMENTS = { asc: listStatement('asc'), desc: listStatement('desc') };

/** @returns undefined: `after` is no file of this account. */
export async function listFiles(
  database: Queryable,
  accountId: string,
  { purpose, order, limit, after, now }: FilePageOptions,
): Promise<FilePage | undefined> {
  if (after !== undefined) {
    const [last] = await findUploads(database, [after]);
    if (last?.accountId !== accountId) return undefined;
  }
  const values = [accountId, now / 1000, purpose ?? null, after ?? null, limit + 1];
  const rows = (await database.query<Upload>(LIST_STATEMENTS[order], values)).filter(isPurposed);
  return { files: rows.slice(0, limit), hasMore: rows.length > limit };
}
