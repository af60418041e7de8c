/** The adapter of protocol `openai`. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createOpenAiProvider } from '../../src/providers/openai/openai-provider.ts';
import { ProviderUnknown } from '../../src/providers/provider-unknown.ts';
import { describeProviderContract } from './provider-contract.ts';

const call = { signal: new AbortController().signal };

describeProviderContract({ protocol: 'openai', create: createOpenAiProvider, isSynchronous: true }, (bench) => {
  it('passes on the address of a picture when the model answers with addresses', async () => {
    const request = bench.request('by address', { parameters: { response_format: 'url' } });

    const submission = await bench.provider.submit(request, call);

    assert.ok(submission.kind === 'done');
    assert.equal(submission.files[0]?.from, 'url');
  });

  it('does not know what became of the work when the provider fails after taking it', async () => {
    const error = await bench.caught(bench.provider.submit(bench.request('broken [fail]'), call));

    assert.ok(error instanceof ProviderUnknown);
  });

  it('says that its submit must not be repeated', () => {
    assert.equal(bench.provider.isSubmitRepeatable, false);
  });
});
