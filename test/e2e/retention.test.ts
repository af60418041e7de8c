/**
 * Inputs are erased and tasks are pruned by their age (contract §4 `INPUT_RETENTION_DAYS`, §4.10): by the passes of
 * every minute, on a clock that the test advances.
 */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { verifyLedger } from '../../src/billing/verify.ts';
import { serveApp } from '../http/serve.ts';
import type { ServedAccount, ServedApp } from '../http/serve.ts';
import { createPasses } from '../support/passes.ts';
import type { Passes } from '../support/passes.ts';
import { body } from '../tasks/task-room.ts';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const REQUEST = body({ input: { prompt: 'a prompt that grows old' }, metadata: { project: 'north' } });

let ahead: number;
let served: ServedApp;
let account: ServedAccount;
let passes: Passes;
beforeEach(async () => {
  ahead = 0;
  served = await serveApp({ now: () => Date.now() + ahead });
  account = await served.newAccount();
  passes = createPasses(served);
});
afterEach(() => served.close());

describe('the input of a task', () => {
  /**
   * One pass, the given number of days from now. @param inputRetentionDays as configured; by default that of the
   * server.
   */
  async function passIn(days: number, inputRetentionDays = served.http.config.inputRetentionDays): Promise<void> {
    ahead = days * DAY_MS;
    try {
      await passes.expire({ inputRetentionDays });
    } finally {
      ahead = 0;
    }
  }

  async function newTask(key: string, isFinished: boolean): Promise<string> {
    const { body: created } = await account.client.create(REQUEST, key);
    if (isFinished) await served.succeed(created.data.taskId, Buffer.from('an image'));
    return created.data.taskId;
  }

  async function inputOf(taskId: string): Promise<unknown> {
    const { body: answer } = await account.client.send('GET', `/v1/tasks/${taskId}?include=input`);
    return (answer.data as unknown as { input: unknown }).input;
  }

  // Proves C4-16.
  it('is retained for 30 days after the end, then erased; the task itself, its key and open tasks stay', async () => {
    const [old, open] = [await newTask('old', true), await newTask('open', false)];

    await passIn(29.9);
    assert.deepEqual(await inputOf(old), REQUEST['input']);

    await passIn(30.1);
    assert.equal(await inputOf(old), null);
    assert.deepEqual(await inputOf(open), REQUEST['input']);
    const replay = await account.client.create(REQUEST, 'old');
    assert.deepEqual([replay.status, replay.body.data.taskId], [200, old]);
    assert.equal((await account.client.get(old)).body.data.status, 'success');
  });

  // Proves C4-16.
  it('is retained permanently when the number of days is 0', async () => {
    const taskId = await newTask('for-good', true);

    await passIn(3_650, 0);

    assert.deepEqual(await inputOf(taskId), REQUEST['input']);
  });
});

describe('a task', () => {
  /** What the Schedules do in an hour: things expire, their bytes are deleted, and tasks are pruned. @returns how many. */
  async function passAfter(days: number, taskRetentionDays: number): Promise<number> {
    ahead = days * DAY_MS;
    const first = await passes.expire({ taskRetentionDays });
    ahead += 10 * MINUTE_MS;
    await passes.sweep();
    ahead += 60 * MINUTE_MS;
    const last = await passes.expire({ taskRetentionDays });
    return first.tasks + last.tasks;
  }

  // Proves C4-19, C4-20, C4-21, C4-22.
  it('is retained as long as the installation says, then only its dates, its key and its money', async () => {
    const { body: created } = await account.client.create(REQUEST, 'old');
    const { taskId } = created.data;
    await served.succeed(taskId, Buffer.from('an image'));
    const balance = (await account.client.send('GET', '/v1/account')).body.data;

    assert.equal(await passAfter(3_650, 0), 0);
    assert.equal(await passAfter(59.8, 60), 0);
    assert.equal((await account.client.get(taskId)).body.data.status, 'success');

    assert.equal(await passAfter(60.1, 60), 1);
    const gone = await account.client.get(taskId);
    assert.deepEqual([gone.status, gone.body.error_code], [410, 'TASK_PRUNED']);
    const list = await account.client.send('GET', '/v1/tasks');
    assert.deepEqual(list.body.data, { page: 1, size: 10, total: 0, tasks: [] });
    const replay = await account.client.create(REQUEST, 'old');
    assert.deepEqual([replay.status, replay.body.data.taskId], [200, taskId]);
    assert.equal((await account.client.create(body(), 'old')).status, 422);
    assert.deepEqual((await account.client.send('GET', '/v1/account')).body.data, balance);
    assert.deepEqual(await verifyLedger(served.room.database), []);
    const stored = [];
    for await (const { key } of served.store.list('')) stored.push(key);
    assert.deepEqual(
      stored.map((key) => key.split('/').slice(0, 3)),
      [['archive', 'tasks', account.id]],
    );
  });

  it('stays while an output of it is in persistent storage', async () => {
    const { body: created } = await account.client.create(body({ storage: 'persistent' }), undefined);
    const { taskId } = created.data;
    await served.succeed(taskId, Buffer.from('an image'));

    assert.equal(await passAfter(90, 60), 0);
    const { output } = (await account.client.get(taskId)).body.data;
    assert.equal((await account.client.send('DELETE', `/v1/storages/${output?.[0]?.id}`)).status, 200);

    assert.equal(await passAfter(90.2, 60), 1);
    assert.equal((await account.client.get(taskId)).status, 410);
  });
});
