/**
 * Organisations: accounts that share a wallet (docs/decisions/0014). Every account begins one, which has its id, unless
 * it is created in that of another account. Limits, keys, tasks and stored files stay those of each account.
 */
import type { Queryable, Statement } from '../database/database.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';

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
