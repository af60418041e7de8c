/**
 * Text calls that an upstream answers, over HTTP through the whole service: in whatever order its events come,
 * whatever it does wrong, what the client receives, and the resulting charges.
 */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { TextUpstream } from '../../src/catalogue/text-definition.ts';
import { countTextTokens, loadTokenizer } from '../../src/text/tokens.ts';
import { textDefinition } from '../catalogue/definitions.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { HELLO, USAGE } from '../text/upstream/scripted-answers.ts';
import type { Json } from '../text/upstream/scripted-answers.ts';
import { startTestUpstream } from '../text/upstream/test-upstream.ts';
import type { Behaviour, TestUpstream } from '../text/upstream/test-upstream.ts';
import { choiceOf, openaiUpstream, saidIn } from '../text/upstream/upstream-bench.ts';
import { settledCalls as settledCallsOf } from './image-responses.ts';
import type { SettledCall } from './image-responses.ts';
import { openCall } from './media-calls.ts';
import type { OpenCall } from './media-calls.ts';
import { raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

const CREDENTIAL = 'sk-very-secret-credential';
const WORDS = Array.from({ length: 12 }, (_, index) => ` word${index}`);

let first: TestUpstream;
let second: TestUpstream;
let served: ServedApp;
/** Created for each test: its charges and responses are its own. */
let account: ServedAccount;
before(async () => {
  await loadTokenizer();
  [first, second] = await Promise.all([startTestUpstream(), startTestUpstream()]);
  const behind = (name: string, ...upstreams: readonly TextUpstream[]) =>
    textDefinition({ name, upstreams: [...upstreams] });
  const one = (id: string, changes: Partial<TextUpstream> = {}) =>
    openaiUpstream(first.baseUrl, { id, secret: 'vendor', ...changes });
  served = await serveApp({
    environment: { UPSTREAM_VENDOR_KEY: CREDENTIAL },
    models: [
      behind('acme/chat', one('chat')),
      behind('acme/native', one('native', { apis: ['chat.completions', 'responses'] })),
      behind('acme/patient', one('patient')),
      behind('acme/hurried', one('hurried')),
      behind('acme/two', one('two-first'), openaiUpstream(second.baseUrl, { id: 'two-second' })),
    ],
  });
});
after(async () => {
  await served.close();
  await Promise.all([first.close(), second.close()]);
});
beforeEach(async () => {
  first.script({});
  second.script({});
  account = await served.newAccount();
});

const CHAT = '/v1/chat/completions';
const RESPONSES = '/v1/responses';

/** The body of a call at either endpoint. */
function bodyOf(path: string, model: string, changes: Json = {}): Json {
  const said = path === CHAT ? { messages: [{ role: 'user', content: 'Hello?' }] } : { input: 'Hello?' };
  return { model, ...said, ...changes };
}

function headersOf(): Record<string, string> {
  return { Authorization: `Bearer ${account.client.key}`, 'Content-Type': 'application/json' };
}

async function post(path: string, body: Json): Promise<RawAnswer> {
  const answer = await raw(served.url, 'POST', path, headersOf(), Buffer.from(JSON.stringify(body)));
  for (const secret of [CREDENTIAL, 'vendor', 'secret', 'internal', first.host, second.host]) {
    assert.ok(!answer.text.includes(secret), `${secret}: ${answer.text}`);
  }
  return answer;
}

/** The data of each event of a stream that ends as it should, without `[DONE]`. */
async function streamed(path: string, model: string, changes: Json = {}): Promise<Json[]> {
  const answer = await post(path, bodyOf(path, model, { stream: true, ...changes }));
  assert.equal(answer.status, 200, answer.text);
  assert.match(answer.text, /\n\ndata: \[DONE\]\n\n$/);
  return dataOf(answer.text).slice(0, -1);
}

async function whole(path: string, model: string, changes: Json = {}): Promise<Json> {
  const answer = await post(path, bodyOf(path, model, changes));
  assert.equal(answer.status, 200, answer.text);
  return JSON.parse(answer.text) as Json;
}

function dataOf(text: string): Json[] {
  return text
    .split('\n\n')
    .filter((event) => event.includes('data: '))
    .map((event) => event.replace(/^[^]*data: /, ''))
    .map((data) => (data === '[DONE]' ? {} : (JSON.parse(data) as Json)));
}

/** The object in a member of an event; empty if there is none. */
function memberOf(event: Json | undefined, name: string): Json {
  return (event?.[name] ?? {}) as Json;
}

/** Sends a streaming request whose client can leave. */
function open(): OpenCall {
  return openCall(served, account, CHAT, bodyOf(CHAT, 'acme/chat', { stream: true }));
}

/** The events that arrive first. */
async function firstEvents(call: OpenCall, count: number): Promise<Json[]> {
  await waitFor(`${count} events`, () => call.text().split('\n\n').length > count);
  return dataOf(call.text().split('\n\n').slice(0, count).join('\n\n'));
}

type Charge = Pick<SettledCall, 'captured' | 'input' | 'output' | 'isEstimated'>;

/** The calls of the account once all of them are settled; the ledger is correct then. */
async function settledCalls(count: number): Promise<readonly Charge[]> {
  const calls = await settledCallsOf(served, account, count);
  assert.deepEqual(await verifyLedger(served.room.database), []);
  return calls.map(({ captured, input, output, isEstimated }) => ({ captured, input, output, isEstimated }));
}

/** What the account is charged for these tokens, at the prices of the models here: 1 and 4 micro-USD. */
function priceOf(input: number, output: number): bigint {
  return BigInt(input + 4 * output);
}

const REPORTED: Charge = {
  // Tokens that were read from the upstream's cache cost a tenth; rounded up once.
  captured: BigInt(Math.ceil(USAGE.input - USAGE.cached + USAGE.cached / 10)) + BigInt(4 * USAGE.output),
  input: USAGE.input,
  output: USAGE.output,
  isEstimated: false,
};

describe('the events of an upstream, in their order', () => {
  it('begin with the role alone, which the client has before any content', async () => {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    first.script({ pace: (index) => (index === 1 ? released : Promise.resolve()) });

    const call = open();
    const [chunk] = await firstEvents(call, 1);
    assert.deepEqual(choiceOf(chunk)['delta'], { role: 'assistant', content: '' });
    assert.equal(choiceOf(chunk)['finish_reason'], null);
    release();
    await settledCalls(1);
    call.outgoing.destroy();

    for (const path of [CHAT, RESPONSES]) {
      const events = await streamed(path, 'acme/chat');
      assert.equal(path === CHAT ? saidIn(events) : textOf(events), 'Hello, wörld 🌍!');
    }
  });

  // Proves S4.4-5.
  it('may contain no text at all, with the length as the finish reason', async () => {
    first.script({ reply: { reasoning: ['Hm', '…'], finish: 'length', usage: USAGE } });
    const chunks = await streamed(CHAT, 'acme/chat');
    assert.equal(saidIn(chunks), '');
    assert.equal(saidIn(chunks, 'reasoning_content'), 'Hm…');
    assert.equal(choiceOf(chunks.at(-1))['finish_reason'], 'length');

    const events = await streamed(RESPONSES, 'acme/chat');
    const ended = memberOf(events.at(-1), 'response');
    assert.deepEqual([events.at(-1)?.['type'], ended['status']], ['response.incomplete', 'incomplete']);
    assert.deepEqual(ended['incomplete_details'], { reason: 'max_output_tokens' });
    assert.equal(textOf(events), '');

    first.script({ reply: { text: [''], reasoning: ['Hm…'], finish: 'length', usage: USAGE } });
    const choice = choiceOf(await whole(CHAT, 'acme/chat'));
    assert.equal(choice['finish_reason'], 'length');
    assert.equal((choice['message'] as Json)['content'], '');
    assert.deepEqual(await settledCalls(3), [REPORTED, REPORTED, REPORTED]);
  });

  it('may go from reasoning to text, from text to a call, and from call to call', async () => {
    const toolCalls = ['one', 'two'].map((name) => ({ id: `call_${name}`, name, pieces: ['{"a":', '1}'] }));
    first.script({ reply: { reasoning: ['Hm.'], text: ['Let', ' me.'], toolCalls, usage: USAGE } });

    const kinds = (await streamed(CHAT, 'acme/chat'))
      .flatMap((chunk) => Object.keys((choiceOf(chunk)['delta'] ?? {}) as Json))
      .filter((kind) => kind !== 'role');
    assert.deepEqual(
      kinds.filter((kind, index) => index > 0 && kind !== kinds[index - 1]),
      ['reasoning_content', 'content', 'tool_calls'],
    );

    const events = await streamed(RESPONSES, 'acme/chat');
    const items = events
      .filter(({ type }) => /^response\.output_item\.(added|done)$/.test(String(type)))
      .map(({ type, item }) => [String(type).split('.').at(-1), (item as Json)['name'] ?? (item as Json)['type']]);
    assert.deepEqual(
      items,
      ['reasoning', 'message', 'one', 'two'].flatMap((item) => [
        ['added', item],
        ['done', item],
      ]),
    );
    assert.deepEqual(await settledCalls(2), [REPORTED, REPORTED]);
  });
});

/** The text of a response's events. */
function textOf(events: readonly Json[]): string {
  return events
    .filter(({ type }) => type === 'response.output_text.delta')
    .map(({ delta }) => String(delta))
    .join('');
}

describe('an upstream that disconnects', () => {
  /** After ten events: in the middle of the text, on either interface. */
  const BROKEN: readonly Behaviour[] = [{ errorAfter: 10 }, { breaksAfter: 10 }, { endsAfter: 10 }];
  const FREE = { captured: 0n, input: 0, output: 0, isEstimated: false };

  // Proves C1-4, C7-43, C9-6, C9-13.
  it('after ten chunks leads to an error event, then [DONE]; nothing is charged', async () => {
    for (const behaviour of BROKEN) {
      first.script({ reply: { text: WORDS, usage: USAGE }, ...behaviour });
      const chunks = await streamed(CHAT, 'acme/chat');

      assert.equal(chunks.length, 11, JSON.stringify(behaviour));
      assert.equal(saidIn(chunks.slice(0, -1)), WORDS.slice(0, 9).join(''));
      const { error, ...ours } = chunks.at(-1) ?? {};
      const message = 'the model sent an invalid answer; retry later';
      assert.deepEqual(ours, { code: 503, message, data: null, error_code: 'SERVICE_UNAVAILABLE' });
      assert.deepEqual(error, { message, type: 'server_error', param: null, code: 'upstream_invalid' });
    }
    assert.deepEqual(await settledCalls(3), [FREE, FREE, FREE]);
  });

  for (const [model, how] of [
    ['acme/native', 'that is passed on'],
    ['acme/chat', 'that is made of chat completions'],
  ] as const) {
    // Proves C9-5, C9-6, C9-13.
    it(`in a response ${how} is reported as a failure, numbered on, with the partial output; nothing is charged`, async () => {
      const ids: string[] = [];
      for (const behaviour of BROKEN) {
        first.script({ reply: { text: WORDS, usage: USAGE }, ...behaviour });
        const events = await streamed(RESPONSES, model);

        assert.deepEqual(
          events.map((event) => event['sequence_number']),
          events.map((_, index) => index),
        );
        const [error, failed] = events.slice(-2);
        assert.equal(events.filter(({ type }) => type === 'error').length, 1);
        assert.deepEqual([error?.['type'], failed?.['type']], ['error', 'response.failed']);
        assert.equal(memberOf(error, 'error')['code'], 'upstream_invalid');
        const { status, output, id } = memberOf(failed, 'response');
        assert.equal(status, 'failed');
        assert.equal(id, memberOf(events[0], 'response')['id']);
        const [item, ...others] = output as { content: { text: string }[]; status: string }[];
        assert.deepEqual(others, []);
        assert.deepEqual([item?.status, item?.content[0]?.text], ['incomplete', textOf(events)]);
        assert.ok(textOf(events).length > 0);
        ids.push(String(id));
      }
      assert.deepEqual(await settledCalls(3), [FREE, FREE, FREE]);
      // None of them completed, and so none is stored.
      for (const id of ids) {
        assert.equal((await raw(served.url, 'GET', `${RESPONSES}/${id}`, headersOf())).status, 404);
      }
    });
  }

  it('before the end leads to a 503 for an unstreamed call; nothing is charged', async () => {
    first.script({ breaksAfter: 1 });
    for (const path of [CHAT, RESPONSES]) {
      const answer = await post(path, bodyOf(path, 'acme/chat'));
      assert.equal(answer.status, 503, answer.text);
      assert.ok(Number(answer.headers['retry-after']) >= 1);
      assert.equal((JSON.parse(answer.text) as { error_code: string }).error_code, 'SERVICE_UNAVAILABLE');
    }
    assert.deepEqual(await settledCalls(2), [FREE, FREE]);
  });
});

describe('a client that disconnects', () => {
  // Proves C7-43.
  it('after three chunks ends the upstream’s work, and what was generated is billed as counted', async () => {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const index = first.requests.length;
    first.script({ reply: { text: WORDS, usage: USAGE }, pace: (at) => (at < 3 ? Promise.resolve() : released) });

    const left = open();
    const chunks = await firstEvents(left, 3);
    assert.equal(saidIn(chunks), ' word0 word1');
    left.outgoing.destroy();
    await first.gone(index);
    release();

    const [call] = await settledCalls(1);
    const output = countTextTokens(' word0 word1');
    assert.ok(call !== undefined && call.input > 0);
    assert.deepEqual(call, { captured: priceOf(call.input, output), input: call.input, output, isEstimated: true });
  });
});

describe('when the first upstream does not respond', () => {
  const rejections: readonly Behaviour[] = [
    { status: 500, body: { error: { message: 'secret words' } } },
    { status: 401, body: {} },
    { status: 429, body: {} },
    { events: [{ error: { message: 'secret words' } }] },
  ];

  it('the second is used, as long as nothing was generated', async () => {
    for (const [count, behaviour] of rejections.entries()) {
      first.script(behaviour);
      const asked = [first.requests.length, second.requests.length];
      const chunks = await streamed(CHAT, 'acme/two');
      assert.equal(saidIn(chunks), 'Hello, wörld 🌍!', String(count));
      assert.deepEqual(
        [first.requests.length, second.requests.length].map((each, index) => each - (asked[index] ?? 0)),
        [1, 1],
      );
    }
    assert.deepEqual(
      await settledCalls(rejections.length),
      rejections.map(() => REPORTED),
    );
  });

  it('and the second neither, the client gets an error, and pays nothing', async () => {
    first.script({ status: 401, body: {} });
    second.script({ status: 403, body: {} });
    const answer = await post(CHAT, bodyOf(CHAT, 'acme/two', { stream: true }));
    assert.equal(answer.status, 503, answer.text);
    assert.equal((JSON.parse(answer.text) as { error: Json }).error['code'], 'upstream_unavailable');
    const [call] = await settledCalls(1);
    assert.equal(call?.captured, 0n);
  });

  it('after output was generated, there is no fallback', async () => {
    first.script({ breaksAfter: 2 });
    const asked = second.requests.length;
    const chunks = await streamed(CHAT, 'acme/two');
    assert.equal(memberOf(chunks.at(-1), 'error')['code'], 'upstream_invalid');
    assert.equal(second.requests.length, asked);
    await settledCalls(1);
  });
});

describe('an upstream that sends Retry-After', () => {
  it('gets no request for that time, and the client gets the same Retry-After', async () => {
    first.script({ status: 429, headers: { 'retry-after': '400' }, body: {} }, {});
    const asked = first.requests.length;
    for (let times = 0; times < 3; times++) {
      const answer = await post(CHAT, bodyOf(CHAT, 'acme/patient'));
      assert.equal(answer.status, 503, answer.text);
      assert.equal((JSON.parse(answer.text) as { error: Json }).error['code'], 'upstream_rate_limited');
      const seconds = Number(answer.headers['retry-after']);
      assert.ok(seconds >= 1 && seconds <= 400, String(seconds));
    }
    assert.equal(first.requests.length, asked + 1);
    for (const { captured } of await settledCalls(3)) assert.equal(captured, 0n);
  });

  it('gets requests again after that', async () => {
    first.script({ status: 429, headers: { 'retry-after': '1' }, body: {} }, {});
    assert.equal((await post(CHAT, bodyOf(CHAT, 'acme/hurried'))).status, 503);
    await waitFor(
      'the upstream is asked again',
      async () => (await post(CHAT, bodyOf(CHAT, 'acme/hurried'))).status === 200,
    );
  });
});

describe('a hold for text that an upstream counts byte by byte', () => {
  for (const said of ['สวัสดีชาวโลก'.repeat(40), '龘靐齉爩'.repeat(40), 'deadbeef01'.repeat(40), '👩‍👩‍👧‍👦'.repeat(40)]) {
    it(`covers the reported usage of ${said.slice(0, 4)}`, async () => {
      const input = Buffer.byteLength(said) + 30;
      first.script({ reply: { text: ['Yes.'], usage: { input, cached: 0, output: 1, reasoning: 0 } } });
      await whole(CHAT, 'acme/chat', { messages: [{ role: 'user', content: said }], max_tokens: 1 });
      const [call] = await settledCalls(1);
      assert.deepEqual(call, { captured: priceOf(input, 1), input, output: 1, isEstimated: false });
    });
  }
});

describe('usage beyond its hold', () => {
  it('costs the account only its hold, and the operator the rest', async () => {
    const usage = { input: 1_900, cached: 0, output: 1, reasoning: 0 };
    first.script({ reply: { text: ['Yes.'], usage } });
    await whole(CHAT, 'acme/chat', { max_tokens: 1 });
    await settledCalls(1);

    const [call] = await served.room.rows<{ held: bigint; captured: bigint; due: bigint; cost: bigint; who: string }>(
      `SELECT t.held_micro_usd AS held, t.captured_micro_usd AS captured, t.due_micro_usd AS due,
              o.at_most_micro_usd AS cost, o.upstream AS who
         FROM text_calls t JOIN operator_costs o ON o.task_id = t.id AND o.reason = 'hold_exceeded'
        WHERE t.account_id = $1`,
      account.id,
    );
    assert.ok(call !== undefined);
    assert.deepEqual(call, {
      held: call.captured,
      captured: call.captured,
      due: priceOf(usage.input, 1),
      cost: priceOf(usage.input, 1) - call.captured,
      who: 'text:chat',
    });
  });
});

describe('usage that no request can have', () => {
  const IMPOSSIBLE = [
    { input: 1e15, cached: 0, output: 1, reasoning: 0 },
    { input: 11, cached: 0, output: 1e15, reasoning: 0 },
    { input: 11, cached: 0, output: 7, reasoning: 1e15 },
    { input: 1e15, cached: 1e15, output: 1e15, reasoning: 1e15 },
    { input: -5, cached: -5, output: -5, reasoning: -5 },
    { input: 11.5, cached: 0, output: 7.25, reasoning: 0 },
  ];
  for (const usage of IMPOSSIBLE) {
    for (const path of [CHAT, RESPONSES]) {
      it(`is not billed, nor taken from the tokens per minute: ${JSON.stringify(usage)} at ${path}`, async () => {
        account = await served.newAccount({ textTokensPerMinute: 100_000 });
        first.script({ reply: { text: ['Yes.'], usage } });
        await whole(path, 'acme/native');
        await whole(path, 'acme/native');

        const holds = await served.room.rows<{ held: bigint }>(
          'SELECT held_micro_usd AS held FROM text_calls WHERE account_id = $1 AND process_id IS NOT NULL',
          account.id,
        );
        assert.equal(holds.length, 2);
        for (const { captured, input, output } of await settledCalls(2)) {
          assert.ok(input < 100 && output < 100, JSON.stringify([input, output]));
          assert.ok(holds.every(({ held }) => captured < held / 2n));
        }
      });
    }
  }
});

describe('a continued conversation', () => {
  it('is held for by the usage that its upstream reported of its beginning', async () => {
    const usage = { input: 4_000, cached: 0, output: 1, reasoning: 0 };
    first.script({ reply: { text: ['Yes.'], usage } });
    const said = { role: 'user', content: 'สวัสดีชาวโลก'.repeat(200) };
    const turns = [said, { role: 'assistant', content: 'Yes.' }, { role: 'user', content: 'Really?' }];
    await whole(CHAT, 'acme/chat', { messages: [said], max_tokens: 1 });
    await whole(CHAT, 'acme/chat', { messages: turns, max_tokens: 1 });
    await settledCalls(2);

    const [before = 0n, after = 0n] = (
      await served.room.rows<{ held: bigint }>(
        'SELECT held_micro_usd AS held FROM text_calls WHERE account_id = $1 ORDER BY created_at',
        account.id,
      )
    ).map(({ held }) => held);
    assert.ok(before > 7_200n, String(before));
    assert.ok(after > 4_000n && after < 4_300n, String(after));
  });
});

describe('usage that an upstream does not report', () => {
  it('is counted, reported to the client, and marked as estimated', async () => {
    first.script({ withoutUsage: true });
    const output = countTextTokens((HELLO.text ?? []).join(''));
    const chunks = await streamed(CHAT, 'acme/chat', { stream_options: { include_usage: true } });
    const completion = await whole(CHAT, 'acme/chat');
    for (const said of [chunks.at(-1), completion]) {
      assert.equal(memberOf(said, 'usage')['completion_tokens'], output);
    }
    for (const model of ['acme/chat', 'acme/native']) {
      const events = await streamed(RESPONSES, model);
      const { usage } = memberOf(events.at(-1), 'response') as { usage: Json };
      assert.equal(usage['output_tokens'], output);
    }

    for (const call of await settledCalls(4)) {
      assert.ok(call.input > 0);
      assert.deepEqual(call, { captured: priceOf(call.input, output), input: call.input, output, isEstimated: true });
    }
  });

  it('is used when it does', async () => {
    await streamed(CHAT, 'acme/chat');
    await whole(CHAT, 'acme/chat');
    await streamed(RESPONSES, 'acme/native');
    await whole(RESPONSES, 'acme/native');
    assert.deepEqual(
      await settledCalls(4),
      Array.from({ length: 4 }, () => REPORTED),
    );
  });
});
