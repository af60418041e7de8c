/** `/mcp` as an endpoint of the API: who may use it, what it rejects, and that no process keeps any state. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { JSONRPCErrorResponseSchema } from '@modelcontextprotocol/sdk/types.js';
import type { JSONRPCErrorResponse } from '@modelcontextprotocol/sdk/types.js';
import { raw } from '../http/raw-request.ts';
import type { RawAnswer } from '../http/raw-request.ts';
import { serveApp } from '../http/serve.ts';
import type { ServedAccount, ServedApp } from '../http/serve.ts';
import { body as taskBody } from '../tasks/task-room.ts';
import { startDarkroom } from '../support/darkroom.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { connectMcp, jsonOf, taskIdIn } from './mcp-connection.ts';

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const toolCall = (name: string, args: object = {}, id: number | string = 1): object => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
});

describe('/mcp', () => {
  let served: ServedApp;
  let account: ServedAccount;
  before(async () => {
    served = await serveApp();
    account = await served.newAccount();
  });
  after(() => served.close());

  const ask = (sent: unknown, headers: Record<string, string> = {}, method = 'POST'): Promise<RawAnswer> =>
    raw(
      served.url,
      method,
      '/mcp',
      {
        Authorization: `Bearer ${account.client.key}`,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        ...headers,
      },
      typeof sent === 'string' ? sent : JSON.stringify(sent),
    );
  /** Reads an error as clients of the protocol do: whatever the status, the body is a JSON-RPC message. */
  const errorOf = ({ status, text }: RawAnswer): JSONRPCErrorResponse['error'] & { data: { error_code: string } } => {
    const { id } = JSON.parse(text) as { id: unknown };
    // The SDK's own type has no null, which JSON-RPC requires if the id is not known.
    const message = JSONRPCErrorResponseSchema.parse({ ...(JSON.parse(text) as object), id: id ?? undefined });
    assert.ok(id === null || id === 1, text);
    const data = message.error.data as { status: number; error_code: string };
    assert.equal(data.status, status);
    return { ...message.error, data };
  };
  const codeOf = (answer: RawAnswer): string => `${answer.status} ${errorOf(answer).data.error_code}`;

  // Proves C0-7.
  it('requires an API key: it accepts neither anonymous requests nor a session cookie of the dashboard', async () => {
    const headers = { 'Content-Type': 'application/json' };
    const dashboard = { ...headers, Cookie: `${served.http.sessionCookie.name}=x`, 'X-Darkroom-Dashboard': '1' };
    for (const each of [headers, dashboard]) {
      assert.equal(codeOf(await raw(served.url, 'POST', '/mcp', each, JSON.stringify(LIST))), '401 UNAUTHORIZED');
    }
    // A valid session, as the dashboard's own pages would send it.
    const pages = { ...headers, 'X-Darkroom-Dashboard': '1', Origin: served.url };
    const { key } = account.client;
    const signIn = await raw(served.url, 'POST', '/session', pages, JSON.stringify({ key }));
    assert.equal(signIn.status, 200, signIn.text);
    const [cookie = ''] = String(signIn.headers['set-cookie']).split(';');
    const withCookie = { ...pages, Cookie: cookie };
    assert.equal((await raw(served.url, 'GET', '/session', withCookie)).status, 200);
    const own = await raw(served.url, 'POST', '/mcp', withCookie, JSON.stringify(LIST));
    assert.equal(codeOf(own), '401 UNAUTHORIZED');
  });

  it('rejects pages of other origins, also with a key', async () => {
    for (const origin of ['https://evil.example', 'null', `${served.url}.evil.example`, 'http://localhost:1']) {
      const answer = await ask(LIST, { Origin: origin });
      assert.equal(codeOf(answer), '403 FORBIDDEN', origin);
    }
    assert.equal((await ask(LIST, { Origin: served.url })).status, 200);
  });

  it('has no stream of its own and no session to end', async () => {
    for (const method of ['GET', 'DELETE']) {
      const answer = await ask('', {}, method);
      assert.equal(answer.status, 405, method);
      assert.match(String(answer.headers['allow']), /POST/);
      assert.equal(codeOf(answer), '405 METHOD_NOT_ALLOWED');
      assert.equal(answer.headers['mcp-session-id'], undefined);
    }
  });

  it('answers errors as JSON-RPC, with the code of JSON-RPC, and the id when it could be read', async () => {
    const deep = `{"jsonrpc":"2.0","id":1,"method":"ping","params":${'{"a":'.repeat(40)}1${'}'.repeat(40)}}`;
    const wrong: [unknown, number, number?][] = [
      ['nonsense', 400, -32_700],
      [{}, 400, -32_600],
      [[], 400],
      [{ jsonrpc: '2.0', id: 'x'.repeat(257), method: 'ping' }, 400],
      [{ jsonrpc: '2.0', id: 1.5, method: 'ping' }, 400],
      [{ jsonrpc: '2.0', id: {}, method: 'ping' }, 400],
      [Array.from({ length: 17 }, (_, id) => ({ ...LIST, id })), 400],
      [deep, 400],
      [JSON.stringify({ ...LIST, params: { more: 'x'.repeat(10_000_001) } }), 413, -32_000],
    ];
    for (const [sent, status, rpcCode] of wrong) {
      const answer = await ask(sent);
      assert.equal(answer.status, status, answer.text.slice(0, 200));
      assert.match(codeOf(answer), /INVALID_REQUEST|PAYLOAD_TOO_LARGE/);
      if (rpcCode !== undefined) assert.equal(errorOf(answer).code, rpcCode, answer.text);
      assert.equal((JSON.parse(answer.text) as { id: unknown }).id, null);
    }
    for (const sent of [
      { jsonrpc: '2.0', id: 1, method: 'ping', params: [] },
      { jsonrpc: '1.0', id: 1, method: 'ping' },
      { jsonrpc: '2.0', id: 1, method: 5 },
    ]) {
      const answer = await ask(sent);
      assert.equal(codeOf(answer), '400 INVALID_REQUEST');
      assert.equal((JSON.parse(answer.text) as { id: unknown }).id, 1, JSON.stringify(sent));
    }
    const unknownVersion = await ask(LIST, { 'Mcp-Protocol-Version': '1999-01-01' });
    assert.equal(codeOf(unknownVersion), '400 INVALID_REQUEST');
    assert.equal((JSON.parse(unknownVersion.text) as { id: unknown }).id, LIST.id);
    assert.equal(codeOf(await ask(LIST, { 'Content-Type': 'text/plain' })), '415 UNSUPPORTED_MEDIA_TYPE');
  });

  it('answers an invalid key with 401 and `WWW-Authenticate`, as JSON-RPC', async () => {
    const { key: good } = account.client;
    for (const key of ['nonsense', `${good.slice(0, -1)}${good.endsWith('0') ? '1' : '0'}`]) {
      const answer = await ask(LIST, { Authorization: `Bearer ${key}` });
      assert.equal(codeOf(answer), '401 UNAUTHORIZED');
      assert.equal(answer.headers['www-authenticate'], 'Bearer');
      assert.match(String(answer.headers['content-type']), /^application\/json/);
      assert.match(errorOf(answer).message, /the API key is missing or not valid/);
    }
  });

  it('answers JSON to a client that accepts no stream, several messages in one, and nothing to a notification', async () => {
    const answer = await ask(toolCall('list_models'), { Accept: 'application/json' });
    assert.match(String(answer.headers['content-type']), /^application\/json/);
    assert.match(answer.text, /acme\/images/);

    const both = await ask([LIST, { ...LIST, id: 'two', method: 'ping' }]);
    const ids = (JSON.parse(both.text) as { id: unknown }[]).map(({ id }) => id);
    assert.deepEqual(new Set(ids), new Set([1, 'two']));

    const notified = await ask({ jsonrpc: '2.0', method: 'notifications/initialized' });
    assert.deepEqual([notified.status, notified.text], [202, '']);
    const unknown = JSON.parse((await ask({ ...LIST, method: 'none' })).text) as { error: { code: number } };
    assert.equal(unknown.error.code, -32_601);
  });

  it('applies the limits of the account to each tool call, with the request id of the whole', async () => {
    const limited = await served.newAccount({ createsPerMinute: 1 });
    const headers = { Authorization: `Bearer ${limited.client.key}`, 'X-Request-Id': 'of-the-client' };
    const create = { ...taskBody(), wait_seconds: 0 };
    const texts = [];
    for (const id of [1, 2]) texts.push((await ask(toolCall('generate', create, id), headers)).text);
    assert.match(texts[0] ?? '', /tk-svc-/);
    assert.match(texts[1] ?? '', /RATE_LIMITED: .*retry after \d+ s, request of-the-client/);
    assert.match(texts[1] ?? '', /"isError":true/);
  });

  it('rejects a tool call whose key is revoked between two requests', async () => {
    const other = await account.newKey();
    const headers = { Authorization: `Bearer ${other.client.key}` };
    assert.equal((await ask(toolCall('list_tasks'), headers)).status, 200);
    await account.client.send('DELETE', `/v1/account/keys/${other.id}`);
    await waitFor('it is rejected', async () => (await ask(toolCall('list_tasks'), headers)).status === 401);
  });

  it('stops waiting when its client disconnects', async () => {
    const { client } = await served.newAccount();
    const created = await client.create(taskBody());
    const { taskId } = created.body.data;
    const gone = new AbortController();
    const response = await fetch(`${served.url}/mcp`, {
      method: 'POST',
      signal: gone.signal,
      headers: {
        Authorization: `Bearer ${client.key}`,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({
        ...toolCall('get_task', { task_id: taskId, wait_seconds: 60 }),
        params: { name: 'get_task', arguments: { task_id: taskId, wait_seconds: 60 }, _meta: { progressToken: 'p' } },
      }),
    });
    assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
    const first = await response.body?.getReader().read();
    assert.match(new TextDecoder().decode(first?.value), /notifications\/progress/);
    await waitFor('it is waited for', () => served.http.feed.count() === 1);
    const reads = (): number => served.notified.considered.filter((id) => id === taskId).length;
    const readsBefore = reads();
    gone.abort();

    // Between two requests of a call that continues, there is no listener for a moment.
    let looks = 0;
    await waitFor('no one waits any more', () => {
      looks = served.http.feed.count() === 0 ? looks + 1 : 0;
      return looks === 10;
    });
    // The waiting request was released as well: otherwise it would have read the task once more at its end.
    assert.equal(reads(), readsBefore);
  });
});

describe('a streamed tool call', () => {
  it('triggers no leak warning of Node', async () => {
    const warnings: Error[] = [];
    const keep = (warning: Error): void => void warnings.push(warning);
    process.on('warning', keep);
    const served = await serveApp({ environment: { LOG_REQUESTS: 'true' } });
    try {
      const { client } = await served.newAccount();
      const headers = {
        Authorization: `Bearer ${client.key}`,
        'Content-Type': 'application/json',
        Accept: 'text/event-stream',
      };
      const answer = await raw(served.url, 'POST', '/mcp', headers, JSON.stringify(toolCall('list_models')));
      assert.match(answer.text, /^event: message\n[^]*acme\/images/);
    } finally {
      await served.close();
      process.off('warning', keep);
    }
    assert.deepEqual(warnings, []);
  });
});

describe('/mcp where only HTTPS is served', () => {
  // Proves C0-7.
  it('is reached like any route, and reaches the others from there', async () => {
    const served = await serveApp({ requiresHttps: true, environment: { TRUSTED_PROXIES: '127.0.0.0/8' } });
    try {
      const account = await served.newAccount();
      const ask = (headers: Record<string, string>): Promise<RawAnswer> =>
        raw(
          served.url,
          'POST',
          '/mcp',
          { Authorization: `Bearer ${account.client.key}`, 'Content-Type': 'application/json', ...headers },
          JSON.stringify(toolCall('list_models')),
        );
      assert.equal((await ask({})).status, 400);
      const answer = await ask({ 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': '192.0.2.7' });
      assert.match(answer.text, /acme\/images/);
    } finally {
      await served.close();
    }
  });
});

describe('/mcp of several processes', () => {
  it('is served by each of them, and stops waiting when its process drains', async () => {
    const darkroom = await startDarkroom({ apis: 2, workers: 0 });
    try {
      const { client } = await darkroom.createAccount();
      const [one = '', two = ''] = darkroom.urls;
      const [first, second] = await Promise.all([one, two].map((url) => connectMcp('http', url, client.key)));
      assert.ok(first && second);
      const args = { model: 'darkroom/scene', input: { prompt: 'a lighthouse' }, wait_seconds: 0 };
      const taskId = taskIdIn(await first.call('generate', args));
      assert.equal(jsonOf<{ taskId: string }>(await second.call('get_task', { task_id: taskId })).taskId, taskId);

      // No worker runs: only the drain can end this before the timeout.
      const seen: unknown[] = [];
      const onprogress = (progress: unknown): void => void seen.push(progress);
      const waiting = first.call('get_task', { task_id: taskId, wait_seconds: 60 }, { onprogress });
      await waitFor('it waits', () => seen.length > 0);
      const ended = darkroom.apis[0]?.kill('SIGTERM');
      const answer = await waiting;
      await ended;
      assert.equal(answer.isError, false, answer.text);
      assert.match(answer.text, /^The task has not ended yet \(queued\)/);
      assert.match((await second.call('get_task', { task_id: taskId })).text, /queued/);
      await second.close();
      await first.close();
    } finally {
      await darkroom.stop();
    }
  });
});
