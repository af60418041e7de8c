/** Waking a task that has got a slot: at once, by the process that gave it the slot, and at the latest by a launcher. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import { newTaskId } from '../../src/domain/ids.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { requestWork } from '../../src/tasks/outbox/outbox.ts';
import { createTaskWaker } from '../../src/tasks/outbox/wake-task.ts';
import { openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

describe('the wake of a task', () => {
  let room: TaskRoom;
  let accountId = '';
  before(async () => {
    room = await openTaskRoom();
    ({ accountId } = await room.newCaller());
  });
  after(() => room.close());

  const rowOf = async (taskId: string) => {
    const [row] = await room.rows<{ isDue: boolean; deliveries: number }>(
      'SELECT due_at <= now() AS "isDue", deliveries FROM outbox WHERE subject_id = $1',
      taskId,
    );
    return row;
  };

  it('is delivered once it is committed, and its row is removed', async () => {
    const told: string[] = [];
    const waker = createTaskWaker({
      database: room.database,
      deliver: (taskId) => Promise.resolve(void told.push(taskId)),
      logger: silentLogger(),
    });
    const taskId = newTaskId();

    const begin = await room.database.transaction((transaction) => waker.wake(transaction, { taskId, accountId }));

    assert.deepEqual([told, await rowOf(taskId)], [[], { isDue: false, deliveries: 1 }]);
    begin?.();
    await waker.close();
    assert.deepEqual([told, await rowOf(taskId)], [[taskId], undefined]);
  });

  it('is left to the launchers if Temporal does not answer, or if they may be delivering it', async () => {
    let failures = 0;
    const waker = createTaskWaker({
      database: room.database,
      deliver: () => Promise.reject(new Error(`no answer ${(failures += 1)}`)),
      logger: silentLogger(),
    });
    const [failing, known] = [newTaskId(), newTaskId()];
    await requestWork(room.database, 'wake_task', accountId, known);

    const begin = await waker.wake(room.database, { taskId: failing, accountId });
    const nothing = await waker.wake(room.database, { taskId: known, accountId });

    assert.equal(nothing, undefined);
    assert.deepEqual(await rowOf(known), { isDue: true, deliveries: 0 });
    begin?.();
    await waitFor('the row is due', async () => (await rowOf(failing))?.isDue === true);
    await waker.close();
    assert.equal(failures, 1);
  });
});
