/**
 * Kling, which has no client on npm: the requests and answers are those of its document,
 * https://app.klingai.com/global/dev/document-api (text to video, image to video, image generation, error codes).
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { jwtVerify } from 'jose';
import { withRecorder, withScratch } from '../providers/http/recorder.ts';
import { answering, cancelled, polled, reasonOf, submitted } from './answers.ts';
import type { Scripted } from './bench.ts';
import { comparable, mapped } from './oracle.ts';

const ID = '866168216002236456';
const HOOK = 'https://darkroom.example/hooks/kling/t';
const KLING = { model: 'kling/kling-3.0', input: { prompt: 'a boat' }, secret: 'access-key:secret-key' };
const call = { signal: new AbortController().signal };

const task = (data: object): Scripted => ({
  json: { code: 0, message: 'SUCCEED', request_id: 'r', data: { task_id: ID, created_at: 1, updated_at: 1, ...data } },
});
const error = (status: number, code: number): Scripted => ({
  status,
  json: { code, message: 'message', request_id: 'r' },
});
const SUBMITTED = task({ task_status: 'submitted' });

describe('the mapping of Kling', () => {
  const image = Buffer.from('an image');
  const base64 = image.toString('base64');
  const cases: readonly {
    readonly model: string;
    readonly input: Readonly<Record<string, unknown>>;
    readonly fields?: readonly string[];
    readonly path: string;
    readonly body: object;
  }[] = [
    {
      model: 'kling/kling-3.0',
      input: {
        prompt: 'a boat',
        negative_prompt: 'people',
        duration: 7,
        aspect_ratio: '9:16',
        resolution: '1080p',
        generate_audio: true,
      },
      path: '/v1/videos/text2video',
      body: {
        model_name: 'kling-v3',
        prompt: 'a boat',
        negative_prompt: 'people',
        mode: 'pro',
        sound: 'on',
        duration: '7',
        aspect_ratio: '9:16',
        callback_url: HOOK,
      },
    },
    {
      model: 'kling/kling-3.0',
      input: { prompt: 'a boat', image_url: 'https://a.example/1', end_image_url: 'https://a.example/2' },
      fields: ['image_url', 'end_image_url'],
      path: '/v1/videos/image2video',
      body: {
        model_name: 'kling-v3',
        prompt: 'a boat',
        image: base64,
        image_tail: base64,
        mode: 'std',
        sound: 'off',
        duration: '5',
        callback_url: HOOK,
      },
    },
    {
      model: 'kling/kling-2.6-pro',
      input: { prompt: 'a boat', duration: 10 },
      path: '/v1/videos/text2video',
      body: {
        model_name: 'kling-v2-6',
        prompt: 'a boat',
        mode: 'pro',
        sound: 'off',
        duration: '10',
        aspect_ratio: '16:9',
        callback_url: HOOK,
      },
    },
    {
      model: 'kling/kling-2.5-turbo-pro',
      input: { prompt: 'a boat' },
      path: '/v1/videos/text2video',
      body: {
        model_name: 'kling-v2-5-turbo',
        prompt: 'a boat',
        mode: 'pro',
        duration: '5',
        aspect_ratio: '16:9',
        callback_url: HOOK,
      },
    },
    {
      model: 'kling/kling-image-3.0',
      input: {
        prompt: 'a boat',
        negative_prompt: 'people',
        image_url: 'https://a.example/1',
        n: 2,
        aspect_ratio: '3:2',
        resolution: '2K',
      },
      fields: ['image_url'],
      path: '/v1/images/generations',
      body: {
        model_name: 'kling-v3',
        prompt: 'a boat',
        negative_prompt: 'people',
        image: base64,
        n: 2,
        aspect_ratio: '3:2',
        resolution: '2k',
        callback_url: HOOK,
      },
    },
  ];

  it('sends the documented requests, with a token of the access key', async () => {
    await withRecorder(answering(SUBMITTED), async ({ origin, requests }) => {
      for (const { model, input, fields = [], path, body } of cases) {
        await withScratch(async ({ call: submit, inputFile }) => {
          const first = requests.length;
          const { provider, requestFor, host } = mapped(model, origin, { secret: 'access-key:secret-key' });
          const files = fields.map(async (field) => [field, await inputFile('image/png', image)] as const);
          const request = requestFor(input, new Map(await Promise.all(files)));

          assert.equal(host, 'api-singapore.klingai.com');
          assert.deepEqual(await provider.submit(request, { ...submit, hookUrl: HOOK }), { kind: 'job', jobId: ID });
          assert.deepEqual(await provider.poll(request, ID, call), { kind: 'running' });

          const [submitted, poll] = requests.slice(first);
          assert.ok(submitted !== undefined && poll !== undefined);
          const { headers, ...sent } = comparable(submitted);
          assert.deepEqual(sent, { method: 'POST', path, query: {}, body });
          assert.equal(headers['content-type'], 'application/json');
          const token = headers['authorization']?.replace(/^Bearer /, '') ?? '';
          const { payload, protectedHeader } = await jwtVerify(token, Buffer.from('secret-key'));
          assert.deepEqual(protectedHeader, { alg: 'HS256', typ: 'JWT' });
          assert.equal(payload.iss, 'access-key');
          assert.equal((payload.exp ?? 0) - (payload.nbf ?? 0), 1_805);
          assert.equal(`${poll.method} ${poll.url}`, `GET ${path}/${ID}`);
        });
      }
    });
  });

  it('takes the files of the documented answers', async () => {
    const videos = [{ id: 'v', url: 'https://p1.klingai.com/a.mp4', duration: '5.1' }];
    assert.deepEqual(await polled(KLING, ID, task({ task_status: 'succeed', task_result: { videos } })), {
      result: { kind: 'done', files: [{ from: 'url', url: 'https://p1.klingai.com/a.mp4' }] },
    });
    const images = ['a', 'b'].map((name, index) => ({ index, url: `https://p1.klingai.com/${name}.png` }));
    const asked = { ...KLING, model: 'kling/kling-image-3.0' };
    assert.deepEqual(await polled(asked, ID, task({ task_status: 'succeed', task_result: { images } })), {
      result: { kind: 'done', files: images.map(({ url }) => ({ from: 'url', url })) },
    });
  });

  it('waits for a job that has not ended', async () => {
    for (const task_status of ['submitted', 'processing']) {
      assert.deepEqual(await polled(KLING, ID, task({ task_status })), { result: { kind: 'running' } });
    }
  });

  it('fails with the job', async () => {
    const failed: readonly (readonly [Scripted, string])[] = [
      [task({ task_status: 'failed', task_status_msg: 'Failure to pass the risk control system' }), 'content_rejected'],
      [task({ task_status: 'failed', task_status_msg: 'internal error' }), 'provider_error'],
      [error(404, 1203), 'provider_error'],
    ];
    for (const [answer, reason] of failed) assert.deepEqual(await polled(KLING, ID, answer), { failed: reason });
  });

  it('takes an error for a rejection', async () => {
    const rejected: readonly (readonly [Scripted, string])[] = [
      [error(400, 1201), 'input_invalid'],
      [error(400, 1301), 'content_rejected'],
      [error(401, 1002), 'model_unavailable'],
      // No money: to wait does not help, whatever the status says.
      [error(429, 1101), 'model_unavailable'],
      [error(429, 1102), 'model_unavailable'],
      [error(403, 1103), 'model_unavailable'],
      [error(404, 1203), 'model_unavailable'],
      [error(429, 1302), 'provider_unavailable'],
      [error(429, 1303), 'provider_unavailable'],
      [error(503, 5001), 'provider_unavailable'],
    ];
    for (const [answer, reason] of rejected) assert.equal(reasonOf(await submitted(KLING, answer)), reason);
    const hinted = await submitted(KLING, { ...error(429, 1302), headers: { 'retry-after': '7' } });
    assert.deepEqual(hinted, { rejected: 'provider_unavailable', retryAfterMs: 7_000 });
    await assert.rejects(submitted(KLING, error(500, 5000)), { name: 'ProviderUnknown' });
    await assert.rejects(submitted(KLING, error(504, 5002)), { name: 'ProviderUnknown' });
  });

  it('cannot be cancelled', async () => {
    assert.equal(await cancelled(KLING, ID, SUBMITTED), 'unsupported');
  });
});
