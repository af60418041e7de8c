/** fal's queue, compared with `@fal-ai/client` and https://docs.fal.ai/model-endpoints/queue. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { withRecorder } from '../providers/http/recorder.ts';
import type { Recorded } from '../providers/http/recorder.ts';
import { submitCall } from '../providers/submit-call.ts';
import { createBench } from './bench.ts';
import { withClient } from './client.ts';
import { assertSameRequest, ended, mapped } from './oracle.ts';

const ID = '764cabcf-b745-4b3e-ae38-1200304cf45b';
const MODEL = 'fal-ai/flux/dev';
const INPUT = { prompt: 'a boat', aspect_ratio: '16:9', guidance_scale: 4, num_inference_steps: 40, seed: 7 };
const call = { signal: new AbortController().signal };

interface Scripted {
  readonly status?: number;
  readonly json: object;
}

/** The queue: what it answers to a submit, a poll, the request of the result and a cancellation. */
function queue(script: Partial<Record<'submit' | 'state' | 'result' | 'cancel', Scripted>>) {
  return ({ method, url }: Recorded, response: ServerResponse): unknown => {
    const step =
      method === 'POST' ? 'submit' : method === 'PUT' ? 'cancel' : url.includes('/status') ? 'state' : 'result';
    const { status = 200, json } = script[step] ?? { json: { request_id: ID, status: 'IN_QUEUE', queue_position: 0 } };
    response.statusCode = status;
    return json;
  };
}

const COMPLETED = { json: { status: 'COMPLETED', request_id: ID, metrics: { inference_time: 1.2 } } };
const IMAGES = { json: { images: [{ url: 'https://v3.fal.media/files/a.png', content_type: 'image/png' }], seed: 7 } };

describe('the mapping of fal', () => {
  it('sends what the official client sends', async () => {
    const script = queue({ state: COMPLETED, result: IMAGES, cancel: { json: { status: 'CANCELLATION_REQUESTED' } } });
    await withRecorder(script, async ({ origin, requests }) => {
      const { provider, requestFor, host } = mapped('flux-dev', origin);
      const request = requestFor(INPUT);
      const hookUrl = 'https://darkroom.example/hooks/fal/t?a=b';
      const input = {
        prompt: 'a boat',
        image_size: { width: 1344, height: 768 },
        num_images: 1,
        num_inference_steps: 40,
        guidance_scale: 4,
        output_format: 'jpeg',
        seed: 7,
      };
      await withClient('fal', origin, async (client) => {
        await provider.submit(request, submitCall({ hookUrl }));
        await client.call('submit', MODEL, input, hookUrl);
        await provider.poll(request, ID, call);
        await client.call('status', MODEL, ID);
        await client.call('result', MODEL, ID);
        await provider.cancel(request, ID, call);
        await client.call('cancel', MODEL, ID);
      });

      const [submit, submitOfClient, status, result, statusOfClient, resultOfClient, cancel, cancelOfClient] = requests;
      assertSameRequest(submit, submitOfClient, { host });
      assertSameRequest(status, statusOfClient, { host, withoutQuery: ['logs'] });
      assertSameRequest(result, resultOfClient, { host });
      assertSameRequest(cancel, cancelOfClient, { host });
    });
  });

  it('takes the job and the files from the same answers as the official client', async () => {
    await withRecorder(queue({ state: COMPLETED, result: IMAGES }), async ({ origin }) => {
      const { provider, requestFor } = mapped('flux-dev', origin);
      const request = requestFor(INPUT);
      await withClient('fal', origin, async (client) => {
        const submitted = await client.call('submit', MODEL, {});
        assert.deepEqual(await provider.submit(request, submitCall()), { kind: 'job', jobId: ID });
        assert.equal((submitted.value as { request_id: string }).request_id, ID);

        const { value } = await client.call('result', MODEL, ID);
        const urls = (value as { data: { images: { url: string }[] } }).data.images.map(({ url }) => url);
        assert.deepEqual(await provider.poll(request, ID, call), {
          kind: 'done',
          files: urls.map((url) => ({ from: 'url', url })),
        });
      });
    });
  });

  const running: readonly (readonly [string, object])[] = [
    ['queued', { status: 'IN_QUEUE', queue_position: 3 }],
    ['running', { status: 'IN_PROGRESS', logs: null }],
  ];
  for (const [what, json] of running) {
    it(`waits for a job that is ${what}`, async () => {
      await withRecorder(queue({ state: { json } }), async ({ origin }) => {
        const { provider, requestFor } = mapped('flux-dev', origin);
        assert.equal((await provider.poll(requestFor(INPUT), ID, call)).kind, 'running');
      });
    });
  }

  const violation = [{ loc: ['body', 'prompt'], msg: 'flagged', type: 'content_policy_violation' }];
  const invalid = [{ loc: ['body', 'seed'], msg: 'too large', type: 'less_than_equal' }];
  const failed: readonly (readonly [string, Scripted, string])[] = [
    ['moderation', { status: 422, json: { detail: violation } }, 'content_rejected'],
    ['an invalid input', { status: 422, json: { detail: invalid } }, 'input_invalid'],
    ['an error of the model', { status: 500, json: { detail: 'Internal Server Error' } }, 'provider_error'],
    ['a result that has expired', { status: 404, json: { detail: 'Request not found' } }, 'provider_error'],
  ];
  for (const [what, result, reason] of failed) {
    it(`fails after ${what}, as the official client does`, async () => {
      await withRecorder(queue({ state: COMPLETED, result }), async ({ origin }) => {
        const { provider, requestFor } = mapped('flux-dev', origin);
        await withClient('fal', origin, async (client) => {
          const { error } = await client.call('result', MODEL, ID);
          assert.equal(error?.status, result.status);
        });
        assert.deepEqual(await ended(provider.poll(requestFor(INPUT), ID, call)), { failed: reason });
      });
    });
  }

  const rejected: readonly (readonly [string, Scripted, string])[] = [
    ['an invalid input', { status: 422, json: { detail: invalid } }, 'input_invalid'],
    ['an unknown key', { status: 401, json: { detail: 'Cannot access application' } }, 'model_unavailable'],
    [
      'an exhausted balance',
      { status: 403, json: { detail: 'User is locked. Exhausted balance.' } },
      'model_unavailable',
    ],
    ['too many requests', { status: 429, json: { detail: 'Too Many Requests' } }, 'provider_unavailable'],
  ];
  for (const [what, submit, reason] of rejected) {
    it(`takes ${what} for a rejection, as the official client does`, async () => {
      await withRecorder(queue({ submit }), async ({ origin }) => {
        const { provider, requestFor } = mapped('flux-dev', origin);
        await withClient('fal', origin, async (client) => {
          const { error } = await client.call('submit', MODEL, {});
          assert.equal(error?.status, submit.status);
        });
        const answer = await ended(provider.submit(requestFor(INPUT), submitCall()));
        assert.equal('rejected' in answer ? answer.rejected : answer, reason);
      });
    });
  }

  const cancels: readonly (readonly [string, Scripted, string])[] = [
    ['in time', { status: 202, json: { status: 'CANCELLATION_REQUESTED' } }, 'cancelled'],
    ['too late', { status: 400, json: { status: 'ALREADY_COMPLETED' } }, 'too_late'],
  ];
  for (const [what, cancel, outcome] of cancels) {
    it(`cancels ${what}`, async () => {
      await withRecorder(queue({ cancel }), async ({ origin }) => {
        const { provider, requestFor } = mapped('flux-dev', origin);
        assert.equal((await provider.cancel(requestFor(INPUT), ID, call)).outcome, outcome);
      });
    });
  }
});

const IMAGE = 'https://media.example/1.png';
const FILE = { url: 'https://v3.fal.media/files/a', content_type: 'application/octet-stream', file_size: 9 };

/** Models whose fields and results are those of the client's types. */
const models: readonly {
  readonly name: string;
  readonly endpoint: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** What the official client is given for it. */
  readonly theirs: object;
  readonly result: object;
}[] = [
  {
    name: 'fal/flux-kontext-pro',
    endpoint: 'fal-ai/flux-pro/kontext',
    input: {
      prompt: 'at night',
      image_url: IMAGE,
      aspect_ratio: '21:9',
      n: 4,
      seed: 7,
      guidance_scale: 1,
      output_format: 'png',
      prompt_optimizer: true,
      safety_tolerance: '6',
    },
    theirs: {
      prompt: 'at night',
      image_url: IMAGE,
      aspect_ratio: '21:9',
      num_images: 4,
      seed: 7,
      guidance_scale: 1,
      output_format: 'png',
      enhance_prompt: true,
      safety_tolerance: '6',
    },
    result: { images: [FILE, FILE], seed: 7, has_nsfw_concepts: [false, false], prompt: 'at night', timings: {} },
  },
  {
    name: 'fal/kling-2.6-pro',
    endpoint: 'fal-ai/kling-video/v2.6/pro/image-to-video',
    input: { prompt: 'it sails', image_url: IMAGE },
    // We do not leave it to fal whether there is sound, which costs more.
    theirs: { prompt: 'it sails', start_image_url: IMAGE, generate_audio: false },
    result: { video: FILE },
  },
  {
    name: 'fal/kling-2.6-pro',
    endpoint: 'fal-ai/kling-video/v2.6/pro/image-to-video',
    input: {
      prompt: 'it sails',
      image_url: IMAGE,
      end_image_url: 'https://media.example/2.png',
      duration: 10,
      negative_prompt: 'rain',
      generate_audio: true,
    },
    theirs: {
      prompt: 'it sails',
      start_image_url: IMAGE,
      end_image_url: 'https://media.example/2.png',
      duration: '10',
      negative_prompt: 'rain',
      generate_audio: true,
    },
    result: { video: FILE },
  },
  {
    name: 'fal/recraft-crisp-upscale',
    endpoint: 'fal-ai/recraft/upscale/crisp',
    input: { image_url: IMAGE },
    theirs: { image_url: IMAGE },
    result: { image: FILE },
  },
  {
    name: 'fal/minimax-speech-2.8-hd',
    endpoint: 'fal-ai/minimax/speech-2.8-hd',
    input: { text: 'High water.', voice: 'Abbess' },
    theirs: { prompt: 'High water.', voice_setting: { voice_id: 'Abbess' }, output_format: 'url' },
    result: { audio: FILE, duration_ms: 900 },
  },
  {
    name: 'fal/minimax-speech-2.8-hd',
    endpoint: 'fal-ai/minimax/speech-2.8-hd',
    input: {
      text: 'High water.',
      voice: 'Abbess',
      speed: 0.5,
      volume: 2,
      pitch: -3,
      emotion: 'neutral',
      language: 'English',
      format: 'flac',
      sample_rate: 44_100,
    },
    theirs: {
      prompt: 'High water.',
      voice_setting: { voice_id: 'Abbess', speed: 0.5, vol: 2, pitch: -3, emotion: 'neutral' },
      audio_setting: { format: 'flac', sample_rate: '44100' },
      language_boost: 'English',
      output_format: 'url',
    },
    result: { audio: FILE, duration_ms: 900 },
  },
];

describe('the models of fal', () => {
  const bench = createBench('fal');

  for (const { name, endpoint, input, theirs, result } of models) {
    it(`are called as the official client calls them: ${name} with ${Object.keys(input).join(', ')}`, async () => {
      bench.answer(queue({ state: COMPLETED, result: { json: result } }));
      const { provider, requestFor, host } = mapped(name, bench.origin);
      const request = requestFor(input);
      await provider.submit(request, submitCall());
      const state = await provider.poll(request, ID, call);
      const [submit, status, fetched] = bench.take();
      await bench.client.call('submit', endpoint, theirs);
      await bench.client.call('status', endpoint, ID);
      const { value } = await bench.client.call('result', endpoint, ID);
      const [submitOfClient, statusOfClient, fetchedByClient] = bench.take();

      assertSameRequest(submit, submitOfClient, { host });
      assertSameRequest(status, statusOfClient, { host, withoutQuery: ['logs'] });
      assertSameRequest(fetched, fetchedByClient, { host });
      const files = Object.values((value as { data: object }).data)
        .flat()
        .filter((file) => typeof file === 'object' && file !== null && 'url' in file);
      assert.deepEqual(state, {
        kind: 'done',
        files: files.map(({ url }: { url: string }) => ({ from: 'url', url })),
      });
    });
  }
});
