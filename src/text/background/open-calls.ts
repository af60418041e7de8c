/** The text calls in the background that have not ended, for the metrics: rows of a partial index. */
import type { Queryable, Statement } from '../../database/database.ts';
import type { Backlog, OpenCalls } from '../../telemetry/metrics-service.ts';

const selectOpenCalls: Statement = {
  name: 'select_open_background_calls',
  text: `SELECT CASE WHEN batch_id IS NULL THEN 'response' ELSE 'batch_line' END AS kind, state, count(*)::integer AS count,
                greatest(extract(epoch FROM now() - min(created_at)), 0)::float8 AS "oldestSeconds"
           FROM background_calls WHERE ended_at IS NULL GROUP BY 1, 2`,
};

type OpenCallsRow = Backlog & { readonly kind: keyof OpenCalls; readonly state: keyof OpenCalls['response'] };

/** How many there are of each kind in each state, and for how long the oldest has been open. */
export async function readOpenCalls(database: Queryable): Promise<OpenCalls> {
  const rows = await database.query<OpenCallsRow>(selectOpenCalls);
  const of = (kind: OpenCallsRow['kind'], state: OpenCallsRow['state']): Backlog => {
    const row = rows.find((each) => each.kind === kind && each.state === state);
    return { count: row?.count ?? 0, oldestSeconds: row?.oldestSeconds ?? 0 };
  };
  const ofKind = (kind: OpenCallsRow['kind']): OpenCalls['response'] => ({
    queued: of(kind, 'queued'),
    in_progress: of(kind, 'in_progress'),
  });
  return { response: ofKind('response'), batch_line: ofKind('batch_line') };
}
