/**
 * A pool of servers that keep their jobs in memory, through the whole service: one is killed, drained, or removed from
 * the model's file while its jobs run. `POOL_JOBS=40` runs fewer.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { verifyLedger } from '../../src/billing/verify.ts';
import { drainUpstream, resumeUpstream } from '../../src/upstreams/states.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { letPass } from '../support/let-pass.ts';
import { poolModel } from '../support/pool-model.ts';
import type { ApiTask } from '../support/api-client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import type { LogLine } from '../support/test-provider/log.ts';
import { startTestProvider } from '../support/test-provider/process.ts';
import type { TestProvider } from '../support/test-provider/process.ts';

const JOBS = Number(process.env['POOL_JOBS'] ?? 200);
/** What an operator does to an upstream is known to every worker by then. */
const KNOWN_WITHIN_MS = 1_500;
/** Of the jobs that reach it: long enough for all others of the same model, on a slow machine too. */
const DEADLINE_SECONDS = 60;
/** Each by an account of its own. */
const CREATED_AT_ONCE = 10;

describe('a pool of servers with jobs in memory', () => {
  let north: TestProvider;
  let south: TestProvider;
  let modelsDir: string;
  let darkroom: Darkroom;
  before(async () => {
    [north, south] = await Promise.all([startTestProvider(), startTestProvider()]);
    modelsDir = await mkdtemp(path.join(os.tmpdir(), 'darkroom-models-'));
    for (const [name, handlingSeconds] of [
      ['restarted', 600],
      ['dead', DEADLINE_SECONDS],
      ['drained', 600],
      ['removed', 600],
    ] as const) {
      await writeModel(name, poolModel(name, handlingSeconds, { north: north.url, south: south.url }));
    }
    darkroom = await startDarkroom({
      workers: 2,
      environment: { MODELS_DIR: modelsDir, UPSTREAM_TEST_KEY: 'test-key' },
    });
  });
  after(async () => {
    await darkroom?.stop();
    await Promise.all([north.stop(), south.stop()]);
    await rm(modelsDir, { recursive: true, force: true });
  });

  async function writeModel(name: string, definition: object): Promise<void> {
    const file = path.join(modelsDir, `${name}.json`);
    await writeFile(`${file}.new`, JSON.stringify(definition));
    await rename(`${file}.new`, file);
  }

  interface Started {
    readonly account: TestAccount;
    readonly prompt: string;
    readonly taskId: string;
  }

  async function start(account: TestAccount, model: string, behaviour: string): Promise<Started> {
    const key = randomUUID();
    const prompt = `${key} ${behaviour}`;
    let taskId = '';
    // A busy machine answers 503 now and then.
    await waitFor('the task is accepted', async () => {
      const { status, body } = await account.client.create({ model: `test/${model}`, input: { prompt } }, key);
      if (status === 503) return false;
      assert.equal(status, 200, JSON.stringify(body));
      ({ taskId } = body.data);
      return true;
    });
    return { account, prompt, taskId };
  }

  async function startMany(model: string, count: number, behaviour: string): Promise<readonly Started[]> {
    const accounts = await Promise.all(
      Array.from({ length: Math.min(count, CREATED_AT_ONCE) }, () => darkroom.createAccount()),
    );
    const started: Started[] = [];
    while (started.length < count) {
      const owners = accounts.slice(0, count - started.length);
      started.push(...(await Promise.all(owners.map((account) => start(account, model, behaviour)))));
    }
    return started;
  }

  const end = ({ account, taskId }: Started): Promise<ApiTask> => account.client.waitForTerminal(taskId);

  /** The server that has the job of each task, by its id: `north` or `south`. */
  async function serversOf(tasks: readonly Started[]): Promise<ReadonlyMap<string, string>> {
    const rows = await darkroom.testDatabase.database.query<{ taskId: string; upstream: string }>(
      {
        name: 'test_servers_of_tasks',
        text: `SELECT task_id AS "taskId", upstream FROM generations WHERE task_id = ANY($1) AND job_id IS NOT NULL`,
      },
      [tasks.map(({ taskId }) => taskId)],
    );
    return new Map(rows.map(({ taskId, upstream }) => [taskId, upstream.split('-').at(-1) ?? '']));
  }

  /** Tasks without a job that have not ended. */
  async function countUndecided(tasks: readonly Started[]): Promise<number> {
    const rows = await darkroom.testDatabase.database.query(
      {
        name: 'test_undecided_tasks',
        text: `SELECT 1 FROM tasks t WHERE id = ANY($1) AND completed_at IS NULL
                  AND NOT EXISTS (SELECT 1 FROM generations g WHERE g.task_id = t.id AND g.job_id IS NOT NULL)`,
      },
      [tasks.map(({ taskId }) => taskId)],
    );
    return rows.length;
  }

  const waitForJobs = (tasks: readonly Started[]): Promise<void> =>
    waitFor(`${tasks.length} tasks have jobs`, async () => (await serversOf(tasks)).size === tasks.length);

  const submitsAt = async (server: TestProvider, tasks: readonly Started[]): Promise<readonly LogLine[]> => {
    const prompts = new Set(tasks.map(({ prompt }) => prompt));
    return (await server.readLog()).filter(({ kind, prompt }) => kind === 'submit' && prompts.has(prompt ?? ''));
  };

  /** At the same address, without its jobs. */
  async function restartNorth(): Promise<void> {
    const killed = north;
    north = await startTestProvider(Number(new URL(killed.url).port));
    await killed.stop();
  }

  async function slotsTaken(model: string): Promise<number> {
    const [row] = await darkroom.testDatabase.database.query<{ taken: number }>(
      {
        name: 'test_slots_of_pool',
        text: `SELECT coalesce(sum(slots_taken), 0)::integer AS taken FROM upstream_states WHERE upstream LIKE $1`,
      },
      [`${model}-%`],
    );
    return row?.taken ?? 0;
  }

  it('loses the jobs of a killed server, each with its reason, and no job of the other', async (t) => {
    const marker = randomUUID();
    const first = await startMany('restarted', JOBS / 2, `${marker} [hold]`);
    await waitForJobs(first);
    const more = startMany('restarted', JOBS / 2, `${marker} [hold]`);
    await north.kill();
    const tasks = [...first, ...(await more)];
    const submits = [...(await submitsAt(north, tasks))];
    await waitFor('every task has a job or has ended', async () => (await countUndecided(tasks)) === 0);
    await south.release(marker);
    // Polls of its jobs are answered with 404 then.
    await restartNorth();

    const ended = await Promise.all(tasks.map(async (started) => ({ started, task: await end(started) })));

    const servers = await serversOf(tasks);
    const counts = { success: 0, lost: 0, unknown: 0 };
    for (const { started, task } of ended) {
      const server = servers.get(started.taskId);
      if (server === 'south') assert.equal(task.status, 'success', JSON.stringify(task));
      // A submit that was cut off may have been accepted.
      else assert.equal(task.error?.reason, server === 'north' ? 'provider_error' : 'outcome_unknown');
      counts[server === 'south' ? 'success' : server === 'north' ? 'lost' : 'unknown']++;
    }
    t.diagnostic(`${tasks.length} jobs: ${JSON.stringify(counts)}`);
    const atFirst = await serversOf(first);
    const halves = [...atFirst.values()].filter((server) => server === 'north').length;
    t.diagnostic(`of the first ${first.length}, ${halves} at the server that was killed`);
    assert.ok(Math.abs(halves - first.length / 2) <= 3, String(halves));
    assert.ok(counts.lost >= halves && counts.unknown <= 5, JSON.stringify(counts));
    // None was submitted twice.
    submits.push(...(await submitsAt(north, tasks)), ...(await submitsAt(south, tasks)));
    assert.equal(new Set(submits.map(({ prompt }) => prompt)).size, submits.length);
    await waitFor('no slot is taken', async () => (await slotsTaken('restarted')) === 0);
    assert.deepEqual(await verifyLedger(darkroom.testDatabase.database), []);
  });

  it('polls the jobs of a dead server until their deadline, while new tasks go to the other', async () => {
    const tasks = await startMany('dead', 6, '[hold]');
    await waitForJobs(tasks);
    const servers = await serversOf(tasks);
    assert.deepEqual(new Set(servers.values()), new Set(['north', 'south']));
    await north.kill();
    try {
      const later = await startMany('dead', 6, '');
      await Promise.all(tasks.map(({ prompt }) => south.release(prompt)));
      for (const each of later) assert.equal((await end(each)).status, 'success');

      for (const each of tasks) {
        const { status, error } = await end(each);
        if (servers.get(each.taskId) === 'south') assert.equal(status, 'success');
        else assert.deepEqual([status, error?.reason], ['fail', 'timed_out']);
      }
    } finally {
      // The other tests need both.
      await restartNorth();
    }
  });

  describe('whose members change', { concurrency: true }, () => {
    it('finishes the jobs of a drained server, and gives it no new ones until it is resumed', async () => {
      const { database } = darkroom.testDatabase;
      const before = await startMany('drained', 4, '[hold]');
      await waitForJobs(before);
      await drainUpstream(database, 'drained-north');
      await letPass(KNOWN_WITHIN_MS);

      const during = await startMany('drained', 6, '');
      for (const each of during) assert.equal((await end(each)).status, 'success');
      assert.deepEqual(new Set((await serversOf(during)).values()), new Set(['south']));
      for (const { prompt } of before) await Promise.all([north.release(prompt), south.release(prompt)]);
      for (const each of before) assert.equal((await end(each)).status, 'success');
      assert.deepEqual(new Set((await serversOf(before)).values()), new Set(['north', 'south']));

      await drainUpstream(database, 'drained-south');
      await letPass(KNOWN_WITHIN_MS);
      const waiting = await startMany('drained', 2, '');
      await waitFor('they are begun', async () => {
        const tasks = await Promise.all(waiting.map(({ account, taskId }) => account.client.get(taskId)));
        return tasks.every(({ body }) => body.data.status === 'handling');
      });
      assert.equal((await serversOf(waiting)).size, 0);
      await resumeUpstream(database, 'drained-north');
      for (const each of waiting) assert.equal((await end(each)).status, 'success');
      assert.deepEqual(new Set((await serversOf(waiting)).values()), new Set(['north']));
    });

    it('finishes the jobs of a server that is no longer in the file', async () => {
      const before = await startMany('removed', 4, '[hold]');
      await waitForJobs(before);
      await writeModel('removed', poolModel('removed', 600, { south: south.url }));
      const isLoaded = async (): Promise<boolean> =>
        (await readFile(darkroom.logFile, 'utf8')).includes('catalogue updated from the model files');
      await waitFor('the file is loaded', isLoaded);

      const later = await startMany('removed', 4, '');
      for (const each of later) assert.equal((await end(each)).status, 'success');
      assert.deepEqual(new Set((await serversOf(later)).values()), new Set(['south']));
      for (const { prompt } of before) await Promise.all([north.release(prompt), south.release(prompt)]);
      for (const each of before) assert.equal((await end(each)).status, 'success');
      assert.deepEqual(new Set((await serversOf(before)).values()), new Set(['north', 'south']));
    });
  });
});
