/**
 * The operator's own cost (contract §7): a task that timed out, that was cancelled, that produced nothing, whose
 * outcome is not known, whose outputs could not be stored, or that an operator terminated is released to its owner,
 * although its provider may well bill the work. What that can cost is recorded here, by task and upstream, to be
 * compared with the provider's invoice. A text call whose upstream reports more than was held for it is booked where
 * it is settled (text/money/move.ts), as `hold_exceeded`; its requests whose answers are lost, because they were repeated or
 * broke off, are booked as `attempt_lost`, there and where an attempt in the background ends without an outcome
 * (text/background/call-record.ts).
 */
import type { Queryable, Statement } from '../database/database.ts';
import { EMBEDDED_PROTOCOL } from '../domain/upstream-names.ts';
import type { FailureReason } from '../domain/failure-reason.ts';
import { BORNE_REASONS } from '@darkroom/api/facts/cost-reasons';
import type { CostReason } from '@darkroom/api/facts/cost-reasons';

const insertCost: Statement = {
  name: 'insert_operator_cost',
  text: `INSERT INTO operator_costs (task_id, upstream, model, reason, at_most_micro_usd)
         SELECT task_id, upstream, $2, $3, $4 FROM generations
          WHERE task_id = $1 AND upstream <> $5
         ON CONFLICT (task_id) DO NOTHING`,
};

/**
 * Records a failed task's cost as the operator's, if its provider had or may have had the work. In the settling
 * transaction.
 *
 * @param atMostMicroUsd what the provider can bill beyond what its owner paid: what was held for the task and
 *   released, if the provider does not report what it bills.
 */
export async function bookOperatorCost(
  transaction: Queryable,
  task: { readonly taskId: string; readonly model: string; readonly reason: FailureReason },
  atMostMicroUsd: bigint,
): Promise<void> {
  if (!BORNE_REASONS.some((reason) => reason === task.reason)) return;
  await transaction.query(insertCost, [task.taskId, task.model, task.reason, atMostMicroUsd, EMBEDDED_PROTOCOL]);
}

/** What tasks of one upstream and model can have cost the operator, by the reason of their end. */
export interface OperatorCost {
  readonly upstream: string;
  readonly model: string;
  readonly reason: CostReason;
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

/** What text calls of an account cost beyond their holds, which the account did not pay. */
export interface ExceededHolds {
  readonly calls: number;
  readonly microUsd: bigint;
}

/** Begins with the costs, which are few, and not with the account's calls. */
const selectExceeded: Statement = {
  name: 'select_exceeded_holds',
  text: `SELECT count(*)::integer AS calls, coalesce(sum(o.at_most_micro_usd), 0)::bigint AS "microUsd"
           FROM operator_costs o JOIN text_calls t ON t.id = o.task_id
          WHERE t.account_id = $1 AND o.reason = 'hold_exceeded'
            AND o.created_at >= $2::date::timestamp AT TIME ZONE 'UTC'
            AND o.created_at < ($3::date + 1)::timestamp AT TIME ZONE 'UTC'`,
};

/** Sums those of one account, of UTC days, the last one included. */
export async function readExceededHolds(
  database: Queryable,
  accountId: string,
  days: { readonly from: string; readonly to: string },
): Promise<ExceededHolds> {
  const [sums] = await database.query<ExceededHolds>(selectExceeded, [accountId, days.from, days.to]);
  return sums ?? { calls: 0, microUsd: 0n };
}
