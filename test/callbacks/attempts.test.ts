/**
 * The record of a callback's attempts: what each attempt learns about itself, and what an overtaken attempt may still
 * change.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { MAX_LISTED_ATTEMPTS } from '@darkroom/api/facts/limits';
import { beginAttempt, findDelayMs, finishAttempt, readCallback } from '../../src/callbacks/attempts.ts';
import { newTaskId } from '../../src/domain/ids.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';

const SCHEDULE_LENGTH = 4;

let test: TestDatabase;
before(async () => {
  test = await createTestDatabase();
});
after(() => test.close());

async function pendingCallback(url = 'https://example.com'): Promise<TaskId> {
  const taskId = newTaskId();
  await test.database.query(
    {
      name: 'test_callback',
      text: `INSERT INTO callbacks (task_id, account_id, url, state) VALUES ($1, 'acc', $2, 'pending')`,
    },
    [taskId, url],
  );
  return taskId;
}

describe('two attempts of one callback, the first presumed dead', () => {
  const attemptedTwice = async (): Promise<TaskId> => {
    const taskId = await pendingCallback();
    await beginAttempt(test.database, taskId, SCHEDULE_LENGTH);
    await beginAttempt(test.database, taskId, SCHEDULE_LENGTH);
    return taskId;
  };
  const stateOf = async (taskId: TaskId): Promise<string | undefined> =>
    (await readCallback(test.database, taskId))?.state;

  it('stay delivered when the first fails after the second was delivered', async () => {
    const taskId = await attemptedTwice();
    await finishAttempt(test.database, taskId, 2, { httpStatus: 204 }, 'delivered', undefined);

    const late = await finishAttempt(test.database, taskId, 1, { errorClass: 'timeout' }, 'exhausted', undefined);

    assert.equal(late?.isDecisive, false);
    assert.equal(await stateOf(taskId), 'delivered');
  });

  it('are delivered when the first reached the receiver after all', async () => {
    const taskId = await attemptedTwice();

    await finishAttempt(test.database, taskId, 1, { httpStatus: 204 }, 'delivered', undefined);
    await finishAttempt(test.database, taskId, 2, { httpStatus: 500 }, 'exhausted', undefined);

    assert.equal(await stateOf(taskId), 'delivered');
  });
});

describe('an attempt', () => {
  it('is recorded once: the second time changes nothing and reports that', async () => {
    const taskId = await pendingCallback();
    await beginAttempt(test.database, taskId, SCHEDULE_LENGTH);

    const finished = await finishAttempt(test.database, taskId, 1, { httpStatus: 500 }, 'pending', 60_000);
    const again = await finishAttempt(test.database, taskId, 1, { httpStatus: 200 }, 'delivered', undefined);

    assert.equal(finished?.isDecisive, true);
    assert.ok(Number.isInteger(finished.durationMs) && finished.durationMs >= 0);
    assert.equal(again, undefined);
    const callback = await readCallback(test.database, taskId);
    assert.equal(callback?.state, 'pending');
    assert.deepEqual(
      callback.attempts.map(({ httpStatus }) => httpStatus),
      [500],
    );
  });

  it('does not begin before it is due, except for the tolerance of early timers', async () => {
    const taskId = await pendingCallback();
    await beginAttempt(test.database, taskId, SCHEDULE_LENGTH);
    assert.equal(await findDelayMs(test.database, taskId), undefined);
    await finishAttempt(test.database, taskId, 1, { httpStatus: 500 }, 'pending', 60_000);

    assert.equal(await beginAttempt(test.database, taskId, SCHEDULE_LENGTH), undefined);
    const delayMs = (await findDelayMs(test.database, taskId)) ?? 0;
    assert.ok(delayMs > 30_000 && delayMs <= 60_000, String(delayMs));

    await test.database.query(
      { name: 'test_due', text: `UPDATE callbacks SET next_attempt_at = now() + interval '0.5 s' WHERE task_id = $1` },
      [taskId],
    );
    assert.equal((await beginAttempt(test.database, taskId, SCHEDULE_LENGTH))?.attempt, 2);
  });

  it('does not begin when the address is removed or the schedule is used up', async () => {
    assert.equal(await beginAttempt(test.database, await pendingCallback(''), SCHEDULE_LENGTH), undefined);
    const taskId = await pendingCallback();
    assert.equal((await beginAttempt(test.database, taskId, 1))?.scheduled, 1);
    assert.equal(await beginAttempt(test.database, taskId, 1), undefined);
  });
});

describe('the list of attempts', () => {
  // Proves C6-17.
  it('reports time, duration and outcome of each; only the time while it is running or was interrupted', async () => {
    const taskId = await pendingCallback();
    for (let attempt = 1; attempt <= 3; attempt++) await beginAttempt(test.database, taskId, SCHEDULE_LENGTH);
    await finishAttempt(test.database, taskId, 1, { errorClass: 'tls' }, 'pending', 60_000);
    await finishAttempt(test.database, taskId, 3, { httpStatus: 503 }, 'pending', 60_000);

    const callback = await readCallback(test.database, taskId);

    assert.equal(callback?.url, 'https://example.com');
    const [first, second, third] = callback.attempts;
    for (const each of callback.attempts) assert.ok(Math.abs(each.at - Date.now() / 1000) < 60);
    assert.deepEqual([first?.attempt, first?.httpStatus, first?.errorClass], [1, null, 'tls']);
    assert.ok(Number.isInteger(first?.durationMs));
    assert.deepEqual([second?.durationMs, second?.httpStatus, second?.errorClass], [null, null, null]);
    assert.deepEqual([third?.httpStatus, third?.errorClass], [503, null]);
  });

  it('holds the latest ones when there are very many', async () => {
    const taskId = await pendingCallback();
    await test.database.query(
      {
        name: 'test_many_attempts',
        text: `INSERT INTO callback_attempts (task_id, attempt) SELECT $1, n FROM generate_series(1, $2::integer) n`,
      },
      [taskId, MAX_LISTED_ATTEMPTS + 5],
    );

    const attempts = (await readCallback(test.database, taskId))?.attempts ?? [];

    assert.equal(attempts.length, MAX_LISTED_ATTEMPTS);
    assert.deepEqual([attempts[0]?.attempt, attempts.at(-1)?.attempt], [6, MAX_LISTED_ATTEMPTS + 5]);
  });

  it('is empty for a task without a callback', async () => {
    assert.equal(await readCallback(test.database, newTaskId()), undefined);
  });
});
