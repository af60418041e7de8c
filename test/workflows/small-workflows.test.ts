/** The delivery of a callback as a workflow: what follows from the results of its activity. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Context } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { DELIVER_AGAIN_SIGNAL } from '../../src/domain/workflow-ids.ts';
import { Milestone, openLab, workUntilCancelled } from './workflow-lab.ts';
import type { WorkflowLab } from './workflow-lab.ts';

let lab: WorkflowLab;
before(async () => {
  lab = await openLab();
  await lab.startWorkers(['callbacks']);
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

  it('ends as cancelled when an operator cancels it', async () => {
    const started = new Milestone();
    const delivery = await lab.startCallback({ sendCallback: () => workUntilCancelled(started) });
    await started.reached;
    await delivery.handle.cancel();

    assert.ok((await delivery.failure()) instanceof CancelledFailure);
  });
});
