/**
 * Tasks at one upstream whose models cap it differently, be it that the cap was changed while they waited: nobody who
 * waits is passed without end, and there are never more jobs than the cap that is in force.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Admission } from '../../src/upstreams/queue.ts';
import { openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { taskOf, workersAt } from './workers-at.ts';
import type { WorkersAt } from './workers-at.ts';

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom();
});
after(() => room.close());

/** Tasks of one account that were let in or wait, in the order in which they came. */
async function enterAll(upstream: WorkersAt, accountId: string, count: number, cap?: number): Promise<Admission[]> {
  const tasks = Array.from({ length: count }, () => taskOf(accountId));
  for (const task of tasks) await upstream.enter(task, cap);
  return tasks;
}

/**
 * The upstream ends one job after another, and before each end another newcomer asks to go in.
 *
 * @param underWay whose jobs are under way at first.
 * @returns how many jobs had ended when the last of those who wait was let in; undefined: more than `ends`.
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
    await upstream.leave(jobs.shift() ?? assert.fail('nothing is under way'));
  }
  return undefined;
}

describe('tasks whose models cap one upstream differently', () => {
  it('are not passed by those that come after the cap was raised', async () => {
    const upstream = workersAt(room.database, 1);
    const underWay = await enterAll(upstream, 'acct_old', 1);
    const waiting = await enterAll(upstream, 'acct_old', 10);

    const ends = await endsUntilIn(upstream, waiting, underWay, { accountId: 'acct_new', cap: 4, ends: 50 });

    assert.ok(ends !== undefined, 'some of them are passed without end');
  });

  it('are not passed by those that came before the cap was lowered', async () => {
    const upstream = workersAt(room.database, 4);
    const underWay = await enterAll(upstream, 'acct_old', 4);
    await enterAll(upstream, 'acct_old', 100);
    const waiting = await enterAll(upstream, 'acct_new', 3, 1);

    const ends = await endsUntilIn(upstream, waiting, underWay, { accountId: 'acct_old', cap: 4, ends: 50 });

    assert.ok(ends !== undefined, 'they are passed by all others');
  });

  it('take turns where one model always has a lower cap than the other', async () => {
    const upstream = workersAt(room.database, 3);
    const underWay = await enterAll(upstream, 'acct_usual', 3);
    const careful = await enterAll(upstream, 'acct_careful', 5, 1);

    const ends = await endsUntilIn(upstream, careful, underWay, { accountId: 'acct_usual', cap: 3, ends: 50 });

    assert.ok(ends !== undefined, 'the other model’s tasks pass them without end');
  });
});
