/**
 * Ideogram, which has no client of its own: the requests and answers are those of its OpenAPI document,
 * https://api.ideogram.ai/openapi.json (v1/ideogram-v3 and v1/ideogram-v4).
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withRecorder, withScratch } from '../providers/http/recorder.ts';
import { answering, formOf, reasonOf, submitted } from './answers.ts';
import type { Scripted } from './bench.ts';
import { comparable, mapped } from './oracle.ts';

const V3 = { model: 'ideogram/ideogram-3.0', input: { prompt: 'a boat' } };
const image = (url: string | null): object => ({
  url,
  prompt: 'a boat',
  resolution: '1024x1024',
  is_image_safe: url !== null,
  seed: 12345,
});
const images = (...urls: (string | null)[]): Scripted => ({
  json: { created: '2026-11-27T04:56:07+00:00', data: urls.map(image) },
});
const ONE = 'https://ideogram.ai/api/images/ephemeral/a.png?exp=1&sig=e';

describe('the mapping of Ideogram', () => {
  const file = 'image/png: an image';
  const cases: readonly (readonly [string, Readonly<Record<string, unknown>>, readonly string[], string, object])[] = [
    [
      'ideogram/ideogram-3.0',
      {
        prompt: 'a boat',
        negative_prompt: 'people',
        aspect_ratio: '16:10',
        rendering_speed: 'turbo',
        magic_prompt: 'off',
        style_type: 'design',
        n: 2,
        seed: 7,
        style_image_urls: ['https://a.example/1', 'https://a.example/2'],
      },
      ['style_image_urls.0', 'style_image_urls.1'],
      'generate',
      {
        prompt: ['a boat'],
        negative_prompt: ['people'],
        aspect_ratio: ['16x10'],
        rendering_speed: ['TURBO'],
        magic_prompt: ['OFF'],
        style_type: ['DESIGN'],
        num_images: ['2'],
        seed: ['7'],
        style_reference_images: [file, file],
      },
    ],
    ['ideogram/ideogram-3.0', { prompt: 'a boat' }, [], 'generate', { prompt: ['a boat'] }],
    [
      'ideogram/ideogram-3.0-remix',
      { prompt: 'a boat', image_url: 'https://a.example/1', image_weight: 70, aspect_ratio: '1:3' },
      ['image_url'],
      'remix',
      { prompt: ['a boat'], image: [file], image_weight: ['70'], aspect_ratio: ['1x3'] },
    ],
    [
      'ideogram/ideogram-3.0-edit',
      {
        prompt: 'a boat',
        image_url: 'https://a.example/1',
        mask_url: 'https://a.example/2',
        rendering_speed: 'quality',
        magic_prompt: 'auto',
        style_type: 'realistic',
        n: 3,
        seed: 7,
      },
      ['image_url', 'mask_url'],
      'edit',
      {
        prompt: ['a boat'],
        image: [file],
        mask: [file],
        rendering_speed: ['QUALITY'],
        magic_prompt: ['AUTO'],
        style_type: ['REALISTIC'],
        num_images: ['3'],
        seed: ['7'],
      },
    ],
  ];

  it('sends the documented forms, and takes the images from the answer', async () => {
    await withRecorder(answering(images(ONE, null)), async ({ origin, requests }) => {
      for (const [model, input, fields, path, form] of cases) {
        await withScratch(async ({ call: submit, inputFile }) => {
          const first = requests.length;
          const { provider, requestFor, host } = mapped(model, origin);
          const files = fields.map(
            async (field) => [field, await inputFile('image/png', Buffer.from('an image'))] as const,
          );

          const submission = await provider.submit(requestFor(input, new Map(await Promise.all(files))), submit);

          assert.equal(host, 'api.ideogram.ai');
          assert.deepEqual(submission, { kind: 'done', files: [{ from: 'url', url: ONE }] });
          const [recorded] = requests.slice(first);
          assert.equal(`${recorded?.method} ${recorded?.url}`, `POST /v1/ideogram-v3/${path}`);
          assert.equal(recorded?.headers['api-key'], 'the-key');
          assert.equal(recorded?.headers.authorization, undefined);
          assert.deepEqual(formOf(recorded), form);
        });
      }
    });
  });

  it('sends the documented JSON for Ideogram 4.0', async () => {
    await withRecorder(answering(images(ONE)), async ({ origin, requests }) => {
      await withScratch(async ({ call: submit }) => {
        const { provider, requestFor } = mapped('ideogram/ideogram-4.0', origin);
        const input = { prompt: 'a boat', aspect_ratio: '16:9', rendering_speed: 'quality' };
        await provider.submit(requestFor(input), submit);
        const [recorded] = requests;
        assert.ok(recorded !== undefined);
        const { method, path, body } = comparable(recorded);
        assert.equal(`${method} ${path}`, 'POST /v1/ideogram-v4/generate');
        assert.deepEqual(body, { text_prompt: 'a boat', resolution: '1312x736', rendering_speed: 'QUALITY' });
      });
    });
  });

  it('fails when no image is safe', async () => {
    assert.deepEqual(await submitted(V3, images(null, null)), { failed: 'content_rejected' });
  });

  it('takes an error for a rejection', async () => {
    for (const [answer, reason] of [
      [{ status: 400, json: { detail: 'Invalid input provided' } }, 'input_invalid'],
      [{ status: 401, json: { detail: 'Not authorized' } }, 'model_unavailable'],
      [{ status: 402, json: { detail: 'Insufficient credits' } }, 'model_unavailable'],
      [{ status: 422, json: { error: 'Prompt failed the safety check.' } }, 'content_rejected'],
      [{ status: 429, json: { detail: 'Too many requests' } }, 'provider_unavailable'],
    ] as const) {
      assert.equal(reasonOf(await submitted(V3, answer)), reason);
    }
    const hinted = await submitted(V3, { status: 429, headers: { 'retry-after': '7' }, json: {} });
    assert.deepEqual(hinted, { rejected: 'provider_unavailable', retryAfterMs: 7_000 });
    await assert.rejects(submitted(V3, { status: 500, json: {} }), { name: 'ProviderUnknown' });
  });
});
