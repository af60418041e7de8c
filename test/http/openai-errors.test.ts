/**
 * Errors below the paths that clients of OpenAI's API know (contract §9): whatever goes wrong there, and wherever it is
 * noticed, the response contains the `error` object in addition to our envelope. Its `code` and its `param` are those
 * of OpenAI's own server (contract §9.8): clients branch on the code.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import OpenAI from 'openai';
import type { FailedAnswer } from './media-calls.ts';
import { errorOf, raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { encodedForm } from './route-requests.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

type Json = Readonly<Record<string, unknown>>;

/** What is changed in a request that would be accepted, and the `param` and the `code` of the rejection. */
type Case = readonly [changes: Json, param: string | null, code: string | null];

const CHAT: Json = { model: 'acme/text', messages: [{ role: 'user', content: 'Hi.' }] };
const RESPONSE: Json = { model: 'acme/text', input: 'Hi.' };
const IMAGE: Json = { model: 'acme/compatible', prompt: 'a fox' };
const EDIT_IMAGE: Json = { image_url: 'https://example.com/a.png' };
const EDIT: Json = { model: 'acme/compatible-edit', prompt: 'a fox', images: [EDIT_IMAGE] };
const SPEECH: Json = { model: 'acme/compatible-speech', input: 'Hello.', voice: 'alloy' };
const VIDEO: Json = { model: 'acme/compatible-video', prompt: 'a fox' };
const BATCH: Json = { input_file_id: 'file-none', endpoint: '/v1/tasks', completion_window: '24h' };
const UPLOAD: Json = { filename: 'a.jsonl', purpose: 'batch', bytes: 10, mime_type: 'application/jsonl' };

/** The rejections that every creating endpoint has. @param required a member that may not be absent. */
function common(required: string): readonly Case[] {
  return [
    [{ model: undefined }, 'model', 'missing_required_parameter'],
    [{ model: 7 }, 'model', 'invalid_type'],
    [{ model: 'acme/none' }, 'model', 'model_not_found'],
    [{ [required]: undefined }, required, 'missing_required_parameter'],
    [{ nonsense: 1 }, 'nonsense', 'unknown_parameter'],
  ];
}

const CASES: Readonly<Record<string, readonly [body: Json, cases: readonly Case[]]>> = {
  '/v1/chat/completions': [
    CHAT,
    [
      ...common('messages'),
      [{ messages: [] }, 'messages', 'empty_array'],
      [{ temperature: 3 }, 'temperature', 'decimal_above_max_value'],
      [{ temperature: -1 }, 'temperature', 'decimal_below_min_value'],
      [{ n: 0 }, 'n', 'integer_below_min_value'],
      [{ top_logprobs: 21, logprobs: true }, 'top_logprobs', 'integer_above_max_value'],
      [{ metadata: { a: 'x'.repeat(513) } }, 'metadata.a', 'string_above_max_length'],
      [{ reasoning_effort: 'most' }, 'reasoning_effort', 'invalid_value'],
      [{ messages: [{ role: 'user' }] }, 'messages.0.content', 'missing_required_parameter'],
      [{ messages: [{ role: 'user', content: 7 }] }, 'messages.0.content', 'invalid_type'],
    ],
  ],
  '/v1/responses': [
    RESPONSE,
    [
      ...common('input'),
      [{ temperature: 3 }, 'temperature', 'decimal_above_max_value'],
      [{ max_output_tokens: 0 }, 'max_output_tokens', 'integer_below_min_value'],
      [{ top_logprobs: 21 }, 'top_logprobs', 'integer_above_max_value'],
      [{ metadata: { a: 'x'.repeat(513) } }, 'metadata.a', 'string_above_max_length'],
      [{ truncation: 'middle' }, 'truncation', 'invalid_value'],
      [{ conversation: 'conv_1' }, 'conversation', 'unsupported_parameter'],
      [{ previous_response_id: 'resp_none' }, 'previous_response_id', 'previous_response_not_found'],
    ],
  ],
  '/v1/images/generations': [
    IMAGE,
    [
      ...common('prompt'),
      [{ prompt: '' }, 'prompt', 'empty_string'],
      [{ prompt: 'x'.repeat(100_000) }, 'prompt', 'string_above_max_length'],
      [{ n: 0 }, 'n', 'integer_below_min_value'],
      [{ n: 11 }, 'n', 'integer_above_max_value'],
      [{ size: '1x1' }, 'size', 'invalid_value'],
      [{ response_format: 'png' }, 'response_format', 'invalid_value'],
    ],
  ],
  '/v1/images/edits': [
    EDIT,
    [
      ...common('prompt'),
      [{ images: undefined }, 'images', 'missing_required_parameter'],
      [{ images: [] }, 'images', 'empty_array'],
      [{ images: Array.from({ length: 17 }, () => EDIT_IMAGE) }, 'images', 'array_above_max_length'],
      [{ images: 'one' }, 'images', 'invalid_type'],
    ],
  ],
  '/v1/audio/speech': [
    SPEECH,
    [
      ...common('input'),
      [{ input: '' }, 'input', 'empty_string'],
      [{ input: 'x'.repeat(100_000) }, 'input', 'string_above_max_length'],
      [{ speed: 5 }, 'speed', 'decimal_above_max_value'],
      [{ voice: 'nonsense' }, 'voice', 'invalid_value'],
    ],
  ],
  '/v1/videos': [
    VIDEO,
    [
      ...common('prompt'),
      [{ prompt: '' }, 'prompt', 'empty_string'],
      [{ seconds: '0' }, 'seconds', 'invalid_value'],
      [{ size: '1x1' }, 'size', 'invalid_value'],
    ],
  ],
  '/v1/batches': [
    BATCH,
    [
      [{}, 'input_file_id', 'invalid_value'],
      [{ input_file_id: undefined }, 'input_file_id', 'missing_required_parameter'],
      [{ input_file_id: 7 }, 'input_file_id', 'invalid_type'],
      [{ endpoint: '/v1/none' }, 'endpoint', 'invalid_value'],
      [{ completion_window: '1h' }, 'completion_window', 'invalid_value'],
      [{ metadata: { a: 'x'.repeat(513) } }, 'metadata.a', 'string_above_max_length'],
      [{ metadata: { a: 'x\u0000' } }, 'metadata.a', 'invalid_value'],
      [{ nonsense: 1 }, 'nonsense', 'unknown_parameter'],
    ],
  ],
  '/v1/uploads': [
    UPLOAD,
    [
      [{ bytes: undefined }, 'bytes', 'missing_required_parameter'],
      [{ bytes: 'many' }, 'bytes', 'invalid_type'],
      [{ bytes: -1 }, 'bytes', 'integer_below_min_value'],
      [{ purpose: 'none' }, 'purpose', 'invalid_value'],
      [{ nonsense: 1 }, 'nonsense', 'unknown_parameter'],
    ],
  ],
};

const A_FILE = new Blob(['a']);

const QUERIES: readonly (readonly [path: string, param: string | null, code: string | null])[] = [
  ['/v1/files?limit=0', 'limit', 'integer_below_min_value'],
  ['/v1/files?limit=many', 'limit', 'invalid_type'],
  ['/v1/files?order=up', 'order', 'invalid_value'],
  ['/v1/files?order=asc&order=desc', 'order', 'invalid_value'],
  ['/v1/files?after=file-none', 'after', 'invalid_value'],
  ['/v1/batches?limit=101', 'limit', 'integer_above_max_value'],
  ['/v1/batches?after=batch_none', 'after', 'invalid_value'],
  ['/v1/videos?limit=101', 'limit', 'integer_above_max_value'],
  ['/v1/responses/resp_none?include=nonsense', 'include.0', 'invalid_value'],
  ['/v1/responses/resp_none/input_items?limit=0', 'limit', 'integer_below_min_value'],
];

type OpenAiError = FailedAnswer['error'];

const JSON_TYPE = { 'Content-Type': 'application/json' };

let served: ServedApp;
let account: ServedAccount;
before(async () => {
  served = await serveApp();
  account = await served.newAccount();
});
after(async () => {
  const kept = `SELECT id FROM tasks UNION ALL SELECT id FROM uploads
                UNION ALL SELECT id FROM files WHERE gone_at IS NULL`;
  assert.deepEqual(await served.room.rows(kept), [], 'nothing is kept of what is rejected');
  await served.close();
});

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

describe('what is rejected in OpenAI’s form', () => {
  function send(method: string, path: string, body?: Buffer | string, headers: object = {}): Promise<RawAnswer> {
    return raw(served.url, method, path, { ...bearer(), ...JSON_TYPE, ...headers }, body);
  }

  async function sendForm(path: string, fields: Readonly<Record<string, string | Blob>>): Promise<RawAnswer> {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    const { headers, body } = await encodedForm(form);
    return send('POST', path, body, headers);
  }

  function assertRejected(answer: RawAnswer, param: string | null, code: string | null): void {
    assert.equal(answer.status, 400, answer.text.slice(0, 300));
    const { error } = JSON.parse(answer.text) as { error: Json };
    const expected = { type: 'invalid_request_error', param, code };
    assert.deepEqual({ type: error['type'], param: error['param'], code: error['code'] }, expected, answer.text);
  }

  for (const [path, [body, cases]] of Object.entries(CASES)) {
    for (const [changes, param, code] of cases) {
      it(`POST ${path} ${JSON.stringify(changes).slice(0, 60)}: ${code} of ${param}`, async () => {
        assertRejected(await send('POST', path, JSON.stringify({ ...body, ...changes })), param, code);
      });
    }
  }

  for (const [path, param, code] of QUERIES) {
    it(`GET ${path}: ${code} of ${param}`, async () => assertRejected(await send('GET', path), param, code));
  }

  it('has the code where a form is rejected', async () => {
    assertRejected(await sendForm('/v1/files', { purpose: 'none', file: A_FILE }), 'purpose', 'invalid_value');
    assertRejected(await sendForm('/v1/files', { purpose: 'batch' }), 'file', 'missing_required_parameter');
  });

  it('has no code where nothing in particular is at fault, as OpenAI has none', async () => {
    assertRejected(await send('POST', '/v1/responses', '{'), null, null);
    assertRejected(await send('POST', '/v1/responses', '[]'), null, null);
  });
});
