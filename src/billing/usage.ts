/**
 * What an account used: what was captured, by UTC day, model and key (contract §7 `GET /account/usage`). It is read
 * from the ledger itself, by an index that contains all of it.
 */
import type { Queryable, Statement } from '../database/database.ts';
import { USAGE_GROUPS } from '@darkroom/api/facts/usage-groups';
import type { UsageGroup } from '@darkroom/api/facts/usage-groups';
import { MAX_USAGE_ROWS } from '@darkroom/api/facts/limits';
import { DarkroomError } from '../domain/darkroom-error.ts';

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
  /** Only what was captured for this end user: of tasks the metadata `user`. Absent: everything. */
  readonly user?: string | undefined;
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

const OF_USER = `AND reference IN (
                    SELECT task_id FROM task_metadata WHERE account_id = $1 AND pair = metadata_pair('user', $4)
                    UNION ALL
                    SELECT call_id FROM text_call_end_users WHERE account_id = $1 AND end_user = $4)`;

/** One statement for each set of groups, in this order whatever order they are named in. */
function usageStatement(groups: readonly UsageGroup[], isOfUser: boolean): Statement {
  const columns = groups.map((group) => `${COLUMNS[group]} AS "${group}"`);
  const grouping = groups.length === 0 ? '' : `GROUP BY ${groups.map((_, index) => index + 1).join(', ')}`;
  const order = groups.length === 0 ? '' : `ORDER BY ${groups.map((_, index) => index + 1).join(', ')}`;
  return {
    name: ['select_usage', ...(isOfUser ? ['of_user'] : []), ...groups].join('_').toLowerCase(),
    text: `SELECT ${[...columns, 'coalesce(sum(amount_micro_usd), 0)::bigint AS "capturedMicroUsd"', 'count(model)::integer AS count'].join(', ')}
             FROM ledger_entries
            WHERE account_id = $1 AND kind = 'capture'
              AND created_at >= $2::date::timestamp AT TIME ZONE 'UTC'
              AND created_at < ($3::date + 1)::timestamp AT TIME ZONE 'UTC'
              ${isOfUser ? OF_USER : ''}
            ${grouping} ${order} LIMIT ${MAX_USAGE_ROWS + 1}`,
  };
}

/** @returns sums in the order of day, model, key. @throws {TooMuchUsageError} */
export async function readUsage(
  database: Queryable,
  accountId: string,
  { from, to, groupBy, user }: UsageQuery,
): Promise<readonly UsageRow[]> {
  const groups = USAGE_GROUPS.filter((group) => groupBy.includes(group));
  const values = user === undefined ? [accountId, from, to] : [accountId, from, to, user];
  const rows = await database.query<UsageRow>(usageStatement(groups, user !== undefined), values);
  if (rows.length > MAX_USAGE_ROWS) throw new TooMuchUsageError();
  return rows;
}
