/**
 * Secrets and private words are planted wherever a client, an operator or a provider can put them, everything is made
 * to succeed and to fail with them, and then no output for operators may contain one: the logs at the most verbose
 * level and the traces (log.ts: "Never logged: keys, prompts, bodies, signatures, signed URLs"). What Temporal stores
 * is checked in e2e/histories.test.ts.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, it } from 'node:test';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';

/** Each is a different text, so that a leak names its origin. */
const planted = new Map<string, string>();
function canary(where: string): string {
  const value = `canary-${randomUUID()}`;
  planted.set(where, value);
  return value;
}

let outside: DarkroomWithUpstreams;
let collector: Server;
const traces: string[] = [];
before(async () => {
  collector = createServer((request, response) => {
    void text(request).then((body) => {
      traces.push(body);
      response.end('{}');
    });
  });
  await once(collector.listen(0, '127.0.0.1'), 'listening');
  outside = await startDarkroomWithUpstreams({
    LOG_LEVEL: 'trace',
    LOG_REQUESTS: 'true',
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=${canary('the collector’s header')}`,
    URL_SIGNING_KEY: canary('URL_SIGNING_KEY'),
    ENCRYPTION_KEY: canary('ENCRYPTION_KEY'),
    URL_SIGNING_KEY_FALLBACKS: canary('URL_SIGNING_KEY_FALLBACKS'),
    ENCRYPTION_KEY_FALLBACKS: canary('ENCRYPTION_KEY_FALLBACKS'),
    UPSTREAM_TEST_KEY: canary('an upstream’s key'),
    S3_SECRET_ACCESS_KEY: canary('S3_SECRET_ACCESS_KEY'),
    CALLBACK_OFFSETS_SECONDS: '0,1',
  });
});
after(async () => {
  await outside.stop();
  collector.close();
});

it('logs and traces contain no secret and no private text, for requests that succeed and fail', async () => {
  const { darkroom, receiver } = outside;
  const { client } = await darkroom.createAccount();
  planted.set('an API key', client.key.split('_').at(-1) ?? '');
  const send = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    client.send(method, path, body, headers).catch(() => undefined);

  await send('PUT', '/v1/account/webhook-key', { secret: canary('a webhook secret') });
  await send('PUT', '/v1/account/webhook-key', { secret: 'ü', other: canary('a rejected webhook secret') });
  await send('POST', '/v1/account/webhook-key/test', { url: `${receiver.url}/ok/${canary('a tested address')}` });

  const taskIds: string[] = [];
  const ways = ['', '[content]', '[fail]', '[drop]', '[404 file]', '[reject-first 1]', '[slow 300]'];
  for (const [index, model] of ['test/openai', 'test/replicate', 'test/tasks', 'darkroom/poster'].entries()) {
    for (const way of ways) {
      const label = `${model} ${way}`;
      const path = ['/ok', '/status/500', '/redirect', '/gone'][index] ?? '/ok';
      const body = {
        model,
        input: { prompt: `${canary(`the prompt of ${label}`)} ${way}` },
        metadata: { note: canary(`the metadata of ${label}`) },
        callback: {
          url: `${receiver.url}${path}/${canary(`the callback of ${label}`)}?token=${canary(`its query, ${label}`)}`,
        },
      };
      const created = await send('POST', '/v1/tasks', body, { 'Idempotency-Key': canary(`the key of ${label}`) });
      assert.equal(created?.status, 200, label);
      taskIds.push(created.body.data.taskId);
    }
  }

  // Rejected, each in its own way.
  const odd = canary('a rejected body');
  await send('POST', '/v1/tasks', { model: odd, input: { [odd]: odd } });
  await send('POST', '/v1/tasks', `{"input":"${odd}`);
  await send('POST', '/v1/tasks', {
    model: 'darkroom/poster',
    input: { prompt: 'x', image_url: `https://${odd}.invalid/` },
  });
  await send('GET', `/v1/tasks/${canary('a path')}?${canary('a query')}=1`);
  await send('GET', `/${canary('an unknown path')}`);
  await send('GET', '/v1/account', undefined, { Authorization: `Bearer dk_live_${canary('a wrong key')}` });
  await send('GET', '/v1/account', undefined, { Cookie: canary('a cookie'), 'User-Agent': canary('a user agent') });
  await send('POST', '/v1/account/keys', { name: canary('a name of a key'), scopes: ['tasks:read'], extra: 1 });

  // Text calls, answered and rejected.
  const question = canary('a question');
  for (const stream of [false, true]) {
    const more = {
      stream,
      user: canary(`a user, stream ${stream}`),
      metadata: { a: canary(`a note, stream ${stream}`) },
    };
    const messages = [{ role: 'user', content: `Repeat: ${question}` }];
    await fetch(`${darkroom.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${client.key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ model: 'darkroom/conformance-text', messages, ...more }),
    }).then((answer) => answer.text());
  }
  await send('POST', '/v1/responses', {
    model: 'darkroom/conformance-text',
    input: question,
    tools: [{ type: question }],
  });
  await send('POST', '/v1/responses', {
    model: 'darkroom/conformance-text',
    input: question,
    previous_response_id: odd,
  });

  for (const taskId of taskIds) {
    const { output } = await client.waitForTerminal(taskId);
    const url = output?.[0]?.url;
    if (url === undefined) continue;
    planted.set(`a download URL of ${taskId}`, new URL(url).pathname.split('/')[2] ?? '');
    await (await fetch(url)).arrayBuffer();
    await fetch(`${url}x`);
  }
  const isOver = (state: string | undefined): boolean => ['delivered', 'exhausted', 'stopped'].includes(state ?? '');
  for (const taskId of taskIds) await client.waitFor(taskId, ({ callback }) => isOver(callback?.state));
  await send('POST', `/v1/tasks/${taskIds[0]}/erase`);
  // The database becomes unavailable during requests and work.
  const cut = {
    name: 'test_cut',
    text: 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()',
  };
  const busy = Array.from({ length: 20 }, (_, index) =>
    send('POST', '/v1/tasks', { model: 'test/openai', input: { prompt: canary(`cut off ${index}`) } }),
  );
  await darkroom.testDatabase.database.query(cut);
  await Promise.all(busy);
  // All output is complete once the processes have ended.
  await Promise.all([...darkroom.apis, ...darkroom.workers].map((role) => role.kill('SIGTERM')));

  const log = await readFile(darkroom.logFile, 'utf8');
  const traceText = traces.join('\n');
  assert.ok(log.includes(taskIds[0] ?? '?') && traceText.includes(taskIds[0] ?? '?'), 'a task is found by its id');
  assert.ok(planted.size > 100, String(planted.size));
  const leaks = [...planted].filter(([, value]) => value !== '' && (log.includes(value) || traceText.includes(value)));
  assert.deepEqual(
    leaks.map(([where, value]) => [where, log.split('\n').find((line) => line.includes(value)) ?? 'a trace']),
    [],
  );
});
