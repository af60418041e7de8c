/** The batches that have not ended, for the metrics: rows of a partial index. */
import type { Queryable, Statement } from '../database/database.ts';
import type { Backlog, OpenBatches } from '../telemetry/metrics-service.ts';

const selectOpen: Statement = {
  name: 'select_open_batches',
  text: `SELECT status, count(*)::integer AS count,
                greatest(extract(epoch FROM now() - min(created_at)), 0)::float8 AS "oldestSeconds"
           FROM batches WHERE ended_at IS NULL GROUP BY status`,
};

type OpenBatchesRow = Backlog & { readonly status: keyof OpenBatches };

/** How many there are in each status, and for how long the oldest has been open. */
export async function readOpenBatches(database: Queryable): Promise<OpenBatches> {
  const rows = await database.query<OpenBatchesRow>(selectOpen);
  const of = (status: OpenBatchesRow['status']): Backlog => {
    const row = rows.find((each) => each.status === status);
    return { count: row?.count ?? 0, oldestSeconds: row?.oldestSeconds ?? 0 };
  };
  return {
    validating: of('validating'),
    in_progress: of('in_progress'),
    cancelling: of('cancelling'),
    finalizing: of('finalizing'),
  };
}
