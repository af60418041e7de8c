/** xAI, compared with `@ai-sdk/xai` and https://docs.x.ai/developers/rest-api-reference: images, edits and videos. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ProviderUnreachable } from '../../src/providers/provider.ts';
import { submitCall } from '../providers/submit-call.ts';
import { assertSameRequest, ended, mapped } from './oracle.ts';
import { IMAGE, itRejects, useClient, withImages } from './session.ts';
import type { Rejection, Scripted } from './session.ts';

const call = { signal: new AbortController().signal };
const file = { base64: IMAGE.toString('base64'), type: 'image/png' };
const url = `data:image/png;base64,${file.base64}`;

/** Of `cost_in_usd_ticks`. */
const TICKS_PER_MICRO_USD = 10_000;

const errorOf = (status: number, code: string, error: string): Scripted => ({ status, json: { code, error } });

const REJECTIONS: readonly Rejection[] = [
  {
    what: 'moderation',
    answer: errorOf(400, 'Client specified an invalid argument', 'Generated image rejected by content moderation.'),
    reason: 'content_rejected',
  },
  {
    what: 'an invalid input',
    answer: errorOf(422, 'Failed to deserialize the JSON body', 'n: invalid value'),
    reason: 'input_invalid',
  },
  {
    what: 'an unknown key',
    answer: errorOf(400, 'Client specified an invalid argument', 'Incorrect API key provided.'),
    reason: 'model_unavailable',
  },
  {
    what: 'a key without the right',
    answer: errorOf(403, 'The caller does not have permission', 'Your team has no credits.'),
    reason: 'model_unavailable',
  },
  {
    what: 'too many requests',
    answer: { ...errorOf(429, 'Some resource has been exhausted', 'Slow down.'), headers: { 'retry-after': '9' } },
    reason: 'provider_unavailable',
    retryAfterMs: 9_000,
  },
];

describe('the mapping of images of xAI', () => {
  const session = useClient('xai');
  const base64 = IMAGE.toString('base64');
  const images: Scripted = {
    json: {
      data: [{ b64_json: base64 }, { b64_json: 'aGk=', revised_prompt: 'a boat' }],
      usage: { cost_in_usd_ticks: 400_000_000 },
    },
  };

  const inputs: readonly (readonly [string, object, object])[] = [
    ['grok-imagine-image', { aspect_ratio: '16:9', n: 2, resolution: '2K' }, { aspectRatio: '16:9', n: 2 }],
    ['grok-imagine-image-quality', {}, { n: 1 }],
  ];
  for (const [model, fields, options] of inputs) {
    for (const count of [0, 1, 2]) {
      it(`asks ${model} with ${count} images as the official client does, and takes the same files`, async () => {
        session.answer(images);
        const { provider, requestFor, host } = mapped(`xai/${model}`, session.origin);
        const urls = Array.from({ length: count }, () => 'https://example.com/a.png');
        const input = { prompt: 'a boat', ...fields, ...(count === 0 ? {} : { image_urls: urls }) };
        const submission = await withImages(
          urls.map((_, index) => `image_urls.${index}`),
          (media, submit) => provider.submit(requestFor(input, media), submit),
        );
        const { value } = await session.call('image', model, {
          prompt: 'a boat',
          ...options,
          ...(count === 0 ? {} : { files: urls.map(() => file) }),
          providerOptions: { xai: { resolution: 'resolution' in fields ? '2k' : '1k' } },
        });
        const [ours, theirs] = session.requests();
        assertSameRequest(ours, theirs, { host });
        const { images: made, ticks } = value as { images: string[]; ticks: number };
        const files = made.map((image) => ({ from: 'bytes', bytes: Buffer.from(image, 'base64') }));
        assert.deepEqual(submission, { kind: 'done', files, costMicroUsd: BigInt(ticks / TICKS_PER_MICRO_USD) });
      });
    }
  }

  it('fails where moderation withheld every image, at the cost that the answer has', async () => {
    session.answer({ json: { data: [{ respect_moderation: false }], usage: { cost_in_usd_ticks: 200_000_000 } } });
    const { provider, requestFor } = mapped('xai/grok-imagine-image', session.origin);
    await assert.rejects(provider.submit(requestFor({ prompt: 'a boat' }), submitCall()), {
      reason: 'content_rejected',
      consumption: { costMicroUsd: 20_000n },
    });
  });

  itRejects(
    session,
    {
      ours() {
        const { provider, requestFor } = mapped('xai/grok-imagine-image', session.origin);
        return provider.submit(requestFor({ prompt: 'a boat' }), submitCall());
      },
      theirs: () => session.call('image', 'grok-imagine-image', { prompt: 'a boat', n: 1 }),
    },
    REJECTIONS,
  );
});

describe('the mapping of videos of xAI', () => {
  const session = useClient('xai');
  const ID = '1f8e9c2a-4b7d-4e3f-9a6b-2c5d8e7f1a3b';
  const input = { prompt: 'a boat', duration: 8, aspect_ratio: '9:16', resolution: '720p' };
  const options = { prompt: 'a boat', duration: 8, aspectRatio: '9:16' };
  const DONE = {
    status: 'done',
    video: { url: 'https://vidgen.x.ai/a.mp4', duration: 8, respect_moderation: true },
    usage: { cost_in_usd_ticks: 5_600_000_000 },
  };

  /** The answers to the submit, and to a poll. */
  const videos =
    (...polls: readonly Scripted[]) =>
    ({ method }: { readonly method: string }): Scripted =>
      method === 'POST' ? { json: { request_id: ID } } : ([...polls].shift() ?? { json: DONE });

  const inputs: readonly (readonly [string, string, object, readonly string[], object, object])[] = [
    ['grok-imagine-video', 'a prompt', {}, [], {}, {}],
    ['grok-imagine-video', 'an image', { image_url: 'https://example.com/a.png' }, ['image_url'], { file }, {}],
    [
      'grok-imagine-video-1.5',
      'references',
      { reference_image_urls: ['https://example.com/a.png', 'https://example.com/b.png'] },
      ['reference_image_urls.0', 'reference_image_urls.1'],
      {},
      { referenceImageUrls: [url, url] },
    ],
    [
      'grok-imagine-video-1.5',
      'one reference',
      { reference_image_urls: ['https://example.com/a.png'] },
      ['reference_image_urls.0'],
      {},
      { referenceImageUrls: [url] },
    ],
  ];
  for (const [model, what, fields, paths, image, xai] of inputs) {
    it(`asks ${model} with ${what}, and polls, as the official client does`, async () => {
      session.answer(videos());
      const { provider, requestFor, host } = mapped(`xai/${model}`, session.origin);
      const request = requestFor({ ...input, ...fields });
      const submission = await withImages(paths, (media, submit) =>
        provider.submit(requestFor({ ...input, ...fields }, media), submit),
      );
      assert.deepEqual(submission, { kind: 'job', jobId: ID });
      const state = await provider.poll(request, ID, call);
      const { value } = await session.call('video', model, {
        ...options,
        ...image,
        providerOptions: { xai: { resolution: '720p', ...xai } },
      });
      const [submit, poll, submitOfClient, pollOfClient] = session.requests();
      assertSameRequest(submit, submitOfClient, { host });
      assertSameRequest(poll, pollOfClient, { host });
      const { videos: made, ticks } = value as { videos: { url: string }[]; ticks: number };
      const files = made.map((video) => ({ from: 'url', url: video.url }));
      assert.deepEqual(state, { kind: 'done', files, costMicroUsd: BigInt(ticks / TICKS_PER_MICRO_USD) });
    });
  }

  it('takes a video without a status for a finished one, as the official client does', async () => {
    session.answer(videos({ json: { video: DONE.video } }));
    const { provider, requestFor } = mapped('xai/grok-imagine-video', session.origin);
    assert.equal((await provider.poll(requestFor(input), ID, call)).kind, 'done');
    assert.equal((await session.call('video', 'grok-imagine-video', options)).error, undefined);
  });

  it('waits for a pending video, and reports its progress', async () => {
    session.answer(videos({ status: 202, json: { status: 'pending', progress: 40 } }));
    const { provider, requestFor } = mapped('xai/grok-imagine-video', session.origin);
    const state = await provider.poll(requestFor(input), ID, call);
    assert.deepEqual(state, { kind: 'running', progress: 0.4, pollAfterMs: 2_000 });
  });

  const failures: readonly (readonly [string, Scripted, string, string])[] = [
    [
      'moderation',
      { json: { ...DONE, video: { ...DONE.video, respect_moderation: false } } },
      'XAI_VIDEO_MODERATION_ERROR',
      'content_rejected',
    ],
    [
      'an invalid input',
      { json: { status: 'failed', error: { code: 'invalid_argument', message: 'The image is too small.' } } },
      'XAI_VIDEO_GENERATION_FAILED',
      'input_invalid',
    ],
    [
      'an error of the model',
      { json: { status: 'failed', error: { code: 'internal_error', message: 'Failed.' } } },
      'XAI_VIDEO_GENERATION_FAILED',
      'provider_error',
    ],
    ['a job that has expired', { json: { status: 'expired' } }, 'XAI_VIDEO_GENERATION_EXPIRED', 'provider_error'],
    ['a job that is unknown', errorOf(404, 'Not found', 'No such request.'), 'AI_APICallError', 'provider_error'],
  ];
  for (const [what, answer, name, reason] of failures) {
    it(`fails after ${what}, as the official client does`, async () => {
      session.answer(videos(answer));
      const { provider, requestFor } = mapped('xai/grok-imagine-video', session.origin);
      assert.equal((await session.call('video', 'grok-imagine-video', options)).error?.name, name);
      assert.deepEqual(await ended(provider.poll(requestFor(input), ID, call)), { failed: reason });
    });
  }

  it('polls again after an error of the server', async () => {
    session.answer(videos(errorOf(500, 'Internal error', 'Try again.')));
    const { provider, requestFor } = mapped('xai/grok-imagine-video', session.origin);
    await assert.rejects(provider.poll(requestFor(input), ID, call), ProviderUnreachable);
  });

  it('cannot cancel, as the official client cannot', async () => {
    session.answer({});
    const { provider, requestFor } = mapped('xai/grok-imagine-video', session.origin);
    assert.deepEqual(await provider.cancel(requestFor(input), ID, call), { outcome: 'unsupported' });
    assert.deepEqual(session.requests(), []);
  });

  itRejects(
    session,
    {
      ours() {
        const { provider, requestFor } = mapped('xai/grok-imagine-video', session.origin);
        return provider.submit(requestFor(input), submitCall());
      },
      theirs: () => session.call('video', 'grok-imagine-video', options),
    },
    REJECTIONS,
  );
});
