/** The adapter of protocol `replicate`. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { RenameSchema, createReplicateProvider } from '../../src/providers/replicate/replicate-provider.ts';
import { compileCheck } from '../../src/schema/schema-validation.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createSecretSource } from '../../src/upstreams/secrets.ts';
import { withRecorder } from './http/recorder.ts';
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

it('sends fields under the names that the model has for them, and parameters as they are', async () => {
  await withRecorder(
    () => ({ id: 'p1' }),
    async ({ origin, requests }) => {
      const upstream = {
        protocol: 'replicate',
        baseUrl: `${origin}/v1`,
        model: 'test/image',
        rename: { n: 'num_outputs', absent: 'other' },
        parameters: { n: 1, go_fast: false },
      };
      const provider = createReplicateProvider({ secrets: createSecretSource({}), logger: silentLogger() });
      const input = { prompt: 'a boat', n: 2, seed: 7 };

      await provider.submit({ taskId: 'tk-svc-00000000000000000000000001', upstream, input }, call);

      const [{ body } = assert.fail()] = requests;
      const sent = { prompt: 'a boat', num_outputs: 2, seed: 7, n: 1, go_fast: false };
      assert.deepEqual(JSON.parse(body.toString()), { input: sent });
    },
  );
});

it('accepts names of fields of at most 64 characters, and at most 100 of them', () => {
  const check = compileCheck(RenameSchema, 'invalid model file');
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, 'g']));
  for (const rename of [{ n: 'g'.repeat(64) }, { ['n'.repeat(64)]: 'g' }, many(100)]) {
    assert.equal(check(rename), undefined);
  }
  for (const rename of [{ n: 'g'.repeat(65) }, { ['n'.repeat(65)]: 'g' }, many(101), { n: '__proto__.a' }, { n: 1 }]) {
    assert.notEqual(check(rename), undefined, JSON.stringify(rename));
  }
});
