/**
 * Inputs are erased by their age (contract §4 `INPUT_RETENTION_DAYS`): by the pass of every minute, on a clock that the
 * test advances.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { serveApp } from '../http/serve.ts';
import type { ServedAccount, ServedApp } from '../http/serve.ts';
import { body } from '../tasks/task-room.ts';
import { createPasses } from '../support/passes.ts';
import type { Passes } from '../support/passes.ts';

const DAY_MS = 86_400_000;
const REQUEST = body({ input: { prompt: 'a prompt that grows old' } });

describe('the input of a task', () => {
  let ahead = 0;
  let served: ServedApp;
  let account: ServedAccount;
  let passes: Passes;
  before(async () => {
    served = await serveApp({ now: () => Date.now() + ahead });
    account = await served.newAccount();
    passes = createPasses(served);
  });
  after(async () => {
    await served.close();
  });

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
