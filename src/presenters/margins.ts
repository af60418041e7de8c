/** The margin report, as operators get it. */
import { MARGIN_GROUPS } from '@darkroom/api/facts/margin-groups';
import type { WireMargins } from '@darkroom/api/admin/margins';
import type { MarginQuery, MarginRow } from '../billing/task-costs.ts';
import { formatUsd } from '../domain/money.ts';

type Sums = Omit<MarginRow, (typeof MARGIN_GROUPS)[number]>;

export function presentMargins({ from, to, groupBy }: MarginQuery, rows: readonly MarginRow[]): WireMargins {
  return {
    from,
    to,
    groupBy: MARGIN_GROUPS.filter((group) => groupBy.includes(group)),
    currency: 'USD',
    rows: rows.map(({ day, model, upstream, account, ...sums }) => ({
      ...(day === undefined ? {} : { day }),
      ...(model === undefined ? {} : { model }),
      ...(upstream === undefined ? {} : { upstream }),
      ...(account === undefined ? {} : { account }),
      ...presentSums(sums),
    })),
    total: presentSums(rows.reduce<Sums>(plus, NOTHING)),
  };
}

const NOTHING: Sums = {
  tasks: 0,
  textCalls: 0,
  capturedMicroUsd: 0n,
  costMicroUsd: 0n,
  unknownTasks: 0,
  unknownCapturedMicroUsd: 0n,
  tasksBelowCost: 0,
  reportedTasks: 0,
  usageTasks: 0,
  ruleTasks: 0,
};

function plus(left: Sums, right: Sums): Sums {
  return {
    tasks: left.tasks + right.tasks,
    textCalls: left.textCalls + right.textCalls,
    capturedMicroUsd: left.capturedMicroUsd + right.capturedMicroUsd,
    costMicroUsd: left.costMicroUsd + right.costMicroUsd,
    unknownTasks: left.unknownTasks + right.unknownTasks,
    unknownCapturedMicroUsd: left.unknownCapturedMicroUsd + right.unknownCapturedMicroUsd,
    tasksBelowCost: left.tasksBelowCost + right.tasksBelowCost,
    reportedTasks: left.reportedTasks + right.reportedTasks,
    usageTasks: left.usageTasks + right.usageTasks,
    ruleTasks: left.ruleTasks + right.ruleTasks,
  };
}

function presentSums({ capturedMicroUsd, costMicroUsd, unknownCapturedMicroUsd, ...counts }: Sums) {
  // The sum of no costs at all is not 0.
  const isUnknown = counts.unknownTasks > 0 && counts.unknownTasks === counts.tasks + counts.textCalls;
  return {
    ...counts,
    captured: formatUsd(capturedMicroUsd),
    cost: isUnknown ? null : formatUsd(costMicroUsd),
    margin: isUnknown ? null : formatUsd(capturedMicroUsd - unknownCapturedMicroUsd - costMicroUsd),
    unknownCaptured: formatUsd(unknownCapturedMicroUsd),
  };
}
