/** Accounts that are created in the organisation of another one, and share its wallet. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createAccount, listAccountPage, readAccount } from '../../src/accounts/accounts.ts';
import { MAX_ACCOUNTS, OrganisationFullError, UnknownOrganisationError } from '../../src/accounts/wallet.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';

let testDatabase: TestDatabase;
before(async () => {
  testDatabase = await createTestDatabase();
});
after(() => testDatabase.close());

const newAccount = (organisationId?: string): Promise<string> =>
  testDatabase.database.transaction((transaction) => createAccount(transaction, 'project', {}, organisationId));

async function countAccounts(): Promise<bigint | undefined> {
  const statement = { name: 'test_count_accounts', text: 'SELECT count(*) FROM accounts' };
  const [row] = await testDatabase.database.query<{ count: bigint }>(statement);
  return row?.count;
}

describe('an account in the organisation of another', () => {
  it('has an id and limits of its own, and the organisation and wallet of the other', async () => {
    const first = await newAccount();

    const id = await newAccount(first);

    const { organisationId, walletId, limits } = await readAccount(testDatabase.database, id);
    assert.notEqual(id, first);
    assert.deepEqual([organisationId, walletId, limits.runningCap], [first, first, 10]);
    const listed = await listAccountPage(testDatabase.database, 100, { search: id });
    assert.deepEqual(
      listed.map(({ walletId: wallet }) => wallet),
      [first],
    );
  });

  it('is not created in an organisation that does not exist, such as that of such an account', async () => {
    const member = await newAccount(await newAccount());
    const before = await countAccounts();

    for (const organisationId of ['acc_none', '', member]) {
      await assert.rejects(newAccount(organisationId), UnknownOrganisationError, organisationId);
    }
    assert.equal(await countAccounts(), before);
  });

  it('is not created beyond the limit, even if several are created at the same moment', async () => {
    const first = await newAccount();
    for (let accounts = 1; accounts < MAX_ACCOUNTS - 1; accounts++) await newAccount(first);

    const outcomes = await Promise.allSettled(Array.from({ length: 6 }, () => newAccount(first)));

    const rejected = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
    assert.equal(rejected.length, 5);
    for (const error of rejected) assert.ok(error instanceof OrganisationFullError);
  });
});
