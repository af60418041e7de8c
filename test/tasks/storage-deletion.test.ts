/**
 * Deleting stored outputs, on the database: by their owner, by an operator, with their task, and many simultaneously.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { verifyLedger } from '../../src/billing/verify.ts';
import { deleteOutputsOfTask, OutputNotFoundError, markOutputDeleted } from '../../src/objects/outputs/outputs.ts';
import { finishPromotion } from '../../src/tasks/lifecycle/storage-operations.ts';
import { bytesAreThere, createStorageRoom } from '../objects/stored-outputs.ts';
import type { StorageRoom } from '../objects/stored-outputs.ts';
import { openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

const DAY_MS = 86_400_000;

let room: TaskRoom;
let storage: StorageRoom;
before(async () => {
  room = await openTaskRoom();
  storage = createStorageRoom(room);
});
after(async () => {
  assert.deepEqual(await verifyLedger(room.database), []);
  await room.close();
});

describe('a deletion', () => {
  it('makes outputs unavailable immediately, once, and adds to the timelines of their tasks', async () => {
    const caller = await room.newCaller();
    const one = await storage.taskWithOutputs(caller, [1, 1]);
    const other = await storage.taskWithOutputs(caller, [1]);
    const ids = [...one.outputIds, ...other.outputIds];

    assert.deepEqual(await storage.remove(caller, [...ids, ...ids]), { accepted: ids, rejected: [] });
    assert.deepEqual(await storage.remove(caller, ids), {
      accepted: [],
      rejected: ids.map((id) => ({ id, reason: 'already_deleted' })),
    });

    for (const id of ids) assert.equal((await storage.outputOf(id)).goneReason, 'deleted');
    assert.deepEqual(
      await storage.eventsOf(one.taskId),
      one.outputIds.map((outputId) => ({ type: 'output_deleted', detail: { outputId } })),
    );
    assert.equal((await storage.eventsOf(other.taskId)).length, 1);
  });

  it('of 8 concurrent requests is accepted once for each output', async () => {
    const caller = await room.newCaller();
    const { taskId, outputIds } = await storage.taskWithOutputs(caller, [2, 3, 4], 'persistent');
    const other = await storage.taskWithOutputs(caller, [2, 3, 4]);
    const ids = [...outputIds, ...other.outputIds];
    assert.equal(await storage.persistentBytes(caller), 9);

    const decisions = await Promise.all(
      Array.from({ length: 8 }, (_, index) => storage.remove(caller, index % 2 === 0 ? ids : ids.toReversed())),
    );

    assert.deepEqual(decisions.flatMap(({ accepted }) => accepted).toSorted(), ids.toSorted());
    assert.equal(await storage.persistentBytes(caller), 0);
    assert.equal((await storage.eventsOf(taskId)).length, 3);
  });

  it('reports not_owned for another account’s outputs and for unknown ids, and changes nothing', async () => {
    const owner = await room.newCaller();
    const { outputIds } = await storage.taskWithOutputs(owner, [1]);
    const [id = ''] = outputIds;

    const decision = await storage.remove(await room.newCaller(), [id, 'out_none']);

    assert.deepEqual(decision.rejected, [
      { id, reason: 'not_owned' },
      { id: 'out_none', reason: 'not_owned' },
    ]);
    assert.equal((await storage.outputOf(id)).goneReason, null);
  });

  it('of a persistent output ends its storage and releases its bytes', async () => {
    const caller = await room.newCaller();
    const { outputIds } = await storage.taskWithOutputs(caller, [12, 30]);
    const [id = ''] = outputIds;
    const now = Date.now();
    await storage.promoteAt(caller, outputIds, now);

    await storage.remove(caller, [id], now + DAY_MS);

    assert.deepEqual(await storage.periodsOf(id), [{ began: now, ended: now + DAY_MS }]);
    assert.equal(await storage.persistentBytes(caller), 30);
  });

  it('concurrent with promotions and settlements of the same account counts every byte', async () => {
    const caller = await room.newCaller();
    const tasks = await Promise.all(Array.from({ length: 5 }, () => storage.taskWithOutputs(caller, [3, 5])));
    const ids = tasks.flatMap(({ outputIds }) => outputIds);

    await Promise.all([
      storage.promote(caller, ids),
      storage.remove(caller, ids.filter((_, index) => index % 3 === 0).toReversed()),
      ...ids.map((id) => finishPromotion(room.database, id, Date.now(), bytesAreThere)),
      storage.taskWithOutputs(caller, [7], 'persistent'),
      storage.promote(caller, ids.toReversed()),
    ]);
    await Promise.all(ids.map((id) => finishPromotion(room.database, id, Date.now(), bytesAreThere)));

    await storage.persistentBytes(caller);
    const open = await room.rows<{ size: number }>(
      `SELECT coalesce(sum(size_bytes), 0)::float8 AS size FROM storage_periods WHERE account_id = $1 AND ended_at IS NULL`,
      caller.accountId,
    );
    assert.equal(open[0]?.size, await storage.persistentBytes(caller));
  });

  it('by an operator needs no account, releases the bytes, and finds nothing a second time', async () => {
    const caller = await room.newCaller();
    const { outputIds } = await storage.taskWithOutputs(caller, [12], 'persistent');
    const [id = ''] = outputIds;

    assert.match(await markOutputDeleted(room.database, id), /^outputs\//);
    await assert.rejects(markOutputDeleted(room.database, id), OutputNotFoundError);

    assert.equal(await storage.persistentBytes(caller), 0);
  });

  it('of all outputs of a task affects no other task', async () => {
    const caller = await room.newCaller();
    const one = await storage.taskWithOutputs(caller, [1, 2], 'persistent');
    const other = await storage.taskWithOutputs(caller, [4], 'persistent');

    await room.database.transaction((transaction) => deleteOutputsOfTask(transaction, 'acc_none', one.taskId));
    assert.equal(await storage.persistentBytes(caller), 7);
    await room.database.transaction((transaction) => deleteOutputsOfTask(transaction, caller.accountId, one.taskId));

    assert.equal(await storage.persistentBytes(caller), 4);
    assert.equal((await storage.outputOf(other.outputIds[0] ?? '')).goneReason, null);
  });
});
