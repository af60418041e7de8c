/** `POST /v1/images/generations` with `stream`: events, errors before and after the head, and clients that leave. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setSuspended } from '../../src/accounts/accounts.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { failTask } from './image-responses.ts';
import { eventsOf, madeImage, newestTask, openCall, tasksOf } from './media-calls.ts';
import type { FailedAnswer, OpenCall } from './media-calls.ts';
import { raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { imageBody } from './route-requests.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

const PATH = '/v1/images/generations';
const RETRY = { 'X-Stainless-Retry-Count': '1' };

/** Sends the head of a stream after half a minute, as the service does. */
let served: ServedApp;
/** Sends it at once. */
let hasty: ServedApp;
before(async () => {
  served = await serveApp();
  hasty = await serveApp({ streamHeadMs: 0 });
});
after(async () => {
  await hasty.close();
  await served.close();
});

function stream(account: ServedAccount, changes: object = {}, headers: Record<string, string> = {}, app = served) {
  const all = { Authorization: `Bearer ${account.client.key}`, 'Content-Type': 'application/json', ...headers };
  return raw(app.url, 'POST', PATH, all, JSON.stringify(imageBody({ stream: true, ...changes })));
}

function open(app: ServedApp, account: ServedAccount, headers: Record<string, string> = {}): OpenCall {
  return openCall(app, account, PATH, imageBody({ stream: true }), headers);
}

const failedOf = (answer: RawAnswer): FailedAnswer => JSON.parse(answer.text) as FailedAnswer;

describe('images that are streamed', () => {
  it('are one event each, with everything that clients expect', async () => {
    const account = await served.newAccount();
    const files = ['one', 'a second one', 'x'.repeat(300_001)];
    const answering = stream(account, { n: 3, partial_images: 3 });
    const taskId = await newestTask(served, account);
    await served.succeedWith(
      taskId,
      files.map((text) => madeImage(text)),
    );
    const answer = await answering;

    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.headers['content-type'], 'text/event-stream; charset=utf-8');
    assert.equal(answer.headers['x-darkroom-task-id'], taskId);
    for (const name of ['openai-processing-ms', 'x-ratelimit-remaining-requests', 'x-ratelimit-limit']) {
      assert.match(String(answer.headers[name]), /^\d+$/, name);
    }
    const events = eventsOf(answer);
    assert.deepEqual(
      events.map(({ data }) => Buffer.from(String(data['b64_json']), 'base64').toString()),
      files,
    );
    for (const { event, data } of events) {
      const { b64_json: _, created_at: createdAt, ...facts } = data;
      assert.equal(event, 'image_generation.completed');
      assert.ok(Math.abs(Number(createdAt) - Date.now() / 1000) < 60);
      assert.deepEqual(facts, {
        type: 'image_generation.completed',
        size: '1024x1024',
        quality: 'auto',
        background: 'auto',
        output_format: 'png',
        usage: {
          total_tokens: 0,
          input_tokens: 0,
          output_tokens: 0,
          input_tokens_details: { text_tokens: 0, image_tokens: 0 },
        },
      });
    }
    assert.equal((await account.client.get(taskId)).body.data.billing.captured, '0.01');
  });

  // Proves C10-8.
  it('have a status until the head is sent, which is not before the task has ended', async () => {
    const account = await served.newAccount();
    const call = open(served, account);
    await failTask(served, await newestTask(served, account), 'content_rejected');
    const { statusCode, headers } = await call.head;
    await call.ended;

    assert.equal(statusCode, 400);
    assert.match(String(headers['content-type']), /^application\/json/);
    assert.equal(failedOf({ text: call.text() } as RawAnswer).error.code, 'moderation_blocked');
  });

  const rejected: readonly (readonly [changes: object, param: string, code: string])[] = [
    [{ response_format: 'url' }, 'response_format', 'unsupported_value'],
    [{ partial_images: 4 }, 'partial_images', 'integer_above_max_value'],
    [{ partial_images: '1' }, 'partial_images', 'invalid_type'],
    [{ stream: 'true' }, 'stream', 'invalid_type'],
    [{ stream: null, partial_images: 1 }, 'partial_images', 'unsupported_value'],
    [{ model: 'acme/none' }, 'model', 'model_not_found'],
    [{ size: '7x7' }, 'size', 'invalid_value'],
  ];
  for (const [changes, param, code] of rejected) {
    it(`are rejected with ${JSON.stringify(changes)} by the field`, async () => {
      const account = await served.newAccount();
      const answer = await stream(account, changes);

      assert.equal(answer.status, 400, answer.text);
      assert.deepEqual([failedOf(answer).error.param, failedOf(answer).error.code], [param, code]);
      assert.deepEqual(await tasksOf(served, account), []);
    });
  }

  it('are answered with the task itself where the client prefers that', async () => {
    const account = await hasty.newAccount();
    for (const prefer of ['respond-async', 'wait=1']) {
      const answer = await stream(account, {}, { Prefer: prefer }, hasty);

      assert.equal(answer.status, 202, answer.text);
      assert.equal((JSON.parse(answer.text) as { status: string }).status, 'queued');
    }
  });

  it('are sent again to a retry whose first attempt was lost, of the same task', async () => {
    const account = await served.newAccount();
    const call = open(served, account);
    const taskId = await newestTask(served, account);
    call.outgoing.destroy();
    await waitFor('the disconnection is recorded', async () => {
      const [row] = await served.room.rows<{ waiter: string | null }>(
        'SELECT waiter FROM awaited_responses WHERE task_id = $1',
        taskId,
      );
      return row?.waiter === null;
    });
    await served.succeedWith(taskId, [madeImage('one')]);
    const [event] = eventsOf(await stream(account, {}, RETRY));

    assert.equal(Buffer.from(String(event?.data['b64_json']), 'base64').toString(), 'one');
    assert.deepEqual(await tasksOf(served, account), [taskId]);
  });

  it('close the connection in the middle of an event whose file breaks off', async () => {
    const account = await served.newAccount();
    const call = open(served, account);
    const taskId = await newestTask(served, account);
    // The file is shorter than its record says, which is noticed at its end.
    const made = madeImage('one');
    const stored = await served.store.put(`outputs/${taskId}/1`, made.bytes, { mimeType: made.mimeType });
    await claimOutbox(served.room.database, 1_000);
    const output = { ...made, objectKey: `outputs/${taskId}/1`, ...stored, sizeBytes: stored.sizeBytes + 3 };
    const verdict = { status: 'success', outputs: [output], capturedMicroUsd: 10_000n } as const;
    await settleTask(served.room.database, taskId, verdict, { retentionDays: 7 });
    const incoming = await call.head;
    await call.ended;

    assert.equal(incoming.complete, false);
    assert.equal(call.text().endsWith('\n\n'), false);
  });
});

describe('a stream of images whose head was sent', () => {
  // Proves C10-8.
  it('has comments before its first event', async () => {
    const account = await hasty.newAccount();
    const call = open(hasty, account);
    const taskId = await newestTask(hasty, account);
    const { statusCode, headers } = await call.head;
    await waitFor('a comment arrives', () => call.text() === ': keep-alive\n\n');
    await hasty.succeedWith(taskId, [madeImage('one')]);
    await call.ended;

    assert.equal(statusCode, 200);
    assert.equal(headers['x-darkroom-task-id'], taskId);
    assert.match(String(headers['x-ratelimit-remaining']), /^\d+$/);
    assert.equal(eventsOf({ text: call.text() }).length, 1);
    await waitFor('it is received', async () => {
      const rows = await hasty.room.rows(
        'SELECT 1 FROM awaited_responses WHERE task_id = $1 AND received_at IS NOT NULL',
        taskId,
      );
      return rows.length === 1;
    });
  });

  // Proves C10-8.
  it('reports the failure of the task as an event', async () => {
    const account = await hasty.newAccount();
    const call = open(hasty, account);
    const taskId = await newestTask(hasty, account);
    await call.head;
    await failTask(hasty, taskId, 'content_rejected');
    await call.ended;

    const [failed = assert.fail(), ...others] = eventsOf({ text: call.text() });
    assert.deepEqual(others, []);
    assert.equal(failed.event, 'error');
    const { type, code, error } = failed.data as unknown as FailedAnswer & { type: string };
    assert.deepEqual(
      [type, code, error.type, error.code],
      ['error', 400, 'invalid_request_error', 'moderation_blocked'],
    );
  });

  it('reports that its outputs were deleted meanwhile', async () => {
    const account = await hasty.newAccount();
    const headers = { 'Idempotency-Key': 'deleted' };
    const first = open(hasty, account, headers);
    const taskId = await newestTask(hasty, account);
    await hasty.succeedWith(taskId, [madeImage('one')]);
    await first.ended;
    const { output } = (await account.client.get(taskId)).body.data;
    await account.client.send('DELETE', `/v1/storages/${output?.[0]?.id}`);
    const again = await stream(account, {}, headers, hasty);

    assert.match(again.text, /output_expired/);
  });

  it('ends with an error for a caller that has lost access', async () => {
    const account = await hasty.newAccount();
    const call = open(hasty, account);
    await newestTask(hasty, account);
    await call.head;
    await setSuspended(hasty.room.database, account.id, true);
    await hasty.http.openResponses.check();
    await call.ended;

    assert.equal(eventsOf({ text: call.text() })[0]?.event, 'error');
  });

  // Proves C10-9.
  it('leaves the task running when its client disconnects', async () => {
    const account = await hasty.newAccount();
    const call = open(hasty, account);
    const taskId = await newestTask(hasty, account);
    await call.head;
    call.outgoing.destroy();
    await waitFor('it waits no longer', () => hasty.http.feed.count() === 0);
    await hasty.succeedWith(taskId, [madeImage('one')]);

    assert.equal((await account.client.get(taskId)).body.data.status, 'success');
    assert.equal(eventsOf(await stream(account, {}, RETRY, hasty)).length, 1);
    assert.deepEqual(await tasksOf(hasty, account), [taskId]);
  });
});

describe('a stream of images in a process that stops', () => {
  for (const streamHeadMs of [30_000, 0]) {
    const isBefore = streamHeadMs > 0;
    it(`${isBefore ? 'is 503 with x-should-retry before its head' : 'ends with an error event after its head'}, and the task continues`, async (t) => {
      const app = await serveApp({ streamHeadMs });
      t.after(() => app.close());
      const account = await app.newAccount();
      const call = open(app, account);
      const taskId = await newestTask(app, account);
      await waitFor('the request waits', () => app.http.feed.count() === 1);
      if (!isBefore) await call.head;
      app.http.feed.close();
      const { statusCode, headers } = await call.head;
      await call.ended;

      const failed = isBefore
        ? failedOf({ text: call.text() } as RawAnswer)
        : (eventsOf({ text: call.text() })[0]?.data as unknown as FailedAnswer);
      assert.deepEqual([statusCode, failed.error.code], [isBefore ? 503 : 200, 'server_stopping']);
      assert.equal(headers['x-should-retry'], isBefore ? 'true' : undefined);
      assert.match(failed.error.message, new RegExp(taskId));
      await app.succeed(taskId, Buffer.from('one'));
      const retry = await stream(account, {}, RETRY, app);
      assert.equal(retry.headers['x-darkroom-task-id'], taskId);
      assert.deepEqual(await tasksOf(app, account), [taskId]);
    });
  }
});
