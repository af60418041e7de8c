/** Starts batches again whose workflow is lost: one is worked on all the time, and its row says when it last was. */
import type { Queryable, Statement } from '../../database/database.ts';

/** After this long without any work, the workflow is lost. */
const STALLED_MINUTES = 5;

const insertStalledBatches: Statement = {
  name: 'insert_stalled_batches',
  text: `INSERT INTO outbox (kind, account_id, subject_id, is_ready)
         SELECT 'start_batch', account_id, id, true FROM batches
          WHERE ended_at IS NULL AND advanced_at < now() - make_interval(mins => ${STALLED_MINUTES})
          ORDER BY advanced_at LIMIT $1
         ON CONFLICT (kind, subject_id) DO NOTHING
         RETURNING subject_id`,
};

/** @returns how many, at most `limit`. */
export async function requestStalledBatches(database: Queryable, limit: number): Promise<number> {
  return (await database.query(insertStalledBatches, [limit])).length;
}
