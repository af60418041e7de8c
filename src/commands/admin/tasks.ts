/** `admin tasks`: tasks and text calls as operators find them, read and end them, whichever account they belong to. */
import { Option } from '@commander-js/extra-typings';
import { MAX_WORK_PAGE, WORK_KINDS, WORK_STATUSES } from '@darkroom/api/admin/admin-work';
import { loadOutputRetentionDays } from '../../config/config.ts';
import { readDatabaseTime } from '../../database/database-clock.ts';
import type { Queryable } from '../../database/database.ts';
import { formatUsd } from '../../domain/money.ts';
import { UNKNOWN_CURSOR } from '../../domain/darkroom-error.ts';
import { isTaskId } from '../../domain/workflow-ids.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { decodeCursor, encodeCursor } from '../../http/app/cursor.ts';
import { RequestError } from '../../http/app/errors.ts';
import { heldNow, StatusOfOtherKindError, listWork } from '../../presenters/admin-work.ts';
import { readWorkAtUpstream } from '../../tasks/lifecycle/generations.ts';
import { cancelTask } from '../../tasks/lifecycle/cancel.ts';
import { readArchive, TaskPrunedError, readTask } from '../../tasks/record/read.ts';
import type { TaskDetail } from '../../tasks/record/read.ts';
import { attemptsAt, readTimeline } from '../../tasks/record/timeline.ts';
import { listOption, wholeNumber } from '../command-line.ts';
import { AdminError } from './admin-error.ts';
import { readPast } from './arguments.ts';
import type { Group } from './arguments.ts';
import type { OnInstallation } from './installation.ts';

export function taskCommands(group: Group, onInstallation: OnInstallation): void {
  group
    .command('list')
    .description('list the tasks, or the text calls, of all accounts, newest first; inputs and outputs are not shown')
    .addOption(new Option('--kind <kind>', 'what is listed').choices(WORK_KINDS).default('task' as const))
    .addOption(listOption('--status <statuses...>', 'any of them', WORK_STATUSES))
    .option('--model <model>', 'of this model')
    .option('--upstream <upstream>', 'that this upstream had, or rejected last')
    .option('--account <account>', 'of this account')
    .option('--key <key>', 'created with this API key, its tokens or its dashboard sessions')
    .option('--user <user>', 'of this end user')
    .option('--reason <reason>', 'that failed for this reason')
    .option('--since <time>', 'created since then: 2026-11-21, 2026-11-21T12:00:00Z, or 90m, 24h, 7d ago')
    .option('--until <time>', 'created before then')
    .option('--size <number>', `entries, at most ${MAX_WORK_PAGE}`, wholeNumber(1, MAX_WORK_PAGE), 50)
    .option('--cursor <cursor>', '`nextCursor` of the previous page')
    .action(
      onInstallation(async ({ database }, { account, key, since, until, cursor, status, ...filter }) => {
        const now = await readDatabaseTime(database);
        const query = {
          ...filter,
          ...(status === undefined ? {} : { status: [...status] }),
          ...(account === undefined ? {} : { accountId: account }),
          ...(key === undefined ? {} : { keyId: key }),
          ...(since === undefined ? {} : { created_after: readPast('since', since, now) }),
          ...(until === undefined ? {} : { created_before: readPast('until', until, now) }),
        };
        try {
          const after = cursor === undefined ? undefined : decodeCursor(cursor);
          const { work, next } = await listWork(database, query, after);
          return {
            work: work.map((entry) => ({
              created: timeOf(entry.created),
              ended: timeOf(entry.ended === 0 ? null : entry.ended),
              status: entry.status,
              reason: entry.reason ?? '',
              model: entry.model,
              upstream: entry.upstream ?? '',
              account: entry.accountId,
              captured: entry.captured,
              id: entry.id,
            })),
            ...(next === undefined ? {} : { nextCursor: encodeCursor(next) }),
          };
        } catch (error) {
          if (error instanceof StatusOfOtherKindError) throw new AdminError(`--${error.message}`);
          throw error instanceof RequestError ? new AdminError(`--cursor: ${UNKNOWN_CURSOR}`) : error;
        }
      }),
    );
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
  const work = await readWorkAtUpstream(database, taskId);
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
    held: formatUsd(heldNow(task)),
    captured: formatUsd(task.capturedMicroUsd ?? 0n),
    ...(work === undefined ? {} : { upstream: work.upstream, work: work.state, job: work.jobId }),
    attempts: attemptsAt(events, work).map(({ at, upstream, outcome, reason }) => ({
      at: timeOf(at),
      upstream,
      outcome,
      reason: reason ?? '',
    })),
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
