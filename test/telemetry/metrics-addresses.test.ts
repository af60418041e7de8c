/** The addresses where processes are scraped and probed: as configured, and before they can work. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { TASK_QUEUES } from '../../src/domain/workflow-ids.ts';
import { loadConfig } from '../../src/config/config.ts';
import { reservePort } from '../support/reserve-port.ts';
import { readSettings } from '../../src/standalone/settings.ts';
import { LEAST, problemsOf } from '../config/least-configuration.ts';
import { Role } from '../support/darkroom.ts';
import { programEnvironment } from '../support/pooled-run.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { scrape } from './exposition.ts';

describe('METRICS_PORT', () => {
  it('is off by default, on loopback when set, and on other addresses only when configured', () => {
    assert.equal(loadConfig(LEAST).metrics, undefined);
    assert.equal(loadConfig({ ...LEAST, METRICS_HOST: '0.0.0.0' }).metrics, undefined);
    assert.deepEqual(loadConfig({ ...LEAST, METRICS_PORT: '9464' }).metrics, { host: '127.0.0.1', port: 9464 });
    const open = { ...LEAST, METRICS_PORT: '9464', METRICS_HOST: '0.0.0.0' };
    assert.deepEqual(loadConfig(open).metrics, { host: '0.0.0.0', port: 9464 });
    assert.equal(problemsOf(() => loadConfig({ ...LEAST, METRICS_PORT: 'x' })).length, 1);
    assert.equal(problemsOf(() => loadConfig({ ...LEAST, METRICS_PORT: '65536' })).length, 1);
  });

  it('under `npm start` conflicts with no other port, and neither does the one after it', () => {
    const problemsIn = (environment: NodeJS.ProcessEnv) => problemsOf(() => readSettings(environment));

    assert.deepEqual(problemsIn({ METRICS_PORT: '9464' }), []);
    assert.deepEqual(problemsIn({ METRICS_PORT: '8787' }).length, 2);
    assert.match(problemsIn({ METRICS_PORT: '8786' })[0] ?? '', /^METRICS_PORT \+ 1 and PORT are both 8787/);
    assert.match(problemsIn({ METRICS_PORT: '65535' })[0] ?? '', /the worker has the next port/);
  });
});

describe('a worker that waits for Temporal', () => {
  let testDatabase: TestDatabase;
  let directory: string;
  let url: string;
  let worker: Role;
  before(async () => {
    testDatabase = await createTestDatabase();
    directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-metrics-'));
    const port = await reservePort();
    url = `http://127.0.0.1:${port}`;
    const environment = {
      ...LEAST,
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      ...programEnvironment(testDatabase.url),
      TEMPORAL_ADDRESS: '127.0.0.1:1',
      STORE_URL: `file://${directory}/store`,
      METRICS_PORT: String(port),
    };
    worker = new Role('worker', environment, path.join(directory, 'log'));
    // It is never ready here.
    worker.start().catch(() => undefined);
    await waitFor('the worker is there', () =>
      fetch(`${url}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
  });
  after(async () => {
    await worker.kill('SIGTERM');
    await testDatabase.close();
    await rm(directory, { recursive: true, force: true });
  });

  it('is live, and reports that it is not ready and what is missing', async () => {
    assert.equal((await fetch(`${url}/healthz`)).status, 200);
    let response: Response | undefined;
    let missing: { readonly store?: boolean } = {};
    await waitFor('the owner of the store is known', async () => {
      response = await fetch(`${url}/readyz`);
      missing = (await response.json()) as typeof missing;
      return missing.store === true;
    });

    assert.equal(response?.status, 503);
    assert.deepEqual(missing, {
      status: 'not ready',
      database: true,
      store: true,
      temporal: false,
      clock: true,
      queues: Object.fromEntries(Object.keys(TASK_QUEUES).map((queue) => [queue, false])),
    });
  });

  it('is scraped all the same', async () => {
    const seen = await scrape(url);

    assert.equal(seen.value('darkroom_temporal_up'), 0);
    assert.equal(seen.value('darkroom_database_up'), 1);
    assert.equal(seen.value('darkroom_worker_running', { queue: 'media' }), 0);
    assert.equal(seen.value('darkroom_tasks_open'), 0);
  });
});
