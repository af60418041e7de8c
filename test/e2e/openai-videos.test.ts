/**
 * Videos of an upstream that implements `/videos`: a real MP4 is returned byte for byte, with the metadata of its
 * container, and a file that is not one fails with its reason. Only public addresses are allowed: the upstream itself
 * serves the content.
 */
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { ApiTask } from '../support/api-client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { drawVideo, VIDEO } from '../support/test-provider/video.ts';
import type { LogLine } from '../support/test-provider/log.ts';
import { startTestProvider } from '../support/test-provider/process.ts';
import type { TestProvider } from '../support/test-provider/process.ts';

describe('a video of an upstream', { concurrency: 4 }, () => {
  let provider: TestProvider;
  let modelsDir: string;
  let darkroom: Darkroom;
  let account: TestAccount;
  before(async () => {
    provider = await startTestProvider();
    modelsDir = await mkdtemp(path.join(os.tmpdir(), 'darkroom-models-'));
    await writeFile(path.join(modelsDir, 'videos.json'), JSON.stringify(modelOf('videos', provider.url, 600)));
    await writeFile(path.join(modelsDir, 'hurried.json'), JSON.stringify(modelOf('hurried', provider.url, 3)));
    darkroom = await startDarkroom({ environment: { MODELS_DIR: modelsDir, UPSTREAM_TEST_KEY: 'test-key' } });
    account = await darkroom.createAccount();
  });
  after(async () => {
    await darkroom?.stop();
    await provider?.stop();
    await rm(modelsDir, { recursive: true, force: true });
  });

  interface Ended {
    readonly prompt: string;
    readonly task: ApiTask;
  }

  async function run(behaviour: string, model = 'test/videos'): Promise<Ended> {
    const prompt = `${randomUUID()} a harbour ${behaviour}`;
    const created = await account.client.create({ model, input: { prompt, duration: 2 } });
    assert.equal(created.status, 200, JSON.stringify(created.body));
    const task = await account.client.waitForTerminal(created.body.data.taskId);
    assert.deepEqual(await verifyLedger(darkroom.testDatabase.database), []);
    return { prompt, task };
  }
  const linesOf = async ({ prompt }: Ended, kind: LogLine['kind']): Promise<readonly LogLine[]> =>
    (await provider.readLog()).filter((line) => line.prompt === prompt && line.kind === kind);

  async function assertDelivered({ prompt, task }: Ended): Promise<void> {
    assert.equal(task.status, 'success', JSON.stringify(task));
    const [video, ...frames] = task.output ?? [];
    assert.ok(video);
    const original = await drawVideo(prompt);
    const bytes = Buffer.from(await (await fetch(video.url)).arrayBuffer());
    assert.ok(bytes.equals(original));
    assert.equal(video.sha256, createHash('sha256').update(original).digest('hex'));
    const { type, mimeType, sizeBytes, width, height, durationSeconds } = video as typeof video & {
      readonly durationSeconds?: number;
    };
    assert.deepEqual(
      { type, mimeType, sizeBytes, width, height, durationSeconds },
      {
        type: 'video',
        mimeType: 'video/mp4',
        sizeBytes: original.length,
        width: VIDEO.width,
        height: VIDEO.height,
        durationSeconds: VIDEO.frames / VIDEO.fps,
      },
    );
    assert.deepEqual(
      frames.map((frame) => [frame.type, frame.width, frame.height]),
      ['first_frame', 'last_frame', 'thumbnail'].map((type) => [type, VIDEO.width, VIDEO.height]),
    );
    // Two seconds were requested.
    assert.deepEqual(task.billing, { currency: 'USD', held: '0.02', captured: '0.015', released: '0.005' });
  }

  function assertFailed({ task }: Ended, reason: string): void {
    assert.equal(task.status, 'fail', JSON.stringify(task));
    assert.equal(task.error?.reason, reason);
    assert.deepEqual(task.billing, { currency: 'USD', held: '0.02', captured: '0', released: '0.02' });
  }

  it('is archived byte for byte, with its size and duration, and its frames beside it', async () => {
    const ended = await run('[video] [slow 300]');

    await assertDelivered(ended);
    const [submit, ...others] = await linesOf(ended, 'submit');
    assert.deepEqual(others, []);
    assert.equal(submit?.fields?.['seconds'], '2');
    // On a slow machine an attempt at the archive may time out, and another one downloads it.
    const bearers = (await linesOf(ended, 'file')).map(({ bearer }) => bearer);
    assert.deepEqual(new Set(bearers), new Set(['test-key']));
  });

  it('is downloaded again, and not generated again, when the connection breaks midway', async () => {
    const ended = await run('[video] [break-file 2]');

    await assertDelivered(ended);
    assert.ok((await linesOf(ended, 'file')).length >= 3);
    assert.equal((await linesOf(ended, 'submit')).length, 1);
  });

  it('fails as timed_out when the connection keeps breaking until the archiving deadline', async () => {
    const ended = await run('[video] [break-file 1000]', 'test/hurried');

    assertFailed(ended, 'timed_out');
    assert.equal((await linesOf(ended, 'submit')).length, 1);
  });

  for (const [what, behaviour] of [
    ['is a page', '[html file]'],
    ['is not there', '[404 file]'],
    ['ends within its first mark', '[video] [cut-file 6]'],
    ['ends before it says what it holds', '[video] [cut-file 40]'],
    ['ends within its index', '[video] [cut-file 400]'],
  ] as const) {
    it(`is not delivered when its content ${what}`, async () => {
      const ended = await run(behaviour);

      assertFailed(ended, 'no_output');
    });
  }
});

/** A video model, a cent per second, behind the `/videos` of the test provider. */
function modelOf(name: string, providerUrl: string, archivingSeconds: number): Readonly<Record<string, unknown>> {
  const upstream = { protocol: 'openai', api: 'videos', secret: 'test', model: 'test/video', id: name };
  return {
    name: `test/${name}`,
    modality: 'video',
    ownedBy: 'test',
    created: 0,
    description: 'The test provider, by videos.',
    routes: { default: { upstreams: [{ ...upstream, baseUrl: `${providerUrl}/openai/v1` }] } },
    inputSchema: {
      type: 'object',
      additionalProperties: false,
      required: ['prompt', 'duration'],
      properties: {
        prompt: { type: 'string', minLength: 1, maxLength: 4_000 },
        duration: { type: 'integer', minimum: 1, maximum: 10 },
      },
    },
    pricing: { unit: 'second', usd: '0.01', duration: { field: 'duration', default: 2 } },
    limits: { archivingSeconds },
    typicalSeconds: 1,
    examples: [{ prompt: 'anything', duration: 2 }],
  };
}
