/**
 * Erasure (contract §4): what a caller sent and received is removed; the row stays with its id, model, times, money
 * and the fingerprint, so that replays of its key still work. Old inputs are removed the same way, automatically.
 */
import type { Database, Queryable, Statement } from '../../database/database.ts';
import type { TaskStatus } from '@darkroom/api/facts/task-status';
import { isTerminal } from '@darkroom/api/facts/task-status';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { deleteOutputsOfTask } from '../../objects/outputs/outputs.ts';
import { missingTask } from '../record/read.ts';
import { addEvent } from '../record/timeline.ts';
import { DarkroomError } from '../../domain/darkroom-error.ts';

/** The task has not ended, so it cannot be erased; a running task must be cancelled first. */
export class TaskNotFinishedError extends DarkroomError {
  override readonly name = 'TaskNotFinishedError';
  override readonly kind = 'invalid_request';

  constructor() {
    super('the task has not ended yet; cancel it first, or wait until it ends');
  }
}

const lockTask: Statement = {
  name: 'lock_task_to_erase',
  text: 'SELECT status, erased_at IS NOT NULL AS "isErased" FROM tasks WHERE id = $1 AND account_id = $2 FOR UPDATE',
};

/** A callback that is still being delivered keeps its URL until then: erasing stops no notification. */
const eraseRow: Statement = {
  name: 'erase_task',
  text: `WITH task AS (
           UPDATE tasks SET input = NULL, metadata = NULL, erased_at = now(), input_erased_at = coalesce(input_erased_at, now())
            WHERE id = $1),
         pairs AS (
           DELETE FROM task_metadata m USING tasks t, jsonb_each_text(t.metadata) e
            WHERE t.id = $1 AND m.account_id = t.account_id AND m.pair = metadata_pair(e.key, e.value)
              AND m.created_at = t.created_at AND m.task_id = t.id),
         pins AS (DELETE FROM task_inputs WHERE task_id = $1),
         generation AS (UPDATE generations SET files = '[]' WHERE task_id = $1 AND files IS NOT NULL)
         UPDATE callbacks SET url = '' WHERE task_id = $1 AND state NOT IN ('waiting', 'pending')`,
};

/**
 * Erases a task. Repeating it changes nothing.
 *
 * @param now milliseconds since 1970.
 * @throws {TaskNotFoundError} unknown, or another account's. @throws {TaskPrunedError} @throws {TaskNotFinishedError}
 */
export async function eraseTask(database: Database, accountId: string, taskId: TaskId, now: number): Promise<void> {
  await database.transaction(async (transaction) => {
    const [task] = await transaction.query<{ status: TaskStatus; isErased: boolean }>(lockTask, [taskId, accountId]);
    if (task === undefined) throw await missingTask(transaction, taskId, accountId);
    if (!isTerminal(task.status)) throw new TaskNotFinishedError();
    if (task.isErased) return;
    await transaction.query(eraseRow, [taskId]);
    await addEvent(transaction, taskId, 'erased');
    await deleteOutputsOfTask(transaction, accountId, taskId, now);
  });
}

const eraseInputs: Statement = {
  name: 'erase_old_inputs',
  text: `WITH old AS (
           SELECT id FROM tasks
            WHERE completed_at < to_timestamp($1::float8) AND completed_at IS NOT NULL AND input IS NOT NULL
            ORDER BY completed_at LIMIT $2 FOR UPDATE SKIP LOCKED),
         pins AS (DELETE FROM task_inputs WHERE task_id IN (SELECT id FROM old)),
         generation AS (
           UPDATE generations SET files = '[]' WHERE task_id IN (SELECT id FROM old) AND files IS NOT NULL)
         UPDATE tasks SET input = NULL, input_erased_at = now() WHERE id IN (SELECT id FROM old)
         RETURNING id`,
};

/**
 * Erases the inputs of tasks that ended before a time, at most `limit` of them.
 *
 * @param endedBefore milliseconds since 1970. @returns how many.
 */
export async function eraseOldInputs(database: Queryable, endedBefore: number, limit: number): Promise<number> {
  const rows = await database.query(eraseInputs, [endedBefore / 1000, limit]);
  return rows.length;
}
