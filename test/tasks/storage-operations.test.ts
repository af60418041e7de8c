/**
 * Operations on stored outputs, on the database: promoting them, and deleting them by their owner, by an operator and
 * with their task. Every response, the counted bytes, and many simultaneously.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { updateLimits } from '../../src/accounts/accounts.ts';
import { adjust } from '../../src/billing/ledger.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { Queryable } from '../../src/database/database.ts';
import type { Isolation } from '../../src/database/failing-items.ts';
import { newId } from '../../src/domain/ids.ts';
import { OutputNotFoundError, deleteOutputsOfTask, markOutputDeleted } from '../../src/objects/outputs/outputs.ts';
import { ACTIVITIES_WAIT, AccountBusyError, createAccountDatabase } from '../../src/limits/row-databases.ts';
import { finishPromotion, requestStalledPromotions } from '../../src/tasks/lifecycle/storage-operations.ts';
import { bytesAreMissing, bytesAreThere, createStorageRoom } from '../objects/stored-outputs.ts';
import type { StorageRoom } from '../objects/stored-outputs.ts';
import { lockRows } from '../support/locked-rows.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

const GB = 1_000_000_000;
/** As test/support/test-database.ts opens it. */
const POOL_SIZE = 10;
const MINUTE_MS = 60_000;
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

describe('a promotion', () => {
  it('is accepted with its bytes counted and its workflow scheduled, and shows as pending', async () => {
    const { caller, outputIds } = await storage.newOutputs([3, 5]);

    assert.deepEqual(await storage.promote(caller, outputIds), { accepted: outputIds, rejected: [] });

    assert.equal(await storage.persistentBytes(caller), 8);
    for (const id of outputIds) {
      const output = await storage.outputOf(id);
      assert.equal(output.isPending, true);
      assert.equal(output.tier, 'temp');
    }
    const { accountId } = caller;
    assert.deepEqual(
      await storage.outboxOf(...outputIds),
      outputIds.toSorted().map((id) => ({ id, accountId, isReady: true })),
    );
  });

  it('makes the output persistent from that moment on, permanently, and adds to the timeline of its task', async () => {
    const { caller, taskId, outputIds, id } = await storage.newOutputs([7]);
    const now = Date.now() + DAY_MS;
    await storage.promote(caller, outputIds, now);

    assert.equal(await finishPromotion(room.database, id, now, bytesAreThere), 'persistent');

    assert.deepEqual(await storage.outputOf(id), {
      tier: 'persistent',
      isPending: false,
      retainUntil: null,
      goneReason: null,
    });
    assert.deepEqual(await storage.periodsOf(id), [{ began: now, ended: null }]);
    assert.deepEqual(await storage.eventsOf(taskId), [{ type: 'output_promoted', detail: { outputId: id } }]);
    assert.equal(await storage.persistentBytes(caller), 7);
  });

  it('ends once, however often and in however many processes its activity runs', async () => {
    const { caller, taskId, outputIds, id } = await storage.newOutputs([7]);
    await storage.promote(caller, outputIds);

    const finish = (): Promise<string> => finishPromotion(room.database, id, Date.now(), bytesAreThere);
    const outcomes = await Promise.all(Array.from({ length: 8 }, finish));

    assert.deepEqual(outcomes.toSorted(), [...Array.from({ length: 7 }, () => 'not_pending'), 'persistent']);
    assert.equal(await finish(), 'not_pending');
    assert.equal((await storage.periodsOf(id)).length, 1);
    assert.equal((await storage.eventsOf(taskId)).length, 1);
    assert.equal(await storage.persistentBytes(caller), 7);
  });

  // Proves C5-11.
  it('requested 8 times concurrently is accepted once, and its bytes are counted once', async () => {
    const { caller, outputIds, id } = await storage.newOutputs([11]);

    const decisions = await Promise.all(Array.from({ length: 8 }, () => storage.promote(caller, outputIds)));

    assert.equal(decisions.filter(({ accepted }) => accepted.includes(id)).length, 1);
    const rejections = decisions.flatMap(({ rejected }) => rejected);
    assert.deepEqual(
      rejections,
      Array.from({ length: 7 }, () => ({ id, reason: 'storage_op_pending' })),
    );
    assert.equal(await storage.persistentBytes(caller), 11);
  });

  // Proves C5-6, C5-9, C5-10.
  it('returns a result for each id in request order, once for a duplicate id', async () => {
    const caller = await room.newCaller();
    const stranger = await room.newCaller();
    const [kept = '', pending = '', persistent = '', deleted = ''] = (
      await storage.taskWithOutputs(caller, [1, 1, 1, 1])
    ).outputIds;
    const [foreign = ''] = (await storage.taskWithOutputs(stranger, [1])).outputIds;
    await storage.promote(caller, [pending]);
    await storage.promoteAt(caller, [persistent], Date.now());
    await storage.remove(caller, [deleted]);

    const decision = await storage.promote(caller, [foreign, persistent, kept, 'out_none', deleted, kept, pending]);

    assert.deepEqual(decision, {
      accepted: [kept],
      rejected: [
        { id: foreign, reason: 'not_owned' },
        { id: persistent, reason: 'not_promotable' },
        { id: 'out_none', reason: 'not_owned' },
        { id: deleted, reason: 'already_deleted' },
        { id: pending, reason: 'storage_op_pending' },
      ],
    });
    assert.equal(await storage.persistentBytes(stranger), 0);
  });

  // Proves C5-7.
  it('is rejected as insufficient when the balance does not cover the first day, to the micro', async () => {
    const { caller, outputIds, id } = await storage.newOutputs([GB]);
    const now = Date.parse('2026-06-10');
    const leave = async (microUsd: bigint): Promise<void> => {
      const { availableMicroUsd } = await room.account(caller);
      await room.database.transaction((transaction) =>
        adjust(transaction, caller.accountId, microUsd - availableMicroUsd, newId('topup')),
      );
    };

    // 50,000 / 30 days, rounded up.
    await leave(1_666n);
    assert.deepEqual(await storage.promote(caller, outputIds, now), {
      accepted: [],
      rejected: [{ id, reason: 'insufficient' }],
    });
    assert.equal(await storage.persistentBytes(caller), 0);
    await leave(1_667n);
    assert.deepEqual((await storage.promote(caller, outputIds, now)).accepted, [id]);
    assert.equal((await room.account(caller)).availableMicroUsd, 1_667n);
  });

  // Proves C5-8.
  it('is rejected when it exceeds the cap; what fits beside it is accepted', async () => {
    const caller = await room.newCaller();
    await updateLimits(room.database, caller.accountId, { storageCapBytes: 10 });
    const { outputIds } = await storage.taskWithOutputs(caller, [6, 6, 4]);
    const [first = '', second = '', third = ''] = outputIds;

    assert.deepEqual(await storage.promote(caller, outputIds), {
      accepted: [first, third],
      rejected: [{ id: second, reason: 'cap_exceeded' }],
    });
    assert.equal(await storage.persistentBytes(caller), 10);
  });

  it('of many concurrent outputs never counts more than the cap', async () => {
    const caller = await room.newCaller();
    await updateLimits(room.database, caller.accountId, { storageCapBytes: 25 });
    const tasks = await Promise.all(Array.from({ length: 6 }, () => storage.taskWithOutputs(caller, [5, 5])));

    const decisions = await Promise.all(tasks.map(({ outputIds }) => storage.promote(caller, outputIds.toReversed())));

    assert.equal(decisions.flatMap(({ accepted }) => accepted).length, 5);
    assert.equal(await storage.persistentBytes(caller), 25);
  });

  it('of an output whose bytes are missing is given up, and its bytes are released', async () => {
    const { caller, taskId, outputIds, id } = await storage.newOutputs([9]);
    await storage.promote(caller, outputIds);

    assert.equal(await finishPromotion(room.database, id, Date.now(), bytesAreMissing), 'given_up');
    assert.equal(await finishPromotion(room.database, id, Date.now(), bytesAreMissing), 'not_pending');

    assert.equal((await storage.outputOf(id)).isPending, false);
    assert.equal(await storage.persistentBytes(caller), 0);
    assert.deepEqual(await storage.eventsOf(taskId), []);
  });

  it('of an account whose row is locked leaves connections to the promotions of others', async (t) => {
    const [frozen, other] = [await room.newCaller(), await room.newCaller()];
    const { outputIds: lost } = await storage.taskWithOutputs(
      frozen,
      Array.from({ length: 2 * POOL_SIZE }, () => 1),
    );
    const { outputIds: saved } = await storage.taskWithOutputs(other, [1]);
    await storage.promote(frozen, lost);
    await storage.promote(other, saved);
    const locking = 'SELECT FROM account_counters WHERE account_id = $1 FOR UPDATE';
    const operator = await lockRows(room.url, locking, frozen.accountId);
    t.after(() => operator.release());
    const accountDatabase = createAccountDatabase(room.database, POOL_SIZE, ACTIVITIES_WAIT);
    const finish = (id: string, hasBytes: typeof bytesAreThere): Promise<string> =>
      finishPromotion(room.database, id, Date.now(), hasBytes, accountDatabase);

    let rejected = 0;
    const givenUp = lost.map((id) =>
      finish(id, bytesAreMissing).catch((error: unknown) => {
        rejected += 1;
        return error;
      }),
    );
    await waitFor('most have given up waiting for a connection', () => rejected >= POOL_SIZE);
    for (const id of saved) assert.equal(await finish(id, bytesAreThere), 'persistent');

    await operator.release();
    const outcomes = await Promise.all(givenUp);
    for (const outcome of outcomes) assert.ok(outcome === 'given_up' || outcome instanceof AccountBusyError);
    // Temporal retries those.
    for (const id of lost) await finish(id, bytesAreMissing);
    assert.equal(await storage.persistentBytes(frozen), 0);
  });

  it('of an output that is deleted meanwhile ends with it', async () => {
    const { caller, outputIds, id } = await storage.newOutputs([9]);
    await storage.promote(caller, outputIds);

    const outcome = await finishPromotion(room.database, id, Date.now(), async () => {
      // In the middle of the activity, while it checks the store.
      assert.deepEqual((await storage.remove(caller, outputIds)).accepted, [id]);
      return true;
    });

    assert.equal(outcome, 'not_pending');
    assert.deepEqual(await storage.periodsOf(id), []);
    assert.equal(await storage.persistentBytes(caller), 0);
  });

  it('accepted in the last moment of the retention is completed, and not later than a day', async () => {
    const caller = await room.newCaller();
    const [saved = '', lost = ''] = (await storage.taskWithOutputs(caller, [1, 1])).outputIds;
    const lastMoment = (await storage.retentionEndOf(saved)) - 1;
    await storage.promote(caller, [saved, lost], lastMoment);

    assert.equal(await finishPromotion(room.database, saved, lastMoment + DAY_MS / 2, bytesAreThere), 'persistent');
    assert.equal(await finishPromotion(room.database, lost, lastMoment + 2 * DAY_MS, bytesAreThere), 'given_up');

    assert.equal(await storage.persistentBytes(caller), 1);
  });

  // Proves C5-10.
  it('is rejected as deleted from the end of the retention on, whether that was recorded or not', async () => {
    const { caller, outputIds, id } = await storage.newOutputs([1]);
    const end = await storage.retentionEndOf(id);

    for (const attempt of [storage.promote, storage.remove]) {
      assert.deepEqual((await attempt(caller, outputIds, end)).rejected, [{ id, reason: 'already_deleted' }]);
    }
  });

  it('whose workflow was lost is scheduled again after two minutes', async () => {
    const { caller, outputIds, id } = await storage.newOutputs([1]);
    const now = Date.now();
    await storage.promote(caller, outputIds, now);
    await room.rows(`DELETE FROM outbox WHERE kind = 'promote_output'`);

    await requestStalledPromotions(room.database, now + 2 * MINUTE_MS - 1_000);
    assert.deepEqual(await storage.outboxOf(id), []);
    await requestStalledPromotions(room.database, now + 2 * MINUTE_MS + 1);
    await requestStalledPromotions(room.database, now + 3 * MINUTE_MS);
    assert.equal((await storage.outboxOf(id)).length, 1);
  });

  it('is scheduled again although another one fails', async () => {
    const { caller, outputIds } = await storage.newOutputs([1, 1]);
    const [bad = '', good = ''] = outputIds.toSorted();
    const now = Date.now();
    await storage.promote(caller, outputIds, now);
    await room.rows(`DELETE FROM outbox WHERE kind = 'promote_output'`);
    const database: Queryable = {
      query: (statement, values) =>
        values?.includes(bad) === true
          ? Promise.reject(new Error('its row stays locked'))
          : room.database.query(statement, values),
    };
    const failed: string[] = [];
    const isolate: Isolation = async ({ items, idOf, work }) => {
      for (const item of items) await work(item).catch(() => failed.push(idOf(item)));
      return { done: items, failed: [] };
    };

    await requestStalledPromotions(database, now + 3 * MINUTE_MS, isolate);

    assert.deepEqual(failed, [bad]);
    assert.equal((await storage.outboxOf(good)).length, 1);
  });
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
    const { caller, taskId, outputIds } = await storage.newOutputs([2, 3, 4], 'persistent');
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
    const { caller, outputIds, id } = await storage.newOutputs([12, 30]);
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
    const { caller, id } = await storage.newOutputs([12], 'persistent');

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
