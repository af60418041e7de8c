/**
 * The operator's own cost (contract §7): a task that timed out, whose outcome is not known, whose outputs could not be
 * stored, or that an operator terminated is released to its owner, although its provider may well bill the work. What that can come to is written down here, by task and upstream, to be
 * held against the provider's invoice.
 */
import type { Queryable, Statement } from '../database/database.ts';
import type { FailureReason } from '../domain/failure-reason.ts';

/** What is recorded of the embedded engines' work (activities/task-route.ts): nobody bills that. */
const EMBEDDED_UPSTREAM = 'embedded';

/** The ends of a task for which a provider may send a bill that nobody else pays. */
export const BORNE_REASONS = [
  'timed_out',
  'outcome_unknown',
  'storage_unavailable',
  'terminated',
] as const satisfies readonly FailureReason[];

const insertCost: Statement = {
  name: 'insert_operator_cost',
  text: `INSERT INTO operator_costs (task_id, upstream, model, reason, at_most_micro_usd)
         SELECT task_id, upstream, $2, $3, $4 FROM generations
          WHERE task_id = $1 AND upstream <> $5
         ON CONFLICT (task_id) DO NOTHING`,
};

/**
 * Books a failed task's cost as the operator's, where its provider had or may have had the work. In the settling
 * transaction.
 *
 * @param atMostMicroUsd what was held for the task and released.
 */
export async function bookOperatorCost(
  transaction: Queryable,
  task: { readonly taskId: string; readonly model: string; readonly reason: FailureReason },
  atMostMicroUsd: bigint,
): Promise<void> {
  if (!(BORNE_REASONS as readonly FailureReason[]).includes(task.reason)) return;
  await transaction.query(insertCost, [task.taskId, task.model, task.reason, atMostMicroUsd, EMBEDDED_UPSTREAM]);
}

/** What tasks of one upstream and model can have cost the operator, by the reason of their end. */
export interface OperatorCost {
  readonly upstream: string;
  readonly model: string;
  readonly reason: FailureReason;
  readonly tasks: number;
  readonly atMostMicroUsd: bigint;
}

const selectCosts: Statement = {
  name: 'select_operator_costs',
  text: `SELECT upstream, model, reason, count(*)::integer AS tasks, sum(at_most_micro_usd)::bigint AS "atMostMicroUsd"
           FROM operator_costs 
          WHERE created_at >= $1::date::timestamp AT TIME ZONE 'UTC'
            AND created_at < ($2::date + 1)::timestamp AT TIME ZONE 'UTC'
          GROUP BY upstream, model, reason ORDER BY upstream, model, reason`,
};

/** Sums the operator's costs of UTC days, `2026-11-21`, the last one included. */
export async function readOperatorCosts(
  database: Queryable,
  days: { readonly from: string; readonly to: string },
): Promise<readonly OperatorCost[]> {
  return database.query<OperatorCost>(selectCosts, [days.from, days.to]);
}
