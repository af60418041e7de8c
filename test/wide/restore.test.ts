/**
 * The restore drill (docs/operations/backup-and-upgrade.md): an installation with work of every kind is backed up, its
 * database, its object store and Temporal at different moments. Everything is killed, restored and started again. For
 * each order of the moments: what is repaired without anybody, what is reported, what is lost, how long it takes; and
 * that money moves once and no provider is asked twice for what one of the backups knows.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { waitFor } from '@darkroom/testing/wait-for';
import { readOwner } from '../../src/objects/stores/claimed-store.ts';
import { createDiskStore } from '../../src/objects/stores/disk-store.ts';
import { runAdminCommand } from '../commands/admin-command.ts';
import type { ApiTask } from '../support/api-client.ts';
import { startCallbackReceiver } from '../support/callback-receiver-process.ts';
import { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import { startDarkroom } from '../support/darkroom.ts';
import { MODEL_PRICE, writeModelFiles } from '../support/model-files.ts';
import { startTestProvider } from '../support/test-provider/process.ts';
import { startRestoreServices } from './restore-services.ts';
import type { Moments, Part, RestoreServices } from './restore-services.ts';
import { BATCH_LINES, LAST_PHASE, RestoreWork } from './restore-work.ts';
import type { SentTask, Work } from './restore-work.ts';

/** By name; the moment of each backup is the end of that phase. */
const ORDERS: Readonly<Record<string, Moments>> = {
  'PostgreSQL, then the store, then Temporal': { postgresql: 1, store: 2, temporal: 3 },
  'PostgreSQL, then Temporal, then the store': { postgresql: 1, store: 3, temporal: 2 },
  'the store, then PostgreSQL, then Temporal': { postgresql: 2, store: 1, temporal: 3 },
  'Temporal, then PostgreSQL, then the store': { postgresql: 2, store: 3, temporal: 1 },
  'the store, then Temporal, then PostgreSQL': { postgresql: 3, store: 1, temporal: 2 },
  'Temporal, then the store, then PostgreSQL': { postgresql: 3, store: 2, temporal: 1 },
  'PostgreSQL, then the store, and nothing of Temporal': { postgresql: 2, store: 3, temporal: 0 },
};
const PARTS: readonly Part[] = ['postgresql', 'store', 'temporal'];

// One after the other: each restores the whole installation.
describe('a restore', { timeout: 3_600_000 }, () => {
  let services: RestoreServices;
  let outside: DarkroomWithUpstreams;
  before(async () => {
    services = await startRestoreServices();
    const [provider, receiver] = await Promise.all([startTestProvider(), startCallbackReceiver()]);
    const modelsDir = await writeModelFiles(provider.url);
    const darkroom = await startDarkroom({
      databaseServer: services.databaseUrl,
      temporalAddress: services.temporalAddress,
      environment: {
        MODELS_DIR: modelsDir,
        UPSTREAM_TEST_KEY: 'test-key',
        EGRESS_ALLOW: `${provider.url},${receiver.url}`,
        CALLBACK_OFFSETS_SECONDS: '0,5,15,30,60,120',
      },
    });
    outside = new DarkroomWithUpstreams(darkroom, provider, receiver, modelsDir);
    const store = createDiskStore(darkroom.storeDirectory);
    assert.equal(await readOwner(store), darkroom.installationId);
  });
  after(async () => {
    await outside?.stop();
    await services?.stop();
  });

  const rows = <Row>(name: string, text: string, values: unknown[] = []): Promise<readonly Row[]> =>
    outside.darkroom.testDatabase.database.query<Row & object>({ name: `test_restore_${name}`, text }, values);

  async function backUp(phase: number, moments: Moments): Promise<void> {
    for (const part of PARTS) {
      if (moments[part] === phase) await services.backUp(part, phase, outside.darkroom.storeDirectory);
    }
  }

  /** @returns the milliseconds from the start of the services until the api and the worker are ready. */
  async function restore(moments: Moments): Promise<number> {
    const { darkroom } = outside;
    await Promise.all([...darkroom.apis, ...darkroom.workers].map((role) => role.kill('SIGKILL')));
    await services.kill();
    await services.restore(moments, darkroom.storeDirectory);
    const beganAt = performance.now();
    await services.start();
    await darkroom.migrate();
    for (const role of [...darkroom.workers, ...darkroom.apis]) await role.start();
    return performance.now() - beganAt;
  }

  /** Waits until the installation has nothing open, without reading a task, which would repair it. */
  async function waitForQuiet(): Promise<number> {
    const beganAt = performance.now();
    let open: unknown;
    await waitFor(
      () => `nothing is open, but ${JSON.stringify(open)} is`,
      async () => {
        const [row] = await rows<{ open: number }>('open', OPEN).catch(() => []);
        open = row;
        return row?.open === 0;
      },
      500,
    );
    return performance.now() - beganAt;
  }

  /** The tasks that the database does not know; their clients repeat them. */
  async function repeatLost(work: RestoreWork, { postgresql }: Moments): Promise<readonly SentTask[]> {
    const { account, tasks } = work.work;
    const lost: SentTask[] = [];
    for (const task of tasks) if ((await account.client.get(task.taskId)).status === 404) lost.push(task);
    assert.deepEqual(
      lost,
      tasks.filter(({ phase }) => phase > postgresql),
    );
    for (const task of lost) await work.repeat(task);
    return lost;
  }

  async function assertTask(work: Work, task: SentTask, moments: Moments, isMissing: boolean): Promise<void> {
    const found: ApiTask = await work.account.client.waitForTerminal(task.taskId);
    assert.equal(found.status, 'success', `${task.marker} ${JSON.stringify(found)}`);
    assert.deepEqual(found.billing, { currency: 'USD', held: MODEL_PRICE, captured: MODEL_PRICE, released: '0' });
    const announced = (await outside.callbacksOf(task.taskId)).map(({ body }) => (JSON.parse(body) as ApiTask).status);
    assert.deepEqual([...new Set(announced)], ['success'], task.marker);
    const submits = (await outside.providerLog(task.marker)).filter(({ kind }) => kind === 'submit').length;
    // What neither the database nor Temporal knows is bought again when its client repeats it.
    const isUnknown = task.phase > moments.postgresql && task.phase > moments.temporal;
    assert.equal(submits, isUnknown ? 2 : 1, task.marker);
    const [output] = found.output ?? [];
    assert.deepEqual(await download(output?.url), isMissing ? [404, 0] : [200, output?.sizeBytes], task.marker);
  }

  /** As a client does who repeats what a busy service answers with 503. @returns the status, and the size of a file. */
  async function download(url = ''): Promise<readonly [number, number]> {
    let answer: readonly [number, number] = [503, 0];
    await waitFor('the download has an answer', async () => {
      const response = await fetch(url);
      const { byteLength } = await response.arrayBuffer();
      answer = [response.status, response.status === 200 ? byteLength : 0];
      return response.status !== 503;
    });
    return answer;
  }

  async function verifyOutputs(...args: string[]) {
    const { darkroom } = outside;
    const { code, stdout, stderr } = await runAdminCommand(['outputs', 'verify', '--json', ...args], {
      ...darkroom.testDatabase.environment,
      STORE_URL: pathToFileURL(darkroom.storeDirectory).href,
    });
    assert.notEqual(stdout, '', stderr);
    const report = JSON.parse(stdout) as { outputs: { task: string }[]; uploads: { file: string }[] };
    return { code, tasks: report.outputs.map(({ task }) => task), uploads: report.uploads.map(({ file }) => file) };
  }

  async function drill(t: TestContext, round: string, moments: Moments): Promise<void> {
    const { darkroom } = outside;
    // What an order that failed has left.
    await verifyOutputs('--delete-missing');
    const work = new RestoreWork(outside, round, await darkroom.createAccount());
    const { account, tasks, responses, uploads } = work.work;
    for (let phase = 1; phase <= LAST_PHASE; phase++) {
      await work.run(phase);
      await backUp(phase, moments);
    }
    const [before] = await rows<{ id: bigint }>('last_repair', 'SELECT coalesce(max(id), 0) AS id FROM repairs');

    const startMs = await restore(moments);
    await work.release();
    const repairMs = await waitForQuiet();
    const lost = await repeatLost(work, moments);
    const repeatMs = await waitForQuiet();

    // What a store that is older than the database lacks, and nothing else, is listed for the operator.
    const settledIn = ({ finishedIn }: SentTask): number => finishedIn;
    const isMissing = (task: SentTask): boolean =>
      settledIn(task) <= moments.postgresql && settledIn(task) > moments.store;
    const missingTasks = tasks.filter(isMissing).map(({ taskId }) => taskId);
    const missingUploads = uploads.filter(({ phase }) => phase <= moments.postgresql && phase > moments.store);
    const verified = await verifyOutputs();
    assert.deepEqual(verified.tasks.toSorted(), missingTasks.toSorted());
    assert.deepEqual(verified.uploads.toSorted(), missingUploads.map(({ id }) => id).toSorted());
    assert.equal(verified.code, missingTasks.length + missingUploads.length === 0 ? 0 : 1);

    for (const task of tasks) await assertTask(work.work, task, moments, isMissing(task));
    for (const { id, phase } of responses) {
      const { status } = await account.client.send('GET', `/v1/responses/${id}`);
      assert.equal(status, phase > moments.postgresql ? 404 : 200, `the response of phase ${phase}`);
    }
    const { body: batch } = await account.client.send('GET', `/v1/batches/${work.work.batchId}`);
    const { status, request_counts: counts } = batch as unknown as { status: string; request_counts: object };
    assert.deepEqual([status, counts], ['completed', { total: BATCH_LINES, completed: BATCH_LINES, failed: 0 }]);
    const lines = (await outside.providerLog(`marker-${round}-batch-1-`)).filter(({ kind }) => kind === 'submit');
    assert.equal(lines.length, BATCH_LINES);
    await outside.assertSettled(account);

    await verifyOutputs('--delete-missing');
    assert.deepEqual(await verifyOutputs(), { code: 0, tasks: [], uploads: [] });
    const repairs = await rows<{ kind: string; count: number }>('repairs', REPAIRS, [before?.id ?? 0n]);
    t.diagnostic(
      JSON.stringify({
        moments,
        seconds: { start: seconds(startMs), repaired: seconds(repairMs), repeated: seconds(repeatMs) },
        repairs: Object.fromEntries(repairs.map(({ kind, count }) => [kind, count])),
        tasks: { all: tasks.length + BATCH_LINES, lost: lost.length, boughtTwice: boughtTwice(tasks, moments) },
        lost: { outputs: missingTasks.length, uploads: missingUploads.length },
        textCalls: responses.filter(({ phase }) => phase > moments.postgresql).length,
      }),
    );
  }

  for (const [index, [order, moments]] of Object.entries(ORDERS).entries()) {
    it(`of ${order}`, (t) => drill(t, `r${index}`, moments));
  }
});

function boughtTwice(tasks: readonly SentTask[], { postgresql, temporal }: Moments): number {
  return tasks.filter(({ phase }) => phase > postgresql && phase > temporal).length;
}

function seconds(ms: number): number {
  return Math.round(ms / 100) / 10;
}

const OPEN = `SELECT ((SELECT count(*) FROM tasks WHERE completed_at IS NULL)
                    + (SELECT count(*) FROM callbacks WHERE state = 'pending')
                    + (SELECT count(*) FROM batches WHERE ended_at IS NULL)
                    + (SELECT count(*) FROM outbox))::integer AS open`;
const REPAIRS = 'SELECT kind, count(*)::integer AS count FROM repairs WHERE id > $1 GROUP BY kind ORDER BY kind';
