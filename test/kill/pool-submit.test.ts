/** The workers are killed while a member of a pool is asked: no other member ever gets the task. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { poolModel } from '../support/pool-model.ts';
import { startTestProvider } from '../support/test-provider/process.ts';
import type { TestProvider } from '../support/test-provider/process.ts';

const JOBS = 6;

describe('workers that are killed while members of a pool are asked', () => {
  let servers: readonly TestProvider[];
  let modelsDir: string;
  let darkroom: Darkroom;
  before(async () => {
    servers = await Promise.all([startTestProvider(), startTestProvider(), startTestProvider()]);
    modelsDir = await mkdtemp(path.join(os.tmpdir(), 'darkroom-models-'));
    const urls = Object.fromEntries(servers.map(({ url }, index) => [`s${index}`, url]));
    await writeFile(path.join(modelsDir, 'pool.json'), JSON.stringify(poolModel('pool', 600, urls)));
    const environment = { MODELS_DIR: modelsDir, UPSTREAM_TEST_KEY: 'test-key' };
    darkroom = await startDarkroom({ workers: 2, environment });
  });
  after(async () => {
    await darkroom?.stop();
    await Promise.all(servers.map((server) => server.stop()));
    await rm(modelsDir, { recursive: true, force: true });
  });

  it('leave each task with the member that was asked, of unknown outcome or with its job', async () => {
    const { client } = await darkroom.createAccount();
    const marker = randomUUID();
    const tasks: string[] = [];
    for (let index = 0; index < JOBS; index++) {
      // Half of them have their jobs by then.
      const prompt = `${marker} ${index} ${index % 2 === 0 ? '[hold-submit]' : '[slow 5000]'}`;
      const { status, body } = await client.create({ model: 'test/pool', input: { prompt } });
      assert.equal(status, 200, JSON.stringify(body));
      tasks.push(body.data.taskId);
    }
    const submits = async () => {
      const logs = await Promise.all(servers.map((server) => server.readLog()));
      return logs.map((log) => log.filter(({ kind, prompt }) => kind === 'submit' && prompt?.includes(marker)));
    };
    const countOf = async (): Promise<number> => (await submits()).flat().length;
    await waitFor('all are submitted', async () => (await countOf()) === JOBS);
    await waitFor('those with jobs have them', async () => {
      const rows = await darkroom.testDatabase.database.query({
        name: 'test_jobs_of_pool',
        text: `SELECT 1 FROM generations WHERE job_id IS NOT NULL`,
      });
      return rows.length === JOBS / 2;
    });

    await Promise.all(darkroom.workers.map((worker) => worker.kill()));
    await Promise.all(darkroom.workers.map((worker) => worker.start()));

    for (const [index, taskId] of tasks.entries()) {
      const { status, error } = await client.waitForTerminal(taskId);
      assert.deepEqual([status, error?.reason], index % 2 === 0 ? ['fail', 'outcome_unknown'] : ['success', undefined]);
    }
    assert.equal(await countOf(), JOBS);
    // Every member was asked, and none left a slot.
    assert.ok((await submits()).every(({ length }) => length > 0));
    await waitFor('no slot is taken', async () => {
      const rows = await darkroom.testDatabase.database.query({
        name: 'test_slots_of_killed_pool',
        text: 'SELECT 1 FROM upstream_states WHERE slots_taken > 0',
      });
      return rows.length === 0;
    });
  });
});
