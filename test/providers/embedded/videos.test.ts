/** Videos and audio of the embedded engine through the whole service: their outputs, their progress and their end. */
import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { startDarkroom } from '../../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../../support/darkroom.ts';
import { waitFor } from '@darkroom/testing/wait-for';

describe('a video from one HTTP call', () => {
  let darkroom: Darkroom;
  let account: TestAccount;
  before(async () => {
    darkroom = await startDarkroom();
    account = await darkroom.createAccount();
  });
  after(() => darkroom.stop());

  async function create(model: string, input: object): Promise<string> {
    const created = await account.client.create({ model, input });
    assert.equal(created.status, 200, JSON.stringify(created.body));
    return created.body.data.taskId;
  }

  // Proves C3-7, C3-8.
  it('comes first, then its first frame, its last and a thumbnail, and is charged by its seconds', async () => {
    const input = { prompt: 'waves at dusk', duration: 2, resolution: '480p', draft: true };
    const task = await account.client.waitForTerminal(await create('darkroom/motion', input));

    assert.equal(task.status, 'success', JSON.stringify(task));
    const outputs = task.output ?? [];
    assert.deepEqual(
      outputs.map(({ type, mimeType }) => [type, mimeType]),
      [
        ['video', 'video/mp4'],
        ['first_frame', 'image/jpeg'],
        ['last_frame', 'image/jpeg'],
        ['thumbnail', 'image/jpeg'],
      ],
    );
    const [video, first, last, thumbnail] = outputs as readonly { width: number; height: number; url: string }[];
    assert.ok(video && first && last && thumbnail);
    assert.equal((video as { durationSeconds?: number }).durationSeconds, 2);
    for (const frame of [first, last]) assert.deepEqual([frame.width, frame.height], [video.width, video.height]);
    assert.ok(Math.max(thumbnail.width, thumbnail.height) <= 512);
    // A cent per second, and a draft costs a quarter of it.
    assert.deepEqual(task.billing, { currency: 'USD', held: '0.005', captured: '0.005', released: '0' });
    for (const { url } of outputs) assert.equal((await fetch(url)).status, 200);
  });

  it('continues where another one ended, and lasts as long as an earlier audio output', async () => {
    const sound = await account.client.waitForTerminal(
      await create('darkroom/sound', { prompt: 'rain on a tin roof', duration: 3 }),
    );
    const video = await account.client.waitForTerminal(
      await create('darkroom/motion', { prompt: 'a forest', duration: 1, resolution: '480p', draft: true }),
    );
    const [audio, clip] = [sound.output?.[0]?.url, video.output?.[0]?.url];

    const task = await account.client.waitForTerminal(
      await create('darkroom/blend', {
        prompt: 'warm light',
        reference_video_urls: [clip],
        reference_audio_urls: [audio],
        duration: 2,
        resolution: '720p',
      }),
    );

    assert.equal(task.status, 'success', JSON.stringify(task));
    assert.equal((task.output?.[0] as { durationSeconds?: number } | undefined)?.durationSeconds, 2);
  });

  it('fails as input_invalid, without a charge, when one of its images is invalid', async () => {
    const upload = await fetch(`${darkroom.url}/v1/files`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${account.client.key}`, 'Content-Type': 'image/png' },
      // The signature and header of an image without pixels.
      body: Buffer.from('iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2', 'base64'),
    });
    assert.equal(upload.status, 200);
    const { data } = (await upload.json()) as { data: { url: string } };

    const task = await account.client.waitForTerminal(
      await create('darkroom/animate', { prompt: 'slow zoom', image_url: data.url, duration: 3 }),
    );

    assert.equal(task.status, 'fail');
    assert.equal(task.error?.reason, 'input_invalid');
    assert.equal(task.billing.captured, '0');
  });

  // Proves C3-5.
  it('reports its progress, and stops when it is cancelled, its processes too', async () => {
    const [worker] = darkroom.workers;
    assert.ok(worker);
    // A child that inspects media stays for the next file (docs/decisions/0019).
    const before = await childrenOf(worker.pid);
    const taskId = await create('darkroom/motion-max', {
      prompt: 'a city in the rain',
      duration: 30,
      resolution: '1080p',
    });
    await waitFor('the video reports its progress', async () => {
      const { body } = await account.client.get(taskId);
      return ((body.data as { progress?: number }).progress ?? 0) > 0;
    });

    assert.equal((await account.client.send('POST', `/v1/tasks/${taskId}/cancel`)).status, 200);
    const task = await account.client.waitForTerminal(taskId);

    assert.equal(task.error?.code, 'TASK_CANCELLED');
    await waitFor('the processes of the video are gone', async () =>
      (await childrenOf(worker.pid)).every((child) => before.includes(child)),
    );
    assert.deepEqual(await readdir(darkroom.scratchDirectory), []);
  });
});

/** The child processes of a process. */
async function childrenOf(pid: number): Promise<readonly string[]> {
  const threads = await readdir(`/proc/${pid}/task`);
  const lists = await Promise.all(
    threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => '')),
  );
  return lists.flatMap((list) => list.split(' ').filter(Boolean));
}
