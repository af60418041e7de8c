/**
 * What the repair looks at: tasks that are not over, and callbacks that are not delivered.
 */
import type { Queryable, Statement } from '../database/database.ts';
import type { TaskStatus } from '../domain/task-status.ts';
import type { TaskId } from '../domain/workflow-ids.ts';

/** A task that is not over and has not changed for a while. */
export interface IdleTask {
  readonly id: TaskId;
  readonly status: TaskStatus;
  readonly isPastDeadline: boolean;
  readonly hasStart: boolean;
  /** Where the page behind this task begins. */
  readonly cursor: IdleCursor;
}

const selectIdle: Statement = {
  name: 'select_idle_tasks',
  text: `SELECT t.id, t.status,
                CASE t.status
                  WHEN 'queued' THEN t.queue_deadline_at < now()
                  WHEN 'handling' THEN t.deadline_at + make_interval(secs => $2) < now()
                  ELSE t.archiving_deadline_at + make_interval(secs => $2) < now()
                END AS "isPastDeadline",
                EXISTS (SELECT 1 FROM outbox o WHERE o.task_id = t.id AND o.kind = 'start_task') AS "hasStart",
                t.created_at::text AS cursor
           FROM tasks t
          WHERE t.completed_at IS NULL AND t.updated_at < now() - make_interval(secs => $1)
            AND t.created_at > $3
          ORDER BY t.created_at
          LIMIT $4`,
};

/** Where the next page of idle tasks begins: the creation time of the last one seen, with its microseconds. */
export type IdleCursor = string;

/** Before every task. */
export const FIRST_IDLE_CURSOR: IdleCursor = '-infinity';

/**
 * Tasks that are not over and have not changed for `idleSeconds`, oldest first.
 *
 * @param graceSeconds how long a stage may overrun its deadline before it is the repair's business: the activity that
 *   works on it ends it first.
 */
export async function findIdleTasks(
  database: Queryable,
  options: { idleSeconds: number; graceSeconds: number; after: IdleCursor; limit: number },
): Promise<readonly IdleTask[]> {
  return database.query<IdleTask>(selectIdle, [
    options.idleSeconds,
    options.graceSeconds,
    options.after,
    options.limit,
  ]);
}
