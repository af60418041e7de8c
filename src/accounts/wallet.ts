/**
 * SQL for the wallet of an account: its own row of counters, or the row that `wallet_id` names (docs/decisions/0014). An
 * account never changes its wallet, so which row it is may be read at any time; what is in it is certain only while it
 * is locked.
 */

/** SQL that finds the wallet `w` of the account `c`, both rows of `account_counters`. */
export const IS_WALLET = 'w.account_id = coalesce(c.wallet_id, c.account_id)';

/**
 * SQL that finds the wallet `w` of an account that shares one. A subquery instead of a join, and checked before any row
 * is read: a plan that was made for an empty table is cached, and would begin a join with all accounts, for each hold
 * and settlement of accounts that share none.
 *
 * @param from has the account's `wallet_id` in one row, or none.
 */
export function isSharedWallet(from: string): string {
  return `(SELECT wallet_id FROM ${from}) IS NOT NULL AND w.account_id = (SELECT wallet_id FROM ${from})`;
}

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
          SELECT ${columns} FROM c, account_counters w
           WHERE w.account_id = (SELECT coalesce(wallet_id, account_id) FROM c) FOR NO KEY UPDATE OF w`;
}
