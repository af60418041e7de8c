/**
 * The built-in tool `image_generation` in responses with `background: true`: no client waits for the image, so it is
 * read from its task by every reader, and never recorded.
 */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { verifyLedger } from '../../src/billing/verify.ts';
import { memberOf } from '../../src/domain/json.ts';
import { createBudget } from '../../src/http/middleware/limits.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { textDefinition } from '../catalogue/definitions.ts';
import { HELLO, USAGE } from '../text/upstream/scripted-answers.ts';
import type { Reply } from '../text/upstream/scripted-answers.ts';
import { startTestUpstream } from '../text/upstream/test-upstream.ts';
import type { TestUpstream } from '../text/upstream/test-upstream.ts';
import { openaiUpstream } from '../text/upstream/upstream-bench.ts';
import { BackgroundRoom } from './background-room.ts';
import { bodyOf, failTask, itemOf, postResponse, settledCalls, textOf } from './image-responses.ts';
import type { ResponseBody } from './image-responses.ts';
import { eventsOf, madeImage, newestTask, tasksOf } from './media-calls.ts';
import type { StreamedEvent } from './media-calls.ts';
import { raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

const FILE = 'the bytes of an image';
const BASE64 = Buffer.from(FILE).toString('base64');
const IMAGE = [madeImage(FILE)];
/** The entries of the task of an image, which costs what was held. */
const PAID = ['hold', 'capture'];
const CALL: Reply = {
  usage: USAGE,
  toolCalls: [{ id: 'call_0', name: 'image_generation', pieces: ['{"prompt":"a fox"}'] }],
};
const RETRY = { 'X-Stainless-Retry-Count': '1' };

let upstream: TestUpstream;
let served: ServedApp;
let room: BackgroundRoom;
let account: ServedAccount;
before(async () => {
  upstream = await startTestUpstream();
  const scripted = textDefinition({
    name: 'acme/chat',
    upstreams: [openaiUpstream(upstream.baseUrl, { id: 'chat', apis: ['chat.completions'] })],
  });
  // One account may have 16 MB in memory.
  served = await serveApp({ models: [scripted], environment: { BODY_MB_IN_FLIGHT: '64' } });
  room = new BackgroundRoom(served);
});
after(async () => {
  await served.text.ledger.flush();
  assert.deepEqual(await verifyLedger(served.room.database), []);
  await served.close();
  await upstream.close();
});
beforeEach(async () => {
  account = await served.newAccount();
});

const script = (...replies: readonly Reply[]): void => upstream.script(...replies.map((reply) => ({ reply })));

function send(method: string, path: string, key = account.client.key): Promise<RawAnswer> {
  return raw(served.url, method, `/v1/responses/${path}`, { Authorization: `Bearer ${key}` });
}

async function create(changes: object = {}, headers = {}): Promise<ResponseBody> {
  return bodyOf(await postResponse(served, account.client.key, { background: true, ...changes }, headers));
}

/** Runs an attempt to its end, with an image that succeeds. */
async function draw(id: string): Promise<string> {
  const running = room.attempt(id);
  const taskId = await newestTask(served, account);
  await served.succeedWith(taskId, IMAGE);
  assert.deepEqual(await running, { kind: 'ended' });
  return taskId;
}

/** As if the process of an attempt had died: it records nothing, and does not say that it stops. */
async function loseAttempt(id: string, before: () => Promise<unknown>): Promise<void> {
  const stopped = new AbortController();
  const attempt = room.attempt(id, stopped.signal, stopped.signal);
  await before();
  stopped.abort(new Error('the process stops'));
  await assert.rejects(attempt);
  await room.lose(id);
}

/** Everything that is stored of a response. */
async function recordOf(id: string): Promise<string> {
  const [row] = await served.room.rows<{ text: string }>(
    `SELECT concat((SELECT row_to_json(b) FROM background_calls b WHERE b.id = $1),
                   (SELECT json_agg(e ORDER BY e.first) FROM background_events e WHERE e.call_id = $1),
                   (SELECT row_to_json(r) FROM text_responses r WHERE r.id = $1)) AS text`,
    id,
  );
  return row?.text ?? '';
}

async function streamedId(): Promise<string> {
  const [row] = await room.waitForRows(account.id, 'streamed');
  return row?.id ?? assert.fail();
}

const framesOf = ({ text }: RawAnswer): readonly StreamedEvent[] =>
  eventsOf({ text: text.replace('data: [DONE]\n\n', '') });

function assertNumbered(events: readonly StreamedEvent[]): void {
  assert.deepEqual(
    events.map(({ data }) => data['sequence_number']),
    events.map((_, index) => index),
  );
}

describe('a response in the background with an image', () => {
  it('has one task, and the image when it is read, but not in what is stored', async () => {
    const { id, status } = await create();
    assert.equal(status, 'queued');
    const taskId = await draw(id);

    const read = bodyOf(await send('GET', id));
    const item = itemOf(read, 'image_generation_call');
    assert.deepEqual(
      [read.status, item['status'], item['result'], item['task_id']],
      ['completed', 'completed', BASE64, taskId],
    );
    assert.match(textOf(read), /^The image was generated \(1024x1024, png\)/);
    assert.deepEqual(bodyOf(await send('POST', `${id}/cancel`)), read);
    const record = await recordOf(id);
    assert.ok(record.includes(taskId) && !record.includes(BASE64));
    await room.settled(id);
    assert.deepEqual(await room.entries(id), ['hold', 'capture', 'release']);
    assert.deepEqual(await room.entries(taskId), PAID);
    assert.deepEqual(await tasksOf(served, account), [taskId]);
    const { data: task } = (await account.client.get(taskId)).body;
    assert.deepEqual((task as unknown as { metadata: object }).metadata, { response_id: id });
  });

  it('leaves out an image that its account can never have in memory', async () => {
    const { id } = await create();
    const taskId = await draw(id);
    await served.room.rows('UPDATE outputs SET size_bytes = 13000000 WHERE task_id = $1', taskId);
    const item = itemOf(bodyOf(await send('GET', id)), 'image_generation_call');
    assert.deepEqual([item['status'], item['result'], item['task_id']], ['completed', null, taskId]);
  });

  it('holds for all turns, as a response whose client waits does', async () => {
    const changes = { input: 'Say hello.', max_output_tokens: 50 };
    const { id } = await create(changes);
    await room.attempt(id);
    bodyOf(await postResponse(served, account.client.key, changes));
    const plain = await create({ ...changes, tools: [] });
    await room.attempt(plain.id);
    await room.settled(plain.id);
    const calls = await settledCalls(served, account, 3);
    const held = (wanted: string) => calls.find((call) => call.id === wanted)?.held ?? 0n;
    const [other] = calls.filter((call) => call.id !== id && call.id !== plain.id);
    assert.equal(held(id), other?.held);
    assert.ok(held(id) > 2n * held(plain.id), `${held(id)} and ${held(plain.id)}`);
  });

  it('is returned with the image to an automatic retry after its end', async () => {
    const { id } = await create();
    await served.room.rows('UPDATE awaited_responses SET received_at = NULL WHERE task_id = $1', id);
    await draw(id);
    const again = await create({}, RETRY);
    assert.equal(again.id, id);
    assert.equal(itemOf(again, 'image_generation_call')['result'], BASE64);
    assert.equal((await tasksOf(served, account)).length, 1);
  });

  it('streams the image, which the record of the stream does not have', async () => {
    const creating = postResponse(served, account.client.key, { background: true, stream: true });
    const id = await streamedId();
    const taskId = await draw(id);
    const answer = await creating;
    const events = framesOf(answer);

    assertNumbered(events);
    assert.deepEqual(
      events.map(({ event }) => event).filter((event) => event?.includes('image_generation_call')),
      ['in_progress', 'generating', 'completed'].map((step) => `response.image_generation_call.${step}`),
    );
    const done = events.find(({ event }) => event === 'response.output_item.done');
    assert.equal(memberOf(memberOf(done?.data, 'item'), 'result'), BASE64);
    assert.equal(events.find(({ event }) => event?.endsWith('.generating'))?.data['task_id'], taskId);
    assert.deepEqual(events.at(-1)?.data['response'], bodyOf(await send('GET', id)));
    const record = await recordOf(id);
    assert.ok(record.includes(taskId) && !record.includes(BASE64));
    // From the record, continued, and an hour later from the stored response.
    const replayed = await send('GET', `${id}?stream=true`);
    assert.equal(replayed.text, answer.text);
    const last = framesOf(await send('GET', `${id}?stream=true&starting_after=${events.length - 2}`));
    assert.deepEqual(last, events.slice(-1));
    await room.endedAnHourAgo(id);
    const rebuilt = await send('GET', `${id}?stream=true`);
    assert.equal(rebuilt.text, answer.text);
  });

  it('streams on without the image where there is no memory for it', async () => {
    const creating = postResponse(served, account.client.key, { background: true, stream: true });
    const id = await streamedId();
    await draw(id);
    await creating;
    const caller = await served.http.authenticator.authenticate(`Bearer ${account.client.key}`);
    const others = served.http.bodies.ofAccount(caller);
    for (let megabytes = 1_024; megabytes >= 1 / 1_048_576; megabytes /= 2) {
      try {
        others.hold(megabytes * 1_048_576);
      } catch {
        // Smaller pieces may fit.
      }
    }
    const without = framesOf(await send('GET', `${id}?stream=true`));
    others.release();
    const results = (events: readonly StreamedEvent[]) =>
      itemOf(events.at(-1)?.data['response'] as ResponseBody, 'image_generation_call')['result'];
    assert.equal(results(without), null);
    assert.equal(results(framesOf(await send('GET', `${id}?stream=true`))), BASE64);
  });

  it('has an image that failed as an item', async () => {
    const { id } = await create();
    const running = room.attempt(id);
    const taskId = await newestTask(served, account);
    await failTask(served, taskId, 'content_rejected');
    await running;
    const item = itemOf(bodyOf(await send('GET', id)), 'image_generation_call');
    assert.deepEqual(
      [item['status'], item['task_id'], memberOf(item['error'], 'code')],
      ['failed', taskId, 'moderation_blocked'],
    );
  });

  it('fails with the image in its stream if a later turn fails, and costs nothing', async () => {
    upstream.script({ reply: CALL }, { body: '<html>' });
    const creating = postResponse(served, account.client.key, { model: 'acme/chat', background: true, stream: true });
    const id = await streamedId();
    const taskId = await draw(id);
    const events = framesOf(await creating);
    assertNumbered(events);
    const response = events.at(-1)?.data['response'] as ResponseBody;
    assert.equal(response.status, 'failed');
    assert.equal(itemOf(response, 'image_generation_call')['result'], BASE64);
    assert.deepEqual(bodyOf(await send('GET', id)), response);
    assert.equal((await room.settled(id)).captured, 0n);
    assert.deepEqual(await room.entries(taskId), PAID);
  });
});

describe('a response in the background that is cancelled while its image is generated', () => {
  for (const stream of [false, true]) {
    it(`pays the turns so far, and the task continues (stream: ${stream})`, async () => {
      const creating = postResponse(served, account.client.key, { background: true, stream });
      const id = stream ? await streamedId() : bodyOf(await creating).id;
      const running = room.attempt(id);
      const taskId = await newestTask(served, account);
      const cancelled = bodyOf(await send('POST', `${id}/cancel`));
      assert.deepEqual([cancelled.status, cancelled.output], ['cancelled', []]);
      assert.deepEqual(await running, { kind: 'ended' });
      const { captured, held } = await room.settled(id);
      assert.ok(captured !== null && captured > 0n && captured < held);
      if (stream) assert.equal(framesOf(await creating).at(-1)?.event, 'response.cancelled');

      await served.succeedWith(taskId, IMAGE);
      assert.equal((await account.client.get(taskId)).body.data.status, 'success');
      assert.equal(bodyOf(await send('GET', id)).status, 'cancelled');
      assert.deepEqual(await room.entries(id), ['hold', 'capture', 'release']);
      assert.deepEqual(await tasksOf(served, account), [taskId]);
    });
  }
});

describe('an attempt that is lost while its image is generated', () => {
  for (const stream of [false, true]) {
    it(`leaves its task and its hold to the next one (stream: ${stream})`, async () => {
      const creating = postResponse(served, account.client.key, { background: true, stream });
      const id = stream ? await streamedId() : bodyOf(await creating).id;
      await loseAttempt(id, async () => {
        await newestTask(served, account);
        // Up to the event that names the task.
        if (stream) await room.waitForEvents(id, 6);
      });
      await served.succeedWith(await newestTask(served, account), IMAGE);
      assert.deepEqual(await room.attempt(id), { kind: 'ended' });

      const [taskId] = await tasksOf(served, account);
      const read = bodyOf(await send('GET', id));
      const item = itemOf(read, 'image_generation_call');
      assert.deepEqual([item['task_id'], item['result']], [taskId, BASE64]);
      assert.equal((await tasksOf(served, account)).length, 1);
      await room.settled(id);
      assert.deepEqual([(await room.row(id))?.attempts, (await room.row(id))?.lost], [2, 1]);
      assert.deepEqual(await room.entries(id), ['hold', 'capture', 'release']);
      assert.deepEqual(await room.entries(String(taskId)), PAID);
      if (!stream) return;
      const events = framesOf(await creating);
      assertNumbered(events);
      assert.equal(events.filter(({ event }) => event === 'response.in_progress').length, 2);
      assert.deepEqual(events.at(-1)?.data['response'], read);
    });
  }

  it('leaves both tasks of two turns, whatever the model writes the second time', async () => {
    script(CALL, CALL);
    const { id } = await create({ model: 'acme/chat', max_tool_calls: 2 });
    await loseAttempt(id, async () => {
      await served.succeedWith(await newestTask(served, account), IMAGE);
      await newestTask(served, account, 1);
    });
    const tasks = await tasksOf(served, account);
    const other: Reply = {
      ...CALL,
      toolCalls: [{ id: 'c', name: 'image_generation', pieces: ['{"prompt":"a wolf"}'] }],
    };
    script(other, other, HELLO);
    const running = room.attempt(id);
    await served.succeedWith(tasks[1] ?? assert.fail(), IMAGE);
    await running;
    const { output } = bodyOf(await send('GET', id));
    assert.deepEqual(
      output.flatMap((item) => (item['type'] === 'image_generation_call' ? [item['task_id']] : [])),
      tasks,
    );
    assert.deepEqual(await tasksOf(served, account), tasks);
    await room.settled(id);
    assert.deepEqual(await room.entries(id), ['hold', 'capture', 'release']);
    for (const taskId of tasks) assert.deepEqual(await room.entries(taskId), PAID);
  });
});

describe('a rate limit that has no room for an image', () => {
  it('delays it', async () => {
    const limited = await served.newAccount({ createsPerMinute: 60 });
    account = limited;
    const { id } = await create();
    await useUpCreates(limited, 60);
    await draw(id);
    assert.equal(itemOf(bodyOf(await send('GET', id)), 'image_generation_call')['status'], 'completed');
  });

  it('does not keep a response that is cancelled', async () => {
    account = await served.newAccount({ createsPerMinute: 1 });
    const { id } = await create();
    await useUpCreates(account, 1);
    const running = room.attempt(id);
    await room.waitForHold(id);
    bodyOf(await send('POST', `${id}/cancel`));
    assert.deepEqual(await running, { kind: 'ended' });
    assert.deepEqual(await tasksOf(served, account), []);
    await room.settled(id);
  });

  /** Leaves nothing of the account's budget of creates. */
  async function useUpCreates({ client }: ServedAccount, tokens: number): Promise<void> {
    const caller = await served.http.authenticator.authenticate(`Bearer ${client.key}`);
    const budget = createBudget(caller);
    assert.equal(await served.http.rateLimiter.take(budget, tokens - 1), 0);
    await waitFor('the budget is used up', async () => (await served.http.rateLimiter.take(budget)) > 0);
  }
});

describe('a key that may not create the task of an image', () => {
  it('is rejected before anything is held', async () => {
    const { client: textOnly } = await account.newKey({ scopes: ['text:write'] });
    const { client: ofOneModel } = await account.newKey({ models: ['acme/text'] });
    for (const stream of [false, true]) {
      for (const { key } of [textOnly, ofOneModel]) {
        const answer = await postResponse(served, key, { background: true, stream });
        assert.equal(answer.status, 403, answer.text);
      }
    }
    assert.deepEqual(await settledCalls(served, account, 0), []);
    assert.deepEqual(await served.room.rows('SELECT id FROM background_calls WHERE account_id = $1', account.id), []);
  });

  it('fails the response before anything is held if it has lost the right since', async () => {
    const key = await account.newKey({ scopes: ['text:write', 'tasks:write'] });
    const { id } = bodyOf(await postResponse(served, key.client.key, { background: true }));
    await served.room.rows(`UPDATE api_keys SET scopes = '{text:write}' WHERE id = $1`, key.id);
    served.http.authenticator.forget(key.id);
    assert.deepEqual(await room.attempt(id), { kind: 'ended' });
    assert.deepEqual([(await room.row(id))?.state, (await room.row(id))?.error?.status], ['failed', 403]);
    assert.deepEqual(await room.held(id), []);
    assert.deepEqual(await tasksOf(served, account), []);
  });
});
