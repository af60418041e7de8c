/**
 * Reads of tasks that clients poll, together: those that arrive in the same turn of the event loop share one statement
 * (docs/decisions/0012 does the same for creates). A busy process spent more on sending each read to PostgreSQL by
 * itself, and on receiving its rows, than on everything else. A lone read waits for nothing, and no read waits for
 * another statement.
 */
import type { Queryable, Statement } from '../../database/database.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { missingTask } from './missing-task.ts';
import { TASK_DETAIL_COLUMNS, detailOf, readTask } from './read.ts';
import type { TaskDetail, TaskRow } from './read.ts';

/** The maximum number of tasks in one statement: the responses of all of them wait for its last row. */
const MAX_TOGETHER = 64;

/**
 * The array is the result of a subquery, whose length the planner does not know: otherwise it would plan every
 * execution anew, for the length that it has, which takes longer than the execution.
 */
const selectTasks: Statement = {
  name: 'select_task_details',
  text: `SELECT ${TASK_DETAIL_COLUMNS} FROM tasks t WHERE t.id = ANY ((SELECT $1::text[])::text[])`,
};

export interface TaskReader {
  /**
   * Reads one task.
   *
   * @param accountId whose task it must be.
   * @throws {TaskNotFoundError} @throws {TaskPrunedError}
   */
  read(taskId: TaskId, accountId: string): Promise<TaskDetail>;
}

interface Read {
  readonly taskId: TaskId;
  readonly accountId: string;
  readonly resolve: (detail: TaskDetail | Promise<TaskDetail>) => void;
  readonly reject: (error: unknown) => void;
}

export function createTaskReader(database: Queryable): TaskReader {
  let waiting: Read[] = [];

  const flush = (): void => {
    const all = waiting;
    waiting = [];
    for (let index = 0; index < all.length; index += MAX_TOGETHER) {
      const some = all.slice(index, index + MAX_TOGETHER);
      const [first] = some;
      if (some.length === 1 && first !== undefined) {
        first.resolve(readTask(database, first.taskId, first.accountId));
        continue;
      }
      readTogether(database, some).catch((error: unknown) => {
        for (const { reject } of some) reject(error);
      });
    }
  };

  return {
    read: (taskId, accountId) =>
      new Promise((resolve, reject) => {
        if (waiting.push({ taskId, accountId, resolve, reject }) === 1) setImmediate(flush);
      }),
  };
}

async function readTogether(database: Queryable, reads: readonly Read[]): Promise<void> {
  const ids = [...new Set(reads.map(({ taskId }) => taskId))];
  const rows = await database.query<TaskRow>(selectTasks, [ids]);
  const byId = new Map(rows.map((row) => [row.id, row]));
  for (const { taskId, accountId, resolve } of reads) {
    const row = byId.get(taskId);
    resolve(row?.accountId === accountId ? detailOf(row) : rejectMissing(database, taskId, accountId));
  }
}

async function rejectMissing(database: Queryable, taskId: TaskId, accountId: string): Promise<never> {
  throw await missingTask(database, taskId, accountId);
}
