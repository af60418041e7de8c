/**
 * The queue of an upstream whose jobs are capped (src/upstreams/slots.ts): two gates on one database are two workers.
 * A task that is admitted later is notified by `wake`.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createUpstreamGate } from '../../src/upstreams/gate.ts';
import type { Admission } from '../../src/upstreams/slots.ts';
import { body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { endTask, jobsAt, taskOf, workersAt } from './workers-at.ts';
import type { WorkersAt } from './workers-at.ts';

describe('the queue of an upstream', () => {
  let room: TaskRoom;
  before(async () => {
    room = await openTaskRoom();
  });
  after(() => room.close());

  const at = (cap: number | undefined) => workersAt(room.database, cap);
  const accountsOf = (admissions: readonly Admission[]): string[] => admissions.map(({ accountId }) => accountId);

  /**
   * Ends the job that is under way repeatedly, until no task waits. @returns the tasks that were admitted, in order.
   */
  async function workOff({ woken, release }: WorkersAt, first: Admission): Promise<readonly Admission[]> {
    await release(first);
    for (let ended = 0; ended < woken.length; ended++) await release(woken[ended] ?? assert.fail());
    return woken;
  }

  it('alternates between accounts, and follows the order within an account, in whatever worker tasks wait', async () => {
    const upstream = at(1);
    const first = taskOf('acct_a');
    assert.equal(await upstream.enter(first), 'open');
    const waiting = ['a', 'a', 'a', 'a', 'b', 'b', 'c'].map((name) => taskOf(`acct_${name}`));
    for (const task of waiting) assert.equal(await upstream.enter(task), 'full');

    const order = await workOff(upstream, first);

    assert.deepEqual(
      accountsOf(order),
      ['a', 'b', 'c', 'a', 'b', 'a', 'a'].map((name) => `acct_${name}`),
    );
    for (const name of ['acct_a', 'acct_b', 'acct_c']) {
      const own = (tasks: readonly Admission[]) => tasks.filter(({ accountId }) => accountId === name);
      assert.deepEqual(own(order), own(waiting));
    }
  });

  it('never makes another account wait for more than one task of an account with a thousand', async () => {
    const upstream = at(2);
    const [one, two] = [taskOf('acct_many'), taskOf('acct_many')];
    for (const task of [one, two]) assert.equal(await upstream.enter(task), 'open');
    const many = Array.from({ length: 1_000 }, () => taskOf('acct_many'));
    for (const task of many) await upstream.enter(task);
    const few = taskOf('acct_few');
    await upstream.enter(few);

    await upstream.release(one);
    await upstream.release(two);

    assert.equal(upstream.woken[0]?.taskId, few.taskId);
    assert.equal(upstream.woken[1]?.taskId, many[0]?.taskId);
  });

  it('never lets new accounts overtake one that is waiting', async () => {
    const upstream = at(1);
    const first = taskOf('acct_old');
    await upstream.enter(first);
    const second = taskOf('acct_old');
    await upstream.enter(second);
    for (let count = 0; count < 5; count++) await upstream.enter(taskOf(`acct_new_${count}`));

    await upstream.release(first);

    assert.deepEqual(upstream.woken, [second]);
  });

  it('admits no more than the cap, and leaves no slot empty, under concurrency', async () => {
    const upstream = at(4);
    const inside = new Set<TaskId>();
    const done = new Set<TaskId>();
    let most = 0;
    const work = async (task: Admission): Promise<void> => {
      inside.add(task.taskId);
      most = Math.max(most, inside.size);
      await room.rows('SELECT 1');
      inside.delete(task.taskId);
      done.add(task.taskId);
      await upstream.release(task);
    };
    const tasks = Array.from({ length: 60 }, (_, index) => taskOf(`acct_${index % 5}`));
    await Promise.all(
      tasks.map(async (task) => {
        if ((await upstream.enter(task)) === 'open') await work(task);
      }),
    );
    for (let index = 0; index < upstream.woken.length; index++) await work(upstream.woken[index] ?? assert.fail());

    assert.equal(done.size, tasks.length);
    assert.ok(most <= 4, String(most));
    assert.deepEqual(await jobsAt(room, upstream.there), { counted: 0, rows: 0 });
  });

  it('queries the database a few times per admission, however many thousands wait', async () => {
    const upstream = at(1);
    const first = taskOf('acct_a');
    await upstream.enter(first);
    for (let count = 0; count < 1_000; count++) await upstream.enter(taskOf(`acct_${count % 10}`));
    room.forgetStatements();

    await upstream.release(first);

    assert.equal(upstream.woken.length, 1);
    assert.ok(room.statements.length <= 6, room.statements.join(' '));
  });

  it('admits a task that released its slot temporarily before its account’s later ones', async () => {
    const upstream = at(1);
    const caller = await room.newCaller();
    const create = async (): Promise<Admission> => {
      const { taskId } = await room.creator.create(caller, body(), undefined);
      await room.rows(`UPDATE tasks SET status = 'handling', started_at = clock_timestamp() WHERE id = $1`, taskId);
      return { taskId, accountId: caller.accountId };
    };
    const [rejected, second, third] = [await create(), await create(), await create()];
    await upstream.enter(rejected);
    await upstream.enter(second);
    await upstream.enter(third);

    await upstream.release(rejected);
    assert.equal(await upstream.enter(rejected), 'full');
    await upstream.release(second);

    assert.deepEqual(upstream.woken, [second, rejected]);
  });

  it('skips ended tasks and those past their deadline, and deletes them', async () => {
    const upstream = at(1);
    const first = taskOf('acct_a');
    await upstream.enter(first);
    const caller = await room.newCaller();
    for (const change of [
      `status = 'fail', error_reason = 'terminated', captured_micro_usd = 0, completed_at = now()`,
      `status = 'handling', started_at = now() - interval '1 hour', deadline_at = now() - interval '1 minute'`,
    ]) {
      const { taskId } = await room.creator.create(caller, body(), undefined);
      await upstream.enter({ taskId, accountId: caller.accountId });
      await room.rows(`UPDATE tasks SET ${change} WHERE id = $1`, taskId);
    }
    const last = taskOf('acct_b');
    await upstream.enter(last);

    await upstream.release(first);
    assert.deepEqual(upstream.woken, [last]);

    await upstream.gate().tidyQueues();
    const waits = await room.rows('SELECT task_id FROM upstream_waits WHERE upstream = $1', upstream.there.name);
    assert.deepEqual(waits, []);
  });

  it('admits a task in place of a holder that died, at the next cleanup, though no task arrives or leaves', async () => {
    const upstream = at(1);
    const caller = await room.newCaller();
    const { taskId } = await room.creator.create(caller, body(), undefined);
    await upstream.enter({ taskId, accountId: caller.accountId });
    const next = taskOf('acct_b');
    await upstream.enter(next);

    await endTask(room, taskId, 1);
    await upstream.gate().tidyQueues();
    assert.deepEqual(upstream.woken, [], 'its provider may still be working');
    await endTask(room, taskId, 120);
    await upstream.gate().tidyQueues();

    assert.deepEqual(upstream.woken, [next]);
    assert.equal(await upstream.enter(next), 'open');
  });

  it('deletes a task that leaves it, and wakes no other for that', async () => {
    const upstream = at(1);
    const [first, cancelled, last] = [taskOf('acct_a'), taskOf('acct_a'), taskOf('acct_a')];
    for (const task of [first, cancelled, last]) await upstream.enter(task);

    await upstream.release(cancelled);
    assert.deepEqual(upstream.woken, []);
    await upstream.release(first);

    assert.deepEqual(upstream.woken, [last]);
  });

  it("keeps the slot of a task that claims it during the upstream's Retry-After", async () => {
    const upstream = at(1);
    const [first, second, third] = [taskOf('acct_a'), taskOf('acct_b'), taskOf('acct_c')];
    for (const task of [first, second, third]) await upstream.enter(task);
    await upstream.gate().report(upstream.there, { pauseMs: 60_000 });
    await upstream.release(first);

    const later = at(1);
    const entry = await later.gate().enter(upstream.there, second);
    assert.equal(entry.kind, 'closed');
    assert.deepEqual(upstream.woken, [second], 'the next would find it closed as well');
  });

  it('wakes no task when the slot could not be assigned: both are one transaction', async () => {
    const upstream = at(1);
    const failing = createUpstreamGate({
      database: room.database,
      logger: silentLogger(),
      wake: () => Promise.reject(new Error('no outbox')),
    });
    const [first, second] = [taskOf('acct_a'), taskOf('acct_b')];
    await upstream.enter(first);
    await upstream.enter(second);

    await failing.release(upstream.there, first.taskId);
    assert.equal(await upstream.enter(second), 'full');
    await upstream.release(first);

    assert.deepEqual(upstream.woken, [second]);
  });
});
