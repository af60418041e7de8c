/**
 * kill -9 of the api, the worker and the Temporal server, and an immediate stop of PostgreSQL, while a batch runs: every
 * line has one result and one task, and every micro-USD is accounted for.
 */
import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import { verifyLedger } from '../../src/billing/verify.ts';
import { textDefinition } from '../catalogue/definitions.ts';
import { BatchClient, lineOf } from '../e2e/batch-client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { writeModelFiles } from '../support/model-files.ts';
import { startTestProvider } from '../support/test-provider/process.ts';
import type { TestProvider } from '../support/test-provider/process.ts';
import { startKillableServices } from './killable-services.ts';
import type { KillableServices } from './killable-services.ts';

const TASKS = '/v1/tasks';
const CHAT = '/v1/chat/completions';
/** Each answer takes about two seconds, so that every kill finds some in the middle. */
const SLOW = textDefinition({
  name: 'test/slow-text',
  upstreams: [{ protocol: 'embedded', model: 'conformance', parameters: { tokensPerSecond: 20 } }],
});
const TEXT_LINES = 90;
const LINES = 240;
/** Each has a mistake, so that rejected lines are interrupted too. */
const WRONG_EVERY = 20;

describe('kill -9 while a batch runs', () => {
  let services: KillableServices;
  let provider: TestProvider;
  let modelsDir: string;
  let darkroom: Darkroom;
  let account: TestAccount;
  let batches: BatchClient;
  before(async () => {
    [services, provider] = await Promise.all([startKillableServices(), startTestProvider()]);
    modelsDir = await writeModelFiles(provider.url, {});
    await writeFile(path.join(modelsDir, 'slow-text.json'), JSON.stringify(SLOW));
    darkroom = await startDarkroom({
      databaseServer: services.databaseUrl,
      temporalAddress: services.temporalAddress,
      isSupervised: true,
      environment: { MODELS_DIR: modelsDir, UPSTREAM_TEST_KEY: 'test-key', EGRESS_ALLOW: provider.url },
    });
    account = await darkroom.createAccount({ runningCap: 24, textStreamsCap: 24 });
    batches = new BatchClient(darkroom.url, account);
  });
  after(async () => {
    await darkroom?.stop();
    await Promise.all([provider?.stop(), services?.stop()]);
    await rm(modelsDir, { recursive: true, force: true });
  });

  /** How many lines of a batch have ended. */
  async function settledLines(id: string): Promise<number> {
    // While something is down, there is no answer.
    const counts = (await batches.get(id).catch(() => undefined))?.request_counts;
    return (counts?.completed ?? 0) + (counts?.failed ?? 0);
  }

  // Proves C10-20.
  it('gives every line one result, and charges it once', async (t) => {
    const [api, worker] = [darkroom.apis[0] ?? assert.fail(), darkroom.workers[0] ?? assert.fail()];
    const ids = Array.from({ length: LINES }, (_, index) => `line-${index}`);
    const lines = ids.map((id, index) =>
      lineOf(TASKS, id, {
        model: 'test/tasks',
        input: { prompt: index % WRONG_EVERY === 0 ? 7 : `marker-${id}- a lake` },
      }),
    );
    const { id } = await batches.create(TASKS, lines);
    const settled = (): Promise<number> => settledLines(id);
    const kills = [
      () => api.kill().then(() => api.start()),
      () => worker.kill().then(() => worker.start()),
      () => services.postgres.kill().then(() => services.postgres.start()),
      () => services.temporal.kill().then(() => services.temporal.start()),
      () => api.kill().then(() => api.start()),
    ];
    const killedAt: number[] = [];
    for (const [index, kill] of kills.entries()) {
      const target = 10 + index * 30;
      await waitFor(`${target} lines have ended`, async () => (await settled()) >= target);
      killedAt.push(await settled());
      await kill();
    }
    t.diagnostic(`killed at ${killedAt.join(', ')} of ${LINES} lines`);
    assert.ok(killedAt.every((count) => count < LINES));
    await waitFor('all lines have ended', async () => (await settled()) === LINES);

    const ended = await batches.waitForEnd(id);
    const wrong = LINES / WRONG_EVERY;
    assert.equal(ended.status, 'completed', JSON.stringify(ended));
    const results = await batches.results(ended.output_file_id);
    const errors = await batches.results(ended.error_file_id);
    t.diagnostic(`${results.length} succeeded, ${errors.length - wrong} failed, ${wrong} were rejected`);
    assert.deepEqual(ended.request_counts, { total: LINES, completed: results.length, failed: errors.length });
    // Each line once, in the order of the input.
    const order = (customId: string | null): number => ids.indexOf(customId ?? '');
    const all = [...results, ...errors].map((line) => line.custom_id).toSorted((one, two) => order(one) - order(two));
    assert.deepEqual(all, ids);
    const rejected = errors.filter(({ response }) => response?.request_id.startsWith('batch_') === true);
    assert.equal(rejected.length, wrong);

    // Every other line is one task, and exactly those that succeeded were charged.
    const { database } = darkroom.testDatabase;
    const tasks = await database.query<{ id: string; captured: bigint | null }>(
      {
        name: 'tasks_of_batch',
        text: 'SELECT id, captured_micro_usd AS captured FROM tasks WHERE account_id = $1',
      },
      [account.id],
    );
    assert.equal(tasks.length, LINES - wrong);
    const succeeded = new Set(results.map(({ response }) => response?.request_id));
    for (const task of tasks) assert.equal((task.captured ?? 0n) > 0n, succeeded.has(task.id), task.id);
    assert.deepEqual(await verifyLedger(database), []);
  });

  // Proves C10-20.
  it('answers every line of a text model once, and charges it once', async (t) => {
    const api = darkroom.apis[0] ?? assert.fail();
    const ids = Array.from({ length: TEXT_LINES }, (_, index) => `text-${index}`);
    const lines = ids.map((id, index) =>
      lineOf(CHAT, id, {
        model: SLOW.name,
        max_tokens: 40,
        messages: index % WRONG_EVERY === 0 ? 7 : [{ role: 'user', content: 'Count from 1 to 400, please.' }],
      }),
    );
    const { id } = await batches.create(CHAT, lines);
    const kills = [
      () => api.kill().then(() => api.start()),
      () => services.postgres.kill().then(() => services.postgres.start()),
      () => services.temporal.kill().then(() => services.temporal.start()),
      () => api.kill().then(() => api.start()),
    ];
    const killedAt: number[] = [];
    for (const [index, kill] of kills.entries()) {
      const target = 6 + index * 16;
      await waitFor(`${target} lines have ended`, async () => (await settledLines(id)) >= target);
      killedAt.push(await settledLines(id));
      await kill();
    }
    t.diagnostic(`killed at ${killedAt.join(', ')} of ${TEXT_LINES} lines`);
    assert.ok(killedAt.every((count) => count < TEXT_LINES));

    const ended = await batches.waitForEnd(id);
    const wrong = Math.ceil(TEXT_LINES / WRONG_EVERY);
    assert.equal(ended.status, 'completed', JSON.stringify(ended));
    assert.deepEqual(ended.request_counts, { total: TEXT_LINES, completed: TEXT_LINES - wrong, failed: wrong });
    const results = await batches.results(ended.output_file_id);
    const errors = await batches.results(ended.error_file_id);
    assert.equal(results.length + errors.length, TEXT_LINES);
    assert.deepEqual(new Set([...results, ...errors].map((line) => line.custom_id)), new Set(ids));

    // Each was held once, and is captured once, for what it used.
    const { database } = darkroom.testDatabase;
    const calls = {
      name: 'text_calls_of_account',
      text: `SELECT id, settled_at IS NOT NULL AS settled, captured_micro_usd > 0 AS paid, output_tokens AS output,
                    is_estimated AS "isEstimated"
               FROM text_calls WHERE account_id = $1`,
    };
    let rows: readonly TextCallRow[] = [];
    await waitFor('every call is settled', async () => {
      rows = await database.query<TextCallRow>(calls, [account.id]);
      return rows.every(({ settled }) => settled);
    });
    assert.deepEqual(new Set(rows.map((row) => row.id)), new Set(results.map(({ response }) => response?.request_id)));
    for (const row of rows) assert.ok(row.paid === true && !row.isEstimated, JSON.stringify(row));
    const output = rows.reduce((sum, row) => sum + (row.output ?? 0), 0);
    assert.equal(ended.usage?.output_tokens, output);
    assert.deepEqual(await verifyLedger(database), []);
  });
});

interface TextCallRow {
  readonly id: string;
  readonly settled: boolean;
  readonly paid: boolean | null;
  readonly output: number | null;
  readonly isEstimated: boolean;
}
