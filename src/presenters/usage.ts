/**
 * Reports of money by days: what an account used (contract §7 `GET /account/usage?from&to&groupBy=day,model,keyId`),
 * and for operators what tasks and text calls cost and the margin that is left.
 */
import type { OperatorCostsSchema } from '@darkroom/api/admin/admin';
import type { WireMargins } from '@darkroom/api/admin/margins';
import { DEFAULT_USAGE_DAYS, MAX_USAGE_DAYS } from '@darkroom/api/facts/limits';
import { MARGIN_GROUPS } from '@darkroom/api/facts/margin-groups';
import { rangeProblem } from '@darkroom/api/tasks/query-range';
import type { AdminUsageSchema, UsageSchema, WireUsageQuery } from '@darkroom/api/tasks/usage';
import type { Static } from 'typebox';
import type { ExceededHolds, OperatorCost } from '../billing/operator-costs.ts';
import type { MarginQuery, MarginRow } from '../billing/task-costs.ts';
import { USAGE_GROUPS } from '@darkroom/api/facts/usage-groups';
import type { UsageQuery, UsageRow } from '../billing/usage.ts';
import { formatUsd } from '../domain/money.ts';

const DAY_MS = 86_400_000;
/** PostgreSQL has no year 0. */
const FIRST_DAY = Date.parse('0001-01-01');

/**
 * Fills in what a query leaves out.
 *
 * @param now milliseconds since 1970.
 * @returns the query, or what is wrong with it, beginning with the field.
 */
export function usageQueryOf(query: WireUsageQuery, now: number): UsageQuery | { readonly problem: string } {
  for (const field of ['from', 'to'] as const) {
    const text = query[field];
    if (text !== undefined && !isDay(text)) return { problem: `${field}: there is no such day` };
  }
  const to = query.to ?? dayOf(now);
  const from = query.from ?? dayOf(Math.max(Date.parse(to) - (DEFAULT_USAGE_DAYS - 1) * DAY_MS, FIRST_DAY));
  const problem = rangeProblem(['from', from], ['to', to]);
  if (problem !== undefined) return { problem };
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;
  if (days > MAX_USAGE_DAYS) return { problem: `from: at most ${MAX_USAGE_DAYS} days per request, got ${days}` };
  const { user } = query;
  return { from, to, groupBy: query.groupBy ?? ['day'], ...(user === undefined ? {} : { user }) };
}

function isDay(text: string): boolean {
  const at = Date.parse(text);
  return !Number.isNaN(at) && dayOf(at) === text && at >= FIRST_DAY;
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

export function presentUsage(query: UsageQuery, rows: readonly UsageRow[]): Static<typeof UsageSchema> {
  const captured = rows.reduce((sum, row) => sum + row.capturedMicroUsd, 0n);
  const count = rows.reduce((sum, row) => sum + row.count, 0);
  return {
    from: query.from,
    to: query.to,
    groupBy: USAGE_GROUPS.filter((group) => query.groupBy.includes(group)),
    currency: 'USD',
    rows: rows.map(({ capturedMicroUsd, ...row }) => ({ ...row, captured: formatUsd(capturedMicroUsd) })),
    total: { captured: formatUsd(captured), count },
  };
}

export function presentAdminUsage(
  query: UsageQuery,
  rows: readonly UsageRow[],
  { calls, microUsd }: ExceededHolds,
): Static<typeof AdminUsageSchema> {
  return { ...presentUsage(query, rows), holdsExceeded: { calls, amount: formatUsd(microUsd) } };
}

type Sums = Omit<MarginRow, (typeof MARGIN_GROUPS)[number]>;

/** The margin report. */
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

/** What the operator may have to pay without an account being charged. */
export function presentOperatorCosts(
  { from, to }: UsageQuery,
  costs: readonly OperatorCost[],
): Static<typeof OperatorCostsSchema> {
  return {
    from,
    to,
    currency: 'USD',
    rows: costs.map(({ upstream, model, reason, tasks, atMostMicroUsd }) => ({
      upstream,
      model,
      reason,
      tasks,
      atMost: formatUsd(atMostMicroUsd),
    })),
  };
}
