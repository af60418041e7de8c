/**
 * Cancelling (contract §4): one conditional update. A task that is not handled yet ends in that very transaction,
 * also while Temporal is down and after a launcher has claimed its start: handling begins by a conditional update of
 * the same row (transitions.ts), so that a start which arrives later finds the task ended and submits nothing. A task
 * that is handled is ended by its workflow, which is requested through the outbox. From archiving on cancelling
 * changes nothing.
 */
import type { Database, Statement } from '../../database/database.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { requestWork } from '../outbox/outbox.ts';
import { missingTask } from '../record/read.ts';
import { settleIn } from './settle.ts';
import type { SettleOptions } from './settle.ts';
import { addEvent } from '../record/timeline.ts';

/** Locks the row until the commit: an activity that would begin to handle the task waits, and finds it ended. */
const requestStatement: Statement = {
  name: 'request_task_cancel',
  text: `UPDATE tasks SET cancel_requested_at = now(), updated_at = now()
          WHERE id = $1 AND account_id = $2 AND status IN ('queued', 'handling') AND cancel_requested_at IS NULL
      RETURNING status`,
};
/** The same for a workflow that was cancelled, whoever owns its task. */
const recordStatement: Statement = {
  name: 'record_task_cancel',
  text: `UPDATE tasks SET cancel_requested_at = now(), updated_at = now()
          WHERE id = $1 AND status = 'handling' AND cancel_requested_at IS NULL
      RETURNING 1`,
};
const selectOwned: Statement = {
  name: 'select_owned_task',
  text: 'SELECT 1 FROM tasks WHERE id = $1 AND account_id = $2',
};
/**
 * Waits for a launcher that claims the row at this moment: its claim is one statement, which waits for no lock. The
 * first of the two decides which of the account's counters the task is taken from (settle.ts).
 */
const lockStart: Statement = {
  name: 'lock_start',
  text: `SELECT is_ready AS "isReady" FROM outbox WHERE kind = 'start_task' AND subject_id = $1 FOR UPDATE`,
};

/**
 * Requests that a task end. Repeating it changes nothing.
 *
 * @param onSettled called where the task ends at once (tasks/lifecycle/settle.ts).
 * @returns whether there is something for Temporal in the outbox, so that the launcher can be woken.
 * @throws {TaskNotFoundError} unknown, or another account's. @throws {TaskPrunedError}
 */
export async function cancelTask(
  database: Database,
  accountId: string,
  taskId: TaskId,
  retentionDays: number,
  onSettled?: SettleOptions['onSettled'],
): Promise<boolean> {
  return database.transaction(async (transaction) => {
    const [task] = await transaction.query<{ status: 'queued' | 'handling' }>(requestStatement, [taskId, accountId]);
    if (task === undefined) {
      const owned = await transaction.query(selectOwned, [taskId, accountId]);
      if (owned.length === 0) throw await missingTask(transaction, taskId, accountId);
      return false;
    }
    await addEvent(transaction, taskId, 'cancel_requested');
    let mayHaveWorkflow = true;
    if (task.status === 'queued') {
      const [start] = await transaction.query<{ isReady: boolean }>(lockStart, [taskId]);
      mayHaveWorkflow = start === undefined || start.isReady;
      await settleIn(transaction, taskId, { status: 'fail', reason: 'cancelled' }, { retentionDays, onSettled });
    }
    // A workflow that waits to begin, for a thread of an engine, need not wait any longer.
    if (mayHaveWorkflow) await requestWork(transaction, 'cancel_task', accountId, taskId);
    return true;
  });
}

/**
 * Records that the workflow of a task that is handled was cancelled, with Temporal's tools: what works on the task
 * learns of it from the row. Repeating it changes nothing, nor does a cancel that the API has accepted.
 */
export async function recordCancelRequest(database: Database, taskId: TaskId): Promise<void> {
  await database.transaction(async (transaction) => {
    const recorded = await transaction.query(recordStatement, [taskId]);
    if (recorded.length > 0) await addEvent(transaction, taskId, 'cancel_requested');
  });
}
