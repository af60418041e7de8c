/**
 * A submit that continues although Temporal has ended its attempt: the next attempt waits for it as long as it shows
 * that it is alive, and gives up the task when it does not (docs/decisions/0004).
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import { waitForLiveSubmit, startMarkingSubmitLive } from '../../src/generation/live-submit.ts';
import type { LiveSubmit } from '../../src/generation/live-submit.ts';
import { cancelTask } from '../../src/tasks/lifecycle/cancel.ts';
import { clearIntent, declareIntent, readIntentMark } from '../../src/tasks/lifecycle/intents.ts';
import type { DeclaredIntent } from '../../src/tasks/lifecycle/intents.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { beginHandling } from '../../src/tasks/lifecycle/transitions.ts';
import { recordJob } from '../../src/tasks/lifecycle/generations.ts';
import type { WorkingTask } from '../../src/tasks/lifecycle/transitions.ts';
import type { Generation } from '../../src/tasks/lifecycle/generations.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';

const FIRST = { upstreamName: 'one', upstreamIndex: 0, label: 1 };

// Most of them only wait for signs of life.
describe('a submit that goes on after its attempt', { concurrency: true }, () => {
  let room: TaskRoom;
  before(async () => {
    room = await openTaskRoom();
  });
  after(() => room.close());

  interface Submit extends LiveSubmit {
    readonly task: WorkingTask;
    readonly intent: DeclaredIntent;
    /** What the next attempt finds. */
    readonly found: Promise<Generation | undefined>;
    /** The next attempt stops waiting, and this one ends. */
    end(): Promise<void>;
  }

  /** @param attempt aborted if Temporal has ended it. */
  async function begin(attempt = AbortSignal.abort()): Promise<Submit> {
    const { taskId } = await room.creator.create(await room.newCaller(), body(), undefined);
    const { task } = await beginHandling(room.database, taskId, 60);
    const intent = await declareIntent(room.database, taskId, FIRST);
    assert.ok(intent !== undefined);
    const context = { database: room.database, logger: silentLogger() };
    const live = startMarkingSubmitLive(context, { signal: attempt }, task, FIRST);
    const waiting = new AbortController();
    const found = waitForLiveSubmit(context, task, waiting.signal);
    const end = async (): Promise<void> => {
      live.stop();
      waiting.abort();
      await found.catch(() => undefined);
    };
    return { ...live, task, intent, found, end };
  }

  /** As if its last sign of life were this old. */
  async function age(task: WorkingTask, seconds: number): Promise<void> {
    const statement = 'UPDATE generations SET updated_at = updated_at - make_interval(secs => $2) WHERE task_id = $1';
    await room.database.query({ name: 'age_intent', text: statement }, [task.id, seconds]);
  }

  /** Waits until it has shown once more that it lives. */
  async function waitForMark({ id }: WorkingTask): Promise<void> {
    const last = await readIntentMark(room.database, id);
    await waitFor('it shows that it lives', async () => {
      const mark = await readIntentMark(room.database, id);
      return mark !== undefined && mark.markedAt !== last?.markedAt;
    });
  }

  it('is waited for, and the next attempt continues with its result', async () => {
    const { task, found, stop } = await begin();
    await waitForMark(task);
    await age(task, 60);
    await recordJob(room.database, task, FIRST, 'job-1');
    stop();

    assert.deepEqual(await found, { state: 'submitted', jobId: 'job-1', upstreamIndex: 0, files: null });
  });

  it('is waited for when its heartbeats are old because the database was down', async () => {
    const { task, found, stop } = await begin();
    await age(task, 60);
    await waitForMark(task);
    await recordJob(room.database, task, FIRST, 'job-2');
    stop();

    assert.equal((await found)?.state, 'submitted');
  });

  it('is given up when it sends no heartbeats any more', async () => {
    const { task, found, stop } = await begin();
    stop();
    await age(task, 60);

    assert.equal((await found)?.state, 'intent');
  });

  it('is not of unknown outcome when it was ended by the cancellation of its task', async () => {
    const { task, found, stop } = await begin();
    stop();
    await cancelTask(room.database, task.accountId, task.id, 7);
    await age(task, 60);

    await assert.rejects(found, { reason: 'cancelled', isPermanent: true });
  });

  it('may be sent by the next attempt when it was not sent', async () => {
    const { task, intent, found, stop } = await begin();
    await clearIntent(room.database, task.id, intent);
    stop();

    assert.equal(await found, undefined);
  });

  it('is read once more when there is no time left to wait', async () => {
    const { task, stop } = await begin();
    stop();
    await recordJob(room.database, task, FIRST, 'job-3');

    const found = await waitForLiveSubmit({ database: room.database }, task, AbortSignal.abort());

    assert.equal(found?.state, 'submitted');
  });

  it('is waited for no longer than a heartbeat may be late, whatever the clock of the database says', async () => {
    const { task, found, stop } = await begin();
    stop();
    await age(task, -3_600);

    assert.equal((await found)?.state, 'intent');
  });

  it('has its job stopped when its task has ended by the time the job starts', async () => {
    const { task, end } = await begin();
    await settleTask(room.database, task.id, { status: 'fail', reason: 'cancelled' }, { retentionDays: 7 });
    await recordJob(room.database, task, FIRST, 'late-job');
    await end();

    const asked = await room.rows<{ kind: string }>('SELECT kind FROM outbox WHERE subject_id = $1', task.id);
    assert.ok(asked.some(({ kind }) => kind === 'stop_generation'));
    const events = await room.rows<{ type: string }>('SELECT type FROM task_events WHERE task_id = $1', task.id);
    assert.ok(!events.some(({ type }) => type === 'submitted'));
  });

  it('ends when its task was cancelled, although Temporal has ended its attempt', async () => {
    const { task, unwanted, end } = await begin();
    await cancelTask(room.database, task.accountId, task.id, 7);
    await waitFor('it is not wanted', () => unwanted.aborted);
    await end();
  });

  it('is left to Temporal to cancel while its attempt goes on', async () => {
    const { task, unwanted, end } = await begin(new AbortController().signal);
    await cancelTask(room.database, task.accountId, task.id, 7);
    await waitForMark(task);
    await end();

    assert.equal(unwanted.aborted, false);
  });
});
