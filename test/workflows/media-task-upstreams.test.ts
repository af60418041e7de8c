/**
 * A mediaTask and the upstreams of its route (workflows/media-task.ts): it waits for the signal that it has a slot at one
 * that is at its cap, and the next one gets it if its job failed and is not billed (docs/decisions/0004).
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { SLOT_SIGNAL } from '../../src/domain/workflow-ids.ts';
import type { AwaitInput, MediaTaskInput, SubmitResult } from '../../workflows/contracts.ts';
import { Milestone, openLab } from './workflow-lab.ts';
import type { LabTask, Script, WorkflowLab } from './workflow-lab.ts';

let lab: WorkflowLab;
before(async () => {
  lab = await openLab();
  await lab.startWorkers();
});
after(() => lab.close());

const UPSTREAM = { isUpstream: true } as const;
/** Far beyond what a test may take. */
const LONG_MS = 3_600_000;

/** An upstream that is full for the given number of submits. */
function fullFor(times: number, waitMs: number) {
  let submits = 0;
  return (): Promise<SubmitResult> =>
    Promise.resolve(++submits <= times ? { kind: 'waiting', waitMs } : { kind: 'produced' });
}

const isWaiting = (task: LabTask, times = 1): Promise<void> => {
  let seen = 0;
  return task.waitForEvent((event) => event.timerStartedEventAttributes != null && ++seen === times);
};

describe('a mediaTask whose upstream is at its cap', () => {
  it('submits again when it is signalled that it has a slot, and not before', async () => {
    const task = await lab.startTask({ submitGeneration: fullFor(1, LONG_MS) }, UPSTREAM);
    await isWaiting(task);
    assert.deepEqual(task.callNames, ['submitGeneration']);

    await task.handle.signal(SLOT_SIGNAL);

    assert.deepEqual(await task.result(), { status: 'success', reason: null });
    assert.deepEqual(task.callNames, ['submitGeneration', 'submitGeneration', 'archiveOutputs', 'settleTask']);
  });

  it('accepts a signal that arrived before the instruction to wait', async () => {
    const started = new Milestone();
    const mayAnswer = new Milestone();
    const answer = fullFor(1, LONG_MS);
    const task = await lab.startTask(
      {
        submitGeneration: async () => {
          started.reach();
          await mayAnswer.reached;
          return answer();
        },
      },
      UPSTREAM,
    );
    await started.reached;
    await task.handle.signal(SLOT_SIGNAL);
    await task.waitForEvent((event) => event.workflowExecutionSignaledEventAttributes != null);
    mayAnswer.reach();

    assert.deepEqual(await task.result(), { status: 'success', reason: null });
  });

  it('waits again when the slot was gone, and polls by itself after the given time', async () => {
    const task = await lab.startTask({ submitGeneration: fullFor(2, 200) }, UPSTREAM);

    assert.deepEqual(await task.result(), { status: 'success', reason: null });
    assert.deepEqual(task.callNames.filter((name) => name === 'submitGeneration').length, 3);
  });

  it('settles as cancelled when that happens while it waits, and leaves the queue', async () => {
    const task = await lab.startTask({ submitGeneration: fullFor(1, LONG_MS) }, UPSTREAM);
    await isWaiting(task);

    await task.handle.cancel();

    assert.ok((await task.failure()) instanceof CancelledFailure);
    assert.deepEqual(task.callNames, ['submitGeneration', 'cancelGeneration', 'settleTask']);
  });
});

const FAILS_OVER = { isUpstream: true, failsOver: true } as const;

/** Jobs at one upstream after another, of which so many fail. */
function jobs(failing: number): Pick<Required<Script>, 'submitGeneration' | 'awaitGeneration'> {
  let upstreamIndex = -1;
  let failed = 0;
  const results = (): SubmitResult => (++failed <= failing ? { kind: 'failed' } : { kind: 'produced' });
  return {
    submitGeneration: () => Promise.resolve({ kind: 'job', upstreamIndex: ++upstreamIndex }),
    awaitGeneration: () => Promise.resolve(results()),
  };
}

const inputsOf = (task: LabTask, name: string): readonly AwaitInput[] =>
  task.calls.filter(({ activity }) => activity === name).map(({ input }) => input as AwaitInput);
const earlierRuns = (task: LabTask): readonly unknown[] =>
  inputsOf(task, 'submitGeneration').map((input: MediaTaskInput) => input.earlierRunId);

describe('a mediaTask whose job failed and is not billed', () => {
  it('submits again until a job ends otherwise, and says at which upstream each job is', async () => {
    const task = await lab.startTask(jobs(2), FAILS_OVER);

    assert.deepEqual(await task.result(), { status: 'success', reason: null });
    const turn = ['submitGeneration', 'awaitGeneration'];
    assert.deepEqual(task.callNames, [...turn, ...turn, ...turn, 'archiveOutputs', 'settleTask']);
    assert.deepEqual(
      inputsOf(task, 'awaitGeneration').map(({ failsOverFrom }) => failsOverFrom),
      [0, 1, 2],
    );
  });

  it('takes an earlier run over once', async () => {
    const task = await lab.startTask(jobs(1), { ...FAILS_OVER, earlierRunId: 'run-1' });

    await task.result();
    assert.deepEqual(earlierRuns(task), ['run-1', undefined]);
  });

  it('waits in the queue of the next upstream', async () => {
    const script = jobs(1);
    let submits = 0;
    const submitGeneration: Script['submitGeneration'] = (input) =>
      ++submits === 2 ? Promise.resolve({ kind: 'waiting', waitMs: 100 }) : script.submitGeneration(input);
    const task = await lab.startTask({ ...script, submitGeneration }, FAILS_OVER);

    assert.deepEqual(await task.result(), { status: 'success', reason: null });
    assert.equal(inputsOf(task, 'submitGeneration').length, 3);
  });

  it('fails as its last submit does', async () => {
    let submits = 0;
    const submitGeneration: Script['submitGeneration'] = () => {
      if (++submits === 1) return Promise.resolve({ kind: 'job', upstreamIndex: 0 });
      throw ApplicationFailure.nonRetryable('no', 'provider_unavailable');
    };
    const task = await lab.startTask({ ...jobs(1), submitGeneration }, FAILS_OVER);

    const failure = await task.failure();
    assert.ok(failure instanceof ApplicationFailure && failure.type === 'provider_unavailable');
  });

  it('settles as cancelled when that happens between the job and the next submit', async () => {
    const started = new Milestone();
    const mayAnswer = new Milestone();
    const task = await lab.startTask(
      {
        ...jobs(1),
        awaitGeneration: async () => {
          started.reach();
          await mayAnswer.reached;
          return { kind: 'failed' };
        },
      },
      FAILS_OVER,
    );
    await started.reached;
    await task.handle.cancel();
    await task.waitForEvent((event) => event.workflowExecutionCancelRequestedEventAttributes != null);
    mayAnswer.reach();

    assert.ok((await task.failure()) instanceof CancelledFailure);
    assert.deepEqual(task.callNames, [
      'submitGeneration',
      'awaitGeneration',
      'recordCancel',
      'cancelGeneration',
      'settleTask',
    ]);
  });

  it('does not learn of that where its route does not allow it', async () => {
    const task = await lab.startTask(jobs(0), { isUpstream: true });

    await task.result();
    const [input] = inputsOf(task, 'awaitGeneration');
    assert.equal(input !== undefined && 'failsOverFrom' in input, false);
  });
});
