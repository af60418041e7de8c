/**
 * Rotating the encryption key: stored secrets stay readable, and are re-encrypted however often that is interrupted.
 */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createAccount } from '../../src/accounts/accounts.ts';
import { WrongEncryptionKeyError, createSecretCipher } from '../../src/accounts/secret-cipher.ts';
import { countSecrets, reencryptSecrets, sampleSecrets } from '../../src/accounts/stored-secrets.ts';
import { createWebhookKeys } from '../../src/accounts/webhook-key.ts';
import type { Database } from '../../src/database/database.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';

const OLD = 'the old encryption key, of 32 characters or more';
const NEW = 'the new encryption key, of 32 characters or more';
const NOW = Date.parse('2027-03-01T12:00:00Z');
const SECRETS = 7;

const rotating = createSecretCipher(NEW, OLD);
const ignore = (): void => undefined;

let testDatabase: TestDatabase;
let database: Database;
let accounts: string[];
beforeEach(async () => {
  testDatabase = await createTestDatabase();
  database = testDatabase.database;
  accounts = [];
  for (let number = 0; number < SECRETS; number++) {
    accounts.push(await database.transaction((transaction) => createAccount(transaction, 'test')));
  }
  for (const [number, accountId] of accounts.entries()) await store(OLD, accountId, `the secret of number ${number}`);
});
afterEach(() => testDatabase.close());

function store(key: string, accountId: string, secret: string, ...fallbacks: string[]): Promise<void> {
  const keys = createWebhookKeys(key, ...fallbacks);
  return database.transaction((transaction) => keys.replace(transaction, accountId, secret, NOW));
}

async function readWith(...keys: [string, ...string[]]): Promise<readonly string[]> {
  const webhookKeys = createWebhookKeys(...keys);
  const read = await Promise.all(accounts.map((accountId) => webhookKeys.activeSecrets(database, accountId, NOW)));
  return read.map(([current = '']) => current);
}

describe('stored secrets', () => {
  it('are read with the old key and the new one while both are configured', async () => {
    const before = await readWith(OLD);

    assert.deepEqual(await readWith(NEW, OLD), before);
    assert.deepEqual(await readWith(OLD, NEW), before);
    await assert.rejects(readWith(NEW), WrongEncryptionKeyError);
  });

  it('are re-encrypted, after which the new key alone decrypts them', async () => {
    const before = await readWith(OLD);
    const progress: number[] = [];

    const changed = await reencryptSecrets(database, rotating, 3, ({ seen }) => progress.push(seen));

    assert.equal(changed, SECRETS);
    assert.deepEqual(progress, [3, 6, 7]);
    assert.deepEqual(await readWith(NEW), before);
    assert.equal(await reencryptSecrets(database, rotating, 3, ignore), 0, 'once more changes nothing');
  });

  it('are all readable when re-encryption is interrupted, and it resumes when repeated', async () => {
    const before = await readWith(OLD);
    const interrupted = reencryptSecrets(database, rotating, 2, ({ seen }) => {
      if (seen >= 4) throw new Error('interrupted');
    });
    await assert.rejects(interrupted, /interrupted/);

    assert.deepEqual(await readWith(NEW, OLD), before);
    assert.deepEqual(await readWith(OLD, NEW), before);
    const counts = await countSecrets(database, rotating, 2);
    assert.deepEqual([counts.current, counts.fallback, counts.total], [4, 3, SECRETS]);
    assert.equal(await reencryptSecrets(database, rotating, 2, ignore), 3);
    assert.deepEqual(await readWith(NEW), before);
  });

  it('that are replaced or deleted meanwhile are not overwritten', async () => {
    const [replaced = '', removed = ''] = accounts;
    let isDone = false;
    const racing: Database = {
      ...database,
      async query(statement, values) {
        const rows = await database.query(statement, values);
        // Between reading and writing.
        if (statement.name === 'select_stored_secrets' && !isDone) {
          isDone = true;
          await database.query({ name: 'forget', text: 'DELETE FROM webhook_keys WHERE account_id = $1' }, [removed]);
          await database.query({ name: 'replace', text: 'DELETE FROM webhook_keys WHERE account_id = $1' }, [replaced]);
          await store(OLD, replaced, 'another secret of its own', NEW);
        }
        return rows as never;
      },
    };

    const changed = await reencryptSecrets(racing, rotating, 100, ignore);

    assert.equal(changed, SECRETS - 2 + 1, 'the one that was stored meanwhile is met in the next batch');
    assert.equal((await readWith(NEW))[0], 'another secret of its own');
    assert.equal((await readWith(NEW))[1], '');
  });

  it('that no key decrypts are counted with their accounts, and left unchanged', async () => {
    const [lost = ''] = accounts;
    await database.query({ name: 'forget', text: 'DELETE FROM webhook_keys WHERE account_id = $1' }, [lost]);
    await store('a key that no one has any more, 32 characters', lost, 'a secret that is lost');

    assert.equal(await reencryptSecrets(database, rotating, 100, ignore), SECRETS - 1);

    for (const counts of [await countSecrets(database, rotating, 100), await sampleSecrets(database, rotating)]) {
      assert.deepEqual(counts, {
        total: SECRETS,
        current: SECRETS - 1,
        fallback: 0,
        undecryptable: 1,
        undecryptableAccounts: [lost],
        undecryptableUpstreams: [],
      });
    }
  });
});
