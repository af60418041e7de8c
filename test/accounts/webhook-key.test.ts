import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createAccount } from '../../src/accounts/accounts.ts';
import { createWebhookKeys } from '../../src/accounts/webhook-key.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';

const ENCRYPTION_KEY = 'an encryption key of 32 characters or more';

let testDatabase: TestDatabase;
before(async () => {
  testDatabase = await createTestDatabase();
});
after(() => testDatabase.close());

const keys = createWebhookKeys(ENCRYPTION_KEY);
const newAccount = (): Promise<string> =>
  testDatabase.database.transaction((transaction) => createAccount(transaction, 'test'));
const replace = (accountId: string, secret: string): Promise<void> =>
  testDatabase.database.transaction((transaction) => keys.replace(transaction, accountId, secret));

describe('a webhook key', () => {
  it('is none until the account makes one', async () => {
    assert.deepEqual(await keys.activeSecrets(testDatabase.database, await newAccount()), []);
  });

  it('signs beside its successor for 24 hours, the current one first', async () => {
    const accountId = await newAccount();
    await replace(accountId, 'the first secret');
    await replace(accountId, 'the second, ümlaut 🦊');

    assert.deepEqual(await keys.activeSecrets(testDatabase.database, accountId), [
      'the second, ümlaut 🦊',
      'the first secret',
    ]);
    const [row] = await testDatabase.database.query<{ hours: number }>({
      name: 'select_overlap',
      text: `SELECT round(extract(epoch FROM expires_at - now()) / 3600)::int AS hours FROM webhook_keys
              WHERE expires_at IS NOT NULL`,
    });
    assert.equal(row?.hours, 24);
  });

  it('signs no longer once its overlap is over', async () => {
    const accountId = await newAccount();
    await replace(accountId, 'the first secret');
    await replace(accountId, 'the second secret');

    await testDatabase.database.query({
      name: 'end_overlap',
      text: 'UPDATE webhook_keys SET expires_at = now() WHERE expires_at IS NOT NULL',
    });

    assert.deepEqual(await keys.activeSecrets(testDatabase.database, accountId), ['the second secret']);
  });

  it('is stored encrypted, never twice the same, and opens for its own account and installation only', async () => {
    const [one, other] = [await newAccount(), await newAccount()];
    await replace(one, 'the very same secret');
    await replace(other, 'the very same secret');

    const rows = await testDatabase.database.query<{ account_id: string; secret_ciphertext: Buffer }>({
      name: 'select_ciphertexts',
      text: `SELECT account_id, secret_ciphertext FROM webhook_keys WHERE account_id = '${one}' OR account_id = '${other}'`,
    });
    assert.equal(new Set(rows.map((row) => row.secret_ciphertext.toString('hex'))).size, 2);
    for (const row of rows) assert.ok(!row.secret_ciphertext.includes('secret'));
    await assert.rejects(createWebhookKeys(`${ENCRYPTION_KEY}!`).activeSecrets(testDatabase.database, one));
    await testDatabase.database.query(
      { name: 'swap_owner', text: 'UPDATE webhook_keys SET account_id = $2 WHERE account_id = $1' },
      [one, other],
    );
    await assert.rejects(keys.activeSecrets(testDatabase.database, other));
  });
});
