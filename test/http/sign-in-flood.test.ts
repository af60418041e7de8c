/**
 * Signing in while others sign in: many simultaneous attempts of strangers affect no other client, and count against
 * the strangers.
 */
import assert from 'node:assert/strict';
import { after, beforeEach, describe, it } from 'node:test';
import { newApiKey } from '../../src/accounts/api-key.ts';
import { newSecret, createSignInLink } from '../../src/accounts/sessions.ts';
import { body } from '../tasks/task-room.ts';
import { errorOf, raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { serveApp, unreachableDatabase } from './serve.ts';

/** Four times the connections of the default pool. */
const AT_ONCE = 40;

let clock = Date.now();
const served = await serveApp({ now: () => clock });
after(() => served.close());
beforeEach(() => {
  // The attempts of the previous test no longer count.
  clock += 120_000;
});
const account = await served.newAccount();

function signIn(url: string, sent: { readonly key: string } | { readonly link: string }): Promise<RawAnswer> {
  const headers = { Origin: url, 'X-Darkroom-Dashboard': '1', 'Content-Type': 'application/json' };
  return raw(url, 'POST', '/session', headers, JSON.stringify(sent));
}

/** In the right format and with the right checksum, so that it has to be looked up. */
const strangersKey = (): { key: string } => ({ key: newApiKey().secret });
const strangersLink = (): { link: string } => ({ link: newSecret() });

describe('many concurrent sign-ins', () => {
  for (const [what, guess] of [
    ['keys', strangersKey],
    ['links', strangersLink],
  ] as const) {
    it(`with ${what} that do not exist delay no other request, and are all rejected`, async () => {
      const floods = Array.from({ length: AT_ONCE }, () => signIn(served.url, guess()));
      const others = Array.from({ length: 10 }, async () => {
        const created = await account.client.create(body());
        const read = await account.client.send('GET', '/v1/account');
        return [created.status, read.status];
      });

      for (const statuses of await Promise.all(others)) assert.deepEqual(statuses, [200, 200]);
      for (const answer of await Promise.all(floods)) assert.ok([401, 429].includes(answer.status), answer.text);
    });
  }

  it('with valid keys and links are all accepted', async () => {
    const keys = await Promise.all(Array.from({ length: AT_ONCE / 2 }, () => account.newKey()));
    const links = await Promise.all(
      keys.map(async ({ id }) => (await createSignInLink(served.room.database, id, clock)).secret),
    );

    const answers = await Promise.all([
      ...keys.map(({ client }) => signIn(served.url, { key: client.key })),
      ...links.map((link) => signIn(served.url, { link })),
    ]);

    for (const { status, text } of answers) assert.equal(status, 200, text);
  });
});

describe('a sign-in that cannot be checked because the database is down', () => {
  it('counts as a failed attempt, also in the process that could not query it', async (t) => {
    const away = await serveApp({ appDatabase: unreachableDatabase() });
    t.after(() => away.close());
    // More than the 60 per minute: one is restored each second.
    const unchecked = await Promise.all(Array.from({ length: 90 }, () => signIn(away.url, strangersKey())));
    const statuses = unchecked.map((answer) => errorOf(answer).status);
    assert.ok(statuses.includes(503));
    assert.deepEqual(
      statuses.filter((status) => status !== 503 && status !== 429),
      [],
    );

    const answer = await signIn(away.url, { key: 'dk_live_nothing' });
    assert.deepEqual(errorOf(answer), { status: 429, code: 'RATE_LIMITED' });
  });
});
