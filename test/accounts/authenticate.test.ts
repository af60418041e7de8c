import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it, mock } from 'node:test';
import { createAccount, setSuspended } from '../../src/accounts/accounts.ts';
import { createKey, revokeKey } from '../../src/accounts/keys.ts';
import type { KeyRights } from '../../src/accounts/keys.ts';
import { newApiKey } from '../../src/accounts/api-key.ts';
import {
  AccountSuspendedError,
  ForbiddenError,
  UnauthenticatedError,
  createAuthenticator,
  requireModel,
  requireScope,
} from '../../src/accounts/authenticate.ts';
import type { Authenticator } from '../../src/accounts/authenticate.ts';
import { DatabaseUnavailableError, openDatabase } from '../../src/database/database.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';

/** What a caller has by default. */
const DEFAULTS = {
  expiresAt: undefined,
  spendCapIds: [],
  failingReceivers: 0,
  createsPerMinute: 60,
  readsPerMinute: 1_200,
  textRequestsPerMinute: 600,
  textTokensPerMinute: 1_000_000,
};

const statements: string[] = [];
let testDatabase: TestDatabase;
let accountId: string;
let authenticator: Authenticator;
/** How far the cache's clock has been advanced. */
let aheadMs: number;

before(async () => {
  testDatabase = await createTestDatabase((name) => statements.push(name));
});
after(() => testDatabase.close());
beforeEach(async () => {
  statements.length = 0;
  aheadMs = 0;
  const now = performance.now.bind(performance);
  mock.method(performance, 'now', () => now() + aheadMs);
  accountId = await createAccount(testDatabase.database, 'test');
  authenticator = createAuthenticator(testDatabase.database);
});
afterEach(() => mock.restoreAll());

async function newKey(rights: Partial<KeyRights> = {}): Promise<{ id: string; header: string; secret: string }> {
  const key = await createKey(testDatabase.database, accountId, { name: 'test', scopes: ['tasks:read'], ...rights });
  return { id: key.id, secret: key.secret, header: `Bearer ${key.secret}` };
}

function lookUps(): number {
  return statements.filter((name) => name === 'select_key').length;
}

describe('authentication', () => {
  it('returns the account, the key and its scopes', async () => {
    const key = await newKey({ scopes: ['tasks:read', 'tasks:write'], models: ['a', 'b'] });

    assert.deepEqual(await authenticator.authenticate(key.header), {
      accountId,
      keyId: key.id,
      scopes: new Set(['tasks:read', 'tasks:write']),
      models: new Set(['a', 'b']),
      ...DEFAULTS,
    });
  });

  // Proves S5.1-1.
  it('accepts the scheme in any case, as RFC 9110 requires', async () => {
    const { secret } = await newKey();

    for (const header of [`bearer ${secret}`, `BEARER  ${secret}`]) {
      assert.equal((await authenticator.authenticate(header)).accountId, accountId);
    }
  });

  // Proves C7-2.
  it('rejects malformed keys without querying the database', async () => {
    const { secret } = await newKey();
    const flipped = `${secret.slice(0, -1)}${secret.endsWith('0') ? '1' : '0'}`;

    const headers = [undefined, '', 'Bearer', secret, `Basic ${secret}`, `Bearer ${flipped}`, `Bearer ${secret} x`];
    for (const header of headers) await assert.rejects(authenticator.authenticate(header), UnauthenticatedError);

    assert.equal(lookUps(), 0);
  });

  it('rejects an unknown key, and a key that has the id of another and a different secret', async () => {
    const { id } = await newKey();
    const stranger = newApiKey();
    await testDatabase.database.query({ name: 'change_key_id', text: 'UPDATE api_keys SET id = $2 WHERE id = $1' }, [
      id,
      stranger.id,
    ]);

    for (const secret of [stranger.secret, newApiKey().secret]) {
      await assert.rejects(authenticator.authenticate(`Bearer ${secret}`), UnauthenticatedError);
    }
  });

  it('rejects a revoked key, an expired key, and a key of a suspended account', async () => {
    const [revoked, revokedToo, good] = [await newKey(), await newKey(), await newKey()];
    for (const { id } of [revoked, revokedToo]) await revokeKey(testDatabase.database, id);
    const expired = await newKey({ expiresAt: new Date(Date.now() - 1) });

    await assert.rejects(authenticator.authenticate(revoked.header), UnauthenticatedError);
    await assert.rejects(authenticator.authenticate(expired.header), UnauthenticatedError);
    await setSuspended(testDatabase.database, accountId, true);
    await assert.rejects(authenticator.authenticate(good.header), AccountSuspendedError);
    // A revoked key of a suspended account is reported only as invalid.
    await assert.rejects(authenticator.authenticate(revokedToo.header), UnauthenticatedError);
  });

  it('rejects a key from the millisecond in which it expires, cached or not', async () => {
    const expiresAt = new Date('2027-01-01T00:00:00.000Z');
    const key = await newKey({ expiresAt });
    let nowMs = expiresAt.getTime() - 1;
    const watched = createAuthenticator(testDatabase.database, () => nowMs);

    await watched.authenticate(key.header);
    nowMs += 1;

    await assert.rejects(watched.authenticate(key.header), UnauthenticatedError);
  });
});

describe('a cached key', () => {
  it('is not queried again within a second, however many requests arrive at once', async () => {
    const { header } = await newKey();

    await Promise.all(Array.from({ length: 50 }, () => authenticator.authenticate(header)));
    aheadMs = 500;
    await authenticator.authenticate(header);

    assert.equal(lookUps(), 1);
  });

  // Proves C7-8.
  it('is rejected at most a second after another process revoked it', async () => {
    const key = await newKey();
    await authenticator.authenticate(key.header);
    await revokeKey(testDatabase.database, key.id);

    aheadMs = 1_001;

    await assert.rejects(authenticator.authenticate(key.header), UnauthenticatedError);
  });

  it('is rejected immediately by the process that revoked it', async () => {
    const key = await newKey();
    await authenticator.authenticate(key.header);
    await revokeKey(testDatabase.database, key.id);

    authenticator.forget(key.id);

    await assert.rejects(authenticator.authenticate(key.header), UnauthenticatedError);
  });

  it('is queried again after a database failure, which says nothing about the key', async () => {
    const unreachable = openDatabase({ url: 'postgres://nobody@127.0.0.1:1/none', poolSize: 2 }, silentLogger());
    try {
      const { header } = await newKey();
      const cutOff = createAuthenticator({
        ...unreachable,
        query: (statement, values) =>
          lookUps() === 0
            ? (statements.push('select_key'), unreachable.query(statement, values))
            : testDatabase.database.query(statement, values),
      });

      await assert.rejects(cutOff.authenticate(header), DatabaseUnavailableError);
      assert.equal((await cutOff.authenticate(header)).accountId, accountId);
    } finally {
      await unreachable.close();
    }
  });
});

describe('a scope', () => {
  const caller = {
    accountId: 'acc',
    keyId: 'key',
    scopes: new Set(['tasks:read'] as const),
    models: new Set(['acme/images']),
    ...DEFAULTS,
  };

  it('that the key does not have is denied by name', () => {
    requireScope(caller, 'tasks:read');
    assert.throws(() => requireScope(caller, 'tasks:write'), { name: 'ForbiddenError', message: /tasks:write/ });
    requireModel(caller, 'acme/images');
    assert.throws(() => requireModel(caller, 'acme/other'), ForbiddenError);
  });

  it('covers any model when the key has no model list, and none when the list is empty', () => {
    requireModel({ ...caller, models: undefined }, 'acme/other');
    assert.throws(() => requireModel({ ...caller, models: new Set() }, 'acme/images'), ForbiddenError);
  });
});
