/**
 * Task queues under the former names, which were the same in every installation: a neighbour's worker takes
 * activities from them as well, finds no row for them, and must leave them to a worker that has one.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { translateFailures } from '../../activities/failures.ts';
import type { QueueName } from '../../src/domain/workflow-ids.ts';
import { TaskNotFoundError } from '../../src/tasks/record/read.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import type { Activities, MediaTaskInput, SettleInput } from '../../workflows/contracts.ts';
import { ONE_OUTPUT, openLab, verdictOf } from './workflow-lab.ts';
import type { Script, WorkflowLab } from './workflow-lab.ts';

/** It had neither `archiving` nor `maintenance`. */
const QUEUES_OF_0_1_0: readonly QueueName[] = ['media', 'generation', 'waiting', 'callbacks'];

/** More attempts than a settlement has as a local activity, so that the regular activity also reaches the neighbour. */
const ATTEMPTS_OF_NEIGHBOUR = 6;

/** An activity that the neighbour's worker takes at first; its database does not have the task. */
function takenByNeighbour<Arguments extends readonly unknown[], Result>(
  name: keyof Activities,
  result: (...args: Arguments) => Result,
  attempts = ATTEMPTS_OF_NEIGHBOUR,
): (...args: Arguments) => Promise<Result> {
  let left = attempts;
  return translateFailures(name, silentLogger(), (...args: Arguments) =>
    left-- > 0 ? Promise.reject(new TaskNotFoundError()) : Promise.resolve(result(...args)),
  );
}

const SCRIPTS: Readonly<Record<string, () => Script>> = {
  'the submit': () => ({
    submitGeneration: takenByNeighbour('submitGeneration', (_input: MediaTaskInput) => ({ kind: 'produced' }), 2),
  }),
  'the wait for its job': () => ({
    submitGeneration: () => Promise.resolve({ kind: 'job' }),
    awaitGeneration: takenByNeighbour('awaitGeneration', (_input: MediaTaskInput) => ({ kind: 'produced' }), 2),
  }),
  'its archiving': () => ({
    archiveOutputs: takenByNeighbour(
      'archiveOutputs',
      (_input: MediaTaskInput) => ({ kind: 'archived', outputs: [ONE_OUTPUT] }),
      2,
    ),
  }),
  'its archiving, which begins inside the worker of the workflow': () => ({
    submitGeneration: () => Promise.resolve({ kind: 'produced', isStored: true }),
    archiveOutputs: takenByNeighbour(
      'archiveOutputs',
      (_input: MediaTaskInput) => ({ kind: 'archived', outputs: [ONE_OUTPUT] }),
      3,
    ),
  }),
  'its settlement': () => ({
    settleTask: takenByNeighbour('settleTask', (input: SettleInput) => verdictOf(input)),
  }),
};

describe('a task on the former names of the queues', () => {
  let lab: WorkflowLab;
  before(async () => {
    lab = await openLab({ hasFormerNames: true });
    await lab.startWorkers(QUEUES_OF_0_1_0);
  });
  after(() => lab.close());

  for (const [what, script] of Object.entries(SCRIPTS)) {
    it(`succeeds although a worker without its row takes ${what} first`, async () => {
      const task = await lab.startTask(script());

      assert.deepEqual(await task.result(), { status: 'success', reason: null });
    });
  }

  it('is archived on a queue that 0.1.0 serves as well', async () => {
    const task = await lab.startTask({ submitGeneration: () => Promise.resolve({ kind: 'job' }) });

    await task.result();

    assert.deepEqual(
      task.calls.map(({ activity, taskQueue }) => [activity, taskQueue]),
      [
        ['submitGeneration', 'media-generation'],
        ['awaitGeneration', 'media-waiting'],
        ['archiveOutputs', 'media'],
        ['settleTask', 'media'],
      ],
    );
  });
});

describe('a pass on the former names of the queues', () => {
  it('is done on a queue that 0.1.0 serves as well', async () => {
    const lab = await openLab({ hasFormerNames: true });
    try {
      await lab.startWorkers(QUEUES_OF_0_1_0);
      const pass = await lab.startReconcile();

      assert.deepEqual(await pass.result(), { checked: 3, settled: 2, restarted: 1 });
    } finally {
      await lab.close();
    }
  });
});
