import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { AccountNotFoundError, createAccount } from '../../src/accounts/accounts.ts';
import { createWebhookKeys } from '../../src/accounts/webhook-key.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';

const NOW = Date.parse('2027-03-01T12:00:00Z');
const HOUR_MS = 3_600_000;
const ENCRYPTION_KEY = 'an encryption key of 32 characters or more';

let testDatabase: TestDatabase;
before(async () => {
  testDatabase = await createTestDatabase();
});
after(() => testDatabase.close());

const keys = createWebhookKeys(ENCRYPTION_KEY);
const newAccount = (): Promise<string> =>
  testDatabase.database.transaction((transaction) => createAccount(transaction, 'test'));
const replace = (accountId: string, secret: string, now = NOW): Promise<void> =>
  testDatabase.database.transaction((transaction) => keys.replace(transaction, accountId, secret, now));
const active = (accountId: string, now = NOW): Promise<readonly string[]> =>
  keys.activeSecrets(testDatabase.database, accountId, now);

describe('a signing secret', () => {
  it('does not exist until the account creates one', async () => {
    const accountId = await newAccount();

    assert.deepEqual(await active(accountId), []);
    assert.equal(await keys.read(testDatabase.database, accountId, NOW), undefined);
  });

  // Proves C6-7.
  it('signs beside its successor for 24 hours, the current one first', async () => {
    const accountId = await newAccount();
    await replace(accountId, 'the first secret', NOW - HOUR_MS);
    await replace(accountId, 'the second, ümlaut 🦊');

    for (const now of [NOW, NOW + 24 * HOUR_MS - 1]) {
      assert.deepEqual(await active(accountId, now), ['the second, ümlaut 🦊', 'the first secret']);
    }
    assert.deepEqual(await active(accountId, NOW + 24 * HOUR_MS), ['the second, ümlaut 🦊']);
  });

  it('is returned with its creation time, and the time until which the previous secret signs too', async () => {
    const accountId = await newAccount();
    await replace(accountId, 'the first secret', NOW - HOUR_MS);
    const read = (now: number) => keys.read(testDatabase.database, accountId, now);
    assert.deepEqual(await read(NOW), {
      secret: 'the first secret',
      createdAt: new Date(NOW - HOUR_MS),
      previousExpiresAt: undefined,
    });

    await replace(accountId, 'the second secret');

    const second = { secret: 'the second secret', createdAt: new Date(NOW) };
    assert.deepEqual(await read(NOW), { ...second, previousExpiresAt: new Date(NOW + 24 * HOUR_MS) });
    assert.deepEqual(await read(NOW + 24 * HOUR_MS), { ...second, previousExpiresAt: undefined });
  });

  it('that is set again changes nothing, and one that is set back to signs beside the other', async () => {
    const accountId = await newAccount();
    await replace(accountId, 'the first secret');
    await replace(accountId, 'the second secret');
    const before = await keys.read(testDatabase.database, accountId, NOW);

    await replace(accountId, 'the second secret', NOW + HOUR_MS);
    assert.deepEqual(await keys.read(testDatabase.database, accountId, NOW), before);

    await replace(accountId, 'the first secret', NOW + HOUR_MS);
    assert.deepEqual((await active(accountId, NOW + HOUR_MS)).slice(0, 2), ['the first secret', 'the second secret']);
  });

  it('set by many concurrent requests is one of theirs, and every other one expires', async () => {
    const accountId = await newAccount();
    const secrets = Array.from({ length: 6 }, (_, index) => `secret number ${index} of six`);

    await Promise.all(secrets.map((secret) => replace(accountId, secret)));

    assert.equal((await active(accountId)).length, 6);
    assert.equal((await active(accountId, NOW + 24 * HOUR_MS)).length, 1);
  });

  it('is deleted together with the previous one, and no copy is stored', async () => {
    const accountId = await newAccount();
    await replace(accountId, 'the first secret');
    await replace(accountId, 'the second secret');

    await testDatabase.database.transaction((transaction) => keys.remove(transaction, accountId));

    assert.deepEqual(await active(accountId), []);
    assert.deepEqual(await stored(accountId), []);
  });

  it('that no longer signs is deleted when another is set', async () => {
    const accountId = await newAccount();
    await replace(accountId, 'the first secret');
    await replace(accountId, 'the second secret');

    await replace(accountId, 'the third secret', NOW + 24 * HOUR_MS);

    assert.equal((await stored(accountId)).length, 2);
  });

  it('cannot be set for an account that does not exist', async () => {
    await assert.rejects(replace('acc_none', 'a secret of no account'), AccountNotFoundError);
  });

  // Proves C6-9.
  it('is stored encrypted, never twice the same, and decrypts only for its own account and installation', async () => {
    const [one, other] = [await newAccount(), await newAccount()];
    await replace(one, 'the very same secret');
    await replace(other, 'the very same secret');

    const rows = [...(await stored(one)), ...(await stored(other))];
    assert.equal(new Set(rows.map((row) => row.toString('hex'))).size, 2);
    for (const row of rows) assert.ok(!row.includes('secret'));
    const stranger = createWebhookKeys(`${ENCRYPTION_KEY}!`);
    await assert.rejects(stranger.activeSecrets(testDatabase.database, one, NOW));
    await testDatabase.database.query(
      { name: 'swap_owner', text: 'UPDATE webhook_keys SET account_id = $2 WHERE account_id = $1' },
      [one, other],
    );
    await assert.rejects(active(other));
  });
});

async function stored(accountId: string): Promise<readonly Buffer[]> {
  const rows = await testDatabase.database.query<{ secret_ciphertext: Buffer }>(
    { name: 'select_ciphertexts', text: 'SELECT secret_ciphertext FROM webhook_keys WHERE account_id = $1' },
    [accountId],
  );
  return rows.map((row) => row.secret_ciphertext);
}
