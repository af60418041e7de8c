/**
 * MiniMax, which has no client on npm: the requests and answers are those of its document,
 * https://platform.minimax.io/docs/api-reference/video-generation-t2v (…-i2v, -query, -download, video-generation-v2),
 * …/speech-t2a-http, …/music-generation and …/errorcode.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withRecorder, withScratch } from '../providers/http/recorder.ts';
import type { Recorded } from '../providers/http/recorder.ts';
import { answering, cancelled, polled, reasonOf, submitted } from './answers.ts';
import type { Scripted } from './bench.ts';
import { comparable, mapped } from './oracle.ts';

const ID = '424010985738629';
const HOOK = 'https://darkroom.example/hooks/minimax/t';
const HAILUO = { model: 'minimax/hailuo-2.3', input: { prompt: 'a boat' } };
const H3 = { model: 'minimax/h3', input: { prompt: 'a boat' } };
const SPEECH = {
  model: 'minimax/speech-2.8-hd',
  input: { text: 'Good morning.', voice: 'English_expressive_narrator' },
};

const OK = { status_code: 0, status_msg: 'success' };
const answerOf = (status_code: number): Scripted => ({ json: { base_resp: { status_code, status_msg: 'message' } } });
const error = (status: number, message: string): Scripted => ({
  status,
  json: { type: 'error', error: { type: 'x', message, http_code: String(status) }, request_id: 'r' },
});

describe('the mapping of MiniMax', () => {
  const image = Buffer.from('an image');
  const dataUrl = `data:image/png;base64,${image.toString('base64')}`;
  const imageAs = (role: string) => ({ type: 'image_url', image_url: { url: dataUrl }, role });
  const cases: readonly {
    readonly model: string;
    readonly input: Readonly<Record<string, unknown>>;
    readonly fields?: readonly string[];
    readonly path: string;
    readonly body: object;
  }[] = [
    {
      model: 'minimax/hailuo-2.3',
      input: {
        prompt: 'a boat',
        image_url: 'https://a.example/1',
        duration: 6,
        resolution: '1080p',
        prompt_optimizer: false,
        watermark: true,
      },
      fields: ['image_url'],
      path: '/v1/video_generation',
      body: {
        model: 'MiniMax-Hailuo-2.3',
        prompt: 'a boat',
        first_frame_image: dataUrl,
        duration: 6,
        resolution: '1080P',
        prompt_optimizer: false,
        aigc_watermark: true,
      },
    },
    {
      model: 'minimax/h3',
      input: {
        prompt: 'a boat',
        image_url: 'https://a.example/1',
        end_image_url: 'https://a.example/2',
        duration: 7,
        resolution: '2K',
        seed: 7,
        watermark: false,
      },
      fields: ['image_url', 'end_image_url'],
      path: '/v2/video_generation',
      body: {
        model: 'MiniMax-H3',
        content: [{ type: 'text', text: 'a boat' }, imageAs('first_frame'), imageAs('last_frame')],
        duration: 7,
        ratio: 'adaptive',
        resolution: '2K',
        seed: 7,
        aigc_watermark: false,
      },
    },
    {
      model: 'minimax/h3',
      input: { prompt: 'a boat', reference_image_urls: ['https://a.example/1'], aspect_ratio: '9:16' },
      fields: ['reference_image_urls.0'],
      path: '/v2/video_generation',
      body: {
        model: 'MiniMax-H3',
        content: [{ type: 'text', text: 'a boat' }, imageAs('reference_image')],
        duration: 5,
        ratio: '9:16',
        resolution: '768P',
      },
    },
  ];

  it('sends the documented requests for videos', async () => {
    await withRecorder(answering({ json: { task_id: ID, base_resp: OK } }), async ({ origin, requests }) => {
      for (const { model, input, fields = [], path, body } of cases) {
        await withScratch(async ({ call: submit, inputFile }) => {
          const first = requests.length;
          const { provider, requestFor, host } = mapped(model, origin);
          const files = fields.map(async (field) => [field, await inputFile('image/png', image)] as const);

          const request = requestFor(input, new Map(await Promise.all(files)));
          const submission = await provider.submit(request, { ...submit, hookUrl: HOOK });

          assert.equal(host, 'api.minimax.io');
          assert.deepEqual(submission, { kind: 'job', jobId: ID });
          const [recorded] = requests.slice(first);
          assert.ok(recorded !== undefined);
          assert.deepEqual(comparable(recorded), {
            method: 'POST',
            path,
            query: {},
            headers: { authorization: 'Bearer the-key', 'content-type': 'application/json' },
            body: { ...body, callback_url: HOOK },
          });
        });
      }
    });
  });

  it('fetches the file whose id the state gives', async () => {
    const paths: string[] = [];
    const script = ({ method, url }: Recorded): Scripted => {
      paths.push(`${method} ${url}`);
      const json = url.startsWith('/v1/files')
        ? { file: { file_id: 176844028768320, download_url: 'https://cdn.example/a.mp4' }, base_resp: OK }
        : { task_id: ID, status: 'Success', file_id: '176844028768320', base_resp: OK };
      return { json };
    };
    assert.deepEqual(await polled(HAILUO, ID, script), {
      result: { kind: 'done', files: [{ from: 'url', url: 'https://cdn.example/a.mp4' }] },
    });
    assert.deepEqual(paths, [
      `GET /v1/query/video_generation?task_id=${ID}`,
      'GET /v1/files/retrieve?file_id=176844028768320',
    ]);

    const task = {
      id: ID,
      status: 'succeeded',
      content: { url: 'https://cdn.example/b.mp4' },
      usage: { total_seconds: 5, input_seconds: 0, output_seconds: 5 },
    };
    const atOnce = ({ method, url }: Recorded): Scripted => {
      assert.equal(`${method} ${url}`, `GET /v2/query/video_generation/${ID}`);
      return { json: { task } };
    };
    assert.deepEqual(await polled(H3, ID, atOnce), {
      result: { kind: 'done', files: [{ from: 'url', url: 'https://cdn.example/b.mp4' }], usage: { seconds: 5 } },
    });
  });

  it('sends the documented requests for speech and music', async () => {
    const url = 'https://cdn.example/a.mp3';
    const script = ({ url: path }: Recorded): Scripted => {
      // Music has no characters.
      const extra = path === '/v1/t2a_v2' ? { usage_characters: 26 } : { music_duration: 25_364 };
      return { json: { data: { audio: url, status: 2 }, extra_info: extra, base_resp: OK } };
    };
    await withRecorder(answering(script), async (recorder) => {
      const { origin, requests } = recorder;
      for (const [model, input, path, body] of [
        [
          'minimax/speech-2.8-turbo',
          {
            text: 'Good morning.',
            voice: 'English_expressive_narrator',
            speed: 1.5,
            volume: 2,
            pitch: -3,
            emotion: 'calm',
            format: 'flac',
            sample_rate: 44100,
            language: 'English',
          },
          '/v1/t2a_v2',
          {
            model: 'speech-2.8-turbo',
            text: 'Good morning.',
            stream: false,
            output_format: 'url',
            voice_setting: {
              voice_id: 'English_expressive_narrator',
              speed: 1.5,
              vol: 2,
              pitch: -3,
              emotion: 'calm',
            },
            audio_setting: { format: 'flac', sample_rate: 44100 },
            language_boost: 'English',
          },
        ],
        [
          'minimax/music-2.6',
          { prompt: 'folk', lyrics: 'la la', format: 'wav' },
          '/v1/music_generation',
          {
            model: 'music-2.6',
            prompt: 'folk',
            lyrics: 'la la',
            stream: false,
            output_format: 'url',
            audio_setting: { sample_rate: 44100, bitrate: 256000, format: 'wav' },
          },
        ],
      ] as const) {
        await withScratch(async ({ call: submit }) => {
          const first = requests.length;
          const { provider, requestFor } = mapped(model, origin);
          const submission = await provider.submit(requestFor(input), submit);
          assert.deepEqual(submission, {
            kind: 'done',
            files: [{ from: 'url', url }],
            ...(path === '/v1/t2a_v2' ? { usage: { characters: 26 } } : {}),
          });
          const [recorded] = requests.slice(first);
          assert.ok(recorded !== undefined);
          const sent = comparable(recorded);
          assert.equal(`${sent.method} ${sent.path}`, `POST ${path}`);
          assert.deepEqual(sent.body, body);
        });
      }
    });
  });

  it('waits for a job that has not ended, and for a state that could not be read', async () => {
    for (const status of ['Preparing', 'Queueing', 'Processing']) {
      const answer = { json: { task_id: ID, status, base_resp: OK } };
      assert.deepEqual(await polled(HAILUO, ID, answer), { result: { kind: 'running' } });
    }
    for (const status of ['queued', 'running']) {
      assert.deepEqual(await polled(H3, ID, { json: { task: { id: ID, status } } }), { result: { kind: 'running' } });
    }
    await assert.rejects(polled(HAILUO, ID, answerOf(1002)), { name: 'ProviderUnreachable' });
  });

  it('fails with the job', async () => {
    const fail = (status_code: number): Scripted => ({
      json: { task_id: ID, status: 'Fail', base_resp: { status_code, status_msg: 'message' } },
    });
    assert.deepEqual(await polled(HAILUO, ID, fail(1027)), { failed: 'content_rejected' });
    assert.deepEqual(await polled(HAILUO, ID, fail(1000)), { failed: 'provider_error' });
    const task = (status: string, more: object = {}): Scripted => ({ json: { task: { id: ID, status, ...more } } });
    assert.deepEqual(await polled(H3, ID, task('failed', { error: { code: 1027, message: 'sensitive' } })), {
      failed: 'content_rejected',
    });
    for (const status of ['failed', 'cancelled', 'expired']) {
      assert.deepEqual(await polled(H3, ID, task(status)), { failed: 'provider_error' });
    }
    assert.deepEqual(await polled(H3, ID, error(404, 'not found')), { failed: 'provider_error' });
  });

  it('takes an error for a rejection, with status 200 too', async () => {
    const rejected: readonly (readonly [number, string])[] = [
      [1002, 'provider_unavailable'],
      [1004, 'model_unavailable'],
      [1008, 'model_unavailable'],
      [1026, 'content_rejected'],
      [2013, 'input_invalid'],
      [2049, 'model_unavailable'],
    ];
    for (const [code, reason] of rejected) {
      assert.equal(reasonOf(await submitted(HAILUO, answerOf(code))), reason);
      assert.equal(reasonOf(await submitted(SPEECH, answerOf(code))), reason);
    }
    for (const [answer, reason] of [
      [error(400, 'invalid params, content is missing (2013)'), 'input_invalid'],
      [error(401, 'login fail (1004)'), 'model_unavailable'],
      [error(402, 'insufficient balance (1008)'), 'model_unavailable'],
      [error(422, 'video description contains sensitive content (1026)'), 'content_rejected'],
      [error(429, 'rate limit, please retry later (1002)'), 'provider_unavailable'],
    ] as const) {
      assert.equal(reasonOf(await submitted(H3, answer)), reason);
    }
    const hinted = await submitted(HAILUO, { ...answerOf(1002), headers: { 'retry-after': '7' } });
    assert.deepEqual(hinted, { rejected: 'provider_unavailable', retryAfterMs: 7_000 });
    // Whether it runs is not known.
    await assert.rejects(submitted(HAILUO, answerOf(1000)), { name: 'ProviderUnknown' });
    await assert.rejects(submitted(H3, error(500, 'internal error (1000)')), { name: 'ProviderUnknown' });
  });

  it('cannot be cancelled', async () => {
    assert.equal(await cancelled(HAILUO, ID, answerOf(0)), 'unsupported');
  });
});
