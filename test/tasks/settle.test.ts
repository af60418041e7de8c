/**
 * Settling: once, whichever caller comes first, with the money, the slot, the event and the callback in one
 * transaction.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import { FAILURE_REASONS } from '../../src/domain/failure-reason.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import type { ArchivedOutput } from '../../src/domain/run-record.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { readTask } from '../../src/tasks/record/read.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import type { Verdict } from '../../src/tasks/lifecycle/settle.ts';
import { PRICE, body, openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

const RETENTION = { retentionDays: 7 };

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom();
});
after(async () => {
  assert.deepEqual(await verifyLedger(room.database), []);
  await room.close();
});

/** A task that was launched: it has a running slot. */
async function launchedTask(caller: Caller, changes: Record<string, unknown> = {}): Promise<TaskId> {
  const { taskId } = await room.creator.create(caller, body(changes), undefined);
  await claimOutbox(room.database, 1_000);
  return taskId;
}

function output(index: number): ArchivedOutput {
  return {
    type: 'image',
    objectKey: `outputs/${index}`,
    mimeType: 'image/png',
    sizeBytes: 3_000_000_000,
    sha256: 'ab'.repeat(32),
    width: 10,
    height: 20,
  };
}

function entriesOf(taskId: TaskId): Promise<readonly Record<string, unknown>[]> {
  return room.rows(
    'SELECT kind, amount_micro_usd AS amount FROM ledger_entries WHERE reference = $1 ORDER BY id',
    taskId,
  );
}

describe('16 different concurrent settlements of one task', () => {
  // Proves C3-32, C7-39.
  it('end it once, and all return the one outcome', async () => {
    const caller = await room.newCaller();
    for (let round = 0; round < 5; round++) {
      const taskId = await launchedTask(caller, { callback: { url: 'https://example.com/hook' } });
      const verdicts = Array.from({ length: 16 }, (_, index): Verdict => {
        const reason = FAILURE_REASONS[index % FAILURE_REASONS.length] ?? 'cancelled';
        if (index % 2 === 0) return { status: 'fail', reason };
        return { status: 'success', outputs: [output(index)], capturedMicroUsd: BigInt(index) };
      });

      const outcomes = await Promise.all(
        verdicts.map((verdict) => settleTask(room.database, taskId, verdict, RETENTION)),
      );

      const [first] = outcomes;
      assert.ok(first);
      for (const outcome of outcomes) assert.deepEqual(outcome, first);
      const task = await readTask(room.database, taskId);
      assert.deepEqual({ status: task.status, reason: task.errorReason }, first);
      assert.equal(task.outputs.length, first.status === 'success' ? 1 : 0);
      const events = await room.rows('SELECT seq, type FROM task_events WHERE task_id = $1 ORDER BY seq', taskId);
      const types = first.status === 'success' ? ['accepted', 'archived', 'settled'] : ['accepted', 'settled'];
      assert.deepEqual(
        events,
        types.map((type, index) => ({ seq: index + 1, type })),
      );
      assert.deepEqual(await room.rows('SELECT kind FROM outbox WHERE subject_id = $1', taskId), [
        { kind: 'deliver_callback' },
      ]);
    }

    const account = await room.account(caller);
    assert.equal(account.heldMicroUsd, 0n);
    assert.equal(account.running, 0);
    assert.equal(account.queued, 0);
  });
});

describe('a settlement', () => {
  // Proves C7-35.
  it('captures what was earned and releases the rest', async () => {
    const taskId = await launchedTask(await room.newCaller());

    await settleTask(room.database, taskId, { status: 'success', outputs: [], capturedMicroUsd: 4_000n }, RETENTION);

    assert.deepEqual(await entriesOf(taskId), [
      { kind: 'hold', amount: PRICE },
      { kind: 'capture', amount: 4_000n },
      { kind: 'release', amount: PRICE - 4_000n },
    ]);
  });

  // Proves C7-35.
  it('never captures more than the hold', async () => {
    const taskId = await launchedTask(await room.newCaller());

    const verdict = { status: 'success', outputs: [], capturedMicroUsd: 10n * PRICE } as const;
    await settleTask(room.database, taskId, verdict, RETENTION);

    assert.deepEqual(await entriesOf(taskId), [
      { kind: 'hold', amount: PRICE },
      { kind: 'capture', amount: PRICE },
    ]);
    assert.equal((await readTask(room.database, taskId)).capturedMicroUsd, PRICE);
  });

  // Proves C7-36.
  it('releases everything of a failed task, also when it cost nothing', async () => {
    const paid = await launchedTask(await room.newCaller());
    const free = await launchedTask(await room.newCaller({ microUsd: 0n }), { model: 'acme/free' });

    for (const taskId of [paid, free]) {
      await settleTask(room.database, taskId, { status: 'fail', reason: 'provider_error' }, RETENTION);
    }

    assert.deepEqual((await entriesOf(paid)).at(-1), { kind: 'release', amount: PRICE });
    assert.deepEqual((await entriesOf(free)).at(-1), { kind: 'release', amount: 0n });
  });

  // Proves S2.6-1, C5-14.
  it('retains temporary outputs for the retention days, persistent ones permanently, and sizes beyond 2 GB exactly', async () => {
    const caller = await room.newCaller();
    const kept = await launchedTask(caller);
    const persistent = await launchedTask(caller, { storage: 'persistent' });

    for (const taskId of [kept, persistent]) {
      const verdict = { status: 'success', outputs: [output(0), output(1)], capturedMicroUsd: PRICE } as const;
      await settleTask(room.database, taskId, verdict, RETENTION);
    }

    const task = await readTask(room.database, kept);
    assert.deepEqual(
      task.outputs.map(({ position, sizeBytes, retainUntil }) => ({ position, sizeBytes, retainUntil })),
      [0, 1].map((position) => ({
        position,
        sizeBytes: 3_000_000_000,
        retainUntil: (task.completedAt ?? 0) + 7 * 86_400,
      })),
    );
    const [first] = (await readTask(room.database, persistent)).outputs;
    assert.equal(first?.retainUntil, null);
    assert.equal(first?.storageTier, 'persistent');
  });

  it('happens only in the expected states', async () => {
    const taskId = await launchedTask(await room.newCaller());
    await room.rows(`UPDATE tasks SET status = 'archiving' WHERE id = $1`, taskId);

    const outcome = await settleTask(
      room.database,
      taskId,
      { status: 'fail', reason: 'cancelled' },
      { ...RETENTION, onlyFrom: ['queued', 'handling'] },
    );

    assert.equal(outcome, undefined);
    assert.equal((await readTask(room.database, taskId)).status, 'archiving');
  });

  // Proves S6.6-1.
  it('schedules no callback when none was requested', async () => {
    const taskId = await launchedTask(await room.newCaller());

    await settleTask(room.database, taskId, { status: 'fail', reason: 'no_output' }, RETENTION);

    assert.deepEqual(await room.rows('SELECT kind FROM outbox WHERE subject_id = $1', taskId), []);
    assert.equal((await readTask(room.database, taskId)).callback, null);
  });

  it('leaves nothing behind when a part of it fails', async () => {
    const taskId = await launchedTask(await room.newCaller());
    const impossible = { ...output(0), type: null as unknown as string };

    const verdict = { status: 'success', outputs: [impossible], capturedMicroUsd: PRICE } as const;
    await assert.rejects(settleTask(room.database, taskId, verdict, RETENTION));

    assert.equal((await readTask(room.database, taskId)).status, 'queued');
    assert.deepEqual(await entriesOf(taskId), [{ kind: 'hold', amount: PRICE }]);
  });
});
