/** Locks a task's row, so that an activity can add events. */
import type { Queryable, Statement } from '../../database/database.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { REQUEST_HASH } from '../record/fingerprint.ts';

const touchStatement: Statement = {
  name: 'touch_task',
  text: `UPDATE tasks SET updated_at = now()
          WHERE id = $1 AND ($2::text IS NULL OR ${REQUEST_HASH} = $2)
      RETURNING account_id AS "accountId", completed_at IS NOT NULL AS "isOver"`,
};

interface TouchedTask {
  readonly accountId: string;
  readonly isOver: boolean;
}

/**
 * Records that a task was worked on, and locks its row, so that events can be added.
 *
 * @param requestHash of the request that it has to be for; absent: any.
 * @returns undefined if the row is gone (lost commits), or belongs to a different request with the same key by now.
 */
export async function touchTask(
  transaction: Queryable,
  taskId: TaskId,
  requestHash?: string | null,
): Promise<TouchedTask | undefined> {
  const [task] = await transaction.query<TouchedTask>(touchStatement, [taskId, requestHash ?? null]);
  return task;
}
