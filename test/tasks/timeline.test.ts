/** A task's timeline: complete, in order, without gaps, with any number of simultaneous writers (contract §4). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { newTaskId } from '../../src/domain/ids.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { cancelTask, recordCancelRequest } from '../../src/tasks/lifecycle/cancel.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { TaskNotFoundError } from '../../src/tasks/record/read.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { MAX_EVENTS_PER_PAGE } from '@darkroom/api/facts/limits';
import { addEvent, addEvents, lockTask, readTimeline } from '../../src/tasks/record/timeline.ts';
import type { TaskEvent } from '../../src/tasks/record/timeline.ts';
import { beginArchiving, beginHandling, readWorkingTask } from '../../src/tasks/lifecycle/transitions.ts';
import { recordFiles, recordJob, recordNoAnswer, recordRejection } from '../../src/tasks/lifecycle/generations.ts';
import { body, openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

const STORED = { key: 'outputs/one', sizeBytes: 3, sha256: 'ab'.repeat(32) };
const SUCCESS = {
  status: 'success',
  outputs: [{ type: 'image', objectKey: 'outputs/one', mimeType: 'image/png', sizeBytes: 3, sha256: 'ab'.repeat(32) }],
  capturedMicroUsd: 1n,
} as const;

let room: TaskRoom;
let caller: Caller;
before(async () => {
  room = await openTaskRoom();
  caller = await room.newCaller({ runningCap: 1_000 });
});
after(() => room.close());

/** A task that the launcher has taken. */
async function launched(): Promise<TaskId> {
  const { taskId } = await room.creator.create(caller, body(), undefined);
  await claimOutbox(room.database, 100);
  return taskId;
}

async function eventsOf(taskId: TaskId): Promise<readonly TaskEvent[]> {
  return (await readTimeline(room.database, taskId, caller.accountId, 0)).events;
}

/** Two upstreams of a route: callers know them by their positions, or by the names in the model file. */
const FIRST = { upstreamName: 'tasks:upstream', upstreamIndex: 0, label: 1 };
const SPARE = { upstreamName: 'spare', upstreamIndex: 1, label: 'spare' };

function summaryOf(events: readonly TaskEvent[]): unknown[] {
  return events.map(({ type, detail }) => (detail === null ? type : [type, detail]));
}

describe('the timeline of a task', () => {
  // Proves C4-8.
  it('has each step on the way to success once', async () => {
    const taskId = await launched();
    await beginHandling(room.database, taskId, 60);
    await recordRejection(room.database, taskId, FIRST, 'provider_unavailable');
    await recordNoAnswer(room.database, taskId, SPARE);
    await recordJob(room.database, await readWorkingTask(room.database, taskId), SPARE, 'job-1');
    await recordFiles(room.database, await readWorkingTask(room.database, taskId), SPARE, [STORED]);
    await beginArchiving(room.database, taskId);
    await settleTask(room.database, taskId, SUCCESS, { retentionDays: 7 });

    const part = await readTimeline(room.database, taskId, caller.accountId, 0);

    assert.equal(part.status, 'success');
    assert.deepEqual(summaryOf(part.events), [
      'accepted',
      'started',
      ['provider_refused', { upstream: 1, reason: 'provider_unavailable' }],
      ['provider_unanswered', { upstream: 'spare' }],
      ['submitted', { upstream: 'spare' }],
      ['produced', { count: 1 }],
      'archiving',
      ['archived', { count: 1 }],
      ['settled', { status: 'success' }],
    ]);
    assert.deepEqual(
      part.events.map(({ seq }) => seq),
      [1, 2, 3, 4, 5, 6, 7, 8, 9],
    );
    assert.equal(part.lastSeq, 9);
    for (const { at } of part.events) assert.ok(Number.isInteger(at) && Math.abs(at - Date.now() / 1000) < 60);
  });

  it('has no duplicates when an activity runs twice', async () => {
    const taskId = await launched();
    for (let run = 0; run < 2; run++) {
      await beginHandling(room.database, taskId, 60);
      await recordFiles(room.database, await readWorkingTask(room.database, taskId), FIRST, [STORED]);
      await beginArchiving(room.database, taskId);
      await settleTask(room.database, taskId, SUCCESS, { retentionDays: 7 });
    }

    assert.deepEqual(
      (await eventsOf(taskId)).map(({ type }) => type),
      ['accepted', 'started', 'produced', 'archiving', 'archived', 'settled'],
    );
  });

  it('omits outputs of a task that has ended meanwhile, and records them all the same', async () => {
    const taskId = await launched();
    await beginHandling(room.database, taskId, 60);
    await settleTask(room.database, taskId, { status: 'fail', reason: 'terminated' }, { retentionDays: 7 });

    await recordFiles(room.database, await readWorkingTask(room.database, taskId), FIRST, [STORED]);

    assert.deepEqual(summaryOf(await eventsOf(taskId)), [
      'accepted',
      'started',
      ['settled', { status: 'fail', reason: 'terminated' }],
    ]);
    const rows = await room.rows('SELECT state FROM generations WHERE task_id = $1', taskId);
    assert.deepEqual(rows, [{ state: 'produced' }]);
  });

  it('needs no statement of its own to record what was produced, archived and settled', async () => {
    const taskId = await launched();
    const { task } = await beginHandling(room.database, taskId, 60);

    room.forgetStatements();
    await recordFiles(room.database, task, FIRST, [STORED]);
    assert.deepEqual(room.statements, ['record_generation_files']);

    await beginArchiving(room.database, taskId);
    room.forgetStatements();
    await settleTask(room.database, taskId, SUCCESS, { retentionDays: 7 });
    assert.deepEqual(
      room.statements.filter((name) => name.includes('event')),
      [],
    );
  });

  it('has no gap and no failure when a task is processed, cancelled and recorded concurrently', async () => {
    for (let round = 0; round < 15; round++) {
      const taskId = await launched();
      const { task } = await beginHandling(room.database, taskId, 60);
      await Promise.all([
        beginHandling(room.database, taskId, 60),
        cancelTask(room.database, caller.accountId, taskId, 7),
        recordFiles(room.database, task, FIRST, [STORED]),
        recordRejection(room.database, taskId, FIRST, 'provider_error'),
        room.database.transaction(async (transaction) => {
          await lockTask(transaction, taskId);
          await addEvent(transaction, taskId, 'output_promoted');
        }),
      ]);

      const events = await eventsOf(taskId);
      assert.deepEqual(
        events.map(({ seq }) => seq),
        [1, 2, 3, 4, 5, 6],
      );
      assert.deepEqual(events.map(({ type }) => type).toSorted(), [
        'accepted',
        'cancel_requested',
        'output_promoted',
        'produced',
        'provider_refused',
        'started',
      ]);
    }
  });
});

describe('a cancel of the workflow', () => {
  it('is recorded once, also after a cancel that the API has accepted', async () => {
    for (const isAccepted of [false, true]) {
      const taskId = await launched();
      await beginHandling(room.database, taskId, 60);
      if (isAccepted) await cancelTask(room.database, caller.accountId, taskId, 7);
      await recordCancelRequest(room.database, taskId);
      await recordCancelRequest(room.database, taskId);

      assert.deepEqual(
        (await eventsOf(taskId)).map(({ type }) => type),
        ['accepted', 'started', 'cancel_requested'],
      );
      assert.equal((await readWorkingTask(room.database, taskId))?.isCancelRequested, true);
    }
  });

  it('is not recorded before a task is handled, nor after', async () => {
    const taskId = await launched();
    await recordCancelRequest(room.database, taskId);
    await beginHandling(room.database, taskId, 60);
    await settleTask(room.database, taskId, { status: 'fail', reason: 'timed_out' }, { retentionDays: 7 });
    await recordCancelRequest(room.database, taskId);

    assert.deepEqual(
      (await eventsOf(taskId)).map(({ type }) => type),
      ['accepted', 'started', 'settled'],
    );
  });
});

describe('reading a timeline', () => {
  it('returns what comes after a seq, and nothing beyond the last', async () => {
    const taskId = await launched();
    await beginHandling(room.database, taskId, 60);

    const some = await readTimeline(room.database, taskId, caller.accountId, 1);
    assert.deepEqual([summaryOf(some.events), some.lastSeq, some.status], [['started'], 2, 'handling']);
    const none = await readTimeline(room.database, taskId, caller.accountId, 2_147_483_647);
    assert.deepEqual([none.events, none.lastSeq], [[], 2]);
  });

  it('returns a bounded page of an endless timeline', async () => {
    const taskId = await launched();
    await room.database.transaction(async (transaction) => {
      await lockTask(transaction, taskId);
      await addEvents(
        transaction,
        taskId,
        Array.from(
          { length: MAX_EVENTS_PER_PAGE + 5 },
          (_, index) => ['callback_attempted', { attempt: index + 1 }] as const,
        ),
      );
    });

    const first = await readTimeline(room.database, taskId, caller.accountId, 0);
    assert.equal(first.events.length, MAX_EVENTS_PER_PAGE);
    assert.equal(first.lastSeq, MAX_EVENTS_PER_PAGE + 6);
    const rest = await readTimeline(room.database, taskId, caller.accountId, first.events.at(-1)?.seq ?? 0);
    assert.deepEqual(
      rest.events.map(({ seq, detail }) => [seq, detail?.['attempt']]),
      Array.from({ length: 6 }, (_, index) => [MAX_EVENTS_PER_PAGE + 1 + index, MAX_EVENTS_PER_PAGE + index]),
    );
  });

  it('finds neither an unknown task nor another account’s', async () => {
    const taskId = await launched();
    const other = await room.newCaller();

    await assert.rejects(readTimeline(room.database, taskId, other.accountId, 0), TaskNotFoundError);
    await assert.rejects(readTimeline(room.database, newTaskId(), caller.accountId, 0), TaskNotFoundError);
  });
});
