/** `background: true` of responses over HTTP (contract §9.6), with attempts that the test makes itself. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import OpenAI from 'openai';
import { verifyLedger } from '../../src/billing/verify.ts';
import { textDefinition } from '../catalogue/definitions.ts';
import { BackgroundRoom } from './background-room.ts';
import { raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

type Json = Readonly<Record<string, unknown>>;
type StreamedEvent = Json & { readonly type: string; readonly sequence_number: number };

const SLOW = textDefinition({
  name: 'acme/slow',
  upstreams: [{ protocol: 'embedded', model: 'conformance', parameters: { tokensPerSecond: 20 } }],
});
const QUESTION = { model: 'acme/text', input: 'Count from 1 to 5.', background: true };
/** Runs until it is cancelled: far longer than any test needs to see it running. */
const ENDLESS = textDefinition({
  name: 'acme/endless',
  upstreams: [{ protocol: 'embedded', model: 'conformance', parameters: { tokensPerSecond: 0.2 } }],
});
const LONG = { ...QUESTION, model: SLOW.name, input: 'Count from 1 to 400, please.', max_output_tokens: 40 };
const UNENDING = { ...LONG, model: ENDLESS.name };

describe('responses in the background', () => {
  let served: ServedApp;
  let room: BackgroundRoom;
  let account: ServedAccount;
  let client: OpenAI;
  before(async () => {
    served = await serveApp({ models: [SLOW, ENDLESS] });
    room = new BackgroundRoom(served);
    account = await served.newAccount();
    client = new OpenAI({ apiKey: account.client.key, baseURL: `${served.url}/v1`, maxRetries: 0 });
  });
  after(async () => {
    await served.text.ledger.flush();
    assert.deepEqual(await verifyLedger(served.room.database), []);
    await served.close();
  });

  function send(method: string, path: string, body?: Json, headers: Json = {}, of = account): Promise<RawAnswer> {
    const sent = { Authorization: `Bearer ${of.client.key}`, 'Content-Type': 'application/json', ...headers };
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    return raw(served.url, method, `/v1/responses${path}`, sent, bytes);
  }

  const bodyOf = (answer: RawAnswer): Json => JSON.parse(answer.text) as Json;

  async function create(body: Json = QUESTION): Promise<Json & { readonly id: string }> {
    const answer = await send('POST', '', body);
    assert.equal(answer.status, 200, answer.text);
    return JSON.parse(answer.text) as Json & { readonly id: string };
  }

  /** The events of a stream that came to its end, numbered without a gap. @param first the number of the first. */
  function eventsOf(answer: RawAnswer, first = 0): readonly StreamedEvent[] {
    assert.equal(answer.status, 200, answer.text);
    const frames = answer.text.split('\n\n').filter((frame) => frame.includes('data: '));
    assert.equal(frames.pop(), 'data: [DONE]');
    return frames.map((frame, index) => {
      const event = JSON.parse(frame.slice(frame.indexOf('data: ') + 6)) as StreamedEvent;
      assert.equal(event.sequence_number, first + index, frame);
      return event;
    });
  }

  it('is returned while it is queued, and polled until it is completed', async () => {
    const created = await create();
    assert.deepEqual([created['status'], created['background'], created['output']], ['queued', true, []]);
    const { id } = created;
    assert.equal((await client.responses.retrieve(id)).status, 'queued');
    const running = room.attempt(id);
    await running;
    const response = await client.responses.retrieve(id);
    assert.equal(response.status, 'completed');
    assert.equal(response.background, true);
    assert.match(response.output_text, /1/);
    assert.equal(response.created_at, created['created_at']);
    await room.settled(id);
    assert.deepEqual(await room.entries(id), ['hold', 'capture', 'release']);
  });

  it('is in progress at once for its readers', async () => {
    const { id } = await create(UNENDING);
    const running = room.attempt(id);
    await room.waitForHold(id);
    assert.equal(bodyOf(await send('GET', `/${id}`))['status'], 'in_progress');
    const deleted = await send('DELETE', `/${id}`);
    assert.deepEqual([deleted.status, bodyOf(deleted)['error_code']], [409, 'RESPONSE_IN_PROGRESS']);
    const items = await send('GET', `/${id}/input_items`);
    assert.equal(items.status, 409);
    const continued = await send('POST', '', { ...QUESTION, background: false, previous_response_id: id });
    assert.equal(continued.status, 400);
    const streamed = await send('GET', `/${id}?stream=true`);
    assert.equal(streamed.status, 409);
    assert.equal((await send('POST', `/${id}/cancel`)).status, 200);
    await running;
    assert.equal(bodyOf(await send('GET', `/${id}`))['status'], 'cancelled');
    assert.equal((await send('DELETE', `/${id}`)).status, 200);
    assert.equal((await send('GET', `/${id}`)).status, 404);
    assert.equal((await send('POST', `/${id}/cancel`)).status, 404);
  });

  it('is rejected at once where that can be known', async () => {
    const poor = await served.newAccount({ microUsd: 1n });
    const other = await create();
    const cases: readonly (readonly [Json, number, string | null, ServedAccount?])[] = [
      [{ ...QUESTION, store: false }, 400, 'store'],
      [{ ...QUESTION, background: 'yes' }, 400, 'background'],
      [{ ...QUESTION, input: [] }, 400, 'input'],
      [{ ...QUESTION, model: 'acme/none' }, 400, null],
      [{ ...QUESTION, max_output_tokens: 100_000_000 }, 400, 'max_output_tokens'],
      [{ ...QUESTION, input: 'word '.repeat(300_000) }, 400, 'input'],
      [{ ...QUESTION, previous_response_id: other.id }, 400, 'previous_response_id'],
      [QUESTION, 402, null, poor],
    ];
    const before = await served.room.rows('SELECT id FROM background_calls');
    for (const [body, status, param, of] of cases) {
      const answer = await send('POST', '', body, {}, of);
      assert.equal(answer.status, status, answer.text.slice(0, 500));
      if (param !== null) assert.equal((bodyOf(answer)['error'] as Json)['param'], param, answer.text.slice(0, 500));
    }
    assert.equal((await served.room.rows('SELECT id FROM background_calls')).length, before.length);
  });

  it('has a limit by account, whatever comes at the same moment', async () => {
    const own = await served.newAccount();
    const first = await send('POST', '', QUESTION, {}, own);
    assert.equal(first.status, 200);
    await served.room.rows('UPDATE background_calls SET request_bytes = 199999500 WHERE account_id = $1', own.id);
    const answers = await Promise.all(Array.from({ length: 12 }, () => send('POST', '', QUESTION, {}, own)));
    const statuses = new Set(answers.map(({ status }) => status));
    assert.deepEqual(
      [...statuses].toSorted((a, b) => a - b),
      [200, 429],
    );
    assert.ok(answers.filter(({ status }) => status === 200).length <= 7);
    const rejected = answers.find(({ status }) => status === 429);
    assert.ok(Number(rejected?.headers['retry-after']) > 0);
  });

  it('is cancelled in every state, twice, and by its own account only', async () => {
    const { id: queued } = await create();
    const stranger = await served.newAccount();
    assert.equal((await send('POST', `/${queued}/cancel`, undefined, {}, stranger)).status, 404);
    for (let times = 0; times < 2; times++) {
      const { status } = await client.responses.cancel(queued);
      assert.equal(status, 'cancelled');
    }
    assert.deepEqual(await room.attempt(queued), { kind: 'ended' });
    assert.deepEqual(await room.held(queued), []);
    assert.equal((await client.responses.retrieve(queued)).usage, null);

    const { id: running } = await create(UNENDING);
    const attempt = room.attempt(running);
    await room.waitForHold(running);
    const answers = await Promise.all([1, 2, 3].map(() => send('POST', `/${running}/cancel`)));
    const [first = assert.fail()] = answers;
    for (const answer of answers) assert.equal(bodyOf(answer)['status'], 'cancelled', answer.text);
    assert.deepEqual(await attempt, { kind: 'ended' });
    const cancelled = await client.responses.retrieve(running);
    assert.equal(cancelled.status, 'cancelled');
    const { captured, held, output } = await room.settled(running);
    assert.ok(captured !== null && captured > 0n && captured < held);
    assert.ok(cancelled.usage !== null && cancelled.usage !== undefined && cancelled.usage.input_tokens > 0);
    assert.equal(cancelled.usage.output_tokens, output);
    assert.deepEqual({ ...cancelled, usage: null }, { ...bodyOf(first), output_text: '' });

    const { id: completed } = await create();
    await room.attempt(completed);
    assert.equal((await client.responses.cancel(completed)).status, 'completed');

    const foreground = await client.responses.create({ model: 'acme/text', input: 'Hi.' });
    const rejected = await send('POST', `/${foreground.id}/cancel`);
    assert.equal(rejected.status, 400);
    assert.match(rejected.text, /without background/);
    for (const id of ['resp_none', '%00', 'x'.repeat(200)]) {
      assert.equal((await send('POST', `/${id}/cancel`)).status, 404);
    }
  });

  it('has one outcome if it is cancelled at the moment of its end', async () => {
    for (let round = 0; round < 5; round++) {
      const { id } = await create();
      const [, cancelled] = await Promise.all([room.attempt(id), send('POST', `/${id}/cancel`)]);
      const { status } = await client.responses.retrieve(id);
      assert.equal(status, bodyOf(cancelled)['status']);
      const row = await room.row(id);
      assert.equal(row?.state, status === 'cancelled' ? 'cancelled' : 'answered');
    }
  });

  it('is one response for the automatic retries of its request', async () => {
    const body = { ...QUESTION, input: 'Once, please.' };
    const first = bodyOf(await send('POST', '', body, { 'X-Stainless-Retry-Count': '0' }));
    const retry = bodyOf(await send('POST', '', body, { 'X-Stainless-Retry-Count': '1' }));
    assert.equal(retry['id'], first['id']);
    const again = bodyOf(await send('POST', '', body, { 'X-Stainless-Retry-Count': '0' }));
    assert.notEqual(again['id'], first['id']);
    const other = bodyOf(await send('POST', '', { ...body, input: 'Other.' }, { 'X-Stainless-Retry-Count': '2' }));
    assert.notEqual(other['id'], first['id']);
  });

  it('fails with an object that can be read, continued and deleted', async () => {
    const { id } = await create({ ...QUESTION, model: SLOW.name });
    await served.room.rows('UPDATE background_calls SET lost_attempts = 6 WHERE id = $1', id);
    await room.attempt(id);
    const failed = await client.responses.retrieve(id);
    assert.deepEqual([failed.status, failed.error?.code], ['failed', 'server_error']);
    const items = await client.responses.inputItems.list(id);
    assert.equal(items.data.length, 1);
    const next = await client.responses.create({ model: 'acme/text', input: 'Go on.', previous_response_id: id });
    assert.equal(next.status, 'completed');
    await client.responses.delete(id);
    assert.equal((await send('GET', `/${id}`)).status, 404);
  });

  it('continues in the conversation of others', async () => {
    const { id } = await create();
    await room.attempt(id);
    const { id: second } = await create({ ...QUESTION, input: 'And on.', previous_response_id: id });
    await room.attempt(second);
    const response = await client.responses.retrieve(second);
    assert.deepEqual([response.status, response.previous_response_id], ['completed', id]);
  });

  it('streams from its creation to its end, and to whoever joins', async () => {
    const creating = send('POST', '', { ...LONG, stream: true });
    const [row] = await room.waitForRows(account.id, 'streamed');
    const id = row?.id ?? '';
    const running = room.attempt(id);
    await room.waitForHold(id);
    const joined = send('GET', `/${id}?stream=true&starting_after=2`);
    await running;
    const events = eventsOf(await creating);
    assert.deepEqual(
      events.slice(0, 3).map(({ type }) => type),
      ['response.created', 'response.queued', 'response.in_progress'],
    );
    const last = events.at(-1);
    assert.equal(last?.type, 'response.incomplete');
    assert.deepEqual(last?.['response'], bodyOf(await send('GET', `/${id}`)));
    assert.deepEqual(eventsOf(await joined, 3), events.slice(3));
    assert.deepEqual(eventsOf(await send('GET', `/${id}?stream=true`)), events);
    const resumed = await send('GET', `/${id}?stream=true&starting_after=${events.length - 2}`);
    assert.deepEqual(eventsOf(resumed, events.length - 1), [last]);
    const beyond = await send('GET', `/${id}?stream=true&starting_after=${events.length}`);
    assert.equal(beyond.status, 400);
    // After an hour it is rebuilt from the response, with the same numbers.
    await room.endedAnHourAgo(id);
    assert.deepEqual(eventsOf(await send('GET', `/${id}?stream=true`)), events);
  });

  it('does not end because its client disconnects', async () => {
    const stream = await client.responses.create({ ...LONG, stream: true });
    let id = '';
    for await (const event of stream) {
      if (event.type === 'response.created') ({ id } = event.response);
      break;
    }
    await room.attempt(id);
    const types: string[] = [];
    const rest = await client.responses.retrieve(id, { stream: true, starting_after: 0 });
    for await (const event of rest) types.push(event.type);
    assert.equal(types[0], 'response.queued');
    assert.equal(types.at(-1), 'response.incomplete');
  });

  it('cuts its streams when the process drains, so that no client takes that for the end', async () => {
    const draining = await serveApp({ models: [SLOW] });
    const own = await draining.newAccount();
    const openai = new OpenAI({ apiKey: own.client.key, baseURL: `${draining.url}/v1`, maxRetries: 0 });
    const stream = await openai.responses.create({ ...LONG, stream: true });
    const types: string[] = [];
    await assert.rejects(async () => {
      for await (const event of stream) {
        types.push(event.type);
        if (types.length === 2) draining.http.backgroundFeed.close();
      }
    });
    assert.deepEqual(types, ['response.created', 'response.queued']);
    await draining.close();
  });

  it('streams on after an attempt was lost, beginning again', async () => {
    const creating = send('POST', '', { ...LONG, stream: true, input: 'Count from 1 to 300.' });
    const [row] = await room.waitForRows(account.id, 'streamed');
    const id = row?.id ?? '';
    const stopped = new AbortController();
    const first = room.attempt(id, stopped.signal);
    await room.waitForEvents(id, 6);
    stopped.abort(new Error('the process stops'));
    await assert.rejects(first);
    await room.attempt(id);
    const events = eventsOf(await creating);
    assert.equal(events.filter(({ type }) => type === 'response.in_progress').length, 2);
    assert.equal(events.filter(({ type }) => type === 'response.created').length, 1);
    assert.deepEqual(events.at(-1)?.['response'], bodyOf(await send('GET', `/${id}`)));
    await room.endedAnHourAgo(id);
    const rebuilt = eventsOf(await send('GET', `/${id}?stream=true`));
    assert.equal(rebuilt.at(-1)?.type, 'response.incomplete');
  });

  it('ends its stream when it is cancelled or fails', async () => {
    const cancelling = send('POST', '', { ...UNENDING, stream: true });
    const [row] = await room.waitForRows(account.id, 'streamed');
    const id = row?.id ?? '';
    const running = room.attempt(id);
    await room.waitForEvents(id, 4);
    await client.responses.cancel(id);
    await running;
    assert.equal(eventsOf(await cancelling).at(-1)?.type, 'response.cancelled');
    await client.responses.delete(id);
    assert.equal((await send('GET', `/${id}?stream=true`)).status, 404);

    const failing = send('POST', '', { ...LONG, stream: true, input: 'To fail.' });
    const [other] = await room.waitForRows(account.id, 'streamed');
    await served.room.rows('UPDATE background_calls SET lost_attempts = 6 WHERE id = $1', other?.id);
    await room.attempt(other?.id ?? '');
    const types = eventsOf(await failing).map(({ type }) => type);
    assert.deepEqual(types, ['response.created', 'response.queued', 'error', 'response.failed']);
  });
});
