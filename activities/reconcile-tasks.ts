/**
 * One pass of the repair over all unfinished tasks (src/tasks/repair/repair.ts), a page at a time.
 */
import { pruneFailingItems } from '../src/database/failing-items.ts';
import type { TaskId } from '../src/domain/workflow-ids.ts';
import { passTools } from '../src/limits/pass-tools.ts';
import type { PassTools } from '../src/limits/pass-tools.ts';
import { FIRST_IDLE_CURSOR, countStartedTasks, findIdleTasks } from '../src/tasks/record/open-tasks.ts';
import type { IdleCursor } from '../src/tasks/record/open-tasks.ts';
import { pruneRepairs } from '../src/tasks/repair/repair-record.ts';
import { repairCallbacks, repairTask } from '../src/tasks/repair/repair.ts';
import type { RepairDependencies } from '../src/tasks/repair/repair.ts';
import type { Activities, ReconcileResult } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';
import { untilWorkerStops } from './heartbeat.ts';

const PAGE = 100;
/** The maximum number of concurrent queries to Temporal. */
const AT_ONCE = 10;
/**
 * How many seconds a row must be unchanged before its task is repaired: a row that changed recently is being processed
 * (architecture, "Repair is part of the design").
 */
const IDLE_SECONDS = 5;
/**
 * The time after which an activity leaves the rest to the next one, in milliseconds: well within its time-out
 * (workflows/activity-options.ts).
 */
const PASS_MS = 30_000;
/**
 * About how many tasks a pass checks in Temporal, 50 a second; if there are more, a random sample of them. An idle task
 * is nearly always one whose worker waits for its provider, so that it can be checked less often; one past its deadline
 * is always checked.
 */
const CHECKED_EACH_PASS = 3_000;
/** The activity that processes a task ends it at its deadline; the repair comes after that. */
const DEADLINE_GRACE_SECONDS = 60;

/** @param checkedEachPass about how many tasks that are not past their deadline are checked in Temporal. */
export function createReconcileTasks(
  context: ActivityContext,
  checkedEachPass = CHECKED_EACH_PASS,
): Activities['reconcileTasks'] {
  return ({ after = FIRST_IDLE_CURSOR } = {}) =>
    untilWorkerStops(context, async (signal) => {
      const tools = passTools(context, signal);
      const endAt = performance.now() + PASS_MS;
      const dependencies = {
        database: tools.database,
        describe: (taskId: TaskId) => context.describeTask(taskId),
        retentionDays: context.config.outputRetentionDays,
        metrics: context.metrics.tasks,
        logger: context.logger,
      };
      if (after === FIRST_IDLE_CURSOR) await repairTheRest(context, tools, dependencies);
      signal.throwIfAborted();
      const started = await countStartedTasks(tools.database);
      return repairTasks(tools, dependencies, { after, endAt, share: Math.min(1, checkedEachPass / started) });
    });
}

/** Repairs callbacks, and cleans up after earlier repairs. */
async function repairTheRest(
  context: ActivityContext,
  { database, isolate }: PassTools,
  dependencies: RepairDependencies,
): Promise<void> {
  const steps: Readonly<Record<string, () => Promise<void>>> = {
    callbacks: () => repairCallbacks(dependencies),
    failing_items: () => pruneFailingItems(database),
  };
  await isolate({
    kind: 'upkeep',
    items: Object.entries(steps),
    idOf: ([step]) => step,
    work: ([, run]) => run(),
  });
  await pruneRepairs(database, context.logger);
  await context.upstreams.gate.tidyQueues();
}

/**
 * @param endAt by `performance.now()`: what remains then is left to the next activity.
 * @param share of the tasks that are not past their deadline: the part that is checked.
 */
async function repairTasks(
  { database, accountDatabase, isolate }: PassTools,
  dependencies: RepairDependencies,
  { after: first, endAt, share }: { readonly after: IdleCursor; readonly endAt: number; readonly share: number },
): Promise<ReconcileResult> {
  const counts = { checked: 0, settled: 0, restarted: 0 };
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
      items: tasks.filter(({ isPastDeadline }) => isPastDeadline || Math.random() < share),
      idOf: ({ id }) => id,
      async work(task) {
        counts.checked += 1;
        const repair = await repairTask(task, { ...dependencies, database: accountDatabase(task.accountId) });
        if (repair !== 'none') counts[repair] += 1;
      },
      atOnce: AT_ONCE,
    });
    after = tasks.at(-1)?.cursor ?? after;
    if (tasks.length < PAGE) return counts;
    if (performance.now() > endAt) return { ...counts, next: after };
  }
}
