/**
 * The API of Black Forest Labs, compared with `@ai-sdk/black-forest-labs` and with its OpenAPI document,
 * https://api.bfl.ai/openapi.json, and https://docs.bfl.ai/api_integration/errors.
 */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { findBinding } from '../../src/providers/http/binding.ts';
import { isAllowed, mayReceiveCredential } from '../../src/providers/http/hosts.ts';
import { ProviderUnknown, ProviderUnreachable } from '../../src/providers/provider.ts';
import { withScratch } from '../providers/http/recorder.ts';
import type { Recorded } from '../providers/http/recorder.ts';
import { submitCall } from '../providers/submit-call.ts';
import { createBench, send } from './bench.ts';
import type { Scripted } from './bench.ts';
import { assertSameRequest, ended, mapped } from './oracle.ts';

const ID = '7d9b1c7e-0a0c-4a8a-9a6c-7c1a9b1f2f10';
const REGION = 'api.us1.bfl.ai';
const SAMPLE = 'https://delivery-us1.bfl.ai/results/a.jpeg?sig=b';
const call = { signal: new AbortController().signal };
const READY: Scripted = { json: { id: ID, status: 'Ready', result: { sample: SAMPLE, seed: 7 }, progress: null } };
const KEY_HEADER = ['x-key'];

describe('the mapping of Black Forest Labs', () => {
  const bench = createBench('bfl');

  /** The API: what it answers to a submit and to a poll. A file has the content `the image`. */
  const script = ({ submit, state = READY }: { readonly submit?: Scripted; readonly state?: Scripted } = {}): void => {
    bench.answer(({ method, url, headers }: Recorded, response: ServerResponse): unknown => {
      // Official clients are led back to the recorder, wherever they go; ours goes to where the answer says.
      const region = headers['x-oracle-host'] === undefined ? bench.origin : `https://${REGION}`;
      const accepted = { json: { id: ID, polling_url: `${region}/v1/get_result?id=${ID}`, cost: 3 } };
      if (method === 'POST') return send(submit ?? accepted, response);
      if (url.startsWith('/v1/get_result')) return send(state, response);
      response.setHeader('content-type', 'image/jpeg').end('the image');
      return undefined;
    });
  };

  const settings = (width: number, height: number) => ({ width, height });
  const requests: readonly {
    readonly model: string;
    readonly route?: string;
    readonly input: Readonly<Record<string, unknown>>;
    readonly client: readonly [string, unknown, object?];
  }[] = [
    {
      model: 'bfl/flux-2-pro',
      input: { prompt: 'a boat' },
      client: ['flux-2-pro', 'a boat', { options: settings(1024, 1024) }],
    },
    {
      model: 'bfl/flux-2-pro',
      input: {
        prompt: 'a boat',
        aspect_ratio: '9:16',
        resolution: '2mp',
        seed: 7,
        output_format: 'png',
        safety_tolerance: 0,
      },
      client: [
        'flux-2-pro',
        'a boat',
        { seed: 7, options: { ...settings(1088, 1920), outputFormat: 'png', safetyTolerance: 0 } },
      ],
    },
    {
      model: 'bfl/flux-2-max',
      input: { prompt: 'a boat', aspect_ratio: '3:2', resolution: '1mp' },
      client: ['flux-2-max', 'a boat', { options: settings(1248, 832) }],
    },
    {
      model: 'bfl/flux-kontext-pro',
      input: { prompt: 'at night', image_urls: ['https://media.example/1.png'] },
      client: ['flux-kontext-pro', { text: 'at night', images: ['https://media.example/1.png'] }],
    },
    {
      model: 'bfl/flux-kontext-pro',
      input: {
        prompt: 'all of them',
        image_urls: [1, 2, 3, 4].map((index) => `https://media.example/${index}.png`),
        aspect_ratio: '21:9',
        seed: 7,
        output_format: 'jpeg',
        prompt_optimizer: true,
        safety_tolerance: 6,
      },
      client: [
        'flux-kontext-pro',
        { text: 'all of them', images: [1, 2, 3, 4].map((index) => `https://media.example/${index}.png`) },
        {
          seed: 7,
          aspectRatio: '21:9',
          options: { outputFormat: 'jpeg', promptUpsampling: true, safetyTolerance: 6 },
        },
      ],
    },
    {
      model: 'bfl/flux-1.1-pro-ultra',
      input: { prompt: 'a boat', aspect_ratio: '9:21', raw: true, prompt_optimizer: false, seed: 7 },
      client: [
        'flux-pro-1.1-ultra',
        'a boat',
        { seed: 7, aspectRatio: '9:21', options: { raw: true, promptUpsampling: false } },
      ],
    },
    {
      model: 'flux-dev',
      route: 'bfl',
      input: { prompt: 'a boat', aspect_ratio: '4:5', guidance_scale: 4, num_inference_steps: 40, seed: 7 },
      client: [
        'flux-dev',
        'a boat',
        { seed: 7, options: { ...settings(896, 1088), steps: 40, guidance: 4, outputFormat: 'jpeg' } },
      ],
    },
  ];
  for (const { model, route, input, client } of requests) {
    it(`sends what the official client sends: ${model} with ${Object.keys(input).join(', ')}`, async () => {
      script();
      const { provider, requestFor, host } = mapped(model, bench.origin, route === undefined ? {} : { route });
      const request = requestFor(input);
      const submission = await provider.submit(request, submitCall());
      assert.ok(submission.kind === 'job');
      await provider.poll(request, submission.jobId, call);
      const [submit, poll] = bench.take();
      assert.equal((await bench.client.call('generate', ...client)).error, undefined);
      const [submitOfClient, pollOfClient] = bench.take();

      assertSameRequest(submit, submitOfClient, { host, headers: KEY_HEADER });
      assertSameRequest(poll, pollOfClient, { host: REGION, headers: KEY_HEADER });
    });
  }

  it('sends the bytes of an image prompt, as the official client does', async () => {
    script();
    await withScratch(async ({ call: submit, inputFile }) => {
      const { provider, requestFor, host } = mapped('bfl/flux-1.1-pro-ultra', bench.origin);
      const image = Buffer.from('an image');
      const input = { prompt: 'a boat', image_url: 'https://media.example/1.png', image_strength: 0.4 };
      const media = new Map([['image_url', await inputFile('image/png', image)]]);
      await provider.submit(requestFor(input, media), submit);
      await bench.client.call('generate', 'flux-pro-1.1-ultra', 'a boat', {
        options: { imagePrompt: image.toString('base64'), imagePromptStrength: 0.4 },
      });

      const [ours, theirs] = bench.take();
      assertSameRequest(ours, theirs, { host, headers: KEY_HEADER });
    });
  });

  it('takes the file from the same answer as the official client', async () => {
    script();
    const { provider, requestFor } = mapped('bfl/flux-2-pro', bench.origin);
    const request = requestFor({ prompt: 'a boat' });
    const submission = await provider.submit(request, submitCall());
    assert.ok(submission.kind === 'job');
    assert.ok(submission.jobId.endsWith(`:${ID}`), submission.jobId);
    const state = await provider.poll(request, submission.jobId, call);
    assert.deepEqual(state, { kind: 'done', files: [{ from: 'url', url: SAMPLE }] });
    const { value } = await bench.client.call('generate', 'flux-2-pro', 'a boat');

    assert.deepEqual(value, [Buffer.from('the image').toString('base64')]);
    const download = bench.take().at(-1);
    assert.equal(`https://${String(download?.headers['x-oracle-host'])}${download?.url}`, SAMPLE);
  });

  it('reads what a job costs in credits of 0.01 USD, which only the answer to the submit has', async () => {
    const { provider, requestFor } = mapped('bfl/flux-2-pro', bench.origin);
    const consumed = async (cost: object): Promise<unknown> => {
      script({ submit: { json: { id: ID, polling_url: `https://${REGION}/v1/get_result?id=${ID}`, ...cost } } });
      const submission = await provider.submit(requestFor({ prompt: 'a boat' }), submitCall());
      const { kind, jobId, ...consumption } = { jobId: undefined, ...submission };
      assert.deepEqual([kind, jobId], ['job', `https:${REGION}:${ID}`]);
      return consumption;
    };

    // As the OpenAPI document has it: a number, or null.
    assert.deepEqual(await consumed({ cost: 3, input_mp: 0, output_mp: 1 }), {
      usage: { credits: 3 },
      costMicroUsd: 30_000n,
    });
    // 1.1 / 100 is a little more than 0.011.
    assert.deepEqual(await consumed({ cost: 1.1 }), { usage: { credits: 1.1 }, costMicroUsd: 11_000n });
    assert.deepEqual(await consumed({ cost: 0 }), { usage: { credits: 0 }, costMicroUsd: 0n });
    for (const cost of [{}, { cost: null }, { cost: 'free' }, { cost: -1 }]) {
      assert.deepEqual(await consumed(cost), {}, JSON.stringify(cost));
    }
  });

  it('sends the key to the hosts that answers name, and to no others', () => {
    const { upstream, host } = mapped('bfl/flux-2-pro', bench.origin);
    const scope = { baseUrl: `https://${host}/v1`, hosts: findBinding(upstream)?.hosts };
    for (const [origin, isOurs] of [
      [`https://${REGION}`, true],
      ['https://api.eu.bfl.ai', true],
      ['https://bfl.ai.example', false],
      ['https://evilbfl.ai', false],
      ['http://api.eu.bfl.ai', false],
    ] as const) {
      const url = new URL(`${origin}/v1/get_result?id=${ID}`);
      assert.equal(isAllowed(url, scope), isOurs, origin);
      assert.equal(mayReceiveCredential(url, scope), isOurs, origin);
    }
  });

  it('does not ask for callbacks, because the answer would not name a URL to poll', async () => {
    const webhookUrl = 'https://darkroom.example/hooks/bfl/t';
    script({ submit: { json: { id: ID, status: 'Task queued', webhook_url: webhookUrl } } });
    const { provider } = mapped('bfl/flux-2-pro', bench.origin);
    const { error } = await bench.client.call('generate', 'flux-2-pro', 'a boat', { options: { webhookUrl } });

    assert.match(error?.message ?? '', /Invalid JSON response/);
    assert.equal(provider.callsBack, false);
  });

  const running: readonly (readonly [string, object, number | undefined])[] = [
    ['queued', { status: 'Pending' }, undefined],
    ['running', { status: 'Pending', progress: 0.4 }, 0.4],
    // Named by newer documents than the client.
    ['being made', { status: 'Generating', progress: 0.9 }, 0.9],
  ];
  for (const [what, json, progress] of running) {
    it(`waits for a job that is ${what}`, async () => {
      script({ state: { json } });
      const { provider, requestFor } = mapped('bfl/flux-2-pro', bench.origin);
      const state = await provider.poll(requestFor({ prompt: 'a boat' }), jobIdAt(bench.origin), call);
      assert.deepEqual(state, { kind: 'running', ...(progress === undefined ? {} : { progress }) });
    });
  }

  const failed: readonly (readonly [string, Scripted, string, RegExp])[] = [
    ['an error of the model', { json: { status: 'Error', result: null } }, 'provider_error', /generation failed/],
    // The client knows this state, and polls on until its time is over.
    ['a rejected prompt', { json: { status: 'Request Moderated' } }, 'content_rejected', /timed out/],
    // These two are in the OpenAPI document and unknown to the client, which then understands nothing.
    ['a rejected image', { json: { status: 'Content Moderated' } }, 'content_rejected', /Invalid JSON response/],
    ['a job that has expired', { json: { status: 'Task not found' } }, 'provider_error', /Invalid JSON response/],
    ['a job that is gone', { status: 404, json: { detail: 'Task not found' } }, 'provider_error', /Task not found/],
  ];
  for (const [what, state, reason, message] of failed) {
    it(`fails after ${what}`, async () => {
      script({ state });
      const { provider, requestFor } = mapped('bfl/flux-2-pro', bench.origin);
      const { error } = await bench.client.call('generate', 'flux-2-pro', 'a boat');
      assert.match(error?.message ?? '', message);
      const poll = provider.poll(requestFor({ prompt: 'a boat' }), jobIdAt(bench.origin), call);
      assert.deepEqual(await ended(poll), { failed: reason });
    });
  }

  const invalid = [{ loc: ['body', 'width'], msg: 'Input should be a multiple of 32', type: 'multiple_of' }];
  const rejected: readonly (readonly [string, Scripted, string, number?])[] = [
    ['an invalid input', { status: 422, json: { detail: invalid } }, 'input_invalid'],
    ['an unknown key', { status: 403, json: { detail: 'Not authenticated' } }, 'model_unavailable'],
    ['an exhausted balance', { status: 402, json: { detail: 'Insufficient credits' } }, 'model_unavailable'],
    ['too many jobs', { status: 429, json: { detail: 'Too many', retry_after: 7 } }, 'provider_unavailable', 7_000],
    ['maintenance', { status: 503, headers: { 'retry-after': '9' }, json: {} }, 'provider_unavailable', 9_000],
  ];
  for (const [what, submit, reason, retryAfterMs] of rejected) {
    it(`takes ${what} for a rejection, as the official client does`, async () => {
      script({ submit });
      const { provider, requestFor } = mapped('bfl/flux-2-pro', bench.origin);
      const { error } = await bench.client.call('generate', 'flux-2-pro', 'a boat');
      assert.equal(error?.status, submit.status);
      const answer = await ended(provider.submit(requestFor({ prompt: 'a boat' }), submitCall()));
      assert.deepEqual(answer, { rejected: reason, retryAfterMs });
    });
  }

  it('does not know what became of a submit after an error of the server, and polls again after one', async () => {
    const error = { status: 500, json: { detail: 'Internal Server Error' } };
    script({ submit: error, state: error });
    const { provider, requestFor } = mapped('bfl/flux-2-pro', bench.origin);
    const request = requestFor({ prompt: 'a boat' });
    assert.equal((await bench.client.call('generate', 'flux-2-pro', 'a boat')).error?.status, 500);
    await assert.rejects(provider.submit(request, submitCall()), ProviderUnknown);
    await assert.rejects(provider.poll(request, jobIdAt(bench.origin), call), ProviderUnreachable);
  });

  it('cannot cancel: there is no request for it', async () => {
    const { provider, requestFor } = mapped('bfl/flux-2-pro', bench.origin);
    const { outcome } = await provider.cancel(requestFor({ prompt: 'a boat' }), jobIdAt(bench.origin), call);
    assert.equal(outcome, 'unsupported');
    assert.deepEqual(bench.take(), []);
  });
});

/** As the mapping remembers a job: with the host that the answer to the submit named. */
function jobIdAt(origin: string): string {
  return `${origin.replace('//', '')}:${ID}`;
}
