/**
 * A task that finds no slot for its archiving: it waits for one without using up its time, and not for ever. Slots are
 * held by the tests, and nothing is really fetched.
 */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { asyncLocalStorage } from '@temporalio/activity';
import type { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { createArchiveOutputs } from '../../activities/archive-outputs.ts';
import { createArchivingSlots } from '../../activities/archiving-slots.ts';
import type { ActivityContext } from '../../activities/context.ts';
import type { SlotShares } from '../../activities/slot-shares.ts';
import { createPinnedDefinitions } from '../../src/catalogue/pinned-definitions.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { FIRST_IDLE_CURSOR, findIdleTasks } from '../../src/tasks/open-tasks.ts';
import type { IdleTask } from '../../src/tasks/open-tasks.ts';
import { readTroubledTasks } from '../../src/tasks/overdue.ts';
import { readTask } from '../../src/tasks/read.ts';
import { beginHandling, readWorkingTask, recordFiles } from '../../src/tasks/work.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import type { ArchiveResult } from '../../workflows/contracts.ts';
import { definition } from '../catalogue/definitions.ts';
import { body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';

const ARCHIVING_SECONDS = 600;
/** Longer than a deadline takes that has passed. */
const FETCH_MS = 20;

describe('a task that finds no slot for its archiving', () => {
  let room: TaskRoom;
  let slots: SlotShares;
  /** What fetching its file ends with; undefined: it is stored. */
  let trouble: Error | undefined;
  before(async () => {
    room = await openTaskRoom();
    await createPinnedDefinitions(room.database).pin([definition()]);
  });
  after(() => room.close());
  beforeEach(() => {
    slots = createArchivingSlots(undefined, 1);
    trouble = undefined;
  });

  function archive(taskId: TaskId, attempt = 1, isLocal = false): Promise<ArchiveResult> {
    const context = {
      database: room.database,
      stopping: new AbortController().signal,
      archivingSlots: slots,
      definitions: createPinnedDefinitions(room.database),
      providers: { get: () => ({}) },
      egress: { download: () => Promise.resolve({ body: undefined }) },
      store: {
        put: async (_key: string, _body: unknown, { signal }: { signal: AbortSignal }) => {
          await setTimeout(FETCH_MS, undefined, { signal });
          if (trouble !== undefined) throw trouble;
          return { sizeBytes: 3, sha256: 'x' };
        },
      },
      inspector: { inspectStored: () => Promise.resolve({ kind: 'image', mimeType: 'image/png' }) },
      logger: silentLogger(),
    } as unknown as ActivityContext;
    const facts = {
      accountId: 'ac-1',
      model: 'acme/pictures',
      handlingSeconds: 60,
      archivingSeconds: ARCHIVING_SECONDS,
    };
    const attemptContext = {
      info: { attempt, isLocal },
      cancellationSignal: new AbortController().signal,
      heartbeat: () => undefined,
    } as unknown as Context;
    return asyncLocalStorage.run(attemptContext, () => createArchiveOutputs(context)({ taskId, ...facts }));
  }

  async function generatedTask(): Promise<TaskId> {
    const { taskId } = await room.creator.create(await room.newCaller(), body(), undefined);
    const { task } = await beginHandling(room.database, taskId, 60);
    await recordFiles(room.database, task, { upstreamName: 'one', place: 0, label: 1 }, [
      { url: 'https://files.example.com/one.png' },
    ]);
    return taskId;
  }

  /** As if so many seconds had passed. */
  const later = (taskId: TaskId, seconds: number): Promise<unknown> =>
    room.rows(
      `UPDATE tasks SET updated_at = updated_at - make_interval(secs => $2),
              deadline_at = deadline_at - make_interval(secs => $2),
              archiving_deadline_at = archiving_deadline_at - make_interval(secs => $2) WHERE id = $1`,
      taskId,
      seconds,
    );

  /** Holds the only slot. @returns what gives it back. */
  function holdSlot(): () => void {
    let giveBack = (): void => undefined;
    void slots.run('ac-other', 1, () => new Promise<void>((resolve) => (giveBack = resolve)));
    return () => giveBack();
  }

  const refusedFor = async (attempt: Promise<unknown>): Promise<number> => {
    const error = await attempt.then(
      () => assert.fail('it had a slot'),
      (failure: unknown) => failure,
    );
    assert.ok(error instanceof ApplicationFailure && error.nonRetryable !== true, String(error));
    return Number(error.nextRetryDelay);
  };

  async function idle(taskId: TaskId): Promise<IdleTask> {
    const page = { idleSeconds: 0, graceSeconds: 60, after: FIRST_IDLE_CURSOR, limit: 1_000 };
    const found = (await findIdleTasks(room.database, page)).find(({ id }) => id === taskId);
    return found ?? assert.fail('the task is not among the idle ones');
  }

  const isOverdue = async (taskId: TaskId): Promise<boolean> =>
    (await readTroubledTasks(room.database)).overdue.some(({ id }) => id === taskId);

  it('is archived when there is one, although its whole time had passed by then, and is shown as archiving', async () => {
    const taskId = await generatedTask();
    const giveBack = holdSlot();
    await refusedFor(archive(taskId));
    assert.equal((await readTask(room.database, taskId)).status, 'archiving');
    await later(taskId, ARCHIVING_SECONDS + 100);
    await refusedFor(archive(taskId, 2));
    assert.deepEqual([(await idle(taskId)).isPastDeadline, await isOverdue(taskId)], [false, false]);

    giveBack();
    await new Promise(setImmediate);
    assert.equal((await archive(taskId, 3)).kind, 'archived');

    const { archivingDeadlineAt } = await readWorkingTask(room.database, taskId);
    const left = (archivingDeadlineAt ?? 0) - performance.now();
    assert.ok(left > (ARCHIVING_SECONDS - 60) * 1_000 && left <= ARCHIVING_SECONDS * 1_000, `${left} ms are left`);
  });

  it('has its whole time again where it fails in passing and others have the slots when it comes back', async () => {
    const taskId = await generatedTask();
    trouble = new Error('the store is away');
    await assert.rejects(archive(taskId), trouble);
    trouble = undefined;
    const giveBack = holdSlot();
    await refusedFor(archive(taskId, 2));
    await later(taskId, ARCHIVING_SECONDS + 100);

    giveBack();
    await new Promise(setImmediate);
    assert.equal((await archive(taskId, 3)).kind, 'archived');
  });

  it('uses up its time where it is archived and fails', async () => {
    const taskId = await generatedTask();
    trouble = new Error('the store is away');
    await assert.rejects(archive(taskId), trouble);
    await later(taskId, ARCHIVING_SECONDS + 100);

    await assert.rejects(archive(taskId, 2), { name: 'DeadlinePassedError' });
    assert.equal((await idle(taskId)).isPastDeadline, true);
  });

  it('has not begun its time when it was tried inside the workflow’s worker before', async () => {
    const taskId = await generatedTask();
    trouble = new Error('the store is away');
    await assert.rejects(archive(taskId, 1, true), trouble);
    trouble = undefined;
    await later(taskId, ARCHIVING_SECONDS + 100);

    assert.equal((await archive(taskId)).kind, 'archived');
  });

  it('comes back ever later', async () => {
    const taskId = await generatedTask();
    holdSlot();

    assert.ok((await refusedFor(archive(taskId))) <= 2_000);
    assert.ok((await refusedFor(archive(taskId, 20))) >= 5_000);
  });

  it('waits for a day, and not longer, also where no worker has come to it yet', async () => {
    const [waiting, notBegun] = [await generatedTask(), await generatedTask()];
    holdSlot();
    await refusedFor(archive(waiting));
    const hours = async (count: number): Promise<void> => {
      for (const taskId of [waiting, notBegun]) await later(taskId, count * 3_600);
      await room.rows(`UPDATE generations SET updated_at = updated_at - make_interval(hours => $1)`, count);
    };

    await hours(23);
    for (const taskId of [waiting, notBegun]) {
      assert.deepEqual([(await idle(taskId)).isPastDeadline, await isOverdue(taskId)], [false, false]);
    }

    await hours(2);
    for (const taskId of [waiting, notBegun]) {
      assert.deepEqual([(await idle(taskId)).isPastDeadline, await isOverdue(taskId)], [true, true]);
    }
  });
});
