/**
 * Google's Gemini API, compared with `@google/genai` and https://ai.google.dev/api: images by `generateContent`, and
 * videos as interactions in the background.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ProviderUnreachable } from '../../src/providers/provider.ts';
import { submitCall } from '../providers/submit-call.ts';
import { assertSameRequest, ended, mapped } from './oracle.ts';
import { IMAGE_ANSWER, REJECTED_IMAGES, errorOf, filesOfClient, usageOfClient } from './gemini.ts';
import { IMAGE, itRejects, useClient, withImages } from './session.ts';
import type { Rejection, Scripted } from './session.ts';

const call = { signal: new AbortController().signal };
const headers = ['x-goog-api-key'];

const REJECTIONS: readonly Rejection[] = [
  { what: 'an invalid input', answer: errorOf(400, 'INVALID_ARGUMENT', 'Invalid value.'), reason: 'input_invalid' },
  {
    what: 'an unknown key',
    answer: errorOf(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', [
      { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' },
    ]),
    reason: 'model_unavailable',
  },
  { what: 'a denied key', answer: errorOf(403, 'PERMISSION_DENIED', 'Denied.'), reason: 'model_unavailable' },
  {
    what: 'an unknown model',
    answer: errorOf(404, 'NOT_FOUND', 'models/x is not found.'),
    reason: 'model_unavailable',
  },
  {
    what: 'too many requests',
    answer: errorOf(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded.', [
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34s' },
    ]),
    reason: 'provider_unavailable',
    retryAfterMs: 34_000,
  },
  {
    what: 'an overload',
    answer: errorOf(503, 'UNAVAILABLE', 'The model is overloaded.'),
    reason: 'provider_unavailable',
  },
];

describe('the mapping of Gemini images', () => {
  const session = useClient('google');

  const inputs: readonly (readonly [string, string, object, object])[] = [
    [
      'gemini-3-pro-image',
      'gemini-3-pro-image',
      { aspect_ratio: '16:9', resolution: '4K', seed: 7 },
      { seed: 7, imageConfig: { aspectRatio: '16:9', imageSize: '4K' } },
    ],
    ['nano-banana-2.1', 'gemini-nano-banana-2.1', {}, { imageConfig: { imageSize: '1K' } }],
  ];
  for (const [name, model, fields, config] of inputs) {
    for (const count of [0, 1, 2]) {
      it(`asks ${name} with ${count} images as the official client does, and takes the same files`, async () => {
        session.answer(IMAGE_ANSWER);
        const { provider, requestFor, host } = mapped(`google/${name}`, session.origin);
        const urls = Array.from({ length: count }, () => 'https://example.com/a.png');
        const input = { prompt: 'a boat', ...fields, ...(count === 0 ? {} : { image_urls: urls }) };
        const submission = await withImages(
          urls.map((_, index) => `image_urls.${index}`),
          (media, submit) => provider.submit(requestFor(input, media), submit),
        );
        const images = urls.map(() => ({ inlineData: { mimeType: 'image/png', data: IMAGE.toString('base64') } }));
        const { value } = await session.call('generate', {
          model,
          contents: [{ role: 'user', parts: [{ text: 'a boat' }, ...images] }],
          config: { responseModalities: ['IMAGE'], ...config },
        });
        const [ours, theirs] = session.requests();
        assertSameRequest(ours, theirs, { host, headers });
        assert.deepEqual(submission, { kind: 'done', files: filesOfClient(value), usage: usageOfClient(value) });
      });
    }
  }

  const ask = () => {
    const { provider, requestFor } = mapped('google/nano-banana-2.1', session.origin);
    return provider.submit(requestFor({ prompt: 'a boat' }), submitCall());
  };
  const askOfClient = () => session.call('generate', { model: 'gemini-nano-banana-2.1', contents: 'a boat' });

  for (const { what, answer, reason } of REJECTED_IMAGES) {
    it(`fails after ${what}, where the official client has no image`, async () => {
      session.answer(answer);
      assert.deepEqual(filesOfClient((await askOfClient()).value), []);
      assert.deepEqual(await ended(ask()), { failed: reason });
    });
  }

  itRejects(session, { ours: ask, theirs: askOfClient }, REJECTIONS);
});

describe('the mapping of Gemini videos', () => {
  const session = useClient('google');
  const MODEL = 'gemini-omni-1.1-flash';
  const ID = 'v1_ChdXS0l4YWZXTk9xbk0xZThQczhEcmlROBIXV0tJeGFmV05PcW5NMWU4UHM4RHJpUTg';
  const URI = 'https://generativelanguage.googleapis.com/v1beta/files/a1b2c3:download?alt=media';
  const input = { prompt: 'a boat', duration: 8, aspect_ratio: '9:16' };

  const interaction = (changes: object): Scripted => ({
    json: { id: ID, model: MODEL, object: 'interaction', status: 'in_progress', ...changes },
  });
  const thought = { type: 'thought', content: [{ type: 'text', text: 'A boat.' }] };
  const made = (...content: readonly object[]) =>
    interaction({
      status: 'completed',
      steps: [thought, { type: 'model_output', content }],
      usage: { total_input_tokens: 12, total_output_tokens: 46_080, total_thought_tokens: 8, total_tokens: 46_100 },
    });
  const video = () => mapped(`google/${MODEL}`, session.origin);

  for (const hasImage of [false, true]) {
    it(`submits a prompt${hasImage ? ' and an image' : ''} as the official client does`, async () => {
      session.answer(interaction({}));
      const { provider, requestFor, host } = video();
      const fields = hasImage ? { image_url: 'https://example.com/a.png' } : {};
      const submission = await withImages(Object.keys(fields), (media, submit) =>
        provider.submit(requestFor({ ...input, ...fields }, media), submit),
      );
      const image = { type: 'image', mime_type: 'image/png', data: IMAGE.toString('base64') };
      const { value } = await session.call('create', {
        model: MODEL,
        input: hasImage ? [image, { type: 'text', text: 'a boat' }] : 'a boat',
        background: true,
        response_format: { type: 'video', delivery: 'uri', aspect_ratio: '9:16', resolution: '720p', duration: '8s' },
      });
      assert.deepEqual(submission, { kind: 'job', jobId: (value as { id: string }).id });
      const [ours, theirs] = session.requests();
      assertSameRequest(ours, theirs, { host, headers });
    });
  }

  it('polls and cancels as the official client does', async () => {
    session.answer(({ method }) => interaction({ status: method === 'POST' ? 'cancelled' : 'in_progress' }));
    const { provider, requestFor, host } = video();
    const request = requestFor(input);
    assert.equal((await provider.poll(request, ID, call)).kind, 'running');
    await session.call('get', ID);
    assert.deepEqual(await provider.cancel(request, ID, call), { outcome: 'cancelled' });
    await session.call('cancel', ID);
    const [poll, pollOfClient, cancel, cancelOfClient] = session.requests();
    // The client says that it does not want a stream, which is the default.
    assertSameRequest(poll, pollOfClient, { host, headers, withoutQuery: ['stream'] });
    assertSameRequest(cancel, cancelOfClient, { host, headers });
  });

  it('takes the video and the tokens from the same answer as the official client', async () => {
    session.answer(made({ type: 'text', text: 'Here it is.' }, { type: 'video', mime_type: 'video/mp4', uri: URI }));
    const { provider, requestFor } = video();
    const { value } = await session.call('get', ID);
    const { output_video: output, usage } = value as {
      output_video: { uri: string };
      usage: { total_input_tokens: number; total_output_tokens: number; total_tokens: number };
    };
    const state = await provider.poll(requestFor(input), ID, call);
    assert.deepEqual(state, {
      kind: 'done',
      files: [{ from: 'url', url: output.uri }],
      usage: {
        inputTokens: usage.total_input_tokens,
        outputTokens: usage.total_output_tokens,
        totalTokens: usage.total_tokens,
      },
    });
  });

  for (const status of ['queued', 'in_progress']) {
    it(`waits while it is ${status}`, async () => {
      session.answer(interaction({ status }));
      const { provider, requestFor } = video();
      assert.equal((await provider.poll(requestFor(input), ID, call)).kind, 'running');
    });
  }

  const failures: readonly (readonly [string, Scripted, string])[] = [
    ['an answer in words', made({ type: 'text', text: 'I cannot make that.' }), 'content_rejected'],
    [
      'moderation',
      interaction({ status: 'failed', errors: [{ code: 'SAFETY', message: 'blocked' }] }),
      'content_rejected',
    ],
    ['an error of the model', interaction({ status: 'failed', errors: [{ message: 'Internal' }] }), 'provider_error'],
    ['an end before it was whole', interaction({ status: 'incomplete' }), 'provider_error'],
    ['a job that is gone', errorOf(404, 'NOT_FOUND', 'Not found.'), 'provider_error'],
  ];
  for (const [what, answer, reason] of failures) {
    it(`fails after ${what}, where the official client has no video`, async () => {
      session.answer(answer);
      const { provider, requestFor } = video();
      const { value } = await session.call('get', ID);
      assert.equal((value as { output_video?: unknown } | undefined)?.output_video, undefined);
      assert.deepEqual(await ended(provider.poll(requestFor(input), ID, call)), { failed: reason });
    });
  }

  it('polls again after an error of the server', async () => {
    session.answer(errorOf(500, 'INTERNAL', 'Internal error.'));
    const { provider, requestFor } = video();
    await assert.rejects(provider.poll(requestFor(input), ID, call), ProviderUnreachable);
  });

  const lateCancels: readonly (readonly [string, Scripted])[] = [
    ['is finished', made({ type: 'video', uri: URI })],
    ['cannot be cancelled any more', errorOf(400, 'FAILED_PRECONDITION', 'The interaction is not in progress.')],
  ];
  for (const [what, answer] of lateCancels) {
    it(`cancels too late what ${what}`, async () => {
      session.answer(answer);
      const { provider, requestFor } = video();
      assert.deepEqual(await provider.cancel(requestFor(input), ID, call), { outcome: 'too_late' });
    });
  }

  itRejects(
    session,
    {
      ours() {
        const { provider, requestFor } = video();
        return provider.submit(requestFor(input), submitCall());
      },
      theirs: () => session.call('create', { model: MODEL, input: 'a boat', background: true }),
    },
    [
      ...REJECTIONS,
      {
        what: 'moderation',
        answer: errorOf(400, 'INVALID_ARGUMENT', 'The prompt was blocked for safety reasons.'),
        reason: 'content_rejected',
      },
    ],
  );
});
