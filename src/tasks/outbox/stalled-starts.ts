/** Starts work again whose workflow is lost: what is open is worked on all the time, and its row says when it last was. */
import type { Queryable, Statement } from '../../database/database.ts';

/** After this long without any work, the workflow is lost. */
const STALLED_MINUTES = 5;

/**
 * @param workedOnAt the column with the time. @param condition which rows have workflows.
 * @returns a statement whose only value is the maximum number of rows.
 */
function stalledStarts(kind: string, table: string, workedOnAt: string, condition = 'true'): Statement {
  return {
    name: `insert_stalled_${table}`,
    text: `INSERT INTO outbox (kind, account_id, subject_id, is_ready)
           SELECT '${kind}', account_id, id, true FROM ${table}
            WHERE ended_at IS NULL AND ${condition} AND ${workedOnAt} < now() - make_interval(mins => ${STALLED_MINUTES})
            ORDER BY ${workedOnAt} LIMIT $1
           ON CONFLICT (kind, subject_id) DO NOTHING
           RETURNING subject_id`,
  };
}

const insertStalledBatches = stalledStarts('start_batch', 'batches', 'advanced_at');
const insertStalledCalls = stalledStarts('start_background_call', 'background_calls', 'touched_at', 'is_admitted');

/** Starts batches again whose workflow is lost. @returns how many, at most `limit`. */
export async function requestStalledBatches(database: Queryable, limit: number): Promise<number> {
  return (await database.query(insertStalledBatches, [limit])).length;
}

/** Starts text calls in the background again whose workflow is lost. @returns how many, at most `limit`. */
export async function requestStalledCalls(database: Queryable, limit: number): Promise<number> {
  return (await database.query(insertStalledCalls, [limit])).length;
}
