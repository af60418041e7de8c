/** The adapter of protocol `http`, with the two examples of docs/examples, whose files are read unchanged. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { loadModels } from '../../src/catalogue/load-models.ts';
import { isMediaModel } from '../../src/catalogue/text-definition.ts';
import { packageFile } from '../../src/config/package-root.ts';
import { createHttpProvider } from '../../src/providers/http/http-provider.ts';
import { describeProviderContract } from './provider-contract.ts';
import { submitCall } from './submit-call.ts';
import { PROTOCOLS } from '../../src/providers/protocols.ts';
import { findBinding } from '../../src/providers/http/binding.ts';

const call = submitCall();
const examples = new Map(
  (await loadModels([packageFile('docs/examples')], PROTOCOLS))
    .filter(isMediaModel)
    .map((model) => [model.name, model]),
);

function bindingOf(name: string) {
  const upstream = examples.get(name)?.routes['default']?.upstreams[0];
  assert.ok(upstream !== undefined, `there is no example ${name}`);
  return { http: findBinding(upstream) };
}

describeProviderContract(
  { protocol: 'fal', create: createHttpProvider, isSynchronous: false, binding: bindingOf('fal/flux-dev') },
  (bench) => {
    it('sends a callback, because its submit contains the URL', () => {
      assert.equal(bench.provider.callsBack, true);
    });

    it("maps the input to the provider's fields, and omits what was not given", async () => {
      const work = bench.request('translated');
      const input = { ...work.input, aspect_ratio: '16:9', n: 2 };

      await bench.provider.submit({ ...work, input }, call);

      const [submit] = await bench.linesOf('translated');
      assert.deepEqual(submit?.fields, { prompt: work.input['prompt'], image_size: 'landscape_16_9', num_images: 2 });
    });
  },
);

describeProviderContract(
  {
    protocol: 'runway',
    create: createHttpProvider,
    isSynchronous: false,
    modality: 'video',
    binding: bindingOf('runway/text-to-video'),
  },
  (bench) => {
    it('passes on progress, and polls no more often than the provider allows', async () => {
      const work = bench.request('half way [slow 600000]');
      const submission = await bench.provider.submit(work, call);
      assert.ok(submission.kind === 'job');

      assert.deepEqual(await bench.provider.poll(work, submission.jobId, call), {
        kind: 'running',
        progress: 0.5,
        pollAfterMs: 5_000,
      });
    });

    it('maps the error code of a failed job to its reason', async () => {
      const work = bench.request('forbidden [content]');
      const submission = await bench.provider.submit(work, call);
      assert.ok(submission.kind === 'job');
      await bench.waitForLogged('forbidden [content]', 'finished');

      const error = await bench.caught(bench.provider.poll(work, submission.jobId, call));

      assert.equal((error as { reason?: string }).reason, 'content_rejected');
    });
  },
);
