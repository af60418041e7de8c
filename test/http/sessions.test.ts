/**
 * Signing in to the dashboard: once with a link, any number of times with a key, and a cookie that is valid only for
 * its own pages.
 */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { SCOPES } from '@darkroom/api/facts/scopes';
import { revokeKey } from '../../src/accounts/keys.ts';
import { setSuspended } from '../../src/accounts/accounts.ts';
import { SESSION_SECONDS, SIGN_IN_LINK_SECONDS, createSignInLink } from '../../src/accounts/sessions.ts';
import { createSessionCookie } from '../../src/http/middleware/session-cookie.ts';
import { body } from '../tasks/task-room.ts';
import { errorOf, raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount } from './serve.ts';

const clock = { nowMs: Date.now() };
const served = await serveApp({ now: () => clock.nowMs });
after(() => served.close());
const account = await served.newAccount();

/** What the dashboard's own pages send. */
const ours = { Origin: served.url, 'X-Darkroom-Dashboard': '1' };

async function ask(
  method: string,
  path: string,
  headers: Record<string, string> = {},
  sent?: unknown,
): Promise<RawAnswer> {
  const json = sent === undefined ? {} : { 'Content-Type': 'application/json' };
  return raw(served.url, method, path, { ...json, ...headers }, sent === undefined ? undefined : JSON.stringify(sent));
}

function cookieOf(answer: RawAnswer): string {
  assert.equal(answer.status, 200, answer.text);
  const [cookie = ''] = answer.headers['set-cookie'] ?? [];
  return cookie.split(';')[0] ?? '';
}

async function signIn(who: ServedAccount = account): Promise<Record<string, string>> {
  return { ...ours, Cookie: cookieOf(await ask('POST', '/session', ours, { key: who.client.key })) };
}

function dataOf<Data>(answer: RawAnswer): Data {
  assert.equal(answer.status, 200, answer.text);
  return (JSON.parse(answer.text) as { data: Data }).data;
}

describe('a session', () => {
  // Proves C0-7.
  it('begins with a key, in a cookie that scripts and other sites never see', async () => {
    const answer = await ask('POST', '/session', ours, { key: account.client.key });

    const { accountId, scopes, expireAt } = dataOf<{ accountId: string; scopes: string[]; expireAt: number }>(answer);
    assert.equal(accountId, account.id);
    assert.deepEqual(scopes, [...SCOPES]);
    assert.equal(expireAt, Math.floor(clock.nowMs / 1000) + SESSION_SECONDS);
    const [cookie = ''] = answer.headers['set-cookie'] ?? [];
    assert.match(
      cookie,
      new RegExp(
        `^darkroom-${new URL(served.url).port}=\\w{43}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${SESSION_SECONDS}$`,
      ),
    );
    assert.ok(!answer.text.includes(account.client.key));
  });

  it('has a cookie limited to HTTPS and this host when the service is reached by HTTPS', () => {
    const cookie = createSessionCookie('https://api.example.com').set('x'.repeat(43));
    assert.match(cookie, /^__Host-darkroom=x+; Path=\/; HttpOnly; SameSite=Strict; Secure; /);
  });

  // Proves C7-5.
  it('has exactly the scopes of its key', async () => {
    const narrow = await account.newKey({ scopes: ['dashboard', 'tasks:read'] });
    const session = await signIn({ ...account, client: narrow.client });

    assert.equal((await ask('GET', '/v1/tasks', session)).status, 200);
    assert.equal(errorOf(await ask('POST', '/v1/tasks', session, body())).code, 'FORBIDDEN');
    assert.equal(errorOf(await ask('GET', '/v1/account', session)).code, 'FORBIDDEN');
  });

  it('creates tasks, which are its key’s', async () => {
    const session = await signIn();
    const { taskId } = dataOf<{ taskId: string }>(await ask('POST', '/v1/tasks', session, body()));
    const { body: answered } = await account.client.get(taskId);
    const { keyId } = dataOf<{ keyId: string }>(await ask('GET', '/session', session));
    assert.equal((answered.data as unknown as { keyId: string }).keyId, keyId);
  });

  // Proves C7-5.
  it('is denied to a key without the scope dashboard, and without a key', async () => {
    const without = await account.newKey({ scopes: SCOPES.filter((scope) => scope !== 'dashboard') });
    for (const key of [without.client.key, 'dk_live_nothing', '']) {
      const answer = await ask('POST', '/session', ours, { key });
      assert.equal(errorOf(answer).code, 'UNAUTHORIZED', key);
      assert.equal(answer.headers['set-cookie'], undefined);
    }
    assert.deepEqual(await served.room.rows('SELECT 1 FROM dashboard_sessions WHERE key_id = $1', without.id), []);
  });

  it('ends when its key does', async () => {
    const key = await account.newKey();
    const session = await signIn({ ...account, client: key.client });
    assert.equal((await ask('GET', '/v1/account', session)).status, 200);

    await revokeKey(served.room.database, key.id);
    served.http.authenticator.forget(key.id);
    assert.equal(errorOf(await ask('GET', '/v1/account', session)).code, 'UNAUTHORIZED');
  });

  it('ends after its time', async () => {
    const session = await signIn();
    clock.nowMs += SESSION_SECONDS * 1000 - 1;
    assert.equal((await ask('GET', '/session', session)).status, 200);
    clock.nowMs += 1;
    assert.equal(errorOf(await ask('GET', '/session', session)).code, 'UNAUTHORIZED');
  });

  it('ends when it is signed out of, and another of the same key stays', async () => {
    const [one, other] = [await signIn(), await signIn()];
    const answer = await ask('DELETE', '/session', one);
    assert.equal(dataOf<{ ended: number }>(answer).ended, 1);
    assert.match(String(answer.headers['set-cookie']), /Max-Age=0/);
    assert.equal((await ask('GET', '/session', one)).status, 401);
    assert.equal((await ask('GET', '/session', other)).status, 200);
  });

  it('is signed out everywhere, by itself or by its key', async () => {
    const own = await account.newKey();
    const who = { ...account, client: own.client };
    const [one, other] = [await signIn(who), await signIn(who)];
    assert.equal(dataOf<{ ended: number }>(await ask('DELETE', '/session?everywhere=true', one)).ended, 2);
    assert.equal((await ask('GET', '/session', one)).status, 401);
    assert.equal((await ask('GET', '/session', other)).status, 401);

    await signIn(who);
    const byKey = { Authorization: `Bearer ${own.client.key}` };
    assert.equal(dataOf<{ ended: number }>(await ask('DELETE', '/session', byKey)).ended, 0);
    assert.equal(dataOf<{ ended: number }>(await ask('DELETE', '/session?everywhere=true', byKey)).ended, 1);
  });

  it('gets an error when its account is suspended', async () => {
    const other = await served.newAccount();
    const session = await signIn(other);
    const { keyId } = dataOf<{ keyId: string }>(await ask('GET', '/session', session));
    await setSuspended(served.room.database, other.id, true);
    served.http.authenticator.forget(keyId);
    assert.equal(errorOf(await ask('GET', '/v1/account', session)).status, 403);

    const answer = await ask('POST', '/session', ours, { key: other.client.key });
    assert.equal(errorOf(answer).status, 403);
    assert.equal(answer.headers['set-cookie'], undefined);
  });
});

describe('the cookie', () => {
  // Proves C0-7.
  it('is accepted only with the header and from our own origin', async () => {
    const session = await signIn();
    const { Cookie } = session;
    const rejected: readonly Record<string, string>[] = [
      { Cookie: Cookie ?? '' },
      { Cookie: Cookie ?? '', Origin: served.url },
      { ...session, Origin: 'https://evil.example' },
      { ...session, Origin: 'null' },
      { ...session, Origin: `http://127.0.0.1:${Number(new URL(served.url).port) + 1}` },
      { ...session, Origin: served.url.replace('http:', 'https:') },
    ];
    for (const headers of rejected) {
      for (const [method, path, sent] of [
        ['GET', '/v1/account', undefined],
        ['POST', '/v1/tasks', body()],
        ['DELETE', '/session', undefined],
      ] as const) {
        assert.equal(errorOf(await ask(method, path, headers, sent)).code, 'UNAUTHORIZED', JSON.stringify(headers));
      }
    }
    assert.equal((await ask('GET', '/v1/account', session)).status, 200);
  });

  it('needs no origin for safe methods, because browsers send none there', async () => {
    const { Origin: _, ...withoutOrigin } = await signIn();
    assert.equal((await ask('GET', '/v1/account', withoutOrigin)).status, 200);
    assert.equal((await ask('GET', '/v1/account', { ...withoutOrigin, 'Sec-Fetch-Site': 'same-origin' })).status, 200);
    for (const site of ['cross-site', 'same-site', 'none']) {
      assert.equal((await ask('GET', '/v1/account', { ...withoutOrigin, 'Sec-Fetch-Site': site })).status, 401, site);
    }
    assert.equal((await ask('POST', '/v1/tasks', withoutOrigin, body())).status, 401);
  });

  it('is accepted under another name of this machine, and from no other port', async () => {
    const session = await signIn();
    const { port } = new URL(served.url);
    assert.equal((await ask('GET', '/v1/account', { ...session, Origin: `http://localhost:${port}` })).status, 200);
    assert.equal((await ask('GET', '/v1/account', { ...session, Origin: 'http://localhost:1' })).status, 401);
  });

  it('is rejected when sent twice, malformed or beside a key', async () => {
    const session = await signIn();
    const { Cookie = '' } = session;
    const twice = { ...session, Cookie: `${Cookie}; ${Cookie.slice(0, -1)}x` };
    assert.equal((await ask('GET', '/v1/account', twice)).status, 401);
    assert.equal((await ask('GET', '/v1/account', { ...session, Cookie: `${Cookie}'--` })).status, 401);
    assert.equal((await ask('GET', '/v1/account', { ...session, Authorization: 'Bearer nothing' })).status, 401);
    assert.equal((await ask('GET', '/v1/account', { ...session, Cookie: `a=b; ${Cookie}; c=d` })).status, 200);
  });

  it('is no use to a page of another origin: its preflight request is never granted', async () => {
    const preflight = await ask('OPTIONS', '/v1/tasks', {
      Origin: 'https://evil.example',
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'x-darkroom-dashboard,content-type',
    });
    assert.equal(preflight.headers['access-control-allow-origin'], undefined);
    assert.equal(preflight.headers['access-control-allow-headers'], undefined);
  });
});

describe('signing in', () => {
  it("is for our own pages only: a client cannot be signed in to another's account", async () => {
    for (const headers of [{}, { Origin: served.url }, { ...ours, Origin: 'https://evil.example' }]) {
      const answer = await ask('POST', '/session', headers, { key: account.client.key });
      assert.equal(errorOf(answer).code, 'FORBIDDEN');
      assert.equal(answer.headers['set-cookie'], undefined);
    }
  });

  it('accepts exactly one of key and link', async () => {
    for (const sent of [{}, { key: 'a', link: 'b' }, { other: 'a' }, { key: 1 }]) {
      assert.equal(errorOf(await ask('POST', '/session', ours, sent)).code, 'INVALID_REQUEST', JSON.stringify(sent));
    }
  });

  // Proves C0-7.
  it('by a link works once, also for two at the same moment', async () => {
    const { keyId } = dataOf<{ keyId: string }>(await ask('GET', '/session', await signIn()));
    const { secret } = await createSignInLink(served.room.database, keyId, clock.nowMs);
    const answers = await Promise.all(Array.from({ length: 5 }, () => ask('POST', '/session', ours, { link: secret })));
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((one, other) => one - other),
      [200, 401, 401, 401, 401],
    );
    const rejection = answers.find(({ status }) => status === 401);
    assert.match(rejection?.text ?? '', /already been used or is more than 10 minutes old/);
  });

  it('by a link works for ten minutes', async () => {
    const { keyId } = dataOf<{ keyId: string }>(await ask('GET', '/session', await signIn()));
    const early = await createSignInLink(served.room.database, keyId, clock.nowMs);
    const late = await createSignInLink(served.room.database, keyId, clock.nowMs);
    clock.nowMs += SIGN_IN_LINK_SECONDS * 1000 - 1;
    assert.equal((await ask('POST', '/session', ours, { link: early.secret })).status, 200);
    clock.nowMs += 1;
    assert.equal((await ask('POST', '/session', ours, { link: late.secret })).status, 401);
  });

  it('is rate-limited against guessing', async () => {
    const statuses = [];
    for (let tries = 0; tries < 70; tries++) {
      statuses.push((await ask('POST', '/session', ours, { link: 'x'.repeat(43) })).status);
    }
    assert.ok(statuses.includes(429), statuses.join(' '));
    // A client with a valid key is still let in.
    assert.equal((await ask('POST', '/session', ours, { key: account.client.key })).status, 200);
  });
});

describe('what is stored of a session', () => {
  it('contains neither its secret nor that of a link', async () => {
    const { Cookie = '' } = await signIn();
    const rows = await served.room.database.query<{ stored: string }>(
      {
        name: 'test_stored_sessions',
        text: `SELECT encode(secret_sha256, 'escape') AS stored FROM dashboard_sessions
                UNION ALL SELECT encode(secret_sha256, 'escape') FROM sign_in_links`,
      },
      [],
    );
    assert.ok(rows.length > 0);
    assert.ok(rows.every(({ stored }) => !stored.includes(Cookie.split('=')[1] ?? 'nothing')));
  });
});
