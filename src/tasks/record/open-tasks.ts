/** Tasks that have not ended: those that the repair examines, and those that it deals with. */
import type { Queryable, Statement } from '../../database/database.ts';
import type { TaskStatus } from '@darkroom/api/facts/task-status';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { MAX_TASKS_NEEDING_REPAIR } from '@darkroom/api/facts/limits';

/** How long an archiving activity may wait in its queue for a worker, as in workflows/activity-options.ts. */
const TURN = `interval '1 day'`;

/**
 * How long a stage of a task may take, as SQL over the row `t` of `tasks`. What was generated is paid for: from then
 * on a task waits a day for its turn to be archived, whether no worker has reached it yet or no slot was free, and the
 * limit of its model applies only once its turn has come.
 */
const STAGE_DEADLINE = `CASE t.status
    WHEN 'queued' THEN t.queue_deadline_at
    WHEN 'handling' THEN greatest(
      t.deadline_at,
      (SELECT g.updated_at + ${TURN} FROM generations g WHERE g.task_id = t.id AND g.state = 'produced'))
    ELSE coalesce(t.archiving_deadline_at, t.updated_at + ${TURN}) END`;

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

/** A task that has not ended. */
export interface TaskNeedingRepair {
  readonly id: TaskId;
  readonly accountId: string;
  readonly model: string;
  readonly status: TaskStatus;
  /** The deadline that passed, or when it was last restarted. */
  readonly at: Date;
}

export interface TasksNeedingRepair {
  /** The first of them, the longest overdue first. */
  readonly overdue: readonly TaskNeedingRepair[];
  /** The last of them, newest first. */
  readonly restarted: readonly TaskNeedingRepair[];
}

const selectOverdue: Statement = {
  name: 'select_overdue_tasks',
  text: `SELECT id, account_id AS "accountId", model, status, deadline AS at
           FROM (SELECT t.*, ${STAGE_DEADLINE} AS deadline
                   FROM tasks t WHERE t.completed_at IS NULL) open
          WHERE deadline < now() ORDER BY deadline, id LIMIT ${MAX_TASKS_NEEDING_REPAIR}`,
};

const selectRestarted: Statement = {
  name: 'select_restarted_tasks',
  text: `SELECT t.id, t.account_id AS "accountId", t.model, t.status, max(e.at) AS at
           FROM tasks t JOIN task_events e ON e.task_id = t.id AND e.type = 'restarted'
          WHERE t.completed_at IS NULL
          GROUP BY t.id ORDER BY at DESC, t.id LIMIT ${MAX_TASKS_NEEDING_REPAIR}`,
};

/**
 * What the repair is dealing with at this moment, for operators: tasks that are past the deadline of their stage and
 * not ended, and open tasks that it had to restart. Only open tasks are read, by a partial index.
 */
export async function readTasksNeedingRepair(database: Queryable): Promise<TasksNeedingRepair> {
  const [overdue, restarted] = await Promise.all([
    database.query<TaskNeedingRepair>(selectOverdue),
    database.query<TaskNeedingRepair>(selectRestarted),
  ]);
  return { overdue, restarted };
}
