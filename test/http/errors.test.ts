/** Every rejection that needs no task: status, code, one body where the contract requires one, and the headers. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setSuspended } from '../../src/accounts/accounts.ts';
import { revokeKey } from '../../src/accounts/keys.ts';
import { newApiKey } from '../../src/accounts/api-key.ts';
import { newTaskId } from '../../src/domain/ids.ts';
import { body } from '../tasks/task-room.ts';
import { errorOf, raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

let served: ServedApp;
let account: ServedAccount;
before(async () => {
  served = await serveApp();
  account = await served.newAccount();
});
after(() => served.close());

function bearer(): Record<string, string> {
  return { Authorization: `Bearer ${account.client.key}` };
}

describe('a request without a valid key', () => {
  // Proves S5.1-1, S5.3-1, S7-2, C1-7.
  it('gets the same 401, whatever is wrong with the key', async () => {
    const revoked = await account.newKey();
    await revokeKey(served.room.database, revoked.id);
    const expired = await account.newKey({ expiresAt: new Date(Date.now() - 1_000) });
    const good = account.client.key;
    const headers = [
      undefined,
      '',
      'Bearer',
      'Bearer ',
      `Basic ${good}`,
      good,
      'Bearer nonsense',
      `Bearer ${good}x`,
      `Bearer ${good.slice(0, -1)}${good.endsWith('0') ? '1' : '0'}`,
      `Bearer ${newApiKey().secret}`,
      `Bearer ${revoked.client.key}`,
      `Bearer ${expired.client.key}`,
      `Bearer ${'x'.repeat(4_000)}`,
    ];
    const answers = await Promise.all(
      headers.map((authorization) =>
        raw(served.url, 'GET', `/v1/tasks/${newTaskId()}`, authorization === undefined ? {} : { authorization }),
      ),
    );

    for (const answer of answers) {
      assert.deepEqual(errorOf(answer), { status: 401, code: 'UNAUTHORIZED' });
      assert.match(String(answer.headers['www-authenticate']), /^Bearer/);
    }
    assert.equal(new Set(answers.map((answer) => answer.text)).size, 1);
  });

  // Proves S7-10.
  it('is rejected before anything else is validated', async () => {
    const answer = await raw(served.url, 'POST', '/v1/tasks', { 'Content-Type': 'text/plain' }, 'not JSON');

    assert.deepEqual(errorOf(answer), { status: 401, code: 'UNAUTHORIZED' });
  });
});

describe('a key without the scope', () => {
  // Proves S5.3-1, S7-10, C1-10.
  it('gets a 403 that names the scope or the model', async () => {
    const reader = await account.newKey({ scopes: ['tasks:read'] });
    const writer = await account.newKey({ scopes: ['tasks:write'] });
    const other = await account.newKey({ models: ['acme/routed'] });

    const created = await reader.client.create(body());
    assert.equal(created.status, 403);
    assert.equal(created.body.error_code, 'FORBIDDEN');
    assert.match(created.body.message, /tasks:write/);
    assert.equal((await reader.client.send('POST', `/v1/tasks/${newTaskId()}/cancel`)).status, 403);
    assert.equal((await writer.client.get(newTaskId())).status, 403);
    const model = await other.client.create(body());
    assert.equal(model.body.error_code, 'FORBIDDEN');
    assert.match(model.body.message, /acme\/images/);
    assert.equal((await other.client.create(body({ model: 'acme/routed@fast' }))).status, 200);
  });

  // Proves S5.3-1, C1-11.
  it('of a suspended account gets 403 ACCOUNT_SUSPENDED', async () => {
    const suspended = await served.newAccount();
    await setSuspended(served.room.database, suspended.id, true);

    for (const answer of [await suspended.client.create(body()), await suspended.client.get(newTaskId())]) {
      assert.equal(answer.status, 403);
      assert.equal(answer.body.error_code, 'ACCOUNT_SUSPENDED');
    }
  });
});

describe('an unknown resource', () => {
  // Proves S9.1-1, C1-12.
  it('gets the same 404: a path, a task, a task of another account', async () => {
    const other = await served.newAccount();
    const { body: theirs } = await other.client.create(body());
    const paths = [
      `/v1/tasks/${newTaskId()}`,
      `/v1/tasks/${theirs.data.taskId}`,
      `/v1/tasks/${theirs.data.taskId.toLowerCase()}`,
      '/v1/tasks/tk-svc-short',
      '/v1/tasks/__proto__',
      '/v1/tasks/%00',
      '/v1/tasks/%',
      '/v1/tasks/a%2Fb',
      '/v1/nothing',
      '/v1',
      '/v2/tasks',
      '/nothing',
      '//',
      '/v1/tasks/../../healthz/x',
    ];
    const answers = await Promise.all(paths.map((path) => raw(served.url, 'GET', path, bearer())));
    answers.push(await raw(served.url, 'POST', `/v1/tasks/${theirs.data.taskId}/cancel`, bearer()));
    answers.push(await raw(served.url, 'POST', `/v1/tasks/${newTaskId()}/cancel`, bearer()));
    answers.push(await raw(served.url, 'DELETE', '/nothing', bearer()));
    answers.push(await raw(served.url, 'PROPFIND', '/nothing', bearer()));

    for (const [index, answer] of answers.entries()) {
      assert.deepEqual(errorOf(answer), { status: 404, code: 'NOT_FOUND' }, paths[index]);
    }
    assert.equal(new Set(answers.map((answer) => answer.text)).size, 1);
  });

  it('is an HTML page in a browser, and not below the paths of programs', async () => {
    const headers = { Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8' };
    for (const path of ['/nothing', '/task/x', '/nothing.html']) {
      const answer = await raw(served.url, 'GET', path, headers);
      assert.equal(answer.status, 404, path);
      assert.match(String(answer.headers['content-type']), /^text\/html/, path);
      assert.match(answer.text, /^<!doctype html>/i, path);
    }
    const others = [
      await raw(served.url, 'GET', '/v1/nothing', headers),
      await raw(served.url, 'GET', '/assets/nothing.js', headers),
      await raw(served.url, 'POST', '/nothing', headers),
      await raw(served.url, 'GET', '/nothing', { Accept: 'application/json, text/html' }),
      await raw(served.url, 'GET', '/nothing', { Accept: '*/*' }),
    ];
    for (const [index, answer] of others.entries()) {
      assert.deepEqual(errorOf(answer), { status: 404, code: 'NOT_FOUND' }, String(index));
    }
    assert.equal((await raw(served.url, 'GET', '/mcp', headers)).status, 405);
  });
});

describe('an unsupported method', () => {
  /** Of the dashboard's own pages. */
  const PAGE = 'GET, HEAD, OPTIONS';

  it('gets a 405 with the methods of the path (RFC 9110 §10.2.1), which OPTIONS gets too', async () => {
    for (const [method, path, allow] of [
      ['DELETE', `/v1/tasks/${newTaskId()}`, 'GET, HEAD, OPTIONS'],
      ['PUT', '/v1/tasks', 'GET, HEAD, POST, OPTIONS'],
      ['GET', '/v1/tasks/estimate', 'POST, OPTIONS'],
      ['DELETE', '/v1/storages/promote', 'POST, OPTIONS'],
      ['PATCH', '/v1/account/webhook-key', 'GET, HEAD, PUT, DELETE, OPTIONS'],
      ['PROPFIND', '/healthz', 'GET, HEAD, OPTIONS'],
      ['POST', '/', PAGE],
      ['POST', '/tasks', PAGE],
      ['POST', '/tasks/tk-svc-x', PAGE],
      ['POST', '/models', PAGE],
    ] as const) {
      const answer = await raw(served.url, method, path, bearer());
      assert.deepEqual(errorOf(answer), { status: 405, code: 'METHOD_NOT_ALLOWED' }, `${method} ${path}`);
      const options = await raw(served.url, 'OPTIONS', path);
      assert.deepEqual([answer.headers['allow'], options.status, options.headers['allow']], [allow, 204, allow], path);
    }
  });
});

describe('an invalid body', () => {
  const send = (sent: string | Buffer, headers: Record<string, string> = {}): Promise<RawAnswer> =>
    raw(served.url, 'POST', '/v1/tasks', { ...bearer(), 'Content-Type': 'application/json', ...headers }, sent);

  // Proves S4-1, C1-18.
  it('is rejected with 415 when it is not plain JSON', async () => {
    const text = JSON.stringify(body());
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', '', 'json']) {
      assert.deepEqual(errorOf(await send(text, { 'Content-Type': type })), {
        status: 415,
        code: 'UNSUPPORTED_MEDIA_TYPE',
      });
    }
    assert.equal((await send(text, { 'Content-Encoding': 'gzip' })).status, 415);
    assert.equal((await raw(served.url, 'POST', '/v1/tasks', bearer(), text)).status, 415);
  });

  it('is accepted with a charset, in any case, and after a byte order mark', async () => {
    const text = JSON.stringify(body());
    assert.equal((await send(text, { 'Content-Type': 'Application/JSON; charset=utf-8' })).status, 200);
    assert.equal((await send(`\uFEFF${text}`)).status, 200);
  });

  // Proves C1-5.
  it('is rejected with 400 when it is not a JSON object, with a message of our own', async () => {
    const bodies = ['', '{', '[]', 'null', '"text"', '7', '{"a":1}x', "{'model':1}", 'undefined', '{"a":NaN}', '[{}]'];
    for (const text of bodies) {
      const answer = await send(text);
      assert.deepEqual(errorOf(answer), { status: 400, code: 'INVALID_REQUEST' }, text);
      assert.match(answer.text, /"invalid request: the body is not (JSON|a JSON object)"/);
    }
    assert.equal((await send(Buffer.from('{"model":"\xff"}', 'latin1'))).status, 400);
  });

  // Proves C1-27.
  it('is rejected when it is nested deeper than 32 levels, and accepted up to that', async () => {
    const nested = (levels: number): string =>
      `{"model":"m","input":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;

    assert.match((await send(nested(33))).text, /nested deeper than 32 levels/);
    assert.match((await send(nested(32))).text, /invalid request: input: type: got array, want object/);
    assert.match((await send('['.repeat(2_000_000))).text, /nested deeper than 32 levels/);
    const brackets = JSON.stringify(body({ input: { prompt: '[{'.repeat(100) } }));
    assert.equal((await send(brackets)).status, 200);
  });

  // Proves C1-16.
  it('is rejected with 413 above 10 MB, with or without Content-Length', async () => {
    const large = Buffer.alloc(10_000_001, ' ');
    for (const headers of [{ 'Content-Length': String(large.length) }, { 'Transfer-Encoding': 'chunked' }]) {
      assert.deepEqual(errorOf(await send(large, headers as Record<string, string>)), {
        status: 413,
        code: 'PAYLOAD_TOO_LARGE',
      });
    }
    const fits = Buffer.concat([Buffer.from(JSON.stringify(body())), Buffer.alloc(9_000_000, ' ')]);
    assert.equal((await send(fits)).status, 200);
  });
});
