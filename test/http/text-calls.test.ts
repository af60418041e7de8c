/** Text calls over HTTP: streamed and not, the reporting of limits and errors, and the resulting charges. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { verifyLedger } from '../../src/billing/verify.ts';
import { textDefinition } from '../catalogue/definitions.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { settledCalls } from './image-responses.ts';
import { openCall } from './media-calls.ts';
import type { OpenCall } from './media-calls.ts';
import { raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { chatBody } from './route-requests.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

const SLOW = textDefinition({
  name: 'acme/slow',
  upstreams: [{ protocol: 'embedded', model: 'conformance', parameters: { tokensPerSecond: 20 } }],
});
const PLAIN = textDefinition({ name: 'acme/plain', features: [], maxOutputTokens: 100, contextTokens: 1_000 });

const LOOK = [
  { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }] },
];

let served: ServedApp;
let account: ServedAccount;
before(async () => {
  served = await serveApp({ models: [SLOW, PLAIN] });
  account = await served.newAccount();
});
after(() => served.close());

function post(path: string, body: unknown, key = account.client.key): Promise<RawAnswer> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  return raw(served.url, 'POST', path, headers, Buffer.from(JSON.stringify(body)));
}

const dataOf = (text: string): readonly string[] =>
  text
    .split('\n\n')
    .filter((event) => event.includes('data: '))
    .map((event) => event.replace(/^[^]*data: /, ''));

/** Waits until this many events have arrived. */
function waitForEvents(call: OpenCall, count: number): Promise<void> {
  return waitFor(`${count} events`, () => call.text().split('\n\n').length > count);
}

describe('a chat call', () => {
  // Proves S4.4-1.
  it('returns an answer, is charged by its usage, and settled once', async () => {
    const own = await served.newAccount();
    const answer = await post('/v1/chat/completions', chatBody(), own.client.key);
    assert.equal(answer.status, 200, answer.text);
    const { id, usage } = JSON.parse(answer.text) as {
      id: string;
      usage: { prompt_tokens: number; completion_tokens: number };
    };
    const [call] = await settledCalls(served, own);
    assert.equal(call?.id, id);
    // A micro-dollar per token of the prompt, four per token of the answer.
    assert.equal(call.captured, BigInt(usage.prompt_tokens + 4 * usage.completion_tokens));
    assert.equal(call.isEstimated, false);
    assert.ok(call.held > call.captured);
    assert.deepEqual(await verifyLedger(served.room.database), []);
  });

  // Proves S4.4-5, C9-8.
  it('is capped, reasoning and answer together: a low cap leaves the answer empty', async () => {
    const question = { messages: [{ role: 'user', content: 'What is 17 * 3?' }], reasoning_effort: 'high' };
    for (const cap of ['max_tokens', 'max_completion_tokens']) {
      const answer = await post('/v1/chat/completions', chatBody({ ...question, [cap]: 3 }));
      const { choices, usage } = JSON.parse(answer.text) as {
        choices: [{ message: { content: string; reasoning_content: string }; finish_reason: string }];
        usage: { completion_tokens: number; completion_tokens_details: { reasoning_tokens: number } };
      };
      assert.deepEqual([choices[0].message.content, choices[0].finish_reason], ['', 'length']);
      assert.ok(choices[0].message.reasoning_content.length > 0);
      assert.deepEqual([usage.completion_tokens, usage.completion_tokens_details.reasoning_tokens], [3, 3]);
    }
  });

  // Proves S4.4-6, C9-9.
  it('does not reason when reasoning is disabled', async () => {
    const thoughts = async (changes: object): Promise<string | undefined> => {
      const answer = await post('/v1/chat/completions', chatBody({ ...changes }));
      assert.equal(answer.status, 200, answer.text);
      const { choices } = JSON.parse(answer.text) as { choices: [{ message: { reasoning_content?: string } }] };
      return choices[0].message.reasoning_content;
    };
    assert.ok(await thoughts({ reasoning: { enabled: true } }));
    assert.equal(await thoughts({ reasoning: { enabled: false } }), undefined);
    assert.equal(await thoughts({ reasoning_effort: 'none' }), undefined);
  });

  // Proves C1-17.
  it('may have exactly 10 MB', async () => {
    const content = 'word '.repeat(2_000_001);
    const rejected = await post('/v1/chat/completions', chatBody({ messages: [{ role: 'user', content }] }));
    assert.equal(rejected.status, 413);
    assert.equal((JSON.parse(rejected.text) as { error: { code: string } }).error.code, 'payload_too_large');

    // Parsed and validated: the error is that the model accepts less.
    const long = chatBody({ messages: [{ role: 'user', content: 'word '.repeat(1_990_000) }] });
    const tooLong = await post('/v1/chat/completions', long);
    assert.equal((JSON.parse(tooLong.text) as { error: { code: string } }).error.code, 'context_length_exceeded');
    assert.equal((await post('/v1/responses', { model: 'acme/text', input: content })).status, 413);
  });

  // Proves S4.4-1, S4.4-4, C4-17, C9-6.
  it('is the same streamed: one event per write, and [DONE] at the end', async () => {
    const whole = JSON.parse((await post('/v1/chat/completions', chatBody({ temperature: 0 }))).text) as {
      choices: [{ message: { content: string } }];
    };
    const answer = await post('/v1/chat/completions', chatBody({ temperature: 0, stream: true }));
    assert.equal(answer.headers['content-type'], 'text/event-stream; charset=utf-8');
    assert.equal(answer.headers['cache-control'], 'no-cache, no-transform');
    assert.equal(answer.headers['x-accel-buffering'], 'no');
    const data = dataOf(answer.text);
    assert.equal(data.at(-1), '[DONE]');
    const words = data.slice(0, -1).map((each) => {
      const chunk = JSON.parse(each) as { choices: [{ delta: { content?: string } }] };
      return chunk.choices[0].delta.content ?? '';
    });
    assert.equal(words.join(''), whole.choices[0].message.content);
  });

  // Proves S4.4-4, C9-6, C9-7.
  it('has every event in a write of its own, as has a response', async () => {
    const own = await served.newAccount();
    const asked = { model: 'acme/text', stream: true };
    for (const [path, body] of [
      ['/v1/chat/completions', chatBody(asked)],
      ['/v1/responses', { ...asked, input: 'Say hello.' }],
    ] as const) {
      const writes = await writesOf(path, body, own.client.key);
      assert.ok(writes.length > 3, String(writes.length));
      for (const write of writes) assert.match(write, /^(?:event: [\w.]+\n)?data: [^\n\r]+\n\n$/);
      assert.equal(writes.at(-1), 'data: [DONE]\n\n');
    }
  });

  it('returns the remaining rate limit, in the headers of OpenAI and in ours', async () => {
    const own = await served.newAccount({ textRequestsPerMinute: 2, textTokensPerMinute: 1_000 });
    const { headers } = await post('/v1/chat/completions', chatBody(), own.client.key);
    assert.equal(headers['x-ratelimit-limit'], '2');
    assert.equal(headers['x-ratelimit-limit-requests'], '2');
    assert.equal(headers['x-ratelimit-remaining-requests'], '1');
    assert.match(String(headers['x-ratelimit-reset-requests']), /^\d+s$/);
    assert.equal(headers['x-ratelimit-limit-tokens'], '1000');
    assert.ok(Number(headers['x-ratelimit-remaining-tokens']) < 1_000);
    assert.match(String(headers['x-ratelimit-reset-tokens']), /^\d+s$/);
  });

  it('is rate-limited when the account has used up its tokens', async () => {
    const own = await served.newAccount({ textTokensPerMinute: 50 });
    const long = chatBody({ messages: [{ role: 'user', content: 'word '.repeat(60) }] });
    assert.equal((await post('/v1/chat/completions', long, own.client.key)).status, 200);
    const rejected = await post('/v1/chat/completions', chatBody(), own.client.key);
    assert.equal(rejected.status, 429, rejected.text);
    assert.ok(Number(rejected.headers['retry-after']) >= 1);
    const { message, error } = JSON.parse(rejected.text) as { message: string; error: { code: string } };
    assert.equal(error.code, 'rate_limit_exceeded');
    assert.match(message, /^too many tokens/);
    assert.equal(rejected.headers['x-ratelimit-remaining-tokens'], '0');
  });

  // Proves S4.4-3, S4.4-7, C1-8, C9-11, C9-12, C9-14.
  it('gets validation errors that both kinds of client can read, and costs nothing', async () => {
    const own = await served.newAccount();
    const cases = [
      [chatBody({ n: 0 }), 400, 'INVALID_REQUEST', 'n', 'integer_below_min_value'],
      [chatBody({ model: 'acme/none' }), 400, 'MODEL_UNAVAILABLE', 'model', 'model_not_found'],
      [chatBody({ model: 'acme/images' }), 400, 'MODEL_UNAVAILABLE', 'model', 'model_not_found'],
      [chatBody({ nonsense: 1 }), 400, 'INVALID_REQUEST', 'nonsense', 'unknown_parameter'],
      [
        chatBody({ model: 'acme/plain', temperature: 1 }),
        400,
        'INVALID_REQUEST',
        'temperature',
        'unsupported_parameter',
      ],
      [chatBody({ model: 'acme/plain', messages: LOOK }), 400, 'INVALID_REQUEST', 'messages', 'unsupported_parameter'],
      [chatBody({ model: 'acme/plain', seed: 1 }), 400, 'INVALID_REQUEST', 'seed', 'unsupported_parameter'],
      [chatBody({ model: 'acme/plain', max_tokens: 101 }), 400, 'INVALID_REQUEST', 'max_tokens', 'invalid_value'],
      [
        chatBody({ model: 'acme/plain', messages: [{ role: 'user', content: 'word '.repeat(2_000) }] }),
        400,
        'INVALID_REQUEST',
        'messages',
        'context_length_exceeded',
      ],
    ] as const;
    for (const [body, status, errorCode, param, code] of cases) {
      const answer = await post('/v1/chat/completions', body, own.client.key);
      const { error, ...ours } = JSON.parse(answer.text) as { error: Record<string, unknown>; message: string };
      assert.deepEqual(ours, { code: status, message: ours.message, data: null, error_code: errorCode });
      assert.deepEqual(error, { message: ours.message, type: 'invalid_request_error', param, code });
    }
    const image = await post('/v1/chat/completions', chatBody({ model: 'acme/plain', messages: LOOK }), own.client.key);
    assert.match(image.text, /"messages\\" has an image, and acme\/plain takes no images"/);
    const poor = await served.newAccount({ microUsd: 1n });
    const unpaid = await post('/v1/chat/completions', chatBody(), poor.client.key);
    assert.equal(unpaid.status, 402);
    assert.equal((JSON.parse(unpaid.text) as { error: { type: string } }).error.type, 'insufficient_quota');
    const unknown = await post('/v1/chat/completions', chatBody(), 'nonsense');
    assert.equal(unknown.status, 401);
    assert.deepEqual((JSON.parse(unknown.text) as { error: unknown }).error, {
      message: 'the API key is missing or not valid; send Authorization: Bearer <API key>',
      type: 'authentication_error',
      param: null,
      code: 'permission_denied',
    });
    assert.deepEqual(await settledCalls(served, own, 0), []);
    assert.deepEqual(await settledCalls(served, poor, 0), []);
  });

  it('of a client that disconnects is stopped, and what was generated is billed', async () => {
    const own = await served.newAccount();
    const body = chatBody({
      model: 'acme/slow',
      stream: true,
      messages: [{ role: 'user', content: 'Write a long essay about the sea.' }],
    });
    const open = openCall(served, own, '/v1/chat/completions', body);
    await waitForEvents(open, 4);
    open.outgoing.destroy();

    const [call] = await settledCalls(served, own);
    assert.ok(call !== undefined);
    assert.ok(call.output >= 1 && call.output < 400, String(call.output));
    assert.equal(call.isEstimated, true);
    const headers = { Authorization: `Bearer ${own.client.key}` };
    const ledger = await raw(served.url, 'GET', '/v1/account/ledger?kind=capture', headers);
    const { data } = JSON.parse(ledger.text) as { data: { entries: { reference: string; isEstimated?: true }[] } };
    assert.deepEqual(
      data.entries.map(({ reference, isEstimated }) => [reference, isEstimated]),
      [[call.id, true]],
    );
    assert.deepEqual(await verifyLedger(served.room.database), []);
  });

  it('is rejected above the concurrency limit of the account', async () => {
    const own = await served.newAccount({ textStreamsCap: 1 });
    const slow = chatBody({ model: 'acme/slow', stream: true, messages: [{ role: 'user', content: 'An essay.' }] });
    const first = openCall(served, own, '/v1/chat/completions', slow);
    await waitForEvents(first, 1);
    const second = await post('/v1/chat/completions', chatBody(), own.client.key);
    assert.equal(second.status, 429, second.text);
    first.outgoing.destroy();
    await settledCalls(served, own);
    assert.equal((await post('/v1/chat/completions', chatBody(), own.client.key)).status, 200);
  });
});

describe('a response', () => {
  // Proves S4.4-2, C9-5.
  it('is streamed as numbered events, stored, continued, listed and deleted', async () => {
    const own = await served.newAccount();
    const { key } = own.client;
    const streamed = await post(
      '/v1/responses',
      { model: 'acme/text', input: 'My name is Ada. Remember it.', stream: true },
      key,
    );
    const data = dataOf(streamed.text);
    assert.equal(data.at(-1), '[DONE]');
    const events = data.slice(0, -1).map((each) => JSON.parse(each) as { type: string; sequence_number: number });
    assert.deepEqual(
      events.map((event) => event.sequence_number),
      events.map((_, index) => index),
    );
    const last = events.at(-1) as unknown as { type: string; response: { id: string; status: string } };
    assert.deepEqual([last.type, last.response.status], ['response.completed', 'completed']);

    const { id } = last.response;
    const continued = await post(
      '/v1/responses',
      { model: 'acme/text', input: 'What is my name? Reply with just the name.', previous_response_id: id },
      key,
    );
    assert.equal(continued.status, 200, continued.text);
    assert.match(continued.text, /Ada/);

    const headers = { Authorization: `Bearer ${key}` };
    assert.deepEqual(JSON.parse((await raw(served.url, 'GET', `/v1/responses/${id}`, headers)).text), last.response);
    const listed = await raw(served.url, 'GET', `/v1/responses/${id}/input_items`, headers);
    assert.match(listed.text, /Remember it/);
    const deleted = await raw(served.url, 'DELETE', `/v1/responses/${id}`, headers);
    assert.deepEqual(JSON.parse(deleted.text), { id, object: 'response', deleted: true });
    assert.equal((await raw(served.url, 'GET', `/v1/responses/${id}`, headers)).status, 404);
    const gone = await post('/v1/responses', { model: 'acme/text', input: 'And?', previous_response_id: id }, key);
    assert.equal((JSON.parse(gone.text) as { error: { param: string } }).error.param, 'previous_response_id');
    assert.equal((await settledCalls(served, own, 2)).length, 2);
  });

  // Proves C9-8.
  it('is capped as well, whatever the cap is spent on', async () => {
    const body = { model: 'acme/text', input: 'What is 17 * 3?', reasoning: { effort: 'high' }, max_output_tokens: 16 };
    const answer = JSON.parse((await post('/v1/responses', body)).text) as {
      status: string;
      incomplete_details: unknown;
      output: { type: string }[];
      usage: { output_tokens: number; output_tokens_details: { reasoning_tokens: number } };
    };
    assert.deepEqual([answer.status, answer.incomplete_details], ['incomplete', { reason: 'max_output_tokens' }]);
    assert.deepEqual(
      answer.output.map(({ type }) => type),
      ['reasoning'],
    );
    assert.deepEqual([answer.usage.output_tokens, answer.usage.output_tokens_details.reasoning_tokens], [16, 16]);
  });

  // Proves C9-11.
  it('is not stored when the request says so, which is rejected in the background', async () => {
    const kept = await post('/v1/responses', { model: 'acme/text', input: 'hello', store: false });
    const { id } = JSON.parse(kept.text) as { id: string };
    const headers = { Authorization: `Bearer ${account.client.key}` };
    assert.equal((await raw(served.url, 'GET', `/v1/responses/${id}`, headers)).status, 404);

    const contradictory = { model: 'acme/text', input: 'hello', store: false, background: true };
    const rejected = await post('/v1/responses', contradictory);
    assert.equal(rejected.status, 400);
    assert.equal((JSON.parse(rejected.text) as { error: { param: string } }).error.param, 'store');
  });
});

/** The pieces of a response body as the server wrote them: each is a chunk of HTTP's own. */
async function writesOf(path: string, body: unknown, key: string): Promise<readonly string[]> {
  const { hostname, port } = new URL(served.url);
  const sent = JSON.stringify(body);
  const socket = connect(Number(port), hostname);
  socket.write(
    [
      `POST ${path} HTTP/1.1`,
      `Host: ${hostname}`,
      `Authorization: Bearer ${key}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(sent)}`,
      'Connection: close',
      '',
      sent,
    ].join('\r\n'),
  );
  const pieces: Buffer[] = [];
  for await (const piece of socket) pieces.push(piece as Buffer);
  const answer = Buffer.concat(pieces);
  const writes: string[] = [];
  let at = answer.indexOf('\r\n\r\n') + 4;
  assert.match(answer.subarray(0, at).toString(), /\r\ntransfer-encoding: chunked\r\n/i);
  for (;;) {
    const begin = answer.indexOf('\r\n', at) + 2;
    const size = Number.parseInt(answer.subarray(at, begin).toString(), 16);
    if (size === 0) return writes;
    assert.ok(size > 0);
    writes.push(answer.subarray(begin, begin + size).toString());
    at = begin + size + 2;
  }
}
