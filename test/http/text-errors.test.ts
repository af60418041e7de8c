/**
 * Errors below the paths that clients of OpenAI's API know: whatever goes wrong there, and wherever it is noticed,
 * the response contains the `error` object in addition to our envelope (contract §9).
 */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import OpenAI from 'openai';
import { errorOf, raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

interface OpenAiError {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
}

const JSON_TYPE = { 'Content-Type': 'application/json' };

let served: ServedApp;
let account: ServedAccount;
before(async () => {
  served = await serveApp();
  account = await served.newAccount();
});
after(() => served.close());

function bearer(key = account.client.key): Record<string, string> {
  return { Authorization: `Bearer ${key}` };
}

/** The `error` object of a response; its envelope is checked. */
function openAiErrorOf(answer: RawAnswer, status: number, errorCode: string, what: string): OpenAiError {
  assert.deepEqual(errorOf(answer), { status, code: errorCode }, what);
  const { message, error } = JSON.parse(answer.text) as { message: string; error?: OpenAiError };
  assert.ok(error, `${what}: ${answer.text}`);
  assert.equal(error.message, message, what);
  assert.deepEqual(Object.keys(error).toSorted(), ['code', 'message', 'param', 'type'], what);
  return error;
}

describe('an error below the paths of OpenAI’s API', () => {
  // Proves S4.4-7.
  it('has an error object for unknown paths, with a key and without', async () => {
    const paths = [
      '/v1/chat',
      '/v1/chat/completions/x',
      '/v1/responses/',
      '/v1/responses/x/y',
      '/v1/models/',
      '/v1//responses/x',
      '/v1/chat%2Fcompletions',
    ];
    for (const path of paths) {
      for (const headers of [bearer(), {}]) {
        for (const method of ['GET', 'POST']) {
          const answer = await raw(served.url, method, path, headers);
          const error = openAiErrorOf(answer, 404, 'NOT_FOUND', `${method} ${path}`);
          assert.deepEqual([error.type, error.code], ['not_found_error', 'not_found']);
        }
      }
    }
  });

  // Proves S4.4-7.
  it('has one for unsupported methods', async () => {
    for (const [method, path] of [
      ['GET', '/v1/chat/completions'],
      ['DELETE', '/v1/responses'],
      ['POST', '/v1/responses/resp_x'],
      ['PUT', '/v1/responses/resp_x/input_items'],
      ['POST', '/v1/models'],
      ['DELETE', '/v1/models/acme/text'],
    ] as const) {
      const answer = await raw(served.url, method, path, bearer());
      const error = openAiErrorOf(answer, 405, 'METHOD_NOT_ALLOWED', `${method} ${path}`);
      assert.deepEqual([error.type, error.code], ['invalid_request_error', 'method_not_allowed']);
    }
  });

  // Proves S4.4-7.
  it('has one for a missing key, a missing scope and a rate limit', async () => {
    const noScopes = (await account.newKey({ scopes: ['billing:read'] })).client.key;
    const busy = (await served.newAccount({ readsPerMinute: 1, textRequestsPerMinute: 1 })).client.key;
    for (const [method, path, unauthorized] of [
      ['POST', '/v1/chat/completions', 'permission_denied'],
      ['POST', '/v1/responses', 'permission_denied'],
      ['GET', '/v1/responses/resp_x', 'permission_denied'],
      // Contract §1: the other code is only that of the text endpoints.
      ['GET', '/v1/models', 'UNAUTHORIZED'],
      ['GET', '/v1/models/acme/text', 'UNAUTHORIZED'],
    ] as const) {
      const ask = (key?: string) => raw(served.url, method, path, key === undefined ? {} : bearer(key));
      const unauthenticated = openAiErrorOf(await ask(), 401, unauthorized, path);
      assert.deepEqual([unauthenticated.type, unauthenticated.code], ['authentication_error', 'permission_denied']);
      assert.equal(openAiErrorOf(await ask(noScopes), 403, 'FORBIDDEN', path).type, 'permission_error');
      await ask(busy);
      assert.equal(openAiErrorOf(await ask(busy), 429, 'RATE_LIMITED', path).type, 'rate_limit_error');
    }
  });

  it('has one for an invalid body, for unknown ids and for invalid parameters', async () => {
    const posted = (path: string, headers: Record<string, string>, sent?: string) =>
      raw(served.url, 'POST', path, { ...bearer(), ...headers }, sent);
    for (const path of ['/v1/chat/completions', '/v1/responses']) {
      openAiErrorOf(await posted(path, { 'Content-Type': 'text/plain' }, 'x'), 415, 'UNSUPPORTED_MEDIA_TYPE', path);
      openAiErrorOf(await posted(path, JSON_TYPE, '{"model":'), 400, 'INVALID_REQUEST', path);
      const large = { ...JSON_TYPE, 'Content-Length': '20000000' };
      openAiErrorOf(await posted(path, large), 413, 'PAYLOAD_TOO_LARGE', path);
    }
    for (const path of ['/v1/responses/resp_none', '/v1/responses/resp_none/input_items']) {
      openAiErrorOf(await raw(served.url, 'GET', path, bearer()), 404, 'NOT_FOUND', path);
    }
    const model = await raw(served.url, 'GET', '/v1/models/acme/none', bearer());
    const { param, code } = openAiErrorOf(model, 404, 'NOT_FOUND', 'a model');
    assert.deepEqual([param, code], ['model', 'model_not_found']);
    for (const path of ['/v1/responses/resp_none', '/v1/responses/resp_none/input_items']) {
      const name = path.endsWith('items') ? 'limit' : 'stream';
      const answer = await raw(served.url, 'GET', `${path}?${name}=red`, bearer());
      assert.equal(openAiErrorOf(answer, 400, 'INVALID_REQUEST', path).param, name);
    }
  });

  // Proves S4.4-7.
  it('has one for an invalid request head', async () => {
    const many = Array.from({ length: 101 }, (_, index) => `X-${index}: x\r\n`).join('');
    for (const [head, status] of [
      ['Host: x\r\nHost: y\r\n', 400],
      [`Host: x\r\n${many}`, 431],
      [`Host: x\r\nX-Long: ${'x'.repeat(9_000)}\r\n`, 431],
      ['Host: x\r\n: y\r\n', 400],
    ] as const) {
      const text = await answerTo(`GET /v1/models HTTP/1.1\r\n${head}Connection: close\r\n\r\n`);
      assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `));
      const { error, error_code } = JSON.parse(text.slice(text.indexOf('\r\n\r\n'))) as Record<string, unknown>;
      assert.deepEqual([(error as OpenAiError).type, error_code], ['invalid_request_error', 'INVALID_REQUEST']);
    }
  });

  it('is only the envelope elsewhere', async () => {
    for (const path of ['/v1/tasks/x/y', '/v1/modelsx', '/v1/account', '/v1/responsesx']) {
      const answer = await raw(served.url, 'GET', path);
      errorOf(answer);
      assert.ok(!('error' in (JSON.parse(answer.text) as object)), path);
    }
  });

  it('is read by the OpenAI client', async () => {
    const client = new OpenAI({ apiKey: account.client.key, baseURL: `${served.url}/v1`, maxRetries: 0 });
    await assert.rejects(client.models.retrieve('acme/none'), (error: unknown) => {
      assert.ok(error instanceof OpenAI.NotFoundError);
      assert.deepEqual([error.code, error.param, error.type], ['model_not_found', 'model', 'not_found_error']);
      return true;
    });
    await assert.rejects(client.chat.completions.list(), (error: unknown) => {
      assert.ok(error instanceof OpenAI.APIError);
      assert.deepEqual([error.status, error.code], [405, 'method_not_allowed']);
      return true;
    });
  });
});

/** The complete response to a request exactly as written. */
function answerTo(text: string): Promise<string> {
  const { hostname, port } = new URL(served.url);
  return new Promise((resolve, reject) => {
    let received = '';
    const socket = connect(Number(port), hostname, () => socket.write(text));
    socket.setEncoding('utf8').on('data', (part: string) => {
      received += part;
    });
    socket.once('end', () => resolve(received));
    socket.once('error', reject);
  });
}
