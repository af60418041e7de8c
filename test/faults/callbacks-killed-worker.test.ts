/**
 * A worker that dies during a callback (contract §6: "A receiver may see one twice (answer lost, worker killed), and
 * a killed attempt is used up").
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';

describe('a callback whose worker is killed', () => {
  let outside: DarkroomWithUpstreams;
  before(async () => {
    outside = await startDarkroomWithUpstreams();
  });
  after(() => outside.stop());

  // Proves S6.3-1, C6-16.
  it('is sent again by the next worker, and the killed attempt counts', async () => {
    const { darkroom, receiver } = outside;
    const [worker] = darkroom.workers;
    assert.ok(worker);
    const account = await darkroom.createAccount();
    const taskId = await outside.create(account, {
      model: 'test/openai',
      input: { prompt: 'a boat' },
      callback: { url: `${receiver.url}/slow/4000` },
    });
    await outside.waitForCalledBack(taskId);
    await worker.kill();
    await worker.start();

    // Temporal notices a dead attempt by its timeout, 20 s (workflows/activity-options.ts).
    const task = await account.client.waitFor(taskId, ({ callback }) => callback?.state === 'delivered');
    assert.deepEqual(task.callback, { state: 'delivered', attempts: 2, nextAttempt: 0 });
    assert.equal(task.status, 'success');
    assert.equal((await outside.callbacksOf(taskId)).length, 2);
    const attempts = await darkroom.testDatabase.database.query(
      {
        name: 'test_killed_attempts',
        text: `SELECT attempt, http_status AS status, finished_at IS NOT NULL AS "isFinished"
                 FROM callback_attempts WHERE task_id = $1 ORDER BY attempt`,
      },
      [taskId],
    );
    assert.deepEqual(attempts, [
      { attempt: 1, status: null, isFinished: false },
      { attempt: 2, status: 204, isFinished: true },
    ]);
    await outside.assertSettled(account);
  });
});
