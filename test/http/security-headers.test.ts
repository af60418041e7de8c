/**
 * The security headers of every kind of response: each existing route, with a request that succeeds and one that is
 * rejected, and responses where there is no route. A new route is included automatically.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { publicRoutes } from '../../src/http/app/routes.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { body } from '../tasks/task-room.ts';
import { raw } from './raw-request.ts';
import { open } from './raw-socket.ts';
import { chatBody } from './route-requests.ts';
import { ADMIN_TOKEN, serveAdmin } from './serve-admin.ts';
import type { ServedAdmin } from './serve-admin.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

const API_POLICY = "default-src 'none'; frame-ancestors 'none'";

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** @param expected headers of a response that is not JSON of ours. */
function assertGuarded(headers: Headers, what: string, expected: Headers = {}): void {
  const guards = {
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-resource-policy': 'same-origin',
    'content-security-policy': API_POLICY,
    'x-frame-options': undefined,
    // Plain HTTP on loopback.
    'strict-transport-security': undefined,
    ...expected,
  };
  const found = Object.fromEntries(Object.keys(guards).map((name) => [name, headers[name]]));
  assert.deepEqual(found, guards, what);
}

let admin: ServedAdmin;
let served: ServedApp;
let account: ServedAccount;
let bearer: Record<string, string>;
before(async () => {
  admin = await serveAdmin({ environment: { TRUSTED_PROXIES: '127.0.0.0/8' } });
  served = admin.served;
  account = await served.newAccount();
  bearer = { Authorization: `Bearer ${account.client.key}` };
});
after(() => admin.close());

describe('security headers', () => {
  it('are on the response of every route to anonymous requests', async () => {
    const pages: Readonly<Record<string, Record<string, string>>> = {
      '/docs': {},
      '/guide': {},
      // A page without a referrer sends no origin either, which its requests are identified by.
      '/': { 'referrer-policy': 'same-origin' },
    };
    for (const [index, { method, path }] of publicRoutes(served.http).entries()) {
      // Of an address each: there are more routes than one address has failed attempts.
      const from = { 'X-Forwarded-For': `192.0.2.${index + 1}` };
      const answer = await raw(served.url, method, path.replaceAll(/\{[^}]+\}/g, 'x'), from);
      const page = { 'content-security-policy': answer.headers['content-security-policy'], 'x-frame-options': 'DENY' };
      assertGuarded(
        answer.headers,
        `${method} ${path}: ${answer.status}`,
        pages[path] === undefined ? {} : { ...page, ...pages[path] },
      );
    }
  });

  it('let the dashboard run files of its own and nothing else, with styles that carry a new nonce per response', async () => {
    const policies = [];
    for (const path of ['/', '/tasks/tk-svc-x', '/models/a/b/c', '/sign-in']) {
      const answer = await raw(served.url, 'GET', path);
      assert.equal(answer.status, 200, path);
      assert.equal(answer.headers['cache-control'], 'no-store');
      const policy = String(answer.headers['content-security-policy']);
      const nonce = /'nonce-([\w-]{22})'/.exec(policy)?.[1] ?? 'none';
      assert.ok(answer.text.includes(`content="${nonce}"`), path);
      assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self' 'nonce-/);
      assert.doesNotMatch(policy, /unsafe/);
      assert.doesNotMatch(answer.text, /<script(?![^>]*\bsrc=)|\bon\w+=|<style|\bstyle=/i);
      policies.push(policy);
    }
    assert.equal(new Set(policies).size, policies.length);
  });

  it('are on JSON, on scripts, on errors, and on unknown paths', async () => {
    const cases: [method: string, path: string, status: number, headers?: Record<string, string>][] = [
      ['GET', '/v1/account', 200, bearer],
      ['GET', '/v1/models', 200, bearer],
      ['GET', '/v1/account', 401],
      ['GET', '/v1/tasks?page=x', 400, bearer],
      ['GET', '/nothing', 404],
      ['PATCH', '/v1/tasks', 405],
      ['OPTIONS', '/v1/tasks', 204],
      ['HEAD', '/healthz', 200],
      ['GET', '/openapi.json', 200],
      ['GET', '/docs/start.js', 200],
    ];
    for (const [method, path, status, headers] of cases) {
      const answer = await raw(served.url, method, path, headers);
      assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`);
      assertGuarded(answer.headers, `${method} ${path}`);
    }
  });

  it('let pages of any origin show a file, and let nothing in it run', async () => {
    const { body: created } = await account.client.create(body());
    await served.succeed(created.data.taskId, Buffer.from('bytes'));
    const { body: task } = await account.client.get(created.data.taskId);
    const { pathname } = new URL(task.data.output?.[0]?.url ?? '');
    const file = {
      'content-security-policy': "default-src 'none'; sandbox",
      'cross-origin-resource-policy': 'cross-origin',
    };
    for (const [headers, status] of [
      [{}, 200],
      [{ Range: 'bytes=0-1' }, 206],
      [{ Range: 'bytes=9-' }, 416],
      [{ 'If-None-Match': '*' }, 304],
    ] as const) {
      const answer = await raw(served.url, 'GET', pathname, headers);
      assert.equal(answer.status, status);
      assertGuarded(answer.headers, `a file: ${status}`, file);
    }
  });

  it('are on streams of both kinds', async () => {
    const { body: created } = await account.client.create(body());
    const events = await fetch(`${served.url}/v1/tasks/${created.data.taskId}/events`, {
      headers: { ...bearer, Accept: 'text/event-stream' },
    });
    assert.match(events.headers.get('content-type') ?? '', /^text\/event-stream/);
    assertGuarded(Object.fromEntries(events.headers), 'a stream of events');
    await events.body?.cancel();

    const json = { ...bearer, 'Content-Type': 'application/json' };
    const request = JSON.stringify(chatBody({ stream: true }));
    const text = await raw(served.url, 'POST', '/v1/chat/completions', json, request);
    assert.match(String(text.headers['content-type']), /^text\/event-stream/, text.text);
    assertGuarded(text.headers, 'a text stream');
  });

  it('are on input that is no request at all, and on requests that HTTP itself rejects', async () => {
    const broken = ['BROKEN\r\n\r\n', `GET /?${'x'.repeat(9_000)} HTTP/1.1\r\nHost: x\r\n\r\n`];
    for (const sent of broken) {
      const client = open(served.url);
      client.socket.write(sent);
      await waitFor('the connection is closed', () => client.isClosed());
      const heard = client.heard();
      const lines = heard.slice(0, heard.indexOf('\r\n\r\n')).split('\r\n').slice(1);
      const headers = Object.fromEntries(
        lines.map((line) => [line.split(': ')[0]?.toLowerCase(), line.split(': ')[1]]),
      );
      assert.match(heard, /^HTTP\/1\.1 4\d\d /);
      assertGuarded(headers, sent.slice(0, 20));
    }
  });

  it('are on the admin listener', async () => {
    for (const [path, status] of [
      ['/admin/queues', 200],
      ['/nothing', 404],
    ] as const) {
      const answer = await raw(admin.url, 'GET', path, { Authorization: `Bearer ${ADMIN_TOKEN}` });
      assert.equal(answer.status, status);
      assertGuarded(answer.headers, path);
    }
    assertGuarded((await raw(admin.url, 'GET', '/admin/queues')).headers, 'without the token');
  });
});

describe('Strict-Transport-Security', () => {
  it('is sent when a trusted proxy reports HTTPS, and not otherwise', async (t) => {
    const hstsHeaders = async (trusted: string, headers: Record<string, string>): Promise<readonly unknown[]> => {
      const behind = await serveApp({ requiresHttps: true, environment: { TRUSTED_PROXIES: trusted } });
      t.after(() => behind.close());
      const answer = await raw(behind.url, 'GET', '/nothing', headers);
      return [answer.status, answer.headers['strict-transport-security'], answer.headers.location];
    };
    const https = { 'X-Forwarded-Proto': 'https' };
    assert.deepEqual(await hstsHeaders('127.0.0.0/8', https), [404, 'max-age=31536000', undefined]);
    assert.deepEqual(await hstsHeaders('127.0.0.0/8', { 'X-Forwarded-Proto': 'http' }), [400, undefined, undefined]);
    assert.deepEqual(await hstsHeaders('10.0.0.0/8', https), [400, undefined, undefined]);
  });
});
