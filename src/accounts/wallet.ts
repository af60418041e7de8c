/**
 * SQL for the wallet of an account: its own row of counters, or the row that `wallet_id` names (docs/decisions/0051). An
 * account never changes its wallet, so which row it is may be read at any time; what is in it is certain only while it
 * is locked.
 */

/** SQL that finds the wallet `w` of the account `c`, both rows of `account_counters`. */
export const IS_WALLET = 'w.account_id = coalesce(c.wallet_id, c.account_id)';

/**
 * SQL that locks the account $1 as `c`, and then its wallet as `w`, which may be the same row. The account is locked in
 * a query of its own, because all transactions take these two in that order; rows of a join are locked in the order of
 * the planner.
 *
 * @param columns of `c` and `w`, as they are once both are locked.
 */
export function lockAccountAndWallet(columns: string): string {
  return `WITH c AS (
            SELECT * FROM account_counters WHERE account_id = $1 FOR NO KEY UPDATE)
          SELECT ${columns} FROM c JOIN account_counters w ON ${IS_WALLET} FOR NO KEY UPDATE OF w`;
}
