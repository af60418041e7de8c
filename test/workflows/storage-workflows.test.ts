/** The workflows of stored outputs: what follows from what their activity says. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Context } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { Milestone, openLab, workUntilCancelled } from './workflow-lab.ts';
import type { WorkflowLab } from './workflow-lab.ts';

let lab: WorkflowLab;
before(async () => {
  lab = await openLab();
  await lab.startWorkers(['media']);
});
after(() => lab.close());

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

  it('tries again while the store or the database is away', async () => {
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
    ['expireOutputs', [], { outputs: 3, files: 2, inputs: 4, responses: 5, requested: 1 }],
    ['sweepObjects', [{ target: 'deleted' }], { deleted: 4 }],
    ['sweepObjects', [{ target: 'unnamed' }], { deleted: 4 }],
    ['meterStorage', [], { days: 5, returned: 1 }],
  ] as const) {
    it(`of ${type} ${JSON.stringify(input)} tell what was done`, async () => {
      const pass = await lab.startOther(type, {}, ...input);

      assert.deepEqual(await pass.result(), result);
    });
  }

  it('give up after some attempts: the next pass makes up for it', async () => {
    let attempts = 0;
    const script = {
      expireOutputs: () => {
        attempts += 1;
        return Promise.reject(new Error('the database is away'));
      },
    };
    const pass = await lab.startOther('expireOutputs', script);

    await pass.failure();
    assert.equal(attempts, 2);
  });

  it('end as cancelled when an operator cancels them', async () => {
    const started = new Milestone();
    const pass = await lab.startOther(
      'sweepObjects',
      { sweepObjects: () => workUntilCancelled(started) },
      { target: 'unnamed' },
    );
    await started.reached;
    await pass.handle.cancel();

    assert.ok((await pass.failure()) instanceof CancelledFailure);
  });
});
