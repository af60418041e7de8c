/**
 * Delivers a task's callback once more, because its owner requests it (contract §4): the schedule begins anew. The
 * outbox row is written in the same transaction, so it works while Temporal is down.
 */
import { readCallback, restartDelivery } from '../../callbacks/attempts.ts';
import type { Database, Statement } from '../../database/database.ts';
import { isTerminal } from '@darkroom/api/facts/task-status';
import type { TaskStatus } from '@darkroom/api/facts/task-status';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { requestWork } from '../outbox/outbox.ts';
import { missingTask } from '../record/missing-task.ts';
import { addEvent } from '../record/timeline.ts';
import { DarkroomError } from '../../domain/darkroom-error.ts';

/** There is nothing to deliver; the message says why. */
export class NotRedeliverableError extends DarkroomError {
  override readonly name = 'NotRedeliverableError';
  override readonly kind = 'invalid_request';
}

const lockOwned: Statement = {
  name: 'lock_task_to_redeliver',
  text: 'SELECT status FROM tasks WHERE id = $1 AND account_id = $2 FOR NO KEY UPDATE',
};

/**
 * Requests another delivery. While one is in progress nothing changes.
 *
 * @returns whether there is something for Temporal in the outbox, so that the launcher can be woken.
 * @throws {TaskNotFoundError} unknown, or another account's. @throws {TaskPrunedError}
 * @throws {NotRedeliverableError} not over yet, created without a callback, or its URL was erased.
 */
export async function redeliverCallback(database: Database, accountId: string, taskId: TaskId): Promise<boolean> {
  return database.transaction(async (transaction) => {
    const [task] = await transaction.query<{ status: TaskStatus }>(lockOwned, [taskId, accountId]);
    if (task === undefined) throw await missingTask(transaction, taskId, accountId);
    const callback = await readCallback(transaction, taskId);
    if (callback === undefined) throw new NotRedeliverableError('the task was created without a callback');
    if (!isTerminal(task.status)) {
      throw new NotRedeliverableError('the task has not ended yet; its callback is delivered when it does');
    }
    if (callback.url === '') throw new NotRedeliverableError('the callback URL was erased with the task');
    if (!(await restartDelivery(transaction, taskId))) return false;
    await addEvent(transaction, taskId, 'callback_redelivery');
    await requestWork(transaction, 'deliver_callback', accountId, taskId);
    return true;
  });
}
