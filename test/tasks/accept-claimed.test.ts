/** Tasks that are admitted to a running slot when they are accepted, and claimed for the process that accepts them. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { Acceptance } from '../../src/tasks/create/accept.ts';
import { createTaskCreator } from '../../src/tasks/create/create.ts';
import type { TaskCreator } from '../../src/tasks/create/create.ts';
import { claimOutbox, removeOutbox } from '../../src/tasks/outbox/outbox.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { body, openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

describe('a process that can deliver starts itself', () => {
  let room: TaskRoom;
  let creator: TaskCreator;
  let hasRoom = true;
  before(async () => {
    room = await openTaskRoom();
    creator = createTaskCreator({ ...room.creatorDependencies, mayClaim: () => hasRoom });
  });
  after(() => room.close());

  const create = (caller: Caller): Promise<Acceptance> => creator.create(caller, body(), undefined);
  const counters = async (caller: Caller): Promise<unknown> => {
    const { queued, running } = await room.account(caller);
    return { queued, running };
  };

  it('gets the start with its task, and no other claims it while its lease lasts', async () => {
    const caller = await room.newCaller({ runningCap: 2 });

    const { taskId, claimed } = await create(caller);

    assert.ok(claimed?.kind === 'start_task');
    assert.equal(claimed.subjectId, taskId);
    assert.equal(claimed.model, 'acme/images');
    assert.deepEqual(await counters(caller), { queued: 0, running: 1 });
    assert.deepEqual(await claimOutbox(room.database, 10), []);
    await removeOutbox(room.database, [claimed.id]);
    assert.deepEqual(await room.rows('SELECT 1 FROM outbox WHERE subject_id = $1', taskId), []);
  });

  it('leaves it to others when it dies before delivery', async () => {
    const caller = await room.newCaller();
    const { taskId } = await create(caller);

    await room.rows(`UPDATE outbox SET due_at = now() WHERE subject_id = $1`, taskId);

    const [item] = await claimOutbox(room.database, 10);
    assert.equal(item?.subjectId, taskId);
    assert.deepEqual(await counters(caller), { queued: 0, running: 1 });
  });

  it('gets as many as there are slots, and never one before those that are already waiting', async () => {
    const caller = await room.newCaller({ runningCap: 2 });

    const first = await Promise.all(Array.from({ length: 5 }, () => create(caller)));
    assert.equal(first.filter(({ claimed }) => claimed !== undefined).length, 2);
    assert.deepEqual(await counters(caller), { queued: 3, running: 2 });

    const [running] = first.filter(({ claimed }) => claimed !== undefined);
    assert.ok(running);
    await settleTask(room.database, running.taskId, { status: 'fail', reason: 'cancelled' }, { retentionDays: 7 });
    assert.equal((await create(caller)).claimed, undefined);
    assert.deepEqual(await counters(caller), { queued: 4, running: 1 });
    assert.deepEqual(await verifyLedger(room.database), []);
  });

  it('gets nothing when it has no free slot, nor for a replay', async () => {
    const caller = await room.newCaller();
    hasRoom = false;
    assert.equal((await create(caller)).claimed, undefined);
    hasRoom = true;
    const keyed = await room.newCaller();
    assert.ok((await creator.create(keyed, body(), 'once')).claimed);

    assert.equal((await creator.create(keyed, body(), 'once')).claimed, undefined);
  });
});
