/**
 * Tasks that find no archiving slot: they wait for one without using up their time, and not forever; and videos that
 * wait for a decoder, which leave slots to images. Slots and the decoder are held by the tests, and nothing is really
 * fetched.
 */
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { createPinnedDefinitions } from '../../src/catalogue/pinned-definitions.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { archiveOutputs } from '../../src/generation/archive.ts';
import {
  VIDEO_ARCHIVING_SLOTS,
  createArchivingSlots,
  createVideoArchivingSlots,
  createFrameDecoders,
} from '../../src/generation/slots.ts';
import type { GenerationContext } from '../../src/generation/context.ts';
import { GenerationFailure } from '../../src/generation/failure.ts';
import type { SlotShares } from '../../src/generation/slots.ts';
import { WorkerStoppingError } from '../../src/generation/stopping.ts';
import type { TenantShares } from '../../src/limits/tenant-shares.ts';
import { beginHandling, readWorkingTask } from '../../src/tasks/lifecycle/transitions.ts';
import { recordFiles } from '../../src/tasks/lifecycle/generations.ts';
import { FIRST_IDLE_CURSOR, findIdleTasks, readTasksNeedingRepair } from '../../src/tasks/record/open-tasks.ts';
import type { IdleTask } from '../../src/tasks/record/open-tasks.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { readTask } from '../../src/tasks/record/read.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { definition } from '../catalogue/definitions.ts';
import { stub } from '../support/stub.ts';
import { body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import type { ArchiveResult } from '../../workflows/contracts.ts';
import { newAttempt } from './attempts.ts';

const ARCHIVING_SECONDS = 600;
/** Longer than it takes to notice a passed deadline. */
const FETCH_MS = 20;

/** A simulated download: it takes a while, and ends when it is aborted. */
async function fetched(signal: AbortSignal): Promise<void> {
  const endAt = performance.now() + FETCH_MS;
  await waitFor('the file has come', () => signal.aborted || performance.now() > endAt, 1);
  signal.throwIfAborted();
}

const VIDEOS = definition({ name: 'acme/videos', modality: 'video' });

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom(undefined, { models: [VIDEOS] });
  await createPinnedDefinitions(room.database).pin([definition(), VIDEOS]);
});
after(() => room.close());

/** What the attempts of one test share. */
interface Bench {
  readonly archivingSlots: SlotShares;
  readonly videoArchivingSlots: SlotShares;
  readonly frameDecoders: TenantShares;
  readonly stopping: AbortController;
  /** Keys of the videos. */
  readonly videos: Set<string>;
  /** The error that fetching a file ends with; undefined: it is stored. */
  trouble: Error | undefined;
}

function newBench(slots?: number): Bench {
  return {
    archivingSlots: createArchivingSlots(undefined, slots),
    videoArchivingSlots: createVideoArchivingSlots(),
    frameDecoders: createFrameDecoders(undefined, 1),
    stopping: new AbortController(),
    videos: new Set(),
    trouble: undefined,
  };
}

interface Attempt {
  readonly attempt?: number;
  readonly isLocal?: boolean;
  readonly archivingSeconds?: number;
}

function archiveAt(bench: Bench, taskId: TaskId, options: Attempt = {}): Promise<ArchiveResult> {
  const { attempt = 1, isLocal = false, archivingSeconds = ARCHIVING_SECONDS } = options;
  const context = stub<GenerationContext>({
    archivingSlots: bench.archivingSlots,
    videoArchivingSlots: bench.videoArchivingSlots,
    frameDecoders: bench.frameDecoders,
    stopping: bench.stopping.signal,
    database: room.database,
    definitions: createPinnedDefinitions(room.database),
    providers: { get: () => stub<Provider>({}) },
    egress: { download: (url) => Promise.resolve({ body: Readable.from([url]) }) },
    store: {
      // What is stored under a key is that key.
      read: (key) => Promise.resolve(Readable.from([Buffer.from(key)])),
      put: async (key, body, { signal }) => {
        await fetched(signal ?? assert.fail('it cannot be aborted'));
        if (bench.trouble !== undefined) throw bench.trouble;
        if ((await text(Readable.from(body))).endsWith('.mp4')) bench.videos.add(key);
        return { sizeBytes: 3, sha256: 'x' };
      },
    },
    inspector: {
      inspect: async (_account, source) => {
        const key = String(await source.read(0, 1));
        return bench.videos.has(key)
          ? { kind: 'video', mimeType: 'video/mp4', extension: 'mp4' }
          : { kind: 'image', mimeType: 'image/png', extension: 'png' };
      },
    },
    logger: silentLogger(),
  });
  const input = { taskId, handlingSeconds: 60, archivingSeconds };
  return archiveOutputs(context, newAttempt({ number: attempt, isLocal }), input, () => Promise.resolve(undefined));
}

async function generatedTask(caller?: Caller, model = 'acme/images'): Promise<TaskId> {
  const { taskId } = await room.creator.create(caller ?? (await room.newCaller()), body({ model }), undefined);
  const { task } = await beginHandling(room.database, taskId, 60);
  const url = `https://files.example.com/${model === VIDEOS.name ? 'one.mp4' : 'one.png'}`;
  await recordFiles(room.database, task, { upstreamName: 'one', upstreamIndex: 0, label: 1 }, [{ url }]);
  return taskId;
}

async function generatedVideos(count: number): Promise<readonly TaskId[]> {
  const caller = await room.newCaller({ runningCap: count });
  const videos: TaskId[] = [];
  while (videos.length < count) videos.push(await generatedTask(caller, VIDEOS.name));
  return videos;
}

/** As if the given number of seconds had passed. */
const later = (taskId: TaskId, seconds: number): Promise<unknown> =>
  room.rows(
    `UPDATE tasks SET updated_at = updated_at - make_interval(secs => $2),
            deadline_at = deadline_at - make_interval(secs => $2),
            archiving_deadline_at = archiving_deadline_at - make_interval(secs => $2) WHERE id = $1`,
    taskId,
    seconds,
  );

/** Holds the only slot. @returns a function that releases it. */
function holdSlot({ archivingSlots }: Bench): () => Promise<void> {
  let giveBack = (): void => undefined;
  const held = archivingSlots.run('ac-other', 1, () => new Promise<void>((resolve) => (giveBack = resolve)));
  return () => {
    giveBack();
    return held;
  };
}

const retryDelayOf = async (attempt: Promise<unknown>): Promise<number> => {
  const error = await attempt.then(
    () => assert.fail('it had a slot'),
    (failure: unknown) => failure,
  );
  assert.ok(error instanceof GenerationFailure && !error.isPermanent, String(error));
  return Number(error.retryAfterMs);
};

async function idle(taskId: TaskId): Promise<IdleTask> {
  const page = { idleSeconds: 0, graceSeconds: 60, after: FIRST_IDLE_CURSOR, limit: 1_000 };
  const found = (await findIdleTasks(room.database, page)).find(({ id }) => id === taskId);
  return found ?? assert.fail('the task is not among the idle ones');
}

const isOverdue = async (taskId: TaskId): Promise<boolean> =>
  (await readTasksNeedingRepair(room.database)).overdue.some(({ id }) => id === taskId);

const trouble = new Error('the store is away');

describe('a task that waits for an archiving slot', () => {
  it('is archived when one is free, although its whole timeout has passed by then, and is shown as archiving', async () => {
    const bench = newBench(1);
    const taskId = await generatedTask();
    const giveBack = holdSlot(bench);
    await retryDelayOf(archiveAt(bench, taskId));
    assert.equal((await readTask(room.database, taskId)).status, 'archiving');
    await later(taskId, ARCHIVING_SECONDS + 100);
    await retryDelayOf(archiveAt(bench, taskId, { attempt: 2 }));
    assert.deepEqual([(await idle(taskId)).isPastDeadline, await isOverdue(taskId)], [false, false]);

    await giveBack();
    assert.equal((await archiveAt(bench, taskId, { attempt: 3 })).kind, 'archived');

    const { archivingDeadlineAt } = await readWorkingTask(room.database, taskId);
    const left = (archivingDeadlineAt ?? 0) - performance.now();
    assert.ok(left > (ARCHIVING_SECONDS - 60) * 1_000 && left <= ARCHIVING_SECONDS * 1_000, `${left} ms are left`);
  });

  it('has its whole timeout again when it fails temporarily and finds no slot on its return', async () => {
    const bench = newBench(1);
    const taskId = await generatedTask();
    bench.trouble = trouble;
    await assert.rejects(archiveAt(bench, taskId), trouble);
    bench.trouble = undefined;
    const giveBack = holdSlot(bench);
    await retryDelayOf(archiveAt(bench, taskId, { attempt: 2 }));
    await later(taskId, ARCHIVING_SECONDS + 100);

    await giveBack();
    assert.equal((await archiveAt(bench, taskId, { attempt: 3 })).kind, 'archived');
  });

  it('uses up its timeout while it is archived and fails', async () => {
    const bench = newBench(1);
    const taskId = await generatedTask();
    bench.trouble = trouble;
    await assert.rejects(archiveAt(bench, taskId), trouble);
    await later(taskId, ARCHIVING_SECONDS + 100);

    await assert.rejects(archiveAt(bench, taskId, { attempt: 2 }), { name: 'DeadlinePassedError' });
    assert.equal((await idle(taskId)).isPastDeadline, true);
  });

  it('has not started its timeout when it was tried inside the workflow’s worker before', async () => {
    const bench = newBench(1);
    const taskId = await generatedTask();
    bench.trouble = trouble;
    await assert.rejects(archiveAt(bench, taskId, { isLocal: true }), trouble);
    bench.trouble = undefined;
    await later(taskId, ARCHIVING_SECONDS + 100);

    assert.equal((await archiveAt(bench, taskId)).kind, 'archived');
  });

  it('returns at growing intervals', async () => {
    const bench = newBench(1);
    const taskId = await generatedTask();
    holdSlot(bench);

    assert.ok((await retryDelayOf(archiveAt(bench, taskId))) <= 2_000);
    assert.ok((await retryDelayOf(archiveAt(bench, taskId, { attempt: 20 }))) >= 5_000);
  });

  it('waits for a day, and not longer, also when no worker has tried it yet', async () => {
    const bench = newBench(1);
    const [waiting, notBegun] = [await generatedTask(), await generatedTask()];
    holdSlot(bench);
    await retryDelayOf(archiveAt(bench, waiting));
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

describe('videos that take long to decode', () => {
  /** Runs all of them until no more start. */
  async function beginAll(
    bench: Bench,
    videos: readonly TaskId[],
  ): Promise<{ rejected: number; waiting: number; end(): Promise<void> }> {
    const decoder = await bench.frameDecoders.take('ac-other');
    let rejected = 0;
    const attempts = videos.map((video) =>
      archiveAt(bench, video).catch((error: unknown) => {
        if (error instanceof GenerationFailure && error.retryAfterMs !== undefined) rejected += 1;
        else if (!bench.stopping.signal.aborted) throw error;
      }),
    );
    const { usage } = bench.frameDecoders;
    await waitFor('each has a slot or none', () => rejected + usage().waiting === videos.length);
    return {
      rejected,
      waiting: usage().waiting,
      async end() {
        bench.stopping.abort(new WorkerStoppingError());
        await Promise.all(attempts);
        decoder.release();
      },
    };
  }

  it('occupy half of the video slots when one account has 41 of them, and the others are rescheduled', async () => {
    const bench = newBench();
    const { rejected, waiting, end } = await beginAll(bench, await generatedVideos(41));

    assert.deepEqual([waiting, rejected], [VIDEO_ARCHIVING_SLOTS / 2, 41 - VIDEO_ARCHIVING_SLOTS / 2]);
    assert.equal((await archiveAt(bench, await generatedTask())).kind, 'archived');
    await end();
  });

  it('occupy the video slots when five accounts have ten each, and images are archived meanwhile', async () => {
    const bench = newBench();
    const videos: TaskId[] = [];
    for (let account = 0; account < 5; account++) videos.push(...(await generatedVideos(10)));
    const { waiting, end } = await beginAll(bench, videos);

    assert.ok(waiting <= VIDEO_ARCHIVING_SLOTS, `${waiting} wait for the decoder`);
    const images = await Promise.all(Array.from({ length: 5 }, () => generatedTask()));
    const archived = await Promise.all(images.map((image) => archiveAt(bench, image)));
    assert.ok(archived.every(({ kind }) => kind === 'archived'));
    await end();
  });

  it('do not wait inside the workflow’s worker when workflow tasks of others need the slot', async () => {
    const bench = newBench();
    const [video] = await generatedVideos(1);
    assert.ok(video);
    const decoder = await bench.frameDecoders.take('ac-other');

    await retryDelayOf(archiveAt(bench, video, { isLocal: true }));
    decoder.release();
  });

  it('are delivered without their frames when no time is left for them', async () => {
    const bench = newBench();
    const [video] = await generatedVideos(1);
    assert.ok(video);
    const decoder = await bench.frameDecoders.take('ac-other');

    const result = await archiveAt(bench, video, { archivingSeconds: 1 });

    assert.ok(result.kind === 'archived');
    assert.deepEqual(
      result.outputs.map(({ type }) => type),
      ['video'],
    );
    decoder.release();
  });
});
