/**
 * Repairing a task by the state of its workflow in Temporal (architecture, "Repair is part of the design"), the record of
 * repairs, which is written with them, never blocks them and is retained only for a time, and what is recorded again for
 * a task when the database has lost commits (docs/decisions/0005).
 */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { REPAIR_RETENTION_DAYS } from '@darkroom/api/facts/limits';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { WorkflowState } from '../../src/domain/task-status.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { cancelTask } from '../../src/tasks/lifecycle/cancel.ts';
import { readGeneration, recordJob } from '../../src/tasks/lifecycle/generations.ts';
import { beginHandling, readWorkingTask } from '../../src/tasks/lifecycle/transitions.ts';
import { FIRST_IDLE_CURSOR, findIdleTasks } from '../../src/tasks/record/open-tasks.ts';
import type { IdleTask } from '../../src/tasks/record/open-tasks.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { readTask } from '../../src/tasks/record/read.ts';
import { restoreGeneration } from '../../src/tasks/repair/lost-commits.ts';
import { listRepairs, pruneRepairs, recordRepairs } from '../../src/tasks/repair/repair-record.ts';
import { repairCallbacks, repairTask } from '../../src/tasks/repair/repair.ts';
import type { Repair } from '../../src/tasks/repair/repair.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { body, deliverOutbox, openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom();
});
after(async () => {
  assert.deepEqual(await verifyLedger(room.database), []);
  await room.close();
});

const LIMITS = { idleSeconds: 0, graceSeconds: 60, after: FIRST_IDLE_CURSOR, limit: 1_000 };

/** What a repair works with, where Temporal says this of every workflow. */
function dependencies(describeTask: () => Promise<WorkflowState> = async () => 'missing') {
  return {
    database: room.database,
    describe: describeTask,
    retentionDays: 7,
    metrics: createMetrics().tasks,
    logger: silentLogger(),
  };
}

async function newTask(): Promise<TaskId> {
  return (await room.creator.create(await room.newCaller(), body(), undefined)).taskId;
}

/** A task whose start was delivered. */
async function startedTask(): Promise<TaskId> {
  const taskId = await newTask();
  await deliverOutbox(room);
  return taskId;
}

async function idle(taskId: TaskId): Promise<IdleTask> {
  const found = (await findIdleTasks(room.database, LIMITS)).find((task) => task.id === taskId);
  return found ?? assert.fail('the task is not among the idle ones');
}

async function repair(taskId: TaskId, condition: WorkflowState): Promise<Repair> {
  return repairTask(
    await idle(taskId),
    dependencies(async () => condition),
  );
}

describe('repairing a task', () => {
  it('skips one whose workflow runs, or whose state Temporal does not report', async () => {
    const taskId = await startedTask();

    for (const condition of ['running', 'unknown'] as const) assert.equal(await repair(taskId, condition), 'none');

    assert.equal((await readTask(room.database, taskId)).status, 'queued');
  });

  it('ends one as terminated whose workflow ended without settling it', async () => {
    const taskId = await startedTask();

    assert.equal(await repair(taskId, 'abnormal'), 'settled');

    const task = await readTask(room.database, taskId);
    assert.deepEqual([task.status, task.errorReason, task.capturedMicroUsd], ['fail', 'terminated', 0n]);
  });

  it('restarts one, once, whose workflow has settled it in a lost commit, also past its deadlines', async () => {
    const stages = {
      queued: `queue_deadline_at = now() - interval '3 days'`,
      handling: `status = 'handling', started_at = now() - interval '3 days',
                 deadline_at = now() - interval '3 days' + interval '60 seconds'`,
      archiving: `status = 'archiving', archiving_deadline_at = now() - interval '3 days'`,
      'archiving, waiting for its turn': `status = 'archiving', updated_at = now() - interval '3 days'`,
    };
    for (const [stage, change] of Object.entries(stages)) {
      const taskId = await startedTask();
      await room.rows(`UPDATE tasks SET ${change} WHERE id = $1`, taskId);

      assert.equal(await repair(taskId, 'completed'), 'restarted');

      const task = await idle(taskId);
      assert.deepEqual([task.status, task.hasStart], [stage.split(',')[0], true]);
      assert.equal(await repair(taskId, 'completed'), 'none');
    }
  });

  it('skips one past its deadline while Temporal does not report how its workflow ended', async () => {
    const taskId = await startedTask();
    await room.rows(`UPDATE tasks SET queue_deadline_at = now() - interval '1 second' WHERE id = $1`, taskId);

    assert.equal(await repair(taskId, 'unknown'), 'none');
  });

  it('restarts one, once, whose workflow is missing: it never fails for that', async () => {
    const taskId = await startedTask();

    assert.equal(await repair(taskId, 'missing'), 'restarted');
    assert.equal(await repair(taskId, 'missing'), 'none');

    assert.deepEqual(await room.rows('SELECT kind, is_ready FROM outbox WHERE subject_id = $1', taskId), [
      { kind: 'start_task', is_ready: true },
    ]);
    assert.equal((await readTask(room.database, taskId)).status, 'queued');
  });

  it('skips one whose start is still pending, without querying Temporal', async () => {
    const task = await idle(await newTask());
    let asked = 0;

    const done = await repairTask(
      task,
      dependencies(async () => {
        asked += 1;
        return 'abnormal';
      }),
    );

    assert.equal(done, 'none');
    assert.equal(asked, 0);
  });

  // Proves C4-5.
  it('ends one as timed out that is past the deadline of its stage, whatever its workflow does', async () => {
    const stages = {
      queued: `queue_deadline_at = now() - interval '1 second'`,
      handling: `status = 'handling', deadline_at = now() - interval '61 seconds'`,
      archiving: `status = 'archiving', archiving_deadline_at = now() - interval '61 seconds'`,
      waiting: `status = 'archiving', updated_at = now() - interval '1 day' - interval '61 seconds'`,
    };
    for (const change of Object.values(stages)) {
      const taskId = await startedTask();
      await room.rows(`UPDATE tasks SET ${change} WHERE id = $1`, taskId);

      assert.equal(await repair(taskId, 'running'), 'settled');

      assert.equal((await readTask(room.database, taskId)).errorReason, 'timed_out');
    }
  });

  it('adds a grace period to the deadline of a stage: the activity ends it first', async () => {
    const taskId = await startedTask();
    await room.rows(
      `UPDATE tasks SET status = 'handling', deadline_at = now() - interval '30 seconds' WHERE id = $1`,
      taskId,
    );

    assert.equal((await idle(taskId)).isPastDeadline, false);
  });
});

describe('the pages of idle tasks', () => {
  async function createTasks(): Promise<{ readonly accountId: string; readonly created: readonly TaskId[] }> {
    const caller = await room.newCaller();
    const created: TaskId[] = [];
    while (created.length < 7) created.push((await room.creator.create(caller, body(), undefined)).taskId);
    return { accountId: caller.accountId, created };
  }

  /** All that have not changed for five seconds, by pages of this size. */
  async function readPages(limit: number): Promise<readonly TaskId[]> {
    const seen: TaskId[] = [];
    for (let after = FIRST_IDLE_CURSOR; ;) {
      const page = await findIdleTasks(room.database, { ...LIMITS, idleSeconds: 5, after, limit });
      const last = page.at(-1);
      if (last === undefined) return seen;
      seen.push(...page.map(({ id }) => id));
      after = last.cursor;
    }
  }

  it('have those that have not changed for a while, each once', async () => {
    const { created } = await createTasks();
    await room.rows(
      `UPDATE tasks SET updated_at = now() - interval '10 seconds' WHERE id = ANY ($1)`,
      created.slice(0, 5),
    );

    const seen = await readPages(2);

    assert.deepEqual(
      seen.filter((id) => created.includes(id)),
      created.slice(0, 5),
    );
    assert.equal(new Set(seen).size, seen.length);
  });

  it('have every task, even when tasks that were accepted together have one creation time', async () => {
    const { accountId, created } = await createTasks();
    await room.rows(
      `UPDATE tasks SET created_at = '2026-01-01', updated_at = '2026-01-01' WHERE account_id = $1`,
      accountId,
    );

    const seen = await readPages(3);

    for (const taskId of created) assert.equal(seen.filter((id) => id === taskId).length, 1);
  });
});

describe('the record of repairs', () => {
  beforeEach(async () => {
    await room.rows('DELETE FROM repairs');
  });

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
});

describe('a generation that is restored', () => {
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
