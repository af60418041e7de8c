/**
 * How much of a task's work is done, for those who read it (contract §3 `progress`). Written at each tenth at most, so
 * that a task costs no more statements for running longer.
 */
import type { Queryable, Statement } from '../../database/database.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import type { Logger } from '../../telemetry/log.ts';

const update: Statement = {
  name: 'update_progress',
  text: `UPDATE tasks SET progress = $2 WHERE id = $1 AND status = 'handling' AND coalesce(progress, 0) < $2`,
};

/**
 * Keeps the progress of one attempt. What is known already, or is less than was known, changes nothing.
 *
 * @returns is told how much is done, 0 to 1; where that cannot be written it is logged, and the work goes on.
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
    // Not waited for: the work must not depend on whether somebody can watch it.
    database
      .query(update, [taskId, tenths * 10])
      .catch((err: unknown) => logger.warn({ err, taskId }, 'the progress of a task could not be written'));
  };
}
