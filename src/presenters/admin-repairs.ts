/** The repair as operators see it: what it is dealing with now, how much it did, and each of its repairs. */
import type { TaskNeedingRepair, TasksNeedingRepair } from '../tasks/record/overdue.ts';
import type { RecordedRepair, RepairCount } from '../tasks/repair/repair-record.ts';
import type { WireRepairList, WireRepairSummary } from '@darkroom/api/admin/admin-repairs';
import { secondsOf } from './unix-seconds.ts';

export function presentRepairSummary(
  { overdue, restarted }: TasksNeedingRepair,
  counts: readonly RepairCount[],
): WireRepairSummary {
  return {
    overdue: overdue.map(presentTask),
    restarted: restarted.map(presentTask),
    done: counts.map(({ kind, day, month }) => ({ kind, day, month })),
  };
}

function presentTask({ id, at, accountId, model, status }: TaskNeedingRepair): WireRepairSummary['overdue'][number] {
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
