/** `admin tasks`: a task as operators read and end it, whichever account it belongs to. */
import { loadOutputRetentionDays } from '../../config/config.ts';
import type { Queryable } from '../../database/database.ts';
import { formatUsd } from '../../domain/money.ts';
import { isTaskId } from '../../domain/workflow-ids.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { cancelTask } from '../../tasks/lifecycle/cancel.ts';
import { readArchive } from '../../tasks/record/missing-task.ts';
import { TaskPrunedError, readTask } from '../../tasks/record/read.ts';
import type { TaskDetail } from '../../tasks/record/read.ts';
import { readTimeline } from '../../tasks/record/timeline.ts';
import { AdminError } from './admin-error.ts';
import type { Group } from './arguments.ts';
import type { OnInstallation } from './installation.ts';

export function taskCommands(group: Group, onInstallation: OnInstallation): void {
  group
    .command('show')
    .description('show a task with its timeline, or where the archive of a pruned one is')
    .argument('<task>')
    .action(
      onInstallation(async ({ database }, task) => {
        const taskId = readTaskId(task);
        try {
          return await showTask(database, taskId);
        } catch (error) {
          if (error instanceof TaskPrunedError) return showPrunedTask(database, taskId, error);
          throw error;
        }
      }),
    );
  group
    .command('cancel')
    .description('end a task that is queued or handling; its hold is released but for what the provider bills')
    .argument('<task>')
    .action(
      onInstallation(async ({ database, environment }, task) => {
        const taskId = readTaskId(task);
        const { accountId } = await readTask(database, taskId);
        await cancelTask(database, accountId, taskId, loadOutputRetentionDays(environment));
        return showTask(database, taskId);
      }),
    );
}

function readTaskId(text: string): TaskId {
  if (isTaskId(text)) return text;
  throw new AdminError(`"${text}" is not the id of a task (tk-svc-…)`);
}

/** Everything but the input and URLs: operators must not read here what a caller sent and received. */
async function showTask(database: Queryable, taskId: TaskId): Promise<Record<string, unknown>> {
  const task = await readTask(database, taskId);
  const { events } = await readTimeline(database, taskId, task.accountId, 0);
  return {
    task: task.id,
    account: task.accountId,
    keyId: task.keyId,
    model: task.model,
    status: task.status,
    ...(task.errorReason === null ? {} : { reason: task.errorReason }),
    ...(task.errorCase === null ? {} : { field: task.errorField, case: task.errorCase }),
    created: timeOf(task.createdAt),
    started: timeOf(task.startedAt),
    completed: timeOf(task.completedAt),
    storage: task.storage,
    held: formatUsd(task.heldMicroUsd),
    captured: formatUsd(task.capturedMicroUsd ?? 0n),
    ...presentCallback(task),
    outputs: task.outputs.map(({ id, type, mimeType, sizeBytes, storageTier, goneReason }) => ({
      id,
      type,
      mimeType,
      sizeBytes,
      storage: goneReason ?? storageTier,
    })),
    events: events.map(({ seq, at, type, detail }) => ({ seq, at: timeOf(at), type, detail: detail ?? {} })),
  };
}

/** The record itself is a line of an object in the store. */
async function showPrunedTask(
  database: Queryable,
  taskId: TaskId,
  { dates }: TaskPrunedError,
): Promise<Record<string, unknown>> {
  const { accountId, objectKey } = await readArchive(database, taskId);
  return {
    task: taskId,
    account: accountId,
    status: 'pruned',
    created: dates.createdAt.toISOString(),
    completed: dates.completedAt.toISOString(),
    pruned: dates.prunedAt.toISOString(),
    archive: objectKey,
  };
}

function presentCallback({ callback }: TaskDetail): Record<string, unknown> {
  if (callback === null) return {};
  return { callback: `${callback.state}, ${callback.attempts} attempts` };
}

/** @param seconds Unix seconds. */
function timeOf(seconds: number | null): string {
  return seconds === null ? 'not yet' : new Date(seconds * 1000).toISOString();
}
