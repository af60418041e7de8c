/**
 * A mediaTask whose upstream is at its cap: it waits for the signal that it has a slot (workflows/media-task.ts).
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CancelledFailure } from '@temporalio/common';
import { SLOT_SIGNAL } from '../../src/domain/workflow-ids.ts';
import type { SubmitResult } from '../../workflows/contracts.ts';
import { Milestone, openLab } from './workflow-lab.ts';
import type { LabTask, WorkflowLab } from './workflow-lab.ts';

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
  let lab: WorkflowLab;
  before(async () => {
    lab = await openLab();
    await lab.startWorkers();
  });
  after(() => lab.close());

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
