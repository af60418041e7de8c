/**
 * One pass of the repair over everything that is not over (src/tasks/repair.ts), a page at a time.
 */
import { Context } from '@temporalio/activity';
import { pruneFailingItems } from '../src/database/failing-items.ts';
import { FIRST_IDLE_CURSOR, findIdleTasks } from '../src/tasks/open-tasks.ts';
import { pruneRepairs } from '../src/tasks/repair-record.ts';
import { repairCallbacks, repairTask } from '../src/tasks/repair.ts';
import type { TaskId } from '../src/domain/workflow-ids.ts';
import type { Activities } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';
import { passTools } from './passes.ts';

const PAGE = 100;
/** Temporal is asked for this many at once: a pass over many tasks has a minute. */
const AT_ONCE = 10;
/** A row that changed a moment ago is being worked on (architecture: "unchanged for 5 s"). */
const IDLE_SECONDS = 5;
/** After this the rest is left to the next activity: well within its time-out (workflows/activity-options.ts). */
const PASS_MS = 30_000;
/** The activity that works on a task ends it at its deadline; the repair comes after that. */
const DEADLINE_GRACE_SECONDS = 60;

export function createReconcileTasks(context: ActivityContext): Activities['reconcileTasks'] {
  const { database, accountDatabase, isolate } = passTools(context);
  return async ({ after: first = FIRST_IDLE_CURSOR } = {}) => {
    const endAt = performance.now() + PASS_MS;
    const counts = { checked: 0, settled: 0, restarted: 0 };
    const dependencies = {
      database,
      describe: (taskId: TaskId) => context.describeTask(taskId),
      retentionDays: context.config.outputRetentionDays,
      metrics: context.metrics.tasks,
      logger: context.logger,
    };
    const upkeep: Readonly<Record<string, () => Promise<unknown>>> = {
      callbacks: () => repairCallbacks(dependencies),
      failing_items: () => pruneFailingItems(database),
    };
    if (first === FIRST_IDLE_CURSOR) {
      await isolate({
        kind: 'upkeep',
        items: Object.entries(upkeep),
        idOf: ([step]) => step,
        work: async ([, run]) => {
          await run();
        },
      });
      await pruneRepairs(database, context.logger);
      await context.upstreams.gate.tidyQueues();
    }
    let after = first;
    for (;;) {
      const tasks = await findIdleTasks(database, {
        idleSeconds: IDLE_SECONDS,
        graceSeconds: DEADLINE_GRACE_SECONDS,
        after,
        limit: PAGE,
      });
      await isolate({
        kind: 'task',
        items: tasks,
        idOf: ({ id }) => id,
        async work(task) {
          counts.checked += 1;
          const repair = await repairTask(task, { ...dependencies, database: accountDatabase(task.accountId) });
          if (repair !== 'none') counts[repair] += 1;
        },
        atOnce: AT_ONCE,
        beforeEach: () => Context.current().heartbeat(),
      });
      after = tasks.at(-1)?.cursor ?? after;
      if (tasks.length < PAGE) return counts;
      if (performance.now() > endAt) return { ...counts, next: after };
    }
  };
}
