/** The adapter of protocol `tasks`. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createTasksProvider } from '../../src/providers/tasks/tasks-provider.ts';
import { ProviderFailure, ProviderUnknown } from '../../src/providers/provider.ts';
import { describeProviderContract } from './provider-contract.ts';
import { submitCall } from './submit-call.ts';

const call = submitCall();

describeProviderContract(
  { protocol: 'tasks', create: createTasksProvider, isSynchronous: false, isRepeatable: true },
  (bench) => {
    const { provider, request, caught, linesOf } = bench;

    it('gets the job of the first submit when a lost submit is repeated', async () => {
      const work = request('again [drop]');
      assert.ok((await caught(provider.submit(work, call))) instanceof ProviderUnknown);

      const submission = await provider.submit(work, call);

      const submits = (await linesOf('again [drop]')).filter((line) => line.kind === 'submit');
      assert.deepEqual(
        submits.map((line) => [line.jobId, line.idempotencyKey]),
        [[submission.kind === 'job' ? submission.jobId : '', work.taskId]],
      );
      assert.equal(provider.isSubmitRepeatable, true);
    });

    it('ends with an unknown outcome when its key was used for another body', async () => {
      const work = request('first words');
      await provider.submit(work, call);

      const error = await caught(provider.submit({ ...work, input: { prompt: 'other words' } }, call));

      assert.ok(error instanceof ProviderFailure);
      assert.equal(error.reason, 'outcome_unknown');
    });

    it('says of a failed task whether it was billed, if that service does', async () => {
      for (const [behaviour, isUnbilled] of [
        ['[fail] [bills 0]', true],
        ['[fail] [bills 0.004]', false],
        ['[fail]', false],
      ] as const) {
        const work = request(`unpaid ${behaviour}`);
        const submission = await provider.submit(work, call);
        assert.ok(submission.kind === 'job');
        await bench.waitForLogged(`unpaid ${behaviour}`, 'finished');

        const error = await caught(provider.poll(work, submission.jobId, call));
        assert.ok(error instanceof ProviderFailure);
        assert.equal(error.isUnbilled, isUnbilled, behaviour);
      }
    });

    it('passes on progress and the poll interval', async () => {
      const work = request('half way [slow 600000]');
      const submission = await provider.submit(work, call);
      assert.ok(submission.kind === 'job');

      assert.deepEqual(await provider.poll(work, submission.jobId, call), {
        kind: 'running',
        progress: 0.5,
        pollAfterMs: 1000,
      });
    });
  },
);
