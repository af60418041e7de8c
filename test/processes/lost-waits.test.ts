/**
 * Waits that Temporal has given to a worker which never got them (docs/decisions/0024): found in the database, and handed
 * back in Temporal.
 */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { newTaskId } from '../../src/domain/ids.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { handBackLostWaits } from '../../src/processes/hand-over.ts';
import { recordWait } from '../../src/tasks/record/waiting-tasks.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createWorkflowGateway } from '../../src/temporal/workflow-gateway.ts';
import type { StartedAttempt } from '../../src/temporal/workflow-gateway.ts';
import { createTestNamespace } from '../support/test-namespace.ts';
import type { TestNamespace } from '../support/test-namespace.ts';
import { body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';

const NOW = Date.now();
const SECOND = 1_000;

describe('a wait that no worker has begun', () => {
  let room: TaskRoom;
  before(async () => {
    room = await openTaskRoom();
  });
  after(() => room.close());
  beforeEach(async () => {
    await room.rows('DELETE FROM worker_processes');
    await room.rows('DELETE FROM generations');
    await room.rows(
      `INSERT INTO worker_processes (id, records_waits) VALUES ('a', true), ('b', true), ('an earlier release', false)`,
    );
  });

  /** A task whose job was recorded so many seconds ago. */
  async function submitted(secondsAgo: number): Promise<TaskId> {
    const { taskId } = await room.creator.create(await room.newCaller(), body(), undefined);
    await room.rows(`UPDATE tasks SET status = 'handling', started_at = now() WHERE id = $1`, taskId);
    await room.rows(
      `INSERT INTO generations (task_id, upstream, state, job_id, updated_at)
       VALUES ($1, 'test', 'submitted', $1, now() - make_interval(secs => $2))`,
      taskId,
      secondsAgo,
    );
    return taskId;
  }

  /** What is handed back, if Temporal says that the attempts of all waits are these. */
  async function handedBack(attempt: StartedAttempt, identity = 'a'): Promise<readonly TaskId[]> {
    const found: TaskId[] = [];
    await handBackLostWaits({
      database: room.database,
      gateway: {
        failAttempts(taskId, activityType, isLost) {
          assert.equal(activityType, 'awaitGeneration');
          if (!isLost(attempt)) return Promise.resolve(0);
          found.push(taskId);
          return Promise.resolve(1);
        },
      },
      identity,
      logger: silentLogger(),
      now: () => NOW,
    });
    return found;
  }

  it('is handed back once its worker has had ten seconds, and not before', async () => {
    await submitted(9);
    const taskId = await submitted(11);

    assert.deepEqual(await handedBack({ identity: 'b', startedAt: NOW - 9 * SECOND }), []);
    assert.deepEqual(await handedBack({ identity: 'b', startedAt: NOW - 10 * SECOND }), [taskId]);
  });

  it('is looked for by one worker, and left alone if a worker that lives has begun it', async () => {
    const taskId = await submitted(60);
    const lost = { identity: 'b', startedAt: NOW - 60 * SECOND };

    assert.deepEqual(await handedBack(lost, 'b'), []);
    await recordWait(room.database, taskId, 'b');
    assert.deepEqual(await handedBack(lost), []);
    await room.rows(`DELETE FROM worker_processes WHERE id = 'b'`);
    assert.deepEqual(await handedBack({ ...lost, identity: 'a' }), [taskId]);
  });

  it('is not handed back from a worker of an earlier release, which records none', async () => {
    await submitted(60);

    assert.deepEqual(await handedBack({ identity: 'an earlier release', startedAt: NOW - 60 * SECOND }), []);
  });

  it('is over with its task', async () => {
    const taskId = await submitted(60);
    await room.rows(`UPDATE generations SET state = 'produced', files = '[]' WHERE task_id = $1`, taskId);

    assert.deepEqual(await handedBack({ identity: 'b', startedAt: NOW - 60 * SECOND }), []);
  });
});

describe('an attempt that Temporal has given to a worker which never got it', () => {
  let namespace: TestNamespace;
  before(async () => {
    namespace = await createTestNamespace();
  });
  after(() => namespace.close());

  const QUEUE = { name: 'lost-waits' };

  /** Schedules an activity, as the workflow of a task does, and takes it as a worker that then forgets it. */
  async function schedule(taskId: TaskId): Promise<void> {
    const { workflowService } = namespace.client;
    await workflowService.startWorkflowExecution({
      namespace: namespace.name,
      workflowId: taskId,
      workflowType: { name: 'mediaTask' },
      taskQueue: QUEUE,
      requestId: taskId,
    });
    const { taskToken } = await workflowService.pollWorkflowTaskQueue({ namespace: namespace.name, taskQueue: QUEUE });
    await workflowService.respondWorkflowTaskCompleted({
      namespace: namespace.name,
      taskToken,
      commands: [
        {
          commandType: 1,
          scheduleActivityTaskCommandAttributes: {
            activityId: '1',
            activityType: { name: 'awaitGeneration' },
            taskQueue: QUEUE,
            scheduleToCloseTimeout: { seconds: 600 as never },
            heartbeatTimeout: { seconds: 180 as never },
            retryPolicy: { initialInterval: { nanos: 1_000_000 } },
          },
        },
      ],
    });
  }

  const take = (identity: string) =>
    namespace.client.workflowService.pollActivityTaskQueue({ namespace: namespace.name, taskQueue: QUEUE, identity });

  it('is started again elsewhere, long before its heartbeat time-out', async () => {
    const gateway = createWorkflowGateway(namespace.client, 'inst_ONE');
    const taskId = newTaskId();
    await schedule(taskId);
    assert.equal((await take('living')).attempt, 1);
    const seen: StartedAttempt[] = [];
    const isLost = (attempt: StartedAttempt): boolean => {
      seen.push(attempt);
      return attempt.identity === 'living';
    };

    assert.equal(await gateway.failAttempts(taskId, 'sendCallback', isLost), 0);
    assert.equal(await gateway.failAttempts(taskId, 'awaitGeneration', () => false), 0);
    assert.equal(await gateway.failAttempts(taskId, 'awaitGeneration', isLost), 1);

    const again = await take('another');
    assert.deepEqual([again.attempt, again.activityId], [2, '1']);
    const startedAt = seen[0]?.startedAt ?? 0;
    assert.ok(startedAt > Date.now() - 3_600_000 && startedAt < Date.now() + 3_600_000, String(startedAt));
    assert.equal(await gateway.failAttempts(newTaskId(), 'awaitGeneration', isLost), 0);
  });
});
