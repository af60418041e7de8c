/**
 * Recraft, which has no client of its own: the requests and answers are those of
 * https://www.recraft.ai/docs/api-reference/endpoints and its OpenAPI document, https://external.api.recraft.ai/doc/.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withRecorder, withScratch } from '../providers/http/recorder.ts';
import { answering, formOf, reasonOf, submitted } from './answers.ts';
import { comparable, mapped } from './oracle.ts';

const RECRAFT = { model: 'recraft/recraft-4.1', input: { prompt: 'a boat' } };
const ONE = 'https://img.recraft.ai/a';
const TWO = 'https://img.recraft.ai/b';
/** A credit is 0.001 USD. */
const IMAGES = {
  json: { created: 1, credits: 70, data: [ONE, TWO].map((url) => ({ image_id: 'i', url })) },
};

describe('the mapping of Recraft', () => {
  it('sends the documented JSON, and takes the images from the answer', async () => {
    await withRecorder(answering(IMAGES), async ({ origin, requests }) => {
      for (const [model, input, body] of [
        [
          'recraft/recraft-4.1',
          {
            prompt: 'a boat',
            aspect_ratio: '16:9',
            n: 2,
            seed: 7,
            colors: ['#B5402a', '#f4f1ea'],
            background_color: '#00ff10',
          },
          {
            model: 'recraftv4_1',
            prompt: 'a boat',
            size: '16:9',
            n: 2,
            random_seed: 7,
            controls: {
              colors: [{ rgb: [181, 64, 42] }, { rgb: [244, 241, 234] }],
              background_color: { rgb: [0, 255, 16] },
            },
            response_format: 'url',
          },
        ],
        [
          'recraft/recraft-4.1-pro',
          { prompt: 'a boat', colors: ['#000000'] },
          {
            model: 'recraftv4_1_pro',
            prompt: 'a boat',
            size: '1:1',
            controls: { colors: [{ rgb: [0, 0, 0] }] },
            response_format: 'url',
          },
        ],
        [
          'recraft/recraft-4.1',
          { prompt: 'a boat' },
          { model: 'recraftv4_1', prompt: 'a boat', size: '1:1', response_format: 'url' },
        ],
      ] as const) {
        await withScratch(async ({ call: submit }) => {
          const first = requests.length;
          const { provider, requestFor, host } = mapped(model, origin);

          assert.deepEqual(await provider.submit(requestFor(input), submit), {
            kind: 'done',
            files: [ONE, TWO].map((url) => ({ from: 'url', url })),
            costMicroUsd: 70_000n,
          });

          const [recorded] = requests.slice(first);
          assert.ok(recorded !== undefined);
          assert.equal(host, 'external.api.recraft.ai');
          assert.deepEqual(comparable(recorded), {
            method: 'POST',
            path: '/v1/images/generations',
            query: {},
            headers: { authorization: 'Bearer the-key', 'content-type': 'application/json' },
            body,
          });
        });
      }
    });
  });

  it('sends the documented forms', async () => {
    const file = 'image/png: an image';
    const script = ({ url }: { readonly url: string }) =>
      url.endsWith('/imageToImage')
        ? IMAGES
        : { json: { created: 1, credits: 10, image: { image_id: 'i', url: ONE } } };
    await withRecorder(answering(script), async ({ origin, requests }) => {
      for (const [model, input, path, form, urls, costMicroUsd] of [
        [
          'recraft/recraft-3-image-to-image',
          {
            prompt: 'a boat',
            image_url: 'https://a.example/1',
            strength: 0.2,
            style: 'digital_illustration',
            negative_prompt: 'people',
            n: 2,
            seed: 7,
          },
          'imageToImage',
          {
            image: [file],
            prompt: ['a boat'],
            strength: ['0.2'],
            model: ['recraftv3'],
            style: ['digital_illustration'],
            negative_prompt: ['people'],
            n: ['2'],
            random_seed: ['7'],
            response_format: ['url'],
          },
          [ONE, TWO],
          70_000n,
        ],
        [
          'recraft/remove-background',
          { image_url: 'https://a.example/1' },
          'removeBackground',
          { image: [file], response_format: ['url'] },
          [ONE],
          10_000n,
        ],
        [
          'recraft/upscale-crisp',
          { image_url: 'https://a.example/1' },
          'crispUpscale',
          { image: [file], response_format: ['url'] },
          [ONE],
          10_000n,
        ],
      ] as const) {
        await withScratch(async ({ call: submit, inputFile }) => {
          const first = requests.length;
          const { provider, requestFor } = mapped(model, origin);
          const media = new Map([['image_url', await inputFile('image/png', Buffer.from('an image'))]]);

          assert.deepEqual(await provider.submit(requestFor(input, media), submit), {
            kind: 'done',
            files: urls.map((url) => ({ from: 'url', url })),
            costMicroUsd,
          });

          const [recorded] = requests.slice(first);
          assert.equal(`${recorded?.method} ${recorded?.url}`, `POST /v1/images/${path}`);
          assert.deepEqual(formOf(recorded), form);
        });
      }
    });
  });

  it('takes an error for a rejection', async () => {
    for (const [answer, reason] of [
      [{ status: 400, json: { code: 'invalid_request_parameter', message: 'size' } }, 'input_invalid'],
      [{ status: 400, json: { code: 'not_enough_credits', message: '' } }, 'model_unavailable'],
      // These have a text, and no JSON.
      [{ status: 401 }, 'model_unavailable'],
      [{ status: 404 }, 'model_unavailable'],
      [{ status: 429, json: { code: 'rate_limit_exceeded' } }, 'provider_unavailable'],
    ] as const) {
      assert.equal(reasonOf(await submitted(RECRAFT, answer)), reason);
    }
    const hinted = await submitted(RECRAFT, { status: 429, headers: { 'retry-after': '7' }, json: {} });
    assert.deepEqual(hinted, { rejected: 'provider_unavailable', retryAfterMs: 7_000 });
    await assert.rejects(submitted(RECRAFT, { status: 500, json: {} }), { name: 'ProviderUnknown' });
  });
});
