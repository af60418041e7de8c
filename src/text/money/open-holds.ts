/**
 * What text calls hold at this moment, for the metrics: a few rows of a partial index, whatever the number of calls.
 */
import type { Queryable, Statement } from '../../database/database.ts';
import type { Hold } from '../../telemetry/metrics-service.ts';

const selectOpenHolds: Statement = {
  name: 'select_open_text_holds',
  text: `SELECT count(*)::integer AS count, coalesce(sum(held_micro_usd), 0)::float8 AS "microUsd",
                coalesce(greatest(extract(epoch FROM now() - min(created_at)), 0), 0)::float8 AS "oldestSeconds"
           FROM text_calls WHERE settled_at IS NULL`,
};

/** How many text calls are not settled, what they hold, and for how long the oldest has been open. */
export async function readOpenTextHolds(database: Queryable): Promise<Hold> {
  const [row] = await database.query<Hold>(selectOpenHolds);
  return row ?? { count: 0, microUsd: 0, oldestSeconds: 0 };
}
