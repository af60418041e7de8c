/**
 * What the repair is dealing with at this moment, for operators: tasks that are past the deadline of their stage and
 * not ended, and open tasks that it had to restart. Only open tasks are read, by a partial index.
 */
import type { Queryable, Statement } from '../../database/database.ts';
import type { TaskStatus } from '@darkroom/api/facts/task-status';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { STAGE_DEADLINE } from './stage-deadline.ts';
import { MAX_TASKS_NEEDING_REPAIR } from '@darkroom/api/facts/limits';

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

export async function readTasksNeedingRepair(database: Queryable): Promise<TasksNeedingRepair> {
  const [overdue, restarted] = await Promise.all([
    database.query<TaskNeedingRepair>(selectOverdue),
    database.query<TaskNeedingRepair>(selectRestarted),
  ]);
  return { overdue, restarted };
}
