/** An image inside the request itself (spec §2.5: a base64 data URL on one model). */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import sharp from 'sharp';
import { packageFile } from '../../src/config/package-root.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';

const SIZE = { width: 256, height: 192 };

/** Orange above and blue below. */
async function image(kind: 'png' | 'jpeg' | 'webp'): Promise<string> {
  const below = { create: { ...SIZE, height: SIZE.height / 2, channels: 3, background: '#2040e0' } } as const;
  const bytes = await sharp({ create: { ...SIZE, channels: 3, background: '#f08020' } })
    .composite([{ input: await sharp(below).png().toBuffer(), gravity: 'south' }])
    .toFormat(kind)
    .toBuffer();
  return `data:image/${kind};base64,${bytes.toString('base64')}`;
}

describe('an image as a data URL', { concurrency: true }, () => {
  let darkroom: Darkroom;
  before(async () => {
    darkroom = await startDarkroom();
  });
  after(() => darkroom.stop());

  const body = (image: unknown): object => ({ model: 'darkroom/retouch', input: { prompt: 'black and white', image } });

  for (const kind of ['png', 'jpeg', 'webp'] as const) {
    it(`is changed as the prompt says, from ${kind}`, async () => {
      const { client } = await darkroom.createAccount();

      const created = await client.create(body(await image(kind)));
      assert.equal(created.status, 200, created.body.message);
      const task = await client.waitForTerminal(created.body.data.taskId);
      assert.equal(task.status, 'success', JSON.stringify(task.error));
      const [output] = task.output ?? [];
      const bytes = Buffer.from(await (await fetch(output?.url ?? '')).arrayBuffer());
      const { data, info } = await sharp(bytes).removeAlpha().raw().toBuffer({ resolveWithObject: true });
      assert.ok(Math.abs(info.width / info.height - SIZE.width / SIZE.height) < 0.02, `${info.width}x${info.height}`);
      const pixel = (down: number): readonly number[] => {
        const start = (Math.floor(info.height * down) * info.width + Math.floor(info.width / 2)) * 3;
        return [...data.subarray(start, start + 3)];
      };
      const [above, below] = [pixel(0.25), pixel(0.75)];
      for (const colour of [above, below]) assert.ok(Math.max(...colour) - Math.min(...colour) < 16, colour.join());
      assert.ok((above[0] ?? 0) > (below[0] ?? 0) + 20, `${above.join()} over ${below.join()}`);
    });
  }

  it('may be a photograph of a phone', async () => {
    const { client } = await darkroom.createAccount();
    const photograph = await readFile(packageFile('packages/media/test/files/turned.heic'), 'base64');

    const created = await client.create(body(`data:image/heic;base64,${photograph}`));
    assert.equal(created.status, 200, created.body.message);
    const task = await client.waitForTerminal(created.body.data.taskId);
    assert.equal(task.status, 'success', JSON.stringify(task.error));
  });

  it('is rejected when it is no image of these kinds, and fails its task when only its content is not', async () => {
    const { client } = await darkroom.createAccount();

    for (const image of ['data:image/svg+xml;base64,PHN2Zy8+', 'data:text/html;base64,AAAA']) {
      const rejected = await client.create(body(image));
      assert.equal(rejected.status, 400, image);
      assert.match(rejected.body.message, /^invalid input: image: pattern: got "data:/);
    }
    for (const image of ['data:image/png;base64,bm8gcGljdHVyZQ==', 'data:image/png,abc']) {
      const lying = await client.create(body(image));
      const task = await client.waitForTerminal(lying.body.data.taskId);
      assert.equal(task.error?.reason, 'input_invalid');
      assert.equal(task.billing.captured, '0');
    }
  });
});
