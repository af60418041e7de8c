/**
 * Promises of the models' schemas about pixels: every aspect ratio and resolution that they allow gives exactly the
 * pixels that their descriptions name.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import sharp from 'sharp';
import { packageFile } from '../../../src/config/package-root.ts';
import type { RenderedFile } from '../../../src/engines/engine.ts';
import { ENGINES } from '../../../src/engines/registry.ts';
import { pixelSize } from '../../../src/engines/image/sizes.ts';

interface ModelFile {
  readonly inputSchema: {
    readonly properties: Readonly<Record<string, { readonly enum?: readonly string[]; readonly description?: string }>>;
  };
}

function properties(model: string): ModelFile['inputSchema']['properties'] {
  return (JSON.parse(readFileSync(packageFile(`models/${model}.json`), 'utf8')) as ModelFile).inputSchema.properties;
}

for (const model of ['scene', 'poster'] as const) {
  describe(`pixels of ${model}`, () => {
    const { aspect_ratio: ratio, resolution } = properties(model);
    const ratios = ratio?.enum ?? [];
    const resolutions = resolution?.enum ?? [];

    it('keep every ratio of the schema exactly, with even sides, doubled at each resolution', () => {
      assert.ok(ratios.length > 4 && resolutions.length > 1);
      for (const shape of ratios) {
        const [across = 0, down = 0] = shape.split(':').map(Number);
        for (const [index, name] of resolutions.entries()) {
          const { width, height } = pixelSize(shape, name, '1:1');
          assert.equal(width * down, height * across, `${shape} ${name}`);
          assert.ok(width % 2 === 0 && height % 2 === 0, `${shape} ${name}`);
          const share = (width * height) / 4 ** index / 1_048_576;
          assert.ok(share > 0.93 && share < 1.07, `${shape} ${name} is ${share} megapixels`);
        }
      }
    });

    it('are those of the description', () => {
      const named = [...(resolution?.description ?? '').matchAll(/(\d+:\d+) (\d+)x(\d+)/g)];
      assert.ok(named.length > 4);
      for (const [, shape, width, height] of named) {
        assert.deepEqual(pixelSize(shape, resolutions[0], '1:1'), { width: Number(width), height: Number(height) });
      }
    });

    it('are what the rendered file has', async () => {
      const engine = ENGINES.get(model);
      assert.ok(engine);
      const wanted = [
        ...ratios.map((shape) => [shape, resolutions[0]] as const),
        ...resolutions.slice(1).map((name) => [ratios[1], name] as const),
      ];
      for (const [shape, name] of wanted) {
        const files: readonly RenderedFile[] = await engine(
          { prompt: 'sea, minimal', aspect_ratio: shape, resolution: name },
          1,
        );
        const metadata = await sharp(files[0]?.bytes).metadata();
        assert.deepEqual(
          { width: metadata.width, height: metadata.height },
          pixelSize(shape, name, '1:1'),
          `${shape} ${name}`,
        );
      }
    });
  });
}
