/**
 * `include`, `stream` and `starting_after` of `GET /v1/responses/{id}` (contract §9): a stored response is streamed
 * again as it was, from the position that a client requests, and a parameter that cannot be honoured is rejected by
 * its name.
 */
import assert from 'node:assert/strict';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { after, before, beforeEach, describe, it } from 'node:test';
import OpenAI from 'openai';
import { revokeKey } from '../../src/accounts/keys.ts';
import { newTextCallId } from '../../src/domain/ids.ts';
import { textDefinition } from '../catalogue/definitions.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { HELLO, responseEvents } from '../text/upstream/scripted-answers.ts';
import type { Json } from '../text/upstream/scripted-answers.ts';
import { startTestUpstream } from '../text/upstream/test-upstream.ts';
import type { TestUpstream } from '../text/upstream/test-upstream.ts';
import { openaiUpstream } from '../text/upstream/upstream-bench.ts';
import { raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

let upstream: TestUpstream;
let served: ServedApp;
let account: ServedAccount;
let client: OpenAI;
before(async () => {
  upstream = await startTestUpstream();
  served = await serveApp({
    models: [
      textDefinition({
        name: 'acme/native',
        upstreams: [openaiUpstream(upstream.baseUrl, { id: 'native', apis: ['chat.completions', 'responses'] })],
      }),
      textDefinition({ name: 'acme/translated', upstreams: [openaiUpstream(upstream.baseUrl, { id: 'translated' })] }),
    ],
  });
  account = await served.newAccount();
  client = new OpenAI({ apiKey: account.client.key, baseURL: `${served.url}/v1`, maxRetries: 0 });
});
after(async () => {
  await served.close();
  await upstream.close();
});
beforeEach(() => upstream.script({}));

function get(id: string, query = '', method = 'GET'): Promise<RawAnswer> {
  const headers = { Authorization: `Bearer ${account.client.key}` };
  return raw(served.url, method, `/v1/responses/${id}${query === '' ? '' : `?${query}`}`, headers);
}

async function create(changes: Json): Promise<RawAnswer> {
  const headers = { Authorization: `Bearer ${account.client.key}`, 'Content-Type': 'application/json' };
  const body = JSON.stringify({ model: 'acme/text', input: 'Count from 1 to 5.', ...changes });
  const answer = await raw(served.url, 'POST', '/v1/responses', headers, body);
  assert.equal(answer.status, 200, answer.text);
  return answer;
}

/** The events of a stream that ends as it should, without `[DONE]`. */
function eventsOf(answer: RawAnswer): readonly Json[] {
  assert.equal(answer.status, 200, answer.text);
  assert.match(String(answer.headers['content-type']), /^text\/event-stream/);
  const frames = answer.text.split('\n\n').slice(0, -1);
  assert.equal(frames.pop(), 'data: [DONE]');
  return frames.map((frame) => {
    const [, type, data = ''] = /^event: ([\w.]+)\ndata: (.*)$/.exec(frame) ?? [];
    const event = JSON.parse(data) as Json;
    assert.equal(event['type'], type);
    return event;
  });
}

/** The streamed events, and the id of the response. */
async function streamed(changes: Json): Promise<{ readonly id: string; readonly events: readonly Json[] }> {
  const events = eventsOf(await create({ ...changes, stream: true }));
  const { id = '' } = (events.at(-1)?.['response'] ?? {}) as { id?: string };
  return { id, events };
}

async function made(changes: Json): Promise<Json & { readonly id: string }> {
  return JSON.parse((await create(changes)).text) as Json & { readonly id: string };
}

interface Rejection {
  readonly param: string | null;
  readonly code: string | null;
}

async function rejectionOf(asked: Promise<RawAnswer>): Promise<readonly [number, string | null, string | null]> {
  const answer = await asked;
  const { error } = JSON.parse(answer.text) as { error: Rejection };
  return [answer.status, error.param, error.code];
}

const WEATHER = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

describe('a stored response that is streamed', () => {
  for (const [what, changes] of Object.entries<Json>({
    'of a text': {},
    'of thoughts': { reasoning: { effort: 'low' }, include: ['reasoning.encrypted_content'] },
    'of log probabilities': { include: ['message.output_text.logprobs'], top_logprobs: 2 },
    'of a call': {
      input: 'What is the weather in Paris?',
      tools: [{ type: 'function', name: 'get_weather', parameters: WEATHER }],
    },
    'of one that was cut off': { max_output_tokens: 3 },
    'of an upstream that has chat completions only': { model: 'acme/translated' },
  })) {
    it(`has its original events, ${what}`, async () => {
      const { id, events } = await streamed(changes);

      assert.deepEqual(eventsOf(await get(id, 'stream=true')), events);
    });
  }

  it('has the events of an upstream with their sequence numbers', async () => {
    const { id, events } = await streamed({ model: 'acme/native' });

    const brief = ({ type, sequence_number, delta, response }: Json): unknown => [
      type,
      sequence_number,
      delta,
      response,
    ];
    assert.deepEqual(eventsOf(await get(id, 'stream=true')).map(brief), events.map(brief));
  });

  it('has sequence numbers of its own when an upstream had events that cannot be rebuilt', async () => {
    const events = responseEvents(HELLO).toSpliced(2, 0, { type: 'response.queued', sequence_number: 2 });
    upstream.script({ events });
    const { id } = await streamed({ model: 'acme/native' });

    const again = eventsOf(await get(id, 'stream=true'));
    assert.deepEqual(
      again.map((event) => event['sequence_number']),
      again.map((_, index) => index),
    );
    const deltas = again.filter(({ type }) => type === 'response.output_text.delta');
    assert.deepEqual(
      deltas.map(({ delta }) => delta),
      [HELLO.text?.join('')],
    );
  });

  it('has each text in one delta when it was not streamed before', async () => {
    const response = await made({ reasoning: { effort: 'low' } });

    const events = eventsOf(await get(response.id, 'stream=true'));
    const deltas = events.filter(({ type }) => String(type).endsWith('.delta'));
    assert.deepEqual(
      deltas.map(({ type }) => type),
      ['response.reasoning_summary_text.delta', 'response.output_text.delta'],
    );
    assert.deepEqual(events.at(-1)?.['response'], response);
    assert.equal(events.at(-1)?.['type'], 'response.completed');
  });

  // Proves C9-5.
  it('begins after the event that a client already has', async () => {
    const { id, events } = await streamed({});
    const last = events.length - 1;

    for (const number of [0, 5, last - 1, last]) {
      const rest = eventsOf(await get(id, `stream=true&starting_after=${number}`));
      assert.deepEqual(rest, events.slice(number + 1), String(number));
    }
    assert.deepEqual(await rejectionOf(get(id, `stream=true&starting_after=${last + 1}`)), [
      400,
      'starting_after',
      'invalid_value',
    ]);
  });

  it('has the headers of every stream, for HEAD too', async () => {
    const { id } = await made({});
    for (const method of ['GET', 'HEAD']) {
      const { status, headers, text } = await get(id, 'stream=true', method);
      assert.equal(status, 200);
      assert.equal(headers['cache-control'], 'no-cache, no-transform');
      assert.equal(headers['x-accel-buffering'], 'no');
      assert.ok(headers['x-ratelimit-remaining']);
      assert.equal(text === '', method === 'HEAD');
    }
  });

  it('is closed when its key is revoked', async () => {
    // More than fits into the buffers of a connection that is not read.
    upstream.script({ reply: { ...HELLO, text: ['x'.repeat(12_000_000)] } });
    const { id } = await made({ model: 'acme/native' });
    const other = await account.newKey();
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { Authorization: `Bearer ${other.client.key}` };
      request(`${served.url}/v1/responses/${id}?stream=true`, { headers }, resolve).once('error', reject).end();
    });
    let isCut = false;
    answer.once('error', () => {
      isCut = true;
    });
    answer.once('close', () => {
      isCut ||= !answer.complete;
    });
    assert.equal(served.http.openResponses.count(), 1);

    await revokeKey(served.room.database, other.id);
    await served.http.openResponses.check();
    answer.resume();
    await waitFor('the stream is cut', () => Promise.resolve(isCut));
    await waitFor('nothing is open', () => Promise.resolve(served.http.openResponses.count() === 0));
  });

  // Proves C1-15.
  it('is rejected while it is being created, and when it is unknown', async () => {
    const id = newTextCallId('responses');
    await served.text.ledger.hold({
      id,
      accountId: account.id,
      keyId: 'none',
      model: 'acme/text',
      heldMicroUsd: 0n,
      floorMicroUsd: 0n,
      inputTokens: 1,
      isStored: true,
      spendCapIds: [],
    });
    const open = await get(id, 'stream=true');
    assert.deepEqual(await rejectionOf(Promise.resolve(open)), [409, null, 'response_in_progress']);
    assert.equal(open.headers['retry-after'], '2');

    const { id: gone } = await made({});
    await get(gone, '', 'DELETE');
    for (const none of [gone, 'resp_none']) {
      assert.deepEqual(await rejectionOf(get(none, 'stream=true')), [404, null, 'not_found']);
    }
  });

  // Proves C9-2.
  it('is read by the OpenAI client', async () => {
    const { id, events } = await streamed({ reasoning: { effort: 'low' } });
    const numbers: number[] = [];
    for await (const event of await client.responses.retrieve(id, {
      stream: true,
      starting_after: 3,
      include: ['reasoning.encrypted_content', 'message.input_image.image_url'],
      include_obfuscation: false,
    })) {
      numbers.push(event.sequence_number);
    }
    assert.deepEqual(
      numbers,
      events.slice(4).map((event) => event['sequence_number']),
    );

    const helper = client.responses.stream({ response_id: id, starting_after: 3 });
    const types = new Set<string>();
    for await (const { type } of helper) types.add(type);
    assert.ok(!types.has('response.created') && types.has('response.completed'));
    assert.match((await helper.finalResponse()).output_text, /1.*2.*3.*4.*5/s);
  });
});

describe('the parameters of a stored response', () => {
  it('select what is included, in either spelling', async () => {
    const { id } = await made({ reasoning: { effort: 'low' } });
    const sealedIn = (answer: RawAnswer): unknown => {
      const { output } = JSON.parse(answer.text) as { output: Json[] };
      return output.find(({ type }) => type === 'reasoning')?.['encrypted_content'];
    };

    assert.equal(sealedIn(await get(id)), undefined);
    for (const query of ['include=reasoning.encrypted_content', 'include[]=reasoning.encrypted_content']) {
      assert.match(String(sealedIn(await get(id, query))), /^dkr1\./);
    }
    const events = eventsOf(await get(id, 'stream=true&include%5B%5D=reasoning.encrypted_content'));
    const sealed = events.filter((event) => JSON.stringify(event).includes('encrypted_content'));
    assert.deepEqual(
      sealed.map(({ type }) => type),
      ['response.output_item.done', 'response.completed'],
    );
  });

  it('return log probabilities that were stored, and reject requests for those that were not', async () => {
    const include = 'message.output_text.logprobs';
    const { id: without } = await made({});
    assert.deepEqual(await rejectionOf(get(without, `include=${include}`)), [400, 'include.0', 'invalid_value']);
    assert.deepEqual(await rejectionOf(get(without, `stream=true&include=message.input_image.image_url,${include}`)), [
      400,
      'include.1',
      'invalid_value',
    ]);

    const response = await made({ include: [include] });
    assert.deepEqual(JSON.parse((await get(response.id, `include=${include}`)).text), response);
  });

  // Proves C9-11.
  it('are rejected by name when they cannot be honoured', async () => {
    const { id } = await made({});
    for (const [query, param, code] of [
      ['include=file_search_call.results', 'include.0', 'invalid_value'],
      ['include[]=reasoning.encrypted_content&include[]=x', 'include.1', 'invalid_value'],
      ['starting_after=1', 'starting_after', 'invalid_value'],
      ['starting_after=1&stream=false', 'starting_after', 'invalid_value'],
      ['stream=true&starting_after=-1', 'starting_after', 'integer_below_min_value'],
      ['stream=true&starting_after=x', 'starting_after', 'invalid_type'],
      ['stream=yes', 'stream', 'invalid_type'],
      ['stream=true&stream=true', 'stream', 'invalid_value'],
      ['include_obfuscation=true', 'include_obfuscation', 'invalid_value'],
      ['stream=true&include_obfuscation=true', 'include_obfuscation', 'invalid_value'],
    ] as const) {
      assert.deepEqual(await rejectionOf(get(id, query)), [400, param, code], query);
    }
    assert.equal((await get(id, 'stream=false&include_obfuscation=false')).status, 200);
  });
});
