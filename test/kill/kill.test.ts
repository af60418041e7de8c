/**
 * kill -9 with many tasks in flight: the worker, the api, the Temporal server, and an immediate stop of PostgreSQL.
 * Afterwards nothing is lost, nothing was bought twice, and every micro-USD is accounted for.
 */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { verifyLedger } from '../../src/billing/verify.ts';
import { startCallbackReceiver } from '../support/callback-receiver-process.ts';
import type { CallbackReceiver } from '../support/callback-receiver-process.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, Role, TestAccount } from '../support/darkroom.ts';
import { writeModelFiles } from '../support/model-files.ts';
import { startTestProvider } from '../support/test-provider/process.ts';
import type { TestProvider } from '../support/test-provider/process.ts';
import { GIVE_UP_MS, waitFor } from '@darkroom/testing/wait-for';
import { startKillableServices } from './killable-services.ts';
import type { KillableServices } from './killable-services.ts';
import { createMany, createOne, validateTasks } from './workload.ts';
import type { Accepted } from './workload.ts';

/** Some of every kind, more than run at once, so that each kill finds tasks in every stage. */
const TASKS = 48;

describe('kill -9 with many tasks in flight', () => {
  let services: KillableServices;
  let provider: TestProvider;
  let receiver: CallbackReceiver;
  let darkroom: Darkroom;
  let modelsDir: string;
  let api: Role;
  let worker: Role;
  let account: TestAccount;

  before(async () => {
    [services, provider, receiver] = await Promise.all([
      startKillableServices(),
      startTestProvider(),
      startCallbackReceiver(),
    ]);
    modelsDir = await writeModelFiles(provider.url, {
      'fails-over': { fallback: 'unbilled_failure', upstreams: [{ protocol: 'tasks' }, { protocol: 'replicate' }] },
    });
    darkroom = await startDarkroom({
      databaseServer: services.databaseUrl,
      temporalAddress: services.temporalAddress,
      isSupervised: true,
      environment: {
        MODELS_DIR: modelsDir,
        UPSTREAM_TEST_KEY: 'test-key',
        EGRESS_ALLOW: `${provider.url},${receiver.url}`,
        CALLBACK_OFFSETS_SECONDS: '0,1,2,4,8,16',
      },
    });
    [api, worker] = [darkroom.apis[0] ?? assert.fail(), darkroom.workers[0] ?? assert.fail()];
    account = await darkroom.createAccount({ runningCap: 40 });
  });
  after(async () => {
    await darkroom?.stop();
    await Promise.all([provider?.stop(), receiver?.stop(), services?.stop()]);
    await rm(modelsDir, { recursive: true, force: true });
  });

  /** Waits until part of the round's work is at the provider, so that a kill interrupts it. */
  const waitForBusyProvider = (round: string): Promise<void> =>
    waitFor(`the provider works on the ${round} round`, async () => {
      const submits = (await provider.readLog()).filter(
        (line) => line.kind === 'submit' && line.prompt?.includes(`marker-${round}-`),
      );
      return submits.length >= 6;
    });

  /** Waits until the worker finishes tasks again. */
  const waitForSomeTerminal = async (accepted: readonly Accepted[]): Promise<void> => {
    await Promise.any(accepted.map(({ taskId }) => account.client.waitForTerminal(taskId)));
  };

  const waitForApi = (status: number): Promise<void> =>
    waitFor(`the api answers ${status}`, async () => {
      const answer = await account.client.get('tk-svc-00000000000000000000000000');
      return answer.status === status;
    });

  it('loses nothing when the worker is killed mid-generation, twice', async (t) => {
    const accepted = await createMany(account, receiver, 'worker', TASKS);
    await waitForBusyProvider('worker');
    await worker.kill();
    await worker.start();
    await waitForSomeTerminal(accepted);
    await worker.kill();
    await worker.start();

    t.diagnostic(JSON.stringify(await validateTasks(darkroom, account, accepted, provider, receiver)));
  });

  it('submits once at each upstream when the worker is killed while jobs fail over, twice', async (t) => {
    // One after the other, so that a kill finds some before, some in and some after their second submit.
    const prompts = Array.from(
      { length: TASKS },
      (_, index) => `marker-over-${index}- [fail-tasks] [bills 0] [slow ${500 + index * 250}]`,
    );
    const taskIds = await Promise.all(
      prompts.map(async (prompt) => {
        const created = await account.client.create({ model: 'test/fails-over', input: { prompt } });
        assert.equal(created.status, 200, JSON.stringify(created.body));
        return created.body.data.taskId;
      }),
    );
    const submitsAt = async (protocol: string, prompt = 'marker-over-'): Promise<number> => {
      const log = await provider.readLog();
      return log.filter(
        (line) => line.kind === 'submit' && line.protocol === protocol && line.prompt?.includes(prompt) === true,
      ).length;
    };
    for (const submits of [6, 18]) {
      await waitFor('the next upstream gets tasks', async () => (await submitsAt('replicate')) >= submits, 20);
      await worker.kill();
      await worker.start();
    }

    let succeeded = 0;
    for (const [index, taskId] of taskIds.entries()) {
      const task = await account.client.waitForTerminal(taskId);
      const submits = await submitsAt('replicate', prompts[index]);
      assert.equal(await submitsAt('tasks', prompts[index]), 1);
      if (task.status === 'success') succeeded += 1;
      // What was being sent when the worker was killed.
      else assert.equal(task.error?.reason, 'outcome_unknown', JSON.stringify(task));
      assert.ok(submits === 1 || (submits === 0 && task.status === 'fail'), `${taskId}: ${submits}`);
    }
    t.diagnostic(`${succeeded} of ${TASKS} succeeded`);
    assert.ok(succeeded > 0);
    assert.deepEqual(await verifyLedger(darkroom.testDatabase.database), []);
  });

  it('loses nothing when the api is killed between commit and start', async (t) => {
    const creating = createMany(account, receiver, 'api', TASKS);
    const waiting = await waitForOutbox(darkroom, 4);
    await api.kill();
    t.diagnostic(`${waiting} accepted tasks were not launched when the api was killed`);
    await api.start();

    const accepted = await creating;
    t.diagnostic(JSON.stringify(await validateTasks(darkroom, account, accepted, provider, receiver)));
  });

  // Proves C2-16.
  it('accepts tasks while the Temporal server is down, and runs each once when it is back', async (t) => {
    const before = await createMany(account, receiver, 'temporal', TASKS);
    await waitForBusyProvider('temporal');
    await services.temporal.kill();

    const created = await Promise.all(
      Array.from({ length: 12 }, (_, index) => createOne(account, receiver, 'temporal-down', index)),
    );
    const first = created[0] ?? assert.fail();
    assert.equal((await account.client.get(first.taskId)).body.data.status, 'queued');
    await services.temporal.start();

    t.diagnostic(JSON.stringify(await validateTasks(darkroom, account, [...before, ...created], provider, receiver)));
  });

  it('runs every open task to its end when Temporal comes back empty, and submits nothing twice', async (t) => {
    const open = await createMany(account, receiver, 'forgotten', TASKS);
    await waitForBusyProvider('forgotten');
    await services.temporal.kill();
    await services.forgetTemporal();
    const queued = await Promise.all(
      Array.from({ length: 12 }, (_, index) => createOne(account, receiver, 'forgotten-down', index)),
    );

    // A worker without a namespace to poll gives up after a minute, and its supervisor restarts it.
    await services.temporal.start();
    await waitFor('the worker was started again', () => worker.hasEndedByItself);
    // As docs/operations/scale.md describes for operators.
    await darkroom.migrate();

    t.diagnostic(JSON.stringify(await validateTasks(darkroom, account, [...open, ...queued], provider, receiver)));
  });

  it('loses nothing when PostgreSQL is stopped immediately', async (t) => {
    const creating = createMany(account, receiver, 'postgres', TASKS);
    await waitForBusyProvider('postgres');
    await services.postgres.kill();
    await waitForApi(503);
    await services.postgres.start();

    t.diagnostic(JSON.stringify(await validateTasks(darkroom, account, await creating, provider, receiver)));
  });
});

/**
 * Polls without a pause until accepted tasks are in the outbox, where they stay only for a moment. @returns how many.
 */
async function waitForOutbox(darkroom: Darkroom, wanted: number): Promise<number> {
  const deadline = Date.now() + GIVE_UP_MS;
  for (;;) {
    const [row] = await darkroom.testDatabase.database.query<{ waiting: number }>({
      name: 'test_outbox',
      text: `SELECT count(*)::integer AS waiting FROM outbox WHERE kind = 'start_task'`,
    });
    if (row !== undefined && row.waiting >= wanted) return row.waiting;
    assert.ok(Date.now() < deadline, 'the outbox never held that many');
  }
}
