/** The delivery of callbacks, and the workflows of stored outputs: what follows from the results of their activities. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Context } from '@temporalio/activity';
import { ActivityFailure, ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { DELIVER_AGAIN_SIGNAL } from '../../src/domain/workflow-ids.ts';
import { Milestone, openLab, workUntilCancelled } from './workflow-lab.ts';
import type { LabTask, WorkflowLab } from './workflow-lab.ts';

let lab: WorkflowLab;
before(async () => {
  lab = await openLab();
  await lab.startWorkers(['media', 'archiving', 'maintenance', 'callbacks']);
});
after(() => lab.close());

describe('deliverCallback', () => {
  for (const state of ['delivered', 'stopped', 'nothing_to_send'] as const) {
    it(`completes as ${state} after one attempt when the activity says so`, async () => {
      const delivery = await lab.startCallback({ sendCallback: () => Promise.resolve({ state }) });

      assert.deepEqual(await delivery.result(), { state });
      assert.deepEqual(
        delivery.calls.map((call) => call.input),
        [{ taskId: delivery.taskId }],
      );
    });
  }

  it('retries when an attempt failed that is not the last', async () => {
    const delivery = await lab.startCallback({
      sendCallback: () => {
        if (Context.current().info.attempt === 3) return Promise.resolve({ state: 'delivered' });
        return Promise.reject(ApplicationFailure.create({ type: 'CallbackAttemptFailed', nextRetryDelay: 1 }));
      },
    });

    assert.deepEqual(await delivery.result(), { state: 'delivered' });
    assert.deepEqual(
      delivery.calls.map((call) => call.attempt),
      [1, 2, 3],
    );
  });

  it('fails as CallbackExhausted when the schedule is used up', async () => {
    const delivery = await lab.startCallback({
      sendCallback: () => Promise.reject(ApplicationFailure.nonRetryable('used up', 'CallbackExhausted')),
    });

    const failure = await delivery.failure();
    assert.ok(failure instanceof ApplicationFailure);
    assert.equal(failure.type, 'CallbackExhausted');
    assert.equal(delivery.calls.length, 1);
  });

  for (const { first, second, outcome } of [
    { first: 'delivered', second: 'stopped', outcome: 'stopped' },
    { first: 'delivered', second: 'nothing_to_send', outcome: 'delivered' },
    { first: 'exhausted', second: 'delivered', outcome: 'delivered' },
  ] as const) {
    it(`checks once more when it is signalled during the last attempt: ${first}, then ${second}`, async () => {
      const started = new Milestone();
      const asked = new Milestone();
      let looks = 0;
      const delivery = await lab.startCallback({
        sendCallback: async () => {
          looks += 1;
          if (looks === 2) return { state: second };
          started.reach();
          await asked.reached;
          if (first === 'delivered') return { state: first };
          throw ApplicationFailure.nonRetryable('used up', 'CallbackExhausted');
        },
      });
      await started.reached;
      await delivery.handle.signal(DELIVER_AGAIN_SIGNAL);
      asked.reach();

      assert.deepEqual(await delivery.result(), { state: outcome });
      assert.equal(looks, 2);
    });
  }
});

describe('promoteOutput', () => {
  for (const state of ['persistent', 'given_up', 'not_pending'] as const) {
    it(`completes as ${state} when the activity says so`, async () => {
      const inputs: unknown[] = [];
      const script = {
        promoteOutput: (input: unknown) => {
          inputs.push(input);
          return Promise.resolve({ state });
        },
      };
      const promotion = await lab.startOther('promoteOutput', script, { outputId: 'out_1' });

      assert.deepEqual(await promotion.result(), { state });
      assert.deepEqual(inputs, [{ outputId: 'out_1' }]);
    });
  }

  it('retries while the store or the database is unavailable', async () => {
    const attempts: number[] = [];
    const script = {
      promoteOutput: () => {
        const { attempt } = Context.current().info;
        attempts.push(attempt);
        if (attempt === 3) return Promise.resolve({ state: 'persistent' as const });
        return Promise.reject(ApplicationFailure.retryable('the store is away', 'StoreUnavailableError'));
      },
    };
    const promotion = await lab.startOther('promoteOutput', script, { outputId: 'out_1' });

    assert.deepEqual(await promotion.result(), { state: 'persistent' });
    assert.deepEqual(attempts, [1, 2, 3]);
  });
});

describe('the passes', () => {
  for (const [type, input, result] of [
    ['sweepObjects', [{ target: 'deleted' }], { deleted: 4 }],
    ['sweepObjects', [{ target: 'unnamed' }], { deleted: 4 }],
    ['meterStorage', [], { days: 5, returned: 1 }],
  ] as const) {
    it(`of ${type} ${JSON.stringify(input)} return what was done`, async () => {
      const pass = await lab.startOther(type, {}, ...input);

      assert.deepEqual(await pass.result(), result);
    });
  }

  it('of unreferenced objects goes on where an activity stopped', async () => {
    const inputs: unknown[] = [];
    const script = {
      sweepObjects: (input: unknown) => {
        inputs.push(input);
        return Promise.resolve({ deleted: 4, ...(inputs.length < 3 ? { next: `outputs/${inputs.length}` } : {}) });
      },
    };
    const sweep = await lab.startOther('sweepObjects', script, { target: 'unnamed' });

    assert.deepEqual(await sweep.result(), { deleted: 12 });
    const target = 'unnamed';
    assert.deepEqual(inputs, [{ target }, { target, after: 'outputs/1' }, { target, after: 'outputs/2' }]);
  });

  it('give up after some attempts: the next pass makes up for it', async () => {
    let attempts = 0;
    const script = {
      expireOutputs: () => {
        attempts += 1;
        return Promise.reject(new Error('the database is away'));
      },
    };
    const pass = await lab.startOther('maintain', script);

    await pass.failure();
    assert.equal(attempts, 2);
  });
});

describe('maintain', () => {
  it('runs every pass of a minute, with each part of the repair, and returns what was done', async () => {
    const parts: unknown[] = [];
    const queues = new Set<string>();
    let [expiries, sweeps] = [0, 0];
    const pass = await lab.startOther('maintain', {
      expireOutputs: () => {
        expiries += 1;
        return Promise.resolve({ outputs: 3, files: 0, inputs: 0, responses: 0, requested: 1, textCalls: 0, tasks: 0 });
      },
      sweepObjects: () => {
        sweeps += 1;
        return Promise.resolve({ deleted: 2 });
      },
      reconcileTasks: (input) => {
        parts.push(input?.after);
        queues.add(Context.current().info.taskQueue);
        const next = parts.length < 3 ? { next: `after ${parts.length}` } : {};
        return Promise.resolve({ checked: 3, settled: 2, restarted: 1, ...next });
      },
    });

    assert.deepEqual(await pass.result(), {
      repair: { checked: 9, settled: 6, restarted: 3 },
      expired: {
        outputs: 3 * expiries,
        files: 0,
        inputs: 0,
        responses: 0,
        requested: expiries,
        textCalls: 0,
        tasks: 0,
      },
      swept: { deleted: 2 * sweeps },
    });
    for (const times of [expiries, sweeps]) assert.ok(times >= 1 && times <= 3, String(times));
    assert.deepEqual(parts, [undefined, 'after 1', 'after 2']);
    assert.deepEqual([...queues], ['inst_LAB-media-maintenance']);
  });

  it('fails in the end when one of them fails, and runs the others all the same', async () => {
    const done: string[] = [];
    const pass = await lab.startOther('maintain', {
      reconcileTasks: (input) => {
        done.push(`repair ${input?.after ?? 'begins'}`);
        return Promise.resolve({
          checked: 0,
          settled: 0,
          restarted: 0,
          ...(input === undefined ? { next: 'on' } : {}),
        });
      },
      expireOutputs: () => Promise.reject(ApplicationFailure.nonRetryable('broken', 'Broken')),
      sweepObjects: () => {
        done.push('sweep');
        return Promise.resolve({ deleted: 1 });
      },
    });

    const failure = await pass.failure();
    assert.ok(failure instanceof ActivityFailure);
    assert.equal(failure.activityType, 'expireOutputs');
    assert.deepEqual([...new Set(done)].toSorted(), ['repair begins', 'repair on', 'sweep']);
  });

  it('continues the repair while the others run, and starts none of them twice', async () => {
    const repaired = new Milestone();
    let parts = 0;
    const pass = await lab.startOther('maintain', {
      reconcileTasks: () => {
        parts += 1;
        if (parts === 3) repaired.reach();
        const next = parts < 3 ? { next: `after ${parts}` } : {};
        return Promise.resolve({ checked: 1, settled: 0, restarted: 0, ...next });
      },
      async expireOutputs() {
        await repaired.reached;
        return { outputs: 1, files: 0, inputs: 0, responses: 0, requested: 0, textCalls: 0, tasks: 0 };
      },
      async sweepObjects() {
        await repaired.reached;
        return { deleted: 1 };
      },
    });

    assert.deepEqual(await pass.result(), {
      repair: { checked: 3, settled: 0, restarted: 0 },
      expired: { outputs: 1, files: 0, inputs: 0, responses: 0, requested: 0, textCalls: 0, tasks: 0 },
      swept: { deleted: 1 },
    });
  });

  it('leaves the rest to another pass before the next one is due', async () => {
    const pass = await lab.startOther('maintain');
    await pass.result();

    const { events = [] } = await pass.handle.fetchHistory();
    const bounds = new Map(
      events?.flatMap(({ activityTaskScheduledEventAttributes: scheduled }) =>
        scheduled == null
          ? []
          : [[scheduled.activityType?.name, Number(scheduled.scheduleToCloseTimeout?.seconds)] as const],
      ),
    );
    for (const name of ['expireOutputs', 'sweepObjects']) {
      assert.ok((bounds.get(name) ?? Infinity) < 60, `${name}: ${bounds.get(name)} s`);
    }
  });
});

describe('a workflow that an operator cancels', () => {
  const starts: Readonly<Record<string, (started: Milestone) => Promise<LabTask>>> = {
    deliverCallback: (started) => lab.startCallback({ sendCallback: () => workUntilCancelled(started) }),
    sweepObjects: (started) =>
      lab.startOther('sweepObjects', { sweepObjects: () => workUntilCancelled(started) }, { target: 'unnamed' }),
    maintain: (started) => lab.startOther('maintain', { reconcileTasks: () => workUntilCancelled(started) }),
  };
  for (const [type, start] of Object.entries(starts)) {
    it(`ends as cancelled: ${type}`, async () => {
      const started = new Milestone();
      const running = await start(started);
      await started.reached;
      await running.handle.cancel();

      assert.ok((await running.failure()) instanceof CancelledFailure);
    });
  }
});
