/** How many of the tasks that have not ended one pass of the repair checks in Temporal. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { asyncLocalStorage } from '@temporalio/activity';
import type { Context } from '@temporalio/activity';
import type { ActivityContext } from '../../activities/context.ts';
import { createReconcileTasks } from '../../activities/reconcile-tasks.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { beginHandling } from '../../src/tasks/lifecycle/transitions.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { stub } from '../support/stub.ts';
import { body, deliverOutbox, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';

const TASKS = 30;
const MOST_PASSES = 400;

describe('a pass of the repair', () => {
  let room: TaskRoom;
  const tasks: TaskId[] = [];
  before(async () => {
    room = await openTaskRoom();
    const caller = await room.newCaller();
    while (tasks.length < TASKS) tasks.push((await room.creator.create(caller, body(), undefined)).taskId);
    await deliverOutbox(room);
    for (const taskId of tasks) await beginHandling(room.database, taskId, 3_600);
    await room.rows(`UPDATE tasks SET updated_at = now() - interval '1 minute'`);
  });
  after(() => room.close());

  /** @returns the tasks that it checked in Temporal, where all of them run. */
  async function pass(checkedEachPass: number): Promise<readonly TaskId[]> {
    const checked: TaskId[] = [];
    const context = stub<ActivityContext>({
      database: room.database,
      accountDatabase: () => room.database,
      logger: silentLogger(),
      metrics: createMetrics(),
      config: { outputRetentionDays: 7 },
      stopping: new AbortController().signal,
      upstreams: { gate: { tidyQueues: () => Promise.resolve() } },
      describeTask: async (taskId: TaskId) => {
        checked.push(taskId);
        return 'running' as const;
      },
    });
    const attempt = stub<Context>({ info: {}, cancellationSignal: new AbortController().signal });
    await asyncLocalStorage.run(attempt, () => createReconcileTasks(context, checkedEachPass)());
    return checked;
  }

  it('checks every task while there are few', async () => {
    assert.deepEqual((await pass(TASKS)).toSorted(), tasks.toSorted());
  });

  it('checks a part of many, and all of them in the course of some passes', async () => {
    const unchecked = new Set(tasks);
    let [passes, checks] = [0, 0];
    for (; unchecked.size > 0 && passes < MOST_PASSES; passes += 1) {
      const checked = await pass(TASKS / 5);
      checks += checked.length;
      for (const taskId of checked) unchecked.delete(taskId);
    }

    assert.equal(unchecked.size, 0);
    assert.ok(passes > 1, 'not all of them in one');
    assert.ok(checks < passes * TASKS * 0.6, `${checks} in ${passes} passes`);
  });

  it('always checks those past their deadline', async () => {
    const late = tasks.slice(0, 3);
    await room.rows(`UPDATE tasks SET deadline_at = now() - interval '1 hour' WHERE id = ANY ($1)`, late);

    assert.deepEqual((await pass(0)).toSorted(), late.toSorted());
  });
});
