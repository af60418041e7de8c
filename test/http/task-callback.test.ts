/** `GET …/callback/attempts` and `POST …/callback/redeliver` (contract §4, §6). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { beginAttempt, finishAttempt } from '../../src/callbacks/attempts.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import type { ApiAnswer } from '../support/api-client.ts';
import { body } from '../tasks/task-room.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

const CALLBACK = { callback: { url: 'https://example.com/hook' } };
const SCHEDULE_LENGTH = 4;

let served: ServedApp;
let account: ServedAccount;
before(async () => {
  served = await serveApp();
  account = await served.newAccount();
});
after(() => served.close());

async function createTask(changes: Record<string, unknown> = CALLBACK): Promise<TaskId> {
  const { body: created } = await account.client.create(body(changes));
  await claimOutbox(served.room.database, 100);
  return created.data.taskId as TaskId;
}

async function end(taskId: TaskId): Promise<void> {
  await settleTask(served.room.database, taskId, { status: 'fail', reason: 'provider_error' }, { retentionDays: 7 });
}

async function attempt(
  taskId: TaskId,
  httpStatus: number,
  state: 'pending' | 'delivered' | 'exhausted',
): Promise<void> {
  const { database } = served.room;
  const pending = await beginAttempt(database, taskId, SCHEDULE_LENGTH);
  assert.ok(pending);
  await finishAttempt(database, taskId, pending.attempt, { httpStatus }, state, state === 'pending' ? 0 : undefined);
}

const attemptsOf = (taskId: string): Promise<ApiAnswer> =>
  account.client.send('GET', `/v1/tasks/${taskId}/callback/attempts`);
const redeliver = (taskId: string, on = account): Promise<ApiAnswer> =>
  on.client.send('POST', `/v1/tasks/${taskId}/callback/redeliver`);

describe('the attempts of a callback', () => {
  // Proves C4-10, C6-17.
  it('include its receiver, its state, and the result of each attempt', async () => {
    const taskId = await createTask();
    await end(taskId);
    await attempt(taskId, 500, 'pending');
    await attempt(taskId, 204, 'delivered');

    const { status, body: answer } = await attemptsOf(taskId);

    assert.equal(status, 200);
    const { attempts, ...rest } = answer.data as unknown as { attempts: Record<string, unknown>[] };
    assert.deepEqual(rest, { url: 'https://example.com/hook', state: 'delivered' });
    assert.deepEqual(
      attempts.map(({ at: _at, durationMs: _durationMs, ...facts }) => facts),
      [
        { attempt: 1, status: 500, errorClass: null },
        { attempt: 2, status: 204, errorClass: null },
      ],
    );
    for (const { at, durationMs } of attempts) {
      assert.ok(Number.isInteger(at) && Math.abs(Number(at) - Date.now() / 1000) < 60);
      assert.ok(Number.isInteger(durationMs) && Number(durationMs) >= 0);
    }
  });

  it('are empty before the task has ended, and when it has no callback', async () => {
    assert.deepEqual((await attemptsOf(await createTask())).body.data, {
      url: 'https://example.com/hook',
      state: 'waiting',
      attempts: [],
    });
    assert.deepEqual((await attemptsOf(await createTask({}))).body.data, { state: 'none', attempts: [] });
  });

  it('do not show an erased address', async () => {
    const taskId = await createTask();
    await served.room.rows(`UPDATE callbacks SET url = '' WHERE task_id = $1`, taskId);
    assert.deepEqual((await attemptsOf(taskId)).body.data, { state: 'waiting', attempts: [] });
  });
});

describe('redelivering a callback', () => {
  // Proves C4-11.
  it('returns the detail, with its delivery pending again, and wakes the launcher', async () => {
    const taskId = await createTask();
    await end(taskId);
    await attempt(taskId, 500, 'exhausted');
    const { wakes } = served.notified;

    const { status, body: answer } = await redeliver(taskId);

    assert.equal(status, 200);
    assert.equal(answer.data.taskId, taskId);
    assert.equal(answer.data.status, 'fail');
    assert.equal(answer.data.callback?.state, 'pending');
    assert.equal(answer.data.callback?.attempts, 1);
    assert.equal(served.notified.wakes, wakes + 1);
  });

  it('changes nothing while a delivery is running, and still returns 200', async () => {
    const taskId = await createTask();
    await end(taskId);
    await attempt(taskId, 500, 'pending');
    const before = (await account.client.get(taskId)).body.data;
    const { wakes } = served.notified;

    const { status, body: answer } = await redeliver(taskId);

    assert.equal(status, 200);
    assert.deepEqual(answer.data, before);
    assert.equal(served.notified.wakes, wakes);
  });

  it('is rejected with a reason when there is nothing to deliver', async () => {
    const open = await createTask();
    const withoutCallback = await createTask({});
    await end(withoutCallback);
    for (const [taskId, reason] of [
      [open, /not ended yet/],
      [withoutCallback, /without a callback/],
    ] as const) {
      const { status, body: answer } = await redeliver(taskId);
      assert.equal(status, 400);
      assert.equal(answer.error_code, 'INVALID_REQUEST');
      assert.match(answer.message, reason);
    }
  });

  it('is denied to other accounts, and changes nothing', async () => {
    const taskId = await createTask();
    await end(taskId);
    await attempt(taskId, 204, 'delivered');
    assert.equal((await redeliver(taskId, await served.newAccount())).status, 404);
    assert.equal((await account.client.get(taskId)).body.data.callback?.state, 'delivered');
  });
});
