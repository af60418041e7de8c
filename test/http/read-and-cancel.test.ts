/** `GET /v1/tasks/{id}` and `POST /v1/tasks/{id}/cancel` (spec §2.4, contract §3, §4). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { beginArchiving, beginHandling, recordFault } from '../../src/tasks/lifecycle/transitions.ts';
import { definition } from '../catalogue/definitions.ts';
import { body } from '../tasks/task-room.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

let served: ServedApp;
let account: ServedAccount;
before(async () => {
  served = await serveApp({
    models: [
      definition({ name: 'acme/slow', typicalSeconds: 25 }),
      definition({ name: 'acme/slower', typicalSeconds: 900 }),
    ],
  });
  account = await served.newAccount();
});
after(() => served.close());

async function createTask(changes: Record<string, unknown> = {}): Promise<TaskId> {
  const { body: created } = await account.client.create(body(changes));
  return created.data.taskId as TaskId;
}

/** Moves a task's creation back in time. */
function age(taskId: TaskId, seconds: number): Promise<unknown> {
  return served.room.rows(
    'UPDATE tasks SET created_at = now() - make_interval(secs => $2) WHERE id = $1',
    taskId,
    seconds,
  );
}

async function adviceFor(taskId: TaskId): Promise<number> {
  const header = (await account.client.get(taskId)).headers.get('retry-after');
  assert.match(header ?? '', /^\d+$/);
  return Number(header);
}

describe('reading a task', () => {
  // Proves S4.2-1, C0-11, C2-3, C3-1, C3-2, C3-4, C3-20.
  it('that is queued returns what is known, in Unix seconds and decimal USD, and a Retry-After', async () => {
    const startedAt = Math.floor(Date.now() / 1000);
    const taskId = await createTask({ metadata: { order: '7' }, callback: { url: 'https://example.com/hook' } });

    const { status, headers, body: answer } = await account.client.get(taskId);

    assert.equal(status, 200);
    assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/);
    assert.equal(headers.get('cache-control'), 'private, no-cache');
    const { created, keyId, ...data } = answer.data as typeof answer.data & { keyId: string };
    assert.ok(Number.isInteger(created) && created >= startedAt - 1 && created <= startedAt + 60);
    assert.match(keyId, /^[0-9A-Za-z]{10}$/);
    assert.deepEqual(data, {
      taskId,
      model: 'acme/images',
      status: 'queued',
      started: 0,
      completed: 0,
      storage: 'temp',
      metadata: { order: '7' },
      billing: { currency: 'USD', held: '0.01', captured: '0', released: '0' },
      callback: { state: 'waiting', attempts: 0, nextAttempt: 0 },
    });
    assert.ok(served.notified.considered.includes(taskId));
  });

  // Proves S2.4-3, S3-3, C3-3, C3-23.
  it('that failed returns the reason, and that nothing was captured', async () => {
    const taskId = await createTask();
    await claimOutbox(served.room.database, 100);
    await settleTask(served.room.database, taskId, { status: 'fail', reason: 'timed_out' }, { retentionDays: 7 });

    const { headers, body: answer } = await account.client.get(taskId);

    assert.equal(headers.get('retry-after'), null);
    assert.equal(answer.data.status, 'fail');
    assert.ok(answer.data.completed >= answer.data.created);
    assert.deepEqual(answer.data.error, {
      code: 'TASK_TIMEOUT',
      message: 'the task did not finish in time; nothing was charged',
      reason: 'timed_out',
      retryable: true,
    });
    assert.deepEqual(answer.data.billing, { currency: 'USD', held: '0.01', captured: '0', released: '0.01' });
    assert.equal(answer.data.output, undefined);
    assert.ok(!served.notified.considered.includes(taskId));
  });

  // Proves S2.4-2, S2.6-2, S3-3, C2-3, C3-6.
  it('that succeeded returns its outputs and no error', async () => {
    const taskId = await createTask({ storage: 'persistent' });
    await served.succeed(taskId, Buffer.from('bytes'));

    const { data } = (await account.client.get(taskId)).body;

    assert.equal(data.status, 'success');
    assert.equal(data.error, undefined);
    const [output, ...others] = data.output ?? [];
    assert.deepEqual(others, []);
    const { id, url, expireAt, sha256, ...facts } = output ?? assert.fail('no output');
    assert.match(id, /^out_/);
    assert.ok(URL.canParse(url) && Number.isInteger(expireAt));
    assert.match(sha256, /^[0-9a-f]{64}$/);
    assert.deepEqual(facts, {
      type: 'image',
      mimeType: 'image/png',
      sizeBytes: 5,
      width: 2,
      height: 1,
      storage: 'persistent',
      retainUntil: 0,
    });
  });

  // Proves C3-22.
  it('returns a reason of ours by its code, and by one of the closed set when that covers it', async () => {
    for (const [reason, code, wireReason, retryable] of [
      ['storage_unavailable', 'STORAGE_UNAVAILABLE', undefined, true],
      ['model_unavailable', 'MODEL_UNAVAILABLE', 'provider_unavailable', false],
    ] as const) {
      const taskId = await createTask();
      await settleTask(served.room.database, taskId, { status: 'fail', reason }, { retentionDays: 7 });

      const { error } = (await account.client.get(taskId)).body.data;
      assert.equal(error?.code, code);
      assert.equal(error?.reason, wireReason);
      assert.equal(error?.retryable, retryable);
    }
  });

  it('that failed for its input names the field and its validation error, however often it was tried', async () => {
    const taskId = await createTask();
    await recordFault(served.room.database, taskId, { kind: 'unreachable', field: 'image_urls.0' });
    await recordFault(served.room.database, taskId, { kind: 'undecodable', field: 'image_urls.2' });
    const verdict = { status: 'fail', reason: 'input_invalid' } as const;
    await settleTask(served.room.database, taskId, verdict, { retentionDays: 7 });
    await recordFault(served.room.database, taskId, { kind: 'too_long' });

    const { error } = (await account.client.get(taskId)).body.data;
    assert.deepEqual(error, {
      code: 'INVALID_REQUEST',
      message: 'image_urls.2: the file could not be decoded',
      reason: 'input_invalid',
      field: 'image_urls.2',
      retryable: false,
    });
  });

  it('takes one statement beside authentication, which is cached', async () => {
    const taskId = await createTask();
    await account.client.get(taskId);

    served.room.forgetStatements();
    await account.client.get(taskId);

    assert.deepEqual(
      served.room.statements.filter((name) => name !== 'select_key'),
      ['select_task_detail'],
    );
  });
});

describe('Retry-After of an open task', () => {
  // Proves C3-19.
  it('is the time that its model usually takes, as long as that has not passed, and 30 s at most', async () => {
    let begun = performance.now();
    /** The rest of a duration that elapses while the task is read. */
    const assertLeft = (advised: number, seconds: number): void => {
      const passed = (performance.now() - begun) / 1000;
      assert.ok(advised <= seconds && advised >= Math.floor(seconds - passed), `${advised} s after ${passed} s`);
    };
    const [slow, slower] = [await createTask({ model: 'acme/slow' }), await createTask({ model: 'acme/slower' })];

    assertLeft(await adviceFor(slow), 25);
    assert.equal(await adviceFor(slower), 30);
    begun = performance.now();
    await age(slow, 10);
    assertLeft(await adviceFor(slow), 15);
  });

  // Proves C3-19.
  it('grows with the age of a task that is late', async () => {
    const taskId = await createTask();
    const delays: number[] = [];
    for (const seconds of [2, 40, 120, 280, 86_000]) {
      await age(taskId, seconds);
      delays.push(await adviceFor(taskId));
    }

    assert.ok(
      delays.every((wait, index) => index === 0 || wait > (delays[index - 1] ?? 0)),
      delays.join(),
    );
    assert.equal(delays.at(-1), 30);
  });

  // Proves C3-19.
  it('is present while it is queued, handled and archived, and on the response to a cancel', async () => {
    const taskId = await createTask({ model: 'acme/slow' });
    await claimOutbox(served.room.database, 100);
    await adviceFor(taskId);
    await beginHandling(served.room.database, taskId, 60);
    await adviceFor(taskId);
    await beginArchiving(served.room.database, taskId);
    await adviceFor(taskId);

    const { headers } = await account.client.send('POST', `/v1/tasks/${taskId}/cancel`);
    assert.match(headers.get('retry-after') ?? '', /^\d+$/);
  });
});

describe('cancelling over HTTP', () => {
  // Proves C4-1.
  it('that is queued returns its end immediately, and wakes the launcher for the callback', async () => {
    const taskId = await createTask({ callback: { url: 'https://example.com/hook' } });
    const { wakes } = served.notified;

    const { status, body: answer } = await account.client.send('POST', `/v1/tasks/${taskId}/cancel`);

    assert.equal(status, 200);
    assert.equal(answer.data.status, 'fail');
    assert.equal(answer.data.error?.code, 'TASK_CANCELLED');
    assert.equal(answer.data.error?.reason, 'cancelled');
    assert.equal(answer.data.callback?.state, 'pending');
    assert.deepEqual(answer.data.billing, { currency: 'USD', held: '0.01', captured: '0', released: '0.01' });
    assert.equal(served.notified.wakes, wakes + 1);
  });

  it('that is claimed by a launcher, and not yet started, returns its end as well', async () => {
    const taskId = await createTask();
    await claimOutbox(served.room.database, 100);

    const { status, body: answer } = await account.client.send('POST', `/v1/tasks/${taskId}/cancel`);

    assert.equal(status, 200);
    assert.deepEqual([answer.data.status, answer.data.error?.code], ['fail', 'TASK_CANCELLED']);
    assert.deepEqual(answer.data.billing, { currency: 'USD', held: '0.01', captured: '0', released: '0.01' });
  });

  // Proves C4-1, C4-4.
  it('that runs returns the task unchanged', async () => {
    const taskId = await createTask();
    await claimOutbox(served.room.database, 100);
    await beginHandling(served.room.database, taskId, 60);

    const { status, body: answer } = await account.client.send('POST', `/v1/tasks/${taskId}/cancel`);

    assert.equal(status, 200);
    assert.equal(answer.data.status, 'handling');
    const rows = await served.room.rows(`SELECT 1 FROM outbox WHERE kind = 'cancel_task' AND subject_id = $1`, taskId);
    assert.equal(rows.length, 1);
  });

  // Proves C4-3.
  it('that has ended changes nothing and still returns 200, twice as well', async () => {
    const taskId = await createTask();
    await served.succeed(taskId, Buffer.from('bytes'));

    for (let time = 0; time < 2; time++) {
      const { status, body: answer } = await account.client.send('POST', `/v1/tasks/${taskId}/cancel`);
      assert.equal(status, 200);
      assert.equal(answer.data.status, 'success');
    }
  });
});
