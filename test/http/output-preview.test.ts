/** `GET /v1/tasks/{taskId}/outputs/{outputId}/preview`: small copies of images, whatever bytes an upstream returned. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import sharp from 'sharp';
import { body } from '../tasks/task-room.ts';
import { noise } from '../clients/mcp-images.ts';
import { serveApp } from './serve.ts';
import type { MadeOutput, ServedAccount, ServedApp } from './serve.ts';

let served: ServedApp;
let account: ServedAccount;
before(async () => {
  served = await serveApp();
  account = await served.newAccount();
});
after(() => served.close());

/** @returns the path of the preview of its first output. */
async function previewPath(bytes: Buffer, mimeType = 'image/png'): Promise<string> {
  const { taskId } = (await account.client.create(body())).body.data;
  const made: MadeOutput = { type: 'image', bytes, mimeType };
  await served.succeedWith(taskId, [made]);
  const [output] = (await account.client.get(taskId)).body.data.output ?? [];
  assert.ok(output);
  return `/v1/tasks/${taskId}/outputs/${output.id}/preview`;
}

async function ask(path: string, key = account.client.key): Promise<Response> {
  return fetch(`${served.url}${path}`, { headers: { Authorization: `Bearer ${key}` } });
}

async function readPreview(path: string): Promise<Buffer> {
  const answer = await ask(path);
  assert.equal(answer.status, 200, path);
  assert.equal(answer.headers.get('content-type'), 'image/jpeg');
  return Buffer.from(await answer.arrayBuffer());
}

describe('the preview of an output', () => {
  it('is a JPEG within the requested pixels and bytes, for any image', async () => {
    const path = await previewPath((await noise(1500, 900)).bytes);
    for (const [query, edge, most] of [
      ['', 768, 200_000],
      ['?maxEdge=1024&maxBytes=1000000', 1024, 1_000_000],
      ['?maxEdge=64', 64, 200_000],
    ] as const) {
      const bytes = await readPreview(path + query);
      const { format, width, height } = await sharp(bytes).metadata();
      assert.equal(format, 'jpeg');
      assert.ok(bytes.length <= most, `${query}: ${bytes.length}`);
      assert.ok(width <= edge && Math.abs(width / height - 1500 / 900) < 0.05, `${query}: ${width} x ${height}`);
    }
    const tiny = await readPreview(`${path}?maxBytes=5000`);
    assert.ok(tiny.length <= 5_000, String(tiny.length));
  });

  it('keeps the size of a small image, applies its orientation, and is white where it is transparent', async () => {
    const create = { width: 40, height: 20, channels: 4, background: { r: 0, g: 0, b: 0, alpha: 0 } } as const;
    const clear = await sharp({ create }).png().toBuffer();
    const { data, info } = await sharp(await readPreview(await previewPath(clear)))
      .raw()
      .toBuffer({ resolveWithObject: true });
    assert.deepEqual([info.width, info.height], [40, 20]);
    assert.ok(data.every((value) => value > 250));

    const lying = await sharp({ create }).flatten().jpeg().withMetadata({ orientation: 6 }).toBuffer();
    const { width, height } = await sharp(await readPreview(await previewPath(lying, 'image/jpeg'))).metadata();
    assert.deepEqual([width, height], [20, 40]);
  });

  it('is 415 for what is not an image, a broken one, and one that is too large to be read', async () => {
    const whole = await noise(200, 200);
    const huge = await sharp({ create: { width: 12_000, height: 9_000, channels: 3, background: '#fff' } })
      .png()
      .toBuffer();
    const drawing = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>');
    for (const bytes of [Buffer.from('not an image'), whole.bytes.subarray(0, 20_000), huge, drawing]) {
      const answer = await ask(await previewPath(bytes));
      assert.equal(answer.status, 415);
      assert.match(await answer.text(), /there is no preview of this output: the image is /);
    }
  });

  it('is available only to its owner, under its task, and until the output is deleted', async () => {
    const path = await previewPath((await noise(20, 20)).bytes);
    const other = await previewPath((await noise(20, 20)).bytes);
    const stranger = await served.newAccount();
    assert.equal((await ask(path, stranger.client.key)).status, 404);
    const [, , , , , outputId = ''] = path.split('/');
    const mixed = other.replace(/out_\w+/, outputId);
    assert.notEqual(mixed, other);
    assert.equal((await ask(mixed)).status, 404);

    assert.equal((await ask(path)).status, 200);
    await account.client.send('DELETE', `/v1/storages/${outputId}`);
    assert.equal((await ask(path)).status, 404);
  });

  it('is made for an account only up to its share of concurrent ones', async () => {
    const path = await previewPath((await noise(400, 300)).bytes);
    const answers = await Promise.all(Array.from({ length: 60 }, () => ask(`${path}?maxEdge=32`)));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200, 429]));
    assert.equal((await ask(path)).status, 200);
  });
});
