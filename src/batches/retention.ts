/** How long a batch is listed after its end. */
import type { Queryable, Statement } from '../database/database.ts';
import { KEYED_BATCH_PREFIX } from '../domain/ids.ts';

/** As long as its files are kept at most. */
const KEPT_SECONDS = 30 * 86_400;

const deleteOld: Statement = {
  name: 'delete_old_batches',
  text: `WITH old AS (
           DELETE FROM batches WHERE id IN (
             SELECT id FROM batches WHERE ended_at <= to_timestamp($1::float8) AND NOT starts_with(id, $3)
              ORDER BY ended_at LIMIT $2 FOR UPDATE SKIP LOCKED)
           RETURNING id),
         rejections AS (DELETE FROM batch_rejections WHERE batch_id IN (SELECT id FROM old))
         SELECT id FROM old`,
};

/**
 * Deletes batches that ended long ago; their tasks and files are not affected. Those with an Idempotency-Key are kept:
 * the key would create the batch a second time under the same id, and the ids of its lines follow from that.
 *
 * @returns how many, at most `limit`.
 */
export async function deleteOldBatches(
  database: Queryable,
  { now, limit }: { readonly now: number; readonly limit: number },
): Promise<number> {
  const rows = await database.query(deleteOld, [now / 1000 - KEPT_SECONDS, limit, KEYED_BATCH_PREFIX]);
  return rows.length;
}
