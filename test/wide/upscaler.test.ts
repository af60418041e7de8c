/**
 * Images enlarged by a neural network: the example of the guide (docs/examples/upscaler) with its model file, behind a
 * whole service.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import sharp from 'sharp';
import { waitFor } from '@darkroom/testing/wait-for';
import { packageFile } from '../../src/config/package-root.ts';
import type { ApiTask } from '../support/api-client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { startUpscaler } from './upscaler-server.ts';
import type { UpscalerServer } from './upscaler-server.ts';

const MODEL = 'upscaler/esrgan-slim';
/**
 * The mean difference, of 255, between an image and what it was enlarged to, made small again: 0.6 at scale 2, 1.4 at
 * scale 4. That of the same image moved by three pixels is above it.
 */
const MAX_DIFFERENCE = 2.5;

describe('an upscaler', { timeout: 900_000 }, () => {
  let modelsDir: string;
  let upscaler: UpscalerServer;
  let darkroom: Darkroom;
  let account: TestAccount;
  before(async () => {
    upscaler = await startUpscaler();
    modelsDir = await mkdtemp(path.join(os.tmpdir(), 'darkroom-models-'));
    await writeExample(modelsDir, upscaler.url);
    darkroom = await startDarkroom({ environment: { MODELS_DIR: modelsDir } });
    account = await darkroom.createAccount();
  });
  after(async () => {
    await darkroom?.stop();
    await upscaler?.stop();
    await rm(modelsDir, { recursive: true, force: true });
  });

  const create = async (input: object, model = MODEL): Promise<string> => {
    const created = await account.client.create({ model, input });
    assert.equal(created.status, 200, JSON.stringify(created.body));
    return created.body.data.taskId;
  };
  const fileOf = async (task: ApiTask): Promise<Buffer> => {
    assert.equal(task.status, 'success', JSON.stringify(task));
    const [output, ...others] = task.output ?? [];
    assert.ok(output !== undefined && others.length === 0);
    return Buffer.from(await (await fetch(output.url)).arrayBuffer());
  };
  /** The address of an uploaded image. */
  const upload = async (file: Buffer): Promise<string> => {
    const response = await fetch(`${darkroom.url}/v1/files`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${account.client.key}`, 'Content-Type': 'image/png' },
      body: new Uint8Array(file),
    });
    assert.equal(response.status, 200);
    return ((await response.json()) as { data: { url: string } }).data.url;
  };
  const plain = (width: number, height: number): Promise<Buffer> =>
    sharp({ create: { width, height, channels: 3, background: 'teal' } })
      .png()
      .toBuffer();

  it('enlarges the output of another task, at every scale, and changes nothing else', async () => {
    const scene = await account.client.waitForTerminal(
      await create({ prompt: 'a lighthouse on a cliff at sunset' }, 'darkroom/scene'),
    );
    const image = await sharp(await fileOf(scene))
      .resize(320, 180)
      .png()
      .toBuffer();
    const url = await upload(image);

    for (const scale of [2, 3, 4]) {
      const task = await account.client.waitForTerminal(await create({ image_url: url, scale }));

      const enlarged = await fileOf(task);
      const [output] = task.output ?? [];
      assert.deepEqual([output?.mimeType, output?.width, output?.height], ['image/png', 320 * scale, 180 * scale]);
      const { width, height } = await sharp(enlarged).metadata();
      assert.deepEqual([width, height], [320 * scale, 180 * scale]);
      const difference = await meanDifference(image, enlarged);
      assert.ok(difference < MAX_DIFFERENCE, `x${scale} differs by ${difference}`);
      assert.equal(task.billing.captured, '0.002');
    }
    const wider = await sharp(image).extend({ left: 3, extendWith: 'copy' }).png().toBuffer();
    const moved = await sharp(wider).extract({ left: 0, top: 0, width: 320, height: 180 }).png().toBuffer();
    assert.ok((await meanDifference(image, moved)) > MAX_DIFFERENCE);
  });

  it('enlarges an output by its own address, twice as large where no scale is given', async () => {
    const first = await account.client.waitForTerminal(await create({ image_url: await upload(await plain(60, 40)) }));
    const [output] = first.output ?? [];

    const second = await account.client.waitForTerminal(await create({ image_url: output?.url }));

    assert.deepEqual([output?.width, output?.height], [120, 80]);
    assert.deepEqual([second.output?.[0]?.width, second.output?.[0]?.height], [240, 160]);
  });

  it('fails with an image that is too large for the server, and charges nothing', async () => {
    const url = await upload(await plain(1_200, 1_000));

    const task = await account.client.waitForTerminal(await create({ image_url: url }));

    assert.deepEqual([task.status, task.error?.code, task.error?.reason], ['fail', 'INVALID_REQUEST', 'input_invalid']);
    assert.equal(task.billing.captured, '0');
  });

  it('does not accept what is no image, or no scale', async () => {
    const url = await upload(await plain(20, 20));
    const speech = await account.client.waitForTerminal(
      await create({ text: 'High water is at six.', voice: 'slt' }, 'darkroom/speech'),
    );

    for (const [input, message] of [
      [{ image_url: speech.output?.[0]?.url }, /image_url/],
      [{ image_url: url, scale: 8 }, /scale/],
      [{}, /image_url/],
    ] as const) {
      const { status, body } = await account.client.create({ model: MODEL, input });
      assert.equal(status, 400, JSON.stringify(body));
      assert.match(body.message, message);
    }
  });

  it('stops at the server when its task is cancelled', async () => {
    const url = await upload(await plain(1_000, 1_000));
    const before = await upscaler.health();
    const taskId = await create({ image_url: url, scale: 4 });
    await waitFor('the server works', async () => (await upscaler.health()).status === 'busy');

    await account.client.send('POST', `/v1/tasks/${taskId}/cancel`);

    const task = await account.client.waitForTerminal(taskId);
    assert.equal(task.error?.code, 'TASK_CANCELLED');
    await waitFor('the server has stopped', async () => (await upscaler.health()).status === 'ready');
    assert.deepEqual(await upscaler.health(), before);
  });
});

/** The model file of the guide, with the URL of the server. */
async function writeExample(modelsDir: string, url: string): Promise<void> {
  const text = await readFile(packageFile('docs/examples/upscaler.json'), 'utf8');
  assert.match(text, /"http:\/\/127\.0\.0\.1:8190"/);
  await writeFile(path.join(modelsDir, 'upscaler.json'), text.replace('http://127.0.0.1:8190', url));
}

/** Of the samples of an image and of another, made as small. */
async function meanDifference(image: Buffer, other: Buffer): Promise<number> {
  const { width, height } = await sharp(image).metadata();
  const [one, two] = await Promise.all(
    [image, other].map((file) => sharp(file).removeAlpha().resize(width, height).raw().toBuffer()),
  );
  assert.ok(one !== undefined && two?.length === one.length);
  return one.reduce((sum, sample, index) => sum + Math.abs(sample - (two[index] ?? 0)), 0) / one.length;
}
