/**
 * The backlog of the whole installation, for its metrics: open tasks with what they hold, outbox rows pending for
 * Temporal, and callbacks that are not delivered. Each statement reads only open rows, by a partial index: its cost
 * grows with the backlog and not with the history.
 */
import type { Queryable, Statement } from '../../database/database.ts';
import type { Backlog } from '../../telemetry/metrics-service.ts';
import { outboxWaitSeconds } from './outbox.ts';

/** `oldestSeconds`: for how long the oldest one has been in this status. */
export interface OpenTasks extends Backlog {
  readonly status: 'queued' | 'handling' | 'archiving';
  readonly heldMicroUsd: number;
  /** For how long the oldest hold has been open. */
  readonly oldestHoldSeconds: number;
}

const selectOpenTasks: Statement = {
  name: 'select_open_tasks_by_status',
  text: `SELECT status, count(*)::integer AS count, sum(held_micro_usd)::float8 AS "heldMicroUsd",
                greatest(extract(epoch FROM now() - min(created_at)), 0)::float8 AS "oldestHoldSeconds",
                greatest(extract(epoch FROM now() - min(CASE status WHEN 'queued' THEN created_at
                                                                    WHEN 'handling' THEN started_at
                                                                    ELSE updated_at END)), 0)::float8 AS "oldestSeconds"
           FROM tasks WHERE completed_at IS NULL GROUP BY status`,
};

/** Tasks that have not ended, by status; a status without tasks is absent. */
export async function readOpenTasks(database: Queryable): Promise<readonly OpenTasks[]> {
  return database.query<OpenTasks>(selectOpenTasks);
}

/** Within a kind, rows that were claimed equally often come due in the order in which they were written. */
const selectOutbox: Statement = {
  name: 'select_outbox_backlog',
  text: `SELECT kind, deliveries, count(*)::integer AS count, extract(epoch FROM now() - min(due_at))::float8 AS "dueSeconds"
           FROM outbox WHERE is_ready GROUP BY kind, deliveries`,
};

/** Rows that a launcher has made ready, or that always are: the others are queued tasks (unclaimed-starts.ts). */
export async function readOutboxBacklog(database: Queryable): Promise<ReadonlyMap<string, Backlog>> {
  const rows = await database.query<{ kind: string; deliveries: number; count: number; dueSeconds: number }>(
    selectOutbox,
  );
  const backlog = new Map<string, Backlog>();
  for (const { kind, deliveries, count, dueSeconds } of rows) {
    const others = backlog.get(kind);
    const oldestSeconds = Math.max(outboxWaitSeconds(deliveries, dueSeconds), others?.oldestSeconds ?? 0);
    backlog.set(kind, { count: count + (others?.count ?? 0), oldestSeconds });
  }
  return backlog;
}

/** A callback that is being attempted has no next attempt: it has been due since its last one began. */
const selectCallbacks: Statement = {
  name: 'select_callback_backlog',
  text: `SELECT count(*)::integer AS count,
                greatest(extract(epoch FROM now() - min(coalesce(
                  c.next_attempt_at,
                  (SELECT max(a.started_at) FROM callback_attempts a WHERE a.task_id = c.task_id)))), 0)::float8
                  AS "oldestSeconds"
           FROM callbacks c WHERE c.state = 'pending'`,
};

/** Callbacks that are neither delivered nor given up, and for how long the longest overdue has been due. */
export async function readCallbackBacklog(database: Queryable): Promise<Backlog> {
  const [row] = await database.query<{ count: number; oldestSeconds: number | null }>(selectCallbacks);
  return { count: row?.count ?? 0, oldestSeconds: row?.oldestSeconds ?? 0 };
}
