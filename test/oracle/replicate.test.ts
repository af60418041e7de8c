/**
 * Replicate's predictions, compared with `replicate`. The fields of models are those of their pages,
 * `https://replicate.com/<owner>/<name>/api/schema`.
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

const ID = 'gm3qorzdhgbfurvjtvhg6dckhu';
const HOOK = 'https://darkroom.example/hooks/replicate/t';
const IMAGE = 'https://media.example/1.png';
const OTHER = 'https://media.example/2.png';
const SCHNELL = 'black-forest-labs/flux-schnell';
const call = { signal: new AbortController().signal };
const prediction = (status: string, more: object = {}): Scripted => ({
  json: { id: ID, model: SCHNELL, version: 'hidden', status, output: null, error: null, logs: '', input: {}, ...more },
});

describe('the mapping of Replicate', () => {
  const bench = createBench('replicate');

  /** The API: what it answers to a submit, a poll and a cancellation. */
  const script = (steps: Partial<Record<'submit' | 'state' | 'cancel', Scripted>> = {}): void => {
    bench.answer(({ method, url }: Recorded, response: ServerResponse): unknown => {
      const step = url.endsWith('/cancel') ? 'cancel' : method === 'POST' ? 'submit' : 'state';
      const usual = {
        submit: { ...prediction('starting'), status: 201 },
        state: prediction('processing'),
        cancel: prediction('canceled'),
      };
      return send(steps[step] ?? usual[step], response);
    });
  };
  const bound = () => {
    const { provider, requestFor, host } = mapped('replicate/flux-schnell', bench.origin);
    return { provider, request: requestFor({ prompt: 'a boat' }), host };
  };

  const requests: readonly {
    readonly model: string;
    readonly route?: string;
    readonly input: Readonly<Record<string, unknown>>;
    readonly client: readonly [string, object];
  }[] = [
    {
      model: 'replicate/flux-schnell',
      input: {
        prompt: 'a boat',
        aspect_ratio: '16:9',
        n: 4,
        seed: 7,
        megapixels: '0.25',
        num_inference_steps: 2,
        output_format: 'png',
        output_quality: 90,
      },
      client: [
        SCHNELL,
        {
          prompt: 'a boat',
          aspect_ratio: '16:9',
          num_outputs: 4,
          seed: 7,
          megapixels: '0.25',
          num_inference_steps: 2,
          output_format: 'png',
          output_quality: 90,
        },
      ],
    },
    {
      model: 'replicate/seedream-4',
      input: { prompt: 'both', image_urls: [IMAGE, OTHER], aspect_ratio: '21:9', resolution: '4K' },
      client: [
        'bytedance/seedream-4',
        {
          prompt: 'both',
          image_input: [IMAGE, OTHER],
          aspect_ratio: '21:9',
          size: '4K',
          sequential_image_generation: 'disabled',
        },
      ],
    },
    {
      model: 'replicate/seedance-1-pro',
      input: {
        prompt: 'it sails',
        image_url: IMAGE,
        end_image_url: OTHER,
        duration: 12,
        resolution: '480p',
        aspect_ratio: '4:3',
        camera_fixed: true,
        seed: 0,
      },
      client: [
        'bytedance/seedance-1-pro',
        {
          prompt: 'it sails',
          image: IMAGE,
          last_frame_image: OTHER,
          duration: 12,
          resolution: '480p',
          aspect_ratio: '4:3',
          camera_fixed: true,
          seed: 0,
        },
      ],
    },
    {
      model: 'replicate/speech-2.6-turbo',
      input: {
        text: 'High water.',
        voice: 'Abbess',
        speed: 0.5,
        volume: 2,
        pitch: -3,
        emotion: 'calm',
        language: 'English',
        format: 'flac',
        sample_rate: 44_100,
      },
      client: [
        'minimax/speech-2.6-turbo',
        {
          text: 'High water.',
          voice_id: 'Abbess',
          speed: 0.5,
          volume: 2,
          pitch: -3,
          emotion: 'calm',
          language_boost: 'English',
          audio_format: 'flac',
          sample_rate: 44_100,
        },
      ],
    },
    {
      model: 'replicate/recraft-crisp-upscale',
      input: { image_url: IMAGE },
      client: ['recraft-ai/recraft-crisp-upscale', { image: IMAGE }],
    },
    {
      model: 'flux-dev',
      route: 'replicate',
      input: { prompt: 'a boat', aspect_ratio: '4:5', guidance_scale: 4, num_inference_steps: 40, seed: 7 },
      client: [
        'black-forest-labs/flux-dev',
        {
          prompt: 'a boat',
          aspect_ratio: '4:5',
          guidance: 4,
          num_inference_steps: 40,
          seed: 7,
          num_outputs: 1,
          megapixels: '1',
          output_format: 'jpg',
          go_fast: false,
        },
      ],
    },
  ];
  for (const { model, route, input, client } of requests) {
    it(`creates what the official client creates: ${model} with ${Object.keys(input).join(', ')}`, async () => {
      script();
      const { provider, requestFor, host } = mapped(model, bench.origin, route === undefined ? {} : { route });
      const submission = await provider.submit(requestFor(input), submitCall({ hookUrl: HOOK }));
      const [theirModel, theirInput] = client;
      const { value } = await bench.client.call('create', {
        model: theirModel,
        input: theirInput,
        webhook: HOOK,
        webhook_events_filter: ['completed'],
      });

      const [ours, theirs] = bench.take();
      assertSameRequest(ours, theirs, { host });
      assert.deepEqual(submission, { kind: 'job', jobId: (value as { id: string }).id });
    });
  }

  it('polls and cancels with the requests of the official client', async () => {
    script();
    const { provider, request, host } = bound();
    await provider.submit(request, submitCall());
    await provider.poll(request, ID, call);
    await provider.cancel(request, ID, call);
    await bench.client.call('create', { model: SCHNELL, input: { prompt: 'a boat' } });
    await bench.client.call('get', ID);
    await bench.client.call('cancel', ID);

    const [submit, poll, cancel, submitOfClient, pollOfClient, cancelOfClient] = bench.take();
    assertSameRequest(submit, submitOfClient, { host });
    assertSameRequest(poll, pollOfClient, { host });
    assertSameRequest(cancel, cancelOfClient, { host });
  });

  const outputs: readonly (readonly [string, unknown])[] = [
    ['a list of files', ['https://replicate.delivery/a/out-0.webp', 'https://replicate.delivery/a/out-1.webp']],
    ['one file', 'https://replicate.delivery/a/out.mp4'],
  ];
  for (const [what, output] of outputs) {
    it(`takes ${what} from the same answer as the official client`, async () => {
      script({ state: prediction('succeeded', { output }) });
      const { provider, request } = bound();
      const { value } = await bench.client.call('run', SCHNELL, {});
      assert.deepEqual(await provider.poll(request, ID, call), {
        kind: 'done',
        files: [value].flat().map((url) => ({ from: 'url', url })),
      });
    });
  }

  for (const status of ['starting', 'processing']) {
    it(`waits for a prediction that is ${status}`, async () => {
      script({ state: prediction(status, { logs: ' 40%|####      | 4/10' }) });
      const { provider, request } = bound();
      assert.deepEqual(await provider.poll(request, ID, call), { kind: 'running' });
    });
  }

  const failed: readonly (readonly [string, object, string])[] = [
    ['moderation', { error: 'The input or output was flagged as sensitive. (E005)' }, 'content_rejected'],
    ['moderation by an older model', { error: 'NSFW content detected.' }, 'content_rejected'],
    ['an error of the model', { error: 'CUDA out of memory' }, 'provider_error'],
    ['an error without a text', { error: null }, 'provider_error'],
  ];
  for (const [what, more, reason] of failed) {
    it(`fails after ${what}, as the official client does`, async () => {
      script({ state: prediction('failed', more) });
      const { provider, request } = bound();
      assert.match((await bench.client.call('run', SCHNELL, {})).error?.message ?? '', /^Prediction failed: /);
      assert.deepEqual(await ended(provider.poll(request, ID, call)), { failed: reason });
    });
  }

  it('fails after a cancellation that is not ours, where the official client returns no output', async () => {
    for (const status of ['canceled', 'aborted']) {
      script({ state: prediction(status) });
      const { provider, request } = bound();
      assert.deepEqual(await ended(provider.poll(request, ID, call)), { failed: 'provider_error' });
    }
    script({ state: prediction('canceled') });
    assert.deepEqual(await bench.client.call('run', SCHNELL, {}), { value: null });
  });

  it('fails when a prediction is gone, as the official client does', async () => {
    script({ state: { status: 404, json: { detail: 'The requested resource could not be found.', status: 404 } } });
    const { provider, request } = bound();
    assert.equal((await bench.client.call('get', ID)).error?.status, 404);
    assert.deepEqual(await ended(provider.poll(request, ID, call)), { failed: 'provider_error' });
  });

  const problem = (status: number, title: string, detail: string, more: object = {}) => ({
    status,
    json: { title, detail, status, ...more },
  });
  const rejected: readonly (readonly [string, Scripted, string, number?])[] = [
    ['an invalid input', problem(422, 'Input validation failed', '- input.prompt: required'), 'input_invalid'],
    ['a version that is not ours', problem(422, 'Invalid version or not permitted', 'no'), 'model_unavailable'],
    ['moderation', problem(422, 'Unprocessable', 'flagged as sensitive (E005)'), 'content_rejected'],
    ['an unknown key', problem(401, 'Unauthenticated', 'no'), 'model_unavailable'],
    ['an exhausted balance', problem(402, 'Insufficient credit', 'no'), 'model_unavailable'],
    ['an unknown model', problem(404, 'Not found', 'no'), 'model_unavailable'],
    ['too many requests', problem(429, 'Throttled', 'no', { retry_after: 12 }), 'provider_unavailable', 12_000],
  ];
  for (const [what, submit, reason, retryAfterMs] of rejected) {
    it(`takes ${what} for a rejection, as the official client does`, async () => {
      script({ submit });
      const { provider, request } = bound();
      const { error } = await bench.client.call('create', { model: SCHNELL, input: {} });
      assert.equal(error?.status, submit.status);
      const answer = await ended(provider.submit(request, submitCall()));
      assert.deepEqual(answer, { rejected: reason, retryAfterMs });
    });
  }

  it('does not know what became of a submit after an error of the server, and polls again after one', async () => {
    const error = problem(500, 'Internal server error', 'no');
    script({ submit: error, state: error });
    const { provider, request } = bound();
    assert.equal((await bench.client.call('create', { model: SCHNELL, input: {} })).error?.status, 500);
    await assert.rejects(provider.submit(request, submitCall()), ProviderUnknown);
    await assert.rejects(provider.poll(request, ID, call), ProviderUnreachable);
  });

  const cancels: readonly (readonly [string, Scripted, string])[] = [
    ['in time', prediction('canceled'), 'cancelled'],
    ['in time, while it stops', prediction('processing'), 'cancelled'],
    ['too late', prediction('succeeded', { output: ['https://replicate.delivery/a'] }), 'too_late'],
    ['a prediction that is gone', { status: 404, json: { detail: 'no' } }, 'too_late'],
  ];
  for (const [what, cancel, outcome] of cancels) {
    it(`cancels ${what}`, async () => {
      script({ cancel });
      const { provider, request } = bound();
      assert.equal((await provider.cancel(request, ID, call)).outcome, outcome);
    });
  }
});
