/**
 * What holds for every request: its id, HTTPS if it is required, and the response while the database is unavailable.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { newTaskId } from '../../src/domain/ids.ts';
import { body } from '../tasks/task-room.ts';
import { errorOf, raw } from './raw-request.ts';
import { serveApp, unreachableDatabase } from './serve.ts';
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

describe('the request id', () => {
  // Proves C1-3.
  it('is generated, and new each time, when the client sent none or an invalid one', async () => {
    const seen = new Set<unknown>();
    for (const sent of [undefined, '', 'has blanks', 'x'.repeat(65), 'semi;colon', 'ümlaut']) {
      const headers = sent === undefined ? {} : { 'X-Request-Id': Buffer.from(sent).toString('latin1') };
      const answer = await raw(served.url, 'GET', '/healthz', headers);
      assert.match(String(answer.headers['x-request-id']), /^req_[0-9A-Z]{26}$/);
      seen.add(answer.headers['x-request-id']);
    }
    assert.equal(seen.size, 6);
  });

  // Proves C1-3.
  it("is the client's own when it is valid, on errors as well", async () => {
    for (const sent of ['a', 'trace-7_B', 'x'.repeat(64)]) {
      const ok = await raw(served.url, 'GET', '/healthz', { 'X-Request-Id': sent });
      const missing = await raw(served.url, 'GET', '/nothing', { 'X-Request-Id': sent });
      assert.deepEqual([ok.headers['x-request-id'], missing.headers['x-request-id']], [sent, sent]);
    }
  });

  it('is returned with nosniff on every response', async () => {
    for (const path of ['/healthz', '/nothing', '/v1/tasks/x', '/media/x/y']) {
      const answer = await raw(served.url, 'GET', path);
      assert.equal(answer.headers['x-content-type-options'], 'nosniff');
    }
  });
});

describe('while the database is down', () => {
  // Proves C0-4, C1-4, C1-22.
  it('every route that needs it returns 503 with Retry-After, without the reason', async () => {
    const away = await serveApp({ appDatabase: unreachableDatabase() });
    try {
      const headers = { ...bearer(), 'Content-Type': 'application/json' };
      const token = new URL(await signedUrl()).pathname;
      const answers = [
        await raw(away.url, 'POST', '/v1/tasks', headers, JSON.stringify(body())),
        await raw(away.url, 'GET', `/v1/tasks/${newTaskId()}`, headers),
        await raw(away.url, 'POST', `/v1/tasks/${newTaskId()}/cancel`, headers),
        await raw(away.url, 'GET', token),
      ];

      for (const answer of answers) {
        assert.deepEqual(errorOf(answer), { status: 503, code: 'SERVICE_UNAVAILABLE' });
        assert.match(String(answer.headers['retry-after']), /^[1-9]\d*$/);
        assert.doesNotMatch(answer.text, /127\.0\.0\.1|ECONNREFUSED|postgres|nobody/i);
      }
      assert.equal((await raw(away.url, 'GET', '/healthz')).status, 200);
      const ready = await raw(away.url, 'GET', '/readyz');
      assert.equal(ready.status, 503);
      assert.equal((JSON.parse(ready.text) as { database: boolean }).database, false);
      // A malformed key is rejected without a query.
      assert.equal((await raw(away.url, 'GET', `/v1/tasks/${newTaskId()}`)).status, 401);
    } finally {
      await away.close();
    }
  });
});

async function signedUrl(): Promise<string> {
  const { body: created } = await account.client.create(body());
  await served.succeed(created.data.taskId, Buffer.from('bytes'));
  const task = await account.client.get(created.data.taskId);
  return task.body.data.output?.[0]?.url ?? '';
}

describe('where HTTPS is required', () => {
  const answerTo = async (
    trusted: string,
    path: string,
    headers: Record<string, string>,
    requiresHttps = true,
  ): Promise<number> => {
    const https = await serveApp({ requiresHttps, environment: { TRUSTED_PROXIES: trusted } });
    try {
      return (await raw(https.url, 'GET', path, headers)).status;
    } finally {
      await https.close();
    }
  };

  // Proves C7-11.
  it('only the header of a trusted proxy is accepted, and of the nearest one', async () => {
    const cases: [string, Record<string, string>, number][] = [
      ['127.0.0.0/8', { 'X-Forwarded-Proto': 'https' }, 401],
      ['127.0.0.0/8', { 'X-Forwarded-Proto': 'http, https' }, 401],
      ['127.0.0.0/8', { 'X-Forwarded-Proto': 'https, http' }, 400],
      ['127.0.0.0/8', {}, 400],
      ['10.0.0.0/8', { 'X-Forwarded-Proto': 'https' }, 400],
    ];
    for (const [trusted, headers, status] of cases) {
      assert.equal(await answerTo(trusted, '/v1/tasks/x', headers), status, JSON.stringify([trusted, headers]));
    }
  });

  it('a proxy on the same machine is trusted when it reports that a request did not use HTTPS', async () => {
    const cases: [string, Record<string, string>, number][] = [
      ['127.0.0.0/8', { 'X-Forwarded-Proto': 'http' }, 400],
      ['127.0.0.0/8', { 'X-Forwarded-Proto': 'https' }, 401],
      // The loopback itself needs none.
      ['127.0.0.0/8', {}, 401],
      ['10.0.0.0/8', { 'X-Forwarded-Proto': 'http' }, 401],
    ];
    for (const [trusted, headers, status] of cases) {
      assert.equal(await answerTo(trusted, '/v1/tasks/x', headers, false), status, JSON.stringify([trusted, headers]));
    }
  });

  it('probes are served without it: they come from inside', async () => {
    for (const path of ['/healthz', '/readyz']) assert.equal(await answerTo('10.0.0.0/8', path, {}), 200);
  });
});
