/**
 * Promises of the embedded provider: finished bytes from one call, the same for every attempt of a task.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createEnginePool } from '../../../src/providers/embedded/engine-pool.ts';
import type { EnginePool } from '../../../src/providers/embedded/engine-pool.ts';
import { createEmbeddedProvider } from '../../../src/providers/embedded/embedded-provider.ts';
import { ProviderFailure, ProviderRejection } from '../../../src/providers/provider.ts';
import type { GenerationRequest, Provider } from '../../../src/providers/provider.ts';
import { silentLogger } from '../../../src/telemetry/log.ts';
import { submitCall } from '../submit-call.ts';

function request(changes: Partial<GenerationRequest> = {}): GenerationRequest {
  return {
    taskId: 'tk-svc-00000000000000000000000001',
    upstream: { protocol: 'embedded', model: 'swatch' },
    input: { prompt: 'teal' },
    ...changes,
  };
}

describe('the embedded provider', () => {
  let pool: EnginePool;
  let provider: Provider;
  const call = submitCall();
  before(() => {
    pool = createEnginePool({ threads: 1, logger: silentLogger() });
    provider = createEmbeddedProvider(pool);
  });
  after(() => pool.close());

  async function bytesOf(what: GenerationRequest): Promise<Buffer> {
    const submission = await provider.submit(what, call);
    assert.equal(submission.kind, 'done');
    const file = submission.kind === 'done' ? submission.files[0] : undefined;
    assert.equal(file?.from, 'bytes');
    return Buffer.from(file?.from === 'bytes' ? file.bytes : []);
  }

  it('declares its submit repeatable, and returns the same bytes each time for a task', async () => {
    assert.equal(provider.isSubmitRepeatable, true);
    assert.ok((await bytesOf(request())).equals(await bytesOf(request())));
  });

  it('varies with the task when the input has no seed, and does not when it has one', async () => {
    const other = { taskId: 'tk-svc-00000000000000000000000002' } as const;
    assert.ok(!(await bytesOf(request())).equals(await bytesOf(request(other))));
    const input = { prompt: 'teal', seed: 5 };
    assert.ok((await bytesOf(request({ input }))).equals(await bytesOf(request({ ...other, input }))));
  });

  it('overrides the input with the parameters of the upstream', async () => {
    const upstream = { protocol: 'embedded', model: 'swatch', parameters: { prompt: 'pink' } };
    assert.ok((await bytesOf(request({ upstream }))).equals(await bytesOf(request({ input: { prompt: 'pink' } }))));
  });

  it('rejects an engine that this version does not have', async () => {
    const upstream = { protocol: 'embedded', model: 'constructor' };
    await assert.rejects(
      provider.submit(request({ upstream }), call),
      (err) =>
        err instanceof ProviderRejection && err.reason === 'model_unavailable' && err.note?.includes('"constructor"'),
    );
  });

  it('fails for an unusable input, with the field and its validation error', async () => {
    const upstream = { protocol: 'embedded', model: 'speech' };
    const input = { text: '😀', voice: 'slt' };
    await assert.rejects(provider.submit(request({ upstream, input }), call), (err) => {
      assert.ok(err instanceof ProviderFailure);
      assert.equal(err.reason, 'input_invalid');
      assert.deepEqual(err.fault, { kind: 'unusable_text', field: 'text' });
      return true;
    });
  });

  it('rejects with AbortError when the call is aborted', async () => {
    await assert.rejects(provider.submit(request(), submitCall({ signal: AbortSignal.abort() })), {
      name: 'AbortError',
    });
  });

  it('has no jobs to poll or to cancel', async () => {
    await assert.rejects(
      provider.poll(request(), 'job', call),
      (err) => err instanceof ProviderFailure && err.reason === 'provider_error',
    );
    assert.equal((await provider.cancel(request(), 'job', call)).outcome, 'unsupported');
  });
});
