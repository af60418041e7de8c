/** What each adapter reads of its provider's answer about the consumption of work. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import pino from 'pino';
import type { Consumption } from '../../src/domain/provider-usage.ts';
import { createCogProvider } from '../../src/providers/cog/cog-provider.ts';
import { consumptionOf } from '../../src/providers/consumption.ts';
import { createHttpProvider } from '../../src/providers/http/http-provider.ts';
import { createOpenAiProvider } from '../../src/providers/openai/openai-provider.ts';
import { ProviderFailure } from '../../src/providers/provider.ts';
import type { GenerationRequest, Provider } from '../../src/providers/provider.ts';
import { createReplicateProvider } from '../../src/providers/replicate/replicate-provider.ts';
import { createTasksProvider } from '../../src/providers/tasks/tasks-provider.ts';
import type { HttpProviderDeps } from '../../src/providers/upstream-calls.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createSecretSource } from '../../src/upstreams/secrets.ts';
import { withRecorder } from './http/recorder.ts';
import { submitCall } from './submit-call.ts';

const FILE = 'https://files.example.com/one.png';
const call = submitCall();
const deps: HttpProviderDeps = { secrets: createSecretSource({ MAIN: 'the-key' }), logger: silentLogger() };

/** What a call of a provider yields, or fails with, if its server answers like this. */
async function consumed(
  protocol: string,
  create: (deps: HttpProviderDeps) => Provider,
  work: (provider: Provider, request: GenerationRequest) => Promise<Consumption | object>,
  answer: unknown,
): Promise<Consumption> {
  let consumption: Consumption = {};
  await withRecorder(
    () => answer,
    async ({ origin }) => {
      const upstream = { protocol, baseUrl: `${origin}/v1`, secret: 'main', model: 'owner/model' };
      const provider = create(deps).boundTo?.(upstream, 'image') ?? create(deps);
      const taskId = 'tk-svc-00000000000000000000000001';
      const result = await work(provider, { taskId, upstream, input: { prompt: 'a boat' } }).catch((error: unknown) => {
        assert.ok(error instanceof ProviderFailure, String(error));
        return error.consumption;
      });
      const { usage, costMicroUsd }: Consumption = result;
      consumption = { ...(usage && { usage }), ...(costMicroUsd === undefined ? {} : { costMicroUsd }) };
    },
  );
  return consumption;
}

const submitted = (provider: Provider, request: GenerationRequest) => provider.submit(request, call);
const polled = (provider: Provider, request: GenerationRequest) => provider.poll(request, 'one', call);

describe('the consumption that an adapter reads', () => {
  it('is the tokens of images of openai, where the model counts them', async () => {
    const images = { data: [{ url: FILE }] };
    const usage = { input_tokens: 50, output_tokens: 272, total_tokens: 322, input_tokens_details: {} };

    assert.deepEqual(await consumed('openai', createOpenAiProvider, submitted, { ...images, usage }), {
      usage: { inputTokens: 50, outputTokens: 272, totalTokens: 322 },
    });
    assert.deepEqual(await consumed('openai', createOpenAiProvider, submitted, images), {});
    assert.deepEqual(
      await consumed('openai', createOpenAiProvider, submitted, { ...images, usage: { total_tokens: -1 } }),
      {},
    );
  });

  it('is the seconds of predictions of replicate and cog', async () => {
    const metrics = { predict_time: 2.75 };
    const succeeded = { status: 'succeeded', output: [FILE], metrics };

    assert.deepEqual(await consumed('replicate', createReplicateProvider, polled, succeeded), {
      usage: { seconds: 2.75 },
    });
    assert.deepEqual(
      await consumed('replicate', createReplicateProvider, polled, { status: 'failed', error: 'no', metrics }),
      { usage: { seconds: 2.75 } },
    );
    assert.deepEqual(await consumed('cog', createCogProvider, submitted, succeeded), { usage: { seconds: 2.75 } });
  });

  it('is what another service of this API captured', async () => {
    const billing = { captured: '0.0425' };
    const success = { data: { status: 'success', output: [{ type: 'image', url: FILE }], billing } };

    assert.deepEqual(await consumed('tasks', createTasksProvider, polled, success), { costMicroUsd: 42_500n });
    assert.deepEqual(
      await consumed('tasks', createTasksProvider, polled, { data: { status: 'fail', billing: { captured: '0' } } }),
      { costMicroUsd: 0n },
    );
  });

  it('is not what cannot be used, which the log names', async () => {
    assert.deepEqual(consumptionOf({ usage: { credits: NaN }, cost: -1 }), {});
    assert.deepEqual(consumptionOf({}), {});

    const lines: string[] = [];
    const logger = pino({}, { write: (line: string) => void lines.push(line) });
    await withRecorder(
      () => ({ files: FILE, usd: -1 }),
      async ({ origin }) => {
        const http = { submit: { path: "'/images'", body: '{}' }, outputs: 'files', cost: 'usd' };
        const upstream = { protocol: 'http', baseUrl: origin, secret: 'main', model: 'm', http };
        const taskId = 'tk-svc-00000000000000000000000001';
        await createHttpProvider({ ...deps, logger }).submit({ taskId, upstream, input: {} }, call);
      },
    );
    const [line = '{}'] = lines;
    const { member, expected, found } = JSON.parse(line) as Record<string, unknown>;
    assert.deepEqual([member, expected, found], ['cost', 'an amount in USD', 'the number -1']);
  });
});
