import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  AccountNotFoundError,
  createAccount,
  createKey,
  listAccounts,
  listKeys,
  readAccount,
  revokeKey,
  setSuspended,
} from '../../src/accounts/accounts.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';

let testDatabase: TestDatabase;
before(async () => {
  testDatabase = await createTestDatabase();
});
after(() => testDatabase.close());

const newAccount = (name: string): Promise<string> =>
  testDatabase.database.transaction((transaction) => createAccount(transaction, name));

describe('an account', () => {
  it('begins with nothing, active, under the caps of the contract', async () => {
    const { createdAt, ...account } = await readAccount(testDatabase.database, await newAccount('first'));

    assert.ok(createdAt instanceof Date);
    assert.deepEqual(
      { ...account, id: undefined },
      {
        id: undefined,
        name: 'first',
        status: 'active',
        availableMicroUsd: 0n,
        heldMicroUsd: 0n,
        queued: 0,
        running: 0,
        persistentBytes: 0,
        limits: {
          runningCap: 10,
          queueCap: 1_000,
          createsPerMinute: 60,
          readsPerMinute: 1_200,
          storageCapBytes: 100_000_000_000,
        },
      },
    );
  });

  it('is found among all, or by its id, and is no other', async () => {
    const id = await newAccount('second');

    assert.ok((await listAccounts(testDatabase.database)).some((account) => account.id === id));
    assert.deepEqual(
      (await listAccounts(testDatabase.database, id)).map((account) => account.name),
      ['second'],
    );
    await assert.rejects(readAccount(testDatabase.database, 'acc_none'), AccountNotFoundError);
  });

  it('is suspended for its requests and for the launcher alike, and that is lifted again', async () => {
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
});

describe('the keys of an account', () => {
  it('are listed oldest first, without anything of their secrets', async () => {
    const { database } = testDatabase;
    const id = await newAccount('fourth');
    const one = await createKey(database, id, { name: 'one', scopes: ['tasks:read'] });
    const two = await createKey(database, id, { name: 'two', scopes: ['tasks:write', 'billing:read'] });

    const keys = await listKeys(database, id);

    assert.deepEqual(
      keys.map(({ id: keyId, name }) => [keyId, name]),
      [
        [one.id, 'one'],
        [two.id, 'two'],
      ],
    );
    const listing = JSON.stringify(keys);
    for (const { text } of [one, two]) assert.ok(!listing.includes(text.split('_').at(-1) ?? ''));
  });

  it('are revoked for good: the time of the first revocation stays', async () => {
    const { database } = testDatabase;
    const id = await newAccount('fifth');
    const key = await createKey(database, id, { name: 'key', scopes: ['tasks:read'] });

    assert.equal(await revokeKey(database, key.id), true);
    const [first] = await listKeys(database, id);
    assert.equal(await revokeKey(database, key.id), true);
    const [second] = await listKeys(database, id);

    assert.ok(first?.revokedAt instanceof Date);
    assert.deepEqual(second?.revokedAt, first.revokedAt);
    assert.equal(await revokeKey(database, 'nobody-has-it'), false);
  });

  it('cannot be made for an account that does not exist', async () => {
    await assert.rejects(
      createKey(testDatabase.database, 'acc_none', { name: 'key', scopes: [] }),
      AccountNotFoundError,
    );
  });

  it('are nowhere in the database as text', async () => {
    const { database } = testDatabase;
    const key = await createKey(database, await newAccount('sixth'), { name: 'key', scopes: ['tasks:read'] });

    const rows = await database.query({ name: 'select_key_rows', text: 'SELECT api_keys::text AS row FROM api_keys' });

    assert.ok(!JSON.stringify(rows).includes(key.text.split('_').at(-1)?.slice(0, 20) ?? ''));
  });
});
