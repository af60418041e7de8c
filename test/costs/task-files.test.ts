/**
 * What a reader of one task has to read: the files of the service with a function that runs between its POST and the
 * receiver's 200 at a polled provider, without those that run in idle processes too.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { TestAccount } from '../support/darkroom.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { coverageEnvironment, executedWorkflows, takeExecuted } from '../support/executed-files.ts';
import type { Executed } from '../support/executed-files.ts';

/** What processes do by themselves is known when this many readings, a second apart, have shown nothing new. */
const QUIET_READINGS = 10;

describe('the files of one task', () => {
  let directory: string;
  let world: DarkroomWithUpstreams;
  let account: TestAccount;
  before(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'executed-'));
    world = await startDarkroomWithUpstreams(coverageEnvironment(directory));
    account = await world.darkroom.createAccount();
  });
  after(async () => {
    await world?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  async function runTask(): Promise<void> {
    const body = { model: 'test/tasks', input: { prompt: 'a lake' } };
    const taskId = await world.create(account, { ...body, callback: { url: `${world.receiver.url}/ok/files` } });
    await account.client.waitFor(taskId, ({ callback }) => callback?.state === 'delivered');
  }

  it('are listed, the workflow, the settlement and the delivery among them', async (t) => {
    const { apis, workers } = world.darkroom;
    const [api = assert.fail(), worker = assert.fail()] = [apis[0]?.pid, workers[0]?.pid];
    const take = async (): Promise<readonly Executed[]> => [
      await takeExecuted(api, directory),
      await takeExecuted(worker, directory),
    ];
    // What is only created once is created by the first.
    await runTask();
    await take();
    const [ofIdleApi, ofIdleWorker] = [new Set<string>(), new Set<string>()];
    const idle = [ofIdleApi, ofIdleWorker];
    let readings = 0;
    const isKnown = async (): Promise<boolean> => {
      const before = ofIdleApi.size + ofIdleWorker.size;
      (await take()).forEach((executed, index) => executed.forEach((_file, name) => idle[index]?.add(name)));
      readings = ofIdleApi.size + ofIdleWorker.size === before ? readings + 1 : 0;
      return readings >= QUIET_READINGS;
    };
    await waitFor('nothing new runs by itself', isKnown, 1_000);
    await runTask();
    const busy = await take();
    await workers[0]?.kill('SIGTERM');
    const workflows = await executedWorkflows(worker, directory);

    const [ofApi, ofWorker] = busy.map(
      (executed, index) => new Set([...executed].filter(([name]) => idle[index]?.has(name) !== true).map(([, f]) => f)),
    );
    assert.ok(ofApi !== undefined && ofWorker !== undefined);
    const inWorker = new Set([...ofWorker, ...workflows.values()]);
    const all = [...new Set([...ofApi, ...inWorker])].toSorted();
    t.diagnostic(`${all.length} files: ${ofApi.size} of the api, ${inWorker.size} of the worker`);
    for (const file of all)
      t.diagnostic(`${ofApi.has(file) ? 'api' : '   '} ${inWorker.has(file) ? 'worker' : '      '} ${file}`);
    for (const file of ['workflows/media-task.ts', 'activities/send-callback.ts', 'src/tasks/create/accept.ts']) {
      assert.ok(all.includes(file), file);
    }
  });
});
