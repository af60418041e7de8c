/** The adapter of protocol `replicate`. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createReplicateProvider } from '../../src/providers/replicate/replicate-provider.ts';
import { describeProviderContract } from './provider-contract.ts';
import { submitCall } from './submit-call.ts';

const call = submitCall();

describeProviderContract({ protocol: 'replicate', create: createReplicateProvider, isSynchronous: false }, (bench) => {
  it('creates a prediction of a version when the model names one', async () => {
    for (const model of ['test/image:5c7d5dc6', '5c7d5dc6']) {
      const submission = await bench.provider.submit(bench.request('by version', { model }), call);

      assert.equal(submission.kind, 'job');
    }
  });
});
