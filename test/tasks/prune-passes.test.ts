/** Passes that prune: they are interrupted, killed, run twice, and lose the store, and lose nothing by it. */
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { Database } from '../../src/database/database.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { isOurKey, listUnnamedKeys } from '../../src/objects/outputs/sweep.ts';
import type { ObjectStore } from '../../src/objects/stores/object-store.ts';
import { StoreUnavailableError } from '../../src/objects/stores/object-store.ts';
import { eraseTask } from '../../src/tasks/lifecycle/erase.ts';
import { redeliverCallback } from '../../src/tasks/lifecycle/callback.ts';
import { readTask } from '../../src/tasks/record/read.ts';
import { createOldTask, openPruningRoom, storeWith } from './old-tasks.ts';
import type { PruningRoom } from './old-tasks.ts';
import { openTaskRoom } from './task-room.ts';
import { pruneUntilKilled } from './stopped-pruning.ts';
import type { TaskRoom } from './task-room.ts';

const HOUR_MS = 3_600_000;

let room: TaskRoom;
let pruning: PruningRoom;
let caller: Caller;
before(async () => {
  room = await openTaskRoom();
  pruning = await openPruningRoom(room);
});
beforeEach(async () => {
  caller = await room.newCaller();
  await pruning.beginRound();
});
afterEach(async () => {
  assert.deepEqual(await verifyLedger(room.database), []);
});
after(async () => {
  await pruning.close();
  await room.close();
});

async function createOldTasks(count: number): Promise<readonly TaskId[]> {
  const ids: TaskId[] = [];
  for (let days = 31 + count; days > 31; days--) ids.push(await createOldTask(room, caller, { days }));
  return ids;
}

/** Each pruned task with the archive that its row names. */
function prunedTasks(): Promise<readonly { readonly id: TaskId; readonly key: string }[]> {
  return room.rows(
    `SELECT p.task_id AS id, a.object_key AS key FROM pruned_tasks p JOIN task_archives a ON a.id = p.archive_id
      WHERE p.account_id = $1 ORDER BY p.created_at`,
    caller.accountId,
  );
}

async function prunedIds(): Promise<readonly TaskId[]> {
  return (await prunedTasks()).map(({ id }) => id);
}

/** Requires that each task is either whole, or pruned and in the archive that its row names. */
async function assertNothingLost(ids: readonly TaskId[]): Promise<void> {
  const pruned = new Map((await prunedTasks()).map(({ id, key }) => [id, key]));
  for (const id of ids) {
    const key = pruned.get(id);
    if (key === undefined) {
      assert.equal((await readTask(room.database, id)).outputs.length, 1);
      continue;
    }
    const lines = await pruning.linesOf(key);
    assert.ok(lines.some(({ task, outputs }) => task['id'] === id && outputs.length === 1));
  }
}

describe('a pass', () => {
  it('prunes page by page and in the order of time, and records where it is', async () => {
    const ids = await createOldTasks(5);

    assert.equal(await pruning.prune({ pageSize: 1, endAt: 0 }), 1);
    assert.deepEqual(await prunedIds(), ids.slice(0, 1));
    assert.equal(await pruning.prune({ pageSize: 2, endAt: 0 }), 2);
    assert.deepEqual(await prunedIds(), ids.slice(0, 3));
    assert.equal(await pruning.prune({ pageSize: 1 }), 2);

    assert.deepEqual(await prunedIds(), ids);
    await assertNothingLost(ids);
    assert.deepEqual(
      (await prunedTasks()).map(({ key }) => key.split('/').at(-1)?.slice(0, 33)),
      [ids[0], ids[1], ids[1], ids[3], ids[4]],
    );
  });

  it('goes past tasks that stay, and through all accounts', async () => {
    const [first, second, third] = await createOldTasks(3);
    assert.ok(first && second && third);
    await room.rows(`UPDATE outputs SET gone_at = NULL, bytes_deleted_at = NULL WHERE task_id = $1`, second);
    const other = await room.newCaller();
    const others = await createOldTask(room, other);

    assert.equal(await pruning.prune({ pageSize: 1 }), 3);

    assert.deepEqual(await prunedIds(), [first, third]);
    await assert.rejects(readTask(room.database, others), { kind: 'task_pruned' });
    assert.equal((await readTask(room.database, second)).id, second);
  });

  it('rests for an hour between two rounds', async () => {
    const now = Date.now();
    assert.equal(await pruning.prune({ now }), 0);
    await createOldTasks(1);

    assert.equal(await pruning.prune({ now: now + HOUR_MS - 1_000 }), 0);
    assert.equal(await pruning.prune({ now: now + HOUR_MS + 1_000 }), 1);
  });

  it('stops when its worker stops, between two pages', async () => {
    const ids = await createOldTasks(3);
    const stopping = new AbortController();
    const database: Database = {
      ...room.database,
      async transaction(work) {
        const result = await room.database.transaction(work);
        stopping.abort(new Error('the worker stops'));
        return result;
      },
    };

    await assert.rejects(pruning.prune({ pageSize: 1, signal: stopping.signal }, database), /the worker stops/);

    assert.deepEqual(await prunedIds(), ids.slice(0, 1));
    await assertNothingLost(ids);
    assert.equal(await pruning.prune(), 2);
  });

  it('prunes each task once if many run at the same time', async () => {
    const ids = await createOldTasks(12);

    const counts = await Promise.all(Array.from({ length: 4 }, () => pruning.prune({ pageSize: 2 })));

    assert.equal(
      counts.reduce((sum, count) => sum + count, 0),
      12,
    );
    assert.deepEqual(await prunedIds(), ids);
    await assertNothingLost(ids);
    const [archives] = await room.rows<{ tasks: bigint }>(
      'SELECT sum(tasks) AS tasks FROM task_archives WHERE account_id = $1',
      caller.accountId,
    );
    assert.equal(Number(archives?.tasks), 12);
  });
});

describe('a task that changes after its export', () => {
  /** Changes something once, when the first archive was written. */
  function storeThat(change: () => Promise<unknown>, changes: Partial<ObjectStore> = {}): ObjectStore {
    let hasChanged = false;
    return storeWith(pruning.store, {
      async put(...args) {
        const result = await pruning.store.put(...args);
        if (!hasChanged) await change();
        hasChanged = true;
        return result;
      },
      ...changes,
    });
  }

  /** The archives of the account that are in the store, listed or not. */
  async function storedArchives(): Promise<readonly string[]> {
    const keys: string[] = [];
    for await (const { key } of pruning.store.list(`archive/tasks/${caller.accountId}/`)) keys.push(key);
    return keys;
  }

  async function listedArchives(): Promise<readonly string[]> {
    return [...new Set((await prunedTasks()).map(({ key }) => key))].toSorted();
  }

  const PROMPT = 'a boat that its owner erases';

  /** Two tasks, of which the first has an input that is exported with it. */
  async function createWithInput(): Promise<readonly [TaskId, TaskId]> {
    const [first, second] = await createOldTasks(2);
    assert.ok(first && second);
    await room.rows('UPDATE tasks SET input = $2 WHERE id = $1', first, JSON.stringify({ prompt: PROMPT }));
    return [first, second];
  }

  const erase = (taskId: TaskId) => eraseTask(room.database, caller.accountId, taskId, Date.now());

  it('is exported as it is then if it is erased, and nothing of what it was stays in the store', async () => {
    const [first, second] = await createWithInput();

    const store = storeThat(() => erase(first));
    assert.equal(await pruning.prune({ store, keepsInputs: true }), 2);

    assert.deepEqual(await prunedIds(), [first, second]);
    assert.deepEqual([...(await storedArchives())].toSorted(), await listedArchives());
    for (const key of await storedArchives()) {
      const lines = await pruning.linesOf(key);
      assert.ok(!JSON.stringify(lines).includes(PROMPT));
      assert.equal(lines.find(({ task }) => task['id'] === first)?.events.at(-1)?.type, 'erased');
    }
  });

  it('stays if its callback is delivered again, and the others are pruned without it', async () => {
    const [first, second] = await createOldTasks(2);
    assert.ok(first && second);

    const store = storeThat(() => redeliverCallback(room.database, caller.accountId, first));
    assert.equal(await pruning.prune({ store }), 1);

    assert.deepEqual(await prunedIds(), [second]);
    assert.deepEqual(await storedArchives(), await listedArchives());
    await room.rows(`UPDATE callbacks SET state = 'delivered' WHERE task_id = $1`, first);
    await room.rows('DELETE FROM outbox WHERE subject_id = $1', first);
    await pruning.beginRound();
    assert.equal(await pruning.prune(), 1);
    const [line] = await pruning.linesOf((await prunedTasks())[0]?.key ?? '');
    assert.match(line?.events.at(-1)?.type ?? '', /callback_redelivery/);
  });

  it('is left to the next round, with its whole page, if it changes at each export', async () => {
    const ids = await createOldTasks(2);
    const store = storeWith(pruning.store, {
      async put(...args) {
        const result = await pruning.store.put(...args);
        await room.rows(`UPDATE tasks SET updated_at = updated_at + interval '1 second' WHERE id = $1`, ids[0]);
        return result;
      },
    });

    assert.equal(await pruning.prune({ store }), 0);

    assert.deepEqual(await storedArchives(), []);
    await assertNothingLost(ids);
    await pruning.beginRound();
    assert.equal(await pruning.prune(), 2);
  });

  it('leaves an archive that could not be deleted to the sweep, which knows it by the lists', async () => {
    const [first, second] = await createWithInput();
    const deleting = {
      delete: () => Promise.reject(new StoreUnavailableError('delete', { cause: new Error('gone') })),
    };

    await assert.rejects(
      pruning.prune({ store: storeThat(() => erase(first), deleting), keepsInputs: true }),
      StoreUnavailableError,
    );
    const [left] = await storedArchives();
    assert.ok(left !== undefined);
    assert.equal(await pruning.prune({ keepsInputs: true }), 2);

    const stored = await storedArchives();
    assert.ok(stored.every(isOurKey));
    assert.deepEqual(await listUnnamedKeys(room.database, stored), [left]);
    assert.deepEqual(await prunedIds(), [first, second]);
  });
});

describe('a store that fails', () => {
  const failures: Readonly<Record<string, (disk: ObjectStore) => Partial<ObjectStore>>> = {
    'cannot be written': () => ({
      put: () => Promise.reject(new StoreUnavailableError('put', { cause: new Error('ENOSPC') })),
    }),
    'cannot be read': () => ({
      read: () => Promise.reject(new StoreUnavailableError('read', { cause: new Error('EIO') })),
    }),
    'returns other bytes': () => ({ read: () => Promise.resolve(Readable.from([Buffer.from('other')])) }),
    'lost the object': (disk) => ({
      async put(...args) {
        const result = await disk.put(...args);
        await disk.delete(args[0]);
        return result;
      },
    }),
  };
  for (const [name, failing] of Object.entries(failures)) {
    // Proves C4-20.
    it(`leaves every task where it is if it ${name}`, async () => {
      const ids = await createOldTasks(3);
      const store = storeWith(pruning.store, failing(pruning.store));

      await assert.rejects(pruning.prune({ store }));

      assert.deepEqual(await prunedIds(), []);
      await assertNothingLost(ids);
      if (name !== 'cannot be written' && name !== 'cannot be read') await pruning.beginRound();
      assert.equal(await pruning.prune(), 3);
    });
  }

  it('does not keep later pages from being pruned if only one of them fails', async () => {
    const ids = await createOldTasks(3);
    const store = storeWith(pruning.store, {
      put: (key, ...rest) =>
        key.includes(ids[0] ?? '') ? Promise.reject(new Error('this one')) : pruning.store.put(key, ...rest),
    });

    await assert.rejects(pruning.prune({ store, pageSize: 1 }), /this one/);
    assert.equal(await pruning.prune({ store, pageSize: 1 }), 2);

    assert.deepEqual(await prunedIds(), ids.slice(1));
    await pruning.beginRound();
    assert.equal(await pruning.prune(), 1);
  });
});

describe('a process that is killed while it prunes', () => {
  const POINTS = ['written', 'read', 'insert_task_archive', 'delete_pruned_tasks', 'uncount_pruned_tasks'];

  const untilKilled = (point: string): Promise<void> =>
    pruneUntilKilled(room, { program: 'test/tasks/pruning-process.ts', directory: pruning.directory, point });

  for (const point of POINTS) {
    it(`loses no task and prunes none half: ${point}`, async () => {
      const ids = await createOldTasks(3);
      const balance = await room.account(caller);

      await untilKilled(point);

      assert.deepEqual(await prunedIds(), []);
      await assertNothingLost(ids);
      assert.equal(await pruning.prune(), 3);
      assert.deepEqual(await prunedIds(), ids);
      await assertNothingLost(ids);
      assert.deepEqual(await room.account(caller), balance);
    });
  }
});
