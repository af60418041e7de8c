import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { verifyLedger } from '../../src/billing/verify.ts';
import { newTaskId } from '../../src/domain/ids.ts';
import type { TaskStatus } from '@darkroom/api/facts/task-status';
import { cancelTask } from '../../src/tasks/lifecycle/cancel.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { TaskNotFoundError, readTask } from '../../src/tasks/record/read.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { beginHandling } from '../../src/tasks/lifecycle/transitions.ts';
import { body, deliverOutbox, openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

const RETENTION_DAYS = 7;

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom();
});
after(async () => {
  assert.deepEqual(await verifyLedger(room.database), []);
  await room.close();
});

describe('cancelling a queued task', () => {
  // Proves C4-2.
  it('ends it in the same transaction: settled, off the queue, with only its callback pending for Temporal', async () => {
    const caller = await room.newCaller();
    const sent = body({ callback: { url: 'https://example.com/hook' } });
    const { taskId } = await room.creator.create(caller, sent, undefined);

    await cancelTask(room.database, caller.accountId, taskId, RETENTION_DAYS);

    const task = await readTask(room.database, taskId);
    assert.equal(task.status, 'fail');
    assert.equal(task.errorReason, 'cancelled');
    assert.equal(task.capturedMicroUsd, 0n);
    assert.deepEqual(await room.rows('SELECT kind FROM outbox WHERE subject_id = $1', taskId), [
      { kind: 'deliver_callback' },
    ]);
    const account = await room.account(caller);
    assert.deepEqual([account.heldMicroUsd, account.queued, account.running], [0n, 0, 0]);
    const events = await room.rows('SELECT type FROM task_events WHERE task_id = $1 ORDER BY seq', taskId);
    assert.deepEqual(
      events.map((event) => event['type']),
      ['accepted', 'cancel_requested', 'settled'],
    );
  });

  it('ends it once under sixteen concurrent requests', async () => {
    const caller = await room.newCaller();
    const { taskId } = await room.creator.create(caller, body(), undefined);

    await Promise.all(
      Array.from({ length: 16 }, () => cancelTask(room.database, caller.accountId, taskId, RETENTION_DAYS)),
    );

    const releases = await room.rows(`SELECT 1 FROM ledger_entries WHERE kind = 'release' AND reference = $1`, taskId);
    assert.equal(releases.length, 1);
    const events = await room.rows('SELECT 1 FROM task_events WHERE task_id = $1', taskId);
    assert.equal(events.length, 3);
  });
});

describe('cancelling a task whose start was claimed, before it is handled', () => {
  it('ends it in the same transaction, releases its running slot and its hold', async () => {
    const caller = await room.newCaller({ runningCap: 1 });
    const { taskId } = await room.creator.create(caller, body(), undefined);
    await claimOutbox(room.database, 1_000);
    assert.equal((await room.account(caller)).running, 1);

    assert.equal(await cancelTask(room.database, caller.accountId, taskId, RETENTION_DAYS), true);

    const task = await readTask(room.database, taskId);
    assert.deepEqual([task.status, task.errorReason, task.capturedMicroUsd], ['fail', 'cancelled', 0n]);
    const account = await room.account(caller);
    assert.deepEqual([account.heldMicroUsd, account.queued, account.running], [0n, 0, 0]);
    // A workflow that is waiting for an engine is notified.
    assert.deepEqual(await room.rows('SELECT kind FROM outbox WHERE subject_id = $1', taskId), [
      { kind: 'cancel_task' },
    ]);
  });

  it('is the same when the launcher has delivered the start already', async () => {
    const caller = await room.newCaller({ runningCap: 1 });
    const { taskId } = await room.creator.create(caller, body(), undefined);
    await deliverOutbox(room);

    await cancelTask(room.database, caller.accountId, taskId, RETENTION_DAYS);

    const account = await room.account(caller);
    assert.deepEqual([account.heldMicroUsd, account.queued, account.running], [0n, 0, 0]);
  });

  it('leaves nothing to a start that arrives later: the task has ended', async () => {
    const caller = await room.newCaller();
    const { taskId } = await room.creator.create(caller, body(), undefined);
    await claimOutbox(room.database, 1_000);
    await cancelTask(room.database, caller.accountId, taskId, RETENTION_DAYS);

    const { task, generation } = await beginHandling(room.database, taskId, 60);

    assert.deepEqual([task.status, task.deadlineAt, generation], ['fail', null, undefined]);
  });

  it('releases one slot, running or queued, when it races with the claim, and one of both ends it', async () => {
    for (let round = 0; round < 20; round++) {
      const caller = await room.newCaller({ runningCap: 1 });
      const { taskId } = await room.creator.create(caller, body(), undefined);

      await Promise.all([
        cancelTask(room.database, caller.accountId, taskId, RETENTION_DAYS),
        claimOutbox(room.database, 1_000),
        cancelTask(room.database, caller.accountId, taskId, RETENTION_DAYS),
        claimOutbox(room.database, 1_000),
      ]);

      const account = await room.account(caller);
      assert.deepEqual([account.heldMicroUsd, account.queued, account.running], [0n, 0, 0]);
      assert.equal((await readTask(room.database, taskId)).status, 'fail');
    }
  });

  it('either ends it, or leaves its end to the workflow that began at the same moment, which the timeline shows', async () => {
    for (let round = 0; round < 20; round++) {
      const caller = await room.newCaller({ runningCap: 1 });
      const { taskId } = await room.creator.create(caller, body(), undefined);
      await claimOutbox(room.database, 1_000);

      const [{ task }] = await Promise.all([
        beginHandling(room.database, taskId, 60),
        cancelTask(room.database, caller.accountId, taskId, RETENTION_DAYS),
      ]);

      const { status } = await readTask(room.database, taskId);
      assert.equal(status, task.status);
      assert.equal((await room.account(caller)).running, status === 'fail' ? 0 : 1);
      const types =
        status === 'fail' ? ['accepted', 'cancel_requested', 'settled'] : ['accepted', 'started', 'cancel_requested'];
      assert.deepEqual(
        await room.rows('SELECT seq, type FROM task_events WHERE task_id = $1 ORDER BY seq', taskId),
        types.map((type, index) => ({ seq: index + 1, type })),
      );
    }
  });
});

describe('cancelling a task in handling', () => {
  // Proves C4-4.
  it('leaves it unchanged and notifies Temporal once, however often it is requested', async () => {
    const caller = await room.newCaller();
    const { taskId } = await room.creator.create(caller, body(), undefined);
    await claimOutbox(room.database, 1_000);
    await beginHandling(room.database, taskId, 60);

    const asked = [];
    for (let time = 0; time < 3; time++) {
      asked.push(await cancelTask(room.database, caller.accountId, taskId, RETENTION_DAYS));
    }

    assert.deepEqual(asked, [true, false, false]);
    assert.equal((await readTask(room.database, taskId)).status, 'handling');
    const rows = await room.rows('SELECT kind FROM outbox WHERE subject_id = $1 ORDER BY kind', taskId);
    assert.deepEqual(
      rows.map((row) => row['kind']),
      ['cancel_task', 'start_task'],
    );
    assert.equal((await room.account(caller)).running, 1);
  });

  // Proves C4-3.
  it('changes nothing from archiving on', async () => {
    const caller = await room.newCaller();
    for (const status of ['archiving', 'success', 'fail'] as readonly TaskStatus[]) {
      const { taskId } = await room.creator.create(caller, body(), undefined);
      await claimOutbox(room.database, 1_000);
      if (status === 'archiving') await room.rows(`UPDATE tasks SET status = 'archiving' WHERE id = $1`, taskId);
      if (status === 'success') {
        const verdict = { status, outputs: [], capturedMicroUsd: 0n } as const;
        await settleTask(room.database, taskId, verdict, { retentionDays: RETENTION_DAYS });
      }
      if (status === 'fail') {
        const verdict = { status, reason: 'no_output' } as const;
        await settleTask(room.database, taskId, verdict, { retentionDays: RETENTION_DAYS });
      }
      const before = await room.rows('SELECT * FROM tasks WHERE id = $1', taskId);

      assert.equal(await cancelTask(room.database, caller.accountId, taskId, RETENTION_DAYS), false);

      assert.deepEqual(await room.rows('SELECT * FROM tasks WHERE id = $1', taskId), before);
    }
  });
});

describe('cancelling a task of another account', () => {
  it('is the same as cancelling an unknown one, and changes nothing', async () => {
    const [owner, other] = [await room.newCaller(), await room.newCaller()];
    const { taskId } = await room.creator.create(owner, body(), undefined);

    for (const id of [taskId, newTaskId()]) {
      await assert.rejects(cancelTask(room.database, other.accountId, id, RETENTION_DAYS), TaskNotFoundError);
    }

    assert.equal((await readTask(room.database, taskId)).status, 'queued');
  });
});
