/** Which open responses stay authorized: each reason to end one, and an outage, which is none. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { setSuspended } from '../../src/accounts/accounts.ts';
import { createAuthenticator } from '../../src/accounts/authenticate.ts';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { createKey, revokeKey } from '../../src/accounts/keys.ts';
import { createOpenResponses } from '../../src/accounts/open-responses.ts';
import { createToken, revokeToken } from '../../src/accounts/tokens.ts';
import { createSessions } from '../../src/accounts/sessions.ts';
import { DatabaseUnavailableError } from '../../src/database/database.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { unreachableDatabase } from '../http/serve.ts';
import { openTaskRoom } from '../tasks/task-room.ts';

const room = await openTaskRoom();
const { database } = room;
after(() => room.close());
let clock = Date.now();
const now = (): number => clock;
const sessions = createSessions(database, now);
/** Keys to remove from the cache. */
const forgotten: string[] = [];
const forget = (keyId: string): void => void forgotten.push(keyId);
const openResponses = createOpenResponses({ database, logger: silentLogger(), now, forget });

/** A caller with a key of its own account. */
async function newCaller(expiresAt?: Date): Promise<Caller> {
  const { accountId } = await room.newCaller();
  const rights = { name: 'test', scopes: ['tasks:read', 'dashboard'] as const, ...(expiresAt && { expiresAt }) };
  const key = await createKey(database, accountId, rights);
  return createAuthenticator(database, now).authenticate(`Bearer ${key.secret}`);
}

/** Opens a response. @returns the reasons for which it was ended. */
function open(caller: Caller): { readonly reasons: string[]; readonly close: () => void } {
  const reasons: string[] = [];
  return { reasons, close: openResponses.register(caller, ({ name }) => reasons.push(name)) };
}

describe('a check of open responses', () => {
  it('closes those of a revoked or expired key once, and no others', async () => {
    const [revoked, expiring, good] = [await newCaller(), await newCaller(new Date(clock + 1_000)), await newCaller()];
    const [ofRevoked, alsoOfRevoked, ofExpiring, ofGood] = [open(revoked), open(revoked), open(expiring), open(good)];
    await openResponses.check();
    assert.equal(openResponses.count(), 4);

    await revokeKey(database, revoked.keyId);
    clock += 1_000;
    await openResponses.check();
    await openResponses.check();

    for (const { reasons } of [ofRevoked, alsoOfRevoked, ofExpiring])
      assert.deepEqual(reasons, ['UnauthenticatedError']);
    assert.deepEqual(ofGood.reasons, []);
    assert.deepEqual(forgotten.toSorted(), [revoked.keyId, expiring.keyId].toSorted());
    assert.equal(openResponses.count(), 1);
    for (const { close } of [ofRevoked, alsoOfRevoked, ofExpiring, ofGood]) close();
    assert.equal(openResponses.count(), 0);
  });

  it('closes those of a suspended account with that reason, and as revoked when the key is revoked too', async () => {
    const [suspended, both] = [await newCaller(), await newCaller()];
    const answers = [open(suspended), open(both)];
    for (const { accountId } of [suspended, both]) {
      await database.transaction((transaction) => setSuspended(transaction, accountId, true, 'a test'));
    }
    await revokeKey(database, both.keyId);

    await openResponses.check();

    assert.deepEqual(
      answers.map(({ reasons }) => reasons),
      [['AccountSuspendedError'], ['UnauthenticatedError']],
    );
  });

  // Proves C7-46.
  it('closes those of a revoked or expired token, and not those of its key or of another token', async () => {
    const { accountId } = await room.newCaller();
    const key = await createKey(database, accountId, { name: 'test', scopes: ['tasks:read'] });
    const authenticator = createAuthenticator(database, now);
    const ofKey = await authenticator.authenticate(`Bearer ${key.secret}`);
    const newHolder = async (seconds: number): Promise<Caller> => {
      const token = await createToken(database, ofKey, { scopes: ['tasks:read'], seconds }, clock);
      return authenticator.authenticate(`Bearer ${token.secret}`);
    };
    const [revoked, expiring, good] = [await newHolder(600), await newHolder(1), await newHolder(600)];
    const answers = [revoked, expiring, good, ofKey].map(open);
    await revokeToken(database, ofKey, revoked.tokenId ?? '', clock);
    clock += 1_000;
    forgotten.length = 0;
    await openResponses.check();

    assert.deepEqual(
      answers.map(({ reasons }) => reasons),
      [['UnauthenticatedError'], ['UnauthenticatedError'], [], []],
    );
    assert.ok(forgotten.includes(revoked.tokenId ?? ''));
    for (const { close } of answers) close();
  });

  it('closes those of a deleted or expired session, and not those of its key', async () => {
    const key = await newCaller();
    const authenticator = createAuthenticator(database, now, { sessions });
    const begin = async (): Promise<{ caller: Caller; secret: string; expiresAt: Date }> => {
      const { secret, expiresAt } = await database.transaction((transaction) => sessions.begin(transaction, key.keyId));
      return { caller: await authenticator.authenticateSession(secret), secret, expiresAt };
    };
    const [ended, kept] = [await begin(), await begin()];
    const [ofEnded, ofKept, ofKey] = [open(ended.caller), open(kept.caller), open(key)];

    await sessions.end(ended.secret);
    await openResponses.check();
    assert.deepEqual([ofEnded.reasons, ofKept.reasons, ofKey.reasons], [['UnauthenticatedError'], [], []]);

    clock = kept.expiresAt.getTime();
    await openResponses.check();
    assert.deepEqual([ofKept.reasons, ofKey.reasons], [['UnauthenticatedError'], []]);
    ofKey.close();
  });

  it('checks two thousand callers in one statement', async () => {
    let statements = 0;
    const counted = createOpenResponses({
      forget,
      database: {
        query: (statement, values) => {
          statements += 1;
          return database.query(statement, values);
        },
      },
      logger: silentLogger(),
      now,
    });
    const good = await newCaller();
    const closes = [
      counted.register(good, () => assert.fail('a good key')),
      ...Array.from({ length: 2_000 }, (_, index) => counted.register({ ...good, keyId: `none${index}` }, () => {})),
    ];

    await counted.check();

    assert.deepEqual([statements, counted.count()], [1, 1]);
    for (const close of closes) close();
  });

  it('closes none while the database is unavailable', async () => {
    const away = unreachableDatabase();
    const answers = createOpenResponses({ database: away, logger: silentLogger(), now, forget });
    const close = answers.register(await newCaller(), () => assert.fail('nothing is known of it'));

    await assert.rejects(answers.check(), DatabaseUnavailableError);

    assert.equal(answers.count(), 1);
    close();
    await away.close();
  });
});
