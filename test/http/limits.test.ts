/** Request rates as clients experience them (contract §7): the headers, and which requests are rejected. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { newTaskId } from '../../src/domain/ids.ts';
import { SCOPES } from '@darkroom/api/facts/scopes';
import { newApiKey } from '../../src/accounts/api-key.ts';
import { body } from '../tasks/task-room.ts';
import { errorOf, raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

let served: ServedApp;
let clock = Date.UTC(2026, 10, 21);
before(async () => {
  served = await serveApp({ now: () => clock });
});
after(() => served.close());

type Limits = Parameters<ServedApp['newAccount']>[0];

function limitsOf(answer: { headers: Headers }): (number | undefined)[] {
  return ['Limit', 'Remaining', 'Reset'].map((name) => {
    const value = answer.headers.get(`X-RateLimit-${name}`);
    return value === null ? undefined : Number(value);
  });
}

async function tasksOf({ id }: ServedAccount): Promise<number | undefined> {
  const text = 'SELECT count(*)::integer AS tasks FROM tasks WHERE account_id = $1';
  return (await served.room.rows<{ tasks: number }>(text, id))[0]?.tasks;
}

/** An account with this limit of creates, which has used all of it. */
async function exhausted(limits: Limits = { createsPerMinute: 3 }): Promise<ServedAccount> {
  const account = await served.newAccount(limits);
  for (let index = 0; index < 3; index++)
    assert.equal((await account.client.create(body(), `key-${index}`)).status, 200);
  return account;
}

describe('the rate limit of create requests', () => {
  // Proves S7-5, C1-20, C7-14.
  it('rejects requests above the limit with 429 and Retry-After; nothing is created, and then it works', async () => {
    const account = await exhausted();

    const rejected = await account.client.create(body(), 'key-new');

    assert.equal(rejected.status, 429);
    assert.equal(rejected.body.error_code, 'RATE_LIMITED');
    assert.equal(rejected.body.data, null);
    const seconds = Number(rejected.headers.get('Retry-After'));
    assert.equal(seconds, 20);
    assert.equal(await tasksOf(account), 3);
    clock += seconds * 1000 - 1000;
    assert.equal((await account.client.create(body(), 'key-new')).status, 429);
    clock += 1000;
    // The rejected requests did not use the idempotency key.
    const created = await account.client.create(body(), 'key-new');
    assert.equal(created.status, 200);
    assert.equal(created.headers.get('Idempotent-Replay'), null);
  });

  // Proves C7-16.
  it('is reported on every response: the limit, the remaining requests, and the reset time', async () => {
    const account = await served.newAccount({ createsPerMinute: 6 });
    const seconds = Math.ceil(clock / 1000);

    assert.deepEqual(limitsOf(await account.client.create(body())), [6, 5, seconds + 10]);
    assert.deepEqual(limitsOf(await account.client.create(body())), [6, 4, seconds + 20]);
    for (let index = 0; index < 4; index++) await account.client.create(body());
    assert.deepEqual(limitsOf(await account.client.create(body())), [6, 0, seconds + 60]);
    clock += 15_000;
    assert.deepEqual(limitsOf(await account.client.create(body())), [6, 0, seconds + 15 + 55]);
  });

  // Proves C10-25.
  it('is reported to OpenAI’s clients in their headers, on every response of their endpoints', async () => {
    const { client } = await served.newAccount({ createsPerMinute: 60, readsPerMinute: 600 });
    const requests: readonly (readonly [method: string, path: string, status: number, body?: unknown])[] = [
      ['GET', '/v1/models', 200],
      ['GET', '/v1/files?purpose=batch', 200],
      ['GET', '/v1/files/file-none', 404],
      ['GET', '/v1/batches', 200],
      ['POST', '/v1/batches', 400, {}],
      ['POST', '/v1/batches/none/cancel', 404],
      ['GET', '/v1/videos', 200],
      ['GET', '/v1/videos/none/content', 404],
      ['POST', '/v1/videos', 400, {}],
      ['POST', '/v1/images/generations', 400, {}],
      ['POST', '/v1/images/edits', 400, {}],
      ['POST', '/v1/audio/speech', 400, {}],
      ['POST', '/v1/audio/transcriptions', 415, {}],
      ['POST', '/v1/audio/translations', 415, {}],
      ['POST', '/v1/uploads', 400, {}],
    ];
    for (const [method, path, status, sent] of requests) {
      const answer = await client.send(method, path, sent);
      assert.equal(answer.status, status, `${method} ${path}: ${JSON.stringify(answer.body)}`);
      const [limit, remaining, reset] = limitsOf(answer);
      const theirs = ['limit', 'remaining', 'reset'].map((name) => answer.headers.get(`x-ratelimit-${name}-requests`));
      const seconds = (reset ?? 0) - Math.floor(clock / 1000);
      assert.deepEqual(theirs, [String(limit), String(remaining), `${seconds}s`], `${method} ${path}`);
    }
    const ours = await client.send('GET', '/v1/account');
    assert.equal(ours.headers.get('x-ratelimit-limit-requests'), null);
  });

  // Proves C10-25.
  it('is reported to OpenAI’s clients where it rejects their request', async () => {
    const account = await exhausted();
    const rejected = await account.client.send('POST', '/v1/batches', {});
    assert.equal(rejected.status, 429);
    const headers = ['limit', 'remaining', 'reset'].map((name) => rejected.headers.get(`x-ratelimit-${name}-requests`));
    assert.deepEqual(headers, ['3', '0', '60s']);
  });

  // Proves C2-21, C2-25.
  it('admits the replay of a key when the budget is empty, and charges nothing for it', async () => {
    const account = await exhausted();
    const [first] = await served.room.rows<{ id: string }>(
      'SELECT id FROM tasks WHERE account_id = $1 AND idempotency_key = $2',
      account.id,
      'key-0',
    );

    for (let attempt = 0; attempt < 5; attempt++) {
      const replay = await account.client.create(body(), 'key-0');
      assert.equal(replay.status, 200);
      assert.equal(replay.headers.get('Idempotent-Replay'), 'true');
      assert.equal(replay.body.data.taskId, first?.id);
    }
    const mismatch = await account.client.create(body({ input: { prompt: 'another' } }), 'key-0');
    assert.equal(mismatch.status, 422);
  });

  it('charges nothing for replays while requests remain', async () => {
    const account = await served.newAccount({ createsPerMinute: 3 });
    await account.client.create(body(), 'key');

    for (let attempt = 0; attempt < 10; attempt++) {
      assert.deepEqual(limitsOf(await account.client.create(body(), 'key')).slice(0, 2), [3, 2]);
    }
  });

  it('counts a request that is rejected for another reason', async () => {
    const account = await served.newAccount({ createsPerMinute: 3 });
    for (let index = 0; index < 3; index++) assert.equal((await account.client.create({ model: 'none' })).status, 400);

    assert.equal((await account.client.create(body())).status, 429);
  });

  it('is per account: keys of one account share a budget, and another account has its own', async () => {
    const account = await exhausted();

    assert.equal((await (await account.newKey()).client.create(body())).status, 429);
    const other = await served.newAccount({ createsPerMinute: 3 });
    assert.equal((await other.client.create(body())).status, 200);
  });

  it('is separate from the rate limit of read requests', async () => {
    const account = await exhausted({ createsPerMinute: 3, readsPerMinute: 2 });
    const read = () => account.client.send('GET', '/v1/account');

    assert.deepEqual(limitsOf(await read()).slice(0, 2), [2, 1]);
    assert.deepEqual(limitsOf(await read()).slice(0, 2), [2, 0]);
    const rejected = await read();
    assert.equal(rejected.status, 429);
    assert.equal(rejected.headers.get('Retry-After'), '30');
    assert.deepEqual(limitsOf(rejected).slice(0, 2), [2, 0]);
  });
});

describe('the rate limit headers', () => {
  // Proves C7-16.
  it('are on every authenticated response, errors included', async () => {
    const account = await served.newAccount({ microUsd: 1n });
    const { client: narrow } = await account.newKey({ scopes: SCOPES.filter((scope) => scope !== 'tasks:read') });
    const { client } = account;
    const answers = [
      [200, await client.send('GET', '/v1/account')],
      [200, await client.send('POST', '/v1/tasks', body({ model: 'acme/free' }))],
      [400, await client.send('GET', '/v1/account?unknown=1')],
      [400, await client.send('POST', '/v1/tasks', '{"model":')],
      [400, await client.send('POST', '/v1/tasks', {})],
      [402, await client.send('POST', '/v1/tasks', body())],
      [403, await narrow.send('GET', `/v1/tasks/${newTaskId()}`)],
      [404, await client.send('GET', `/v1/tasks/${newTaskId()}`)],
      [404, await client.send('DELETE', '/v1/account/keys/none')],
      [413, await client.send('POST', '/v1/account/keys', { name: 'x'.repeat(300_000) })],
      [415, await client.send('POST', '/v1/tasks', '{}', { 'Content-Type': 'text/plain' })],
    ] as const;

    for (const [status, answer] of answers) {
      assert.equal(answer.status, status, answer.body.message);
      const [limit, remaining, reset] = limitsOf(answer);
      assert.equal(limit, 1_000_000, String(status));
      assert.ok(remaining !== undefined && remaining >= 0 && remaining <= 1_000_000);
      assert.ok(reset !== undefined && reset >= Math.floor(clock / 1000) && reset <= Math.ceil(clock / 1000) + 60);
    }
  });
});

describe('attempts without a valid key', () => {
  const LIMIT = 60;
  const attempt = (app: ServedApp, key: string, forwardedFor?: string): Promise<RawAnswer> =>
    raw(app.url, 'GET', '/v1/account', {
      ...(key === '' ? {} : { Authorization: `Bearer ${key}` }),
      ...(forwardedFor === undefined ? {} : { 'X-Forwarded-For': forwardedFor }),
    });

  async function rejectedOf(attempts: number, once: (index: number) => Promise<RawAnswer>): Promise<RawAnswer[]> {
    const rejected: RawAnswer[] = [];
    for (let index = 0; index < attempts; index++) {
      const answer = await once(index);
      if (answer.status === 429) rejected.push(answer);
      else assert.equal(answer.status, 401);
    }
    return rejected;
  }

  // Proves C7-19.
  it('are limited per address, whatever is wrong with the key, while valid keys from there are served', async (t) => {
    const app = await serveApp({ now: () => clock });
    t.after(() => app.close());
    const account = await app.newAccount();
    const keys = ['', 'nonsense', 'dk_live_x', newApiKey().secret];

    const rejected = await rejectedOf(LIMIT + 10, (index) => attempt(app, keys[index % keys.length] ?? ''));

    assert.equal(rejected.length, 10);
    const [first] = rejected;
    assert.ok(first !== undefined);
    assert.deepEqual(errorOf(first), { status: 429, code: 'RATE_LIMITED' });
    assert.equal(first.headers['retry-after'], '1');
    assert.equal((await account.client.send('GET', '/v1/account')).status, 200);
    clock += 10_000;
    assert.equal((await rejectedOf(15, () => attempt(app, ''))).length, 5);
  });

  it('cannot evade the limit with a forwarding header, unless a trusted proxy wrote it', async (t) => {
    const app = await serveApp({ now: () => clock });
    t.after(() => app.close());
    const spoofed = await rejectedOf(LIMIT + 10, (index) => attempt(app, '', `203.0.113.${index}`));
    assert.equal(spoofed.length, 10);
  });

  it('are counted by the client that a trusted proxy names, of IPv6 by its /64', async (t) => {
    const app = await serveApp({ now: () => clock, environment: { TRUSTED_PROXIES: '127.0.0.0/8' } });
    t.after(() => app.close());
    assert.equal((await rejectedOf(LIMIT + 5, () => attempt(app, '', '1.2.3.4, 203.0.113.7'))).length, 5);
    assert.equal((await rejectedOf(1, () => attempt(app, '', '203.0.113.8'))).length, 0);
    const sameNetwork = await rejectedOf(LIMIT + 5, (index) =>
      attempt(app, '', `2001:db8:0:1:${index.toString(16)}::${index.toString(16)}`),
    );
    assert.equal(sameNetwork.length, 5);
    assert.equal((await rejectedOf(1, () => attempt(app, '', '2001:db8:0:2::1'))).length, 0);
  });
});
