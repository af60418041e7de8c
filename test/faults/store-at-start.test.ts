/**
 * Processes that start while their store is away (docs/decisions/0006): the api serves what needs no store, the worker
 * is not ready, both use nothing of it, and come up by themselves when it is back, or end when it is a wrong one.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { rename, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { after, before, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import { createDiskStore } from '../../src/objects/stores/disk-store.ts';
import { markStore } from '../../src/objects/stores/claimed-store.ts';
import { temporaryDirectory } from '../standalone/fixtures/supervised.ts';
import { Role, startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { temporalAddress } from '../support/test-namespace.ts';

describe('a store that is away when the processes start', () => {
  let darkroom: Darkroom;
  let api: Role;
  let worker: Role;
  before(async () => {
    darkroom = await startDarkroom({ hasMetrics: true });
    const [onlyApi, onlyWorker] = [darkroom.apis[0], darkroom.workers[0]];
    assert.ok(onlyApi !== undefined && onlyWorker !== undefined);
    [api, worker] = [onlyApi, onlyWorker];
  });
  after(() => darkroom.stop());

  async function stopAll(): Promise<void> {
    for (const role of [api, worker]) assert.equal(await role.kill('SIGTERM'), 0);
  }

  /** A file where its directory should be. */
  async function takeAway(directory: string): Promise<void> {
    await rename(directory, `${directory}-away`).catch(() => undefined);
    await writeFile(directory, 'no directory');
  }

  async function bringBack(directory: string): Promise<void> {
    await rm(directory);
    await rename(`${directory}-away`, directory);
  }

  /** As an operator may configure it on another machine. */
  function roleWith(role: 'api' | 'worker', storeDirectory: string): Role {
    const environment = {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      ...darkroom.testDatabase.environment,
      TEMPORAL_ADDRESS: temporalAddress(),
      TEMPORAL_NAMESPACE: darkroom.namespace,
      STORE_URL: pathToFileURL(storeDirectory).href,
      URL_SIGNING_KEY: randomBytes(24).toString('hex'),
      ENCRYPTION_KEY: randomBytes(24).toString('hex'),
      PORT: '0',
      PUBLIC_URL: darkroom.url,
    };
    return new Role(role, environment, `${storeDirectory}-${role}.log`);
  }

  const readiness = (url: string): Promise<{ status: number; store: boolean | null }> =>
    fetch(`${url}/readyz`).then(async (response) => {
      const { store } = (await response.json()) as { store: boolean | null };
      return { status: response.status, store };
    });

  it('keeps the worker from being ready and not the api, which reports it, and both recover when it is back', async () => {
    const { client } = await darkroom.createAccount();
    await stopAll();
    await takeAway(darkroom.storeDirectory);
    await Promise.all([api.start(), worker.start()]);
    const urls = [darkroom.url, ...darkroom.metricsUrls.slice(1)];

    const [apiUrl = '', workerUrl = ''] = urls;
    assert.deepEqual(await readiness(workerUrl), { status: 503, store: false });
    await waitFor('the api reports it', async () => {
      const { status, store } = await readiness(apiUrl);
      assert.equal(status, 200);
      return store === false;
    });
    const created = await client.create({ model: 'darkroom/poster', input: { prompt: 'a poster' } });
    assert.equal(created.status, 200);

    await bringBack(darkroom.storeDirectory);
    for (const url of urls) {
      await waitFor('it is ready, with its store', async () => {
        const { status, store } = await readiness(url);
        return status === 200 && store === true;
      });
    }
    const task = await client.waitForTerminal(created.body.data.taskId);
    assert.equal(task.status, 'success');
  });

  it('ends a worker and an api when it turns out to be a wrong one, and no output gets there', async () => {
    const { client } = await darkroom.createAccount();
    await worker.kill('SIGTERM');
    const directory = path.join(await temporaryDirectory(), 'store');
    const foreign = createDiskStore(`${directory}-away`);
    await markStore(foreign, 'inst_of_somebody_else');
    await takeAway(directory);
    const wrong = (['worker', 'api'] as const).map((role) => roleWith(role, directory));
    await Promise.all(wrong.map((role) => role.start()));
    const created = await client.create({ model: 'darkroom/poster', input: { prompt: 'a poster' } });
    await client.waitFor(created.body.data.taskId, ({ status }) => status !== 'queued');

    await bringBack(directory);

    for (const role of wrong) {
      await waitFor('it has ended', () => role.collapse !== undefined);
      assert.match(role.collapse ?? '', /with 78:[^]*the store of the installation inst_of_somebody_else/);
    }
    assert.deepEqual(await readdir(directory), ['installation', '~partial']);
    assert.equal((await client.get(created.body.data.taskId)).body.data.billing.captured, '0');

    await worker.start();
    const task = await client.waitForTerminal(created.body.data.taskId);
    assert.equal(task.status, 'success');
    assert.match(await readFile(`${directory}-worker.log`, 'utf8'), /reading the owner of the store failed/);
  });
});
