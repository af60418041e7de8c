/**
 * What the repair examines: tasks that have not ended, and callbacks that are not delivered.
 */
import type { Queryable, Statement } from '../../database/database.ts';
import type { TaskStatus } from '@darkroom/api/facts/task-status';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { STAGE_DEADLINE } from './stage-deadline.ts';

/** A task that has not ended and has not changed for a while. */
export interface IdleTask {
  readonly id: TaskId;
  readonly accountId: string;
  readonly status: TaskStatus;
  readonly isPastDeadline: boolean;
  readonly hasStart: boolean;
  /** When its row last changed, to the microsecond, in PostgreSQL's text format. */
  readonly updatedAt: string;
  /** Where the page after this task begins. */
  readonly cursor: IdleCursor;
}

const selectIdle: Statement = {
  name: 'select_idle_tasks',
  text: `SELECT t.id, t.account_id AS "accountId", t.status,
                ${STAGE_DEADLINE} + make_interval(secs => CASE t.status WHEN 'queued' THEN 0 ELSE $2 END) < now()
                  AS "isPastDeadline",
                EXISTS (SELECT 1 FROM outbox o WHERE o.subject_id = t.id AND o.kind = 'start_task') AS "hasStart",
                t.updated_at::text AS "updatedAt",
                concat_ws(' ', t.id, t.created_at::text) AS cursor
           FROM tasks t
          WHERE t.completed_at IS NULL AND t.updated_at < now() - make_interval(secs => $1)
            AND (t.created_at, t.id) > ($3::timestamptz, $4)
          ORDER BY t.created_at, t.id
          LIMIT $5`,
};

/**
 * Where the next page of idle tasks begins: the id of the last one seen and its creation time, with its microseconds.
 * The time alone is not enough: tasks that were accepted together have the same.
 */
export type IdleCursor = string;

/** A cursor before every task. */
export const FIRST_IDLE_CURSOR: IdleCursor = ' -infinity';

const countStarted: Statement = {
  name: 'count_started_tasks',
  text: `SELECT count(*)::integer AS started FROM tasks WHERE completed_at IS NULL AND status <> 'queued'`,
};

/** How many tasks have begun and not ended. */
export async function countStartedTasks(database: Queryable): Promise<number> {
  const [row] = await database.query<{ started: number }>(countStarted);
  return row?.started ?? 0;
}

/**
 * Tasks that have not ended and have not changed for `idleSeconds`, oldest first.
 *
 * @param graceSeconds how long a stage may overrun its deadline before the repair handles it: the activity that works
 *   on it ends it first.
 */
export async function findIdleTasks(
  database: Queryable,
  options: { idleSeconds: number; graceSeconds: number; after: IdleCursor; limit: number },
): Promise<readonly IdleTask[]> {
  const space = options.after.indexOf(' ');
  return database.query<IdleTask>(selectIdle, [
    options.idleSeconds,
    options.graceSeconds,
    options.after.slice(space + 1),
    options.after.slice(0, space),
    options.limit,
  ]);
}
