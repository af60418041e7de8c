/**
 * The `code` and the `param` of what is rejected below the paths of OpenAI's API, as OpenAI's own server has them
 * (contract §9.8): clients branch on the code.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

type Json = Readonly<Record<string, unknown>>;

/** What is changed in a request that would be accepted, and the `param` and the `code` of the rejection. */
type Case = readonly [changes: Json, param: string | null, code: string | null];

const CHAT: Json = { model: 'acme/text', messages: [{ role: 'user', content: 'Hi.' }] };
const RESPONSE: Json = { model: 'acme/text', input: 'Hi.' };
const IMAGE: Json = { model: 'acme/compatible', prompt: 'a fox' };
const EDIT_IMAGE: Json = { image_url: 'https://example.com/a.png' };
const EDIT: Json = {
  model: 'acme/compatible-edit',
  prompt: 'a fox',
  images: [EDIT_IMAGE],
};
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

describe('what is rejected in OpenAI’s form', () => {
  let served: ServedApp;
  let account: ServedAccount;
  before(async () => {
    served = await serveApp();
    account = await served.newAccount();
  });
  after(() => served.close());

  function send(method: string, path: string, body?: Buffer | string, headers: Json = {}): Promise<RawAnswer> {
    const sent = { Authorization: `Bearer ${account.client.key}`, 'Content-Type': 'application/json', ...headers };
    return raw(served.url, method, path, sent, body);
  }

  async function sendForm(path: string, fields: Readonly<Record<string, string | Blob>>): Promise<RawAnswer> {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    const encoded = new Response(form);
    const headers = { 'Content-Type': encoded.headers.get('content-type') ?? '' };
    return send('POST', path, Buffer.from(await encoded.arrayBuffer()), headers);
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
