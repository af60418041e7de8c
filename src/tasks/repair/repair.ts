/**
 * Repairs a task whose workflow ended without settling it, or that no workflow works on (architecture, "Repair is
 * part of the design"). Called for every open task by the `maintain` schedule, and for a single one when it is read.
 * Each repair is one transaction, and what it did is recorded in it (repair-record.ts).
 */
import type { Database, Statement } from '../../database/database.ts';
import type { FailureReason } from '../../domain/failure-reason.ts';
import { observeTask } from '../../domain/task-status.ts';
import type { WorkflowState } from '../../domain/task-status.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { TaskMetrics } from '../../telemetry/metrics-work.ts';
import type { IdleTask } from '../record/open-tasks.ts';
import { requestRestart, requestStalledCallbacks, requestWork } from '../outbox/outbox.ts';
import { recordRepairs } from './repair-record.ts';
import type { NewRepair } from './repair-record.ts';
import { settleIn } from '../lifecycle/settle.ts';
import type { Outcome, SettleOptions } from '../lifecycle/settle.ts';
import { addEvent } from '../record/timeline.ts';
import { touchTask } from '../lifecycle/touch.ts';

export interface RepairDependencies {
  readonly database: Database;
  /** Queries Temporal for the state of the task's workflow; `unknown` when it does not respond. */
  readonly describe: (taskId: TaskId) => Promise<WorkflowState>;
  readonly retentionDays: number;
  readonly metrics: TaskMetrics;
  readonly logger: Logger;
}

/** What was done about a task. */
export type Repair = 'none' | 'settled' | 'restarted';

/** A task as it was when it was read. */
type RepairedTask = Pick<IdleTask, 'id' | 'status' | 'isPastDeadline' | 'hasStart'> &
  Partial<Pick<IdleTask, 'updatedAt'>>;

/** Repairs one task, if there is something to repair. */
export async function repairTask(
  task: RepairedTask,
  { database, describe, retentionDays, metrics, logger }: RepairDependencies,
): Promise<Repair> {
  // A start that is still to be delivered: late, not lost. Temporal need not be queried.
  if (task.hasStart && !task.isPastDeadline) return 'none';
  const condition = await describe(task.id);
  // Its workflow may have ended it, in a commit that this database has lost: then the deadline does not apply.
  if (task.isPastDeadline && condition !== 'completed') {
    if (condition === 'unknown') return 'none';
    // Only in the stage whose deadline passed: it may have moved on since it was read, or been given more time.
    const { status, updatedAt } = task;
    const options = { retentionDays, onlyFrom: [status], unchangedSince: updatedAt, onSettled: metrics.settled };
    const repair = { kind: 'timed_out', taskId: task.id, found: task.status } as const;
    const outcome = await endAndStop(database, repair, 'timed_out', options, logger);
    if (outcome === undefined) return 'none';
    logger.warn({ taskId: task.id, status: task.status }, 'task past its deadline ended');
    metrics.repaired('timed_out');
    return 'settled';
  }
  const observed = observeTask(task.status, condition, task.hasStart);
  if (observed.repair === 'settle') {
    const repair = { kind: 'settled', taskId: task.id, found: task.status } as const;
    const options = { retentionDays, onSettled: metrics.settled };
    const outcome = await endAndStop(database, repair, 'terminated', options, logger);
    if (outcome === undefined) return 'none';
    logger.warn({ taskId: task.id, ...outcome }, 'workflow had ended without settling its task');
    metrics.repaired('settled');
    return 'settled';
  }
  if (observed.repair === 'restart') {
    const isNew = await database.transaction(async (transaction) => {
      await touchTask(transaction, task.id);
      const inserted = await requestRestart(transaction, task.id);
      if (!inserted) return false;
      await addEvent(transaction, task.id, 'restarted');
      await recordRepairs(transaction, [{ kind: 'restarted', taskId: task.id, found: task.status }], logger);
      return true;
    });
    if (!isNew) return 'none';
    logger.warn({ taskId: task.id, workflow: condition }, 'task had no open workflow; starting it again');
    metrics.repaired('restarted');
    return 'restarted';
  }
  return 'none';
}

/** Requests callbacks again that are well overdue. */
export async function repairCallbacks({
  database,
  metrics,
  logger,
}: Pick<RepairDependencies, 'database' | 'metrics' | 'logger'>): Promise<void> {
  const requested = await database.transaction(async (transaction) => {
    const taskIds = await requestStalledCallbacks(transaction);
    const repairs = taskIds.map((taskId) => ({ kind: 'callback', taskId, found: null }) as const);
    await recordRepairs(transaction, repairs, logger);
    return taskIds.length;
  });
  metrics.repaired('callback', requested);
}

const selectJob: Statement = {
  name: 'select_job_to_stop',
  text: `SELECT t.account_id AS "accountId" FROM generations g JOIN tasks t ON t.id = g.task_id
          WHERE g.task_id = $1 AND g.state = 'submitted'`,
};

/** Ends a task that no workflow works on; a job that its provider may still have is stopped. */
function endAndStop(
  database: Database,
  repair: NewRepair,
  reason: FailureReason,
  options: SettleOptions,
  logger: Logger,
): Promise<Outcome | undefined> {
  const { taskId } = repair;
  return database.transaction(async (transaction) => {
    const outcome = await settleIn(transaction, taskId, { status: 'fail', reason }, options);
    if (outcome === undefined) return undefined;
    const [job] = await transaction.query<{ accountId: string }>(selectJob, [taskId]);
    if (job !== undefined) await requestWork(transaction, 'stop_generation', job.accountId, taskId);
    await recordRepairs(transaction, [repair], logger);
    return outcome;
  });
}
