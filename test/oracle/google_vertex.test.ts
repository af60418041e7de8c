/**
 * Google Vertex AI, compared with `@google/genai` and
 * https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/veo-video-generation: images by
 * `generateContent`, and videos as operations.
 */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { findBinding } from '../../src/providers/http/binding.ts';
import { ProviderUnreachable } from '../../src/providers/provider.ts';
import { IMAGE_ANSWER, REJECTED_IMAGES, errorOf, filesOfClient, usageOfClient } from './gemini.ts';
import { assertSameRequest, ended, mapped } from './oracle.ts';
import { submitCall } from '../providers/submit-call.ts';
import { IMAGE, itRejects, useClient, withImages } from './session.ts';
import type { Rejection, Scripted, Session } from './session.ts';

const call = { signal: new AbortController().signal };
const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2_048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
});
const secret = JSON.stringify({ client_email: 'someone@the-project.example', private_key: privateKey });
const LOCATION = 'projects/the-project/locations/us-central1';
const REJECTIONS: readonly Rejection[] = [
  { what: 'an invalid input', answer: errorOf(400, 'INVALID_ARGUMENT', 'Invalid value.'), reason: 'input_invalid' },
  {
    what: 'moderation',
    answer: errorOf(400, 'INVALID_ARGUMENT', "The prompt violates Vertex AI's usage guidelines."),
    reason: 'content_rejected',
  },
  { what: 'a missing role', answer: errorOf(403, 'PERMISSION_DENIED', 'Denied.'), reason: 'model_unavailable' },
  { what: 'an unknown model', answer: errorOf(404, 'NOT_FOUND', 'Not found.'), reason: 'model_unavailable' },
  {
    what: 'too many requests',
    answer: { ...errorOf(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded.'), headers: { 'retry-after': '7' } },
    reason: 'provider_unavailable',
    retryAfterMs: 7_000,
  },
];

/** A model at the recorder, which issues the token too. */
function vertex(name: string, { origin }: Session) {
  return mapped(`google_vertex/${name}`, origin, {
    secret,
    baseUrl: `https://us-central1-aiplatform.googleapis.com/v1/${LOCATION}`,
    adjust(upstream) {
      const http = findBinding(upstream);
      assert.ok(http?.auth !== undefined);
      return { ...upstream, http: { ...http, auth: { ...http.auth, tokenUrl: `${origin}/token` } } };
    },
  });
}

/** Answers everything else; the token is the one that the official client has. */
const withToken =
  (answer: Scripted) =>
  ({ url }: { readonly url: string }): Scripted =>
    url === '/token' ? { json: { access_token: 'the-token', expires_in: 3_600 } } : answer;

/** The requests without those for a token, which the official client of the tests has from the start. */
const requestsOf = (session: Session) => session.requests().filter(({ url }) => url !== '/token');

describe('the mapping of Gemini images at Vertex AI', () => {
  const session = useClient('google_vertex');
  const input = { prompt: 'a boat', aspect_ratio: '4:5', resolution: '2K', seed: 7 };
  const models = [
    ['gemini-3-pro-image', 'gemini-3-pro-image'],
    ['nano-banana-2.1', 'gemini-nano-banana-2.1'],
  ] as const;

  for (const [name, model] of models) {
    it(`asks ${name} as the official client does, and takes the same files`, async () => {
      session.answer(withToken(IMAGE_ANSWER));
      const { provider, requestFor, host } = vertex(name, session);
      const submission = await withImages(['image_urls.0'], (media, submit) =>
        provider.submit(requestFor({ ...input, image_urls: ['https://example.com/a.png'] }, media), submit),
      );
      const image = { inlineData: { mimeType: 'image/png', data: IMAGE.toString('base64') } };
      const { value } = await session.call('generate', {
        model,
        contents: [{ role: 'user', parts: [{ text: 'a boat' }, image] }],
        config: { responseModalities: ['IMAGE'], seed: 7, imageConfig: { aspectRatio: '4:5', imageSize: '2K' } },
      });
      const [ours, theirs] = requestsOf(session);
      assertSameRequest(ours, theirs, { host });
      assert.deepEqual(submission, { kind: 'done', files: filesOfClient(value), usage: usageOfClient(value) });
    });
  }

  const ask = () => {
    const { provider, requestFor } = vertex('nano-banana-2.1', session);
    return provider.submit(requestFor(input), submitCall());
  };
  const askOfClient = () => session.call('generate', { model: 'gemini-nano-banana-2.1', contents: 'a boat' });

  for (const { what, answer, reason } of REJECTED_IMAGES) {
    it(`fails after ${what}, where the official client has no image`, async () => {
      session.answer(withToken(answer));
      assert.deepEqual(filesOfClient((await askOfClient()).value), []);
      assert.deepEqual(await ended(ask()), { failed: reason });
    });
  }

  itRejects(answeringWithToken(session), { ours: ask, theirs: askOfClient }, REJECTIONS);
});

/** A session that issues tokens as well. */
function answeringWithToken(session: Session): Pick<Session, 'answer'> {
  return { answer: (answer) => session.answer(typeof answer === 'function' ? answer : withToken(answer)) };
}

describe('the mapping of Veo at Vertex AI', () => {
  const session = useClient('google_vertex');
  const MODEL = 'veo-3.1-generate-001';
  const NAME = `${LOCATION}/publishers/google/models/${MODEL}/operations/d13a8b10-8a31-4b6e-a6f5-0f2d31f1b8d6`;
  const ID = NAME.replaceAll('/', ':');
  const input = {
    prompt: 'a boat',
    negative_prompt: 'people',
    duration: 6,
    aspect_ratio: '9:16',
    resolution: '1080p',
    generate_audio: false,
    seed: 7,
  };
  const config = {
    numberOfVideos: 1,
    negativePrompt: 'people',
    durationSeconds: 6,
    aspectRatio: '9:16',
    resolution: '1080p',
    generateAudio: false,
    seed: 7,
  };
  const operation = (changes: object): Scripted => ({ json: { name: NAME, ...changes } });
  const answered = (response: object): Scripted => operation({ done: true, response });
  const inputImage = { imageBytes: IMAGE.toString('base64'), mimeType: 'image/png' };

  const inputs: readonly (readonly [string, object, readonly string[], object, object])[] = [
    ['a prompt', {}, [], {}, {}],
    [
      'two frames',
      { image_url: 'https://example.com/a.png', last_frame_url: 'https://example.com/b.png' },
      ['image_url', 'last_frame_url'],
      { image: inputImage },
      { lastFrame: inputImage },
    ],
    [
      'references',
      { reference_image_urls: ['https://example.com/a.png', 'https://example.com/b.png'] },
      ['reference_image_urls.0', 'reference_image_urls.1'],
      {},
      { referenceImages: [inputImage, inputImage].map((image) => ({ image, referenceType: 'asset' })) },
    ],
    [
      'one reference',
      { reference_image_urls: ['https://example.com/a.png'] },
      ['reference_image_urls.0'],
      {},
      { referenceImages: [{ image: inputImage, referenceType: 'asset' }] },
    ],
  ];
  for (const [what, fields, paths, source, more] of inputs) {
    it(`submits ${what} as the official client does`, async () => {
      session.answer(withToken(operation({})));
      const { provider, requestFor, host } = vertex('veo-3.1', session);
      const submission = await withImages(paths, (media, submit) =>
        provider.submit(requestFor({ ...input, ...fields }, media), submit),
      );
      const { value } = await session.call('generateVideos', {
        model: MODEL,
        source: { prompt: 'a boat', ...source },
        config: { ...config, ...more },
      });
      const [ours, theirs] = requestsOf(session);
      assertSameRequest(ours, theirs, { host });
      assert.deepEqual(submission, { kind: 'job', jobId: (value as { name: string }).name.replaceAll('/', ':') });
    });
  }

  it('polls as the official client does', async () => {
    session.answer(withToken(operation({})));
    const { provider, requestFor, host } = vertex('veo-3.1', session);
    assert.equal((await provider.poll(requestFor(input), ID, call)).kind, 'running');
    await session.call('operation', NAME);
    const [ours, theirs] = requestsOf(session);
    assertSameRequest(ours, theirs, { host });
  });

  it('takes the videos from the same answer as the official client', async () => {
    const bytes = Buffer.from('a video');
    session.answer(
      withToken(
        answered({
          '@type': 'type.googleapis.com/cloud.ai.large_models.vision.GenerateVideoResponse',
          raiMediaFilteredCount: 0,
          videos: [{ bytesBase64Encoded: bytes.toString('base64'), mimeType: 'video/mp4' }],
        }),
      ),
    );
    const { provider, requestFor } = vertex('veo-3.1-fast', session);
    const state = await provider.poll(requestFor(input), ID, call);
    const { value } = await session.call('operation', NAME);
    const { response } = value as { response: { generatedVideos: { video: { videoBytes: string } }[] } };
    const files = response.generatedVideos.map(({ video }) => Buffer.from(video.videoBytes, 'base64'));
    assert.deepEqual(state, { kind: 'done', files: files.map((file) => ({ from: 'bytes', bytes: file })) });
  });

  const failures: readonly (readonly [string, Scripted, string])[] = [
    [
      'moderation of the video',
      answered({ raiMediaFilteredCount: 1, raiMediaFilteredReasons: ['Filtered. Support codes: 15236754'] }),
      'content_rejected',
    ],
    [
      'moderation of the prompt',
      operation({ done: true, error: { code: 3, message: "The prompt violates Vertex AI's usage guidelines." } }),
      'content_rejected',
    ],
    ['an invalid input', operation({ done: true, error: { code: 3, message: 'Wrong size.' } }), 'input_invalid'],
    ['an error of the model', operation({ done: true, error: { code: 13, message: 'Internal.' } }), 'provider_error'],
    ['an operation that is gone', errorOf(404, 'NOT_FOUND', 'Operation not found.'), 'provider_error'],
  ];
  for (const [what, answer, reason] of failures) {
    it(`fails after ${what}, where the official client has no video`, async () => {
      session.answer(withToken(answer));
      const { provider, requestFor } = vertex('veo-3.1', session);
      const { value } = await session.call('operation', NAME);
      const { response } = (value ?? {}) as { response?: { generatedVideos?: unknown } };
      assert.equal(response?.generatedVideos, undefined);
      assert.deepEqual(await ended(provider.poll(requestFor(input), ID, call)), { failed: reason });
    });
  }

  it('polls again after an error of the server', async () => {
    session.answer(withToken(errorOf(503, 'UNAVAILABLE', 'Try again.')));
    const { provider, requestFor } = vertex('veo-3.1', session);
    await assert.rejects(provider.poll(requestFor(input), ID, call), ProviderUnreachable);
  });

  it('cannot cancel, as the official client cannot', async () => {
    session.answer({});
    const { provider, requestFor } = vertex('veo-3.1', session);
    assert.deepEqual(await provider.cancel(requestFor(input), ID, call), { outcome: 'unsupported' });
    assert.deepEqual(session.requests(), []);
  });

  itRejects(
    answeringWithToken(session),
    {
      ours() {
        const { provider, requestFor } = vertex('veo-3.1', session);
        return provider.submit(requestFor(input), submitCall());
      },
      theirs: () => session.call('generateVideos', { model: MODEL, source: { prompt: 'a boat' } }),
    },
    REJECTIONS,
  );
});
