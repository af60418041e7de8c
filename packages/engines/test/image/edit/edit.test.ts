/**
 * Promises of the edit engine as a whole: sizes, formats, the input files, and that the same input gives the same
 * bytes.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import sharp from 'sharp';
import { UndecodableMediaError } from '../../../src/engine.ts';
import { landscape, meanOf, painted, pixelsOf, png, render } from '../image-samples.ts';

const IMAGE = await png(landscape(300, 200));
const OTHER = await png(painted(200, 200, (x) => [40, 40 + x * 120, 190]));

function edit(
  input: Readonly<Record<string, unknown>>,
  images: readonly Buffer[] = [IMAGE],
  seed = 1,
): Promise<Buffer> {
  const media = Object.fromEntries(images.map((image, index) => [`image_urls.${index}`, image]));
  return render('edit', input, { media, seed });
}

async function sizeOf(bytes: Buffer): Promise<readonly [number, number]> {
  const { width, height } = await sharp(bytes).metadata();
  return [width, height];
}

describe('the edit engine', () => {
  it('keeps the shape of the image, at the area of the resolution', async () => {
    const [width, height] = await sizeOf(
      await edit({ prompt: 'sepia', aspect_ratio: 'match_input_image', resolution: '1K' }),
    );
    assert.ok(
      Math.abs(width / height - 1.5) < 0.01 && Math.abs((width * height) / 1_048_576 - 1) < 0.02,
      `${width}x${height}`,
    );
  });

  it('extends to the exact pixels of another ratio', async () => {
    assert.deepEqual(
      await sizeOf(await edit({ prompt: 'warmer', aspect_ratio: '16:9', resolution: '1K' })),
      [1344, 756],
    );
  });

  it('has the exact pixels of a size, of one image, of several, and of the model that takes one', async () => {
    const input = { prompt: 'sepia', size: '512x512' };
    const single = await render('edit', input, { media: { image: IMAGE } });
    for (const bytes of [await edit(input), await edit(input, [IMAGE, OTHER]), single]) {
      assert.deepEqual(await sizeOf(bytes), [512, 512]);
    }
  });

  it('accepts a single image, keeps its shape, and accepts a data URL', async () => {
    const bytes = await render('edit', { prompt: 'black and white' }, { media: { image: IMAGE } });
    const [width, height] = await sizeOf(bytes);
    assert.ok(Math.abs(width / height - 1.5) < 0.01);
    const { red, green, blue } = meanOf(await pixelsOf(bytes));
    assert.ok(Math.abs(red - blue) < 2 && Math.abs(red - green) < 2);
  });

  it('renders the same bytes for the same input and seed, and different ones for another seed', async () => {
    const input = { prompt: 'film grain', resolution: '1K' };
    const first = await edit(input);
    assert.ok(first.equals(await edit(input)));
    assert.ok(!first.equals(await edit(input, [IMAGE], 2)));
  });

  it('encodes in the requested format', async () => {
    const input = { prompt: 'sepia', resolution: '1K' };
    assert.equal((await sharp(await edit({ ...input, output_format: 'webp' })).metadata()).format, 'webp');
    assert.equal((await sharp(await edit({ ...input, output_format: 'jpeg' })).metadata()).format, 'jpeg');
  });

  it('still changes the image for a prompt without known words', async () => {
    const improved = await edit({ prompt: 'qwertz', resolution: '1K' });
    const [width, height] = await sizeOf(improved);
    const plain = await sharp(IMAGE).resize(width, height).png().toBuffer();
    const [after, before] = [meanOf(await pixelsOf(improved)), meanOf(await pixelsOf(plain))];
    assert.ok(Math.abs(after.light - before.light) + Math.abs(after.red - before.red) > 1.5);
  });

  it('joins several images, and applies the rest of the prompt to the result', async () => {
    const pixels = await pixelsOf(
      await edit({ prompt: 'side by side, black and white', aspect_ratio: 'auto', resolution: '1K' }, [IMAGE, OTHER]),
    );
    assert.ok(pixels.width / pixels.height > 1.9);
    const { red, blue } = meanOf(pixels);
    assert.ok(Math.abs(red - blue) < 3);
  });

  it("rejects a file that is not an image with the field's path", async () => {
    for (const [files, position] of [
      [{ image: Buffer.from('text') }, /^image: /],
      [{ 'image_urls.0': IMAGE, 'image_urls.1': Buffer.alloc(0) }, /^image_urls\.1: /],
      [{}, /^image_urls: /],
    ] as const) {
      await assert.rejects(
        render('edit', { prompt: 'sepia' }, { media: files }),
        (error) => error instanceof UndecodableMediaError && position.test(error.message),
      );
    }
  });
});
