/**
 * The wallet of an account, and organisations: accounts that share one (docs/decisions/0014). Every account begins an
 * organisation, which has its id, unless it is created in that of another account; limits, keys, tasks and stored files
 * stay those of each account. A wallet is the account's own row of counters, or the row that `wallet_id` names. An
 * account never changes its wallet, so which row it is may be read at any time; what is in it is certain only while it
 * is locked.
 */
import type { Queryable, Statement } from '../database/database.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';

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

/**
 * The maximum number of accounts that share a wallet. All that they hold and settle takes turns on one row, and each of
 * them may wait for it with a connection.
 */
export const MAX_ACCOUNTS = 100;

/** No organisation has that id: it is none of an account, or of one that is in the organisation of another. */
export class UnknownOrganisationError extends DarkroomError {
  override readonly name = 'UnknownOrganisationError';
  override readonly kind = 'invalid_request';
  override readonly param = 'organisationId';

  constructor(organisationId: string) {
    super(`no organisation ${organisationId}; an organisation has the id of its first account`);
  }
}

/** The organisation has as many accounts as may share a wallet. */
export class OrganisationFullError extends DarkroomError {
  override readonly name = 'OrganisationFullError';
  override readonly kind = 'invalid_request';
  override readonly param = 'organisationId';

  constructor(organisationId: string) {
    super(`organisation ${organisationId} has ${MAX_ACCOUNTS} accounts, which is the limit`);
  }
}

/** Locked, so that accounts are created in an organisation one after another. */
const lockOrganisation: Statement = {
  name: 'lock_organisation',
  text: 'SELECT 1 FROM accounts WHERE id = $1 AND organisation_id IS NULL FOR NO KEY UPDATE',
};
const countAccountsOfOrganisation: Statement = {
  name: 'count_accounts_of_organisation',
  text: 'SELECT 1 + count(*)::integer AS count FROM accounts WHERE organisation_id = $1',
};

/**
 * Checks that an account may be created in an organisation. Until the end of the transaction no other one is.
 *
 * @throws {UnknownOrganisationError} @throws {OrganisationFullError}
 */
export async function requireOrganisation(transaction: Queryable, organisationId: string): Promise<void> {
  const found = await transaction.query(lockOrganisation, [organisationId]);
  if (found.length === 0) throw new UnknownOrganisationError(organisationId);
  const [accounts] = await transaction.query<{ count: number }>(countAccountsOfOrganisation, [organisationId]);
  if ((accounts?.count ?? 0) >= MAX_ACCOUNTS) throw new OrganisationFullError(organisationId);
}
