/**
 * What every task cost the operator, and the margin that is left: one row for each task that has ended and whose work
 * an upstream had. The cost is recorded with the outcome of the work (`generations`), and copied here by the
 * settlement; null where it is not known.
 *
 * `operator_costs` (operator-costs.ts) answers another question: how much a provider can bill at most for work that no
 * owner paid. Such a task has a row in both, so their sums are never added.
 */
import type { CostSource } from '@darkroom/api/facts/cost-sources';
import { MAX_USAGE_ROWS } from '@darkroom/api/facts/limits';
import { MARGIN_GROUPS } from '@darkroom/api/facts/margin-groups';
import type { MarginGroup } from '@darkroom/api/facts/margin-groups';
import type { Queryable, Statement } from '../database/database.ts';
import { queryRows, rowStatement } from '../database/row-statement.ts';
import { EMBEDDED_PROTOCOL, EMBEDDED_TEXT_UPSTREAM } from '../domain/upstream-names.ts';
import { TooMuchUsageError } from './usage.ts';

/** What the provider says when a job is cancelled counts for more than what was recorded before. */
const insertCosts = rowStatement(
  'insert_task_cost',
  { task_id: 'text', account_id: 'text', model: 'text', captured: 'bigint', billed: 'bigint' },
  1,
  (
    rows,
  ) => `INSERT INTO task_costs (task_id, account_id, model, upstream, cost_micro_usd, source, usage, captured_micro_usd)
         SELECT g.task_id, v.account_id, v.model, g.upstream,
                coalesce(v.billed, g.cost_micro_usd, CASE WHEN g.upstream = $1 THEN 0 END),
                CASE WHEN v.billed IS NOT NULL THEN 'reported'
                     WHEN g.cost_micro_usd IS NOT NULL THEN g.cost_source
                     WHEN g.upstream = $1 THEN 'rule' END,
                g.usage, v.captured
           FROM ${rows} v JOIN generations g ON g.task_id = v.task_id
         ON CONFLICT (task_id) DO NOTHING
         RETURNING task_id AS "taskId", cost_micro_usd AS "costMicroUsd", source`,
);

/** The cost of a task that has ended. */
export interface TaskCost {
  readonly taskId: string;
  /** Null: not known. */
  readonly costMicroUsd: bigint | null;
  readonly source: CostSource | null;
}

/** A task that ends. */
export interface EndedTask {
  readonly taskId: string;
  readonly accountId: string;
  readonly model: string;
  readonly capturedMicroUsd: bigint;
  /** What the provider says that it bills for a cancelled task. */
  readonly billedMicroUsd: bigint | undefined;
}

/**
 * Records what tasks cost, in the settling transaction.
 *
 * @param tasks at least one.
 * @returns none for a task whose work no upstream had, so that it cost nothing.
 */
export function recordTaskCosts(transaction: Queryable, tasks: readonly EndedTask[]): Promise<readonly TaskCost[]> {
  const rows = tasks.map(({ taskId, accountId, model, capturedMicroUsd, billedMicroUsd }) => [
    taskId,
    accountId,
    model,
    capturedMicroUsd,
    billedMicroUsd ?? null,
  ]);
  return queryRows<TaskCost>(transaction, insertCosts, rows, [EMBEDDED_PROTOCOL]);
}

/** Sums of tasks and text calls. Columns that are not grouped by are undefined. */
export interface MarginRow {
  /** `2026-11-21`, UTC, of the end. */
  readonly day?: string;
  readonly model?: string;
  readonly upstream?: string;
  readonly account?: string;
  readonly tasks: number;
  readonly textCalls: number;
  readonly capturedMicroUsd: bigint;
  /** The sum of the known costs. */
  readonly costMicroUsd: bigint;
  /** How many tasks and text calls have a cost that is not known, and what was captured for them. */
  readonly unknownTasks: number;
  readonly unknownCapturedMicroUsd: bigint;
  /** How many tasks cost more than was captured for them. */
  readonly tasksBelowCost: number;
  readonly reportedTasks: number;
  readonly usageTasks: number;
  readonly ruleTasks: number;
}

export interface MarginQuery {
  /** The first day, `2026-11-01`, UTC. */
  readonly from: string;
  /** The last day. */
  readonly to: string;
  readonly groupBy: readonly MarginGroup[];
}

const COLUMNS: Readonly<Record<MarginGroup, string>> = {
  day: `to_char(ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')`,
  model: 'model',
  upstream: 'upstream',
  account: 'account_id',
};

const SUMS = `count(*) FILTER (WHERE kind = 'task')::integer AS tasks,
  count(*) FILTER (WHERE kind = 'text')::integer AS "textCalls",
  coalesce(sum(captured_micro_usd), 0)::bigint AS "capturedMicroUsd",
  coalesce(sum(cost_micro_usd), 0)::bigint AS "costMicroUsd",
  count(*) FILTER (WHERE cost_micro_usd IS NULL)::integer AS "unknownTasks",
  coalesce(sum(captured_micro_usd) FILTER (WHERE cost_micro_usd IS NULL), 0)::bigint AS "unknownCapturedMicroUsd",
  count(*) FILTER (WHERE captured_micro_usd < cost_micro_usd)::integer AS "tasksBelowCost",
  count(*) FILTER (WHERE source = 'reported')::integer AS "reportedTasks",
  count(*) FILTER (WHERE source = 'usage')::integer AS "usageTasks",
  count(*) FILTER (WHERE source = 'rule')::integer AS "ruleTasks"`;

const inDays = (column: string): string => `${column} >= $1::date::timestamp AT TIME ZONE 'UTC'
              AND ${column} < ($2::date + 1)::timestamp AT TIME ZONE 'UTC'`;

/**
 * Tasks, and text calls that an upstream answered or that were charged: those have no rate of the operator's, so that
 * what they cost is not known, unless the model is our own. They count for the day on which they began, and until they
 * are pruned.
 */
const WORK = `SELECT ended_at, model, upstream, account_id, captured_micro_usd, cost_micro_usd, source, 'task' AS kind
                FROM task_costs WHERE ${inDays('ended_at')}
              UNION ALL
              SELECT created_at, model, coalesce(upstream, 'text'), account_id, captured_micro_usd,
                     CASE WHEN upstream = '${EMBEDDED_TEXT_UPSTREAM}' THEN 0 END,
                     CASE WHEN upstream = '${EMBEDDED_TEXT_UPSTREAM}' THEN 'rule' END, 'text'
                FROM text_calls
               WHERE ${inDays('created_at')} AND settled_at IS NOT NULL AND model IS NOT NULL
                 AND (outcome = 'answered' OR captured_micro_usd > 0)`;

/** One statement for each set of groups, in this order whatever order they are named in. */
function marginStatement(groups: readonly MarginGroup[]): Statement {
  const columns = groups.map((group) => `${COLUMNS[group]} AS "${group}"`);
  const positions = groups.map((_, index) => index + 1).join(', ');
  return {
    name: ['select_margins', ...groups].join('_'),
    text: `SELECT ${[...columns, SUMS].join(', ')}
             FROM (${WORK}) w
            GROUP BY ${positions} ORDER BY ${positions} LIMIT ${MAX_USAGE_ROWS + 1}`,
  };
}

/** @returns sums in the order of day, model, upstream, account. @throws {TooMuchUsageError} */
export async function readMargins(
  database: Queryable,
  { from, to, groupBy }: MarginQuery,
): Promise<readonly MarginRow[]> {
  const groups = MARGIN_GROUPS.filter((group) => groupBy.includes(group));
  const rows = await database.query<MarginRow>(marginStatement(groups), [from, to]);
  if (rows.length > MAX_USAGE_ROWS) throw new TooMuchUsageError();
  return rows;
}
