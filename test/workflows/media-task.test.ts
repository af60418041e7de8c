/** The order of steps in a task's workflow: what is done, the consequences, and the final state. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { FAILURE_REASONS } from '../../src/domain/failure-reason.ts';
import type { FailureReason } from '../../src/domain/failure-reason.ts';
import { TASK_NOT_FOUND } from '../../src/domain/run-record.ts';
import type { SubmitResult } from '../../workflows/contracts.ts';
import { ONE_OUTPUT, openLab, verdictOf } from './workflow-lab.ts';
import type { Script, WorkflowLab } from './workflow-lab.ts';

/** Contract §3, `error.code`. */
const ERROR_CODES: Record<FailureReason, string> = {
  content_rejected: 'TASK_FAILED',
  input_unreachable: 'INVALID_REQUEST',
  input_invalid: 'INVALID_REQUEST',
  provider_unavailable: 'TASK_FAILED',
  provider_error: 'TASK_FAILED',
  no_output: 'TASK_FAILED',
  outcome_unknown: 'TASK_FAILED',
  timed_out: 'TASK_TIMEOUT',
  cancelled: 'TASK_CANCELLED',
  terminated: 'TASK_FAILED',
  storage_unavailable: 'STORAGE_UNAVAILABLE',
  model_unavailable: 'MODEL_UNAVAILABLE',
};

function permanent(type: string): Promise<never> {
  return Promise.reject(ApplicationFailure.nonRetryable('scripted', type));
}

const job = (): Promise<SubmitResult> => Promise.resolve({ kind: 'job' });

describe('mediaTask', () => {
  let lab: WorkflowLab;
  before(async () => {
    lab = await openLab();
    await lab.startWorkers();
  });
  after(() => lab.close());

  it('submits, archives and settles, and waits for no job, when the provider is synchronous', async () => {
    const task = await lab.startTask();

    assert.deepEqual(await task.result(), { status: 'success', reason: null });
    assert.deepEqual(task.callNames, ['submitGeneration', 'archiveOutputs', 'settleTask']);
    assert.deepEqual(task.settlements, [
      { taskId: task.taskId, accountId: 'acct_lab', status: 'success', outputs: [ONE_OUTPUT] },
    ]);
    assert.deepEqual(await task.searchAttributes(), { TaskStatus: 'success' });
  });

  it('shows operators its end alone: it is started with the status that lasts until then', async () => {
    const task = await lab.startTask({ submitGeneration: job });

    await task.result();
    const { events } = await lab.namespace.client.workflow.getHandle(task.taskId).fetchHistory();
    const upserts = (events ?? []).filter((event) => event.upsertWorkflowSearchAttributesEventAttributes != null);
    assert.equal(upserts.length, 1);
    assert.deepEqual(await task.searchAttributes(), { TaskStatus: 'success' });
  });

  it('passes the activities exactly the facts it was started with', async () => {
    const task = await lab.startTask({ submitGeneration: job }, { route: 'fast' });

    await task.result();
    const facts = {
      taskId: task.taskId,
      accountId: 'acct_lab',
      model: 'lab/image',
      route: 'fast',
      queuedSeconds: 60,
      isUpstream: false,
      handlingSeconds: 60,
      archivingSeconds: 60,
    };
    assert.deepEqual(
      task.calls.slice(0, 3).map((call) => call.input),
      [facts, facts, facts],
    );
  });

  for (const [isUpstream, queue] of [
    [true, 'inst_LAB-media-waiting'],
    [false, 'inst_LAB-media-generation'],
  ] as const) {
    it(`submits on ${queue} when the work is ${isUpstream ? 'an upstream’s' : 'ours'}`, async () => {
      const task = await lab.startTask({ submitGeneration: job }, { isUpstream });

      await task.result();
      assert.deepEqual(
        task.calls.map(({ activity, taskQueue }) => [activity, taskQueue]),
        [
          ['submitGeneration', queue],
          ['awaitGeneration', 'inst_LAB-media-waiting'],
          ['archiveOutputs', 'inst_LAB-media-archiving'],
          ['settleTask', 'inst_LAB-media'],
        ],
      );
    });
  }

  for (const reason of FAILURE_REASONS) {
    // Proves C3-22.
    it(`settles and fails as ${reason} when submitting fails permanently with that`, async () => {
      const task = await lab.startTask({ submitGeneration: () => permanent(reason) });

      const failure = await task.failure();
      assert.ok(failure instanceof ApplicationFailure);
      assert.equal(failure.type, reason);
      assert.equal(failure.nonRetryable, true);
      assert.deepEqual(task.settlements, [{ taskId: task.taskId, accountId: 'acct_lab', status: 'fail', reason }]);
      assert.deepEqual(await task.searchAttributes(), { TaskStatus: 'fail', ErrorCode: ERROR_CODES[reason] });
      assert.ok(!task.callNames.includes('archiveOutputs'));
      // Only then may the provider still be working on something that is no longer needed.
      assert.equal(
        task.callNames.includes('cancelGeneration'),
        ['timed_out', 'cancelled', 'terminated'].includes(reason),
      );
    });
  }

  const failures: readonly (readonly [reason: FailureReason, when: string, script: Script, isArchived?: true])[] = [
    [
      'provider_error',
      'an activity fails with something outside the list',
      { submitGeneration: () => permanent('SomethingElse') },
    ],
    [
      'content_rejected',
      'waiting for the job fails with that',
      { submitGeneration: job, awaitGeneration: () => permanent('content_rejected') },
    ],
    ['no_output', 'the outputs cannot be archived for that', { archiveOutputs: () => permanent('no_output') }, true],
  ];
  for (const [reason, when, script, isArchived = false] of failures) {
    it(`settles as ${reason} when ${when}`, async () => {
      const task = await lab.startTask(script);

      await task.failure();
      assert.deepEqual(task.settlements, [{ taskId: task.taskId, accountId: 'acct_lab', status: 'fail', reason }]);
      assert.equal(task.callNames.includes('archiveOutputs'), isArchived);
    });
  }

  it('retries each stage after a temporary failure, and never settles in between', async () => {
    const failFirst = <T>(result: T) => {
      const attempt = (): Promise<T> => {
        if (Context.current().info.attempt > 1) return Promise.resolve(result);
        return Promise.reject(ApplicationFailure.create({ type: 'provider_unavailable', nextRetryDelay: 1 }));
      };
      return attempt;
    };
    const task = await lab.startTask({
      submitGeneration: failFirst({ kind: 'job' }),
      awaitGeneration: failFirst({ kind: 'produced' }),
      archiveOutputs: failFirst({ kind: 'archived', outputs: [ONE_OUTPUT] }),
    });

    assert.deepEqual(await task.result(), { status: 'success', reason: null });
    assert.deepEqual(task.callNames, [
      'submitGeneration',
      'submitGeneration',
      'awaitGeneration',
      'awaitGeneration',
      'archiveOutputs',
      'archiveOutputs',
      'settleTask',
    ]);
  });

  for (const stage of ['submitGeneration', 'awaitGeneration', 'archiveOutputs'] as const) {
    it(`only stops the provider, and ends as the record says, when ${stage} finds the task ended`, async () => {
      const over = (): Promise<{ kind: 'over' }> => Promise.resolve({ kind: 'over' });
      const task = await lab.startTask({
        submitGeneration: job,
        [stage]: over,
        settleTask: () => Promise.resolve({ status: 'fail', reason: 'timed_out' }),
      });

      const failure = await task.failure();
      assert.ok(failure instanceof ApplicationFailure);
      assert.equal(failure.type, 'timed_out');
      assert.deepEqual(await task.searchAttributes(), { TaskStatus: 'fail', ErrorCode: 'TASK_TIMEOUT' });
      const last = task.callNames.indexOf(stage);
      // Another actor ended the task, and the provider may not know.
      assert.deepEqual(task.callNames.slice(last + 1), ['settleTask', 'cancelGeneration']);
    });
  }

  it('follows the record when the task was ended elsewhere before its success', async () => {
    const task = await lab.startTask({ settleTask: () => Promise.resolve({ status: 'fail', reason: 'terminated' }) });

    const failure = await task.failure();
    assert.ok(failure instanceof ApplicationFailure);
    assert.equal(failure.type, 'terminated');
    assert.equal(task.settlements[0]?.status, 'success');
    assert.deepEqual(await task.searchAttributes(), { TaskStatus: 'fail', ErrorCode: 'TASK_FAILED' });
  });

  it('follows the record when the task had succeeded before its failure', async () => {
    const task = await lab.startTask({
      submitGeneration: () => permanent('outcome_unknown'),
      settleTask: () => Promise.resolve({ status: 'success', reason: null }),
    });

    assert.deepEqual(await task.result(), { status: 'success', reason: null });
    assert.deepEqual(await task.searchAttributes(), { TaskStatus: 'success' });
  });

  for (const isStored of [true, false]) {
    it(`needs no settlement of its own after ${isStored ? 'a local' : 'an'} archiving that has settled`, async () => {
      const task = await lab.startTask({
        submitGeneration: () => Promise.resolve({ kind: 'produced', isStored }),
        archiveOutputs: () =>
          Promise.resolve({ kind: 'archived', outputs: [ONE_OUTPUT], settled: { status: 'success', reason: null } }),
      });

      assert.deepEqual(await task.result(), { status: 'success', reason: null });
      assert.deepEqual(task.callNames, ['submitGeneration', 'archiveOutputs']);
      assert.deepEqual(await task.searchAttributes(), { TaskStatus: 'success' });
    });
  }

  it('follows the record when the archiving finds that the task had ended', async () => {
    const task = await lab.startTask({
      archiveOutputs: () =>
        Promise.resolve({ kind: 'archived', outputs: [ONE_OUTPUT], settled: { status: 'fail', reason: 'timed_out' } }),
    });

    const failure = await task.failure();
    assert.ok(failure instanceof ApplicationFailure);
    assert.equal(failure.type, 'timed_out');
    assert.deepEqual(task.callNames, ['submitGeneration', 'archiveOutputs', 'cancelGeneration']);
  });

  it('settles by a regular activity, which is never given up, when the local one fails', async () => {
    const task = await lab.startTask({
      settleTask: (input) => {
        const { isLocal, attempt } = Context.current().info;
        if (isLocal) return Promise.reject(new Error('the database is away'));
        if (attempt < 3) return Promise.reject(ApplicationFailure.create({ type: 'Away', nextRetryDelay: 1 }));
        return Promise.resolve(verdictOf(input));
      },
    });

    assert.deepEqual(await task.result(), { status: 'success', reason: null });
    const settling = task.calls.filter((call) => call.activity === 'settleTask');
    const regular = settling.filter((call) => !call.isLocal);
    assert.ok(settling.length > regular.length, 'it was not tried locally first');
    assert.deepEqual(
      regular.map((call) => call.attempt),
      [1, 2, 3],
    );
    assert.equal(new Set(task.settlements.map((input) => JSON.stringify(input))).size, 1);
  });

  it('leaves a settlement whose account is locked to the regular activity at the first rejection, with its account', async () => {
    const task = await lab.startTask({
      settleTask: (input) =>
        Context.current().info.isLocal
          ? Promise.reject(ApplicationFailure.retryable('busy', 'AccountBusyError'))
          : Promise.resolve(verdictOf(input)),
    });

    assert.deepEqual(await task.result(), { status: 'success', reason: null });
    const settling = task.calls.filter((call) => call.activity === 'settleTask');
    assert.deepEqual(
      settling.map(({ isLocal }) => isLocal),
      [true, false],
    );
    for (const { accountId } of task.settlements) assert.equal(accountId, 'acct_lab');
  });

  const notFound = (): Promise<never> =>
    Promise.reject(ApplicationFailure.nonRetryable('the task is not in the database', TASK_NOT_FOUND));
  const stages: readonly (readonly [name: string, script: Script, calls: readonly string[]])[] = [
    ['submitting', { submitGeneration: notFound }, ['submitGeneration']],
    ['waiting', { submitGeneration: job, awaitGeneration: notFound }, ['submitGeneration', 'awaitGeneration']],
    ['archiving', { archiveOutputs: notFound }, ['submitGeneration', 'archiveOutputs']],
    ['settling', { settleTask: notFound }, ['submitGeneration', 'archiveOutputs', 'settleTask']],
    [
      'archiving locally',
      { submitGeneration: () => Promise.resolve({ kind: 'produced', isStored: true }), archiveOutputs: notFound },
      ['submitGeneration', 'archiveOutputs'],
    ],
  ];
  for (const [name, script, calls] of stages) {
    it(`ends by name, and does nothing more, when ${name} finds that the database has lost the task`, async () => {
      const task = await lab.startTask(script);

      const failure = await task.failure();
      assert.ok(failure instanceof ApplicationFailure);
      assert.deepEqual([failure.type, failure.nonRetryable], [TASK_NOT_FOUND, true]);
      assert.deepEqual(task.callNames, calls);
    });
  }

  it('ends by name when the regular settlement finds that, after the local one met an unavailable database', async () => {
    const task = await lab.startTask({
      settleTask: () =>
        Context.current().info.isLocal ? Promise.reject(new Error('the database is away')) : notFound(),
    });

    const failure = await task.failure();
    assert.equal(failure instanceof ApplicationFailure && failure.type, TASK_NOT_FOUND);
  });

  it('settles as an earlier run had ended, with what was billed, and calls no upstream', async () => {
    const task = await lab.startTask({
      submitGeneration: () => Promise.resolve({ kind: 'ended', reason: 'content_rejected', billedUsd: '0.004' }),
    });

    const failure = await task.failure();
    assert.equal(failure instanceof ApplicationFailure && failure.type, 'content_rejected');
    assert.deepEqual(task.callNames, ['submitGeneration', 'settleTask']);
    const { taskId } = task;
    assert.deepEqual(task.settlements, [
      { taskId, accountId: 'acct_lab', status: 'fail', reason: 'content_rejected', billedUsd: '0.004' },
    ]);
  });
});
