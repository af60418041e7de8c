/** Keys created and changed with a key, while the process still caches rights that the key no longer has. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createAccount } from '../../src/accounts/accounts.ts';
import { SCOPES } from '@darkroom/api/facts/scopes';
import { UnauthenticatedError } from '../../src/accounts/authenticate.ts';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { createKeyWith, revokeKeyWith, rotateKeyWith } from '../../src/accounts/key-delegation.ts';
import { createKey, listKeys, readKey, revokeKey } from '../../src/accounts/keys.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';

const NOW = Date.parse('2027-03-01T12:00:00Z');
const RIGHTS = { name: 'made', scopes: ['tasks:read'] } as const;

let testDatabase: TestDatabase;
before(async () => {
  testDatabase = await createTestDatabase();
});
after(() => testDatabase.close());

/** A caller as a process caches it, whatever happens to its key. */
async function newCaller(expiresAt?: Date): Promise<Caller> {
  const { database } = testDatabase;
  const accountId = await createAccount(database, 'test');
  const end = expiresAt === undefined ? {} : { expiresAt };
  const { id } = await createKey(database, accountId, { name: 'own', scopes: SCOPES, ...end });
  return {
    accountId,
    keyId: id,
    scopes: new Set(SCOPES),
    models: undefined,
    expiresAt,
    spendCapIds: [],
    failingReceivers: 0,
    createsPerMinute: 60,
    readsPerMinute: 1_200,
    textRequestsPerMinute: 600,
    textTokensPerMinute: 1_000_000,
  };
}

describe('a revoked or expired key', () => {
  it('creates and changes nothing, although the process still has it cached', async () => {
    const { database } = testDatabase;
    const [revoked, expired] = [await newCaller(), await newCaller(new Date(NOW))];
    await revokeKey(database, revoked.keyId);

    for (const caller of [revoked, expired]) {
      const other = await createKey(database, caller.accountId, RIGHTS);
      for (const attempt of [
        () => createKeyWith(database, caller, RIGHTS, NOW),
        () => rotateKeyWith(database, caller, other.id, { now: NOW }),
        () => revokeKeyWith(database, caller, other.id, NOW),
        () => rotateKeyWith(database, caller, caller.keyId, { now: NOW }),
        () => revokeKeyWith(database, caller, caller.keyId, NOW),
      ]) {
        await assert.rejects(attempt, UnauthenticatedError);
      }
      assert.equal((await listKeys(database, caller.accountId)).length, 2);
      assert.equal((await readKey(database, other.id)).revokedAt, undefined);
    }
  });

  it('that is revoked concurrently has created a key before the revocation, or creates none', async () => {
    const { database } = testDatabase;
    for (let round = 0; round < 5; round++) {
      const caller = await newCaller();
      const made = Promise.allSettled([1, 2, 3, 4].map(() => createKeyWith(database, caller, RIGHTS, NOW)));
      const seen = revokeKey(database, caller.keyId).then(() => listKeys(database, caller.accountId));

      const [answers, keys] = [await made, await seen];

      for (const answer of answers) {
        assert.ok(answer.status === 'fulfilled' || answer.reason instanceof UnauthenticatedError);
      }
      // A caller that revokes and then lists sees every key that was created with it.
      assert.equal(keys.length - 1, answers.filter(({ status }) => status === 'fulfilled').length);
    }
  });
});

describe('a key that rotates itself', () => {
  it('is rotated once by many concurrent requests, without a deadlock', async () => {
    const { database } = testDatabase;
    const caller = await newCaller();
    const change = [1, 2, 3, 4, 5, 6].map(() => rotateKeyWith(database, caller, caller.keyId, { now: NOW }));

    const answers = await Promise.allSettled([...change, createKeyWith(database, caller, RIGHTS, NOW)]);

    const made = answers.slice(0, 6).filter(({ status }) => status === 'fulfilled');
    assert.equal(made.length, 1);
    assert.notEqual((await readKey(database, caller.keyId)).replacedBy, undefined);
  });
});
