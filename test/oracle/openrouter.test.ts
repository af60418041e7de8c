/**
 * OpenRouter, compared with `@openrouter/sdk` and https://openrouter.ai/docs/api/api-reference/video-generation: images,
 * and videos as jobs.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { microUsdOf } from '../../src/providers/consumption.ts';
import { ProviderUnreachable } from '../../src/providers/provider.ts';
import { submitCall } from '../providers/submit-call.ts';
import { assertSameRequest, ended, mapped } from './oracle.ts';
import { IMAGE, itRejects, useClient, withImages } from './session.ts';
import type { Rejection, Scripted } from './session.ts';

const call = { signal: new AbortController().signal };
const imageUrl = { url: `data:image/png;base64,${IMAGE.toString('base64')}` };

const errorOf = (code: number, message: string, metadata?: object): Scripted => ({
  status: code,
  json: { error: { code, message, ...(metadata === undefined ? {} : { metadata }) } },
});

const REJECTIONS: readonly Rejection[] = [
  {
    what: 'moderation',
    answer: errorOf(403, 'The input was flagged.', { reasons: ['violence'], flagged_input: 'a boat' }),
    reason: 'content_rejected',
  },
  { what: 'an invalid input', answer: errorOf(400, 'Unsupported aspect_ratio.'), reason: 'input_invalid' },
  { what: 'an unknown key', answer: errorOf(401, 'User not found.'), reason: 'model_unavailable' },
  { what: 'an exhausted balance', answer: errorOf(402, 'Insufficient credits.'), reason: 'model_unavailable' },
  { what: 'an unknown model', answer: errorOf(404, 'No endpoints found.'), reason: 'model_unavailable' },
  {
    what: 'too many requests',
    answer: { ...errorOf(429, 'Rate limit exceeded.'), headers: { 'retry-after': '12' } },
    reason: 'provider_unavailable',
    retryAfterMs: 12_000,
  },
];

describe('the mapping of images of OpenRouter', () => {
  const session = useClient('openrouter');
  const images: Scripted = {
    json: {
      created: 1,
      data: [{ b64_json: IMAGE.toString('base64'), media_type: 'image/png' }, { b64_json: 'aGk=' }],
      usage: { prompt_tokens: 3, completion_tokens: 1_290, total_tokens: 1_293, cost: 0.04 },
    },
  };

  const inputs: readonly (readonly [string, string, object, object])[] = [
    [
      'gemini-3-pro-image',
      'google/gemini-3-pro-image',
      { aspect_ratio: '16:9', resolution: '4K' },
      { aspectRatio: '16:9', resolution: '4K' },
    ],
    ['seedream-4.5', 'bytedance-seed/seedream-4.5', {}, { resolution: '2K' }],
  ];
  for (const [name, model, fields, options] of inputs) {
    for (const count of [0, 1, 2]) {
      it(`asks ${name} with ${count} images as the official client does, and takes the same files`, async () => {
        session.answer(images);
        const { provider, requestFor, host } = mapped(`openrouter/${name}`, session.origin);
        const urls = Array.from({ length: count }, () => 'https://example.com/a.png');
        const input = { prompt: 'a boat', ...fields, ...(count === 0 ? {} : { image_urls: urls }) };
        const submission = await withImages(
          urls.map((_, index) => `image_urls.${index}`),
          (media, submit) => provider.submit(requestFor(input, media), submit),
        );
        const { value } = await session.call('image', {
          model,
          prompt: 'a boat',
          ...options,
          ...(count === 0 ? {} : { inputReferences: urls.map(() => ({ type: 'image_url', imageUrl })) }),
        });
        const [ours, theirs] = session.requests();
        assertSameRequest(ours, theirs, { host });
        const { data, usage } = value as { data: { b64Json: string }[]; usage: { cost: number } };
        const files = data.map(({ b64Json }) => ({ from: 'bytes', bytes: Buffer.from(b64Json, 'base64') }));
        assert.deepEqual(submission, { kind: 'done', files, costMicroUsd: microUsdOf(usage.cost) });
      });
    }
  }

  itRejects(
    session,
    {
      ours() {
        const { provider, requestFor } = mapped('openrouter/seedream-4.5', session.origin);
        return provider.submit(requestFor({ prompt: 'a boat' }), submitCall());
      },
      theirs: () => session.call('image', { model: 'bytedance-seed/seedream-4.5', prompt: 'a boat' }),
    },
    REJECTIONS,
  );
});

describe('the mapping of videos of OpenRouter', () => {
  const session = useClient('openrouter');
  const ID = 'job-abc123';
  const input = { prompt: 'a boat', duration: 6, aspect_ratio: '9:16', resolution: '1080p', seed: 7 };
  const options = {
    model: 'google/veo-3.1',
    prompt: 'a boat',
    duration: 6,
    aspectRatio: '9:16',
    resolution: '1080p',
    seed: 7,
  };
  const job = (status: string, changes: object = {}): Scripted => ({
    json: { id: ID, polling_url: `/api/v1/videos/${ID}`, status, ...changes },
  });
  const accepted: Scripted = { status: 202, ...job('pending') };
  const frame = (frameType: string) => ({ type: 'image_url', frameType, imageUrl });

  const inputs: readonly (readonly [string, object, readonly string[], object])[] = [
    ['a prompt', {}, [], { generateAudio: true }],
    ['an image', { image_url: 'https://example.com/a.png' }, ['image_url'], { frameImages: [frame('first_frame')] }],
    [
      'two frames',
      { image_url: 'https://example.com/a.png', last_frame_url: 'https://example.com/b.png', generate_audio: false },
      ['image_url', 'last_frame_url'],
      { frameImages: [frame('first_frame'), frame('last_frame')], generateAudio: false },
    ],
  ];
  for (const [what, fields, paths, more] of inputs) {
    it(`submits ${what} as the official client does`, async () => {
      session.answer(accepted);
      const { provider, requestFor, host } = mapped('openrouter/veo-3.1', session.origin);
      const hookUrl = 'https://darkroom.example/hooks/openrouter/t?a=b';
      const submission = await withImages(paths, (media, submit) =>
        provider.submit(requestFor({ ...input, ...fields }, media), { ...submit, hookUrl }),
      );
      const { value } = await session.call('video', {
        ...options,
        generateAudio: true,
        callbackUrl: hookUrl,
        ...more,
      });
      const [ours, theirs] = session.requests();
      assertSameRequest(ours, theirs, { host });
      assert.deepEqual(submission, { kind: 'job', jobId: (value as { id: string }).id });
    });
  }

  it('sends the defaults of a model without sound', async () => {
    session.answer(accepted);
    const { provider, requestFor, host } = mapped('openrouter/grok-imagine-video', session.origin);
    await provider.submit(requestFor({ prompt: 'a boat' }), submitCall());
    await session.call('video', {
      model: 'x-ai/grok-imagine-video',
      prompt: 'a boat',
      duration: 6,
      resolution: '480p',
    });
    const [ours, theirs] = session.requests();
    assertSameRequest(ours, theirs, { host });
  });

  it('polls as the official client does', async () => {
    session.answer(job('in_progress'));
    const { provider, requestFor, host } = mapped('openrouter/veo-3.1', session.origin);
    assert.equal((await provider.poll(requestFor(input), ID, call)).kind, 'running');
    await session.call('poll', ID);
    const [ours, theirs] = session.requests();
    assertSameRequest(ours, theirs, { host });
  });

  it('takes the file from where the official client fetches it', async () => {
    const unsigned = `https://openrouter.ai/api/v1/videos/${ID}/content?index=0`;
    session.answer(job('completed', { unsigned_urls: [unsigned], usage: { cost: 2.4, is_byok: false } }));
    const { provider, requestFor } = mapped('openrouter/veo-3.1', session.origin);
    const { value } = await session.call('poll', ID);
    const { unsignedUrls: urls, usage } = value as { unsignedUrls: string[]; usage: { cost: number } };
    const state = await provider.poll(requestFor(input), ID, call);
    const files = urls.map((url) => ({ from: 'url', url }));
    assert.deepEqual(state, { kind: 'done', files, costMicroUsd: microUsdOf(usage.cost) });

    session.answer({ file: { mimeType: 'video/mp4', bytes: Buffer.from('a video') } });
    await session.call('content', ID);
    const [content] = session.requests();
    assert.equal(`https://${String(content?.headers['x-oracle-host'])}${content?.url}`, unsigned);
  });

  it('does not know what a job costs that another provider bills', async () => {
    session.answer(job('completed', { unsigned_urls: ['https://a.example/1'], usage: { cost: 0, is_byok: true } }));
    const { provider, requestFor } = mapped('openrouter/veo-3.1', session.origin);
    const { value } = await session.call('poll', ID);
    assert.deepEqual((value as { usage: unknown }).usage, { cost: 0, isByok: true });
    const state = await provider.poll(requestFor(input), ID, call);
    assert.deepEqual(state, { kind: 'done', files: [{ from: 'url', url: 'https://a.example/1' }] });
  });

  const failures: readonly (readonly [string, Scripted, string])[] = [
    ['moderation', job('failed', { error: 'The prompt was rejected by content moderation.' }), 'content_rejected'],
    ['an error of the model', job('failed', { error: 'Upstream error' }), 'provider_error'],
    ['a job that was cancelled', job('cancelled'), 'provider_error'],
    ['a job that has expired', job('expired'), 'provider_error'],
    ['a job that is unknown', errorOf(404, 'Job not found.'), 'provider_error'],
  ];
  for (const [what, answer, reason] of failures) {
    it(`fails after ${what}, where the official client has no file`, async () => {
      session.answer(answer);
      const { provider, requestFor } = mapped('openrouter/veo-3.1', session.origin);
      const { value, error } = await session.call('poll', ID);
      const status = (value as { status: string } | undefined)?.status;
      assert.ok(error?.status === 404 || ['failed', 'cancelled', 'expired'].includes(status ?? ''));
      assert.deepEqual(await ended(provider.poll(requestFor(input), ID, call)), { failed: reason });
    });
  }

  it('polls again after an error of the server', async () => {
    session.answer(errorOf(502, 'Provider returned error'));
    const { provider, requestFor } = mapped('openrouter/veo-3.1', session.origin);
    await assert.rejects(provider.poll(requestFor(input), ID, call), ProviderUnreachable);
  });

  it('cannot cancel, as the official client cannot', async () => {
    session.answer({});
    const { provider, requestFor } = mapped('openrouter/veo-3.1', session.origin);
    assert.deepEqual(await provider.cancel(requestFor(input), ID, call), { outcome: 'unsupported' });
    assert.deepEqual(session.requests(), []);
  });

  itRejects(
    session,
    {
      ours() {
        const { provider, requestFor } = mapped('openrouter/veo-3.1', session.origin);
        return provider.submit(requestFor(input), submitCall());
      },
      theirs: () => session.call('video', options),
    },
    REJECTIONS,
  );
});
