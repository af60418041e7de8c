/** Batches that have more lines than their account may run, and how they end: with a real Temporal, PostgreSQL, api and worker. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import { SCOPES } from '@darkroom/api/facts/scopes';
import { verifyLedger } from '../../src/billing/verify.ts';
import { BatchClient, TASKS, countTasks, newBatchClient, taskLine } from '../e2e/batch-client.ts';
import type { AccountOptions } from '../e2e/batch-client.ts';
import { ApiClient } from '../support/api-client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';

describe('batches of more lines than may run at once', () => {
  let darkroom: Darkroom;
  before(async () => {
    darkroom = await startDarkroom();
  });
  after(() => darkroom?.stop());

  const newClient = (options?: AccountOptions) => newBatchClient(darkroom, options);
  const tasksOf = (account: TestAccount) => countTasks(darkroom, account);

  // Proves C10-23.
  it('starts no more lines once it is cancelled, and reports every line', async () => {
    const { account, batches } = await newClient({ runningCap: 2 });
    const ids = Array.from({ length: 60 }, (_, index) => `line-${index}`);
    const { id } = await batches.create(
      TASKS,
      ids.map((each) => taskLine(each)),
    );
    await waitFor('the first line has ended', async () => (await batches.get(id)).request_counts.completed > 0);
    assert.ok(['cancelling', 'cancelled'].includes((await batches.cancel(id)).status));
    await batches.cancel(id);
    const ended = await batches.waitForEnd(id);
    assert.equal(ended.status, 'cancelled', JSON.stringify(ended));
    assert.ok(ended.cancelling_at !== undefined && ended.cancelled_at !== undefined);
    const results = await batches.results(ended.output_file_id);
    const errors = await batches.results(ended.error_file_id);
    assert.equal(results.length, ended.request_counts.completed);
    assert.deepEqual(new Set([...results, ...errors].map((line) => line.custom_id)), new Set(ids));
    assert.equal(results.length + errors.length, ids.length);
    assert.ok(
      errors.length > 0 &&
        errors.every(({ error, response }) => error?.code === 'batch_cancelled' && response === null),
    );
    assert.equal(await tasksOf(account), results.length);
    const again = await account.client.send(
      'POST',
      `/v1/batches/${(await batches.waitForEnd((await batches.create(TASKS, [taskLine('a')])).id)).id}/cancel`,
    );
    assert.equal(again.status, 400);
  });

  // Proves C10-23.
  it('expires after its window, with the results so far', async () => {
    const { account, batches } = await newClient({ runningCap: 2 });
    const ids = Array.from({ length: 40 }, (_, index) => `line-${index}`);
    const { id } = await batches.create(
      TASKS,
      ids.map((each) => taskLine(each)),
    );
    await waitFor('the first line has ended', async () => (await batches.get(id)).request_counts.completed > 0);
    const { database } = darkroom.testDatabase;
    await database.query({ name: 'end_window', text: 'UPDATE batches SET expires_at = now() WHERE id = $1' }, [id]);
    const ended = await batches.waitForEnd(id);
    assert.equal(ended.status, 'expired', JSON.stringify(ended));
    assert.ok(ended.expired_at);
    const [results, errors] = [await batches.results(ended.output_file_id), await batches.results(ended.error_file_id)];
    assert.equal(results.length + errors.length, 40);
    assert.ok(errors.every(({ error }) => error?.code === 'batch_expired'));
    assert.equal(await tasksOf(account), results.length);
  });

  // Proves C10-22.
  it('leaves half of the slots of an account to its other tasks', async () => {
    const { account, batches } = await newClient({ runningCap: 4 });
    const { id } = await batches.create(
      TASKS,
      Array.from({ length: 10 }, (_, index) => taskLine(`line-${index}`)),
    );
    let most = 0;
    let ended = await batches.get(id);
    while (ended.status !== 'completed') {
      const [row] = await darkroom.testDatabase.database.query<{ open: number }>(
        {
          name: 'count_open_tasks_of_account',
          text: 'SELECT count(*)::integer AS open FROM tasks WHERE account_id = $1 AND completed_at IS NULL',
        },
        [account.id],
      );
      most = Math.max(most, row?.open ?? 0);
      ended = await batches.get(id);
      assert.ok(!['failed', 'expired'].includes(ended.status), JSON.stringify(ended));
    }
    assert.deepEqual(ended.request_counts, { total: 10, completed: 10, failed: 0 });
    assert.ok(most >= 1 && most <= 2, `${most} at once`);
    assert.deepEqual(await verifyLedger(darkroom.testDatabase.database), []);
  });

  it('rejects the lines that are left once its key is revoked', async () => {
    const { account, batches } = await newClient({ runningCap: 2 });
    const { database } = darkroom.testDatabase;
    const created = await account.client.send('POST', '/v1/account/keys', { name: 'short', scopes: SCOPES });
    const other = created.body.data as unknown as { id: string; key: string };
    const own = new BatchClient(darkroom.url, { ...account, client: new ApiClient([darkroom.url], other.key) });
    const { id } = await own.create(
      TASKS,
      Array.from({ length: 40 }, (_, index) => taskLine(`line-${index}`)),
    );
    await waitFor('the first line has ended', async () => (await batches.get(id)).request_counts.completed > 0);
    await database.query({ name: 'revoke', text: 'UPDATE api_keys SET revoked_at = now() WHERE id = $1' }, [other.id]);
    const ended = await batches.waitForEnd(id);
    assert.equal(ended.status, 'completed');
    const errors = await batches.results(ended.error_file_id);
    assert.ok(
      errors.length > 0 && errors.every(({ response }) => response?.status_code === 401),
      JSON.stringify(ended),
    );
  });
});
