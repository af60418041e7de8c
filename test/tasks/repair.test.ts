/** Repairing a task by the state of its workflow in Temporal (architecture, "Repair is part of the design"). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { WorkflowState } from '../../src/domain/task-status.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { FIRST_IDLE_CURSOR, findIdleTasks } from '../../src/tasks/record/open-tasks.ts';
import type { IdleTask } from '../../src/tasks/record/open-tasks.ts';
import { claimOutbox, removeOutbox } from '../../src/tasks/outbox/outbox.ts';
import { readTask } from '../../src/tasks/record/read.ts';
import { repairTask } from '../../src/tasks/repair/repair.ts';
import type { Repair } from '../../src/tasks/repair/repair.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { body, openTaskRoom } from './task-room.ts';
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

/** A task whose start was delivered. */
async function startedTask(): Promise<TaskId> {
  const { taskId } = await room.creator.create(await room.newCaller(), body(), undefined);
  await removeOutbox(
    room.database,
    (await claimOutbox(room.database, 1_000)).map((item) => item.id),
  );
  return taskId;
}

async function idle(taskId: TaskId): Promise<IdleTask> {
  const found = (await findIdleTasks(room.database, LIMITS)).find((task) => task.id === taskId);
  return found ?? assert.fail('the task is not among the idle ones');
}

async function repair(taskId: TaskId, condition: WorkflowState): Promise<Repair> {
  const describeTask = async (): Promise<WorkflowState> => condition;
  const dependencies = {
    database: room.database,
    describe: describeTask,
    retentionDays: 7,
    metrics: createMetrics().tasks,
    logger: silentLogger(),
  };
  return repairTask(await idle(taskId), dependencies);
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
    const { taskId } = await room.creator.create(await room.newCaller(), body(), undefined);
    let asked = 0;

    const done = await repairTask(await idle(taskId), {
      database: room.database,
      describe: async () => {
        asked += 1;
        return 'abnormal';
      },
      retentionDays: 7,
      metrics: createMetrics().tasks,
      logger: silentLogger(),
    });

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

describe('idle tasks', () => {
  it('are those that have not changed for a while, page by page, each once', async () => {
    const caller = await room.newCaller();
    const created: TaskId[] = [];
    for (let index = 0; index < 7; index++) {
      created.push((await room.creator.create(caller, body(), undefined)).taskId);
    }
    await room.rows(
      `UPDATE tasks SET updated_at = now() - interval '10 seconds' WHERE id = ANY ($1)`,
      created.slice(0, 5),
    );

    const seen: TaskId[] = [];
    let cursor = FIRST_IDLE_CURSOR;
    for (;;) {
      const page = await findIdleTasks(room.database, { ...LIMITS, idleSeconds: 5, after: cursor, limit: 2 });
      const last = page.at(-1);
      if (last === undefined) break;
      seen.push(...page.map((task) => task.id));
      cursor = last.cursor;
    }

    assert.deepEqual(
      seen.filter((id) => created.includes(id)),
      created.slice(0, 5),
    );
    assert.equal(new Set(seen).size, seen.length);
  });
});

describe('the pages of open tasks', () => {
  it('include every task, even when tasks that were accepted together have one creation time', async () => {
    const caller = await room.newCaller();
    const created = await Promise.all(
      Array.from({ length: 7 }, async () => (await room.creator.create(caller, body(), undefined)).taskId),
    );
    await room.rows(
      `UPDATE tasks SET created_at = '2026-01-01', updated_at = '2026-01-01' WHERE account_id = '${caller.accountId}'`,
    );

    const seen: string[] = [];
    for (let after = FIRST_IDLE_CURSOR; ;) {
      const page = await findIdleTasks(room.database, { ...LIMITS, idleSeconds: 5, after, limit: 3 });
      seen.push(...page.map(({ id }) => id));
      after = page.at(-1)?.cursor ?? after;
      if (page.length < 3) break;
    }

    for (const taskId of created) assert.equal(seen.filter((id) => id === taskId).length, 1);
  });
});
