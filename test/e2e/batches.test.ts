/** Batches from their file to their results, with a real Temporal, PostgreSQL, api and worker. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { verifyLedger } from '../../src/billing/verify.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { BatchClient, lineOf } from './batch-client.ts';

const TASKS = '/v1/tasks';

describe('batches', () => {
  let darkroom: Darkroom;
  before(async () => {
    darkroom = await startDarkroom();
  });
  after(() => darkroom?.stop());

  async function newClient(
    options: Parameters<Darkroom['createAccount']>[0] = {},
  ): Promise<{ readonly account: TestAccount; readonly batches: BatchClient }> {
    const account = await darkroom.createAccount(options);
    return { account, batches: new BatchClient(darkroom.url, account) };
  }

  const taskLine = (customId: string, prompt = 'a lake'): string =>
    lineOf(TASKS, customId, { model: 'darkroom/scene', input: { prompt } });

  async function tasksOf({ id }: TestAccount): Promise<number> {
    const rows = await darkroom.testDatabase.database.query<{ tasks: number }>(
      {
        name: 'count_tasks_of_account',
        text: 'SELECT count(*)::integer AS tasks FROM tasks WHERE account_id = $1',
      },
      [id],
    );
    return rows[0]?.tasks ?? 0;
  }

  it('makes a task of every line, and a file of the results', async () => {
    const { account, batches } = await newClient();
    const created = await batches.create(
      TASKS,
      ['a', 'b', 'c'].map((id) => taskLine(id)),
      { metadata: { order: '7' } },
    );
    assert.equal(created.status, 'validating');
    assert.equal(created.expires_at, created.created_at + 86_400);
    const ended = await batches.waitForEnd(created.id);
    assert.equal(ended.status, 'completed', JSON.stringify(ended));
    assert.deepEqual(ended.request_counts, { total: 3, completed: 3, failed: 0 });
    assert.deepEqual(ended.metadata, { order: '7' });
    assert.equal(ended.error_file_id, undefined);
    const results = await batches.results(ended.output_file_id);
    assert.deepEqual(
      results.map((line) => line.custom_id),
      ['a', 'b', 'c'],
    );
    for (const { response, error } of results) {
      assert.equal(error, null);
      assert.equal(response?.status_code, 200);
      const task = response.body.data as { taskId: string; status: string; output: { url: string }[] };
      assert.equal(task.taskId, response.request_id);
      assert.equal(task.status, 'success');
      assert.equal((await fetch(task.output[0]?.url ?? '')).status, 200);
    }
    assert.equal(await tasksOf(account), 3);
    assert.deepEqual(await verifyLedger(darkroom.testDatabase.database), []);
  });

  it('answers a wrong line with an error of its own', async () => {
    const { account, batches } = await newClient();
    const lines = [
      taskLine('good'),
      '{"custom_id":',
      '',
      lineOf('/v1/videos', 'elsewhere', {}),
      lineOf(TASKS, 'unknown', { model: 'darkroom/none', input: { prompt: 'a lake' } }),
      lineOf(TASKS, 'invalid', { model: 'darkroom/scene', input: { prompt: 7 } }),
      JSON.stringify({ custom_id: 'get', method: 'GET', url: TASKS, body: {} }),
      JSON.stringify({ method: 'POST', url: TASKS, body: {} }),
    ];
    const ended = await batches.waitForEnd((await batches.create(TASKS, lines)).id);
    assert.equal(ended.status, 'completed', JSON.stringify(ended));
    assert.deepEqual(ended.request_counts, { total: 7, completed: 1, failed: 6 });
    assert.deepEqual(
      (await batches.results(ended.output_file_id)).map((line) => line.custom_id),
      ['good'],
    );
    const errors = await batches.results(ended.error_file_id);
    assert.deepEqual(
      errors.map((line) => [line.custom_id, line.response?.status_code, line.response?.body.error_code]),
      [
        [null, 400, 'INVALID_REQUEST'],
        ['elsewhere', 400, 'INVALID_REQUEST'],
        ['unknown', 400, 'MODEL_UNAVAILABLE'],
        ['invalid', 400, 'INVALID_REQUEST'],
        ['get', 400, 'INVALID_REQUEST'],
        [null, 400, 'INVALID_REQUEST'],
      ],
    );
    assert.equal(await tasksOf(account), 1);
  });
});
