/**
 * How an api process ends on SIGTERM: it reports that it is not ready, continues to accept requests for the drain
 * time, then lets requests in progress finish, and notifies the clients whose requests cannot. Real processes, real
 * signals.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { textDefinition } from '../catalogue/definitions.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, Role, TestAccount } from '../support/darkroom.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { openEventSource } from './event-source.ts';

/** One that a process ends during, and one that never ends in a test. */
const models = [
  { name: 'acme/slow', tokensPerSecond: 10 },
  // None while the test lasts.
  { name: 'acme/endless', tokensPerSecond: 1 / 600 },
].map(({ name, tokensPerSecond }) =>
  textDefinition({
    name,
    upstreams: [{ protocol: 'embedded', model: 'conformance', parameters: { tokensPerSecond } }],
  }),
);

let modelsDir: string;
before(async () => {
  modelsDir = await mkdtemp(path.join(os.tmpdir(), 'darkroom-drain-'));
  for (const [index, model] of models.entries()) {
    await writeFile(path.join(modelsDir, `${index}.json`), JSON.stringify(model));
  }
});
after(() => rm(modelsDir, { recursive: true, force: true }));

interface Started {
  readonly darkroom: Darkroom;
  readonly api: Role;
  readonly account: TestAccount;
}

async function start(drainSeconds: number, graceSeconds: number): Promise<Started> {
  const environment = {
    MODELS_DIR: modelsDir,
    DRAIN_SECONDS: String(drainSeconds),
    SHUTDOWN_GRACE_SECONDS: String(graceSeconds),
  };
  const darkroom = await startDarkroom({ apis: 1, workers: 0, environment });
  const api = darkroom.apis[0] ?? assert.fail();
  return { darkroom, api, account: await darkroom.createAccount() };
}

function textCall(
  { darkroom, account }: Started,
  model: string,
  maxTokens: number,
  stream: boolean,
): Promise<Response> {
  return fetch(`${darkroom.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${account.client.key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      model,
      stream,
      max_tokens: maxTokens,
      messages: [{ role: 'user', content: 'Write a long essay about the sea.' }],
    }),
  });
}

/** A stream that has started. @returns its whole text, once it has ended. */
async function begunStream(started: Started, model: string, maxTokens: number): Promise<{ text: Promise<string> }> {
  const response = await textCall(started, model, maxTokens, true);
  assert.equal(response.status, 200);
  return { text: response.text() };
}

/** A request on a connection of its own that stays open. */
function keptConnection(url: string): (path: string) => Promise<{ status: number; headers: IncomingHttpHeaders }> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const { hostname, port } = new URL(url);
  return (path) =>
    new Promise((resolve, reject) => {
      const outgoing = request({ hostname, port, path, agent }, (incoming) => {
        incoming.resume().on('end', () => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers }));
      });
      outgoing.on('error', reject).end();
    });
}

const isDraining = async (url: string): Promise<boolean> => {
  const response = await fetch(`${url}/readyz`);
  const readiness = (await response.json()) as { draining: boolean };
  assert.equal(response.status, readiness.draining ? 503 : 200);
  return readiness.draining;
};

describe('an api process that is stopped', () => {
  it('is immediately not ready, still accepts requests, and closes each connection after its response', async () => {
    // If the process waited for the whole grace time, the test would hang.
    const started = await start(15, 600);
    const { darkroom, api, account } = started;
    try {
      const kept = keptConnection(darkroom.url);
      assert.notEqual((await kept('/healthz')).headers.connection, 'close');
      const idle = keptConnection(darkroom.url);
      await idle('/healthz');
      const silent = connect(Number(new URL(darkroom.url).port), '127.0.0.1');
      const silentClosed = new Promise((resolve) => void silent.on('error', () => undefined).once('close', resolve));
      const { body: created } = await account.client.create({ model: 'darkroom/scene', input: { prompt: 'a lake' } });
      const taskPath = `/v1/tasks/${created.data.taskId}`;
      const events = await openEventSource(`${darkroom.url}${taskPath}/events`, account.client.key);
      await events.waitFor(1);
      const waiting = account.client.send('GET', taskPath, undefined, { Prefer: 'wait=30' });
      const stream = await begunStream(started, 'acme/slow', 80);

      const ended = api.kill('SIGTERM');
      await waitFor('it says that it drains', () => isDraining(darkroom.url));
      const last = await kept('/healthz');
      assert.deepEqual([last.status, last.headers.connection], [200, 'close']);
      const late = await account.client.create({ model: 'darkroom/scene', input: { prompt: 'a lake' } });
      assert.equal(late.status, 200);
      assert.equal(events.isOver, false);

      await ended;
      await silentClosed;
      await events.ended();
      // Unchanged: no worker runs here.
      assert.equal((await waiting).body.data.status, 'queued');
      const text = await stream.text;
      assert.match(text, /"finish_reason":"length"[^]*data: \[DONE\]\n\n$/);
      assert.doesNotMatch(text, /"error"/);
      await assert.rejects(fetch(darkroom.url));
    } finally {
      await darkroom.stop();
    }
  });

  it('ends a text call that outlives the grace period with an error, streamed or not, and charges nothing', async () => {
    const started = await start(0, 2);
    const { darkroom, api, account } = started;
    try {
      const stream = await begunStream(started, 'acme/endless', 400);
      const whole = textCall(started, 'acme/endless', 400, false);
      await waitFor('both calls are under way', async () => {
        const [row] = await darkroom.testDatabase.database.query<{ open: number }>({
          name: 'test_open_text_calls',
          text: 'SELECT count(*)::integer AS open FROM text_calls WHERE settled_at IS NULL',
        });
        return row?.open === 2;
      });

      await api.kill('SIGTERM');
      const text = await stream.text;
      assert.match(text, /data: \{[^\n]*"code":"interrupted"[^\n]*\n\ndata: \[DONE\]\n\n$/);
      const answer = await whole;
      assert.equal(answer.status, 503);
      assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/);
      assert.match(await answer.text(), /"code":"interrupted"/);

      const [row] = await darkroom.testDatabase.database.query<{ settled: number; captured: string }>(
        {
          name: 'test_settled_text_calls',
          text: `SELECT count(*)::integer AS settled, sum(captured_micro_usd)::text AS captured FROM text_calls
                WHERE settled_at IS NOT NULL AND account_id = $1`,
        },
        [account.id],
      );
      assert.deepEqual(row, { settled: 2, captured: '0' });
    } finally {
      await darkroom.stop();
    }
  });
});
