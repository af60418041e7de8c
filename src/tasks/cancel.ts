/**
 * Cancelling (contract §4): one conditional update and an outbox row; a task that was not launched yet is settled in that
 * very transaction. Works while Temporal is down. From archiving on it changes nothing.
 */
import type { Database, Statement } from '../database/database.ts';
import type { TaskId } from '../domain/workflow-ids.ts';
import { requestWork } from './outbox.ts';
import { TaskNotFoundError } from './read.ts';
import { settleIn } from './settle.ts';
import type { SettleOptions } from './settle.ts';
import { addEvent } from './timeline.ts';

const requestStatement: Statement = {
  name: 'request_task_cancel',
  text: `UPDATE tasks SET cancel_requested_at = now(), updated_at = now()
          WHERE id = $1 AND account_id = $2 AND status IN ('queued', 'handling') AND cancel_requested_at IS NULL
      RETURNING id`,
};
const selectOwned: Statement = {
  name: 'select_owned_task',
  text: 'SELECT 1 FROM tasks WHERE id = $1 AND account_id = $2',
};
/** The launcher skips a row that is locked here, and a row that the launcher has is not waited for. */
const lockQueuedStart: Statement = {
  name: 'lock_queued_start',
  text: `SELECT id FROM outbox WHERE kind = 'start_task' AND subject_id = $1 AND NOT is_ready FOR UPDATE SKIP LOCKED`,
};

/**
 * Asks for a task to end. Twice is the same as once.
 *
 * @param onSettled told where the task ends here and now (tasks/settle.ts).
 * @returns whether Temporal has to be told, so that the launcher can be woken.
 * @throws {TaskNotFoundError} unknown, or another account's.
 */
export async function cancelTask(
  database: Database,
  accountId: string,
  taskId: TaskId,
  retentionDays: number,
  onSettled?: SettleOptions['onSettled'],
): Promise<boolean> {
  return database.transaction(async (transaction) => {
    const requested = await transaction.query(requestStatement, [taskId, accountId]);
    if (requested.length === 0) {
      const owned = await transaction.query(selectOwned, [taskId, accountId]);
      if (owned.length === 0) throw new TaskNotFoundError();
      return false;
    }
    await addEvent(transaction, taskId, 'cancel_requested');
    const queued = await transaction.query(lockQueuedStart, [taskId]);
    if (queued.length > 0) {
      await settleIn(transaction, taskId, { status: 'fail', reason: 'cancelled' }, { retentionDays, onSettled });
    } else {
      await requestWork(transaction, 'cancel_task', accountId, taskId);
    }
    return true;
  });
}
