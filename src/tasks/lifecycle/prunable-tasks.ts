/**
 * Which tasks may be pruned (docs/decisions/0026), page by page: account by account and in the order of their creation,
 * along an index that lists need anyway. Nothing is written here, and no row is locked.
 */
import type { Queryable, Statement } from '../../database/database.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';

/** What decides which tasks may be pruned. */
export interface Retention {
  /** Seconds since 1970: tasks that ended at this moment or later are retained. */
  readonly endedBefore: number;
  /** Whether inputs are retained for ever. Otherwise a task is pruned only after its input was erased. */
  readonly keepsInputs: boolean;
}

/**
 * SQL over `tasks t`, with the retention as $1 and $2: nothing acts on the task any more, nothing of it is in the store,
 * and nothing will be read from it again.
 */
const IS_PRUNABLE = `(t.completed_at < to_timestamp($1::float8) AND ($2::boolean OR t.input IS NULL)
  AND ${isMissing('outputs o WHERE o.task_id = t.id AND (o.gone_at IS NULL OR o.bytes_deleted_at IS NULL)')}
  AND ${isMissing("callbacks c WHERE c.task_id = t.id AND c.state IN ('waiting', 'pending')")}
  AND ${isMissing('batches b WHERE b.id = t.batch_id AND b.ended_at IS NULL')}
  AND ${isMissing("outbox x WHERE x.subject_id = t.id AND x.kind IN ('start_task', 'cancel_task', 'wake_task', 'stop_generation', 'deliver_callback')")}
  AND ${isMissing('upstream_slots s WHERE s.task_id = t.id')}
  AND ${isMissing('awaited_responses w WHERE w.task_id = t.id')})`;

/** Each is one probe of an index. For NOT EXISTS, the planner may choose to read a table as a whole. */
function isMissing(rows: string): string {
  return `(SELECT 1 FROM ${rows} LIMIT 1) IS NULL`;
}

/**
 * SQL for a task as it is exported: its rows in all tables that are pruned, with the names of their columns. The form
 * has a version of its own, because columns come and go.
 */
const RECORD = `jsonb_build_object(
  'format', 1,
  'task', to_jsonb(t),
  'events', (SELECT coalesce(jsonb_agg(to_jsonb(e) - 'task_id' - 'xid' ORDER BY e.seq), '[]') FROM task_events e WHERE e.task_id = t.id),
  'outputs', (SELECT coalesce(jsonb_agg(to_jsonb(o) - 'task_id' ORDER BY o.position), '[]') FROM outputs o WHERE o.task_id = t.id),
  'generation', (SELECT to_jsonb(g) - 'task_id' - 'awaited_by' FROM generations g WHERE g.task_id = t.id),
  'callback', (SELECT to_jsonb(c) - 'task_id' FROM callbacks c WHERE c.task_id = t.id),
  'callbackAttempts', (SELECT coalesce(jsonb_agg(to_jsonb(a) - 'task_id' ORDER BY a.attempt), '[]')
                         FROM callback_attempts a WHERE a.task_id = t.id))::text`;

/** A place in the order of all tasks: after this one. */
export interface Place {
  readonly accountId: string;
  /** As the database writes it, to the microsecond. */
  readonly createdAt: string;
  readonly taskId: string;
}

const selectAccount: Statement = {
  name: 'select_account_to_prune',
  text: `WITH following AS (SELECT id FROM accounts WHERE id > $1 ORDER BY id LIMIT 1000)
         SELECT (SELECT max(id) FROM following) AS last,
                (SELECT f.id FROM following f WHERE EXISTS (
                        SELECT 1 FROM tasks t WHERE t.account_id = f.id AND t.created_at < to_timestamp($2::float8))
                  ORDER BY id LIMIT 1) AS found`,
};

/** @returns the first account after this one that has tasks so old; undefined: there is none. */
export async function findAccountAfter(
  database: Queryable,
  accountId: string,
  { endedBefore }: Retention,
): Promise<string | undefined> {
  for (let after = accountId; ;) {
    const [row] = await database.query<{ last: string | null; found: string | null }>(selectAccount, [
      after,
      endedBefore,
    ]);
    if (row === undefined || row.last === null) return undefined;
    if (row.found !== null) return row.found;
    after = row.last;
  }
}

/** The most bytes of inputs, as they are stored, that one page has beyond its first task. */
const MAX_INPUT_BYTES = 1_000_000;

/** Of both the tasks that a page looks at, and those that it prunes: they are one object and one transaction. */
export const MAX_PAGE = 200;

/** The limit is written out: the planner would take a parameter for a tenth of the table, and read all outputs. */
const selectPage: Statement = {
  name: 'select_page_to_prune',
  text: `WITH scanned AS MATERIALIZED (
           SELECT id FROM tasks
            WHERE account_id = $3 AND (created_at, id) > ($4::timestamptz, $5)
              AND created_at < to_timestamp($1::float8)
            ORDER BY created_at, id LIMIT ${MAX_PAGE}),
         sized AS (
           SELECT t.id, t.created_at, ${IS_PRUNABLE} AS is_prunable,
                  sum(coalesce(pg_column_size(t.input), 0)) OVER (ORDER BY t.created_at, t.id) AS bytes,
                  row_number() OVER (ORDER BY t.created_at, t.id) AS number
             FROM scanned s CROSS JOIN LATERAL (SELECT * FROM tasks WHERE id = s.id LIMIT 1) t)
         SELECT id, created_at::text AS "createdAt", is_prunable AS "isPrunable" FROM sized
          WHERE number <= $6 AND (bytes <= ${MAX_INPUT_BYTES} OR number = 1)
          ORDER BY created_at, id`,
};

/** A part of the tasks of an account. */
export interface Page {
  /** Those of them that may be pruned. */
  readonly prunable: readonly TaskId[];
  /** The last one; undefined: there are no more. */
  readonly last: Place | undefined;
}

/** Reads the tasks after a place of one account, at most `limit` of them, and at most `MAX_PAGE`. */
export async function readPage(
  database: Queryable,
  place: Place,
  { endedBefore, keepsInputs }: Retention,
  limit: number,
): Promise<Page> {
  const { accountId, createdAt, taskId } = place;
  const rows = await database.query<{ id: TaskId; createdAt: string; isPrunable: boolean }>(selectPage, [
    endedBefore,
    keepsInputs,
    accountId,
    createdAt,
    taskId,
    limit,
  ]);
  const last = rows.at(-1);
  return {
    prunable: rows.flatMap(({ id, isPrunable }) => (isPrunable ? [id] : [])),
    last: last === undefined ? undefined : { accountId, createdAt: last.createdAt, taskId: last.id },
  };
}

/** A task as it is exported. */
export interface PrunableTask {
  readonly id: TaskId;
  readonly createdAt: string;
  readonly line: string;
  /** Of the line. */
  readonly sha256: string;
}

const selectRecords: Statement = {
  name: 'select_tasks_to_export',
  text: `SELECT id, "createdAt", line, encode(sha256(convert_to(line, 'UTF8')), 'hex') AS sha256
           FROM (SELECT t.id, t.created_at,
                        to_char(t.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS "createdAt",
                        ${RECORD} AS line
                   FROM tasks t WHERE t.id = ANY ($1)) r
          ORDER BY created_at, id`,
};

/** Reads tasks as they are exported, in the order of their creation. */
export function readRecords(database: Queryable, ids: readonly TaskId[]): Promise<readonly PrunableTask[]> {
  return database.query<PrunableTask>(selectRecords, [ids]);
}

const lockTasks: Statement = {
  name: 'lock_tasks_to_prune',
  text: 'SELECT id FROM tasks WHERE id = ANY ($1) ORDER BY id FOR UPDATE SKIP LOCKED',
};
/** In a statement of its own, which sees what others committed before the rows were locked. */
const selectUnchanged: Statement = {
  name: 'select_unchanged_tasks_to_prune',
  text: `SELECT t.id FROM unnest($3::text[], $4::text[]) AS exported (id, sha256)
          CROSS JOIN LATERAL (SELECT * FROM tasks WHERE id = exported.id LIMIT 1) t
          WHERE ${IS_PRUNABLE} AND encode(sha256(convert_to(${RECORD}, 'UTF8')), 'hex') = exported.sha256`,
};

/**
 * Locks exported tasks until the end of the transaction. Everything that changes an ended task, or rows of it, locks
 * the task first.
 *
 * @returns those that are still as they were exported, and may still be pruned.
 */
export async function lockUnchanged(
  transaction: Queryable,
  exported: readonly PrunableTask[],
  { endedBefore, keepsInputs }: Retention,
): Promise<readonly TaskId[]> {
  const locked = await transaction.query<{ id: TaskId }>(lockTasks, [exported.map(({ id }) => id)]);
  const ids = new Set(locked.map(({ id }) => id));
  const own = exported.filter(({ id }) => ids.has(id));
  const unchanged = await transaction.query<{ id: TaskId }>(selectUnchanged, [
    endedBefore,
    keepsInputs,
    own.map(({ id }) => id),
    own.map(({ sha256 }) => sha256),
  ]);
  return unchanged.map(({ id }) => id);
}
