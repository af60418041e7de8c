/** A callback attempt whose time the database used up: Temporal would start the next one in parallel. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { asyncLocalStorage } from '@temporalio/activity';
import type { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { msOptionalToNumber } from '@temporalio/common/lib/time.js';
import type { ActivityContext } from '../../activities/context.ts';
import { createSendCallback } from '../../activities/send-callback.ts';
import { postponeAttempt, readCallback } from '../../src/callbacks/attempts.ts';
import type { CallbackRecord } from '../../src/callbacks/attempts.ts';
import { DatabaseUnavailableError } from '../../src/database/database.ts';
import type { Database } from '../../src/database/database.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { letPass } from '../support/let-pass.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';

const START_TO_CLOSE_MS = 20_000;
/** Within the time that an attempt has besides its exchange. */
const SHORT_MS = 3_000;
/** A stall below the timeout of a statement, after which an exchange would outlive the attempt. */
const LONG_MS = 14_000;

/** Longer than an attempt may take to record its outcome. */
const RECORD_STALL_MS = 6_000;
/** An attempt that continues until its last moment, so that about 2 s are left for its record. */
const UP_TO_THE_LAST = { begin: 5_000, commit: 2_900, exchange: 9_900 };

interface Stalls {
  /** How long each takes, in milliseconds. */
  readonly lookUp?: number;
  readonly begin?: number;
  readonly commit?: number;
  readonly exchange?: number;
}

interface Surroundings {
  /** Called when the attempt is counted. */
  readonly onCommit?: () => Promise<unknown>;
  /** Awaited before each try to record the outcome. */
  readonly onRecord?: () => Promise<unknown>;
  /** The receiver's response; 204 by default. */
  readonly reply?: { readonly status: number; readonly headers: Readonly<Record<string, string>> };
}

describe('a callback attempt', () => {
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

  /** Runs an attempt whose parts take the given times by the attempt's clock. */
  async function attempt(
    taskId: TaskId,
    { lookUp = 0, begin = 0, commit = 0, exchange = 0 }: Stalls,
    { onCommit, onRecord, reply = { status: 204, headers: {} } }: Surroundings = {},
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
        if (sent > 0) {
          await onRecord?.();
          return room.database.transaction(work);
        }
        now += begin;
        const result = await room.database.transaction(work);
        now += commit;
        await onCommit?.();
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
          now += exchange;
          return Promise.resolve(reply);
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

  function failureOf(outcome: unknown): { type: unknown; nonRetryable: unknown; retryDelayMs: number | undefined } {
    assert.ok(outcome instanceof ApplicationFailure, String(outcome));
    const { type, nonRetryable, nextRetryDelay } = outcome;
    return { type, nonRetryable, retryDelayMs: msOptionalToNumber(nextRetryDelay) };
  }

  async function waitForRecorded(taskId: TaskId): Promise<CallbackRecord> {
    let record: CallbackRecord | undefined;
    await waitFor('the attempt is recorded', async () => {
      record = await readCallback(room.database, taskId);
      return typeof record?.attempts[0]?.durationMs === 'number';
    });
    return record ?? assert.fail();
  }

  for (const part of ['lookUp', 'begin', 'commit'] as const) {
    it(`is neither sent nor counted when ${part} took too long, and the next one is the first`, async () => {
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

    it(`is sent when ${part} was fast`, async () => {
      const taskId = await pendingCallback();

      assert.deepEqual(await attempt(taskId, { [part]: SHORT_MS }), { sent: 1, outcome: { state: 'delivered' } });
    });
  }

  it('stays counted when the next one had begun before it was found late', async () => {
    const taskId = await pendingCallback();

    const late = await attempt(taskId, { commit: LONG_MS }, { onCommit: () => attempt(taskId, {}) });

    assertTooLate(late.outcome);
    const record = await readCallback(room.database, taskId);
    assert.equal(record?.state, 'delivered');
    assert.deepEqual(
      record.attempts.map(({ httpStatus }) => httpStatus),
      [null, 204],
    );
  });

  it('that failed reports when the next is due when recording it takes too long, and the next one is not early', async () => {
    const taskId = await pendingCallback();
    const reply = { status: 500, headers: { 'retry-after': '300' } };

    const late = await attempt(taskId, UP_TO_THE_LAST, { reply, onRecord: () => letPass(RECORD_STALL_MS) });

    assert.deepEqual(failureOf(late.outcome), {
      type: 'CallbackAttemptFailed',
      nonRetryable: false,
      retryDelayMs: 300_000,
    });
    assert.equal(
      (await readCallback(room.database, taskId))?.attempts[0]?.durationMs,
      null,
      'it waited for its record',
    );
    const record = await waitForRecorded(taskId);
    assert.equal(record.state, 'pending');

    const early = await attempt(taskId, {});
    const { type, nonRetryable, retryDelayMs = 0 } = failureOf(early.outcome);
    assert.deepEqual([type, nonRetryable, early.sent], ['CallbackTooEarly', false, 0]);
    assert.ok(retryDelayMs > 200_000 && retryDelayMs <= 300_000, String(retryDelayMs));
    assert.deepEqual((await readCallback(room.database, taskId))?.attempts, record.attempts);
  });

  it('that succeeded is recorded afterwards when that takes too long, and is not sent again', async () => {
    const taskId = await pendingCallback();
    let tries = 0;
    const onRecord = async (): Promise<void> => {
      tries += 1;
      if (tries > 1) return;
      await letPass(RECORD_STALL_MS);
      throw new DatabaseUnavailableError('the statement was ended');
    };

    const late = await attempt(taskId, UP_TO_THE_LAST, { onRecord });

    assert.deepEqual(failureOf(late.outcome), {
      type: 'CallbackNotRecorded',
      nonRetryable: false,
      retryDelayMs: 60_000,
    });
    assert.equal((await waitForRecorded(taskId)).state, 'delivered');
    assert.deepEqual(await attempt(taskId, {}), { sent: 0, outcome: { state: 'nothing_to_send' } });
  });

  it('without a free slot is rescheduled to the time at which it is due', async () => {
    const taskId = await pendingCallback();
    await attempt(taskId, {}, { reply: { status: 500, headers: {} } });

    await postponeAttempt(room.database, taskId, 250);

    assert.equal(failureOf((await attempt(taskId, {})).outcome).type, 'CallbackTooEarly');
  });
});
