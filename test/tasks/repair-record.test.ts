/** The record of repairs: written with them, never blocking them, and retained only for a time. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { REPAIR_RETENTION_DAYS } from '@darkroom/api/facts/limits';
import { listRepairs, pruneRepairs, recordRepairs } from '../../src/tasks/repair/repair-record.ts';
import { repairCallbacks, repairTask } from '../../src/tasks/repair/repair.ts';
import { readTask } from '../../src/tasks/record/read.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { body, openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom();
});
after(() => room.close());
beforeEach(async () => {
  await room.rows('DELETE FROM repairs');
});

function dependencies() {
  return {
    database: room.database,
    describe: async () => 'missing' as const,
    retentionDays: 7,
    metrics: createMetrics().tasks,
    logger: silentLogger(),
  };
}

async function newTask(): Promise<TaskId> {
  return (await room.creator.create(await room.newCaller(), body(), undefined)).taskId;
}

async function recorded(): Promise<readonly (readonly unknown[])[]> {
  const { repairs } = await listRepairs(room.database, { size: 100 });
  return repairs.map(({ kind, taskId, found }) => [kind, taskId, found]);
}

/** Nothing can be recorded while this runs. */
async function withoutTable(work: () => Promise<void>): Promise<void> {
  await room.rows('ALTER TABLE repairs RENAME TO repairs_away');
  try {
    await work();
  } finally {
    await room.rows('ALTER TABLE repairs_away RENAME TO repairs');
  }
}

describe('a repair', () => {
  it('is recorded once, with the state in which the task was found', async () => {
    const [lost, late] = [await newTask(), await newTask()];
    await room.rows("DELETE FROM outbox WHERE kind = 'start_task' AND subject_id = $1", lost);

    for (let twice = 0; twice < 2; twice++) {
      await repairTask({ id: lost, status: 'queued', isPastDeadline: false, hasStart: false }, dependencies());
      await repairTask({ id: late, status: 'queued', isPastDeadline: true, hasStart: false }, dependencies());
    }

    assert.deepEqual(await recorded(), [
      ['timed_out', late, 'queued'],
      ['restarted', lost, 'queued'],
    ]);
  });

  it('of callbacks is recorded for each of them', async () => {
    const tasks = [await newTask(), await newTask()].toSorted();
    for (const taskId of tasks) {
      await room.rows(
        `INSERT INTO callbacks (task_id, account_id, url, state, attempts, next_attempt_at)
         SELECT id, account_id, 'https://example.com', 'pending', 1, now() - interval '3 minutes'
           FROM tasks WHERE id = $1`,
        taskId,
      );
    }

    for (let twice = 0; twice < 2; twice++) await repairCallbacks(dependencies());

    const expected = tasks.map((taskId) => ['callback', taskId, null]);
    assert.deepEqual(
      (await recorded()).toSorted((a, b) => String(a[1]).localeCompare(String(b[1]))),
      expected,
    );
    await room.rows('DELETE FROM callbacks');
  });

  it('that is rolled back is not recorded', async () => {
    const taskId = await newTask();

    await assert.rejects(
      room.database.transaction(async (transaction) => {
        await recordRepairs(transaction, [{ kind: 'restarted', taskId, found: 'queued' }], silentLogger());
        throw new Error('something else failed');
      }),
      /something else failed/,
    );

    assert.deepEqual(await recorded(), []);
  });

  it('succeeds although it cannot be recorded, and although pruning fails', async () => {
    const [lost, late] = [await newTask(), await newTask()];
    await room.rows("DELETE FROM outbox WHERE kind = 'start_task' AND subject_id = $1", lost);

    await withoutTable(async () => {
      const lostOne = { id: lost, status: 'queued', isPastDeadline: false, hasStart: false } as const;
      assert.equal(await repairTask(lostOne, dependencies()), 'restarted');
      assert.equal(await repairTask({ ...lostOne, id: late, isPastDeadline: true }, dependencies()), 'settled');
      await repairCallbacks(dependencies());
      assert.equal(await pruneRepairs(room.database, silentLogger()), 0);
    });

    assert.equal(
      (await room.rows("SELECT 1 FROM outbox WHERE subject_id = $1 AND kind = 'start_task'", lost)).length,
      1,
    );
    assert.equal((await readTask(room.database, late)).errorReason, 'timed_out');
    assert.deepEqual(await recorded(), []);
  });

  it('is not changed afterwards', async () => {
    const taskId = await newTask();
    await room.database.transaction((transaction) =>
      recordRepairs(transaction, [{ kind: 'settled', taskId, found: 'queued' }], silentLogger()),
    );

    await assert.rejects(room.rows("UPDATE repairs SET kind = 'restarted'"), /repairs is append-only/);
  });
});

describe('pruning', () => {
  const insert = (daysAgo: number, taskId: string) =>
    room.rows(
      "INSERT INTO repairs (at, kind, task_id) VALUES (now() - make_interval(days => $1), 'settled', $2)",
      daysAgo,
      taskId,
    );

  it('deletes what is older than the retention', async () => {
    await insert(REPAIR_RETENTION_DAYS + 1, 'tk-svc-old');
    await insert(REPAIR_RETENTION_DAYS - 1, 'tk-svc-young');

    assert.equal(await pruneRepairs(room.database, silentLogger()), 1);
    assert.deepEqual(await recorded(), [['settled', 'tk-svc-young', null]]);
  });

  it('deletes the oldest when there are too many', async () => {
    for (let index = 0; index < 5; index++) await insert(0, `tk-svc-${index}`);

    assert.equal(await pruneRepairs(room.database, silentLogger(), 2), 3);
    assert.deepEqual(
      (await recorded()).map(([, taskId]) => taskId),
      ['tk-svc-4', 'tk-svc-3'],
    );
    assert.equal(await pruneRepairs(room.database, silentLogger(), 2), 0);
  });
});
