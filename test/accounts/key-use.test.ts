import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { createAccount } from '../../src/accounts/accounts.ts';
import { createAuthenticator } from '../../src/accounts/authenticate.ts';
import { createKeyUse } from '../../src/accounts/key-use.ts';
import type { KeyUse } from '../../src/accounts/key-use.ts';
import { createKey, listKeys, readKey, revokeKey } from '../../src/accounts/keys.ts';
import { openDatabase } from '../../src/database/database.ts';
import type { Queryable } from '../../src/database/database.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';

const START = Date.parse('2027-03-01T12:00:00Z');
const statements: string[] = [];
let testDatabase: TestDatabase;
let accountId: string;
let nowMs: number;

before(async () => {
  testDatabase = await createTestDatabase((name) => statements.push(name));
});
after(() => testDatabase.close());
beforeEach(async () => {
  nowMs = START;
  accountId = await createAccount(testDatabase.database, 'test');
  statements.length = 0;
});

function keyUse(database: Queryable = testDatabase.database): KeyUse {
  return createKeyUse({ database, now: () => nowMs, logger: silentLogger() });
}

async function newKey(): Promise<{ id: string; secret: string }> {
  return createKey(testDatabase.database, accountId, { name: 'test', scopes: ['tasks:read'] });
}

const lastUse = async (id: string): Promise<number | undefined> =>
  (await readKey(testDatabase.database, id)).lastUsedAt?.getTime();
const writes = (): number => statements.filter((name) => name === 'write_key_uses').length;

describe('the last use of a key', () => {
  it('is empty before the first request is authenticated, and recording it needs no statement of its own', async () => {
    const [key, revoked] = [await newKey(), await newKey()];
    await revokeKey(testDatabase.database, revoked.id);
    const use = keyUse();
    const authenticator = createAuthenticator(testDatabase.database, () => nowMs, { keyUse: use });
    assert.equal(await lastUse(key.id), undefined);

    await authenticator.authenticate(`Bearer ${key.secret}`);
    await assert.rejects(authenticator.authenticate(`Bearer ${revoked.secret}`));
    assert.equal(writes(), 0);
    await use.flush();

    assert.equal(await lastUse(key.id), START);
    assert.equal(await lastUse(revoked.id), undefined);
  });

  it('is written by one statement for many keys, and once a minute for one key', async () => {
    const keys = await Promise.all(Array.from({ length: 20 }, newKey));
    const use = keyUse();
    const useAll = async (): Promise<void> => {
      for (const { id } of [...keys, ...keys]) use.note(id);
      await use.flush();
    };

    await useAll();
    nowMs = START + 59_999;
    await useAll();
    assert.equal(writes(), 1);
    nowMs = START + 60_000;
    await useAll();

    assert.equal(writes(), 2);
    const times = (await listKeys(testDatabase.database, accountId)).map((key) => key.lastUsedAt?.getTime());
    assert.deepEqual(
      times,
      keys.map(() => START + 60_000),
    );
  });

  it('is the latest of several processes, and never goes backwards', async () => {
    const { id } = await newKey();
    const [one, other] = [keyUse(), keyUse()];
    one.note(id);
    nowMs = START + 90_000;
    other.note(id);

    await other.flush();
    await one.flush();

    assert.equal(await lastUse(id), START + 90_000);
  });

  it('is written later when the database was unavailable', async () => {
    const { id } = await newKey();
    let isAway = true;
    const unreachable = openDatabase({ url: 'postgres://nobody@127.0.0.1:1/none', poolSize: 1 }, silentLogger());
    const use = keyUse({
      query: (statement, values) => (isAway ? unreachable : testDatabase.database).query(statement, values),
    });
    use.note(id);
    await use.flush();
    assert.equal(await lastUse(id), undefined);

    isAway = false;
    await use.flush();

    assert.equal(await lastUse(id), START);
    await unreachable.close();
  });

  it('is written when a flush has finished, even if another flush began to write it', async () => {
    const { id } = await newKey();
    let goOn = (): void => undefined;
    const held = new Promise<void>((resolve) => (goOn = resolve));
    const use = keyUse({ query: (...statement) => held.then(() => testDatabase.database.query(...statement)) });
    use.note(id);
    const happened: string[] = [];

    const flushes = [use.flush(), use.flush().then(() => happened.push('the second is over'))];
    assert.equal(await lastUse(id), undefined);
    happened.push('it is written');
    goOn();
    await Promise.all(flushes);

    assert.deepEqual(happened, ['it is written', 'the second is over']);
    assert.equal(await lastUse(id), START);
  });

  it('does not wait for a locked key', async () => {
    const { id } = await newKey();
    const use = keyUse();
    use.note(id);

    await testDatabase.database.transaction(async (transaction) => {
      await readKey(transaction, id, accountId, 'change');
      await use.flush();
    });

    assert.equal(await lastUse(id), undefined);
  });
});
