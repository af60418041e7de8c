/** The adapter of protocol `replicate`. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createReplicateProvider, filesIn } from '../../src/providers/replicate/replicate-provider.ts';
import { describeProviderContract } from './provider-contract.ts';

const call = { signal: new AbortController().signal };

describeProviderContract({ protocol: 'replicate', create: createReplicateProvider, isSynchronous: false }, (bench) => {
  it('creates a prediction of a version when the model names one', async () => {
    for (const model of ['test/picture:5c7d5dc6', '5c7d5dc6']) {
      const submission = await bench.provider.submit(bench.request('by version', { model }), call);

      assert.equal(submission.kind, 'job');
    }
    assert.equal(bench.provider.isSubmitRepeatable, false);
  });
});

describe('the outputs of a prediction', () => {
  it('are every address and data URL in it, in order, however they are nested', () => {
    const files = filesIn({
      images: ['https://a.example/1.png', 'no address', null],
      mask: 'data:image/png;base64,AAEC',
      seed: 7,
    });

    assert.deepEqual(files, [
      { from: 'url', url: 'https://a.example/1.png' },
      { from: 'bytes', bytes: Buffer.from([0, 1, 2]) },
    ]);
  });

  it('are none where the output is text, empty, nested without end or not an address of the web', () => {
    const endless: unknown[] = [];
    endless.push(endless);

    for (const output of ['a poem', '', null, {}, endless, 'file:///etc/passwd', 'data:image/png;base64,']) {
      assert.deepEqual(filesIn(output), []);
    }
  });
});
