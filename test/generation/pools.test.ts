/**
 * Pools of equal upstreams: how tasks are distributed over the members, what happens to those that none can take, and
 * what a rejected credential and an operator do to a member. Contexts that share a database and nothing else are
 * workers; definitions are as the reader of model files expands them.
 */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { createPinnedDefinitions } from '../../src/catalogue/pinned-definitions.ts';
import type { Balance, ModelDefinition, Upstream } from '../../src/catalogue/definition.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import type { GenerationContext } from '../../src/generation/context.ts';
import { GenerationFailure } from '../../src/generation/failure.ts';
import { releaseUpstreamSlot } from '../../src/generation/release-upstream-slot.ts';
import { submitGeneration } from '../../src/generation/submit.ts';
import { routeAt } from '../../src/generation/task-route.ts';
import { ProviderRejection } from '../../src/providers/provider.ts';
import type { UpstreamCondition } from '../../src/providers/provider.ts';
import { declareIntent } from '../../src/tasks/lifecycle/intents.ts';
import { beginHandling, readWorkingTask } from '../../src/tasks/lifecycle/transitions.ts';
import { readGeneration } from '../../src/tasks/lifecycle/generations.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import type { Admission } from '../../src/upstreams/slots.ts';
import { drainUpstream, readState, resumeUpstream } from '../../src/upstreams/states.ts';
import { createUpstreams } from '../../src/upstreams/upstreams.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { definition } from '../catalogue/definitions.ts';
import { body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { newAttempt } from './attempts.ts';
import { openGenerationBench } from './contexts.ts';
import type { GenerationBench } from './contexts.ts';
import { scriptedProvider } from './scripted-provider.ts';

const WORKERS = 11;
const MINUTE_SECONDS = 60;

/** A member of the pool of a model. */
type Member = Pick<Upstream, 'concurrency' | 'weight'>;

function model(name: string, balance: Balance, members: readonly Member[]): ModelDefinition {
  const upstreams = members.map((member, index): Upstream => {
    return { protocol: 'scripted', model: 'images', pool: name, id: `${name}-${index + 1}`, ...member };
  });
  return definition({ name: `acme/${name}`, routes: { default: { balance, upstreams } } });
}

const MODELS = [
  model('burst', 'least_busy', [{}, {}, {}, {}]),
  model('burst-of-workers', 'least_busy', [{}, {}, {}, {}]),
  model('capped', 'least_busy', [{ concurrency: 3 }, { concurrency: 1 }]),
  model('weighted', 'weighted', [{ weight: 3 }, {}, { weight: 0 }]),
  model('weightless', 'weighted', [{ weight: 0 }, { weight: 0 }]),
  model('spills', 'ordered', [{ concurrency: 1 }, { concurrency: 1 }]),
  model('queued', 'least_busy', [{ concurrency: 1 }, { concurrency: 1 }]),
  model('contended', 'least_busy', [{ concurrency: 1 }, { concurrency: 1 }]),
  model('single', 'least_busy', [{ concurrency: 1 }, { weight: 0 }]),
  model(
    'twelve',
    'least_busy',
    Array.from({ length: 12 }, () => ({ concurrency: 1 })),
  ),
  model('rejected', 'ordered', [{}, {}]),
  model('spent', 'ordered', [{}, {}]),
  model('limited', 'ordered', [{}, {}]),
  model('unusable', 'weighted', [{}, {}]),
  model('alone', 'ordered', [{}]),
  model('drained', 'least_busy', [{}, {}]),
  model('intent', 'least_busy', [{}, {}, {}]),
];

describe('a pool of upstreams', () => {
  let room: TaskRoom;
  let bench: GenerationBench;
  let workers: readonly GenerationContext[];
  const woken: Admission[] = [];
  const logged: unknown[] = [];
  /** The upstream of each submit, in order, by model. */
  const sent = new Map<string, string[]>();
  /** How members reject what they receive. */
  const conditions = new Map<string, UpstreamCondition>();
  before(async () => {
    room = await openTaskRoom(undefined, { models: MODELS });
    await createPinnedDefinitions(room.database).pin(MODELS);
    const provider = scriptedProvider({
      submit({ taskId, upstream: { id = '' } }) {
        const pool = id.replace(/-\d+$/, '');
        sent.set(pool, [...(sent.get(pool) ?? []), id]);
        const condition = conditions.get(id);
        if (condition === undefined) return Promise.resolve({ kind: 'job', jobId: taskId });
        const reason = condition === 'busy' ? 'provider_unavailable' : 'model_unavailable';
        return Promise.reject(
          new ProviderRejection(reason, { condition, ...(condition === 'busy' ? { retryAfterMs: 60_000 } : {}) }),
        );
      },
    });
    bench = openGenerationBench(room, { scripted: provider });
    const logger = {
      ...silentLogger(),
      error: (fields: unknown) => logged.push(fields),
    };
    workers = Array.from({ length: WORKERS }, () => ({
      ...bench.context,
      upstreams: createUpstreams({
        database: room.database,
        logger,
        publicUrl: 'http://127.0.0.1',
        signingKey: 'a signing key of at least 32 characters',
        wake(_, admission) {
          woken.push(admission);
          return Promise.resolve(undefined);
        },
      }),
    }));
  });
  after(async () => {
    await bench.close();
    await room.close();
  });
  beforeEach(() => {
    woken.length = 0;
    logged.length = 0;
  });

  const workerAt = (index: number): GenerationContext => workers[index % WORKERS] ?? assert.fail();
  const newTask = async (name: string): Promise<TaskId> =>
    (await room.creator.create(await room.newCaller(), body({ model: `acme/${name}` }), undefined)).taskId;

  /** One attempt of a worker. @returns the upstream that has the task; `waiting`, or how the attempt failed. */
  async function submit(taskId: TaskId, worker = 0, handlingSeconds = MINUTE_SECONDS): Promise<string> {
    const context = workerAt(worker);
    const { accountId, model: name } = await readWorkingTask(room.database, taskId);
    const input = { taskId, accountId, model: name, handlingSeconds, archivingSeconds: MINUTE_SECONDS };
    try {
      const result = await submitGeneration(context, newAttempt(), { ...input, isUpstream: true });
      return result.kind === 'job' ? await upstreamOf(taskId) : result.kind;
    } catch (error) {
      if (!(error instanceof GenerationFailure)) throw error;
      return `${error.reason}${error.isPermanent ? '!' : ''}`;
    }
  }

  async function upstreamOf(taskId: TaskId): Promise<string> {
    const [row] = await room.rows<{ upstream: string }>('SELECT upstream FROM generations WHERE task_id = $1', taskId);
    return row?.upstream ?? assert.fail();
  }

  async function endJob(taskId: TaskId, worker = 0): Promise<void> {
    const context = workerAt(worker);
    const generation = (await readGeneration(room.database, taskId)) ?? assert.fail();
    const route = await routeAt(context, await readWorkingTask(room.database, taskId), generation.upstreamIndex);
    await releaseUpstreamSlot(context, taskId, route);
  }

  const slotsOf = async (name: string): Promise<unknown> => {
    const rows = await room.rows<{ upstream: string; jobs: number; rows: number }>(
      `SELECT upstream, slots_taken AS jobs,
              (SELECT count(*)::integer FROM upstream_slots s WHERE s.upstream = u.upstream) AS rows
         FROM upstream_states u WHERE upstream LIKE $1 ORDER BY upstream`,
      `${name}-%`,
    );
    for (const { jobs, rows: counted } of rows) assert.equal(jobs, counted);
    return rows.map(({ jobs }) => jobs);
  };
  const waitsOf = async (taskId: TaskId): Promise<number> =>
    (await room.rows('SELECT 1 FROM upstream_waits WHERE task_id = $1', taskId)).length;
  const newTasks = (name: string, count: number): Promise<readonly TaskId[]> =>
    Promise.all(Array.from({ length: count }, () => newTask(name)));
  const countsOf = (upstreams: readonly string[]): Readonly<Record<string, number>> => {
    const counts: Record<string, number> = {};
    for (const upstream of upstreams) counts[upstream] = (counts[upstream] ?? 0) + 1;
    return counts;
  };

  it('gets the tasks of a burst in almost equal parts if the least busy member is next', async () => {
    const tasks = await newTasks('burst', 50);

    const counts = Object.values(countsOf(await Promise.all(tasks.map((taskId) => submit(taskId)))));

    // Submits of the same moment may choose alike.
    assert.equal(counts.length, 4);
    for (const count of counts) assert.ok(count >= 11 && count <= 14, String(counts));
    assert.equal(
      ((await slotsOf('burst')) as number[]).reduce((sum, jobs) => sum + jobs),
      50,
    );
    for (const taskId of tasks) await endJob(taskId, 1);
    assert.deepEqual(await slotsOf('burst'), [0, 0, 0, 0]);
  });

  it('gets those of a burst over eleven workers in almost equal parts', async () => {
    const tasks = await newTasks('burst-of-workers', 110);

    const counts = Object.values(countsOf(await Promise.all(tasks.map((taskId, index) => submit(taskId, index)))));

    assert.equal(counts.length, 4);
    // Each worker distributes its ten tasks evenly.
    assert.ok(Math.max(...counts) - Math.min(...counts) <= WORKERS, counts.join());
  });

  it('gets a task at the member with the fewest jobs that is not full', async () => {
    const tasks = await newTasks('capped', 4);
    const upstreams: string[] = [];
    for (const [index, taskId] of tasks.entries()) upstreams.push(await submit(taskId, index));

    assert.deepEqual(countsOf(upstreams), { 'capped-1': 3, 'capped-2': 1 });
    assert.equal(await submit(await newTask('capped')), 'waiting');
  });

  it('gets tasks by weight, evenly mixed, and none at a member of weight 0 while others take them', async () => {
    const upstreams: string[] = [];
    for (const taskId of await newTasks('weighted', 40)) upstreams.push(await submit(taskId));

    const { 'weighted-1': heavy = 0, 'weighted-2': light = 0, ...others } = countsOf(upstreams);
    assert.ok(Math.abs(heavy - 30) <= 1 && heavy + light === 40, JSON.stringify({ heavy, light }));
    assert.deepEqual(others, {});
    const inRow = upstreams.join().match(/(weighted-1,?)+/g) ?? [];
    assert.ok(Math.max(...inRow.map((run) => run.split('-1').length - 1)) <= 5, upstreams.join());

    for (const name of ['weighted-1', 'weighted-2']) await drainUpstream(room.database, name);
    assert.equal(await submit(await newTask('weighted'), 1), 'weighted-3');
  });

  it('is tried in order if all its members have weight 0', async () => {
    assert.equal(await submit(await newTask('weightless')), 'weightless-1');
    await drainUpstream(room.database, 'weightless-1');
    assert.equal(await submit(await newTask('weightless'), 1), 'weightless-2');
  });

  it('takes the next member in order if the first is full', async () => {
    const upstreams: string[] = [];
    for (const taskId of await newTasks('spills', 3)) upstreams.push(await submit(taskId));

    assert.deepEqual(upstreams, ['spills-1', 'spills-2', 'waiting']);
  });

  it('gives a task that waits for all members the first free slot, and one only', async () => {
    const [first, second, third, fourth] = await newTasks('queued', 4);
    assert.ok(first && second && third && fourth);
    for (const taskId of [first, second]) assert.match(await submit(taskId), /^queued-/);
    for (const taskId of [third, fourth]) assert.equal(await submit(taskId), 'waiting');
    assert.deepEqual([await waitsOf(third), await waitsOf(fourth)], [2, 2]);

    const free = await upstreamOf(second);
    await endJob(second);
    await endJob(first);

    // Each has one of the two slots, although the first to wait is the next one in both queues.
    assert.equal(new Set(woken.map(({ taskId }) => taskId)).size, 2);
    assert.deepEqual(await slotsOf('queued'), [1, 1]);
    const [next] = woken;
    assert.equal(next && (await submit(next.taskId, 1)), free);
    assert.equal(await waitsOf(next?.taskId ?? third), 0);
    assert.match(await submit(woken[1]?.taskId ?? fourth, 2), /^queued-/);
    assert.deepEqual([await waitsOf(third), await waitsOf(fourth)], [0, 0]);
    for (const taskId of [third, fourth]) await endJob(taskId);
    assert.deepEqual(await slotsOf('queued'), [0, 0]);
  });

  for (const [name, members] of [
    ['single', 1],
    ['contended', 2],
  ] as const) {
    it(`never has more jobs than the concurrency of its ${members} members, whichever of eleven workers submits`, async () => {
      const tasks = await newTasks(name, 33);
      const running = new Map<string, { readonly taskId: TaskId; readonly worker: number }>();
      const attempt = async (taskId: TaskId, worker: number): Promise<void> => {
        const upstream = await submit(taskId, worker);
        if (upstream === 'waiting') return;
        assert.equal(running.get(upstream), undefined, upstream);
        running.set(upstream, { taskId, worker });
      };
      await Promise.all(tasks.map((taskId, index) => attempt(taskId, index)));
      assert.equal(running.size, members);

      let arrived = 0;
      for (let ended = 0; ended < tasks.length; ended++) {
        const [[upstream, { taskId, worker }] = assert.fail(`${ended} tasks ended`)] = running;
        running.delete(upstream);
        await endJob(taskId, worker);
        for (; arrived < woken.length; arrived++) await attempt(woken[arrived]?.taskId ?? taskId, arrived + 5);
        for (const jobs of (await slotsOf(name)) as number[]) assert.ok(jobs <= 1, String(jobs));
      }

      assert.equal(sent.get(name)?.length, tasks.length);
      assert.equal(new Set(woken.map(({ taskId }) => taskId)).size, tasks.length - members);
      assert.deepEqual(
        await slotsOf(name),
        Array.from({ length: members }, () => 0),
      );
    });
  }

  it('has a task in eight of its queues at most', async () => {
    for (const taskId of await newTasks('twelve', 12)) assert.match(await submit(taskId), /^twelve-/);
    const waiting = await newTask('twelve');

    assert.equal(await submit(waiting), 'waiting');
    assert.equal(await waitsOf(waiting), 8);
    // Another attempt, as after a lost signal, adds none.
    assert.equal(await submit(waiting, 1), 'waiting');
    assert.equal(await waitsOf(waiting), 8);
  });

  for (const [name, condition, seconds, reason] of [
    ['rejected', 'unauthorized', 300, 'unauthorized'],
    ['spent', 'out_of_credit', 900, 'out_of_credit'],
    ['limited', 'busy', 60, null],
  ] as const) {
    it(`leaves a member alone that was ${condition}, and moves the tasks on`, async () => {
      conditions.set(`${name}-1`, condition);
      const early = await newTasks(name, 5);
      const upstreams = await Promise.all(early.map((taskId) => submit(taskId)));
      assert.deepEqual(countsOf(upstreams), { [`${name}-2`]: 5 });
      const tried = sent.get(name)?.length;

      assert.equal(await submit(await newTask(name), 1), `${name}-2`);

      assert.equal(sent.get(name)?.length, (tried ?? 0) + 1);
      const { pausedMs, pauseReason } = await readState(room.database, `${name}-1`);
      assert.equal(pauseReason, reason);
      assert.ok(Math.abs(pausedMs / 1000 - seconds) < 20, String(pausedMs));
      // Once, by whichever task was the first.
      assert.equal(logged.length, reason === null ? 0 : 1, JSON.stringify(logged));
    });
  }

  it('has no model to offer while no credential of it can be used, and again when an operator says so', async () => {
    for (const name of ['unusable-1', 'unusable-2']) conditions.set(name, 'unauthorized');
    assert.equal(await submit(await newTask('unusable')), 'model_unavailable!');
    assert.equal(sent.get('unusable')?.length, 2);

    assert.equal(await submit(await newTask('unusable'), 1), 'model_unavailable!');
    assert.equal(sent.get('unusable')?.length, 2);

    conditions.clear();
    await resumeUpstream(room.database, 'unusable-2');
    assert.equal(await submit(await newTask('unusable'), 2), 'unusable-2');
  });

  it('of one member is not left alone: there is no other', async () => {
    conditions.set('alone-1', 'unauthorized');
    for (const worker of [0, 0]) assert.equal(await submit(await newTask('alone'), worker), 'model_unavailable!');
    assert.equal(sent.get('alone')?.length, 2);
  });

  it('lets tasks wait while all members are drained, and ends those whose time is over', async () => {
    const before = await newTask('drained');
    const upstream = await submit(before);
    for (const name of ['drained-1', 'drained-2']) await drainUpstream(room.database, name);
    await waitFor(
      'the worker knows it',
      async () => (await submit(await newTask('drained'))) === 'provider_unavailable',
    );

    const waiting = await newTask('drained');
    assert.equal(await submit(waiting, 1), 'provider_unavailable');
    const hurried = await newTask('drained');
    await beginHandling(room.database, hurried, 4);
    assert.equal(await submit(hurried, 1), 'provider_unavailable!');
    // Its job continues.
    assert.equal(await upstreamOf(before), upstream);
    assert.equal(await submit(before, 1), upstream);

    await resumeUpstream(room.database, 'drained-2');
    assert.equal(await submit(waiting, 2), 'drained-2');
  });

  it('never gets a task again whose intent names a member', async () => {
    const taskId = await newTask('intent');
    await beginHandling(room.database, taskId, MINUTE_SECONDS);
    const intent = { upstreamName: 'intent-2', upstreamIndex: 1, label: 'intent-2' };
    assert.ok(await declareIntent(room.database, taskId, intent));
    await room.rows("UPDATE generations SET updated_at = updated_at - interval '11 s' WHERE task_id = $1", taskId);

    assert.equal(await submit(taskId), 'outcome_unknown!');
    assert.equal(sent.get('intent'), undefined);
  });
});
