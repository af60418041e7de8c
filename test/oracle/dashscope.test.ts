/**
 * Alibaba Cloud Model Studio (DashScope). Wan is compared with `@ai-sdk/alibaba`, Qwen-Image with the examples of
 * https://www.alibabacloud.com/help/en/model-studio/qwen-image-api, and cancelling and errors with
 * https://www.alibabacloud.com/help/en/model-studio/manage-asynchronous-tasks and …/error-code.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withRecorder, withScratch } from '../providers/http/recorder.ts';
import type { Recorded } from '../providers/http/recorder.ts';
import { answering, cancelled, polled, reasonOf, submitted } from './answers.ts';
import type { Scripted } from './bench.ts';
import { withClient } from './client.ts';
import { assertSameRequest, comparable, mapped } from './oracle.ts';

const ID = '0385dc79-5ff8-4d82-bcb6-8f1c2a7e5d11';
const URL_OF_VIDEO = 'https://dashscope-result-sgp.oss-ap-southeast-1.aliyuncs.com/a.mp4?Expires=1';
const call = { signal: new AbortController().signal };
const WAN = { model: 'dashscope/wan-2.7-text-to-video', input: { prompt: 'a boat' } };
const QWEN = { model: 'dashscope/qwen-image-2.0', input: { prompt: 'a boat' } };

const task = (status: string, more: object = {}): Scripted => ({
  json: { request_id: 'r', output: { task_id: ID, task_status: status, ...more } },
});
const SUBMITTED = task('PENDING');
const SUCCEEDED = {
  json: {
    request_id: 'r',
    output: { task_id: ID, task_status: 'SUCCEEDED', video_url: URL_OF_VIDEO, orig_prompt: 'a boat' },
    usage: { duration: 5, output_video_duration: 5, SR: 720, video_count: 1 },
  },
};
const wan = ({ method }: Recorded): Scripted => (method === 'POST' ? SUBMITTED : SUCCEEDED);

describe('the mapping of DashScope', () => {
  const image = Buffer.from('an image');
  const base64 = image.toString('base64');
  const file = { type: 'file', data: base64, mediaType: 'image/png' };
  const dataUrl = `data:image/png;base64,${base64}`;
  const pairs: readonly {
    readonly model: string;
    readonly input: Readonly<Record<string, unknown>>;
    readonly fields?: readonly string[];
    readonly theirs: readonly [string, object];
  }[] = [
    {
      model: 'dashscope/wan-2.7-text-to-video',
      input: {
        prompt: 'a boat',
        negative_prompt: 'people',
        audio_url: 'https://example.com/a.mp3',
        duration: 7,
        aspect_ratio: '9:16',
        resolution: '1080p',
        seed: 7,
        prompt_extend: false,
        watermark: true,
      },
      theirs: [
        'wan2.7-t2v',
        {
          prompt: 'a boat',
          duration: 7,
          aspectRatio: '9:16',
          resolution: '1080P',
          seed: 7,
          providerOptions: {
            negativePrompt: 'people',
            audioUrl: 'https://example.com/a.mp3',
            promptExtend: false,
            watermark: true,
          },
        },
      ],
    },
    {
      model: 'dashscope/wan-2.7-text-to-video',
      input: { prompt: 'a boat' },
      theirs: ['wan2.7-t2v', { prompt: 'a boat', duration: 5, aspectRatio: '16:9', resolution: '720P' }],
    },
    {
      model: 'dashscope/wan-2.6-image-to-video',
      input: {
        prompt: 'a boat',
        image_url: 'https://example.com/a.png',
        negative_prompt: 'people',
        audio_url: 'https://example.com/a.mp3',
        duration: 10,
        resolution: '1080p',
        shot_type: 'multi',
        generate_audio: false,
        seed: 7,
        prompt_extend: true,
        watermark: false,
      },
      fields: ['image_url'],
      theirs: [
        'wan2.6-i2v',
        {
          prompt: 'a boat',
          // The client sends the bytes of a file without a data URL, which the service would reject.
          image: { type: 'url', url: dataUrl },
          duration: 10,
          resolution: '1080P',
          seed: 7,
          providerOptions: {
            negativePrompt: 'people',
            audioUrl: 'https://example.com/a.mp3',
            shotType: 'multi',
            audio: false,
            promptExtend: true,
            watermark: false,
          },
        },
      ],
    },
    {
      model: 'dashscope/wan-2.7-reference-to-video',
      input: {
        prompt: 'a boat like Image 1',
        image_urls: ['https://example.com/a.png', 'https://example.com/b.png'],
        negative_prompt: 'people',
        duration: 10,
        aspect_ratio: '4:3',
        resolution: '720p',
        seed: 7,
        prompt_extend: true,
        watermark: false,
      },
      fields: ['image_urls.0', 'image_urls.1'],
      theirs: [
        'wan2.7-r2v',
        {
          prompt: 'a boat like Image 1',
          inputReferences: [file, file],
          duration: 10,
          aspectRatio: '4:3',
          resolution: '720P',
          seed: 7,
          providerOptions: { negativePrompt: 'people', promptExtend: true, watermark: false },
        },
      ],
    },
  ];

  it('sends what the client sends, and takes job and file from the same answers', async () => {
    await withRecorder(answering(wan), async ({ origin, requests }) => {
      await withClient('dashscope', origin, async (client) => {
        for (const { model, input, fields = [], theirs } of pairs) {
          await withScratch(async ({ call: submit, inputFile }) => {
            const first = requests.length;
            const { provider, requestFor, host } = mapped(model, origin);
            const files = fields.map(async (field) => [field, await inputFile('image/png', image)] as const);
            const request = requestFor(input, new Map(await Promise.all(files)));

            assert.deepEqual(await provider.submit(request, submit), { kind: 'job', jobId: ID });
            const state = await provider.poll(request, ID, call);
            const { value, error } = await client.call('generate', ...theirs);

            assert.deepEqual(error, undefined);
            assert.deepEqual(value, {
              videos: [{ type: 'url', url: URL_OF_VIDEO, mediaType: 'video/mp4' }],
              seconds: 5,
            });
            assert.deepEqual(state, {
              kind: 'done',
              files: [{ from: 'url', url: URL_OF_VIDEO }],
              usage: { seconds: 5 },
            });
            const [submitOfOurs, poll, submitOfClient, pollOfClient] = requests.slice(first);
            assertSameRequest(submitOfOurs, submitOfClient, { host, headers: ['x-dashscope-async'] });
            assertSameRequest(poll, pollOfClient, { host });
          });
        }
      });
    });
  });

  it('sends the documented requests for images', async () => {
    const answer = {
      json: {
        output: {
          choices: [
            { finish_reason: 'stop', message: { role: 'assistant', content: [{ image: 'https://a.example/1.png' }] } },
            { finish_reason: 'stop', message: { role: 'assistant', content: [{ image: 'https://a.example/2.png' }] } },
          ],
        },
        usage: { image_count: 2, width: 2048, height: 2048 },
        request_id: 'r',
      },
    };
    const cases = [
      {
        input: {
          prompt: 'a boat',
          negative_prompt: 'people',
          aspect_ratio: '16:9',
          n: 2,
          seed: 7,
          prompt_extend: false,
          watermark: true,
        },
        fields: [],
        content: [{ text: 'a boat' }],
        parameters: {
          negative_prompt: 'people',
          size: '2688*1536',
          n: 2,
          seed: 7,
          prompt_extend: false,
          watermark: true,
        },
      },
      {
        input: { prompt: 'make it red', image_urls: ['https://example.com/a.png'] },
        fields: ['image_urls.0'],
        content: [{ image: dataUrl }, { text: 'make it red' }],
        parameters: {},
      },
    ];
    await withRecorder(answering(answer), async ({ origin, requests }) => {
      const { provider, requestFor } = mapped(QWEN.model, origin);
      for (const [index, { input, fields, content, parameters }] of cases.entries()) {
        await withScratch(async ({ call: submit, inputFile }) => {
          const files = fields.map(async (field) => [field, await inputFile('image/png', image)] as const);

          const submission = await provider.submit(requestFor(input, new Map(await Promise.all(files))), submit);

          assert.deepEqual(submission, {
            kind: 'done',
            files: ['https://a.example/1.png', 'https://a.example/2.png'].map((url) => ({ from: 'url', url })),
            usage: { images: 2 },
          });
          const recorded = requests[index];
          assert.ok(recorded !== undefined);
          assert.equal(recorded.headers['x-dashscope-async'], undefined);
          assert.deepEqual(comparable(recorded), {
            method: 'POST',
            path: '/api/v1/services/aigc/multimodal-generation/generation',
            query: {},
            headers: { authorization: 'Bearer the-key', 'content-type': 'application/json' },
            body: { model: 'qwen-image-2.0', input: { messages: [{ role: 'user', content }] }, parameters },
          });
        });
      }
    });
  });

  it('waits for a job that has not ended', async () => {
    for (const status of ['PENDING', 'RUNNING']) {
      assert.deepEqual(await polled(WAN, ID, task(status)), { result: { kind: 'running' } });
    }
  });

  it('fails with the job, as the client does', async () => {
    const failed: readonly (readonly [Scripted, string])[] = [
      [
        task('FAILED', { code: 'DataInspectionFailed', message: 'Output data may be inappropriate' }),
        'content_rejected',
      ],
      [task('FAILED', { code: 'InvalidParameter', message: 'duration' }), 'input_invalid'],
      [task('FAILED', { code: 'InvalidParameter.DataInspection', message: 'download failed' }), 'input_unreachable'],
      [task('FAILED', { code: 'InternalError', message: 'internal' }), 'provider_error'],
      [task('CANCELED'), 'provider_error'],
    ];
    await withRecorder(
      answering(({ method }) => (method === 'POST' ? SUBMITTED : (failed[0]?.[0] ?? SUBMITTED))),
      async ({ origin }) => {
        await withClient('dashscope', origin, async (client) => {
          const { error } = await client.call('generate', 'wan2.7-t2v', { prompt: 'a boat' });
          assert.match(error?.message ?? '', /^Video generation failed/);
        });
      },
    );
    for (const [answer, reason] of failed) assert.deepEqual(await polled(WAN, ID, answer), { failed: reason });
    // The client polls it for ever. Jobs are known for 24 hours.
    assert.deepEqual(await polled(WAN, ID, task('UNKNOWN')), { failed: 'provider_error' });
  });

  it('takes an error for a rejection, as the client does', async () => {
    const error = (status: number, code: string): Scripted => ({
      status,
      json: { code, message: code, request_id: 'r' },
    });
    const rejected: readonly (readonly [Scripted, string])[] = [
      [error(400, 'InvalidParameter'), 'input_invalid'],
      [error(400, 'DataInspectionFailed'), 'content_rejected'],
      [error(400, 'InvalidURL.Timeout'), 'input_unreachable'],
      [error(400, 'Arrearage'), 'model_unavailable'],
      [error(401, 'InvalidApiKey'), 'model_unavailable'],
      [error(404, 'ModelNotFound'), 'model_unavailable'],
      [error(429, 'Throttling.RateQuota'), 'provider_unavailable'],
    ];
    for (const [answer, reason] of rejected) {
      assert.equal(reasonOf(await submitted(WAN, answer)), reason);
      assert.equal(reasonOf(await submitted(QWEN, answer)), reason);
    }
    await withRecorder(answering(rejected[0]?.[0] ?? SUBMITTED), async ({ origin }) => {
      await withClient('dashscope', origin, async (client) => {
        const answer = await client.call('generate', 'wan2.7-t2v', { prompt: 'a boat' });
        assert.equal(answer.error?.status, 400);
      });
    });
    const hinted = await submitted(WAN, { ...error(429, 'Throttling'), headers: { 'retry-after': '7' } });
    assert.deepEqual(hinted, { rejected: 'provider_unavailable', retryAfterMs: 7_000 });
    await assert.rejects(submitted(WAN, error(500, 'InternalError')), { name: 'ProviderUnknown' });
  });

  it('cancels a job that waits, by the documented request', async () => {
    await withRecorder(answering({ json: { request_id: 'r' } }), async ({ origin, requests }) => {
      const { provider, requestFor } = mapped(WAN.model, origin);
      assert.deepEqual(await provider.cancel(requestFor(WAN.input), ID, call), { outcome: 'cancelled' });
      const [recorded] = requests;
      assert.equal(`${recorded?.method} ${recorded?.url}`, `POST /api/v1/tasks/${ID}/cancel`);
    });
    const late = { status: 400, json: { code: 'UnsupportedOperation', message: 'not PENDING', request_id: 'r' } };
    assert.equal(await cancelled(WAN, ID, late), 'too_late');
  });
});
