/**
 * How much of a task's work is done, for its readers (contract §3 `progress`). Written at most once for each tenth,
 * so that a task costs no more statements for running longer.
 */
import type { Queryable, Statement } from '../../database/database.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import type { Logger } from '../../telemetry/log.ts';

const update: Statement = {
  name: 'update_progress',
  text: `UPDATE tasks SET progress = $2 WHERE id = $1 AND status = 'handling' AND coalesce(progress, 0) < $2`,
};

/**
 * Records the progress of one attempt. Progress that is known already, or is less than was known, changes nothing.
 *
 * @returns a function that takes how much is done, 0 to 1; where that cannot be written it is logged, and the work
 *   goes on.
 */
export function createProgressRecord(
  { database, logger }: { readonly database: Queryable; readonly logger: Logger },
  taskId: TaskId,
): (fraction: number) => void {
  let written = 0;
  return (fraction) => {
    const tenths = Math.floor(Math.min(Math.max(fraction, 0), 1) * 10);
    if (tenths <= written) return;
    written = tenths;
    // Not awaited: the work must not depend on whether its progress can be shown.
    database
      .query(update, [taskId, tenths * 10])
      .catch((err: unknown) => logger.warn({ err, taskId }, 'recording the progress of a task failed'));
  };
}
