/** `Idempotency-Key` on responses in the background (contract §9.6), with attempts that the test makes itself. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import OpenAI from 'openai';
import { textDefinition } from '../catalogue/definitions.ts';
import { body as taskBody } from '../tasks/task-room.ts';
import { BackgroundRoom } from './background-room.ts';
import { raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

type Json = Readonly<Record<string, unknown>>;

const SLOW = textDefinition({
  name: 'acme/slow',
  upstreams: [{ protocol: 'embedded', model: 'conformance', parameters: { tokensPerSecond: 20 } }],
});
const QUESTION = { model: 'acme/text', input: 'Count from 1 to 5.', background: true };

describe('responses in the background with an Idempotency-Key', () => {
  let served: ServedApp;
  let room: BackgroundRoom;
  let account: ServedAccount;
  before(async () => {
    served = await serveApp({ models: [SLOW] });
    room = new BackgroundRoom(served);
    account = await served.newAccount();
  });
  after(() => served.close());

  async function send(body: Json, key: string, headers: Json = {}, of: Pick<ServedAccount, 'client'> = account) {
    const sent = { 'Content-Type': 'application/json', 'Idempotency-Key': key, ...headers };
    const bytes = Buffer.from(JSON.stringify(body));
    const auth = { Authorization: `Bearer ${of.client.key}` };
    return raw(served.url, 'POST', '/v1/responses', { ...auth, ...sent }, bytes);
  }

  function bodyOf(answer: RawAnswer): Json & { readonly id: string } {
    assert.equal(answer.status, 200, answer.text);
    return JSON.parse(answer.text) as Json & { readonly id: string };
  }

  function codeOf(answer: RawAnswer): Json {
    const { error_code, error } = JSON.parse(answer.text) as { error_code: string; error: Json };
    return { status: answer.status, error_code, type: error['type'], code: error['code'] };
  }

  const callsOf = ({ id }: Pick<ServedAccount, 'id'>) =>
    served.room.rows<{ readonly id: string }>('SELECT id FROM background_calls WHERE account_id = $1', id);

  it('are one response, one hold and one charge for the same key, whatever state it is in', async () => {
    const first = await send(QUESTION, 'order-1');
    const { id } = bodyOf(first);
    assert.match(id, /^resp_[0-9A-Z]{26}$/);
    assert.equal(first.headers['idempotent-replay'], undefined);
    const queued = await send(QUESTION, 'order-1');
    assert.deepEqual([bodyOf(queued)['status'], queued.headers['idempotent-replay']], ['queued', 'true']);
    await room.attempt(id);
    await room.settled(id);
    // A different order of fields, the quoted form of the key, an automatic retry, and another key of the account.
    const { background, input, model } = QUESTION;
    const headers = { 'X-Stainless-Retry-Count': '1' };
    const completed = bodyOf(await send({ background, input, model }, '"order-1"', headers, await account.newKey()));
    assert.deepEqual([completed.id, completed['status']], [id, 'completed']);
    assert.equal((await callsOf(account)).length, 1);
    assert.deepEqual(await room.attempt(id), { kind: 'ended' });
    assert.deepEqual(await room.entries(id), ['hold', 'capture', 'release']);
  });

  it('are one response for requests at the same moment', async () => {
    const own = await served.newAccount();
    const keyed = await Promise.all(Array.from({ length: 12 }, () => send(QUESTION, 'at-once', {}, own)));
    const ids = new Set(keyed.map((answer) => bodyOf(answer).id));
    assert.equal(ids.size, 1);
    assert.equal(keyed.filter(({ headers }) => headers['idempotent-replay'] === 'true').length, 11);
    assert.deepEqual(
      (await callsOf(own)).map(({ id }) => id),
      [...ids],
    );
  });

  it('are rejected with another body, and with a key that is none', async () => {
    const own = await served.newAccount();
    bodyOf(await send(QUESTION, 'order-2', {}, own));
    for (const change of [{ input: 'Count from 1 to 6.' }, { stream: true }, { model: SLOW.name }, { store: null }]) {
      assert.deepEqual(codeOf(await send({ ...QUESTION, ...change }, 'order-2', {}, own)), {
        status: 422,
        error_code: 'IDEMPOTENCY_KEY_MISMATCH',
        type: 'invalid_request_error',
        code: 'idempotency_key_mismatch',
      });
    }
    for (const key of ['', 'two words', 'k'.repeat(256)]) {
      assert.equal((await send(QUESTION, key, {}, own)).status, 400, key);
    }
    assert.equal((await callsOf(own)).length, 1);
  });

  it('are others for another key, another account, a task and an automatic retry', async () => {
    const own = await served.newAccount();
    const stranger = await served.newAccount();
    const headers = { 'X-Stainless-Retry-Count': '1' };
    const task = await own.client.send('POST', '/v1/tasks', taskBody(), { 'Idempotency-Key': 'order-3' });
    assert.equal(task.status, 200, JSON.stringify(task.body));
    const ids = [
      await send(QUESTION, 'order-3', {}, own),
      await send(QUESTION, 'order-4', headers, own),
      await send(QUESTION, 'order-3', {}, stranger),
      await raw(
        served.url,
        'POST',
        '/v1/responses',
        { Authorization: `Bearer ${own.client.key}`, 'Content-Type': 'application/json', ...headers },
        Buffer.from(JSON.stringify(QUESTION)),
      ),
    ].map((answer) => bodyOf(answer).id);
    assert.equal(new Set(ids).size, 4);
  });

  it('do not consume their key while they are rejected', async () => {
    const own = await served.newAccount({ microUsd: 1n });
    assert.equal((await send(QUESTION, 'order-5', {}, own)).status, 402);
    await served.room.rows('UPDATE account_counters SET available_micro_usd = 1000000 WHERE account_id = $1', own.id);
    assert.equal((await send({ ...QUESTION, model: 'acme/none' }, 'order-5', {}, own)).status, 400);
    const other = bodyOf(await send(QUESTION, 'order-6', {}, own));
    await served.room.rows('UPDATE background_calls SET request_bytes = 200000000 WHERE id = $1', other.id);
    assert.equal((await send(QUESTION, 'order-5', {}, own)).status, 429);
    await served.room.rows('UPDATE background_calls SET request_bytes = 1 WHERE id = $1', other.id);
    const accepted = await send({ ...QUESTION, input: 'Another body.' }, 'order-5', {}, own);
    assert.equal(accepted.headers['idempotent-replay'], undefined);
    assert.notEqual(bodyOf(accepted).id, other.id);
  });

  it('are returned whatever the balance is by then, and whatever the model', async () => {
    const own = await served.newAccount();
    const { id } = bodyOf(await send(QUESTION, 'order-7', {}, own));
    await served.room.rows('UPDATE account_counters SET available_micro_usd = 0 WHERE account_id = $1', own.id);
    assert.equal((await send(QUESTION, 'order-8', {}, own)).status, 402);
    assert.equal(bodyOf(await send(QUESTION, 'order-7', {}, own)).id, id);
    const denied = await own.newKey({ models: [SLOW.name] });
    assert.equal((await send(QUESTION, 'order-8', {}, denied)).status, 403);
    assert.equal(bodyOf(await send(QUESTION, 'order-7', {}, denied)).id, id);
  });

  it('are returned where an equal request is accepted while one is being rejected', async (t) => {
    const own = await served.newAccount();
    const { database } = served.http;
    const original = database.query.bind(database);
    let first: Promise<RawAnswer> | undefined;
    t.mock.method(database, 'query', async (...call: Parameters<typeof original>) => {
      if (call[0].name === 'select_available_for_text_call' && first === undefined) {
        first = send(QUESTION, 'order-9', {}, own);
        await first;
        await served.room.rows('UPDATE account_counters SET available_micro_usd = 0 WHERE account_id = $1', own.id);
      }
      return original(...call);
    });
    const second = await send(QUESTION, 'order-9', {}, own);
    assert.ok(first !== undefined);
    assert.equal(bodyOf(second).id, bodyOf(await first).id);
    assert.deepEqual([second.headers['idempotent-replay'], (await callsOf(own)).length], ['true', 1]);
  });

  it('are streamed again from their beginning, also when their record is gone', async () => {
    const own = await served.newAccount();
    const body = { ...QUESTION, stream: true };
    const first = send(body, 'order-10', {}, own);
    const [row] = await room.waitForRows(own.id, 'streamed');
    const id = row?.id ?? '';
    const second = send(body, 'order-10', {}, own);
    await room.attempt(id);
    const { text } = await first;
    assert.match(text, /response\.completed[\s\S]*\[DONE\]/);
    assert.equal((await second).text, text);
    await room.endedAnHourAgo(id);
    const rebuilt = await send(body, 'order-10', {}, own);
    assert.deepEqual([rebuilt.text, rebuilt.headers['idempotent-replay']], [text, 'true']);
    await room.settled(id);
    assert.deepEqual(await room.entries(id), ['hold', 'capture', 'release']);
  });

  it('are never created again: not after a day, not after they were deleted', async () => {
    const own = await served.newAccount();
    const { id } = bodyOf(await send(QUESTION, 'order-11', {}, own));
    await room.attempt(id);
    await room.settled(id);
    // As the expiry pass does after a day.
    await served.room.rows('DELETE FROM background_calls WHERE id = $1', id);
    assert.equal(bodyOf(await send(QUESTION, 'order-11', {}, own))['status'], 'completed');
    assert.equal((await own.client.send('DELETE', `/v1/responses/${id}`)).status, 200);
    assert.equal((await send(QUESTION, 'order-11', {}, own)).status, 404);
    assert.equal((await send({ ...QUESTION, input: 'Other.' }, 'order-11', {}, own)).status, 422);
    assert.deepEqual(await callsOf(own), []);
  });

  it('are new ones without background, where the header has no effect', async () => {
    const own = await served.newAccount();
    const body = { model: 'acme/text', input: 'Hi.' };
    const ids = [await send(body, 'order-12', {}, own), await send(body, 'order-12', {}, own)].map(bodyOf);
    assert.notEqual(ids[0]?.id, ids[1]?.id);
    assert.equal(bodyOf(await send(QUESTION, 'order-12', {}, own))['status'], 'queued');
  });

  it("are repeated by OpenAI's client under the same key", async () => {
    const own = await served.newAccount();
    let sent = 0;
    const losing: typeof globalThis.fetch = async (url, init) => {
      const response = await globalThis.fetch(url, init);
      sent += 1;
      if (sent === 1) throw new TypeError('the response was lost');
      return response;
    };
    const openai = new OpenAI({ apiKey: own.client.key, baseURL: `${served.url}/v1`, maxRetries: 1, fetch: losing });
    const options = { headers: { 'Idempotency-Key': 'order-13' } };
    const { id } = await openai.responses.create(QUESTION, options);
    assert.equal(sent, 2);
    const { id: again } = await openai.responses.create(QUESTION, options);
    assert.equal(again, id);
    assert.equal((await callsOf(own)).length, 1);
  });
});
