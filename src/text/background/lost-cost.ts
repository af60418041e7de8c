/**
 * What attempts that were lost can have cost the operator (contract §7): their upstreams may bill what they generated,
 * and the account pays one answer only.
 */
import type { Queryable, Statement } from '../../database/database.ts';
import type { TextModelDefinition } from '../../catalogue/text-definition.ts';
import type { BackgroundCall } from './call-record.ts';

/** Beside a row of the call itself, whose hold may be exceeded. */
const insertLostCost: Statement = {
  name: 'insert_cost_of_lost_attempts',
  text: `INSERT INTO operator_costs (task_id, upstream, model, reason, at_most_micro_usd)
         SELECT id || ':lost', 'text', model, 'attempt_lost', held_micro_usd * $2 FROM text_calls
          WHERE id = $1 AND model IS NOT NULL
         ON CONFLICT (task_id) DO NOTHING`,
};

/**
 * Records it, in the transaction that ends the call.
 *
 * @param model undefined: it is not known whether its upstreams bill anything, and so they may.
 */
export async function bookLostAttempts(
  transaction: Queryable,
  { id, lostAttempts }: Pick<BackgroundCall, 'id' | 'lostAttempts'>,
  model: Pick<TextModelDefinition, 'upstreams'> | undefined,
): Promise<void> {
  if (lostAttempts === 0 || model?.upstreams.every(({ protocol }) => protocol === 'embedded') === true) return;
  await transaction.query(insertLostCost, [id, lostAttempts]);
}
