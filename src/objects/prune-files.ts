/**
 * Rows of files that are gone, and whose bytes are deleted. To readers, inputs and batches such a file is one that never
 * was (contract §7.5), so that nothing needs its row, except a client that lists files and continues after one that was
 * deleted meanwhile.
 */
import type { Queryable, Statement } from '../database/database.ts';

/** Much longer than anybody lists files for, and as long as the other records of what is gone. */
const KEPT_DAYS = 30;
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
 * Deletes the rows of files whose bytes were deleted long ago. Safe to run at any time, and twice at the same time.
 *
 * @param now milliseconds since 1970.
 * @returns how many, at most `limit`.
 */
export async function pruneFiles(
  database: Queryable,
  { now, limit }: { readonly now: number; readonly limit: number },
): Promise<number> {
  return (await database.query(deleteGone, [now / 1000 - KEPT_DAYS * SECONDS_PER_DAY, limit])).length;
}
