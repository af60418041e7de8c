/** The record of a callback's attempts: what an attempt that was overtaken may still change. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { beginAttempt, finishAttempt } from '../../src/callbacks/attempts.ts';
import { newTaskId } from '../../src/domain/ids.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';

const SCHEDULE_LENGTH = 4;

describe('two attempts of one callback, the first taken for dead', () => {
  let test: TestDatabase;
  before(async () => {
    test = await createTestDatabase();
  });
  after(() => test.close());

  const pendingCallback = async (): Promise<TaskId> => {
    const taskId = newTaskId();
    await test.database.query(
      {
        name: 'test_callback',
        text: `INSERT INTO callbacks (task_id, account_id, url, state) VALUES ($1, 'acc', 'https://example.com', 'pending')`,
      },
      [taskId],
    );
    await beginAttempt(test.database, taskId, SCHEDULE_LENGTH);
    await beginAttempt(test.database, taskId, SCHEDULE_LENGTH);
    return taskId;
  };
  const stateOf = async (taskId: TaskId): Promise<string | undefined> => {
    const [row] = await test.database.query<{ state: string }>(
      { name: 'test_callback_state', text: 'SELECT state FROM callbacks WHERE task_id = $1' },
      [taskId],
    );
    return row?.state;
  };

  it('stay delivered when the first fails after the second was delivered', async () => {
    const taskId = await pendingCallback();
    await finishAttempt(test.database, taskId, 2, { httpStatus: 204 }, 'delivered', undefined);

    await finishAttempt(test.database, taskId, 1, { errorClass: 'timeout' }, 'pending', 60_000);

    assert.equal(await stateOf(taskId), 'delivered');
  });

  it('are delivered when the first reached the receiver after all', async () => {
    const taskId = await pendingCallback();

    await finishAttempt(test.database, taskId, 1, { httpStatus: 204 }, 'delivered', undefined);
    await finishAttempt(test.database, taskId, 2, { httpStatus: 500 }, 'exhausted', undefined);

    assert.equal(await stateOf(taskId), 'delivered');
  });
});
