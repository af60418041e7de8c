/**
 * Comfy API v2 by Comfy Org's own server, `comfy-api-proxy`, behind a whole service that has only been given its URL.
 * Behind it is a ComfyUI without a model (comfy-backend.ts). Skipped, with the reason, if there is no Python.
 */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { packageFile } from '../../src/config/package-root.ts';
import type { ApiTask } from '../support/api-client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { startComfyApi, whyNoComfyApi } from './comfy-api-server.ts';
import type { ComfyApiServer } from './comfy-api-server.ts';
import { startComfyBackend } from './comfy-backend.ts';
import type { ComfyBackend } from './comfy-backend.ts';
import { waitFor } from '@darkroom/testing/wait-for';

describe('Comfy API v2 on the server of Comfy Org', { skip: whyNoComfyApi(), timeout: 600_000 }, () => {
  let modelsDir: string;
  let comfy: ComfyBackend;
  let proxy: ComfyApiServer;
  let darkroom: Darkroom;
  let account: TestAccount;
  before(async () => {
    comfy = await startComfyBackend();
    proxy = await startComfyApi(comfy.url);
    modelsDir = await mkdtemp(path.join(os.tmpdir(), 'darkroom-models-'));
    await writeModelWithoutCheckpoint(modelsDir);
    darkroom = await startDarkroom({ environment: { UPSTREAM_COMFY_API_URL: proxy.url, MODELS_DIR: modelsDir } });
    account = await darkroom.createAccount();
  });
  after(async () => {
    await darkroom?.stop();
    await proxy?.stop();
    await comfy?.stop();
    await rm(modelsDir, { recursive: true, force: true });
  });

  const create = async (prompt: string, { model = 'comfy_api/sdxl', key = '', input = {} } = {}): Promise<string> => {
    const body = { model, input: { prompt, ...input } };
    const created = await account.client.create(body, key === '' ? undefined : key);
    assert.equal(created.status, 200, JSON.stringify(created.body));
    return created.body.data.taskId;
  };
  const ended = (taskId: string): Promise<ApiTask> => account.client.waitForTerminal(taskId);
  const assertSucceeds = async (taskId: string): Promise<ApiTask> => {
    const task = await ended(taskId);
    assert.equal(task.status, 'success', JSON.stringify(task));
    return task;
  };

  it('brings the files of a workflow, byte for byte, at the price of each', async () => {
    const task = await assertSucceeds(await create('a boat', { input: { aspect_ratio: '3:2', n: 2 } }));

    const output = task.output ?? [];
    const downloaded = await Promise.all(
      output.map(async ({ url }) => Buffer.from(await (await fetch(url)).arrayBuffer()).toString('base64')),
    );
    const made = comfy.filesOf('a boat').map((file) => file.toString('base64'));
    assert.equal(new Set(made).size, 2);
    assert.deepEqual(downloaded.toSorted(), made.toSorted());
    for (const { mimeType, width, height } of output) {
      assert.deepEqual([mimeType, width, height], ['image/png', 1216, 832]);
    }
    assert.equal(task.billing.captured, '0.01');
  });

  it('fails with the workflow that fails while it runs', async () => {
    const task = await ended(await create('[fail]'));

    assert.deepEqual([task.status, task.error?.reason, task.error?.retryable], ['fail', 'provider_error', true]);
    assert.equal(task.billing.captured, '0');
    assert.deepEqual(comfy.statesOf('[fail]'), ['error']);
  });

  it('fails as unavailable if the server does not have the checkpoint, and runs nothing', async () => {
    const task = await ended(await create('no checkpoint', { model: 'test/other' }));

    assert.deepEqual([task.status, task.error?.code, task.error?.retryable], ['fail', 'MODEL_UNAVAILABLE', false]);
    assert.deepEqual(comfy.statesOf('no checkpoint'), []);
  });

  it('stops the workflow of a task that is cancelled, and removes one that waits', async () => {
    const running = await create('[hold] runs');
    await comfy.waitForState('runs', 'running');
    const waiting = await create('waits');
    await comfy.waitForState('waits', 'waiting');

    await account.client.send('POST', `/v1/tasks/${waiting}/cancel`);
    await comfy.waitForState('waits', 'removed');
    await account.client.send('POST', `/v1/tasks/${running}/cancel`);
    await comfy.waitForState('runs', 'interrupted');

    for (const taskId of [waiting, running]) assert.equal((await ended(taskId)).error?.code, 'TASK_CANCELLED');
    const log = await readFile(darkroom.logFile, 'utf8');
    const outcomes = [...log.matchAll(/"outcome":"([a-z_]+)"/g)].map(([, outcome]) => outcome);
    assert.deepEqual(outcomes, ['cancelled', 'cancelled']);
  });

  it('makes one job of a task that is created twice under a key, and of one whose worker is killed', async () => {
    const [worker] = darkroom.workers;
    const first = await create('[hold] once', { key: 'order-4711' });
    await comfy.waitForState('once', 'running');
    const second = await create('[hold] once', { key: 'order-4711' });
    await account.client.waitFor(first, ({ status }) => status === 'handling');
    await worker?.kill();
    await worker?.start();
    comfy.release();

    await assertSucceeds(first);
    assert.equal(second, first);
    assert.deepEqual(comfy.statesOf('once'), ['success']);
  });

  it('keeps a task whose server is away for a moment, and submits it once', async () => {
    await comfy.stop();
    const taskId = await create('patient');
    await waitFor('the proxy rejects it', async () => {
      const { body } = await account.client.send('GET', `/v1/tasks/${taskId}/events`);
      return JSON.stringify(body).includes('provider_refused');
    });
    await comfy.start();

    await assertSucceeds(taskId);
    assert.deepEqual(comfy.statesOf('patient'), ['success']);
  });
});

/** The model of the provider with another checkpoint, as an operator adds one. */
async function writeModelWithoutCheckpoint(modelsDir: string): Promise<void> {
  const model = JSON.parse(await readFile(packageFile('models/providers/comfy_api/sdxl.json'), 'utf8')) as {
    routes: { default: { upstreams: [{ model: string }] } };
  };
  model.routes.default.upstreams[0].model = 'none.safetensors';
  await mkdir(modelsDir, { recursive: true });
  await writeFile(path.join(modelsDir, 'other.json'), JSON.stringify({ ...model, name: 'test/other' }));
}
