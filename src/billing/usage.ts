/**
 * What an account used: what was captured, by UTC day, model and key (contract §7 `GET /account/usage`). It is read
 * from the ledger itself, by an index that contains all of it.
 */
import type { Queryable, Statement } from '../database/database.ts';
import { USAGE_GROUPS } from '@darkroom/api/facts/usage-groups';
import type { UsageGroup } from '@darkroom/api/facts/usage-groups';
import { MAX_USAGE_ROWS } from '@darkroom/api/facts/limits';
import { DarkroomError } from '../domain/darkroom-error.ts';

export { USAGE_GROUPS } from '@darkroom/api/facts/usage-groups';
export type { UsageGroup } from '@darkroom/api/facts/usage-groups';

/**
 * One sum. Columns that are not grouped by are undefined; null: what belongs to no model and no key, which is
 * storage.
 */
export interface UsageRow {
  /** `2026-11-21`, UTC. */
  readonly day?: string;
  readonly model?: string | null;
  readonly keyId?: string | null;
  readonly capturedMicroUsd: bigint;
  /** How many tasks and text requests it was captured for; storage counts none. */
  readonly count: number;
}

export interface UsageQuery {
  /** The first day, `2026-11-01`, UTC. */
  readonly from: string;
  /** The last day. */
  readonly to: string;
  readonly groupBy: readonly UsageGroup[];
}

/** More sums than one response holds. */
export class TooMuchUsageError extends DarkroomError {
  override readonly name = 'TooMuchUsageError';
  override readonly kind = 'invalid_request';
  override readonly param = 'groupBy';

  constructor() {
    super('the result has too many rows for one response; request fewer days or groups');
  }

  override get publicMessage(): string {
    return `invalid request: ${this.param}: ${this.message}`;
  }
}

const COLUMNS: Readonly<Record<UsageGroup, string>> = {
  day: `to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')`,
  model: 'model',
  keyId: 'key_id',
};

/** One statement for each set of groups, in this order whatever order they are named in. */
function usageStatement(groups: readonly UsageGroup[]): Statement {
  const columns = groups.map((group) => `${COLUMNS[group]} AS "${group}"`);
  const grouping = groups.length === 0 ? '' : `GROUP BY ${groups.map((_, index) => index + 1).join(', ')}`;
  const order = groups.length === 0 ? '' : `ORDER BY ${groups.map((_, index) => index + 1).join(', ')}`;
  return {
    name: ['select_usage', ...groups].join('_').toLowerCase(),
    text: `SELECT ${[...columns, 'coalesce(sum(amount_micro_usd), 0)::bigint AS "capturedMicroUsd"', 'count(model)::integer AS count'].join(', ')}
             FROM ledger_entries
            WHERE account_id = $1 AND kind = 'capture'
              AND created_at >= $2::date::timestamp AT TIME ZONE 'UTC'
              AND created_at < ($3::date + 1)::timestamp AT TIME ZONE 'UTC'
            ${grouping} ${order} LIMIT ${MAX_USAGE_ROWS + 1}`,
  };
}

/** @returns sums in the order of day, model, key. @throws {TooMuchUsageError} */
export async function readUsage(
  database: Queryable,
  accountId: string,
  { from, to, groupBy }: UsageQuery,
): Promise<readonly UsageRow[]> {
  const groups = USAGE_GROUPS.filter((group) => groupBy.includes(group));
  const rows = await database.query<UsageRow>(usageStatement(groups), [accountId, from, to]);
  if (rows.length > MAX_USAGE_ROWS) throw new TooMuchUsageError();
  return rows;
}
