/** `/v1/tokens`: short-lived tokens, what they may do, from which pages, and how they end. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { revokeKey } from '../../src/accounts/keys.ts';
import { deleteOldTokens } from '../../src/accounts/tokens.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { WireTaskBatchResult } from '@darkroom/api/tasks/create-batch';
import { ApiClient } from '../support/api-client.ts';
import { body as taskBody } from '../tasks/task-room.ts';
import { raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { serveApp } from './serve.ts';
import type { ServedApp } from './serve.ts';

const SHOP = 'https://shop.example';

let served: ServedApp;
let nowMs = Date.now();
before(async () => {
  served = await serveApp({ now: () => nowMs });
});
after(() => served.close());

interface Token {
  readonly id: string;
  readonly token: string;
  readonly keyId: string;
  readonly models: readonly string[] | null;
  readonly expiresAt: number;
}

interface Answer {
  readonly status: number;
  readonly token: Token;
  readonly message: string;
}

async function mint(client: ApiClient, changes: Record<string, unknown> = {}): Promise<Answer> {
  const sent = { scopes: ['tasks:read', 'tasks:write'], ...changes };
  const { status, body } = await client.send('POST', '/v1/tokens', sent);
  return { status, token: body.data as unknown as Token, message: body.message };
}

/** A client that has a token instead of a key. */
async function holderOf(client: ApiClient, changes: Record<string, unknown> = {}): Promise<ApiClient> {
  const { status, token, message } = await mint(client, changes);
  assert.equal(status, 200, message);
  return new ApiClient([served.url], token.token);
}

const create = async (client: ApiClient, headers: Record<string, string> = {}) =>
  client.send('POST', '/v1/tasks', taskBody(), headers);

function preflight(origin: string, headers = 'authorization', path = '/v1/tasks'): Promise<RawAnswer> {
  return raw(served.url, 'OPTIONS', path, {
    Origin: origin,
    'Access-Control-Request-Method': 'POST',
    'Access-Control-Request-Headers': headers,
  });
}

describe('a short-lived token', () => {
  // Proves C7-44.
  it('acts as its key, with a part of its rights, until it expires', async () => {
    const account = await served.newAccount();
    const { token } = await mint(account.client, { seconds: 60, models: ['acme/images'] });
    const holder = new ApiClient([served.url], token.token);

    assert.match(token.token, /^dk_temp_/);
    assert.equal(token.expiresAt, Math.floor((nowMs + 60_000) / 1000));
    const created = await create(holder);
    assert.equal(created.status, 200, created.body.message);
    const task = (await account.client.get(created.body.data.taskId)).body.data as unknown as { keyId: string };
    assert.equal(task.keyId, token.keyId);
    assert.equal((await holder.send('GET', '/v1/storages')).status, 403);
    assert.equal((await holder.send('GET', '/v1/account/keys')).status, 403);
    const other = { model: 'acme/compatible-video', input: { prompt: 'a fox' } };
    assert.equal((await holder.send('POST', '/v1/tasks', other)).status, 403);

    nowMs += 61_000;
    assert.equal((await create(holder)).status, 401);
    assert.equal((await create(account.client)).status, 200);
  });

  // Proves C7-44.
  it('never has more rights or time than its key', async () => {
    const account = await served.newAccount();
    const expiresAt = new Date(Math.floor(nowMs / 1000) * 1000 + 30_000);
    const { client } = await account.newKey({
      scopes: ['tasks:write'],
      models: ['acme/images'],
      expiresAt,
      spendCaps: { totalMicroUsd: 1_000_000n },
    });

    assert.equal((await mint(client)).status, 403);
    assert.equal((await mint(client, { scopes: ['tasks:write'], models: ['acme/compatible'] })).status, 403);
    assert.equal((await mint(client, { scopes: ['tasks:write'], spendCap: '2' })).status, 403);
    const { token } = await mint(client, { scopes: ['tasks:write'], seconds: 3_600 });
    assert.deepEqual([token.expiresAt, token.models], [expiresAt.getTime() / 1000, ['acme/images']]);
  });

  it('creates no tokens itself', async () => {
    const account = await served.newAccount();
    const answer = await mint(await holderOf(account.client));

    assert.deepEqual([answer.status, answer.message], [403, 'a token cannot create tokens; use its key']);
  });

  // Proves C7-44.
  it('ends with its key', async () => {
    const account = await served.newAccount();
    const key = await account.newKey();
    const holder = await holderOf(key.client);
    assert.equal((await create(holder)).status, 200);
    await revokeKey(served.room.database, key.id, account.id);
    served.http.authenticator.forget(key.id);

    assert.equal((await create(holder)).status, 401);
    assert.equal((await mint(key.client)).status, 401);
  });

  // Proves C7-45.
  it('spends no more than its cap, also at the same moment, and nothing where a task fails', async () => {
    const account = await served.newAccount();
    const holder = await holderOf(account.client, { spendCap: '0.03' });
    const other = await holderOf(account.client, { spendCap: '0.03' });
    const answers = await Promise.all(Array.from({ length: 8 }, () => create(holder)));

    const accepted = answers.filter(({ status }) => status === 200);
    assert.equal(accepted.length, 3);
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200, 402]));
    const [first] = accepted;
    await account.client.send('POST', `/v1/tasks/${first?.body.data.taskId}/cancel`);
    assert.equal((await create(holder)).status, 200);
    assert.equal((await create(holder)).status, 402);
    assert.equal((await create(other)).status, 200);
    assert.deepEqual(await verifyLedger(served.room.database), []);
  });

  it('spends no more than its cap in several creates of one request', async () => {
    const account = await served.newAccount();
    const holder = await holderOf(account.client, { spendCap: '0.03' });
    const answer = await holder.send('POST', '/v1/tasks:batch', { tasks: Array.from({ length: 5 }, () => taskBody()) });

    const { results } = answer.body.data as unknown as WireTaskBatchResult;
    assert.deepEqual(
      results.map(({ status }) => status),
      [200, 200, 200, 402, 402],
    );
    assert.equal((await create(holder)).status, 402);
    assert.deepEqual(await verifyLedger(served.room.database), []);
  });

  // Proves C7-45.
  it('counts against the cap of its key as well', async () => {
    const account = await served.newAccount();
    const { client } = await account.newKey({ spendCaps: { totalMicroUsd: 20_000n } });
    const holders = [await holderOf(client), await holderOf(client)];
    const statuses: number[] = [];
    for (const holder of [...holders, ...holders]) statuses.push((await create(holder)).status);

    assert.deepEqual(statuses, [200, 200, 402, 402]);
  });

  const rejected: readonly (readonly [changes: Record<string, unknown>, field: RegExp])[] = [
    [{ scopes: [] }, /scopes/],
    [{ scopes: ['keys:manage'] }, /scopes/],
    [{ scopes: ['dashboard'] }, /scopes/],
    [{ scopes: ['webhooks:manage'] }, /scopes/],
    [{ scopes: undefined }, /scopes/],
    [{ seconds: 0 }, /seconds/],
    [{ seconds: 3_601 }, /seconds/],
    [{ seconds: '60' }, /seconds/],
    [{ spendCap: '-1' }, /spendCap/],
    [{ spendCap: 1 }, /spendCap/],
    [{ models: ['acme/none'] }, /models\.0/],
    [{ origins: [] }, /origins/],
    [{ origins: Array.from({ length: 11 }, (_, index) => `https://a${index}.example`) }, /origins/],
    [{ origins: ['https://shop.example/'] }, /origins\.0/],
    [{ origins: ['https://SHOP.example'] }, /origins\.0/],
    [{ origins: ['https://shop.example:443'] }, /origins\.0/],
    [{ origins: ['http://shop.example'] }, /origins\.0/],
    [{ origins: ['https://*.example'] }, /origins\.0/],
    [{ origins: ['*'] }, /origins\.0/],
    [{ origins: ['null'] }, /origins\.0/],
    [{ origins: ['https://user@shop.example'] }, /origins\.0/],
    [{ admin: true }, /admin/],
  ];
  for (const [changes, field] of rejected) {
    it(`is not created with ${JSON.stringify(changes).slice(0, 60)}`, async () => {
      const account = await served.newAccount();
      const { status, message } = await mint(account.client, changes);

      assert.equal(status, 400, message);
      assert.match(message, field);
      assert.deepEqual(await served.room.rows('SELECT id FROM tokens WHERE account_id = $1', account.id), []);
    });
  }

  it('of an unknown or altered form is no token', async () => {
    const account = await served.newAccount();
    const { token } = await mint(account.client);
    const altered = `${token.token.slice(0, -1)}${token.token.endsWith('0') ? '1' : '0'}`;
    const asKey = token.token.replace('dk_temp_', 'dk_live_');
    for (const text of [altered, asKey, account.client.key.replace('dk_live_', 'dk_temp_'), token.id]) {
      assert.equal((await create(new ApiClient([served.url], text))).status, 401, text);
    }
  });

  it('is deleted some time after its end, with its cap once no task can need it', async () => {
    const account = await served.newAccount();
    const holder = await holderOf(account.client, { spendCap: '1', seconds: 1, origins: [SHOP] });
    await mint(account.client, { seconds: 1 });
    await create(holder, { Origin: SHOP });
    const left = async (): Promise<readonly number[]> => {
      const [row] = await served.room.rows<{ counts: number[] }>(
        `SELECT ARRAY[(SELECT count(*) FROM tokens WHERE account_id = $1),
                      (SELECT count(*) FROM token_origins WHERE token_id IN (SELECT id FROM tokens WHERE account_id = $1)),
                      (SELECT count(*) FROM spend_caps WHERE account_id = $1)]::int[] AS counts`,
        account.id,
      );
      return row?.counts ?? [];
    };
    assert.deepEqual(await left(), [2, 1, 1]);
    const { database } = served.room;
    await deleteOldTokens(database, { now: nowMs + 60_000, limit: 1_000 });
    assert.deepEqual(await left(), [2, 1, 1]);
    await deleteOldTokens(database, { now: nowMs + 2 * 3_600_000, limit: 1_000 });
    assert.deepEqual(await left(), [1, 0, 1]);
    await deleteOldTokens(database, { now: nowMs + 32 * 86_400_000, limit: 1_000 });
    assert.deepEqual(await left(), [0, 0, 0]);
  });
});

describe('revoking a short-lived token', () => {
  const revoke = (client: ApiClient, id: string, headers: Record<string, string> = {}) =>
    client.send('DELETE', `/v1/tokens/${id}`, undefined, headers);

  // Proves C7-46.
  it('ends it at once, and no other, with the key that created it', async () => {
    const account = await served.newAccount();
    const [{ token }, other] = [await mint(account.client), await holderOf(account.client)];
    const holder = new ApiClient([served.url], token.token);
    const created = await create(holder);
    assert.equal(created.status, 200);
    const answer = await revoke(account.client, token.id);
    const again = await revoke(account.client, token.id);

    assert.equal(answer.status, 200, answer.body.message);
    const shown = answer.body.data as unknown as Token;
    assert.deepEqual([shown.id, shown.keyId, shown.token], [token.id, token.keyId, undefined]);
    assert.equal(shown.expiresAt, Math.floor(nowMs / 1000));
    assert.deepEqual([again.status, again.body.data], [200, answer.body.data]);
    assert.equal((await create(holder)).status, 401);
    assert.equal((await create(other)).status, 200);
    assert.equal((await account.client.get(created.body.data.taskId)).status, 200);
  });

  it('is possible with the token itself and any key of the account that may write, and with no other token', async () => {
    const account = await served.newAccount();
    const { token } = await mint(account.client);
    const stranger = await served.newAccount();
    const [key, reader] = [await account.newKey({}), await account.newKey({ scopes: ['tasks:read'] })];

    assert.equal((await revoke(await holderOf(account.client), token.id)).status, 403);
    assert.equal((await revoke(reader.client, token.id)).status, 403);
    assert.equal((await revoke(stranger.client, token.id)).status, 404);
    for (const id of ['none', 'x'.repeat(300), '%00', '%E2', `${token.id}0`]) {
      const { status } = await revoke(account.client, id);
      assert.ok(status === 400 || status === 404, `${id}: ${status}`);
    }
    const holder = new ApiClient([served.url], token.token);
    assert.equal((await create(holder)).status, 200);
    assert.equal((await revoke(holder, token.id)).status, 200);
    assert.equal((await revoke(holder, token.id)).status, 401);
    const another = await mint(account.client);
    assert.equal((await revoke(key.client, another.token.id)).status, 200);
  });

  it('takes the permission of its pages away, and lets them read why', async () => {
    const origin = 'https://revoked.example';
    const account = await served.newAccount();
    const { token } = await mint(account.client, { origins: [origin] });
    const holder = new ApiClient([served.url], token.token);
    assert.equal((await preflight(origin)).status, 204);
    assert.equal((await revoke(holder, token.id, { Origin: origin })).status, 200);

    assert.equal((await preflight(origin)).headers['access-control-allow-origin'], undefined);
    const answer = await create(holder, { Origin: origin });
    assert.deepEqual([answer.status, answer.headers.get('access-control-allow-origin')], [401, origin]);
  });

  it('happens once, if it is requested at the same moment', async () => {
    const account = await served.newAccount();
    const { token } = await mint(account.client, { origins: [SHOP] });
    const answers = await Promise.all(Array.from({ length: 8 }, () => revoke(account.client, token.id)));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    const rows = await served.room.rows('SELECT origin FROM token_origins WHERE token_id = $1', token.id);
    assert.deepEqual(rows, []);
  });
});

describe('a short-lived token at /mcp', () => {
  const call = (client: ApiClient, name: string, args: object, headers: Record<string, string> = {}) =>
    client.send(
      'POST',
      '/mcp',
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } },
      { Accept: 'application/json', ...headers },
    );
  interface ToolAnswer {
    readonly result?: { readonly isError?: boolean; readonly content: readonly { readonly text?: string }[] };
  }
  const textOf = ({ body }: Awaited<ReturnType<typeof call>>): string =>
    (body as unknown as ToolAnswer).result?.content.map(({ text }) => text).join('\n') ?? '';

  it('uses the tools that its scopes and models allow, and no others', async () => {
    const account = await served.newAccount();
    const holder = await holderOf(account.client, { scopes: ['tasks:read'] });
    const { body } = await account.client.create(taskBody());
    const read = await call(holder, 'get_task', { task_id: body.data.taskId });
    const written = await call(holder, 'cancel_task', { task_id: body.data.taskId });

    assert.equal(read.status, 200, JSON.stringify(read.body));
    assert.match(textOf(read), new RegExp(body.data.taskId));
    assert.match(textOf(written), /lacks the scope tasks:write/);
    assert.equal((await account.client.get(body.data.taskId)).body.data.status, 'queued');
  });

  // Proves C7-47.
  it('works from the pages of its origins, and from nowhere else', async () => {
    const account = await served.newAccount();
    const holder = await holderOf(account.client, { origins: [SHOP] });
    const { body } = await account.client.create(taskBody());
    const args = { task_id: body.data.taskId };
    const good = await call(holder, 'get_task', args, { Origin: SHOP });

    assert.equal(good.status, 200, JSON.stringify(good.body));
    assert.match(textOf(good), new RegExp(body.data.taskId));
    assert.equal(good.headers.get('access-control-allow-origin'), SHOP);
    for (const headers of [{}, { Origin: 'https://evil.example' }, { Origin: served.url }]) {
      assert.equal((await call(holder, 'get_task', args, headers)).status, 403, JSON.stringify(headers));
    }
    // A key has no page.
    assert.equal((await call(account.client, 'get_task', args, { Origin: SHOP })).status, 403);
    const allowed = await preflight(SHOP, 'authorization, content-type, mcp-protocol-version', '/mcp');
    assert.equal(allowed.headers['access-control-allow-origin'], SHOP);
    assert.equal(allowed.headers['access-control-allow-headers'], 'authorization, content-type, mcp-protocol-version');
  });
});

describe('pages of other origins', () => {
  // Proves C7-47.
  it('can use a token from its origins, and read the responses, and from no others', async () => {
    const account = await served.newAccount();
    const holder = await holderOf(account.client, { origins: [SHOP, 'http://localhost:5173'] });
    const good = await create(holder, { Origin: SHOP });
    const local = await create(holder, { Origin: 'http://localhost:5173' });
    const failed = await holder.send('POST', '/v1/tasks', { model: 'acme/none', input: {} }, { Origin: SHOP });

    for (const answer of [good, local, failed]) {
      assert.match(
        answer.headers.get('access-control-allow-origin') ?? '',
        /^https:\/\/shop|^http:\/\/localhost:5173$/,
      );
      assert.match(answer.headers.get('access-control-expose-headers') ?? '', /X-Darkroom-Task-Id/);
      assert.match(answer.headers.get('vary') ?? '', /Origin/);
      assert.equal(answer.headers.get('access-control-allow-credentials'), null);
    }
    assert.deepEqual([good.status, local.status, failed.status], [200, 200, 400]);
    for (const headers of [{ Origin: 'https://evil.example' }, { Origin: 'null' }, {}]) {
      const answer = await create(holder, headers);
      assert.deepEqual([answer.status, answer.headers.get('access-control-allow-origin')], [403, null]);
    }
  });

  it('can read that their token has ended', async () => {
    const account = await served.newAccount();
    const holder = await holderOf(account.client, { origins: [SHOP], seconds: 5 });
    nowMs += 6_000;
    const answer = await create(holder, { Origin: SHOP });
    assert.deepEqual([answer.status, answer.headers.get('access-control-allow-origin')], [401, SHOP]);
  });

  // Proves C7-47.
  it('read nothing that is requested with a key, or with a token for programs', async () => {
    const account = await served.newAccount();
    for (const client of [account.client, await holderOf(account.client)]) {
      const answer = await create(client, { Origin: SHOP });
      assert.deepEqual([answer.status, answer.headers.get('access-control-allow-origin')], [200, null]);
    }
  });

  it('are allowed to send requests while their origin has a valid token', async () => {
    const origin = 'https://preflight.example';
    assert.equal((await preflight(origin)).headers['access-control-allow-origin'], undefined);
    const account = await served.newAccount();
    await mint(account.client, { origins: [origin], seconds: 10 });
    const answer = await preflight(origin, 'authorization, X-Stainless-Lang,content-type,x-darkroom-dashboard,cookie');

    assert.equal(answer.status, 204);
    assert.equal(answer.headers['access-control-allow-origin'], origin);
    assert.equal(answer.headers['access-control-allow-headers'], 'authorization, x-stainless-lang, content-type');
    assert.equal(answer.headers['access-control-allow-credentials'], undefined);
    assert.match(String(answer.headers['vary']), /Origin/);
    for (const other of [
      'https://evil.example',
      `${origin}.evil.example`,
      'null',
      `https://${'a'.repeat(400)}.example`,
    ]) {
      assert.equal((await preflight(other)).headers['access-control-allow-origin'], undefined, other);
    }
    for (const path of ['/session', '/mcp/x', '/hooks/x/y']) {
      assert.equal((await preflight(origin, 'authorization', path)).headers['access-control-allow-origin'], undefined);
    }
    nowMs += 11_000;
    assert.equal((await preflight(origin)).headers['access-control-allow-origin'], undefined);
  });
});
