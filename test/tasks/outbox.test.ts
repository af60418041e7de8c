/**
 * The outbox: nothing is claimed twice, nothing is lost, and no account runs more than it may. A task that has got a slot
 * is woken at once, by the process that gave it the slot, and at the latest by a launcher. Starts that no launcher takes
 * although their account has a free slot are known.
 */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setSuspended } from '../../src/accounts/accounts.ts';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import { LockTimeoutError, openDatabase } from '../../src/database/database.ts';
import { newTaskId } from '../../src/domain/ids.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import {
  claimOutbox,
  claimOutboxOfAccount,
  releaseOutboxLease,
  hasStart,
  requestRestart,
  requestWork,
} from '../../src/tasks/outbox/outbox.ts';
import type { OutboxItem } from '../../src/tasks/outbox/outbox.ts';
import { createUnclaimedStarts } from '../../src/tasks/outbox/backlog.ts';
import { createTaskWaker } from '../../src/tasks/outbox/wake-task.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { body, deliverOutbox, openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';
import { programConfig } from '../support/pooled-run.ts';

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom();
});
after(async () => {
  assert.deepEqual(await verifyLedger(room.database), []);
  await room.close();
});
// A claim takes whatever is due: rows of the previous test are removed.
beforeEach(async () => {
  await room.rows('UPDATE account_counters SET is_suspended = true');
  await room.rows('DELETE FROM outbox WHERE is_ready');
});

async function createTasks(caller: Caller, count: number): Promise<readonly TaskId[]> {
  const taskIds: TaskId[] = [];
  for (let index = 0; index < count; index++) {
    taskIds.push((await room.creator.create(caller, body(), undefined)).taskId);
  }
  return taskIds;
}

/** What one claim gets, in its order. */
async function claimTasks(limit: number): Promise<readonly string[]> {
  return (await claimOutbox(room.database, limit)).map(({ subjectId }) => subjectId);
}

/** Claims with several claimers at once until none gets any. */
async function claimAll(claimers: number, limit: number): Promise<readonly OutboxItem[]> {
  const claimed: OutboxItem[] = [];
  await Promise.all(
    Array.from({ length: claimers }, async () => {
      for (;;) {
        const items = await claimOutbox(room.database, limit);
        if (items.length === 0) return;
        claimed.push(...items);
      }
    }),
  );
  return claimed;
}

/** As if the time of a lease had passed. */
async function expireLeases(): Promise<void> {
  await room.rows(`UPDATE outbox SET due_at = due_at - make_interval(secs => 3600)`);
}

describe('four concurrent claimers', () => {
  it('claim every row of several accounts, and none twice', async () => {
    const callers = await Promise.all(Array.from({ length: 3 }, () => room.newCaller()));
    const created = (await Promise.all(callers.map((caller) => createTasks(caller, 30)))).flat();

    const claimed = await claimAll(4, 7);

    assert.equal(claimed.length, 90);
    assert.deepEqual(new Set(claimed.map((item) => item.subjectId)), new Set(created));
    for (const caller of callers) assert.equal((await room.account(caller)).running, 30);
  });

  it('claim every row whose lease ran out, and none twice', async () => {
    const created = await createTasks(await room.newCaller(), 60);
    assert.equal((await claimOutbox(room.database, 100)).length, 60);
    await expireLeases();

    const claimed = (await Promise.all(Array.from({ length: 4 }, () => claimOutbox(room.database, 100)))).flat();

    assert.equal(claimed.length, 60);
    assert.deepEqual(new Set(claimed.map((item) => item.subjectId)), new Set(created));
  });

  // Proves C7-17.
  it('let no account exceed its running cap, and leave the others theirs', async () => {
    const narrow = await room.newCaller({ runningCap: 3 });
    const wide = await room.newCaller({ runningCap: 50 });
    await Promise.all([createTasks(narrow, 12), createTasks(wide, 20)]);

    const claimed = await claimAll(4, 5);

    const countOf = (caller: Caller): number => claimed.filter((item) => item.accountId === caller.accountId).length;
    assert.equal(countOf(narrow), 3);
    assert.equal(countOf(wide), 20);
    const account = await room.account(narrow);
    assert.deepEqual([account.running, account.queued], [3, 9]);
  });
});

describe('a claim', () => {
  it("follows the order of an account's queue", async () => {
    const caller = await room.newCaller({ runningCap: 4 });
    const created = await createTasks(caller, 6);

    assert.deepEqual(await claimTasks(100), created.slice(0, 4));
  });

  // Proves C7-17.
  it('admits the next when a task has ended', async () => {
    const caller = await room.newCaller({ runningCap: 1 });
    const [first, second] = await createTasks(caller, 2);
    assert.ok(first && second);
    assert.deepEqual(await claimTasks(10), [first]);
    assert.deepEqual(await claimTasks(10), []);

    await settleTask(room.database, first, { status: 'fail', reason: 'no_output' }, { retentionDays: 7 });

    assert.deepEqual(await claimTasks(10), [second]);
  });

  it('skips a suspended account until it is resumed', async () => {
    const caller = await room.newCaller();
    const [taskId] = await createTasks(caller, 1);
    await setSuspended(room.database, caller.accountId, true);
    assert.deepEqual(await claimTasks(10), []);

    await setSuspended(room.database, caller.accountId, false);

    assert.deepEqual(await claimTasks(10), [taskId]);
  });

  it('returns what starting the workflow needs', async () => {
    const caller = await room.newCaller();
    const { taskId } = await room.creator.create(caller, body({ model: 'acme/routed@fast' }), undefined);

    const [item] = await claimOutbox(room.database, 10);

    const { hash } = room.catalogue.resolve('acme/routed', 'fast');
    assert.deepEqual(
      { ...item, id: undefined },
      {
        id: undefined,
        kind: 'start_task',
        subjectId: taskId,
        accountId: caller.accountId,
        deliveries: 0,
        model: 'acme/routed@fast',
        route: 'fast',
        definitionHash: hash,
        requestHash: null,
        isOfBatch: false,
      },
    );
  });

  it('never claims more than requested, of each kind', async () => {
    await createTasks(await room.newCaller(), 5);

    assert.equal((await claimOutbox(room.database, 2)).length, 2);
  });
});

describe('an account whose row stays locked', () => {
  /** Locks the account's row until the work is done. */
  const whileLocked = async (caller: Caller, work: () => Promise<unknown>): Promise<void> => {
    const locking = { name: 'test_lock', text: 'SELECT 1 FROM account_counters WHERE account_id = $1 FOR UPDATE' };
    const other = openDatabase({ ...programConfig(room.url), poolSize: 1 }, silentLogger());
    try {
      await other.transaction(async (transaction) => {
        await transaction.query(locking, [caller.accountId]);
        await work();
      });
    } finally {
      await other.close();
    }
  };

  it('is skipped and named, and all others have their tasks claimed meanwhile', async () => {
    const callers = await Promise.all(Array.from({ length: 4 }, () => room.newCaller()));
    for (const caller of callers) await createTasks(caller, 2);
    const [locked] = callers;
    assert.ok(locked);
    const named: string[] = [];

    await whileLocked(locked, async () => {
      const claimed = await claimOutbox(room.database, 100, (accountId) => named.push(accountId));
      assert.equal(claimed.length, 6);
      assert.ok(claimed.every(({ accountId }) => accountId !== locked.accountId));
    });

    assert.deepEqual(named, [locked.accountId]);
    assert.equal((await claimOutbox(room.database, 100, (accountId) => named.push(accountId))).length, 2);
    assert.equal(named.length, 1);
  });

  it('is waited for by a claim of its own, in the order of its queue and up to its slots', async () => {
    const caller = await room.newCaller({ runningCap: 2 });
    const created = await createTasks(caller, 3);
    let claim: Promise<readonly OutboxItem[]> | undefined;

    await whileLocked(caller, async () => {
      claim = claimOutboxOfAccount(room.database, caller.accountId, 100);
      const isWaiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%lock_timeout%'`;
      await waitFor('the claim waits', async () => (await room.rows(isWaiting)).length > 0, 5);
    });

    assert.deepEqual(
      (await claim)?.map(({ subjectId }) => subjectId),
      created.slice(0, 2),
    );
    const account = await room.account(caller);
    assert.deepEqual([account.running, account.queued], [2, 1]);
  });

  it('is given up by such a claim when it stays locked, and nothing is claimed', async () => {
    const caller = await room.newCaller();
    await createTasks(caller, 1);

    await whileLocked(caller, async () => {
      await assert.rejects(claimOutboxOfAccount(room.database, caller.accountId, 100), LockTimeoutError);
    });

    assert.equal((await claimOutbox(room.database, 100)).length, 1);
  });
});

describe('a row that is released', () => {
  it('is due immediately, for every claimer, and keeps its running slot', async () => {
    const caller = await room.newCaller({ runningCap: 2 });
    await createTasks(caller, 2);
    const [kept, returned] = await claimOutbox(room.database, 100);
    assert.ok(kept && returned);

    await releaseOutboxLease(room.database, [returned.id]);

    const again = await claimOutbox(room.database, 100);
    assert.deepEqual(
      again.map(({ id }) => id),
      [returned.id],
    );
    assert.equal((await room.account(caller)).running, 2);
  });
});

describe('a lease', () => {
  it('that expires makes the row claimable again, and occupies no second running slot', async () => {
    const caller = await room.newCaller({ runningCap: 1 });
    const [taskId] = await createTasks(caller, 1);
    await claimOutbox(room.database, 10);

    await expireLeases();
    const [again] = await claimOutbox(room.database, 10);

    assert.equal(again?.subjectId, taskId);
    assert.equal(again?.deliveries, 1);
    assert.equal((await room.account(caller)).running, 1);
  });

  it('grows with each delivery up to a minute', async () => {
    await createTasks(await room.newCaller(), 1);
    const seconds: number[] = [];
    for (let delivery = 0; delivery < 12; delivery++) {
      await claimOutbox(room.database, 10);
      const [row] = await room.rows<{ seconds: number }>(
        'SELECT round(extract(epoch FROM due_at - now()))::int AS seconds FROM outbox WHERE is_ready',
      );
      seconds.push(row?.seconds ?? 0);
      await expireLeases();
    }

    assert.deepEqual(seconds, [15, 30, ...Array.from({ length: 10 }, () => 60)]);
  });
});

describe('a delivered row', () => {
  it('is deleted, and its task has no pending start any more', async () => {
    const [taskId] = await createTasks(await room.newCaller(), 1);
    assert.ok(taskId);
    assert.equal(await hasStart(room.database, taskId), true);

    await deliverOutbox(room, 10);

    assert.equal(await hasStart(room.database, taskId), false);
    await expireLeases();
    assert.deepEqual(await claimTasks(10), []);
  });

  it('can be created again when the workflow is missing: once, and only while the task is open', async () => {
    const caller = await room.newCaller({ runningCap: 1 });
    const [taskId] = await createTasks(caller, 1);
    assert.ok(taskId);
    await deliverOutbox(room, 10);

    assert.equal(await requestRestart(room.database, taskId), true);
    assert.equal(await requestRestart(room.database, taskId), false);
    assert.deepEqual(await claimTasks(10), [taskId]);
    assert.equal((await room.account(caller)).running, 1);

    await settleTask(room.database, taskId, { status: 'fail', reason: 'terminated' }, { retentionDays: 7 });
    assert.equal(await requestRestart(room.database, taskId), false);
  });
});

describe('the capacity of a claim', () => {
  it('is shared among accounts, so that a backlog does not delay another account', async () => {
    const [large, small] = [await room.newCaller(), await room.newCaller()];
    await createTasks(large, 20);
    const [first] = await createTasks(small, 1);

    const claimed = await claimOutbox(room.database, 4);

    assert.ok(claimed.some(({ subjectId }) => subjectId === first));
    assert.equal(claimed.filter(({ accountId }) => accountId === large.accountId).length, 2);
  });
});

describe('the wake of a task', () => {
  let accountId = '';
  before(async () => {
    ({ accountId } = await room.newCaller());
  });

  const rowOf = async (taskId: string) => {
    const [row] = await room.rows<{ isDue: boolean; deliveries: number }>(
      'SELECT due_at <= now() AS "isDue", deliveries FROM outbox WHERE subject_id = $1',
      taskId,
    );
    return row;
  };

  it('is delivered once it is committed, and its row is removed', async () => {
    const told: string[] = [];
    const waker = createTaskWaker({
      database: room.database,
      deliver: (taskId) => Promise.resolve(void told.push(taskId)),
      logger: silentLogger(),
    });
    const taskId = newTaskId();

    const begin = await room.database.transaction((transaction) => waker.wake(transaction, { taskId, accountId }));

    assert.deepEqual([told, await rowOf(taskId)], [[], { isDue: false, deliveries: 1 }]);
    begin?.();
    await waker.close();
    assert.deepEqual([told, await rowOf(taskId)], [[taskId], undefined]);
  });

  it('is left to the launchers if Temporal does not answer, or if they may be delivering it', async () => {
    let failures = 0;
    const waker = createTaskWaker({
      database: room.database,
      deliver: () => Promise.reject(new Error(`no answer ${(failures += 1)}`)),
      logger: silentLogger(),
    });
    const [failing, known] = [newTaskId(), newTaskId()];
    await requestWork(room.database, 'wake_task', accountId, known);

    const begin = await waker.wake(room.database, { taskId: failing, accountId });
    const nothing = await waker.wake(room.database, { taskId: known, accountId });

    assert.equal(nothing, undefined);
    assert.deepEqual(await rowOf(known), { isDue: true, deliveries: 0 });
    begin?.();
    await waitFor('the row is due', async () => (await rowOf(failing))?.isDue === true);
    await waker.close();
    assert.equal(failures, 1);
  });
});

describe('starts that no launcher takes', () => {
  it('are as many as there are free slots, and it is known for how long the same one has been next', async () => {
    await createTasks(await room.newCaller({ runningCap: 2 }), 3);
    let now = 0;
    const starts = createUnclaimedStarts(() => now);
    const readAt = (seconds: number) => {
      now = seconds * 1_000;
      return starts.read(room.database);
    };

    assert.deepEqual(await readAt(5), { count: 2, oldestSeconds: 0 });
    assert.deepEqual(await readAt(75), { count: 2, oldestSeconds: 70 });
    assert.equal((await claimOutbox(room.database, 1)).length, 1);
    assert.deepEqual(await readAt(80), { count: 1, oldestSeconds: 0 });
    assert.deepEqual(await readAt(90), { count: 1, oldestSeconds: 10 });
    assert.equal((await claimOutbox(room.database, 1)).length, 1);
    assert.deepEqual(await readAt(100), { count: 0, oldestSeconds: 0 });
  });
});
