/**
 * Deploys while synchronous upstreams, which answer a submit only with its result, are working: the worker waits for
 * them, takes nothing new, and hands back what another worker can continue. No paid generation is lost, and none is
 * requested twice.
 */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { isWorkedOnBy } from '../support/at-work.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, Role, TestAccount } from '../support/darkroom.ts';
import { writeModelFiles } from '../support/model-files.ts';
import { startTestProvider } from '../support/test-provider/process.ts';
import type { TestProvider } from '../support/test-provider/process.ts';
import { waitFor } from '@darkroom/testing/wait-for';

/** Longer than the heartbeat timeout (10 s) and than the grace time of everything else. */
const ANSWER_MS = 14_000;
const GRACE_SECONDS = 2;
const TASKS = 6;

describe('a deploy while upstreams work', () => {
  let provider: TestProvider;
  let modelsDir: string;
  let darkroom: Darkroom;
  let account: TestAccount;
  before(async () => {
    provider = await startTestProvider();
    modelsDir = await writeModelFiles(provider.url);
    darkroom = await startDarkroom({
      workers: 2,
      environment: {
        MODELS_DIR: modelsDir,
        UPSTREAM_TEST_KEY: 'test-key',
        EGRESS_ALLOW: provider.url,
        SHUTDOWN_GRACE_SECONDS: String(GRACE_SECONDS),
        UPSTREAM_GRACE_SECONDS: '300',
      },
    });
    account = await darkroom.createAccount();
  });
  after(async () => {
    await darkroom?.stop();
    await provider?.stop();
    await rm(modelsDir, { recursive: true, force: true });
  });

  async function create(model: string, prompt: string): Promise<string> {
    const { body } = await account.client.create({ model, input: { prompt } });
    return body.data.taskId;
  }

  /** How often the provider received a submit for each of them. */
  async function submits(tag: string): Promise<readonly number[]> {
    const log = await provider.readLog();
    return Array.from(
      { length: TASKS },
      (_, index) =>
        log.filter(({ kind, prompt }) => kind === 'submit' && prompt?.startsWith(`${tag} ${index} `) === true).length,
    );
  }

  /** Tasks whose submit the provider has received and not answered. */
  async function beginAll(tag: string): Promise<readonly string[]> {
    const ids = await Promise.all(
      Array.from({ length: TASKS }, (_, index) => create('test/openai', `${tag} ${index} [slow ${ANSWER_MS}]`)),
    );
    await waitFor('the provider works on each', async () => (await submits(tag)).every((count) => count === 1));
    return ids;
  }

  const isWaitedForBy = (worker: Role, taskId: string): Promise<boolean> =>
    isWorkedOnBy(worker, darkroom, taskId, 'awaitGeneration');

  it('loses none of their jobs, and submits none of them again', async () => {
    const ids = await beginAll('pier');

    for (const worker of darkroom.workers) {
      await worker.kill('SIGTERM');
      await worker.start();
    }

    const ends = await Promise.all(ids.map((taskId) => account.client.waitForTerminal(taskId)));
    assert.deepEqual(
      ends.map(({ status, error }) => error?.reason ?? status),
      Array.from({ length: TASKS }, () => 'success'),
    );
    assert.deepEqual(
      await submits('pier'),
      Array.from({ length: TASKS }, () => 1),
    );
  });

  it('hands a running job to another worker meanwhile, and accepts nothing new', async () => {
    const [ending, other] = darkroom.workers;
    assert.ok(ending !== undefined && other !== undefined);
    await other.kill('SIGTERM');
    const ids = await beginAll('lake');
    const job = await create('test/tasks', 'a job [slow 600000]');
    await account.client.waitFor(job, ({ status }) => status === 'handling');
    await waitFor('the ending worker waits for the job', () => isWaitedForBy(ending, job));

    const ended = ending.kill('SIGTERM');
    await other.start();
    await waitFor('the other one waits for the job', () => isWaitedForBy(other, job));
    const late = await create('test/openai', 'a late one');
    assert.equal((await account.client.waitForTerminal(late)).status, 'success');
    await ended;

    const ends = await Promise.all(ids.map((taskId) => account.client.waitForTerminal(taskId)));
    assert.ok(ends.every(({ status }) => status === 'success'));
    assert.deepEqual(
      await submits('lake'),
      Array.from({ length: TASKS }, () => 1),
    );
    await ending.start();
  });

  it('ends when the grace period is over, with the jobs that upstreams have not answered by then', async () => {
    const [ending, other] = darkroom.workers;
    assert.ok(ending !== undefined && other !== undefined);
    await other.kill('SIGTERM');
    await ending.kill('SIGTERM');
    await ending.start({ UPSTREAM_GRACE_SECONDS: '4' });
    const taskId = await create('test/openai', 'reef 0 [slow 600000]');
    await waitFor('the provider works on it', async () => (await submits('reef'))[0] === 1);

    assert.equal(await ending.kill('SIGTERM'), 0);

    await other.start();
    assert.equal((await account.client.waitForTerminal(taskId)).error?.reason, 'outcome_unknown');
    assert.equal((await submits('reef'))[0], 1);
    await ending.start({ UPSTREAM_GRACE_SECONDS: '300' });
  });
});
