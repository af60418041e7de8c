/** The part of the adapters' contract that is about jobs: polling, failing and cancelling. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ProviderFailure, ProviderUnreachable } from '../../src/providers/provider.ts';
import type { GenerationRequest } from '../../src/providers/provider.ts';
import type { ContractBench } from './contract-bench.ts';
import { submitCall } from './submit-call.ts';
import { freePort } from './unreachable-servers.ts';

const call = submitCall();

/** The cases of adapters whose submit returns a job. */
export function describeJobs(bench: ContractBench): void {
  const { provider, request, caught, waitForLogged } = bench;

  const submitJob = async (work: GenerationRequest): Promise<string> => {
    const submission = await provider.submit(work, call);
    assert.ok(submission.kind === 'job');
    return submission.jobId;
  };

  it('reports a job as running until it has ended', async () => {
    const work = request('long [slow 600000]');
    const jobId = await submitJob(work);

    assert.equal((await provider.poll(work, jobId, call)).kind, 'running');
  });

  it('fails with provider_error when the job fails', async () => {
    const work = request('broken [fail]');
    const jobId = await submitJob(work);
    await waitForLogged('broken [fail]', 'finished');

    const error = await caught(provider.poll(work, jobId, call));

    assert.ok(error instanceof ProviderFailure);
    assert.equal(error.reason, 'provider_error');
  });

  it('stops a running job, which then ends without a result', async () => {
    const work = request('stopped [slow 600000]');
    const jobId = await submitJob(work);

    assert.equal((await provider.cancel(work, jobId, call)).outcome, 'cancelled');

    assert.ok((await bench.linesOf('stopped [slow 600000]')).some((line) => line.kind === 'cancel'));
    assert.ok((await caught(provider.poll(work, jobId, call))) instanceof ProviderFailure);
  });

  it('reports that it is too late to cancel a job that is done', async () => {
    const work = request('done');
    const jobId = await submitJob(work);
    await waitForLogged('done', 'finished');

    assert.equal((await provider.cancel(work, jobId, call)).outcome, 'too_late');
    assert.equal((await provider.poll(work, jobId, call)).kind, 'done');
  });

  it('can be polled again when a poll or a cancel got no response', async () => {
    const work = request('flaky [poll-fail 1]');
    const jobId = await submitJob(work);
    await waitForLogged('flaky [poll-fail 1]', 'finished');
    const gone = { ...work, upstream: { ...work.upstream, baseUrl: `http://127.0.0.1:${await freePort()}/v1` } };
    const nameless = { ...work, upstream: { ...work.upstream, secret: 'nowhere' } };

    for (const ask of [
      () => provider.poll(work, jobId, call),
      () => provider.poll(gone, jobId, call),
      () => provider.cancel(gone, jobId, call),
      () => provider.poll(nameless, jobId, call),
    ]) {
      assert.ok((await caught(ask())) instanceof ProviderUnreachable);
    }
    assert.equal((await provider.poll(work, jobId, call)).kind, 'done');
  });

  it('treats a poll that returns HTML, or fields of other types, as no response', async () => {
    for (const prompt of ['paged [html-poll]', 'strange [odd-poll]']) {
      const work = request(prompt);
      const jobId = await submitJob(work);

      assert.ok((await caught(provider.poll(work, jobId, call))) instanceof ProviderUnreachable, prompt);
    }
  });

  it('fails when the provider does not know the job', async () => {
    assert.ok((await caught(provider.poll(request('lost'), 'no-such-job', call))) instanceof ProviderFailure);
  });
}
