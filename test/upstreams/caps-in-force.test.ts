/**
 * Tasks at one upstream whose models cap it differently, for example because the cap was changed while they waited:
 * no waiting task is passed without end, and there are never more jobs than the cap that is in force.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Admission } from '../../src/upstreams/slots.ts';
import { publishCaps } from '../../src/upstreams/published-caps.ts';
import { openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { jobsAt, taskOf, workersAt } from './workers-at.ts';
import type { WorkersAt } from './workers-at.ts';

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom();
});
after(() => room.close());

/** Tasks of one account that were admitted or wait, in the order in which they came. */
async function enterAll(upstream: WorkersAt, accountId: string, count: number, cap?: number): Promise<Admission[]> {
  const tasks = Array.from({ length: count }, () => taskOf(accountId));
  for (const task of tasks) await upstream.enter(task, cap);
  return tasks;
}

/**
 * The upstream ends one job after another, and before each end another newcomer requests admission.
 *
 * @param underWay tasks whose jobs are under way at first.
 * @returns how many jobs had ended when the last waiting task was admitted; undefined: more than `ends`.
 */
async function endsUntilIn(
  upstream: WorkersAt,
  waiting: readonly Admission[],
  underWay: readonly Admission[],
  newcomer: { readonly accountId: string; readonly cap: number; readonly ends: number },
): Promise<number | undefined> {
  const missing = new Set(waiting.map(({ taskId }) => taskId));
  const jobs = [...underWay];
  let seen = 0;
  for (let ended = 0; ended <= newcomer.ends; ended++) {
    for (const admission of upstream.woken.slice(seen)) {
      missing.delete(admission.taskId);
      jobs.push(admission);
    }
    seen = upstream.woken.length;
    if (missing.size === 0) return ended;
    const task = taskOf(newcomer.accountId);
    if ((await upstream.enter(task, newcomer.cap)) === 'open') jobs.push(task);
    await upstream.release(jobs.shift() ?? assert.fail('nothing is under way'));
  }
  return undefined;
}

/** An api publishes the caps of its models; later calls are of newer models. */
async function publish({ there }: WorkersAt, ...caps: number[]): Promise<void> {
  await publishCaps(room.database, new Map([[there.name, caps]]), since++);
}
let since = Date.now();

describe('tasks whose models cap one upstream differently, while no api has published which cap is in force', () => {
  it('are not overtaken by those that come after the cap was raised', async () => {
    const upstream = workersAt(room.database, 1);
    const underWay = await enterAll(upstream, 'acct_old', 1);
    const waiting = await enterAll(upstream, 'acct_old', 10);

    const ends = await endsUntilIn(upstream, waiting, underWay, { accountId: 'acct_new', cap: 4, ends: 50 });

    assert.ok(ends !== undefined, 'some of them are passed without end');
  });

  it('are not overtaken by those that came before the cap was lowered', async () => {
    const upstream = workersAt(room.database, 4);
    const underWay = await enterAll(upstream, 'acct_old', 4);
    await enterAll(upstream, 'acct_old', 100);
    const waiting = await enterAll(upstream, 'acct_new', 3, 1);

    const ends = await endsUntilIn(upstream, waiting, underWay, { accountId: 'acct_old', cap: 4, ends: 50 });

    assert.ok(ends !== undefined, 'they are passed by all others');
  });

  it('alternate when one model always has a lower cap than the other', async () => {
    const upstream = workersAt(room.database, 3);
    const underWay = await enterAll(upstream, 'acct_usual', 3);
    const careful = await enterAll(upstream, 'acct_careful', 5, 1);

    const ends = await endsUntilIn(upstream, careful, underWay, { accountId: 'acct_usual', cap: 3, ends: 50 });

    assert.ok(ends !== undefined, 'the other model’s tasks pass them without end');
  });
});

describe('a published cap', () => {
  it('admits those that wait under a lower one, before all newcomers', async () => {
    const upstream = workersAt(room.database, 1);
    await publish(upstream, 1);
    await enterAll(upstream, 'acct_old', 1);
    const waiting = await enterAll(upstream, 'acct_old', 5);

    await publish(upstream, 4);
    const newcomer = taskOf('acct_old');
    assert.equal(await upstream.enter(newcomer, 4), 'full');
    assert.deepEqual(upstream.woken, waiting.slice(0, 3));

    for (const { taskId } of waiting.slice(0, 3)) await upstream.release({ taskId });
    assert.deepEqual(upstream.woken, [...waiting, newcomer]);
    assert.deepEqual(await jobsAt(room, upstream.there), { counted: 4, rows: 4 });
  });

  it('admits waiting tasks within a minute, though no task arrives or leaves', async () => {
    const upstream = workersAt(room.database, 1);
    await enterAll(upstream, 'acct_old', 1);
    const waiting = await enterAll(upstream, 'acct_old', 3);

    await publish(upstream, 3);
    await upstream.gate().tidyQueues();

    assert.deepEqual(upstream.woken, waiting.slice(0, 2));
  });

  it('blocks those that wait under a higher one, until there are few enough jobs', async () => {
    const upstream = workersAt(room.database, 4);
    await publish(upstream, 4);
    const jobs = await enterAll(upstream, 'acct_old', 4);
    const waiting = await enterAll(upstream, 'acct_old', 3);

    await publish(upstream, 2);
    for (const job of jobs.slice(0, 2)) await upstream.release(job);
    assert.equal(await upstream.enter(taskOf('acct_new'), 2), 'full');
    await upstream.gate().tidyQueues();
    assert.deepEqual(upstream.woken, []);

    await upstream.release(jobs[2] ?? assert.fail());
    assert.equal(upstream.woken.length, 1);
    for (const { taskId } of waiting) await upstream.release({ taskId });
    assert.deepEqual(await jobsAt(room, upstream.there), { counted: 2, rows: 2 });
  });

  it('is the smallest when models differ, and applies to all of them', async () => {
    const upstream = workersAt(room.database, 5);
    await publish(upstream, 2, 5);

    assert.equal(await upstream.enter(taskOf('acct_a')), 'open');
    assert.equal(await upstream.enter(taskOf('acct_b'), 2), 'open');
    const third = taskOf('acct_a');
    assert.equal(await upstream.enter(third), 'full');
    assert.deepEqual(await jobsAt(room, upstream.there), { counted: 2, rows: 2 });
  });

  it('applies to models without a cap too', async () => {
    const upstream = workersAt(room.database, undefined);
    await publish(upstream, 1);
    const [first, second] = [taskOf('acct_a'), taskOf('acct_a')];

    assert.equal(await upstream.enter(first), 'open');
    assert.equal(await upstream.enter(second), 'full');
    await upstream.release(first);

    assert.deepEqual(upstream.woken, [second]);
    assert.equal(await upstream.enter(second), 'open');
    await upstream.release(second);
    assert.deepEqual(await jobsAt(room, upstream.there), { counted: 0, rows: 0 });
  });

  it('admits all waiting and new tasks when it is removed, however many', async () => {
    const before = workersAt(room.database, 1);
    await publish(before, 1);
    const [job] = await enterAll(before, 'acct_old', 1);
    const waiting = await enterAll(before, 'acct_old', 250);

    await publish(before);
    await before.gate().tidyQueues();
    assert.deepEqual(before.woken, waiting);

    const upstream = { ...workersAt(room.database, undefined), there: before.there };
    for (const gate of [upstream.gate(), upstream.gate()]) {
      assert.equal((await gate.enter({ name: before.there.name }, taskOf('acct_new'))).kind, 'open');
    }
    assert.deepEqual(await jobsAt(room, before.there), { counted: 251, rows: 251 });
    for (const task of [job ?? assert.fail(), ...waiting]) await before.release(task);
    assert.deepEqual(await jobsAt(room, before.there), { counted: 0, rows: 0 });
  });

  it('is never exceeded, and leaves no task waiting, however it changes while tasks come and go', async () => {
    const upstream = workersAt(room.database, 3);
    const caps = [3, 1, 4, 2];
    await publish(upstream, 3);
    const tasks = Array.from({ length: 120 }, (_, index) => taskOf(`acct_${index % 7}`));
    const jobs: Admission[] = [];
    let seen = 0;
    for (const [index, task] of tasks.entries()) {
      const cap = caps[Math.floor(index / 10) % caps.length] ?? assert.fail();
      if (index % 10 === 0) await publish(upstream, cap);
      const before = jobs.length;
      const isIn = (await upstream.enter(task, caps[index % caps.length])) === 'open';
      if (isIn) jobs.push(task);
      jobs.push(...upstream.woken.slice(seen));
      seen = upstream.woken.length;
      assert.ok(jobs.length <= Math.max(cap, before), `${jobs.length} jobs, of which ${cap} are allowed`);
      if (index % 3 > 0 && jobs.length > 0) await upstream.release(jobs.shift() ?? assert.fail());
      jobs.push(...upstream.woken.slice(seen));
      seen = upstream.woken.length;
    }
    while (jobs.length > 0) {
      await upstream.release(jobs.shift() ?? assert.fail());
      jobs.push(...upstream.woken.slice(seen));
      seen = upstream.woken.length;
    }

    const waiting = await room.rows('SELECT 1 FROM upstream_waits WHERE upstream = $1', upstream.there.name);
    assert.equal(waiting.length, 0);
    assert.deepEqual(await jobsAt(room, upstream.there), { counted: 0, rows: 0 });
  });
});
