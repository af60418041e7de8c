/** Promises of the poster that prints a caller's image: which images it accepts and rejects, and what it looks like. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createCanvas } from '@napi-rs/canvas';
import sharp from 'sharp';
import type { Sharp } from 'sharp';
import { UndecodableMediaError } from '../../src/engine.ts';
import { render } from './image-samples.ts';

const INPUT = { prompt: '"TITLE" "line"', image_url: 'any' };

function poster(bytes: Uint8Array, input: Record<string, unknown> = INPUT): Promise<Buffer> {
  return render('poster', input, { media: { image_url: bytes } });
}

/** Left half dark, right half light. */
function halves(width = 400, height = 400): Sharp {
  const right = { create: { width: width / 2, height, channels: 3 as const, background: '#f0f0e8' } };
  return sharp({ create: { width, height, channels: 3, background: '#10141c' } })
    .composite([{ input: right, left: width / 2, top: 0 }])
    .png();
}

/** Mean light, 0 to 255, of a part of an image, in fractions of its sides. */
async function lightOf(bytes: Buffer, left: number, top: number, right: number, bottom: number): Promise<number> {
  const { width, height } = await sharp(bytes).metadata();
  const part = await sharp(bytes)
    .extract({
      left: Math.round(width * left),
      top: Math.round(height * top),
      width: Math.round(width * (right - left)),
      height: Math.round(height * (bottom - top)),
    })
    .greyscale()
    .png()
    .toBuffer();
  return (await sharp(part).stats()).channels[0]?.mean ?? 0;
}

describe('a poster of an image', () => {
  it('shows the image in its window with its light and dark areas, and the title on the paper', async () => {
    const bytes = await poster(await halves().toBuffer(), { ...INPUT, aspect_ratio: '1:1' });

    const [left, right] = [await lightOf(bytes, 0.25, 0.2, 0.45, 0.6), await lightOf(bytes, 0.55, 0.2, 0.75, 0.6)];
    assert.ok(right > left + 100, `${left} and ${right}`);
    assert.ok((await lightOf(bytes, 0, 0, 1, 0.04)) > 200, 'the border is paper');
    assert.ok((await lightOf(bytes, 0.1, 0.8, 0.9, 0.9)) < 225, 'the title is printed');
  });

  it('uses only the inks of a print', async () => {
    const gradient = sharp(
      Buffer.from(Uint8Array.from({ length: 256 * 256 * 3 }, (_, position) => (position / 3) % 256)),
      {
        raw: { width: 256, height: 256, channels: 3 },
      },
    ).png();
    const bytes = await poster(await gradient.toBuffer());
    const { width, height } = await sharp(bytes).metadata();
    const window = await sharp(bytes)
      .extract({
        left: Math.round(width * 0.3),
        top: Math.round(height * 0.3),
        width: Math.round(width * 0.4),
        height: Math.round(height * 0.2),
      })
      .raw()
      .toBuffer({ resolveWithObject: true });
    const counts = new Map<number, number>();
    const { channels, width: across, height: down } = window.info;
    for (let position = 0; position < window.data.length; position += channels) {
      const colour = window.data.readUIntBE(position, 3);
      counts.set(colour, (counts.get(colour) ?? 0) + 1);
    }
    // Where the print is not aligned with the poster's pixels, neighbours mix at the edges of the dots.
    const often = [...counts.values()].sort((a, b) => b - a).slice(0, 6);
    assert.ok(often.filter((count) => count > 100).length >= 4, 'it is no single tone');
    const share = often.reduce((sum, count) => sum + count, 0) / (across * down);
    assert.ok(share > 0.75, `${share} of the pixels are pure ink`);
  });

  it('is the same bytes for the same image, and different bytes for another', async () => {
    const [first, second] = [await halves().toBuffer(), await halves().negate().toBuffer()];
    assert.ok((await poster(first)).equals(await poster(first)));
    assert.ok(!(await poster(first)).equals(await poster(second)));
  });

  it('accepts every supported image type and shape, and applies the EXIF orientation', async () => {
    const base = halves();
    const images: readonly [string, Buffer][] = [
      ['jpeg', await base.clone().jpeg().toBuffer()],
      ['webp', await base.clone().webp().toBuffer()],
      ['gif', await base.clone().gif().toBuffer()],
      ['avif', await createCanvas(64, 64).encode('avif')],
      [
        'one pixel',
        await sharp(await base.toBuffer())
          .resize(1, 1)
          .png()
          .toBuffer(),
      ],
      [
        'a line',
        await sharp(await base.toBuffer())
          .resize(1, 3_000, { fit: 'fill' })
          .png()
          .toBuffer(),
      ],
      [
        'grey',
        await sharp(await base.toBuffer())
          .greyscale()
          .png()
          .toBuffer(),
      ],
      [
        'transparent',
        await sharp(await base.toBuffer())
          .ensureAlpha(0.5)
          .png()
          .toBuffer(),
      ],
      [
        '16 bit',
        await sharp(await base.toBuffer())
          .toColourspace('rgb16')
          .png()
          .toBuffer(),
      ],
      [
        'cmyk',
        await sharp(await base.toBuffer())
          .toColourspace('cmyk')
          .jpeg()
          .toBuffer(),
      ],
    ];
    for (const [name, bytes] of images) {
      const { width, height } = await sharp(await poster(bytes)).metadata();
      assert.deepEqual([width, height], [832, 1248], name);
    }
    const turned = await base.clone().withMetadata({ orientation: 3 }).jpeg().toBuffer();
    const bytes = await poster(turned, { ...INPUT, aspect_ratio: '1:1' });
    assert.ok((await lightOf(bytes, 0.25, 0.2, 0.45, 0.6)) > (await lightOf(bytes, 0.55, 0.2, 0.75, 0.6)) + 100);
  });

  it('is rejected when the file is truncated, of another format, or far too large', async () => {
    const whole = await halves().toBuffer();
    const bomb = Buffer.from(whole);
    bomb.writeUInt32BE(60_000, 16);
    bomb.writeUInt32BE(60_000, 20);
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>');
    for (const bytes of [whole.subarray(0, whole.length / 2), Buffer.alloc(0), Buffer.from('text'), svg, bomb]) {
      await assert.rejects(
        poster(bytes),
        (error) => error instanceof UndecodableMediaError && error.message.startsWith('image_url: '),
      );
    }
  });
});
