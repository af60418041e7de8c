/** What is recorded again for a task when the database has lost commits (docs/decisions/0005). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { cancelTask } from '../../src/tasks/lifecycle/cancel.ts';
import { restoreGeneration } from '../../src/tasks/repair/lost-commits.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { beginHandling, readWorkingTask } from '../../src/tasks/lifecycle/transitions.ts';
import { readGeneration, recordJob } from '../../src/tasks/lifecycle/generations.ts';
import { body, openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

describe('a generation that is restored', () => {
  let room: TaskRoom;
  before(async () => {
    room = await openTaskRoom();
  });
  after(() => room.close());

  /** A task whose cancel is on its way to Temporal. */
  async function cancelledTask(): Promise<TaskId> {
    const caller = await room.newCaller();
    const { taskId } = await room.creator.create(caller, body(), undefined);
    await claimOutbox(room.database, 1_000);
    await beginHandling(room.database, taskId, 60);
    await cancelTask(room.database, caller.accountId, taskId, 7);
    return taskId;
  }

  for (const isDecided of [true, false]) {
    it(`${isDecided ? 'takes a cancel away that came after' : 'leaves a cancel where it came before'} the end of its task`, async () => {
      const [taskId, other] = [await cancelledTask(), await cancelledTask()];
      const known = { state: 'submitted', jobId: 'job-1' } as const;

      await restoreGeneration(room.database, taskId, { upstreamName: 'one', upstreamIndex: 0 }, known, isDecided);

      assert.equal((await readGeneration(room.database, taskId))?.state, 'submitted');
      assert.equal((await readWorkingTask(room.database, taskId)).isCancelRequested, !isDecided);
      const rows = await room.rows<{ id: string }>(
        `SELECT subject_id AS id FROM outbox WHERE kind = 'cancel_task' AND subject_id = ANY ($1) ORDER BY id`,
        [taskId, other],
      );
      assert.deepEqual(
        rows.map(({ id }) => id),
        isDecided ? [other] : [taskId, other],
      );
    });
  }

  it('overwrites nothing that a concurrent attempt has recorded meanwhile', async () => {
    const taskId = await cancelledTask();
    const at = { upstreamName: 'one', upstreamIndex: 0, label: 1 };
    await recordJob(room.database, await readWorkingTask(room.database, taskId), at, 'job-1');

    await restoreGeneration(room.database, taskId, at, { state: 'intent' }, false);

    assert.deepEqual(await readGeneration(room.database, taskId), {
      state: 'submitted',
      jobId: 'job-1',
      upstreamIndex: 0,
      files: null,
    });
  });
});
