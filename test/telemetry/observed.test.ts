/**
 * What is counted where it happens, as far as one process without Temporal can show it. For the rest see
 * test/e2e/metrics.test.ts.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import type { WorkflowState } from '../../src/domain/task-status.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import type { Egress } from '../../src/egress/guarded-client.ts';
import { observeEgress } from '../../src/processes/observed-egress.ts';
import { cancelTask } from '../../src/tasks/lifecycle/cancel.ts';
import { claimOutbox, removeOutbox } from '../../src/tasks/outbox/outbox.ts';
import { repairTask } from '../../src/tasks/repair/repair.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import type { Metrics } from '../../src/telemetry/metrics.ts';
import { AMPLE_MS, egressOf, listen, message } from '../egress/loopback.ts';
import { body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { parseExposition } from './exposition.ts';

type Labels = Readonly<Record<string, string>>;

async function value(metrics: Metrics, name: string, labels: Labels): Promise<number> {
  return parseExposition(await metrics.registry.metrics()).value(name, labels) ?? 0;
}

describe('the egress metrics', () => {
  interface Observed {
    readonly egress: Egress;
    count(use: 'post' | 'download', outcome: string): Promise<number>;
  }

  function observed(test: TestContext, port: number): Observed {
    const metrics = createMetrics();
    const { egress } = egressOf(test, [`http://127.0.0.1:${port}`]);
    return {
      egress: observeEgress(egress, metrics.outgoing),
      count: (use, outcome) => value(metrics, 'darkroom_egress_requests_total', { use, outcome }),
    };
  }

  it('count requests by result, where a response of any status is one result', async (test) => {
    const { port } = await listen(test, (request, response) => {
      if (request.url === '/hang') return;
      response.writeHead(503).end();
    });
    const { egress, count } = observed(test, port);

    await egress.post(`http://127.0.0.1:${port}/busy`, message());
    await assert.rejects(egress.post(`http://127.0.0.1:${port}/hang`, message({ timeoutMs: 50 })));
    await assert.rejects(egress.post('https://169.254.169.254/latest', message()));
    await assert.rejects(
      egress.post(`http://127.0.0.1:${port}/hang`, message({ signal: AbortSignal.abort(new Error('not wanted')) })),
    );

    assert.equal(await count('post', 'ok'), 1);
    assert.equal(await count('post', 'timeout'), 1);
    assert.equal(await count('post', 'blocked'), 1);
    assert.equal(await count('post', 'stopped'), 1);
    assert.equal(await count('post', 'unreachable'), 0);
  });

  it('count a download when its bytes have arrived, and its failures', async (test) => {
    const { port } = await listen(test, (request, response) => {
      if (request.url === '/gone') response.writeHead(404).end();
      else if (request.url === '/endless') response.writeHead(200).write('x');
      else response.end('x'.repeat(1_000));
    });
    const { egress, count } = observed(test, port);
    const url = (path: string): string => `http://127.0.0.1:${port}${path}`;
    const fetched = async (path: string, maxBytes: number, reads: 'all' | 'none') => {
      const { body } = await egress.download(url(path), { accountId: 'ac-1', timeoutMs: AMPLE_MS, maxBytes });
      const closed = once(body, 'close').catch(() => undefined);
      body.on('error', () => undefined);
      if (reads === 'all') body.resume();
      else body.destroy();
      await closed;
    };

    const { body } = await egress.download(url('/file'), { accountId: 'ac-1', timeoutMs: AMPLE_MS, maxBytes: 5_000 });
    assert.equal(await count('download', 'ok'), 0);
    body.resume();
    await once(body, 'close');
    assert.equal(await count('download', 'ok'), 1);

    await fetched('/endless', 5_000, 'none');
    assert.equal(await count('download', 'stopped'), 1);
    await assert.rejects(fetched('/gone', 5_000, 'all'));
    assert.equal(await count('download', 'status'), 1);
    await assert.rejects(fetched('/file', 10, 'all'));
    assert.equal(await count('download', 'too_large'), 1);
    assert.equal(await count('download', 'ok'), 1);
  });
});

describe('tasks that end without a worker', () => {
  let room: TaskRoom;
  before(async () => {
    room = await openTaskRoom();
  });
  after(() => room.close());

  async function newTask(): Promise<{ readonly accountId: string; readonly taskId: TaskId }> {
    const caller = await room.newCaller();
    const { taskId } = await room.creator.create(caller, body(), undefined);
    return { accountId: caller.accountId, taskId };
  }

  const failed = (reason: string): Labels => ({ model: 'acme/images', status: 'fail', reason });

  it('are counted by the api that cancels them, once however often it is requested', async () => {
    const metrics = createMetrics();
    const { accountId, taskId } = await newTask();

    await Promise.all(
      Array.from({ length: 8 }, () => cancelTask(room.database, accountId, taskId, 7, metrics.tasks.settled)),
    );

    assert.equal(await value(metrics, 'darkroom_tasks_settled_total', failed('cancelled')), 1);
    const stage = (name: string) =>
      value(metrics, 'darkroom_task_stage_duration_seconds_count', { model: 'acme/images', stage: name });
    assert.equal(await stage('queued'), 1);
    assert.equal(await stage('handling'), 0);
    assert.equal(await stage('total'), 1);
  });

  it('are counted by kind of repair, and not when the repair did nothing', async () => {
    const metrics = createMetrics();
    const repair = (taskId: TaskId, condition: WorkflowState, isPastDeadline = false) =>
      repairTask(
        { id: taskId, status: 'queued', isPastDeadline, hasStart: false },
        {
          database: room.database,
          describe: () => Promise.resolve(condition),
          retentionDays: 7,
          metrics: metrics.tasks,
          logger: silentLogger(),
        },
      );
    const tasks = [await newTask(), await newTask(), await newTask()].map(({ taskId }) => taskId);
    await removeOutbox(
      room.database,
      (await claimOutbox(room.database, 1_000)).map((item) => item.id),
    );
    const [ended, late, lost] = tasks as [TaskId, TaskId, TaskId];

    await repair(ended, 'running');
    assert.equal(await value(metrics, 'darkroom_repairs_total', {}), 0);
    for (let twice = 0; twice < 2; twice++) {
      await repair(ended, 'abnormal');
      await repair(late, 'running', true);
      await repair(lost, 'missing');
    }

    const repairs = (kind: string) => value(metrics, 'darkroom_repairs_total', { kind });
    assert.deepEqual(await Promise.all(['settled', 'timed_out', 'restarted'].map(repairs)), [1, 1, 1]);
    assert.equal(await value(metrics, 'darkroom_tasks_settled_total', failed('terminated')), 1);
    assert.equal(await value(metrics, 'darkroom_tasks_settled_total', failed('timed_out')), 1);
  });
});
