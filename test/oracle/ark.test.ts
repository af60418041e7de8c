/**
 * BytePlus ModelArk (Volcengine Ark), compared with `@ai-sdk/bytedance`, which neither cancels nor asks for URLs of
 * images: these are from https://docs.byteplus.com/en/docs/ModelArk/1520757 and …/1541523.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { workCost } from '../../src/catalogue/work-cost.ts';
import { withRecorder, withScratch } from '../providers/http/recorder.ts';
import type { Recorded } from '../providers/http/recorder.ts';
import { answering, cancelled, polled, reasonOf, submitted } from './answers.ts';
import type { Scripted } from './bench.ts';
import { withClient } from './client.ts';
import { assertSameRequest, comparable, mapped } from './oracle.ts';

const ID = 'cgt-20261127160057-6bbjd';
const URL_OF_VIDEO = 'https://ark-content-generation-ap-southeast-1.tos-ap-southeast-1.volces.com/a.mp4?X=1';
const HOOK = 'https://darkroom.example/hooks/ark/t';
const SEEDANCE = { model: 'ark/seedance-2.0', input: { prompt: 'a boat' } };
const SEEDREAM = { model: 'ark/seedream-4.5', input: { prompt: 'a boat' } };
const call = { signal: new AbortController().signal };

const state = (status: string, more: object = {}): Scripted => ({
  json: { id: ID, model: 'dreamina-seedance-2-0-260128', status, ...more },
});
const SUCCEEDED = state('succeeded', {
  content: { video_url: URL_OF_VIDEO },
  usage: { completion_tokens: 108_900, total_tokens: 108_900 },
});
const error = (status: number, code: string): Scripted => ({ status, json: { error: { code, message: code } } });

describe('the mapping of Ark', () => {
  const image = Buffer.from('an image');
  const file = { type: 'file', data: image.toString('base64'), mediaType: 'image/png' };
  const videos: readonly {
    readonly model: string;
    readonly input: Readonly<Record<string, unknown>>;
    readonly fields?: readonly string[];
    readonly theirs: readonly [string, { readonly [option: string]: unknown; readonly providerOptions?: object }];
  }[] = [
    {
      model: 'ark/seedance-2.0',
      input: {
        prompt: 'a boat',
        duration: 7,
        aspect_ratio: '9:16',
        resolution: '1080p',
        generate_audio: false,
        seed: 7,
        watermark: true,
      },
      theirs: [
        'dreamina-seedance-2-0-260128',
        {
          prompt: 'a boat',
          duration: 7,
          aspectRatio: '9:16',
          resolution: '1920x1080',
          generateAudio: false,
          seed: 7,
          providerOptions: { watermark: true },
        },
      ],
    },
    {
      model: 'ark/seedance-2.0-fast',
      input: { prompt: 'a boat', image_url: 'https://example.com/a.png' },
      fields: ['image_url'],
      theirs: [
        'dreamina-seedance-2-0-fast-260128',
        { prompt: 'a boat', image: file, duration: 5, aspectRatio: 'adaptive', resolution: '720p' },
      ],
    },
    {
      model: 'ark/seedance-1.5-pro',
      input: {
        prompt: 'a boat',
        image_url: 'https://example.com/a.png',
        end_image_url: 'https://example.com/b.png',
        camera_fixed: true,
        resolution: '480p',
      },
      fields: ['image_url', 'end_image_url'],
      theirs: [
        'seedance-1-5-pro-251215',
        {
          prompt: 'a boat',
          frameImages: [
            { frameType: 'first_frame', image: file },
            { frameType: 'last_frame', image: file },
          ],
          duration: 5,
          aspectRatio: 'adaptive',
          resolution: '864x496',
          providerOptions: { cameraFixed: true },
        },
      ],
    },
    {
      model: 'ark/seedance-2.0',
      input: {
        prompt: 'a boat like image 1',
        reference_image_urls: ['https://example.com/a.png', 'https://example.com/b.png'],
        reference_audio_urls: ['https://example.com/a.mp3'],
      },
      fields: ['reference_image_urls.0', 'reference_image_urls.1'],
      theirs: [
        'dreamina-seedance-2-0-260128',
        {
          prompt: 'a boat like image 1',
          inputReferences: [file, file],
          duration: 5,
          aspectRatio: 'adaptive',
          resolution: '720p',
          providerOptions: { referenceAudio: ['https://example.com/a.mp3'] },
        },
      ],
    },
  ];

  it('sends what the client sends for videos, and takes job and file from the same answers', async () => {
    const script = ({ method }: Recorded): Scripted => (method === 'POST' ? { json: { id: ID } } : SUCCEEDED);
    await withRecorder(answering(script), async ({ origin, requests }) => {
      await withClient('ark', origin, async (client) => {
        for (const { model, input, fields = [], theirs } of videos) {
          await withScratch(async ({ call: submit, inputFile }) => {
            const first = requests.length;
            const { provider, requestFor, host } = mapped(model, origin);
            const files = fields.map(async (field) => [field, await inputFile('image/png', image)] as const);
            const request = requestFor(input, new Map(await Promise.all(files)));
            const [name, options] = theirs;

            assert.deepEqual(await provider.submit(request, { ...submit, hookUrl: HOOK }), { kind: 'job', jobId: ID });
            const ended = await provider.poll(request, ID, call);
            const providerOptions = { ...options.providerOptions, callback_url: HOOK };
            const answer = await client.call('video', name, { ...options, providerOptions });

            assert.deepEqual(answer.error, undefined);
            assert.deepEqual(answer.value, {
              videos: [{ type: 'url', url: URL_OF_VIDEO, mediaType: 'video/mp4' }],
              usage: { completion_tokens: 108_900 },
            });
            assert.deepEqual(ended, {
              kind: 'done',
              files: [{ from: 'url', url: URL_OF_VIDEO }],
              // The client reads the tokens of the output only, which are all tokens of a video.
              usage: { totalTokens: 108_900 },
            });
            const [submitOfOurs, poll, submitOfClient, pollOfClient] = requests.slice(first);
            assertSameRequest(submitOfOurs, submitOfClient, { host });
            assertSameRequest(poll, pollOfClient, { host });
          });
        }
      });
    });
  });

  const images: readonly (readonly [string, Readonly<Record<string, unknown>>, number, string, object])[] = [
    [
      'ark/seedream-4.5',
      { prompt: 'a boat', size: '2560x1440', watermark: false },
      0,
      'seedream-4-5-251128',
      {
        prompt: 'a boat',
        size: '2560x1440',
        providerOptions: { watermark: false, sequentialImageGeneration: 'disabled' },
      },
    ],
    [
      'ark/seedream-5.0-lite',
      { prompt: 'both', image_urls: ['https://a.example/1', 'https://a.example/2'], n: 3, output_format: 'png' },
      2,
      'seedream-5-0-260128',
      {
        prompt: 'both',
        files: [file, file],
        providerOptions: {
          size: '2K',
          outputFormat: 'png',
          sequentialImageGeneration: 'auto',
          maxImages: 3,
        },
      },
    ],
  ];

  it('sends what the client sends for images, except that it asks for URLs', async () => {
    // URLs are streamed to disk; the client has every image in memory.
    const answer = {
      json: {
        data: [{ url: 'https://a.example/1.png', b64_json: 'YQ==' }],
        usage: { generated_images: 1, output_tokens: 14_400, total_tokens: 14_400 },
      },
    };
    await withRecorder(answering(answer), async ({ origin, requests }) => {
      await withClient('ark', origin, async (client) => {
        for (const [model, input, count, name, options] of images) {
          await withScratch(async ({ call: submit, inputFile }) => {
            const first = requests.length;
            const { provider, requestFor } = mapped(model, origin);
            const files = Array.from({ length: count }, async (_, index) => {
              return [`image_urls.${index}`, await inputFile('image/png', image)] as const;
            });

            const submission = await provider.submit(requestFor(input, new Map(await Promise.all(files))), submit);
            assert.deepEqual(submission, {
              kind: 'done',
              files: [{ from: 'url', url: 'https://a.example/1.png' }],
              usage: { totalTokens: 14_400, images: 1 },
            });
            const { value } = await client.call('image', name, options);
            assert.deepEqual(value, ['YQ==']);

            const [ours, theirs] = requests.slice(first).map((recorded) => comparable(recorded));
            assert.ok(ours !== undefined && theirs !== undefined);
            const body = { ...(theirs.body as object), response_format: 'url' };
            assert.deepEqual(ours, { ...theirs, body });
          });
        }
      });
    });
  });

  it('charges the tokens of the model that has one rate', async () => {
    await withRecorder(answering(SUCCEEDED), ({ origin }) => {
      const usage = { totalTokens: 108_900 };
      const costOf = (model: string) => {
        const rule = mapped(model, origin).definition.routes['default']?.upstreams[0]?.cost;
        return workCost(rule, {}, 1, { usage }).cost;
      };
      assert.deepEqual(costOf('ark/seedance-2.0-fast'), { microUsd: 609_840n, source: 'usage' });
      // The rates of these depend on resolution and sound.
      assert.equal(costOf('ark/seedance-2.0')?.source, 'rule');
      assert.equal(costOf('ark/seedance-1.5-pro')?.source, 'rule');
      return Promise.resolve();
    });
  });

  it('waits for a job that has not ended', async () => {
    for (const status of ['queued', 'running']) {
      assert.deepEqual(await polled(SEEDANCE, ID, state(status)), { result: { kind: 'running' } });
    }
  });

  it('fails with the job, as the client does', async () => {
    const failed: readonly (readonly [Scripted, string])[] = [
      [state('failed', { error: { code: 'OutputVideoSensitiveContentDetected', message: 'x' } }), 'content_rejected'],
      [state('failed', { error: { code: 'InternalServiceError', message: 'x' } }), 'provider_error'],
      // The client polls these for ever.
      [state('expired'), 'provider_error'],
      [state('cancelled'), 'provider_error'],
      [error(404, 'ResourceNotFound'), 'provider_error'],
    ];
    for (const [answer, reason] of failed) assert.deepEqual(await polled(SEEDANCE, ID, answer), { failed: reason });
    const script = ({ method }: Recorded): Scripted =>
      method === 'POST' ? { json: { id: ID } } : (failed[0]?.[0] ?? SUCCEEDED);
    await withRecorder(answering(script), async ({ origin }) => {
      await withClient('ark', origin, async (client) => {
        const answer = await client.call('video', 'dreamina-seedance-2-0-260128', { prompt: 'a boat' });
        assert.match(answer.error?.message ?? '', /^Video generation failed/);
      });
    });
    const filtered = { json: { data: [{ error: { code: 'OutputImageSensitiveContentDetected', message: 'x' } }] } };
    assert.deepEqual(await submitted(SEEDREAM, filtered), { failed: 'content_rejected' });
  });

  it('takes an error for a rejection, as the client does', async () => {
    const rejected: readonly (readonly [Scripted, string])[] = [
      [error(400, 'InvalidParameter'), 'input_invalid'],
      [error(400, 'InputTextSensitiveContentDetected'), 'content_rejected'],
      [error(400, 'InputImageSensitiveContentDetected.PrivacyInformation'), 'content_rejected'],
      [error(401, 'AuthenticationError'), 'model_unavailable'],
      [error(403, 'AccountOverdueError'), 'model_unavailable'],
      [error(404, 'ModelNotOpen'), 'model_unavailable'],
      [error(429, 'RateLimitExceeded.EndpointRPMExceeded'), 'provider_unavailable'],
    ];
    for (const [answer, reason] of rejected) {
      assert.equal(reasonOf(await submitted(SEEDANCE, answer)), reason);
      assert.equal(reasonOf(await submitted(SEEDREAM, answer)), reason);
    }
    await withRecorder(answering(rejected[0]?.[0] ?? SUCCEEDED), async ({ origin }) => {
      await withClient('ark', origin, async (client) => {
        const answer = await client.call('video', 'dreamina-seedance-2-0-260128', { prompt: 'a boat' });
        assert.equal(answer.error?.status, 400);
      });
    });
    const hinted = await submitted(SEEDANCE, { ...error(429, 'ServerOverloaded'), headers: { 'retry-after': '7' } });
    assert.deepEqual(hinted, { rejected: 'provider_unavailable', retryAfterMs: 7_000 });
    await assert.rejects(submitted(SEEDANCE, error(500, 'InternalServiceError')), { name: 'ProviderUnknown' });
  });

  it('cancels a job that is queued, and deletes no result', async () => {
    const script =
      (status: string, answer: Scripted) =>
      ({ method, url }: Recorded): Scripted => {
        assert.equal(url, `/api/v3/contents/generations/tasks/${ID}`);
        if (method === 'GET') return state(status);
        assert.equal(`${method} ${status}`, `DELETE ${status === 'running' ? 'running' : 'queued'}`);
        return answer;
      };
    assert.equal(await cancelled(SEEDANCE, ID, script('queued', { json: {} })), 'cancelled');
    assert.equal(await cancelled(SEEDANCE, ID, script('running', error(400, 'InvalidAction'))), 'too_late');
    assert.equal(await cancelled(SEEDANCE, ID, script('succeeded', { json: {} })), 'too_late');
  });
});
