/**
 * Many tasks at a capped upstream at the same time (docs/decisions/0016): how few transactions they take, and that the
 * slots are used for as long as tasks wait.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import type { Database } from '../../src/database/database.ts';
import { newId } from '../../src/domain/ids.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { UpstreamBusyError, createUpstreamDatabase } from '../../src/limits/row-databases.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createUpstreamGate } from '../../src/upstreams/gate.ts';
import type { GatedUpstream, UpstreamGate } from '../../src/upstreams/gate.ts';
import type { Admission } from '../../src/upstreams/slots.ts';
import { openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { taskOf } from './workers-at.ts';

describe('many tasks at a capped upstream', () => {
  let room: TaskRoom;
  before(async () => {
    room = await openTaskRoom();
  });
  after(() => room.close());

  const upstream = (concurrency: number): GatedUpstream => ({ name: newId('req'), concurrency });

  /** A database whose statements and transactions begin when the test lets them. */
  function heldDatabase(): { readonly database: Database; readonly waiting: () => number; letAllBegin(): void } {
    let waiting = 0;
    let letAllBegin = (): void => {};
    const begun = new Promise<void>((resolve) => (letAllBegin = resolve));
    const database: Database = {
      ...room.database,
      async query(statement, values) {
        await begun;
        return room.database.query(statement, values);
      },
      async transaction(work) {
        waiting += 1;
        await begun;
        return room.database.transaction(work);
      },
    };
    return { database, waiting: () => waiting, letAllBegin };
  }

  /** One whose only slot is taken. */
  async function fullUpstream(): Promise<GatedUpstream> {
    const there = upstream(1);
    const gate = createUpstreamGate({ database: room.database, logger: silentLogger() });
    assert.equal((await gate.enter(there, taskOf('acct_first'))).kind, 'open');
    return there;
  }

  it('join its queue in a few transactions if they arrive while its row is locked', async () => {
    const held = heldDatabase();
    const gate = createUpstreamGate({
      database: room.database,
      upstreamDatabase: () => held.database,
      logger: silentLogger(),
    });
    const there = await fullUpstream();
    room.forgetStatements();

    const entries = Array.from({ length: 60 }, (_, index) => gate.enter(there, taskOf(`acct_${index}`)));
    const looks = () => room.statements.filter((name) => name === 'find_upstream_slot').length;
    await waitFor('every task has found the upstream full', () => looks() === 60 && held.waiting() > 0);
    held.letAllBegin();
    const kinds = (await Promise.all(entries)).map(({ kind }) => kind);

    assert.deepEqual(
      kinds,
      Array.from({ length: 60 }, () => 'full'),
    );
    const transactions = room.statements.filter((name) => name === 'lock_upstream').length;
    assert.ok(transactions <= 10, `${transactions} transactions`);
  });

  it('keep none waiting that comes for the slot that it was given', async () => {
    const held = heldDatabase();
    const there = upstream(1);
    const gates = [room.database, held.database].map((database) =>
      createUpstreamGate({ database: room.database, upstreamDatabase: () => database, logger: silentLogger() }),
    );
    const [free, busy] = gates as [UpstreamGate, UpstreamGate];
    const [first, second] = [taskOf('acct_a'), taskOf('acct_b')];
    await free.enter(there, first);
    await free.enter(there, second);
    await free.release(there, first.taskId);

    const others = Array.from({ length: 5 }, (_, index) => busy.enter(there, taskOf(`acct_new_${index}`)));
    await waitFor('the others wait for the row', () => held.waiting() > 0);
    assert.equal((await busy.enter(there, second)).kind, 'open');

    held.letAllBegin();
    assert.ok((await Promise.all(others)).every(({ kind }) => kind === 'full'));
  });

  it('fail alone if only one of those in a transaction is at fault', async () => {
    const held = heldDatabase();
    const there = await fullUpstream();
    const outsider = taskOf('acct_outsider');
    const gate = createUpstreamGate({
      database: room.database,
      upstreamDatabase: () => ({
        ...held.database,
        transaction: (work) =>
          held.database.transaction((transaction) =>
            work({
              query: (statement, values = []) =>
                values.includes(outsider.taskId)
                  ? Promise.reject(new Error('the one at fault'))
                  : transaction.query(statement, values),
            }),
          ),
      }),
      logger: silentLogger(),
    });

    const entries = [taskOf('acct_a'), outsider, taskOf('acct_b')].map((task) => gate.enter(there, task));
    await waitFor('the first waits for the row', () => held.waiting() > 0);
    held.letAllBegin();
    const outcomes = await Promise.allSettled(entries);

    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
  });

  const CAP = 8;
  const TASKS = 120;
  for (const workers of [1, 4, 16]) {
    it(`use at least nine tenths of its slots with ${workers} workers`, async () => {
      const woken: Admission[] = [];
      const gates = Array.from({ length: workers }, () =>
        createUpstreamGate({
          database: room.database,
          upstreamDatabase: createUpstreamDatabase(room.database, 10),
          logger: silentLogger(),
          wake(_, admission) {
            woken.push(admission);
            return Promise.resolve(undefined);
          },
        }),
      );
      const gateOf = (index: number): UpstreamGate => gates[index % workers] ?? assert.fail();
      const there = upstream(CAP);
      const tasks = Array.from({ length: TASKS }, (_, index) => taskOf(`acct_${index % 7}`));
      const done = new Set<TaskId>();

      // All arrive together. A unit of time is as long as a job, and in each all of them end together.
      let coming: readonly Admission[] = tasks;
      let units = 0;
      let most = 0;
      while (done.size < TASKS) {
        const arrived = coming;
        const entries = await Promise.all(
          arrived.map((task, index) =>
            gateOf(index)
              .enter(there, task)
              .catch((error: unknown) => {
                // On a very busy machine: the activity would be retried.
                if (error instanceof UpstreamBusyError) return undefined;
                throw error;
              }),
          ),
        );
        const running = arrived.filter((_, index) => entries[index]?.kind === 'open');
        const failed = arrived.filter((_, index) => entries[index] === undefined);
        most = Math.max(most, running.length);
        await Promise.all(running.map(({ taskId }, index) => gateOf(index + units).release(there, taskId)));
        for (const { taskId } of running) done.add(taskId);
        coming = [...woken.splice(0), ...failed];
        units += 1;
      }

      assert.equal(most, CAP);
      const used = TASKS / (CAP * units);
      assert.ok(used >= 0.9, `${used} of the slots were used`);
    });
  }
});
