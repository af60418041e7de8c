/**
 * Luma's Dream Machine API, compared with `lumaai` and with its OpenAPI document,
 * https://github.com/lumalabs/lumaai-api, where an error is a text in `detail`. The texts here are examples: the two of
 * failed moderation are known from programs that handle them.
 */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { ProviderUnknown, ProviderUnreachable } from '../../src/providers/provider.ts';
import type { Recorded } from '../providers/http/recorder.ts';
import { submitCall } from '../providers/submit-call.ts';
import { createBench, send } from './bench.ts';
import type { Scripted } from './bench.ts';
import { assertSameRequest, ended, mapped } from './oracle.ts';

const ID = 'd1968551-6113-4b46-b567-09210c2e79b0';
const HOOK = 'https://darkroom.example/hooks/luma/t';
const IMAGE = 'https://media.example/1.png';
const OTHER = 'https://media.example/2.png';
const call = { signal: new AbortController().signal };
const generation = (state: string, more: object = {}): Scripted => ({
  json: { id: ID, state, failure_reason: null, created_at: '2026-11-27T10:00:00Z', assets: null, ...more },
});

describe('the mapping of Luma', () => {
  const bench = createBench('luma');

  /** The API: what it answers to a submit, a poll and a deletion. */
  const script = (steps: Partial<Record<'submit' | 'state' | 'delete', Scripted>> = {}): void => {
    bench.answer(({ method }: Recorded, response: ServerResponse): unknown => {
      const step = method === 'POST' ? 'submit' : method === 'DELETE' ? 'delete' : 'state';
      const usual = {
        submit: { ...generation('queued'), status: 201 },
        state: generation('dreaming'),
        delete: { status: 204 },
      };
      return send(steps[step] ?? usual[step], response);
    });
  };
  const bound = (model = 'luma/ray-2') => {
    const { provider, requestFor, host } = mapped(model, bench.origin);
    return { provider, request: requestFor({ prompt: 'a boat' }), host };
  };

  const requests: readonly {
    readonly model: string;
    readonly input: Readonly<Record<string, unknown>>;
    readonly hookUrl?: string;
    readonly client: readonly [string, object];
  }[] = [
    {
      model: 'luma/ray-2',
      input: { prompt: 'a boat' },
      client: ['video', { model: 'ray-2', prompt: 'a boat', resolution: '720p', duration: '5s' }],
    },
    {
      model: 'luma/ray-2',
      input: {
        prompt: 'it sails',
        image_url: IMAGE,
        end_image_url: OTHER,
        aspect_ratio: '21:9',
        resolution: '1080p',
        duration: 9,
        loop: true,
        camera_motion: 'push_in',
      },
      hookUrl: HOOK,
      client: [
        'video',
        {
          model: 'ray-2',
          prompt: 'it sails',
          aspect_ratio: '21:9',
          resolution: '1080p',
          duration: '9s',
          loop: true,
          keyframes: { frame0: { type: 'image', url: IMAGE }, frame1: { type: 'image', url: OTHER } },
          concepts: [{ key: 'push_in' }],
          callback_url: HOOK,
        },
      ],
    },
    {
      model: 'luma/ray-flash-2',
      input: { prompt: 'it sails', end_image_url: OTHER, resolution: '540p' },
      client: [
        'video',
        {
          model: 'ray-flash-2',
          prompt: 'it sails',
          resolution: '540p',
          duration: '5s',
          keyframes: { frame1: { type: 'image', url: OTHER } },
        },
      ],
    },
    {
      model: 'luma/photon-1',
      input: { prompt: 'a boat', aspect_ratio: '9:21', output_format: 'jpeg' },
      client: ['image', { model: 'photon-1', prompt: 'a boat', aspect_ratio: '9:21', format: 'jpg' }],
    },
    {
      model: 'luma/photon-flash-1',
      input: {
        prompt: 'a boat',
        image_urls: [IMAGE, OTHER],
        style_image_url: OTHER,
        edit_image_url: IMAGE,
        edit_weight: 0.9,
        output_format: 'png',
      },
      hookUrl: HOOK,
      client: [
        'image',
        {
          model: 'photon-flash-1',
          prompt: 'a boat',
          format: 'png',
          image_ref: [{ url: IMAGE }, { url: OTHER }],
          style_ref: [{ url: OTHER }],
          modify_image_ref: { url: IMAGE, weight: 0.9 },
          callback_url: HOOK,
        },
      ],
    },
    {
      model: 'luma/photon-1',
      input: { prompt: 'a boat', image_urls: [IMAGE] },
      client: ['image', { model: 'photon-1', prompt: 'a boat', image_ref: [{ url: IMAGE }] }],
    },
  ];
  for (const { model, input, hookUrl, client } of requests) {
    it(`submits what the official client submits: ${model} with ${Object.keys(input).join(', ')}`, async () => {
      script();
      const { provider, requestFor, host } = mapped(model, bench.origin);
      const submission = await provider.submit(requestFor(input), submitCall(hookUrl === undefined ? {} : { hookUrl }));
      const { value } = await bench.client.call(...client);

      const [ours, theirs] = bench.take();
      assertSameRequest(ours, theirs, { host });
      assert.deepEqual(submission, { kind: 'job', jobId: (value as { id: string }).id });
      assert.equal(provider.callsBack, true);
    });
  }

  it('polls and deletes with the requests of the official client', async () => {
    script();
    const { provider, request, host } = bound();
    await provider.cancel(request, ID, call);
    await bench.client.call('get', ID);
    await bench.client.call('delete', ID);

    const [poll, cancel, pollOfClient, cancelOfClient] = bench.take();
    assertSameRequest(poll, pollOfClient, { host });
    assertSameRequest(cancel, cancelOfClient, { host });
  });

  const assets: readonly (readonly [string, string, object])[] = [
    [
      'luma/ray-2',
      'video',
      { video: 'https://storage.cdn-luma.com/a.mp4', image: 'https://storage.cdn-luma.com/a.jpg' },
    ],
    ['luma/photon-1', 'image', { image: 'https://storage.cdn-luma.com/a.jpg', video: null, progress_video: null }],
  ];
  for (const [model, kind, files] of assets) {
    it(`takes the ${kind} from the same answer as the official client`, async () => {
      script({ state: generation('completed', { assets: files }) });
      const { provider, request } = bound(model);
      const { value } = await bench.client.call('get', ID);
      const url = (value as { assets: Record<string, string> }).assets[kind];
      assert.deepEqual(await provider.poll(request, ID, call), { kind: 'done', files: [{ from: 'url', url }] });
    });
  }

  for (const state of ['queued', 'dreaming']) {
    it(`waits for a generation that is ${state}`, async () => {
      script({ state: generation(state) });
      const { provider, request } = bound();
      assert.deepEqual(await provider.poll(request, ID, call), { kind: 'running' });
    });
  }

  const failed: readonly (readonly [string, string | null, string])[] = [
    ['moderation', '400: prompt not allowed because advanced moderation failed', 'content_rejected'],
    ['a forbidden word', '400: prompt not allowed because it contains blacklisted word', 'content_rejected'],
    ['an error of the model', 'Internal error', 'provider_error'],
    ['an error without a reason', null, 'provider_error'],
  ];
  for (const [what, reason, expected] of failed) {
    it(`fails after ${what}`, async () => {
      script({ state: generation('failed', { failure_reason: reason }) });
      const { provider, request } = bound();
      const { value } = await bench.client.call('get', ID);
      assert.equal((value as { state: string }).state, 'failed');
      assert.deepEqual(await ended(provider.poll(request, ID, call)), { failed: expected });
    });
  }

  it('fails when a generation is gone, as the official client does', async () => {
    script({ state: { status: 404, json: { detail: 'Generation not found' } } });
    const { provider, request } = bound();
    assert.equal((await bench.client.call('get', ID)).error?.status, 404);
    assert.deepEqual(await ended(provider.poll(request, ID, call)), { failed: 'provider_error' });
  });

  const rejected: readonly (readonly [string, Scripted, string, number?])[] = [
    ['an invalid input', { status: 400, json: { detail: 'Invalid aspect ratio' } }, 'input_invalid'],
    ['an invalid field', { status: 422, json: { detail: [{ loc: ['body'], msg: 'no', type: 'x' }] } }, 'input_invalid'],
    ['moderation', { status: 400, json: { detail: 'Prompt failed moderation' } }, 'content_rejected'],
    ['an unknown key', { status: 401, json: { detail: 'Invalid API key' } }, 'model_unavailable'],
    ['an exhausted balance', { status: 402, json: { detail: 'Insufficient credits' } }, 'model_unavailable'],
    ['too many jobs', { status: 429, json: { detail: 'Too many' } }, 'provider_unavailable', 5_000],
    [
      'a limit that ends',
      { status: 429, headers: { 'retry-after': '30' }, json: { detail: 'Too many' } },
      'provider_unavailable',
      30_000,
    ],
  ];
  for (const [what, submit, reason, retryAfterMs] of rejected) {
    it(`takes ${what} for a rejection, as the official client does`, async () => {
      script({ submit });
      const { provider, request } = bound();
      assert.equal((await bench.client.call('video', {})).error?.status, submit.status);
      const answer = await ended(provider.submit(request, submitCall()));
      assert.deepEqual(answer, { rejected: reason, retryAfterMs });
    });
  }

  it('does not know what became of a submit after an error of the server, and polls again after one', async () => {
    const error = { status: 500, json: { detail: 'Internal Server Error' } };
    script({ submit: error, state: error });
    const { provider, request } = bound();
    assert.equal((await bench.client.call('video', {})).error?.status, 500);
    await assert.rejects(provider.submit(request, submitCall()), ProviderUnknown);
    await assert.rejects(provider.poll(request, ID, call), ProviderUnreachable);
  });

  const cancels: readonly (readonly [string, Partial<Record<'state' | 'delete', Scripted>>, string, number])[] = [
    ['in time', {}, 'cancelled', 2],
    // A deletion would remove the files of a generation that has ended.
    ['too late', { state: generation('completed', { assets: { video: IMAGE } }) }, 'too_late', 1],
    ['a generation that is gone', { delete: { status: 404, json: { detail: 'no' } } }, 'too_late', 2],
  ];
  for (const [what, steps, outcome, count] of cancels) {
    it(`cancels ${what}`, async () => {
      script(steps);
      const { provider, request } = bound();
      assert.equal((await provider.cancel(request, ID, call)).outcome, outcome);
      assert.equal(bench.take().length, count);
    });
  }
});
