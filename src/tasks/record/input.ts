/**
 * A task's input as it was stored: read only where it is requested, because it can be large (contract §4
 * `include=input`).
 */
import type { Queryable, Statement } from '../../database/database.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { missingTask } from './missing-task.ts';

export type StoredInput = Readonly<Record<string, unknown>>;

const selectInput: Statement = {
  name: 'select_task_input',
  text: 'SELECT input FROM tasks WHERE id = $1 AND account_id = $2',
};

/** @returns null once it was erased. @throws {TaskNotFoundError} unknown, or another account's. @throws {TaskPrunedError} */
export async function readTaskInput(
  database: Queryable,
  taskId: TaskId,
  accountId: string,
): Promise<StoredInput | null> {
  const [row] = await database.query<{ input: StoredInput | null }>(selectInput, [taskId, accountId]);
  if (row === undefined) throw await missingTask(database, taskId, accountId);
  return row.input;
}
