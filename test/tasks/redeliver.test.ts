/** Requesting a callback once more (contract §4): its effect on the record, for every caller and at any time. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { beginAttempt, finishAttempt, markExhausted } from '../../src/callbacks/attempts.ts';
import { newTaskId } from '../../src/domain/ids.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { TaskNotFoundError, readTask } from '../../src/tasks/record/read.ts';
import { NotRedeliverableError, redeliverCallback } from '../../src/tasks/lifecycle/callback.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { readTimeline } from '../../src/tasks/record/timeline.ts';
import { body, deliverOutbox, openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

const SCHEDULE_LENGTH = 4;

let room: TaskRoom;
let caller: Caller;
before(async () => {
  room = await openTaskRoom();
  caller = await room.newCaller({ runningCap: 1_000 });
});
after(() => room.close());

async function newTask(changes: Record<string, unknown> = { callback: { url: 'https://example.com/hook' } }) {
  const { taskId } = await room.creator.create(caller, body(changes), undefined);
  await deliverOutbox(room);
  return taskId;
}

async function end(taskId: TaskId): Promise<void> {
  await settleTask(room.database, taskId, { status: 'fail', reason: 'provider_error' }, { retentionDays: 7 });
}

/** A task whose callback was delivered at the first attempt. */
async function deliveredTask(): Promise<TaskId> {
  const taskId = await newTask();
  await end(taskId);
  await deliverOutbox(room);
  await beginAttempt(room.database, taskId, SCHEDULE_LENGTH);
  await finishAttempt(room.database, taskId, 1, { httpStatus: 200 }, 'delivered', undefined);
  return taskId;
}

function requestsFor(taskId: TaskId): Promise<readonly unknown[]> {
  return room.rows(`SELECT 1 FROM outbox WHERE kind = 'deliver_callback' AND subject_id = $1`, taskId);
}

async function typesOf(taskId: TaskId): Promise<readonly string[]> {
  return (await readTimeline(room.database, taskId, caller.accountId, 0)).events.map(({ type }) => type);
}

describe('a redelivery', () => {
  it('restarts the whole schedule and continues the attempt numbers', async () => {
    const taskId = await deliveredTask();

    assert.equal(await redeliverCallback(room.database, caller.accountId, taskId), true);

    const { callback } = await readTask(room.database, taskId);
    assert.deepEqual([callback?.state, callback?.attempts], ['pending', 1]);
    assert.ok(Math.abs((callback?.nextAttemptAt ?? 0) - Date.now() / 1000) < 60);
    assert.equal((await requestsFor(taskId)).length, 1);
    assert.equal((await typesOf(taskId)).at(-1), 'callback_redelivery');
    for (let scheduled = 1; scheduled <= SCHEDULE_LENGTH; scheduled++) {
      const pending = await beginAttempt(room.database, taskId, SCHEDULE_LENGTH);
      assert.deepEqual([pending?.attempt, pending?.scheduled], [scheduled + 1, scheduled]);
    }
    assert.equal(await beginAttempt(room.database, taskId, SCHEDULE_LENGTH), undefined);
  });

  it('is possible however the previous delivery ended', async () => {
    for (const state of ['exhausted', 'stopped'] as const) {
      const taskId = await newTask();
      await end(taskId);
      await beginAttempt(room.database, taskId, SCHEDULE_LENGTH);
      await finishAttempt(room.database, taskId, 1, { httpStatus: 500 }, state, undefined);

      assert.equal(await redeliverCallback(room.database, caller.accountId, taskId), true, state);
    }
  });

  it('changes nothing while a delivery is running, its own included', async () => {
    const taskId = await newTask();
    await end(taskId);
    await deliverOutbox(room);
    await beginAttempt(room.database, taskId, SCHEDULE_LENGTH);

    assert.equal(await redeliverCallback(room.database, caller.accountId, taskId), false);

    assert.equal((await requestsFor(taskId)).length, 0);
    assert.ok(!(await typesOf(taskId)).includes('callback_redelivery'));
    const pending = await beginAttempt(room.database, taskId, SCHEDULE_LENGTH);
    assert.deepEqual([pending?.attempt, pending?.scheduled], [2, 2]);
  });

  it('is not ended by a check of the previous delivery that found nothing to send', async () => {
    const taskId = await deliveredTask();
    assert.equal(await beginAttempt(room.database, taskId, SCHEDULE_LENGTH), undefined);
    assert.equal(await redeliverCallback(room.database, caller.accountId, taskId), true);

    await markExhausted(room.database, taskId, SCHEDULE_LENGTH);

    assert.equal((await readTask(room.database, taskId)).callback?.state, 'pending');
    assert.equal((await beginAttempt(room.database, taskId, SCHEDULE_LENGTH))?.scheduled, 1);
  });

  it('happens once under sixteen concurrent requests', async () => {
    const taskId = await deliveredTask();

    const answers = await Promise.all(
      Array.from({ length: 16 }, () => redeliverCallback(room.database, caller.accountId, taskId)),
    );

    assert.equal(answers.filter(Boolean).length, 1);
    assert.equal((await requestsFor(taskId)).length, 1);
    assert.equal((await typesOf(taskId)).filter((type) => type === 'callback_redelivery').length, 1);
  });

  it('is not ended by an attempt of the previous delivery, whose worker was presumed dead', async () => {
    const taskId = await newTask();
    await end(taskId);
    await beginAttempt(room.database, taskId, 1);
    await markExhausted(room.database, taskId, 1);
    await redeliverCallback(room.database, caller.accountId, taskId);

    await finishAttempt(room.database, taskId, 1, { errorClass: 'timeout' }, 'exhausted', undefined);

    const { callback } = await readTask(room.database, taskId);
    assert.equal(callback?.state, 'pending');
    assert.equal((await beginAttempt(room.database, taskId, SCHEDULE_LENGTH))?.scheduled, 1);
  });
});

describe('a redelivery is rejected', () => {
  const assertRejected = (taskId: TaskId, message: RegExp) =>
    assert.rejects(redeliverCallback(room.database, caller.accountId, taskId), (error: Error) => {
      assert.ok(error instanceof NotRedeliverableError);
      assert.match(error.message, message);
      return true;
    });

  it('for an open task', async () => {
    const taskId = await newTask();
    await assertRejected(taskId, /not ended yet/);
    assert.equal((await readTask(room.database, taskId)).callback?.state, 'waiting');
  });

  it('for a task without a callback, open or ended', async () => {
    const taskId = await newTask({});
    await assertRejected(taskId, /without a callback/);
    await end(taskId);
    await assertRejected(taskId, /without a callback/);
  });

  it('for a task whose URL was erased', async () => {
    const taskId = await deliveredTask();
    await room.rows(`UPDATE callbacks SET url = '' WHERE task_id = $1`, taskId);
    await assertRejected(taskId, /erased/);
  });

  it('for another account’s task as for an unknown one', async () => {
    const taskId = await deliveredTask();
    const other = await room.newCaller();
    await assert.rejects(redeliverCallback(room.database, other.accountId, taskId), TaskNotFoundError);
    await assert.rejects(redeliverCallback(room.database, caller.accountId, newTaskId()), TaskNotFoundError);
    assert.equal((await requestsFor(taskId)).length, 0);
  });
});
