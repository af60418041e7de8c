/**
 * Spend caps of keys (contract §7): per UTC day and in total. What counts is what is held and what was captured; what
 * a settlement releases no longer counts. A cap counts the spending of its key and of every key created or rotated
 * from it, so that no key gets around its cap by creating another.
 */
import type { WaitReason } from '@darkroom/api/openai/batches';
import type { Queryable, Statement } from '../database/database.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';
import { formatUsd } from '../domain/money.ts';

/** What a cap is for: the current UTC day, or all time. */
export type CapPeriod = 'day' | 'total';

/** A key may no longer spend as much, whatever its account has. */
export class SpendCapError extends DarkroomError {
  override readonly name = 'SpendCapError';
  override readonly kind = 'insufficient_balance';
  readonly period: CapPeriod;
  readonly capMicroUsd: bigint;
  /** The amount that remains under the cap. */
  readonly leftMicroUsd: bigint;
  readonly neededMicroUsd: bigint;

  constructor(period: CapPeriod, capMicroUsd: bigint, leftMicroUsd: bigint, neededMicroUsd: bigint) {
    super('the spend cap of the key does not cover the worst-case cost');
    this.period = period;
    this.capMicroUsd = capMicroUsd;
    this.leftMicroUsd = leftMicroUsd;
    this.neededMicroUsd = neededMicroUsd;
  }

  override get publicMessage(): string {
    const needed = formatUsd(this.neededMicroUsd);
    const left = formatUsd(this.leftMicroUsd);
    const cap = formatUsd(this.capMicroUsd);
    const period = this.period === 'day' ? 'today' : 'in total';
    const advice = this.period === 'day' ? 'retry after midnight UTC, or use another key' : 'use another key';
    return `the request can cost up to ${needed} USD and this key may spend ${left} USD more ${period} (its cap is ${cap} USD); ${advice}`;
  }

  override get waitsFor(): WaitReason | undefined {
    return this.period === 'day' && this.neededMicroUsd <= this.capMicroUsd ? 'daily_spend_cap' : undefined;
  }
}

/** One cap in one of its periods. */
interface ChargedPeriod {
  readonly period: string;
  readonly spent: bigint;
  readonly cap: bigint | null;
}

const charge: Statement = {
  name: 'charge_spend_caps',
  text: `INSERT INTO spend_periods AS p (cap_id, period, spent_micro_usd)
         SELECT c.id, e.period, $2
           FROM spend_caps c,
                LATERAL (VALUES (to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD')), ('total')) AS e (period)
          WHERE c.id = ANY ($1)
          ORDER BY c.id, e.period
         ON CONFLICT (cap_id, period) DO UPDATE SET spent_micro_usd = p.spent_micro_usd + excluded.spent_micro_usd
         RETURNING period, spent_micro_usd AS spent,
                   (SELECT CASE p.period WHEN 'total' THEN c.total_micro_usd ELSE c.day_micro_usd END
                      FROM spend_caps c WHERE c.id = p.cap_id) AS cap`,
};

/**
 * Counts a hold against caps. In the accepting transaction, after the account's counters: settlements take these locks
 * in the same order.
 *
 * @throws {SpendCapError} a cap does not cover it; the transaction must not commit.
 */
export async function chargeSpendCaps(
  transaction: Queryable,
  capIds: readonly string[],
  holdMicroUsd: bigint,
): Promise<void> {
  const periods = await transaction.query<ChargedPeriod>(charge, [capIds, holdMicroUsd]);
  for (const { period, spent, cap } of periods) {
    if (cap === null || spent <= cap) continue;
    const before = spent - holdMicroUsd;
    const left = cap > before ? cap - before : 0n;
    throw new SpendCapError(period === 'total' ? 'total' : 'day', cap, left, holdMicroUsd);
  }
}

const selectCaps: Statement = {
  name: 'select_spend_caps',
  text: `SELECT c.id AS "capId", e.period, e.cap, coalesce(p.spent_micro_usd, 0) AS spent
           FROM spend_caps c
          CROSS JOIN LATERAL (
                VALUES ('day', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD'), c.day_micro_usd),
                       ('total', 'total', c.total_micro_usd)) AS e (period, key, cap)
           LEFT JOIN spend_periods p ON p.cap_id = c.id AND p.period = e.key
          WHERE c.id = ANY ($1) AND e.cap IS NOT NULL
          ORDER BY c.id, e.period`,
};

/** What caps allow, and what counts against each by now; with the account's counters locked, both stay so. */
export async function readSpendCaps(
  transaction: Queryable,
  capIds: readonly string[],
): Promise<{ capId: string; period: CapPeriod; cap: bigint; spent: bigint }[]> {
  return [
    ...(await transaction.query<{ capId: string; period: CapPeriod; cap: bigint; spent: bigint }>(selectCaps, [
      capIds,
    ])),
  ];
}

const release: Statement = {
  name: 'release_spend_caps',
  text: `UPDATE spend_periods SET spent_micro_usd = spent_micro_usd - $3
          WHERE cap_id = ANY ($1) AND period IN ($2, 'total')`,
};

/** Takes back what a settlement released. @param day the UTC day of the hold, `2026-11-21`. */
export async function releaseSpendCaps(
  transaction: Queryable,
  capIds: readonly string[],
  day: string,
  releasedMicroUsd: bigint,
): Promise<void> {
  if (releasedMicroUsd > 0n) await transaction.query(release, [capIds, day, releasedMicroUsd]);
}

const selectLeft: Statement = {
  name: 'select_spend_caps_left',
  text: `SELECT min(CASE e.period WHEN 'total' THEN c.total_micro_usd ELSE c.day_micro_usd END
                    - coalesce(p.spent_micro_usd, 0))::bigint AS "left"
           FROM spend_caps c
          CROSS JOIN LATERAL (VALUES (to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD')), ('total')) AS e (period)
           LEFT JOIN spend_periods p ON p.cap_id = c.id AND p.period = e.period
          WHERE c.id = ANY ($1)`,
};

/** What all of these caps leave at this moment; undefined if there is none. */
export async function spendCapsLeft(database: Queryable, capIds: readonly string[]): Promise<bigint | undefined> {
  if (capIds.length === 0) return undefined;
  const [row] = await database.query<{ left: bigint | null }>(selectLeft, [capIds]);
  return row?.left ?? undefined;
}

/**
 * What was spent under a cap, held and captured, in micro-USD: as it is listed with an account's keys (contract §7).
 */
export interface CapSpending {
  /** On the current UTC day. */
  readonly dayMicroUsd: bigint;
  readonly totalMicroUsd: bigint;
}

const selectSpending: Statement = {
  name: 'select_cap_spending',
  text: `SELECT cap_id AS "capId", coalesce(sum(spent_micro_usd) FILTER (WHERE period = $2), 0)::bigint AS "dayMicroUsd",
                coalesce(sum(spent_micro_usd) FILTER (WHERE period = 'total'), 0)::bigint AS "totalMicroUsd"
           FROM spend_periods WHERE cap_id = ANY ($1) AND period IN ($2, 'total') GROUP BY cap_id`,
};

/**
 * What was spent under each of these caps.
 *
 * @param now milliseconds since 1970: which day it is.
 * @returns by the caps' ids; a cap under which nothing was spent is absent.
 */
export async function readCapSpending(
  database: Queryable,
  capIds: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, CapSpending>> {
  if (capIds.length === 0) return new Map();
  const day = new Date(now).toISOString().slice(0, 10);
  const rows = await database.query<CapSpending & { capId: string }>(selectSpending, [capIds, day]);
  return new Map(rows.map(({ capId, ...spending }) => [capId, spending]));
}
