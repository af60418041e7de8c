/** Cancelling and terminating a task's workflow, at every point where that can happen (contract §4). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ApplicationFailure, CancelledFailure, TerminatedFailure } from '@temporalio/common';
import { Milestone, ONE_OUTPUT, openLab, workUntilCancelled } from './workflow-lab.ts';
import { CANCEL_BEFORE_SETTLEMENT_MAX_ATTEMPTS } from '../../workflows/activity-options.ts';
import type { LabTask, Script, WorkflowLab } from './workflow-lab.ts';

async function assertCancelled(task: LabTask): Promise<void> {
  assert.ok((await task.failure()) instanceof CancelledFailure);
  assert.equal((await task.handle.describe()).status.name, 'CANCELLED');
  assert.deepEqual(task.settlements, [
    { taskId: task.taskId, accountId: 'acct_lab', status: 'fail', reason: 'cancelled' },
  ]);
  assert.deepEqual(await task.searchAttributes(), { TaskStatus: 'fail', ErrorCode: 'TASK_CANCELLED' });
  // The provider is notified: before the settlement if it has a job, which may cost something; otherwise after it.
  assert.deepEqual(task.callNames.slice(-2).toSorted(), ['cancelGeneration', 'settleTask']);
}

/** The same, settled with what its provider bills. */
async function assertBilled(task: LabTask): Promise<void> {
  assert.ok((await task.failure()) instanceof CancelledFailure);
  const [settlement] = task.settlements;
  assert.ok(settlement?.status === 'fail');
  assert.deepEqual([settlement.reason, settlement.billedUsd], ['cancelled', '0.004']);
}

/** The calls of a task that is cancelled while it waits for its job, up to the cancel. */
const WAITING = ['submitGeneration', 'awaitGeneration', 'recordCancel'];

describe('a mediaTask that is cancelled', () => {
  let lab: WorkflowLab;
  before(async () => {
    lab = await openLab();
    await lab.startWorkers();
  });
  after(() => lab.close());

  /** A task that is cancelled once its script has begun what it works on. */
  async function cancelledAt(scriptOf: (started: Milestone) => Script): Promise<LabTask> {
    const started = new Milestone();
    const task = await lab.startTask(scriptOf(started));
    await started.reached;
    await task.handle.cancel();
    return task;
  }

  /** The same while it waits for its job. */
  const cancelledInWait = (script: Script = {}): Promise<LabTask> =>
    cancelledAt((started) => ({
      submitGeneration: () => Promise.resolve({ kind: 'job' }),
      awaitGeneration: () => workUntilCancelled(started),
      ...script,
    }));

  /** The same during an activity that ends before it is notified. @param scriptOf is given what the activity awaits. */
  async function cancelledUnnoticed(scriptOf: (untilCancelled: () => Promise<void>) => Script): Promise<LabTask> {
    const mayEnd = new Milestone();
    const task = await cancelledAt((started) =>
      scriptOf(() => {
        started.reach();
        return mayEnd.reached;
      }),
    );
    await task.waitForEvent((event) => event.activityTaskCancelRequestedEventAttributes != null);
    mayEnd.reach();
    return task;
  }

  it('settles as cancelled when that happens while it submits, after the submit has really stopped', async () => {
    let hasStopped = false;
    const task = await cancelledAt((started) => ({
      submitGeneration: () =>
        workUntilCancelled(started).finally(() => {
          hasStopped = true;
        }),
      settleTask: (input) => {
        assert.ok(hasStopped, 'settled while the submit was still under way');
        return Promise.resolve({ status: 'fail', reason: input.status === 'fail' ? input.reason : null });
      },
    }));

    await assertCancelled(task);
    assert.deepEqual(task.callNames, ['submitGeneration', 'settleTask', 'cancelGeneration']);
  });

  it('settles as cancelled when that happens while it waits for the job', async () => {
    await assertCancelled(await cancelledInWait());
  });

  it('settles as cancelled although the database does not record that while it waits for the job', async () => {
    const task = await cancelledInWait({
      recordCancel: () => Promise.reject(ApplicationFailure.retryable('away', 'DatabaseUnavailableError')),
    });

    await assertCancelled(task);
    assert.deepEqual(task.callNames, [...WAITING, 'cancelGeneration', 'settleTask']);
  });

  it('stops the job first and settles with what its provider bills, and had finished', async () => {
    const task = await cancelledInWait({
      cancelGeneration: () => Promise.resolve({ outcome: 'too_late', billedUsd: '0.004', finishedFiles: 1 }),
    });

    assert.ok((await task.failure()) instanceof CancelledFailure);
    assert.deepEqual(task.callNames, [...WAITING, 'cancelGeneration', 'settleTask']);
    const { taskId } = task;
    assert.deepEqual(task.calls.at(-1)?.input, {
      taskId,
      accountId: 'acct_lab',
      status: 'fail',
      reason: 'cancelled',
      billedUsd: '0.004',
      finishedFiles: 1,
    });
  });

  it('settles, and requests the stop once more, when the provider does not report whether the job stopped', async () => {
    let asked = 0;
    const task = await cancelledInWait({
      cancelGeneration: () => {
        asked += 1;
        if (asked > 1) return Promise.resolve({});
        return Promise.reject(ApplicationFailure.nonRetryable('no answer', 'ProviderNotStopped'));
      },
    });

    await assertCancelled(task);
    assert.deepEqual(task.callNames.slice(-2), ['settleTask', 'cancelGeneration']);
  });

  it('requests the bill until there is a slot for that, more often than from a provider that fails', async () => {
    let asked = 0;
    const task = await cancelledInWait({
      cancelGeneration: () => {
        asked += 1;
        if (asked > CANCEL_BEFORE_SETTLEMENT_MAX_ATTEMPTS + 2) return Promise.resolve({ billedUsd: '0.004' });
        throw ApplicationFailure.create({ type: 'provider_unavailable', nonRetryable: false, nextRetryDelay: 100 });
      },
    });

    await assertBilled(task);
  });

  for (const [what, failure] of [
    ['its worker stops', ApplicationFailure.retryable('the worker stops', 'WorkerShutdown')],
    ['the database is away', ApplicationFailure.retryable('away', 'DatabaseUnavailableError')],
  ] as const) {
    it(`settles as cancelled, with its bill, although ${what} before the activity is notified`, async () => {
      const task = await cancelledUnnoticed((untilCancelled) => ({
        submitGeneration: () => Promise.resolve({ kind: 'job' }),
        awaitGeneration: async () => {
          await untilCancelled();
          throw failure;
        },
        cancelGeneration: () => Promise.resolve({ billedUsd: '0.004' }),
      }));

      await assertBilled(task);
      assert.deepEqual(task.callNames, [...WAITING, 'cancelGeneration', 'settleTask']);
    });
  }

  it('reports the reason of a submit that failed permanently before it was notified', async () => {
    const task = await cancelledUnnoticed((untilCancelled) => ({
      submitGeneration: async () => {
        await untilCancelled();
        throw ApplicationFailure.nonRetryable('permanent: outcome_unknown', 'outcome_unknown');
      },
    }));

    await task.failure();
    assert.deepEqual(
      task.settlements.map((settlement) => settlement.status === 'fail' && settlement.reason),
      ['outcome_unknown'],
    );
  });

  it('requests the bill of a job that a submit had begun before it was interrupted', async () => {
    const isUpstream = true;
    const failed = new Milestone();
    const task = await lab.startTask(
      {
        // The job is recorded; the workflow is waiting for the next attempt when the cancellation comes.
        submitGeneration: () => {
          failed.reach();
          throw ApplicationFailure.create({
            message: 'away',
            type: 'DatabaseUnavailableError',
            nextRetryDelay: '1 hour',
          });
        },
        cancelGeneration: () => Promise.resolve({ billedUsd: '0.004' }),
      },
      { isUpstream },
    );
    await failed.reached;
    await task.handle.cancel();

    await assertBilled(task);
    assert.deepEqual(task.callNames, ['submitGeneration', 'cancelGeneration', 'settleTask']);
  });

  for (const [what, result] of [
    ['finished', { kind: 'produced' }],
    ['took a job', { kind: 'job' }],
  ] as const) {
    it(`settles as cancelled although the submit ${what} before it was notified`, async () => {
      const task = await cancelledUnnoticed((untilCancelled) => ({
        submitGeneration: async () => {
          await untilCancelled();
          return result;
        },
      }));

      await assertCancelled(task);
      const rest = result.kind === 'job' ? ['cancelGeneration', 'settleTask'] : ['settleTask', 'cancelGeneration'];
      assert.deepEqual(task.callNames, ['submitGeneration', ...rest]);
    });
  }

  // Proves C4-3.
  it('succeeds when that happens while it archives', async () => {
    const started = new Milestone();
    const mayFinish = new Milestone();
    const task = await lab.startTask({
      archiveOutputs: async () => {
        started.reach();
        await mayFinish.reached;
        return { kind: 'archived', outputs: [ONE_OUTPUT] };
      },
    });
    await started.reached;
    await task.handle.cancel();
    await task.waitForEvent((event) => event.workflowExecutionCancelRequestedEventAttributes != null);
    mayFinish.reach();

    assert.deepEqual(await task.result(), { status: 'success', reason: null });
    assert.deepEqual(task.callNames, ['submitGeneration', 'archiveOutputs', 'settleTask']);
    assert.deepEqual(await task.searchAttributes(), { TaskStatus: 'success' });
  });

  it('ends as cancelled although the provider cannot be asked to stop', async () => {
    const task = await cancelledAt((started) => ({
      submitGeneration: () => workUntilCancelled(started),
      cancelGeneration: () => Promise.reject(ApplicationFailure.nonRetryable('away', 'ProviderUnreachable')),
    }));

    await assertCancelled(task);
  });

  it('completes when the record shows that the task had succeeded before', async () => {
    const task = await cancelledAt((started) => ({
      submitGeneration: () => workUntilCancelled(started),
      settleTask: () => Promise.resolve({ status: 'success', reason: null }),
    }));

    assert.deepEqual(await task.result(), { status: 'success', reason: null });
    assert.deepEqual(await task.searchAttributes(), { TaskStatus: 'success' });
  });

  it('fails with the reason of the record when the task had failed otherwise before', async () => {
    const task = await cancelledAt((started) => ({
      submitGeneration: () => workUntilCancelled(started),
      settleTask: () => Promise.resolve({ status: 'fail', reason: 'timed_out' }),
    }));

    const failure = await task.failure();
    assert.ok(failure instanceof ApplicationFailure);
    assert.equal(failure.type, 'timed_out');
  });

  it('runs nothing of it any more when it is terminated', async () => {
    const started = new Milestone();
    const stopped = new Milestone();
    const task = await lab.startTask({
      submitGeneration: () => workUntilCancelled(started).finally(() => stopped.reach()),
    });
    await started.reached;
    await task.handle.terminate('by an operator');

    assert.ok((await task.failure()) instanceof TerminatedFailure);
    // The running activity learns about it with its next heartbeat; the repair settles the task.
    await stopped.reached;
    assert.deepEqual(task.callNames, ['submitGeneration']);
  });
});

describe('a mediaTask that is cancelled before any work was done', () => {
  it('settles as cancelled without a submit when no worker had started it', async () => {
    const lab = await openLab();
    try {
      const task = await lab.startTask();
      await task.handle.cancel();
      await lab.startWorkers();

      await assertCancelled(task);
      assert.deepEqual(task.callNames, ['settleTask', 'cancelGeneration']);
    } finally {
      await lab.close();
    }
  });

  it('settles as cancelled without a submit while it waits for a generation slot', async () => {
    const lab = await openLab();
    try {
      await lab.startWorkers(['media']);
      const task = await lab.startTask();
      await task.waitForEvent((event) => event.activityTaskScheduledEventAttributes != null);
      await task.handle.cancel();

      await assertCancelled(task);
      assert.deepEqual(task.callNames, ['settleTask', 'cancelGeneration']);
    } finally {
      await lab.close();
    }
  });
});

describe('a mediaTask after an earlier run that is cancelled before any work was done', () => {
  const earlierRunId = 'run-1';
  let lab: WorkflowLab;
  before(async () => {
    lab = await openLab();
    // Its submit waits forever for a slot in the generation queue.
    await lab.startWorkers(['media', 'waiting', 'archiving']);
  });
  after(() => lab.close());

  async function cancelled(script: Script): Promise<LabTask> {
    const task = await lab.startTask(script, { earlierRunId });
    await task.waitForEvent((event) => event.activityTaskScheduledEventAttributes != null);
    await task.handle.cancel();
    return task;
  }

  for (const [what, decided, calls] of [
    ['files', { kind: 'produced' }, ['takeOverRun', 'archiveOutputs', 'settleTask']],
    ['a job', { kind: 'job' }, ['takeOverRun', 'awaitGeneration', 'archiveOutputs', 'settleTask']],
  ] as const) {
    it(`succeeds as that one had, with ${what} of it`, async () => {
      const task = await cancelled({ takeOverRun: () => Promise.resolve({ decided }) });

      assert.deepEqual(await task.result(), { status: 'success', reason: null });
      assert.deepEqual(task.callNames, calls);
    });
  }

  it('succeeds as that one had when no worker had started it', async () => {
    const other = await openLab();
    try {
      const script: Script = { takeOverRun: () => Promise.resolve({ decided: { kind: 'produced' } }) };
      const task = await other.startTask(script, { earlierRunId });
      await task.handle.cancel();
      await other.startWorkers();

      assert.deepEqual(await task.result(), { status: 'success', reason: null });
      assert.deepEqual(task.callNames, ['takeOverRun', 'archiveOutputs', 'settleTask']);
    } finally {
      await other.close();
    }
  });

  it('fails as that one had', async () => {
    const decided = { kind: 'ended', reason: 'content_rejected' } as const;
    const task = await cancelled({ takeOverRun: () => Promise.resolve({ decided }) });

    const failure = await task.failure();
    assert.equal(failure instanceof ApplicationFailure && failure.type, 'content_rejected');
    assert.deepEqual(task.callNames, ['takeOverRun', 'settleTask']);
  });

  for (const [what, script] of [
    ['had not ended the task', {}],
    ['does not say how', { takeOverRun: () => permanent('outcome_unknown') }],
  ] as const) {
    it(`settles as cancelled when that one ${what}`, async () => {
      const task = await cancelled(script);

      await assertCancelled(task);
      assert.deepEqual(task.callNames, ['takeOverRun', 'settleTask', 'cancelGeneration']);
    });
  }
});

function permanent(type: string): Promise<never> {
  return Promise.reject(ApplicationFailure.nonRetryable('scripted', type));
}
