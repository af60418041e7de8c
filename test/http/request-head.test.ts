/** Request heads that two programs could read differently: on a real socket, exactly as written. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import { open } from './raw-socket.ts';
import { serveApp } from './serve.ts';
import type { ServedApp } from './serve.ts';

let served: ServedApp;
before(async () => {
  served = await serveApp();
});
after(() => served.close());

/** What is received until the connection is closed. */
async function answerTo(text: string): Promise<string> {
  const client = open(served.url);
  client.socket.write(text);
  await waitFor('the connection is closed', () => client.isClosed());
  return client.heard();
}

const END = 'Connection: close\r\n\r\n';
const MANY = Array.from({ length: 101 }, (_, index) => `X-${index}: x\r\n`).join('');

describe('a request', () => {
  it('with two Host headers is 400, even when both are equal', async () => {
    for (const [first, second] of [
      ['Host: a.example', 'Host: b.example'],
      ['Host: a.example', 'Host: a.example'],
      ['Host: a.example', 'HOST:b.example'],
    ]) {
      const answer = await answerTo(`GET /healthz HTTP/1.1\r\n${first}\r\nX-A: 1\r\n${second}\r\n${END}`);
      assert.match(answer, /^HTTP\/1\.1 400 [^]*"error_code":"INVALID_REQUEST"/);
      assert.match(answer, /more than one Host header/);
    }
    assert.match(await answerTo(`GET /healthz HTTP/1.1\r\nHost: a.example\r\n${END}`), /^HTTP\/1\.1 200 /);
    assert.match(await answerTo(`GET /healthz HTTP/1.1\r\n${END}`), /^HTTP\/1\.1 400 [^]*no Host header/);
  });

  it('with an unsupported Expect is 417, the last response of its connection', async () => {
    const ask = (version: string, expect: string) =>
      answerTo(`GET /healthz HTTP/${version}\r\nHost: a.example\r\nExpect: ${expect}\r\n`);
    const answer = await ask('1.1', 'a-miracle\r\n');
    assert.match(answer, /^HTTP\/1\.1 417 [^]*"error_code":"INVALID_REQUEST"/);
    assert.match(answer, /\r\nConnection: close\r\n/);
    assert.match(await ask('1.1', `100-Continue\r\n${END}`), /^HTTP\/1\.1 100 [^]*HTTP\/1\.1 200 /);
    assert.match(await ask('1.0', `a-miracle\r\n${END}`), /^HTTP\/1\.1 200 /);
  });

  it('whose target names a host is served as its path, and is 400 with user information', async () => {
    const ask = (target: string, host: string) => answerTo(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${END}`);

    assert.match(await ask('http://a.example/healthz?x=1', 'a.example'), /^HTTP\/1\.1 (?:200|400 [^]*additional)/);
    assert.match(await ask('http://A.example:80/healthz', 'a.example'), /^HTTP\/1\.1 200 /);
    // With an invalid key: it goes through the routes and their queries like any other.
    assert.match(await ask('http://a.example/v1/tasks?page=1', 'a.example'), /^HTTP\/1\.1 401 /);
    // RFC 9112 §3.2.2: the header is then ignored.
    assert.match(await ask('http://b.example/healthz', 'a.example'), /^HTTP\/1\.1 200 /);
    assert.match(await ask('http://user@a.example/healthz', 'a.example'), /^HTTP\/1\.1 400 [^]*user information/);
    assert.match(await ask('http://[::1/healthz', 'a.example'), /^HTTP\/1\.1 400 /);
  });

  // Proves S4.4-7.
  it('is rejected for its head in the format that its clients read', async () => {
    const rpc = ['error', 'id', 'jsonrpc'];
    const openAi = ['code', 'data', 'error', 'error_code', 'message'];
    const heads: readonly (readonly [head: string, status: number, members?: readonly string[]])[] = [
      ['', 400],
      ['Host: a.example\r\nHost: b.example\r\n', 400],
      ['Host: a.example\r\nExpect: a-miracle\r\n', 417],
      [`Host: a.example\r\n${MANY}`, 431],
      // The parser rejects these, whatever the target: one of OpenAI's clients may read the response.
      [`Host: a.example\r\nX-Long: ${'x'.repeat(9_000)}\r\n`, 431, openAi],
      ['Host: a.example\r\n: y\r\n', 400, openAi],
    ];
    for (const [target, ofTarget] of [
      ['/mcp', rpc],
      ['/mcp?x=1', rpc],
      ['http://a.example/mcp', rpc],
      ['http://user@a.example/mcp', rpc],
      ['/v1/tasks', openAi],
      ['/v1/models', openAi],
      ['/v1/responses', openAi],
      ['http://[::1/mcp', openAi],
    ] as const) {
      for (const [head, status, members = ofTarget] of heads) {
        const answer = await answerTo(`POST ${target} HTTP/1.1\r\n${head}Content-Length: 0\r\n${END}`);

        assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `), target);
        const body = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))) as Record<string, unknown>;
        assert.deepEqual(Object.keys(body).toSorted(), members, `${target}: ${status}`);
        assert.match(answer, /\r\nX-Request-Id: req_/);
        if (body['error_code'] === undefined) continue;
        const { type } = body['error'] as { readonly type: string };
        assert.deepEqual([body['error_code'], type], ['INVALID_REQUEST', 'invalid_request_error'], target);
      }
    }
  });

  it('of HTTP/0.9 is not supported, and 1.0 is', async () => {
    for (const line of [
      'GET /healthz\r\n\r\n',
      'GET /healthz HTTP/0.9\r\n\r\n',
      'GET /healthz HTTP/0.9\r\nHost: x\r\n\r\n',
    ]) {
      assert.doesNotMatch(await answerTo(line), /^HTTP\/1\.1 200 |"status"/, line);
    }
    assert.match(await answerTo('GET /healthz HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 200 /);
  });
});
