/**
 * Promises of the models' schemas about pixels: every aspect ratio and resolution that they allow gives exactly the
 * pixels that their descriptions name.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import sharp from 'sharp';
import { matchingSize, namedSize, pixelSize } from '../../src/image/sizes.ts';
import { render } from './image-samples.ts';

/** The service's own models; this module is compiled to `dist/test/image`. */
const MODEL_FILES = new URL('../../../../../models/', import.meta.url);

interface ModelFile {
  readonly inputSchema: {
    readonly properties: Readonly<Record<string, { readonly enum?: readonly string[]; readonly description?: string }>>;
  };
}

function properties(model: string): ModelFile['inputSchema']['properties'] {
  return (JSON.parse(readFileSync(new URL(`${model}.json`, MODEL_FILES), 'utf8')) as ModelFile).inputSchema.properties;
}

/** Models with the engine of each, and how many megapixels their first resolution has. */
const MODELS = [
  ['scene', 'scene', 1],
  ['scene-ultra', 'scene', 4],
  ['remix', 'scene', 1],
  ['poster', 'poster', 1],
  ['edit', 'edit', 1],
  ['edit-max', 'edit', 1],
] as const;

for (const [model, , megapixels] of MODELS) {
  describe(`pixels of ${model}`, () => {
    const { aspect_ratio: ratio, resolution } = properties(model);
    const ratios = (ratio?.enum ?? []).filter((name) => name.includes(':'));
    const resolutions = resolution?.enum ?? [];

    it('keep every ratio of the schema exactly, with even sides, doubled at each resolution', () => {
      assert.ok(ratios.length > 4 && resolutions.length > 1);
      for (const shape of ratios) {
        const [across = 0, down = 0] = shape.split(':').map(Number);
        for (const [index, name] of resolutions.entries()) {
          const { width, height } = pixelSize(shape, name, '1:1');
          assert.equal(width * down, height * across, `${shape} ${name}`);
          assert.ok(width % 2 === 0 && height % 2 === 0, `${shape} ${name}`);
          const share = (width * height) / 4 ** index / (1_048_576 * megapixels);
          assert.ok(share > 0.93 && share < 1.07, `${shape} ${name} is ${share} of its megapixels`);
        }
      }
    });

    it("match the schema's description", () => {
      for (const [, shape, width, height] of (resolution?.description ?? '').matchAll(/(\d+:\d+) (\d+)x(\d+)/g)) {
        assert.deepEqual(pixelSize(shape, resolutions[0], '1:1'), { width: Number(width), height: Number(height) });
      }
    });
  });
}

describe('pixels of an image', () => {
  async function sizeOf(bytes: Buffer): Promise<readonly [number, number]> {
    const { width, height } = await sharp(bytes).metadata();
    return [width, height];
  }

  it('match the table for its ratio and resolution exactly, for strips too', async () => {
    const prompt = 'sea, minimal';
    for (const [engine, ratio, resolution] of [
      ['scene', '5:4', '1k'],
      ['scene', '21:9', '1k'],
      ['scene', '19.5:9', '1K'],
      ['scene', '8:1', '1K'],
      ['scene', '1:8', '1K'],
      ['scene', '3:4', '2k'],
      ['poster', '4:5', '1K'],
    ] as const) {
      const { width, height } = pixelSize(ratio, resolution, '1:1');
      const bytes = await render(engine, { prompt, aspect_ratio: ratio, resolution });
      assert.deepEqual(await sizeOf(bytes), [width, height], `${engine} ${ratio} ${resolution}`);
    }
  });

  it('are those of `size` if the model has that field', async () => {
    assert.deepEqual(await sizeOf(await render('scene', { prompt: 'sea, minimal', size: '768x768' })), [768, 768]);
    for (const size of properties('canvas')['size']?.enum ?? ['none']) {
      const [width, height] = size.split('x').map(Number);
      assert.deepEqual(namedSize(size), { width, height });
    }
    assert.equal(namedSize('99999x99999'), undefined);
    for (const engine of ['scene', 'poster'] as const) {
      const input = { prompt: 'sea, minimal', aspect_ratio: '16:9', size: '512x512' };
      assert.deepEqual(await sizeOf(await render(engine, input)), [512, 512], engine);
    }
  });

  it('have the area of the resolution in the shape of the image to match', () => {
    for (const [width, height] of [
      [640, 427],
      [300, 3000],
      [1, 9000],
    ] as const) {
      const matching = matchingSize({ width, height }, '2K');
      assert.ok(
        Math.abs((matching.width * matching.height) / 4_194_304 - 1) < 0.02,
        `${matching.width}x${matching.height}`,
      );
      const shape = Math.max(1 / 8, width / height);
      assert.ok(Math.abs(matching.width / matching.height / shape - 1) < 0.01, `${matching.width}x${matching.height}`);
    }
  });
});
