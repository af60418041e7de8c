/**
 * A task's timeline (contract §4 `events`): what happened, in order. Events are written in the transaction that brings
 * the thing about, under the lock of the task's row, which is what keeps `seq` without gaps.
 */
import type { Queryable, Statement } from '../database/database.ts';
import type { TaskId } from '../domain/workflow-ids.ts';

/** The kinds of events, an open set for readers. */
export type TaskEventType =
  | 'accepted'
  | 'started'
  | 'cancel_requested'
  | 'provider_refused'
  | 'submitted'
  | 'produced'
  | 'archiving'
  | 'archived'
  | 'settled'
  | 'restarted'
  | 'storage_fell_back'
  | 'callback_attempted'
  | 'callback_redelivery'
  | 'output_promoted'
  | 'output_deleted'
  | 'erased';

const insertEvent: Statement = {
  name: 'insert_task_event',
  text: `INSERT INTO task_events (task_id, seq, type, detail)
         SELECT $1, coalesce(max(seq), 0) + 1, $2, $3 FROM task_events WHERE task_id = $1`,
};

/**
 * Adds an event.
 *
 * @param transaction one that has written the task's row, so that no other adds an event at the same moment.
 * @param detail small facts that a caller may see; never a provider's words.
 */
export async function addEvent(
  transaction: Queryable,
  taskId: TaskId,
  type: TaskEventType,
  detail?: Readonly<Record<string, string | number | boolean>>,
): Promise<void> {
  await transaction.query(insertEvent, [taskId, type, detail === undefined ? null : JSON.stringify(detail)]);
}
