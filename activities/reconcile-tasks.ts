/**
 * One pass of the repair over everything that is not over (src/tasks/repair.ts), a page at a time.
 */
import { Context } from '@temporalio/activity';
import { requestStalledCallbacks } from '../src/tasks/outbox.ts';
import { FIRST_IDLE_CURSOR, findIdleTasks } from '../src/tasks/open-tasks.ts';
import { repairTask } from '../src/tasks/repair.ts';
import type { Activities } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';

const PAGE = 100;
/** A row that changed a moment ago is being worked on (architecture: "unchanged for 5 s"). */
const IDLE_SECONDS = 5;
/** The activity that works on a task ends it at its deadline; the repair comes after that. */
const DEADLINE_GRACE_SECONDS = 60;

export function createReconcileTasks(context: ActivityContext): Activities['reconcileTasks'] {
  return async () => {
    const counts = { checked: 0, settled: 0, restarted: 0 };
    let after = FIRST_IDLE_CURSOR;
    for (;;) {
      const tasks = await findIdleTasks(context.database, {
        idleSeconds: IDLE_SECONDS,
        graceSeconds: DEADLINE_GRACE_SECONDS,
        after,
        limit: PAGE,
      });
      for (const task of tasks) {
        Context.current().heartbeat();
        counts.checked += 1;
        const repair = await repairTask(task, {
          database: context.database,
          describe: (taskId) => context.describeTask(taskId),
          retentionDays: context.config.outputRetentionDays,
          logger: context.logger,
        });
        if (repair === 'settled') counts.settled += 1;
        if (repair === 'restarted') counts.restarted += 1;
        after = task.cursor;
      }
      if (tasks.length < PAGE) break;
    }
    await requestStalledCallbacks(context.database);
    return counts;
  };
}
