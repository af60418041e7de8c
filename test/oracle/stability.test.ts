/**
 * Stability AI, which has no current client: the requests and answers are those of
 * https://platform.stability.ai/docs/api-reference (v2beta). Answers are requested as JSON and not as an image, because
 * only these say that an image was blurred by moderation.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withRecorder, withScratch } from '../providers/http/recorder.ts';
import { answering, cancelled, formOf, polled, reasonOf, submitted } from './answers.ts';
import type { Scripted } from './bench.ts';
import { mapped } from './oracle.ts';

const ID = 'a6dc6c6e20acda010fe14d71f180658f2896ed9b4ec25aa99a6ff06c796987c4';
const CORE = { model: 'stability/stable-image-core', input: { prompt: 'a boat' } };
const CREATIVE = {
  model: 'stability/upscale-creative',
  input: { prompt: 'a boat', image_url: 'https://a.example/1' },
};
const IMAGE = Buffer.from('an image');
const SUCCESS = { json: { image: IMAGE.toString('base64'), finish_reason: 'SUCCESS', seed: 343940597 } };
const DONE = { kind: 'done', files: [{ from: 'bytes', bytes: IMAGE }] };
const error = (status: number, name: string): Scripted => ({ status, json: { id: 'e', name, errors: ['some-field'] } });

describe('the mapping of Stability', () => {
  const file = 'image/png: an image';
  const cases: readonly (readonly [string, Readonly<Record<string, unknown>>, readonly string[], string, object])[] = [
    [
      'stability/stable-image-core',
      {
        prompt: 'a boat',
        negative_prompt: 'people',
        aspect_ratio: '21:9',
        seed: 7,
        style_preset: 'anime',
        output_format: 'webp',
      },
      [],
      'core',
      {
        prompt: ['a boat'],
        negative_prompt: ['people'],
        aspect_ratio: ['21:9'],
        seed: ['7'],
        style_preset: ['anime'],
        output_format: ['webp'],
      },
    ],
    [
      'stability/stable-image-ultra',
      { prompt: 'a boat', image_url: 'https://a.example/1', strength: 0.6, aspect_ratio: '16:9', seed: 7 },
      ['image_url'],
      'ultra',
      { prompt: ['a boat'], image: [file], strength: ['0.6'], seed: ['7'] },
    ],
    [
      'stability/sd3.5-large',
      { prompt: 'a boat', aspect_ratio: '16:9', cfg_scale: 4, negative_prompt: 'people', output_format: 'jpeg' },
      [],
      'sd3',
      {
        prompt: ['a boat'],
        mode: ['text-to-image'],
        model: ['sd3.5-large'],
        aspect_ratio: ['16:9'],
        cfg_scale: ['4'],
        negative_prompt: ['people'],
        output_format: ['jpeg'],
      },
    ],
    [
      'stability/sd3.5-medium',
      { prompt: 'a boat', image_url: 'https://a.example/1' },
      ['image_url'],
      'sd3',
      { prompt: ['a boat'], mode: ['image-to-image'], model: ['sd3.5-medium'], image: [file], strength: ['0.5'] },
    ],
  ];

  it('sends the documented forms, and takes the image from the answer', async () => {
    await withRecorder(answering(SUCCESS), async ({ origin, requests }) => {
      for (const [model, input, fields, path, form] of cases) {
        await withScratch(async ({ call: submit, inputFile }) => {
          const first = requests.length;
          const { provider, requestFor, host } = mapped(model, origin);
          const files = fields.map(
            async (field) => [field, await inputFile('image/png', Buffer.from('an image'))] as const,
          );

          assert.deepEqual(await provider.submit(requestFor(input, new Map(await Promise.all(files))), submit), DONE);

          const [recorded] = requests.slice(first);
          assert.equal(host, 'api.stability.ai');
          assert.equal(`${recorded?.method} ${recorded?.url}`, `POST /v2beta/stable-image/generate/${path}`);
          assert.equal(recorded?.headers.authorization, 'Bearer the-key');
          assert.equal(recorded?.headers.accept, 'application/json');
          assert.deepEqual(formOf(recorded), form);
        });
      }
    });
  });

  it('upscales in a job', async () => {
    await withRecorder(answering({ json: { id: ID } }), async ({ origin, requests }) => {
      await withScratch(async ({ call: submit, inputFile }) => {
        const { provider, requestFor } = mapped(CREATIVE.model, origin);
        const input = { ...CREATIVE.input, negative_prompt: 'people', seed: 7, creativity: 0.2, output_format: 'png' };
        const media = new Map([['image_url', await inputFile('image/png', Buffer.from('an image'))]]);

        assert.deepEqual(await provider.submit(requestFor(input, media), submit), { kind: 'job', jobId: ID });

        const [recorded] = requests;
        assert.equal(`${recorded?.method} ${recorded?.url}`, 'POST /v2beta/stable-image/upscale/creative');
        assert.deepEqual(formOf(recorded), {
          image: [file],
          prompt: ['a boat'],
          negative_prompt: ['people'],
          seed: ['7'],
          creativity: ['0.2'],
          output_format: ['png'],
        });
      });
    });
    assert.deepEqual(
      await polled(CREATIVE, ID, ({ method, url }) => {
        assert.equal(`${method} ${url}`, `GET /v2beta/results/${ID}`);
        return { status: 202, json: { id: ID, status: 'in-progress' } };
      }),
      { result: { kind: 'running', pollAfterMs: 10_000 } },
    );
    const result = { result: IMAGE.toString('base64'), finish_reason: 'SUCCESS', seed: 7 };
    assert.deepEqual(await polled(CREATIVE, ID, { json: result }), { result: DONE });
    for (const [answer, reason] of [
      [error(403, 'content_moderation'), 'content_rejected'],
      [error(404, 'not_found'), 'provider_error'],
    ] as const) {
      assert.deepEqual(await polled(CREATIVE, ID, answer), { failed: reason });
    }
    await assert.rejects(polled(CREATIVE, ID, error(429, 'rate_limit_exceeded')), { name: 'ProviderUnreachable' });
    await assert.rejects(polled(CREATIVE, ID, error(500, 'internal_error')), { name: 'ProviderUnreachable' });
    assert.equal(await cancelled(CREATIVE, ID, { json: {} }), 'unsupported');
  });

  it('fails when the image was filtered', async () => {
    const json = { ...SUCCESS.json, finish_reason: 'CONTENT_FILTERED' };
    assert.deepEqual(await submitted(CORE, { json }), { failed: 'content_rejected' });
  });

  it('takes an error for a rejection', async () => {
    const rejected: readonly (readonly [Scripted, string])[] = [
      [error(400, 'bad_request'), 'input_invalid'],
      [error(401, 'unauthorized'), 'model_unavailable'],
      [error(402, 'payment_required'), 'model_unavailable'],
      [error(403, 'content_moderation'), 'content_rejected'],
      [error(413, 'payload_too_large'), 'input_invalid'],
      [error(422, 'unprocessable_entity'), 'input_invalid'],
      [error(429, 'rate_limit_exceeded'), 'provider_unavailable'],
    ];
    for (const [answer, reason] of rejected) assert.equal(reasonOf(await submitted(CORE, answer)), reason);
    const hinted = await submitted(CORE, { ...error(429, 'rate_limit_exceeded'), headers: { 'retry-after': '60' } });
    assert.deepEqual(hinted, { rejected: 'provider_unavailable', retryAfterMs: 60_000 });
    await assert.rejects(submitted(CORE, error(500, 'internal_error')), { name: 'ProviderUnknown' });
  });
});
