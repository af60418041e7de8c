/** An attempt of a callback whose time the database took: Temporal would begin the next one beside it. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { asyncLocalStorage } from '@temporalio/activity';
import type { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { ActivityContext } from '../../activities/context.ts';
import { createSendCallback } from '../../activities/send-callback.ts';
import { readCallback } from '../../src/callbacks/attempts.ts';
import type { Database } from '../../src/database/database.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';

const START_TO_CLOSE_MS = 20_000;
/** Within what an attempt has beside its exchange. */
const SHORT_MS = 3_000;
/** A stall below the time-out of a statement, after which an exchange would outlive the attempt. */
const LONG_MS = 14_000;

interface Stalls {
  /** How long each takes, in milliseconds. */
  readonly lookUp?: number;
  readonly begin?: number;
  readonly commit?: number;
}

describe('an attempt of a callback', () => {
  let room: TaskRoom;
  before(async () => {
    room = await openTaskRoom();
  });
  after(() => room.close());

  async function pendingCallback(): Promise<TaskId> {
    const caller = await room.newCaller();
    const { taskId } = await room.creator.create(caller, body(), undefined);
    await room.rows(
      `INSERT INTO callbacks (task_id, account_id, url, state, next_attempt_at)
       VALUES ($1, $2, 'https://example.com/', 'pending', now()) RETURNING task_id`,
      taskId,
      caller.accountId,
    );
    return taskId;
  }

  /**
   * Makes an attempt, of which each part takes so long by the attempt's clock.
   *
   * @param onCommit called when the attempt is counted.
   */
  async function attempt(
    taskId: TaskId,
    { lookUp = 0, begin = 0, commit = 0 }: Stalls,
    onCommit: () => Promise<unknown> = () => Promise.resolve(),
  ): Promise<{ sent: number; outcome: unknown }> {
    let now = 0;
    let sent = 0;
    const database: Database = {
      ...room.database,
      async query(statement, values) {
        now += lookUp;
        return room.database.query(statement, values);
      },
      async transaction(work) {
        now += begin;
        const result = await room.database.transaction(work);
        now += commit;
        if (sent === 0) await onCommit();
        return result;
      },
    };
    const context = {
      config: { callbacks: { offsetsSeconds: [0, 60], headerPrefix: 'X-Darkroom', oneAttemptAfterDays: 3 } },
      database,
      webhookKeys: { activeSecrets: () => Promise.resolve(['a secret']) },
      urlSigner: room.creatorDependencies.urlSigner,
      egress: {
        post() {
          sent += 1;
          return Promise.resolve({ status: 204, headers: {} });
        },
      },
      metrics: { callbacks: { attempted: () => undefined, ended: () => undefined } },
      now: Date.now,
      logger: silentLogger(),
    } as unknown as ActivityContext;
    const { signal } = new AbortController();
    const info = { startToCloseTimeoutMs: START_TO_CLOSE_MS };
    const running = { info, cancellationSignal: signal } as unknown as Context;
    const outcome = await asyncLocalStorage
      .run(running, () => createSendCallback(context, () => now)({ taskId }))
      .catch((error: unknown) => error);
    return { sent, outcome };
  }

  function assertTooLate(outcome: unknown): void {
    assert.ok(outcome instanceof ApplicationFailure, String(outcome));
    assert.deepEqual([outcome.type, outcome.nonRetryable], ['CallbackTooLate', false]);
  }

  for (const part of ['lookUp', 'begin', 'commit'] as const) {
    it(`is neither sent nor counted where ${part} took too long, and the next one is the first`, async () => {
      const taskId = await pendingCallback();

      const late = await attempt(taskId, { [part]: LONG_MS });

      assertTooLate(late.outcome);
      assert.equal(late.sent, 0);
      const record = await readCallback(room.database, taskId);
      assert.deepEqual([record?.state, record?.attempts], ['pending', []]);

      assert.deepEqual(await attempt(taskId, {}), { sent: 1, outcome: { state: 'delivered' } });
      const after = await readCallback(room.database, taskId);
      assert.deepEqual(
        after?.attempts.map((each) => each.attempt),
        [1],
      );
    });

    it(`is sent where ${part} took a moment`, async () => {
      const taskId = await pendingCallback();

      assert.deepEqual(await attempt(taskId, { [part]: SHORT_MS }), { sent: 1, outcome: { state: 'delivered' } });
    });
  }

  it('stays counted where the next had begun before it was found late', async () => {
    const taskId = await pendingCallback();

    const late = await attempt(taskId, { commit: LONG_MS }, () => attempt(taskId, {}));

    assertTooLate(late.outcome);
    const record = await readCallback(room.database, taskId);
    assert.equal(record?.state, 'delivered');
    assert.deepEqual(
      record.attempts.map(({ httpStatus }) => httpStatus),
      [null, 204],
    );
  });
});
