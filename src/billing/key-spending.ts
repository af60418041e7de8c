/**
 * What was spent under spend caps, as it is listed with an account's keys (contract §7). Caps are charged in
 * `spend-caps.ts`.
 */
import type { Queryable, Statement } from '../database/database.ts';

/** Held and captured, in micro-USD. */
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
