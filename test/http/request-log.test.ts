/** The access log (`LOG_REQUESTS`): what each line contains, when it is written, and what never appears in it. */
import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { pino } from 'pino';
import { body } from '../tasks/task-room.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { open } from './raw-socket.ts';
import { raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { ADMIN_TOKEN, serveAdmin } from './serve-admin.ts';
import type { ServedAdmin } from './serve-admin.ts';
import type { ServedAccount } from './serve.ts';

type Line = Readonly<Record<string, unknown>>;

const CANARY = 'canary-4711';
const CLIENT = '203.0.113.7';
const IN_USE = 'darkroom_share_units_in_use';

function capturingLogger(lines: Line[]) {
  const destination = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(JSON.parse(chunk.toString()) as Line);
      done();
    },
  });
  return pino({ base: null, timestamp: false }, destination);
}

const lines: Line[] = [];
let admin: ServedAdmin;
let account: ServedAccount;
before(async () => {
  admin = await serveAdmin({
    environment: { LOG_REQUESTS: 'true', TRUSTED_PROXIES: '127.0.0.1' },
    logger: capturingLogger(lines),
  });
  account = await admin.served.newAccount();
});
after(() => admin.close());

/** The line of one request, which has its own id. */
async function lineOf(requestId: string): Promise<Line> {
  const found = () => lines.filter((line) => line['requestId'] === requestId);
  await waitFor(`the line of ${requestId}`, () => found().length > 0);
  assert.equal(found().length, 1);
  return found()[0] ?? {};
}

let sent = 0;
async function ask(
  method: string,
  path: string,
  headers: Record<string, string> = {},
  text?: string,
): Promise<{ readonly answer: RawAnswer; readonly line: Line }> {
  sent += 1;
  const requestId = `request-${sent}`;
  const own = { 'X-Request-Id': requestId, 'X-Forwarded-For': CLIENT, ...headers };
  const answer = await raw(admin.served.url, method, path, own, text);
  return { answer, line: await lineOf(requestId) };
}

function key(): Record<string, string> {
  return { Authorization: `Bearer ${account.client.key}` };
}

function create(): ReturnType<typeof ask> {
  return ask('POST', '/v1/tasks', { ...key(), 'Content-Type': 'application/json' }, JSON.stringify(body()));
}

describe('a completed request', () => {
  it('has one line with all of its fields and nothing else', async () => {
    const { answer, line } = await create();
    const { taskId } = (JSON.parse(answer.text) as { data: { taskId: string } }).data;
    const { durationMs, keyId, ...rest } = line;

    assert.ok(Number.isInteger(durationMs) && Number(durationMs) >= 0);
    assert.match(String(keyId), /^[0-9A-Za-z]{10}$/);
    assert.ok(account.client.key.includes(String(keyId)));
    assert.deepEqual(rest, {
      level: 30,
      msg: 'request answered',
      requestId: `request-${sent}`,
      method: 'POST',
      route: '/v1/tasks',
      status: 200,
      bytes: Buffer.byteLength(answer.text),
      clientAddress: CLIENT,
      accountId: account.id,
      taskId,
    });

    const read = await ask('GET', `/v1/tasks/${taskId}`, key());
    assert.deepEqual([read.line['route'], read.line['taskId']], ['/v1/tasks/:taskId', taskId]);
    const again = await ask('GET', `/v1/tasks/${taskId}`, { ...key(), 'If-None-Match': `${read.answer.headers.etag}` });
    assert.deepEqual([again.line['status'], again.line['bytes']], [304, 0]);
  });

  it('has its route and never its path or query, for any client', async () => {
    const token = Buffer.from(CANARY).toString('base64url');
    const cases = [
      ['GET', `/v1/tasks?metadata.note=${CANARY}`, 200, '/v1/tasks'],
      ['GET', `/v1/tasks/${CANARY}`, 404, '/v1/tasks/:taskId'],
      ['GET', `/media/${token}/${CANARY}.png`, 403, '/media/:token/:name'],
      ['HEAD', `/media/${token}/${CANARY}.png`, 403, '/media/:token/:name'],
      ['POST', `/hooks/unknown/${CANARY}`, 404, '/hooks/:upstream/:token'],
      ['GET', `/v1/${CANARY}?key=${CANARY}`, 404, 'unmatched'],
      ['GET', '/healthz', 200, '/healthz'],
    ] as const;
    for (const [method, path, status, route] of cases) {
      const { line } = await ask(method, path, key());
      assert.deepEqual([line['method'], line['status'], line['route']], [method, status, route], path);
      if (method === 'HEAD') assert.equal(line['bytes'], 0);
    }

    const { line } = await ask('GET', '/v1/account', { Authorization: `Bearer ${CANARY}` });
    assert.equal(line['status'], 401);
    assert.ok(!('accountId' in line) && !('keyId' in line));
    const log = JSON.stringify(lines);
    for (const secret of [CANARY, token, account.client.key.split('_').at(-1) ?? CANARY]) {
      assert.ok(!log.includes(secret), secret);
    }
  });

  it('has its line when a tool of MCP made it, and the tool call completes', async () => {
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_models' } };
    const headers = { ...key(), 'Content-Type': 'application/json', 'X-Request-Id': 'request-of-tool' };
    await raw(admin.served.url, 'POST', '/mcp', headers, JSON.stringify(call));
    const found = () => lines.filter(({ requestId }) => requestId === 'request-of-tool');
    await waitFor('both lines', () => found().length === 2);
    assert.deepEqual(
      found().map(({ route, status, isAborted }) => [route, status, isAborted]),
      [
        ['/v1/models', 200, undefined],
        ['/mcp', 200, undefined],
      ],
    );
  });

  it('has its line on the admin listener as well, without an account', async () => {
    const headers = { Authorization: `Bearer ${ADMIN_TOKEN}`, 'X-Request-Id': 'request-of-operator' };
    await raw(admin.url, 'GET', `/admin/accounts/${account.id}`, headers);
    const line = await lineOf('request-of-operator');
    assert.deepEqual([line['route'], line['status']], ['/admin/accounts/:accountId', 200]);
    assert.ok(!('accountId' in line));
    assert.ok(!JSON.stringify(lines).includes(ADMIN_TOKEN));
  });
});

describe('a streamed request', () => {
  /** Opens the stream of a task's events. */
  async function openStream(requestId: string, taskId: string) {
    const client = open(admin.served.url);
    const head = [`GET /v1/tasks/${taskId}/events HTTP/1.1`, 'Host: x', `X-Request-Id: ${requestId}`];
    const rest = [`Authorization: Bearer ${account.client.key}`, 'Accept: text/event-stream', 'Connection: close'];
    client.socket.write([...head, ...rest, '', ''].join('\r\n'));
    await waitFor('the stream has begun', () => client.heard().includes('accepted'));
    return client;
  }

  it('has its line when a stream has ended, with all that was sent', async () => {
    const taskId = String((await create()).line['taskId']);
    const client = await openStream('request-of-stream', taskId);
    assert.ok(!lines.some(({ requestId }) => requestId === 'request-of-stream'));
    await admin.served.succeed(taskId, Buffer.from('bytes'));
    await waitFor('the stream is over', () => client.isClosed());

    const line = await lineOf('request-of-stream');
    assert.deepEqual([line['status'], line['taskId'], line['isAborted']], [200, taskId, undefined]);
    const events = client.heard().match(/^(id|event|data): .*$|^: .*$/gm) ?? [];
    assert.ok(Number(line['bytes']) >= events.join('\n').length);
  });

  it('is marked when the client disconnected, before the response or during it', async () => {
    const taskId = String((await create()).line['taskId']);
    const stream = await openStream('request-of-gone-stream', taskId);
    stream.socket.destroy();
    const cut = await lineOf('request-of-gone-stream');
    assert.deepEqual([cut['status'], cut['isAborted'], cut['keyId']], [200, true, account.client.key.split('_')[2]]);

    const waiting = open(admin.served.url);
    const head = [`GET /v1/tasks/${taskId} HTTP/1.1`, 'Host: x', 'X-Request-Id: request-of-gone', 'Prefer: wait=30'];
    waiting.socket.write([...head, `Authorization: Bearer ${account.client.key}`, '', ''].join('\r\n'));
    await waitFor('it waits', async () =>
      (await admin.served.http.metrics.registry.metrics()).includes(`${IN_USE}{resource="waiting_answers"} 1\n`),
    );
    waiting.socket.destroy();
    const gone = await lineOf('request-of-gone');
    assert.deepEqual([gone['status'], gone['isAborted'], gone['bytes']], [499, true, 0]);
  });
});

it('there is no line unless it is enabled', async () => {
  const none: Line[] = [];
  const silent = await serveAdmin({ logger: capturingLogger(none) });
  await raw(silent.served.url, 'GET', '/healthz');
  await silent.ask('GET', '/admin/service');
  await silent.close();
  assert.deepEqual(
    none.filter(({ msg }) => msg === 'request answered'),
    [],
  );
});
