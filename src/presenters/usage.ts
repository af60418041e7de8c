/**
 * What an account used, summed (contract §7 `GET /account/usage?from&to&groupBy=day,model,keyId`).
 */
import type { WireUsageQuery, AdminUsageSchema, UsageSchema } from '@darkroom/api/tasks/usage';
import type { UsageQuery, UsageRow } from '../billing/usage.ts';
import { DEFAULT_USAGE_DAYS, MAX_USAGE_DAYS } from '@darkroom/api/facts/limits';
import { rangeProblem } from '@darkroom/api/tasks/query-range';
import type { Static } from 'typebox';
import { USAGE_GROUPS } from '../billing/usage.ts';
import { formatUsd } from '../domain/money.ts';
import type { ExceededHolds } from '../billing/operator-costs.ts';

const DAY_MS = 86_400_000;

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

/** PostgreSQL has no year 0. */
const FIRST_DAY = Date.parse('0001-01-01');

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
