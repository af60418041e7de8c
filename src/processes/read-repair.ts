/**
 * Repair by reading (architecture, "Repair is part of the design"): a task that is read, is not over and has not
 * changed for a while is checked against Temporal, after the answer is sent, so that the next read shows the correct
 * state.
 */
import { LRUCache } from 'lru-cache';
import type { Database } from '../database/database.ts';
import { isTerminal } from '@darkroom/api/facts/task-status';
import type { TaskDetail } from '../tasks/record/read.ts';
import { hasStart } from '../tasks/outbox/outbox.ts';
import type { AccountDatabase } from '../limits/row-databases.ts';
import { repairTask } from '../tasks/repair/repair.ts';
import type { Logger } from '../telemetry/log.ts';
import type { TaskMetrics } from '../telemetry/metrics-work.ts';
import type { WorkflowGateway } from '../temporal/workflow-gateway.ts';

/**
 * How many seconds a row must be unchanged before its task is checked: a row that changed recently is being processed.
 */
const IDLE_SECONDS = 5;
/** The minimum interval between two checks of a task in milliseconds, regardless of how often it is read. */
const CHECK_EVERY_MS = 5_000;
/**
 * The maximum number of checks per second and process: `describe` costs the Temporal server little, but not nothing.
 */
const CHECKS_PER_SECOND = 20;
const REMEMBERED_TASKS = 10_000;

/** @returns a function to call with each task that was read. */
export function createReadRepair(dependencies: {
  readonly database: Database;
  readonly accountDatabase: AccountDatabase;
  readonly gateway: WorkflowGateway;
  readonly retentionDays: number;
  readonly metrics: TaskMetrics;
  readonly logger: Logger;
}): (task: TaskDetail) => void {
  const { database, accountDatabase, gateway, retentionDays, metrics, logger } = dependencies;
  const checked = new LRUCache<string, true>({ max: REMEMBERED_TASKS, ttl: CHECK_EVERY_MS });
  let second = 0;
  let checksThisSecond = 0;

  const isWithinRate = (): boolean => {
    const now = Math.floor(Date.now() / 1000);
    if (now !== second) {
      second = now;
      checksThisSecond = 0;
    }
    checksThisSecond += 1;
    return checksThisSecond <= CHECKS_PER_SECOND;
  };

  const check = async (task: TaskDetail): Promise<void> => {
    try {
      const isWaiting = await hasStart(database, task.id);
      await repairTask(
        { id: task.id, status: task.status, isPastDeadline: false, hasStart: isWaiting },
        {
          database: accountDatabase(task.accountId),
          describe: (taskId) => gateway.describeTask(taskId),
          retentionDays,
          metrics,
          logger,
        },
      );
    } catch (error) {
      logger.warn({ err: error, taskId: task.id }, 'checking a task after a read failed');
    }
  };

  return (task) => {
    if (isTerminal(task.status) || task.idleSeconds < IDLE_SECONDS || checked.has(task.id) || !isWithinRate()) return;
    checked.set(task.id, true);
    setImmediate(() => void check(task));
  };
}
