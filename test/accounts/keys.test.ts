import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { AccountNotFoundError, createAccount } from '../../src/accounts/accounts.ts';
import {
  KeyNotFoundError,
  KeyChangeRejectedError,
  createKey,
  listKeys,
  readKey,
  revokeKey,
  rotateKey,
} from '../../src/accounts/keys.ts';
import type { CreatedKey, Rotation } from '../../src/accounts/keys.ts';
import { MAX_SESSIONS_OF_KEY, createSessions } from '../../src/accounts/sessions.ts';
import type { Database } from '../../src/database/database.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';

let testDatabase: TestDatabase;
let database: Database;
before(async () => {
  testDatabase = await createTestDatabase();
  database = testDatabase.database;
});
after(() => testDatabase.close());

const NOW = Date.parse('2027-03-01T12:00:00Z');

const newAccount = (name: string): Promise<string> =>
  database.transaction((transaction) => createAccount(transaction, name));
const rotate = (keyId: string, rotation: Partial<Rotation> = {}): Promise<CreatedKey> =>
  database.transaction((transaction) => rotateKey(transaction, keyId, { now: NOW, ...rotation }));

describe('the keys of an account', () => {
  it('are listed oldest first, without any part of their secrets', async () => {
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
    for (const { secret } of [one, two]) assert.ok(!listing.includes(secret.split('_').at(-1) ?? ''));
  });

  it('are revoked permanently: the time of the first revocation stays', async () => {
    const id = await newAccount('fifth');
    const key = await createKey(database, id, { name: 'key', scopes: ['tasks:read'] });

    assert.equal(await revokeKey(database, key.id), true);
    const [first] = await listKeys(database, id);
    assert.equal(await revokeKey(database, key.id), true);
    const [second] = await listKeys(database, id);

    assert.ok(first?.revokedAt instanceof Date);
    assert.deepEqual(second?.revokedAt, first.revokedAt);
    assert.equal(await revokeKey(database, 'unknownkey'), false);
  });

  it('cannot be created for an account that does not exist', async () => {
    await assert.rejects(createKey(database, 'acc_none', { name: 'key', scopes: [] }), AccountNotFoundError);
  });

  // Proves C7-1.
  it('are nowhere in the database as plain text', async () => {
    const key = await createKey(database, await newAccount('sixth'), { name: 'key', scopes: ['tasks:read'] });

    const rows = await database.query({ name: 'select_key_rows', text: 'SELECT api_keys::text AS row FROM api_keys' });

    assert.ok(!JSON.stringify(rows).includes(key.secret.split('_').at(-1)?.slice(0, 20) ?? ''));
  });
});

describe('a key with limits', () => {
  it('is returned with its models, expiry and caps', async () => {
    const accountId = await newAccount('limited');
    const expiresAt = new Date('2030-01-01T00:00:00Z');
    const above = await createKey(database, accountId, { name: 'above', scopes: [], spendCaps: { totalMicroUsd: 9n } });

    const { id } = await createKey(
      database,
      accountId,
      { name: 'x', scopes: ['tasks:read'], models: ['a', 'b'], expiresAt, spendCaps: { dayMicroUsd: 0n } },
      [above.id],
    );

    const { createdAt, ...key } = await readKey(database, id);
    assert.ok(createdAt instanceof Date);
    assert.deepEqual(key, {
      id,
      name: 'x',
      scopes: ['tasks:read'],
      models: ['a', 'b'],
      expiresAt,
      spendCaps: { dayMicroUsd: 0n, totalMicroUsd: undefined },
      spendCapId: id,
      spendCapIds: [above.id, id],
      lastUsedAt: undefined,
      revokedAt: undefined,
      replacedBy: undefined,
    });
  });

  it('without caps of its own is limited by those of its parent key, and does not list them as its own', async () => {
    const accountId = await newAccount('inheriting');
    const above = await createKey(database, accountId, { name: 'above', scopes: [], spendCaps: { totalMicroUsd: 9n } });

    const { id } = await createKey(database, accountId, { name: 'below', scopes: [] }, [above.id]);

    const { spendCaps, spendCapId, spendCapIds } = await readKey(database, id);
    assert.deepEqual([spendCaps, spendCapId, spendCapIds], [undefined, undefined, [above.id]]);
  });

  it('is found only under its own account', async () => {
    const [mine, other] = [await newAccount('mine'), await newAccount('other')];
    const { id } = await createKey(database, mine, { name: 'x', scopes: [] });

    assert.equal((await readKey(database, id, mine)).id, id);
    await assert.rejects(readKey(database, id, other), KeyNotFoundError);
    assert.equal(await revokeKey(database, id, other), false);
    assert.equal((await readKey(database, id)).revokedAt, undefined);
    for (const text of ['', 'x', '__proto__', `${id}0`, `${id.slice(1)}\0`]) {
      await assert.rejects(readKey(database, text), KeyNotFoundError);
      assert.equal(await revokeKey(database, text), false);
    }
  });
});

describe('rotating a key', () => {
  it('creates a key with the same name, scopes and caps; the old one expires after the overlap', async () => {
    const accountId = await newAccount('rotating');
    const old = await createKey(database, accountId, {
      name: 'x',
      scopes: ['tasks:read', 'dashboard'],
      models: ['a'],
      expiresAt: new Date('2030-01-01T00:00:00Z'),
      spendCaps: { dayMicroUsd: 5n, totalMicroUsd: 6n },
    });
    const before = await readKey(database, old.id);

    const made = await rotate(old.id, { overlapSeconds: 60 });

    const { id, createdAt, ...successor } = await readKey(database, made.id);
    const { id: oldId, createdAt: oldCreatedAt, ...rights } = before;
    assert.deepEqual(successor, rights);
    assert.deepEqual(successor.spendCapIds, [oldId]);
    assert.notDeepEqual([id, createdAt], [oldId, oldCreatedAt]);
    assert.deepEqual(await readKey(database, old.id), {
      ...before,
      expiresAt: new Date(NOW + 60_000),
      replacedBy: made.id,
    });
  });

  it('never extends the lifetime of the old key', async () => {
    const expiresAt = new Date(NOW + 1_000);
    const old = await createKey(database, await newAccount('short'), { name: 'x', scopes: [], expiresAt });

    const made = await rotate(old.id);

    assert.deepEqual((await readKey(database, old.id)).expiresAt, expiresAt);
    assert.deepEqual((await readKey(database, made.id)).expiresAt, expiresAt);
  });

  it('is rejected for a revoked, expired, replaced or unknown key', async () => {
    const accountId = await newAccount('rejected');
    const make = (expiresAt?: Date): Promise<CreatedKey> =>
      createKey(database, accountId, { name: 'x', scopes: [], ...(expiresAt === undefined ? {} : { expiresAt }) });
    const [revoked, expired, replaced] = [await make(), await make(new Date(NOW)), await make()];
    await revokeKey(database, revoked.id);
    await rotate(replaced.id, { overlapSeconds: 0 });

    for (const [{ id }, message] of [
      [revoked, /was revoked$/],
      [expired, /has expired$/],
      [replaced, /was replaced already, by [0-9A-Za-z]{10}$/],
    ] as const) {
      await assert.rejects(
        rotate(id),
        (error) => error instanceof KeyChangeRejectedError && message.test(error.message),
      );
    }
    await assert.rejects(rotate('unknownkey'), KeyNotFoundError);
    await assert.rejects(rotate(replaced.id, { accountId: 'acc_none' }), KeyNotFoundError);
  });

  it('concurrently creates exactly one key', async () => {
    for (let round = 0; round < 5; round++) {
      const accountId = await newAccount('racing');
      const { id } = await createKey(database, accountId, { name: 'x', scopes: [] });

      const answers = await Promise.allSettled(Array.from({ length: 8 }, () => rotate(id)));

      assert.equal(answers.filter(({ status }) => status === 'fulfilled').length, 1);
      for (const answer of answers) {
        assert.ok(answer.status === 'fulfilled' || answer.reason instanceof KeyChangeRejectedError);
      }
      assert.equal((await listKeys(database, accountId)).length, 2);
    }
  });
});

describe('the dashboard sessions of a key', () => {
  it('are limited in number: one more ends the oldest, and none of another key', async () => {
    let clock = Date.now();
    const newSessions = () => createSessions(database, () => clock);
    const sessions = newSessions();
    const begin = async (keyId: string): Promise<string> => {
      clock += 1;
      return (await database.transaction((transaction) => sessions.begin(transaction, keyId))).secret;
    };
    const accountId = await newAccount('signing in');
    const make = () => createKey(database, accountId, { name: 'test', scopes: ['dashboard'] });
    const [{ id: keyId }, other] = [await make(), await make()];
    const ofOther = await begin(other.id);
    const secrets: string[] = [];
    for (let count = 0; count < MAX_SESSIONS_OF_KEY; count++) secrets.push(await begin(keyId));
    assert.ok(await newSessions().find(secrets[0] ?? ''));

    secrets.push(await begin(keyId));

    const later = newSessions();
    assert.equal(await later.find(secrets[0] ?? ''), undefined);
    for (const secret of secrets.slice(1)) assert.ok(await later.find(secret));
    assert.ok(await later.find(ofOther));
    assert.equal(await later.endAll(keyId), MAX_SESSIONS_OF_KEY);
  });
});
