/** What a delivery does in addition to the call to Temporal: a run after a closed one gets the time that it needs. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createPinnedDefinitions } from '../../src/catalogue/pinned-definitions.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { createDelivery } from '../../src/processes/outbox-delivery.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import type { OutboxItem } from '../../src/tasks/outbox/outbox.ts';
import { FIRST_IDLE_CURSOR, findIdleTasks } from '../../src/tasks/record/open-tasks.ts';
import type { IdleTask } from '../../src/tasks/record/open-tasks.ts';
import { readTask } from '../../src/tasks/record/read.ts';
import { repairTask } from '../../src/tasks/repair/repair.ts';
import type { Repair } from '../../src/tasks/repair/repair.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { NO_TRACES } from '../../src/telemetry/tracing.ts';
import type { StartResult } from '../../src/temporal/workflow-gateway.ts';
import { body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { scriptedGateway } from './scripted-gateway.ts';

const IDLE = { idleSeconds: 0, graceSeconds: 60, after: FIRST_IDLE_CURSOR, limit: 1_000 };

describe('a start that meets a closed run of an open task', () => {
  let room: TaskRoom;
  before(async () => {
    room = await openTaskRoom();
    await createPinnedDefinitions(room.database).pin(room.catalogue.models);
  });
  after(() => room.close());

  async function claimedTask(): Promise<OutboxItem & { readonly subjectId: TaskId }> {
    const { taskId } = await room.creator.create(await room.newCaller(), body(), undefined);
    const item = (await claimOutbox(room.database, 1_000)).find(({ subjectId }) => subjectId === taskId);
    assert.ok(item?.kind === 'start_task');
    return item;
  }

  async function idle(taskId: TaskId): Promise<IdleTask> {
    const found = (await findIdleTasks(room.database, IDLE)).find(({ id }) => id === taskId);
    return found ?? assert.fail('the task is not among the idle ones');
  }

  /** The repair, as a pass does it when it finds the task's workflow running. */
  function repair(task: IdleTask): Promise<Repair> {
    return repairTask(task, {
      database: room.database,
      describe: () => Promise.resolve('running'),
      retentionDays: 7,
      metrics: createMetrics().tasks,
      logger: silentLogger(),
    });
  }

  /** Delivers a start to a Temporal that has a closed run. @param onRestart runs when another run is requested. */
  async function deliver(item: OutboxItem, onRestart: () => Promise<void>): Promise<readonly (string | undefined)[]> {
    const asked: (string | undefined)[] = [];
    const startTask = async (_task: unknown, _priority: unknown, earlierRunId?: string): Promise<StartResult> => {
      asked.push(earlierRunId);
      if (earlierRunId === undefined) return { kind: 'closed', runId: 'run-1' };
      await onRestart();
      return { kind: 'running' };
    };
    const { database } = room;
    const gateway = scriptedGateway({ startTask });
    const definitions = createPinnedDefinitions(database);
    assert.equal(await createDelivery({ database, gateway, definitions, tracing: NO_TRACES })(item), true);
    return asked;
  }

  const stages = {
    queued: `queue_deadline_at = now() - interval '3 days'`,
    handling: `status = 'handling', started_at = now() - interval '3 days',
               deadline_at = now() - interval '3 days' + interval '60 seconds'`,
    archiving: `status = 'archiving', archiving_deadline_at = now() - interval '3 days'`,
  };
  for (const [status, change] of Object.entries(stages)) {
    it(`gives one that is ${status}, long past its deadline, its time again before the next run begins`, async () => {
      const item = await claimedTask();
      const taskId = item.subjectId;
      await room.rows(`UPDATE tasks SET ${change} WHERE id = $1`, taskId);
      const seenBefore = await idle(taskId);

      const asked = await deliver(item, async () => {
        const seen = await idle(taskId);
        assert.deepEqual([seen.status, seen.isPastDeadline], [status, false]);
        assert.equal(await repair(seen), 'none');
      });

      assert.deepEqual(asked, [undefined, 'run-1']);
      // A pass that had read the task before does not repair it either.
      assert.equal(seenBefore.isPastDeadline, true);
      assert.equal(await repair(seenBefore), 'none');
      assert.equal((await readTask(room.database, taskId)).status, status);
    });
  }

  it('resets no deadline when it is delivered again', async () => {
    const item = await claimedTask();
    await room.rows(`UPDATE tasks SET ${stages.handling} WHERE id = $1`, item.subjectId);

    for (let delivery = 0; delivery < 3; delivery++) await deliver(item, () => Promise.resolve());

    const [left] = await room.rows<{ seconds: number }>(
      'SELECT extract(epoch FROM deadline_at - now())::float8 AS seconds FROM tasks WHERE id = $1',
      item.subjectId,
    );
    assert.ok(left !== undefined && left.seconds > 0 && left.seconds <= 600, JSON.stringify(left));
  });

  it('starts nothing for a task that has ended', async () => {
    const item = await claimedTask();
    await settleTask(room.database, item.subjectId, { status: 'fail', reason: 'no_output' }, { retentionDays: 7 });

    assert.deepEqual(await deliver(item, () => Promise.resolve()), [undefined]);
  });
});
