/**
 * Calls of a media endpoint that wait while both apis are restarted one after the other behind a load balancer: each
 * client repeats its request as OpenAI's clients do, gets the result of its own task, and no second task is created.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import { verifyLedger } from '../../src/billing/verify.ts';
import { compatibleDefinition } from '../catalogue/definitions.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { startHealthCheckingProxy } from '../support/health-checking-proxy.ts';
import type { HealthCheckingProxy } from '../support/health-checking-proxy.ts';
import { startTestProvider } from '../support/test-provider/process.ts';
import type { TestProvider } from '../support/test-provider/process.ts';
import { generateImage } from './retrying-client.ts';

const CALLS = 60;
/** This many of the calls are equal, and differ in their tasks alone. */
const EQUAL = 20;

describe('calls that wait during a rolling restart', () => {
  let provider: TestProvider;
  let modelsDir: string;
  let darkroom: Darkroom;
  let account: TestAccount;
  let proxy: HealthCheckingProxy;
  before(async () => {
    provider = await startTestProvider();
    modelsDir = await mkdtemp(path.join(os.tmpdir(), 'darkroom-models-'));
    const upstream = { protocol: 'tasks', baseUrl: `${provider.url}/tasks/v1`, secret: 'test', model: 'owner/model' };
    const slow = compatibleDefinition({ name: 'acme/slow', routes: { default: { upstreams: [upstream] } } });
    await writeFile(path.join(modelsDir, 'slow.json'), JSON.stringify(slow));
    darkroom = await startDarkroom({
      apis: 2,
      environment: {
        MODELS_DIR: modelsDir,
        UPSTREAM_TEST_KEY: 'test-key',
        EGRESS_ALLOW: provider.url,
        DRAIN_SECONDS: '3',
        SHUTDOWN_GRACE_SECONDS: '10',
      },
    });
    account = await darkroom.createAccount({ runningCap: 1_000, queueCap: 10_000 });
    proxy = await startHealthCheckingProxy(darkroom.urls);
    await waitFor('both apis are ready', () => proxy.isReady(0) && proxy.isReady(1));
  });
  after(async () => {
    await proxy?.close();
    await darkroom?.stop();
    await provider?.stop();
    await rm(modelsDir, { recursive: true, force: true });
  });

  const tasks = () =>
    darkroom.testDatabase.database.query<{ id: string; status: string; captured: string }>(
      {
        name: 'test_tasks_of_account',
        text: 'SELECT id, status, captured_micro_usd::text AS captured FROM tasks WHERE account_id = $1',
      },
      [account.id],
    );

  it('get the results of their tasks, and no task is created twice', async (t) => {
    const caller = { url: proxy.url, key: account.client.key };
    const prompts = Array.from({ length: CALLS }, (_, index) => `a boat ${index < EQUAL ? 0 : index} [slow 25000]`);
    const calls = Promise.all(prompts.map((prompt) => generateImage(caller, { model: 'acme/slow', prompt })));
    await waitFor('all tasks exist', async () => (await tasks()).length === CALLS);
    for (const [index, api] of darkroom.apis.entries()) {
      await api.kill('SIGTERM');
      await api.start();
      await waitFor('the balancer has it back', () => proxy.isReady(index));
    }
    const outcomes = await calls;

    const created = await tasks();
    assert.equal(created.length, CALLS);
    assert.deepEqual(new Set(outcomes.map(({ taskId }) => taskId)), new Set(created.map(({ id }) => id)));
    assert.ok(outcomes.every(({ image }) => image.length > 100));
    assert.ok(created.every(({ status, captured }) => status === 'success' && captured === '10000'));
    assert.deepEqual(await verifyLedger(darkroom.testDatabase.database), []);
    const retried = outcomes.filter(({ retries }) => retries > 0).length;
    assert.ok(retried > 0, 'the restarts interrupted none of the calls');
    t.diagnostic(
      `${retried} of ${CALLS} calls were repeated, at most ${Math.max(...outcomes.map((o) => o.retries))} times`,
    );
  });
});
