import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  AccountNotFoundError,
  createAccount,
  listAccountPage,
  listAccounts,
  readAccount,
  renameAccount,
  setSuspended,
  updateLimits,
} from '../../src/accounts/accounts.ts';
import type { AccountLimits } from '../../src/accounts/accounts.ts';
import { MAX_ACCOUNTS, OrganisationFullError, UnknownOrganisationError } from '../../src/accounts/wallet.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';

let testDatabase: TestDatabase;
before(async () => {
  testDatabase = await createTestDatabase();
});
after(() => testDatabase.close());

const newAccount = (name: string, organisationId?: string): Promise<string> =>
  testDatabase.database.transaction((transaction) => createAccount(transaction, name, {}, organisationId));

describe('an account', () => {
  // Proves C5-16, C7-12.
  it('is created active, with a balance of zero and the default limits of the contract', async () => {
    const { createdAt, ...account } = await readAccount(testDatabase.database, await newAccount('first'));

    assert.ok(createdAt instanceof Date);
    assert.deepEqual(
      { ...account, id: undefined, organisationId: undefined, walletId: undefined },
      {
        id: undefined,
        organisationId: undefined,
        walletId: undefined,
        name: 'first',
        status: 'active',
        suspensionReason: null,
        availableMicroUsd: 0n,
        heldMicroUsd: 0n,
        queued: 0,
        running: 0,
        textStreams: 0,
        persistentBytes: 0,
        limits: {
          runningCap: 10,
          queueCap: 1_000,
          createsPerMinute: 60,
          readsPerMinute: 1_200,
          storageCapBytes: 100_000_000_000,
          textRequestsPerMinute: 600,
          textTokensPerMinute: 1_000_000,
          textStreamsCap: 100,
        },
      },
    );
  });

  it('is found by its id and in the list, and is distinct from every other', async () => {
    const id = await newAccount('second');

    assert.ok((await listAccounts(testDatabase.database)).some((account) => account.id === id));
    assert.deepEqual(
      (await listAccounts(testDatabase.database, id)).map((account) => account.name),
      ['second'],
    );
    await assert.rejects(readAccount(testDatabase.database, 'acc_none'), AccountNotFoundError);
  });

  it('is suspended for its requests and for the launcher alike, and can be resumed', async () => {
    const id = await newAccount('third');
    for (const isSuspended of [true, false]) {
      await testDatabase.database.transaction((transaction) => setSuspended(transaction, id, isSuspended));

      assert.equal((await readAccount(testDatabase.database, id)).status, isSuspended ? 'suspended' : 'active');
      const rows = await testDatabase.database.query(
        { name: 'select_is_suspended', text: 'SELECT is_suspended FROM account_counters WHERE account_id = $1' },
        [id],
      );
      assert.deepEqual(rows, [{ is_suspended: isSuspended }]);
    }
    await assert.rejects(setSuspended(testDatabase.database, 'acc_none', true), AccountNotFoundError);
  });

  // Proves C7-15.
  it('is updated with new limits and a new name, and fields that are not named stay unchanged', async () => {
    const { database } = testDatabase;
    const id = await newAccount('fourth');
    const change = (limits: Partial<AccountLimits>): Promise<void> =>
      database.transaction((transaction) => updateLimits(transaction, id, limits));

    await change({ runningCap: 0, storageCapBytes: 0 });
    await change({ createsPerMinute: 7, readsPerMinute: 8, queueCap: 9 });
    await change({ textRequestsPerMinute: 10, textTokensPerMinute: 11 });
    await change({ textStreamsCap: 12 });
    await change({});
    await renameAccount(database, id, 'fünf 🦊');

    const { name, limits } = await readAccount(database, id);
    assert.deepEqual(
      [name, limits],
      [
        'fünf 🦊',
        {
          runningCap: 0,
          queueCap: 9,
          createsPerMinute: 7,
          readsPerMinute: 8,
          storageCapBytes: 0,
          textRequestsPerMinute: 10,
          textTokensPerMinute: 11,
          textStreamsCap: 12,
        },
      ],
    );
    await assert.rejects(updateLimits(database, 'acc_none', { queueCap: 1 }), AccountNotFoundError);
    await assert.rejects(renameAccount(database, 'acc_none', 'x'), AccountNotFoundError);
  });
});

async function countAccounts(): Promise<bigint | undefined> {
  const statement = { name: 'test_count_accounts', text: 'SELECT count(*) FROM accounts' };
  const [row] = await testDatabase.database.query<{ count: bigint }>(statement);
  return row?.count;
}

describe('an account in the organisation of another', () => {
  it('has an id and limits of its own, and the organisation and wallet of the other', async () => {
    const first = await newAccount('project');

    const id = await newAccount('project', first);

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
    const member = await newAccount('project', await newAccount('project'));
    const before = await countAccounts();

    for (const organisationId of ['acc_none', '', member]) {
      await assert.rejects(newAccount('project', organisationId), UnknownOrganisationError, organisationId);
    }
    assert.equal(await countAccounts(), before);
  });

  it('is not created beyond the limit, even if several are created at the same moment', async () => {
    const first = await newAccount('project');
    for (let accounts = 1; accounts < MAX_ACCOUNTS - 1; accounts++) await newAccount('project', first);

    const outcomes = await Promise.allSettled(Array.from({ length: 6 }, () => newAccount('project', first)));

    const rejected = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
    assert.equal(rejected.length, 5);
    for (const error of rejected) assert.ok(error instanceof OrganisationFullError);
  });
});
