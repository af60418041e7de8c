/**
 * The text calls of all accounts, for operators: how they ended, where and why, and what they hold. A call that was
 * rejected before its money was held is none.
 */
import type { TextCallStatus } from '@darkroom/api/admin/admin-work';
import type { Queryable, Statement } from '../../database/database.ts';
import { readNewestFirst } from '../../database/newest-first.ts';
import type { NewestPage } from '../../database/newest-first.ts';
import type { ListedWork, WorkQuery } from '../../tasks/listing/list-of-operators.ts';
import type { Hold } from '../../telemetry/metrics-service.ts';

/** SQL over `text_calls t`. Calls that were settled for a dead process have no outcome. */
const STATUS = `CASE WHEN t.settled_at IS NULL THEN 'in_progress' ELSE coalesce(t.outcome, 'unknown') END`;

const COLUMNS = `t.account_id AS "accountId", t.key_id AS "keyId", t.model, ${STATUS} AS status,
  t.error_reason AS reason, t.upstream, t.created_at AS "createdAt", t.settled_at AS "endedAt",
  t.held_micro_usd AS "heldMicroUsd", t.captured_micro_usd AS "capturedMicroUsd"`;

const MATCHES = `($1::text[] IS NULL OR ${STATUS} = ANY ($1)) AND ($2::text IS NULL OR t.model = $2)
  AND ($3::text IS NULL OR t.error_reason = $3) AND ($4::text IS NULL OR t.upstream = $4)
  AND ($5::text IS NULL OR t.account_id = $5) AND ($6::text IS NULL OR t.key_id = $6)
  AND ($7::text IS NULL OR EXISTS (SELECT FROM text_call_end_users e WHERE e.call_id = t.id AND e.end_user = $7))
  AND t.process_id IS NOT NULL`;

/** Lists text calls of all accounts, newest first. */
export function listAllCalls(
  database: Queryable,
  { statuses, model, upstream, accountId, keyId, user, reason, ...page }: WorkQuery<TextCallStatus>,
): Promise<NewestPage<ListedWork<TextCallStatus>>> {
  const isFailed = reason !== undefined || (statuses?.every((status) => status === 'failed') ?? false);
  return readNewestFirst(database, {
    ...page,
    name: isFailed ? 'failed_text_calls' : 'text_calls',
    scanned: `FROM text_calls t WHERE ${isFailed ? `t.outcome = 'failed'` : 'true'}`,
    columns: COLUMNS,
    matches: MATCHES,
    values: [statuses, model, reason, upstream, accountId, keyId, user].map((value) => value ?? null),
  });
}

/** A few rows of a partial index, whatever the number of calls. */
const selectOpenHolds: Statement = {
  name: 'select_open_text_holds',
  text: `SELECT count(*)::integer AS count, coalesce(sum(held_micro_usd), 0)::float8 AS "microUsd",
                coalesce(greatest(extract(epoch FROM now() - min(created_at)), 0), 0)::float8 AS "oldestSeconds"
           FROM text_calls WHERE settled_at IS NULL`,
};

/** For the metrics: how many text calls are not settled, what they hold, and for how long the oldest has been open. */
export async function readOpenTextHolds(database: Queryable): Promise<Hold> {
  const [row] = await database.query<Hold>(selectOpenHolds);
  return row ?? { count: 0, microUsd: 0, oldestSeconds: 0 };
}
