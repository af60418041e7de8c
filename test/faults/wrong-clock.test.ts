/**
 * Workers and apis whose clock is wrong by 30 days, as processes of their own: they report it and are not ready until
 * it is right. A worker takes no work until then; and if configured to work anyway, it charges, expires and deletes
 * by the clock of the database.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { packageFile } from '../../src/config/package-root.ts';
import { newId } from '../../src/domain/ids.ts';
import { taskQueueOf } from '../../src/domain/workflow-ids.ts';
import type { MaintainResult, MeterResult, SweepResult } from '../../workflows/contracts.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { writeModelFiles } from '../support/model-files.ts';
import { startTestProvider } from '../support/test-provider/process.ts';
import { waitFor } from '@darkroom/testing/wait-for';

const DAY_MS = 86_400_000;
const SHIFTS = { ahead: 30 * DAY_MS, behind: -30 * DAY_MS };

/** A Darkroom whose api or worker has another clock, which the test moves. */
async function withShifted(
  role: 'api' | 'worker',
  shiftMs: number,
  environment: Readonly<Record<string, string>>,
  work: (darkroom: Darkroom, shift: (ms: number) => Promise<void>) => Promise<void>,
): Promise<void> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-clock-'));
  const file = path.join(directory, 'shift');
  const shift = (ms: number): Promise<void> => writeFile(file, String(ms));
  await shift(shiftMs);
  const preload = pathToFileURL(packageFile('test/support/shift-clock.mjs')).href;
  const darkroom = await startDarkroom({
    hasMetrics: true,
    environment: {
      NODE_OPTIONS: `--import=${preload}`,
      CLOCK_SHIFT_FILE: file,
      CLOCK_SHIFT_ROLE: role,
      ...environment,
    },
  });
  try {
    await work(darkroom, shift);
  } finally {
    await darkroom.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

/** The readiness of a role as a probe sees it. */
interface Readiness {
  readonly clock: boolean;
  readonly database: boolean;
  /** Of a worker. */
  readonly queues: Readonly<Record<string, boolean>>;
}

async function readinessOf(url: string): Promise<{ status: number; parts: Readiness }> {
  const response = await fetch(`${url}/readyz`);
  return { status: response.status, parts: (await response.json()) as Readiness };
}

/** The roles that have logged that their clock is wrong. */
async function rolesFoundWrong({ logFile }: Darkroom): Promise<ReadonlySet<string>> {
  const lines = (await readFile(logFile, 'utf8')).split('\n');
  const wrong = lines.filter((line) => line.includes('the clock of this process is wrong'));
  return new Set(wrong.map((line) => (JSON.parse(line) as { role: string }).role));
}

/** Asserts what a scrape shows of a process whose clock is wrong by the given amount. */
async function assertShownWrong(metricsUrl: string, shiftMs: number): Promise<void> {
  const text = await (await fetch(`${metricsUrl}/metrics`)).text();
  assert.match(text, /^darkroom_clock_wrong 1$/m);
  const skew = Number(/^darkroom_clock_skew_seconds (\S+)$/m.exec(text)?.[1]);
  assert.ok(Math.abs(skew - shiftMs / 1000) < 10, String(skew));
}

describe('a worker whose clock is briefly wrong', () => {
  it('accepts work again immediately, and loses no submit in progress', async () => {
    const provider = await startTestProvider();
    const modelsDir = await writeModelFiles(provider.url);
    const environment = {
      MODELS_DIR: modelsDir,
      UPSTREAM_TEST_KEY: 'test-key',
      EGRESS_ALLOW: provider.url,
      UPSTREAM_GRACE_SECONDS: '300',
    };
    const submits = async (): Promise<number> =>
      (await provider.readLog()).filter(({ kind, prompt }) => kind === 'submit' && prompt?.startsWith('a pier')).length;
    try {
      await withShifted('worker', 0, environment, async (darkroom, shift) => {
        const [, metrics = ''] = darkroom.metricsUrls;
        const { client } = await darkroom.createAccount();
        const create = async (prompt: string): Promise<string> =>
          (await client.create({ model: 'test/openai', input: { prompt } })).body.data.taskId;
        const slow = await create('a pier [hold]');
        await waitFor('the provider works on it', async () => (await submits()) === 1);

        await shift(60_000);
        await waitFor('the worker has stopped', async () => !(await readinessOf(metrics)).parts.clock);
        await shift(0);
        await waitFor('the worker is ready', async () => (await readinessOf(metrics)).status === 200);
        const quick = await create('a lake');
        assert.equal((await client.waitForTerminal(quick)).status, 'success');

        const rows = await darkroom.testDatabase.database.query<{ status: string }>(
          { name: 'test_status_of_slow_task', text: 'SELECT status FROM tasks WHERE id = $1' },
          [slow],
        );
        assert.deepEqual(rows, [{ status: 'handling' }]);
        await provider.release('a pier');
        assert.equal((await client.waitForTerminal(slow)).status, 'success');
        assert.equal(await submits(), 1);
      });
    } finally {
      await provider.stop();
      await rm(modelsDir, { recursive: true, force: true });
    }
  });
});

for (const [name, shiftMs] of Object.entries(SHIFTS)) {
  describe(`an api whose clock is 30 days ${name}`, () => {
    it('reports that and is not ready until its clock is right, and uses the clock of the database', async () => {
      await withShifted('api', shiftMs, {}, async (darkroom, shift) => {
        const [metrics = '', ofWorker = ''] = darkroom.metricsUrls;
        const wrong = await readinessOf(darkroom.url);
        assert.equal(wrong.status, 503);
        assert.equal(wrong.parts.clock, false);
        assert.equal(wrong.parts.database, true);
        assert.deepEqual(await rolesFoundWrong(darkroom), new Set(['api']));
        await assertShownWrong(metrics, shiftMs);
        // The worker's clock is right.
        await waitFor('the worker is ready', async () => (await readinessOf(ofWorker)).status === 200);

        // Clients that still send requests to it are served, with times and signatures that are valid elsewhere.
        const { client } = await darkroom.createAccount();
        const created = await client.create({ model: 'darkroom/scene', input: { prompt: 'a lighthouse' } });
        const [output] = (await client.waitForTerminal(created.body.data.taskId)).output ?? [];
        assert.ok(output !== undefined, 'the task has no output');
        assert.ok(Math.abs(output.expireAt * 1000 - Date.now()) < DAY_MS, String(output.expireAt));
        assert.equal((await fetch(output.url)).status, 200);

        await shift(0);
        await waitFor('the api is ready', async () => (await readinessOf(darkroom.url)).status === 200);
        assert.match(await (await fetch(`${metrics}/metrics`)).text(), /^darkroom_clock_wrong 0$/m);

        await shift(shiftMs);
        await waitFor('the api is not ready', async () => (await readinessOf(darkroom.url)).status === 503);
      });
    });
  });

  describe(`a worker whose clock is 30 days ${name}`, () => {
    it('reports that, is not ready and accepts no work until its clock is right', async () => {
      await withShifted('worker', shiftMs, {}, async (darkroom, shift) => {
        const [, metrics = ''] = darkroom.metricsUrls;
        const readiness = () => readinessOf(metrics);
        const wrong = await readiness();
        assert.equal(wrong.status, 503);
        assert.equal(wrong.parts.clock, false);
        assert.deepEqual(new Set(Object.values(wrong.parts.queues)), new Set([false]));
        assert.deepEqual(await rolesFoundWrong(darkroom), new Set(['worker']));
        await assertShownWrong(metrics, shiftMs);
        // The api's clock is right.
        assert.equal((await fetch(`${darkroom.url}/readyz`)).status, 200);

        const account = await darkroom.createAccount();
        const { taskId } = (await account.client.create({ model: 'darkroom/scene', input: { prompt: 'a lighthouse' } }))
          .body.data;
        const statusOf = async (): Promise<string | undefined> => {
          const rows = await darkroom.testDatabase.database.query<{ status: string }>(
            { name: 'test_status_of_task', text: 'SELECT status FROM tasks WHERE id = $1' },
            [taskId],
          );
          return rows[0]?.status;
        };
        await waitFor('Temporal has the task', async () => {
          const { database } = darkroom.testDatabase;
          return (await database.query({ name: 'test_outbox', text: 'SELECT 1 FROM outbox' })).length === 0;
        });
        assert.equal(await statusOf(), 'queued');

        await shift(0);
        await waitFor('the worker is ready', async () => (await readiness()).status === 200);
        await waitFor('the task is done', async () => (await statusOf()) === 'success');

        await shift(shiftMs);
        await waitFor('the worker has stopped', async () => {
          const { parts } = await readiness();
          return !parts.clock && Object.values(parts.queues).every((isServed) => !isServed);
        });
      });
    });

    it('charges, expires and deletes nothing early or late when it is configured to work anyway', async () => {
      await withShifted('worker', shiftMs, { CLOCK_SKEW_SECONDS: '0' }, async (darkroom) => {
        const { database } = darkroom.testDatabase;
        let statements = 0;
        const rows = <Row>(text: string, ...values: unknown[]): Promise<readonly Row[]> =>
          database.query<Row>({ name: `test_clock_${(statements += 1)}`, text }, values);
        const run = <Result>(type: string, ...args: unknown[]): Promise<Result> =>
          darkroom.temporal.workflow.execute(type, {
            workflowId: newId('req'),
            taskQueue: taskQueueOf('media', darkroom.installationId),
            args,
          }) as Promise<Result>;
        // An output that has been persistent for three days, a temporary one that expired a day ago, and one that has
        // a day left.
        const account = await darkroom.createAccount();
        const { client } = account;
        const done = async (storage: string): Promise<string> => {
          const request = { model: 'darkroom/scene', input: { prompt: 'a lighthouse' }, storage };
          const { taskId } = (await client.create(request)).body.data;
          await waitFor('the task is done', async () => {
            const [task] = await rows<{ status: string }>('SELECT status FROM tasks WHERE id = $1', taskId);
            return task?.status === 'success';
          });
          const [output] = await rows<{ id: string }>('SELECT id FROM outputs WHERE task_id = $1', taskId);
          return output?.id ?? assert.fail('the task has no output');
        };
        const kept = await done('persistent');
        const over = await done('temp');
        const young = await done('temp');
        await rows(`UPDATE storage_periods SET began_at = now() - interval '3 days' WHERE output_id = $1`, kept);
        await rows(`UPDATE outputs SET retain_until = now() - interval '1 day' WHERE id = $1`, over);
        await rows(`UPDATE outputs SET retain_until = now() + interval '1 day' WHERE id = $1`, young);
        const file = { id: newId('file'), sha: randomBytes(32).toString('hex') };
        await rows(
          `INSERT INTO files (id, account_id, object_key, mime_type, size_bytes, sha256, created_at, expires_at)
           VALUES ($1, $2, $3, 'image/png', 1, $4, now(), now() + interval '1 day')`,
          file.id,
          account.id,
          `files/ZZ/${file.id}-original`,
          file.sha,
        );

        await run<MaintainResult>('maintain');
        const metered = await run<MeterResult>('meterStorage');
        await run<SweepResult>('sweepObjects', { target: 'deleted' });
        await run<SweepResult>('sweepObjects', { target: 'unnamed' });

        const gone = await rows<{ id: string; isErased: boolean }>(
          `SELECT id, bytes_deleted_at IS NOT NULL AS "isErased" FROM outputs WHERE gone_at IS NOT NULL`,
        );
        assert.deepEqual(gone, [{ id: over, isErased: true }]);
        assert.deepEqual(await rows('SELECT id FROM files WHERE gone_at IS NOT NULL'), []);
        // Whole days that have ended since it became persistent, whatever the hour: it became persistent in the
        // middle of the first.
        const [days] = await rows<{ due: string }>(
          `SELECT string_agg(day::text, ' ' ORDER BY day) AS due FROM storage_days`,
        );
        const [expected] = await rows<{ due: string }>(
          `SELECT string_agg(day::date::text, ' ' ORDER BY day) AS due
             FROM generate_series((now() AT TIME ZONE 'UTC')::date - 3, (now() - interval '1 minute') AT TIME ZONE 'UTC'
                                  - interval '1 day', interval '1 day') AS day`,
        );
        assert.deepEqual(days, expected);
        assert.equal(metered.returned, 0);
      });
    });
  });
}
