/** The work of all accounts as operators see it: lists of tasks and text calls, any one task, and repairs. */
import type { WireRepairList, WireRepairSummary } from '@darkroom/api/admin/admin-repairs';
import type { AdminTaskSchema } from '@darkroom/api/admin/admin-service';
import { TEXT_CALL_STATUSES } from '@darkroom/api/admin/admin-work';
import type { WireWorkList, WireWorkListQuery, WorkKind, WorkStatus } from '@darkroom/api/admin/admin-work';
import type { Static } from 'typebox';
import type { Queryable } from '../database/database.ts';
import type { NewestPage, NewestPosition } from '../database/newest-first.ts';
import { formatUsd } from '../domain/money.ts';
import { TASK_STATUSES } from '@darkroom/api/facts/task-status';
import type { WorkAtUpstream } from '../tasks/lifecycle/generations.ts';
import { listAllTasks } from '../tasks/listing/list-of-operators.ts';
import type { ListedWork } from '../tasks/listing/list-of-operators.ts';
import type { TaskNeedingRepair, TasksNeedingRepair } from '../tasks/record/open-tasks.ts';
import type { TaskDetail } from '../tasks/record/read.ts';
import { attemptsAt } from '../tasks/record/timeline.ts';
import type { TaskEvent } from '../tasks/record/timeline.ts';
import type { RecordedRepair, RepairCount } from '../tasks/repair/repair-record.ts';
import { listAllCalls } from '../text/money/list-calls.ts';
import { secondsOf } from './unix-seconds.ts';

/** The number of entries if a query has none. */
const DEFAULT_SIZE = 50;

/** A status that work of the other kind has. */
export class StatusOfOtherKindError extends Error {
  override readonly name = 'StatusOfOtherKindError';

  constructor(kind: WorkKind, statuses: readonly string[]) {
    super(`status: of kind ${kind}, want ${statuses.join(', ')}`);
  }
}

/**
 * Lists tasks, or text calls, of all accounts, newest first.
 *
 * @throws {StatusOfOtherKindError}
 */
export async function listWork(
  database: Queryable,
  query: Omit<WireWorkListQuery, 'cursor'>,
  after: NewestPosition | undefined,
): Promise<Omit<WireWorkList, 'nextCursor'> & { readonly next: NewestPosition | undefined }> {
  const {
    kind = 'task',
    status: statuses,
    size = DEFAULT_SIZE,
    created_after: from,
    created_before,
    ...filter
  } = query;
  const page = { ...filter, from, before: created_before, after, size };
  const of = <Status extends string>(known: readonly Status[]): readonly Status[] | undefined => {
    const named = statuses?.map((status) => known.find((each) => each === status));
    if (named?.includes(undefined) === true) throw new StatusOfOtherKindError(kind, known);
    return named?.flatMap((status) => status ?? []);
  };
  const { rows, next }: NewestPage<ListedWork<WorkStatus>> =
    kind === 'task'
      ? await listAllTasks(database, { ...page, statuses: of(TASK_STATUSES) })
      : await listAllCalls(database, { ...page, statuses: of(TEXT_CALL_STATUSES) });
  return { currency: 'USD', work: rows.map((row) => presentWork(kind, row)), next };
}

function presentWork(kind: WorkKind, work: ListedWork<WorkStatus>): WireWorkList['work'][number] {
  const { id, accountId, keyId, model, status, reason, upstream, endedAt } = work;
  return {
    kind,
    id,
    accountId,
    keyId,
    model,
    status,
    ...(reason === null ? {} : { reason }),
    ...(upstream === null ? {} : { upstream }),
    created: secondsOf(work.createdAt),
    ended: secondsOf(endedAt ?? undefined),
    held: formatUsd(endedAt === null ? work.heldMicroUsd : 0n),
    captured: formatUsd(work.capturedMicroUsd ?? 0n),
  };
}

/**
 * Any one task.
 *
 * @param work undefined: no upstream has it.
 * @param workflowUrl undefined: it is not configured where Temporal's Web UI is.
 */
export function presentAdminTask(
  task: TaskDetail,
  events: readonly TaskEvent[],
  work: WorkAtUpstream | undefined,
  workflowUrl: string | undefined,
): Static<typeof AdminTaskSchema> {
  const { callback } = task;
  return {
    taskId: task.id,
    accountId: task.accountId,
    keyId: task.keyId,
    model: task.model,
    status: task.status,
    ...(task.errorReason === null ? {} : { reason: task.errorReason }),
    created: task.createdAt,
    started: task.startedAt ?? 0,
    completed: task.completedAt ?? 0,
    held: formatUsd(heldNow(task)),
    captured: formatUsd(task.capturedMicroUsd ?? 0n),
    currency: 'USD',
    outputs: task.outputs.length,
    ...(work === undefined
      ? {}
      : {
          work: { upstream: work.upstream, state: work.state, ...(work.jobId === null ? {} : { jobId: work.jobId }) },
        }),
    attempts: attemptsAt(events, work).map(({ reason, ...attempt }) => ({
      ...attempt,
      ...(reason === undefined ? {} : { reason }),
    })),
    ...(callback === null ? {} : { callback: { state: callback.state, attempts: callback.attempts } }),
    events: events.map(({ seq, at, type }) => ({ seq, at, type })),
    ...(workflowUrl === undefined ? {} : { workflowUrl }),
  };
}

/** What is held for a task now: a settlement captures or releases all of it. */
export function heldNow({ completedAt, heldMicroUsd }: Pick<TaskDetail, 'completedAt' | 'heldMicroUsd'>): bigint {
  return completedAt === null ? heldMicroUsd : 0n;
}

/** What the repair is dealing with now, and how much it did. */
export function presentRepairSummary(
  { overdue, restarted }: TasksNeedingRepair,
  counts: readonly RepairCount[],
): WireRepairSummary {
  return {
    overdue: overdue.map(presentNeeding),
    restarted: restarted.map(presentNeeding),
    done: counts.map(({ kind, day, month }) => ({ kind, day, month })),
  };
}

function presentNeeding({ id, at, accountId, model, status }: TaskNeedingRepair): WireRepairSummary['overdue'][number] {
  return { taskId: id, accountId, model, status, at: secondsOf(at) };
}

/** @param nextCursor undefined: there are no more. */
export function presentRepairList(
  size: number,
  repairs: readonly RecordedRepair[],
  nextCursor: string | undefined,
): WireRepairList {
  return {
    size,
    repairs: repairs.map(({ id, at, kind, taskId, found, accountId, model }) => ({
      id: String(id),
      at: secondsOf(at),
      kind,
      taskId,
      ...(found === null ? {} : { found }),
      ...(accountId === null ? {} : { accountId }),
      ...(model === null ? {} : { model }),
    })),
    ...(nextCursor === undefined ? {} : { nextCursor }),
  };
}
