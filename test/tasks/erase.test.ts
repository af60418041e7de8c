/** Erasing a task, and erasing inputs by age (contract §4). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import { beginAttempt, finishAttempt, markExhausted } from '../../src/callbacks/attempts.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { eraseOldInputs, eraseTask } from '../../src/tasks/lifecycle/erase.ts';
import { readTask } from '../../src/tasks/record/read.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { body, openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

const CANARY = 'a canary that no one may find';
const REQUEST = body({
  input: { prompt: CANARY },
  metadata: { note: CANARY },
  storage: 'persistent',
  callback: { url: 'https://receiver.example.com/canary' },
});

describe('erasing a task', () => {
  let room: TaskRoom;
  before(async () => {
    room = await openTaskRoom();
  });
  after(() => room.close());

  async function finished(caller: Caller, key?: string): Promise<TaskId> {
    const { taskId } = await room.creator.create(caller, REQUEST, key);
    const output = {
      type: 'image',
      objectKey: `outputs/${taskId}`,
      mimeType: 'image/png',
      sizeBytes: 5,
      sha256: '0'.repeat(64),
    };
    const verdict = { status: 'success', outputs: [output], capturedMicroUsd: 10_000n } as const;
    await settleTask(room.database, taskId, verdict, { retentionDays: 7 });
    await room.rows(`UPDATE callbacks SET state = 'delivered' WHERE task_id = $1`, taskId);
    return taskId;
  }

  const erase = (caller: Caller, taskId: TaskId): Promise<void> =>
    eraseTask(room.database, caller.accountId, taskId, Date.now());

  /** Every row of every table as text. */
  async function everything(): Promise<string> {
    const tables = await room.rows<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`,
    );
    const texts = [];
    for (const { name } of tables)
      texts.push(JSON.stringify(await room.rows(`SELECT to_jsonb(t) AS row FROM "${name}" t`)));
    return texts.join('\n');
  }

  // Proves C4-14.
  it('deletes input and output, and retains the row, its money and its key', async () => {
    const caller = await room.newCaller();
    const taskId = await finished(caller, 'kept');
    assert.match(await everything(), new RegExp(CANARY));

    await erase(caller, taskId);

    assert.doesNotMatch(await everything(), new RegExp(`${CANARY}|receiver.example.com`));
    const task = await readTask(room.database, taskId, caller.accountId);
    assert.equal(task.status, 'success');
    assert.equal(task.capturedMicroUsd, 10_000n);
    assert.equal(task.metadata, null);
    assert.deepEqual(
      task.outputs.map(({ goneReason }) => goneReason),
      ['deleted'],
    );
    assert.equal((await room.account(caller)).persistentBytes, 0);
    assert.deepEqual(await verifyLedger(room.database), []);
    assert.deepEqual(await room.creator.create(caller, REQUEST, 'kept'), { taskId, isReplay: true });
  });

  it('retains the URL of a running callback until its delivery has ended, however it ends', async () => {
    const caller = await room.newCaller();
    for (const end of ['delivered', 'exhausted'] as const) {
      const taskId = await finished(caller);
      await room.rows(`UPDATE callbacks SET state = 'pending' WHERE task_id = $1`, taskId);
      await erase(caller, taskId);
      const [pending] = await room.rows<{ url: string }>('SELECT url FROM callbacks WHERE task_id = $1', taskId);
      assert.match(pending?.url ?? '', /canary/);

      if (end === 'exhausted') await markExhausted(room.database, taskId, 0);
      else {
        const attempt = await beginAttempt(room.database, taskId, 3);
        assert.ok(attempt);
        await finishAttempt(room.database, taskId, attempt.attempt, { httpStatus: 204 }, end, undefined);
      }

      assert.deepEqual(await room.rows('SELECT state, url FROM callbacks WHERE task_id = $1', taskId), [
        { state: end, url: '' },
      ]);
    }
  });

  it('has the same result once, twice, and concurrently', async () => {
    const caller = await room.newCaller();
    const taskId = await finished(caller);

    await Promise.all(Array.from({ length: 8 }, () => erase(caller, taskId)));
    await erase(caller, taskId);

    const events = await room.rows(`SELECT 1 FROM task_events WHERE task_id = $1 AND type = 'erased'`, taskId);
    assert.equal(events.length, 1);
    assert.equal((await room.account(caller)).persistentBytes, 0);
  });

  it('is rejected while the task is open, and for another account as if the task did not exist', async () => {
    const caller = await room.newCaller();
    const other = await room.newCaller();
    const { taskId } = await room.creator.create(caller, body(), undefined);

    await assert.rejects(erase(caller, taskId), { name: 'TaskNotFinishedError' });
    await assert.rejects(erase(other, taskId), { name: 'TaskNotFoundError' });
  });

  it('applies to inputs by their age, a batch at a time, and never to those of open tasks', async () => {
    const caller = await room.newCaller();
    const old = [await finished(caller), await finished(caller), await finished(caller)];
    const { taskId: open } = await room.creator.create(caller, body(), undefined);
    await eraseOldInputs(room.database, Date.now() - 3_600_000, 100);
    assert.equal((await inputsOf(old)).length, 3);

    const inAnHour = Date.now() + 3_600_000;
    const counts = [];
    do counts.push(await eraseOldInputs(room.database, inAnHour, 2));
    while (counts.at(-1) !== 0);

    assert.deepEqual(await inputsOf(old), []);
    assert.equal((await inputsOf([open])).length, 1);
    assert.equal((await readTask(room.database, old[0] as TaskId)).metadata?.['note'], CANARY);
  });

  function inputsOf(ids: readonly string[]): Promise<readonly unknown[]> {
    return room.rows('SELECT 1 FROM tasks WHERE id = ANY ($1) AND input IS NOT NULL', ids);
  }
});
