/**
 * What an account used, summed (contract §7 `GET /account/usage?from&to&groupBy=day,model,keyId`).
 */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { ExceededHolds } from '../billing/operator-costs.ts';
import { MAX_USAGE_ROWS, USAGE_GROUPS } from '../billing/usage.ts';
import type { UsageGroup, UsageQuery, UsageRow } from '../billing/usage.ts';
import { formatUsd } from '../domain/money.ts';
import { Currency, usd } from './fields.ts';
import { rangeProblem } from './query-range.ts';

/** The most days of one response, and the days where a query names none. */
const MAX_DAYS = 366;
const DEFAULT_DAYS = 30;
const DAY_MS = 86_400_000;

function utcDay(description: string) {
  return Type.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$', description });
}
const Group = Type.Unsafe<UsageGroup>({ type: 'string', enum: [...USAGE_GROUPS] });
const TextOrNull = Type.Unsafe<string | null>({ type: ['string', 'null'], description: 'null: storage.' });

export const UsageQuerySchema = Type.Object(
  {
    from: Type.Optional(utcDay(`The first UTC day; default ${DEFAULT_DAYS} days that end with \`to\`.`)),
    to: Type.Optional(utcDay(`The last UTC day; default today. At most ${MAX_DAYS} days.`)),
    groupBy: Type.Optional(
      Type.Array(Group, {
        minItems: 1,
        maxItems: USAGE_GROUPS.length,
        uniqueItems: true,
        description: 'Separated by commas; default `day`.',
      }),
    ),
  },
  { additionalProperties: false },
);
export type WireUsageQuery = Static<typeof UsageQuerySchema>;

const sums = {
  captured: usd('What was captured.'),
  count: Type.Integer({
    minimum: 0,
    description: 'How many tasks and text requests something was captured for; storage counts none.',
  }),
};

export const UsageSchema = Type.Object(
  {
    from: utcDay('The first day that is counted.'),
    to: utcDay('The last one.'),
    groupBy: Type.Array(Group),
    currency: Currency,
    rows: Type.Array(
      Type.Object(
        {
          day: Type.Optional(utcDay('UTC.')),
          model: Type.Optional(TextOrNull),
          keyId: Type.Optional(TextOrNull),
          ...sums,
        },
        { additionalProperties: false },
      ),
      {
        maxItems: MAX_USAGE_ROWS,
        description: 'In the order of day, model and key. What would be all zero is left out.',
      },
    ),
    total: Type.Object(sums, { additionalProperties: false }),
  },
  { additionalProperties: false },
);

/** As operators see it: with the costs that they bear themselves. */
export const AdminUsageSchema = Type.Object(
  {
    ...UsageSchema.properties,
    holdsExceeded: Type.Object(
      {
        calls: Type.Integer({ minimum: 0 }),
        amount: usd('An operator cost (`hold_exceeded`); not in `captured`.'),
      },
      {
        additionalProperties: false,
        description: 'Text calls whose upstream reported more than was held, and what that cost beyond their holds.',
      },
    ),
  },
  { additionalProperties: false },
);

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
  const from = query.from ?? dayOf(Math.max(Date.parse(to) - (DEFAULT_DAYS - 1) * DAY_MS, FIRST_DAY));
  const problem = rangeProblem(['from', from], ['to', to]);
  if (problem !== undefined) return { problem };
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;
  if (days > MAX_DAYS) return { problem: `from: at most ${MAX_DAYS} days can be asked for at once, got ${days}` };
  return { from, to, groupBy: query.groupBy ?? ['day'] };
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
