/** Runway's tasks, compared with `@runwayml/sdk` and https://docs.dev.runwayml.com/errors/task-failures. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { ProviderFailure, ProviderUnknown, ProviderUnreachable } from '../../src/providers/provider.ts';
import type { Recorded } from '../providers/http/recorder.ts';
import { submitCall } from '../providers/submit-call.ts';
import { createBench, send } from './bench.ts';
import type { Scripted } from './bench.ts';
import { assertSameRequest, ended, mapped } from './oracle.ts';

const ID = '17f20503-6c24-4c16-946b-35dbbce2af2f';
const OUTPUT = 'https://dnznrvs05pmza.cloudfront.net/a.mp4?_jwt=b';
const call = { signal: new AbortController().signal };
const base = { id: ID, createdAt: '2026-11-27T10:00:00.000Z' };
const PENDING: Scripted = { json: { ...base, status: 'PENDING', estimatedCost: { credits: 60 } } };
const SUCCEEDED: Scripted = { json: { ...base, status: 'SUCCEEDED', output: [OUTPUT], cost: { credits: 60 } } };
const VERSION_HEADER = ['x-runway-version'];
const IMAGE = 'https://media.example/1.png';

describe('the mapping of Runway', () => {
  const bench = createBench('runway');

  /** The API: what it answers to a submit, a poll and a deletion. */
  const script = (steps: Partial<Record<'submit' | 'state' | 'delete', Scripted>> = {}): void => {
    bench.answer(({ method }: Recorded, response: ServerResponse): unknown => {
      const step = method === 'POST' ? 'submit' : method === 'DELETE' ? 'delete' : 'state';
      const usual = {
        submit: { json: { id: ID, estimatedCost: { credits: 60 } } },
        state: PENDING,
        delete: { status: 204 },
      };
      return send(steps[step] ?? usual[step], response);
    });
  };
  const video = (input: Readonly<Record<string, unknown>> = { prompt: 'a boat' }) => {
    const { provider, requestFor, host } = mapped('runway/gen4.5', bench.origin);
    return { provider, request: requestFor(input), host };
  };

  const requests: readonly {
    readonly model: string;
    readonly input: Readonly<Record<string, unknown>>;
    readonly client: readonly [string, object];
  }[] = [
    {
      model: 'runway/gen4.5',
      input: { prompt: 'a boat' },
      client: ['textToVideo', { model: 'gen4.5', promptText: 'a boat', ratio: '1280:720', duration: 5 }],
    },
    {
      model: 'runway/gen4.5',
      input: { prompt: 'a boat', aspect_ratio: '9:16', duration: 10, seed: 4_294_967_295 },
      client: [
        'textToVideo',
        { model: 'gen4.5', promptText: 'a boat', ratio: '720:1280', duration: 10, seed: 4_294_967_295 },
      ],
    },
    {
      model: 'runway/gen4.5-image-to-video',
      input: { prompt: 'it sails', image_url: IMAGE, aspect_ratio: '21:9', duration: 2, seed: 0 },
      client: [
        'imageToVideo',
        { model: 'gen4.5', promptImage: IMAGE, promptText: 'it sails', ratio: '1584:672', duration: 2, seed: 0 },
      ],
    },
    {
      model: 'runway/gen4-turbo',
      input: { image_url: IMAGE },
      client: ['imageToVideo', { model: 'gen4_turbo', promptImage: IMAGE, ratio: '1280:720', duration: 5 }],
    },
    {
      model: 'runway/gen4-turbo',
      input: { image_url: IMAGE, prompt: 'it sails', aspect_ratio: '3:4', duration: 10, seed: 7 },
      client: [
        'imageToVideo',
        { model: 'gen4_turbo', promptImage: IMAGE, promptText: 'it sails', ratio: '832:1104', duration: 10, seed: 7 },
      ],
    },
    {
      model: 'runway/gen4-image',
      input: { prompt: 'a boat' },
      client: ['textToImage', { model: 'gen4_image', promptText: 'a boat', ratio: '1920:1080' }],
    },
    {
      model: 'runway/gen4-image',
      input: {
        prompt: '@image1 as @image2',
        image_urls: [IMAGE, 'https://media.example/2.png'],
        aspect_ratio: '4:3',
        resolution: '720p',
        seed: 7,
      },
      client: [
        'textToImage',
        {
          model: 'gen4_image',
          promptText: '@image1 as @image2',
          ratio: '960:720',
          referenceImages: [
            { uri: IMAGE, tag: 'image1' },
            { uri: 'https://media.example/2.png', tag: 'image2' },
          ],
          seed: 7,
        },
      ],
    },
    {
      model: 'runway/gen4-image-turbo',
      input: { prompt: '@image1 at night', image_urls: [IMAGE], aspect_ratio: '1:1', resolution: '1080p' },
      client: [
        'textToImage',
        {
          model: 'gen4_image_turbo',
          promptText: '@image1 at night',
          ratio: '1080:1080',
          referenceImages: [{ uri: IMAGE, tag: 'image1' }],
        },
      ],
    },
  ];
  for (const { model, input, client } of requests) {
    it(`submits what the official client submits: ${model} with ${Object.keys(input).join(', ')}`, async () => {
      script();
      const { provider, requestFor, host } = mapped(model, bench.origin);
      const submission = await provider.submit(requestFor(input), submitCall());
      const { value } = await bench.client.call(...client);

      const [ours, theirs] = bench.take();
      assertSameRequest(ours, theirs, { host, headers: VERSION_HEADER });
      assert.deepEqual(submission, { kind: 'job', jobId: (value as { id: string }).id });
    });
  }

  it('polls and cancels with the requests of the official client', async () => {
    script();
    const { provider, request, host } = video();
    await provider.cancel(request, ID, call);
    await bench.client.call('retrieve', ID);
    await bench.client.call('delete', ID);

    const [poll, cancel, pollOfClient, cancelOfClient] = bench.take();
    assertSameRequest(poll, pollOfClient, { host, headers: VERSION_HEADER });
    assertSameRequest(cancel, cancelOfClient, { host, headers: VERSION_HEADER });
  });

  it('takes the files from the same answer as the official client', async () => {
    script({ state: SUCCEEDED });
    const { provider, request } = video();
    const { value: output } = await bench.client.call('output', ID);
    const { value: task } = await bench.client.call('retrieve', ID);
    const { credits } = (task as { cost: { credits: number } }).cost;
    assert.deepEqual(await provider.poll(request, ID, call), {
      kind: 'done',
      files: (output as string[]).map((url) => ({ from: 'url', url })),
      costMicroUsd: BigInt(credits * 10_000),
    });
  });

  const running: readonly (readonly [string, object, number?])[] = [
    ['queued', { status: 'PENDING' }],
    ['queued by a limit', { status: 'THROTTLED' }],
    ['running', { status: 'RUNNING', progress: 0.25 }, 0.25],
  ];
  for (const [what, json, progress] of running) {
    it(`waits for a task that is ${what}`, async () => {
      script({ state: { json: { ...base, ...json } } });
      const { provider, request } = video();
      const state = await provider.poll(request, ID, call);
      assert.deepEqual(state, {
        kind: 'running',
        ...(progress === undefined ? {} : { progress }),
        pollAfterMs: 5_000,
      });
    });
  }

  const failure = (failureCode?: string) => ({
    json: { ...base, status: 'FAILED', failure: 'It failed.', failureCode, cost: { credits: 0 } },
  });
  const failed: readonly (readonly [string, Scripted, string, string])[] = [
    ['a rejected prompt', failure('SAFETY.INPUT.TEXT'), 'content_rejected', 'It failed.'],
    ['a rejected output', failure('SAFETY.OUTPUT.VIDEO'), 'content_rejected', 'It failed.'],
    ['moderation ahead of it', failure('INPUT_PREPROCESSING.SAFETY.TEXT'), 'content_rejected', 'It failed.'],
    ['an unusable image', failure('ASSET.INVALID'), 'input_invalid', 'It failed.'],
    ['an output of bad quality', failure('INTERNAL.BAD_OUTPUT.CODE01'), 'provider_error', 'It failed.'],
    ['an error without a code', failure(), 'provider_error', 'It failed.'],
    ['a cancellation', { json: { ...base, status: 'CANCELLED' } }, 'provider_error', 'Task cancelled'],
    ['a deletion', { status: 404, json: { error: 'Task not found' } }, 'provider_error', '404'],
  ];
  for (const [what, state, reason, message] of failed) {
    it(`fails after ${what}, as the official client does`, async () => {
      script({ state });
      const { provider, request } = video();
      const { error } = await bench.client.call('output', ID);
      assert.ok(error?.message.includes(message), error?.message);
      assert.deepEqual(await ended(provider.poll(request, ID, call)), { failed: reason });
    });
  }

  it('learns from a failed task whether it is billed, and at what cost', async () => {
    for (const [credits, isUnbilled] of [
      [0, true],
      [60, false],
    ] as const) {
      script({ state: { json: { ...base, status: 'FAILED', failure: 'It failed.', cost: { credits } } } });
      const { provider, request } = video();
      await assert.rejects(
        provider.poll(request, ID, call),
        (error) =>
          error instanceof ProviderFailure &&
          error.isUnbilled === isUnbilled &&
          error.consumption.costMicroUsd === BigInt(credits * 10_000),
      );
    }
  });

  const issue = (path: string) => ({
    status: 400,
    json: { error: 'Validation of body failed', issues: [{ code: 'invalid', path: [path], message: 'no' }] },
  });
  const rejected: readonly (readonly [string, Scripted, string, number?])[] = [
    ['an invalid input', issue('promptText'), 'input_invalid'],
    ['a model that the key may not use', issue('model'), 'model_unavailable'],
    ['an unknown key', { status: 401, json: { error: 'Unauthorized' } }, 'model_unavailable'],
    ['a daily limit', { status: 429, json: { error: 'Limit reached' } }, 'provider_unavailable', 5_000],
    [
      'a limit that ends',
      { status: 429, headers: { 'retry-after': '30' }, json: { error: 'Too many' } },
      'provider_unavailable',
      30_000,
    ],
    ['a shed load', { status: 503, json: { error: 'Overloaded' } }, 'provider_unavailable', 5_000],
  ];
  for (const [what, submit, reason, retryAfterMs] of rejected) {
    it(`takes ${what} for a rejection, as the official client does`, async () => {
      script({ submit });
      const { provider, request } = video();
      assert.equal((await bench.client.call('textToVideo', {})).error?.status, submit.status);
      const answer = await ended(provider.submit(request, submitCall()));
      assert.deepEqual(answer, { rejected: reason, retryAfterMs });
    });
  }

  // The client may repeat these; a second task would be billed too.
  it('does not know what became of a submit after other errors of the server, and polls again after one', async () => {
    for (const status of [500, 502, 504]) {
      const error = { status, json: { error: 'no' } };
      script({ submit: error, state: error });
      const { provider, request } = video();
      assert.equal((await bench.client.call('textToVideo', {})).error?.status, status);
      await assert.rejects(provider.submit(request, submitCall()), ProviderUnknown);
      await assert.rejects(provider.poll(request, ID, call), ProviderUnreachable);
    }
  });

  const cancels: readonly (readonly [string, Partial<Record<'state' | 'delete', Scripted>>, string, number])[] = [
    ['in time', {}, 'cancelled', 2],
    // A deletion would remove the files of a task that has ended.
    ['too late', { state: SUCCEEDED }, 'too_late', 1],
    ['a task that is gone', { state: { status: 404, json: {} } }, 'too_late', 1],
    ['a task that ended in between', { delete: { status: 404, json: { error: 'no' } } }, 'too_late', 2],
  ];
  for (const [what, steps, outcome, count] of cancels) {
    it(`cancels ${what}`, async () => {
      script(steps);
      const { provider, request } = video();
      assert.equal((await provider.cancel(request, ID, call)).outcome, outcome);
      assert.equal(bench.take().length, count);
    });
  }
});
