/** The maximum number of dashboard sessions of a key: signing in repeatedly does not keep more of them. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { createKey } from '../../src/accounts/keys.ts';
import { MAX_SESSIONS_OF_KEY, createSessions } from '../../src/accounts/sessions.ts';
import { openTaskRoom } from '../tasks/task-room.ts';

const room = await openTaskRoom();
const { database } = room;
after(() => room.close());
let clock = Date.now();
const sessions = createSessions(database, () => clock);

async function newKey(): Promise<string> {
  const { accountId } = await room.newCaller();
  return (await createKey(database, accountId, { name: 'test', scopes: ['dashboard'] })).id;
}

const begin = async (keyId: string): Promise<string> => {
  clock += 1;
  return (await database.transaction((transaction) => sessions.begin(transaction, keyId))).secret;
};

describe('the sessions of a key', () => {
  it('are limited in number: one more ends the oldest, and none of another key', async () => {
    const [keyId, other] = [await newKey(), await newKey()];
    const ofOther = await begin(other);
    const secrets: string[] = [];
    for (let count = 0; count < MAX_SESSIONS_OF_KEY; count++) secrets.push(await begin(keyId));
    const fresh = createSessions(database, () => clock);
    assert.ok(await fresh.find(secrets[0] ?? ''));

    secrets.push(await begin(keyId));

    const later = createSessions(database, () => clock);
    assert.equal(await later.find(secrets[0] ?? ''), undefined);
    for (const secret of secrets.slice(1)) assert.ok(await later.find(secret));
    assert.ok(await later.find(ofOther));
    assert.equal(await later.endAll(keyId), MAX_SESSIONS_OF_KEY);
  });
});
