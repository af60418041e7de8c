/**
 * A capped upstream whose row stays locked, because a process was stopped while it released a slot: tasks of this
 * upstream wait, and no others do. All work of the others is done while the row is still locked. No slot is lost by
 * it.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { DatabaseUnavailableError } from '../../src/database/database.ts';
import { newId } from '../../src/domain/ids.ts';
import { REQUESTS_WAIT, createAccountDatabase, createUpstreamDatabase } from '../../src/limits/row-databases.ts';
import { createTaskCreator } from '../../src/tasks/create/create.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createUpstreamGate } from '../../src/upstreams/gate.ts';
import type { GatedUpstream, UpstreamGate } from '../../src/upstreams/gate.ts';
import type { Admission } from '../../src/upstreams/slots.ts';
import { lockRows } from '../support/locked-rows.ts';
import type { LockedRows } from '../support/locked-rows.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { taskOf } from './workers-at.ts';

/** As test/support/test-database.ts opens it. */
const POOL_SIZE = 10;
/** Tasks for the locked upstream meanwhile: more than the pool has connections. */
const MANY = 40;
const CAP = 3;
/** Tasks that each of the others processes, one after the other. */
const ROUNDS = 5;
const OTHERS = 4;

const LOCK_UPSTREAM = 'SELECT 1 FROM upstream_states WHERE upstream = $1 FOR UPDATE';

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom();
});
after(() => room.close());

interface Worker {
  readonly gate: UpstreamGate;
  /** The tasks that were admitted after a wait, in order. */
  readonly woken: readonly Admission[];
}

function startWorker(): Worker {
  const woken: Admission[] = [];
  const gate = createUpstreamGate({
    database: room.database,
    upstreamDatabase: createUpstreamDatabase(room.database, POOL_SIZE),
    logger: silentLogger(),
    wake(_, admission) {
      woken.push(admission);
      return Promise.resolve(undefined);
    },
  });
  return { gate, woken };
}

const tasksOf = (count: number): readonly Admission[] =>
  Array.from({ length: count }, (_, index) => taskOf(`acct_${index}`));

async function slotsOf({ name }: GatedUpstream): Promise<readonly string[]> {
  const rows = await room.rows<{ id: string }>('SELECT task_id AS id FROM upstream_slots WHERE upstream = $1', name);
  return rows.map(({ id }) => id).sort();
}

/** An upstream with all slots taken, and as many tasks in its queue. */
async function fullUpstream({ gate }: Worker) {
  const there: GatedUpstream = { name: newId('req'), concurrency: CAP };
  const tasks = tasksOf(2 * CAP);
  for (const task of tasks) await gate.enter(there, task);
  return { there, inside: tasks.slice(0, CAP), waiting: tasks.slice(CAP) };
}

const lock = ({ name }: GatedUpstream): Promise<LockedRows> => lockRows(room.url, LOCK_UPSTREAM, name);
const idsOf = (tasks: readonly Admission[]): string[] => tasks.map(({ taskId }) => taskId).sort();

describe('an upstream whose row stays locked', () => {
  it('does not block other upstreams, creates and settlements, and loses no slot', async () => {
    const accountDatabase = createAccountDatabase(room.database, POOL_SIZE, REQUESTS_WAIT);
    const creator = createTaskCreator({ ...room.creatorDependencies, accountDatabase });
    const others = await Promise.all(Array.from({ length: OTHERS }, () => room.newCaller()));
    const worker = startWorker();
    const { gate, woken } = worker;
    const { there, inside, waiting } = await fullUpstream(worker);
    const elsewhere: GatedUpstream = { name: newId('req'), concurrency: OTHERS };
    const locked = await lock(there);
    try {
      const left = inside.map(({ taskId }) => gate.release(there, taskId));
      const asked = [
        ...tasksOf(MANY).map((task) => gate.enter(there, task)),
        ...tasksOf(MANY).map(({ taskId }) => gate.release(there, taskId)),
        ...tasksOf(MANY).map(() => gate.report(there, 'failed')),
        gate.tidyQueues(),
      ].map((request) => request.catch((error: unknown) => error));

      await Promise.all(
        others.map(async (caller) => {
          for (let done = 0; done < ROUNDS; done++) {
            const { taskId } = await creator.create(caller, body(), undefined);
            const task = { taskId, accountId: caller.accountId };
            assert.equal((await gate.enter(elsewhere, task)).kind, 'open');
            await gate.report(elsewhere, 'answered');
            await gate.release(elsewhere, taskId);
            const verdict = { status: 'fail', reason: 'no_output' } as const;
            await settleTask(accountDatabase(caller.accountId), taskId, verdict, { retentionDays: 7 });
          }
        }),
      );
      assert.deepEqual(await slotsOf(elsewhere), []);
      assert.deepEqual(await slotsOf(there), idsOf(inside), 'the row was free before all others were done');

      // All of them are answered before the row is free, including the activities that wait for them.
      await Promise.all(left);
      const outcomes = await Promise.all(asked);
      assert.ok(outcomes.slice(0, MANY).every((outcome) => outcome instanceof DatabaseUnavailableError));
    } finally {
      await locked.release();
    }

    await waitFor('the slots are given back', async () => (await slotsOf(there)).join() === idsOf(waiting).join());
    assert.deepEqual(idsOf(woken), idsOf(waiting));
  });

  it('leaves a task its slot that has returned before the slot could be released', async () => {
    const worker = startWorker();
    const { gate } = worker;
    const { there, inside, waiting } = await fullUpstream(worker);
    const [back, ...gone] = inside;
    assert.ok(back);
    const locked = await lock(there);
    try {
      await Promise.all(inside.map(({ taskId }) => gate.release(there, taskId)));
      assert.equal((await gate.enter(there, back)).kind, 'open');
    } finally {
      await locked.release();
    }

    await waitFor('the other slots are given back', async () => {
      const slots = await slotsOf(there);
      return !gone.some(({ taskId }) => slots.includes(taskId));
    });
    const expected = [back, ...waiting.slice(0, gone.length)];
    assert.deepEqual(await slotsOf(there), idsOf(expected));
  });
});
