/** One bad item stops no pass: the maintenance workflows on a real Temporal server, with items that always fail. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import fs, { utimes } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { listFailingItems } from '../../src/database/failing-items.ts';
import type { FailingKind } from '../../src/domain/failing-kind.ts';
import { newId, newTaskId } from '../../src/domain/ids.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { ObjectNotFoundError, StoreUnavailableError } from '../../src/objects/stores/object-store.ts';
import { claimOutbox, removeOutbox, requestStalledCallbacks } from '../../src/tasks/outbox/outbox.ts';
import { markStore } from '../../src/objects/stores/claimed-store.ts';
import type { MaintainResult, SweepResult } from '../../workflows/contracts.ts';
import { serveWithClock, storeOutput } from '../http/stored-outputs.ts';
import type { AppWithClock } from '../http/stored-outputs.ts';
import type { ServedApp } from '../http/serve.ts';
import { startMaintenanceWorker } from '../support/maintenance-worker.ts';
import type { MaintenanceWorker } from '../support/maintenance-worker.ts';
import { body } from '../tasks/task-room.ts';
import '../support/quiet-temporal.ts';

const DAY_MS = 86_400_000;

/** As the file system does when permissions are missing; real permissions do not stop tests that run as root. */
function makeUnreadable(t: TestContext, directory: string): void {
  const { opendir } = fs;
  const { mock } = t.mock.method(fs, 'opendir', (opened: string) =>
    opened.startsWith(directory)
      ? Promise.reject(Object.assign(new Error('permission denied'), { code: 'EACCES', syscall: 'opendir' }))
      : opendir(opened),
  );
  syncBuiltinESMExports();
  t.after(() => {
    mock.restore();
    syncBuiltinESMExports();
  });
}

describe('a pass', () => {
  let app: AppWithClock;
  let served: ServedApp;
  let maintenance: MaintenanceWorker;
  /** Objects that the store does not delete, and tasks that Temporal cannot be queried for. */
  const bad = new Set<string>();
  /** Objects whose deletion gets no response. */
  const hanging = new Set<string>();
  /** Whether the store accepts nothing more. */
  let isFull = false;
  /** The prefixes that were listed. */
  const listed: string[] = [];
  /** The prefix whose next listing fails. */
  let unlistable = '';

  before(async () => {
    app = await serveWithClock();
    ({ served } = app);
    await markStore(served.store, served.http.installationId);
    const { store } = served;
    maintenance = await startMaintenanceWorker(served, {
      store: new Proxy(store, {
        get(target, name) {
          if (name === 'delete') {
            return (key: string) => {
              if (hanging.has(key)) return new Promise(() => {});
              return bad.has(key)
                ? Promise.reject(new StoreUnavailableError('delete', { cause: new Error('access denied') }))
                : target.delete(key);
            };
          }
          if (name === 'list') {
            return (...args: Parameters<typeof target.list>) => {
              const [prefix] = args;
              listed.push(prefix);
              if (prefix !== unlistable) return target.list(...args);
              unlistable = '';
              throw new StoreUnavailableError('list', { cause: new Error('gone away') });
            };
          }
          if (isFull && (name === 'check' || name === 'put')) {
            return () => Promise.reject(new StoreUnavailableError('put', { cause: new Error('no space left') }));
          }
          const member: unknown = Reflect.get(target, name);
          return typeof member === 'function' ? (member.bind(target) as unknown) : member;
        },
      }),
      describeTask: (taskId) =>
        bad.has(taskId) ? Promise.reject(new Error('an answer that no one understands')) : Promise.resolve('missing'),
    });
  });
  after(async () => {
    await maintenance.close();
    await served.close();
  });

  async function isStored(key: string): Promise<boolean> {
    try {
      await served.store.head(key);
      return true;
    } catch (error) {
      assert.ok(error instanceof ObjectNotFoundError);
      return false;
    }
  }

  const keyOf = ({ taskId }: { readonly taskId: string }): string => `outputs/${taskId}/1`;
  const sweepDeleted = (): Promise<SweepResult> =>
    app.later(61_000, () => maintenance.run('sweepObjects', { target: 'deleted' }));

  async function storeAndDelete(count: number): Promise<readonly string[]> {
    const account = await served.newAccount();
    const keys: string[] = [];
    for (let index = 0; index < count; index++) {
      const output = await storeOutput(served, account);
      await account.client.send('DELETE', `/v1/storages/${output.id}`);
      keys.push(keyOf(output));
    }
    return keys;
  }

  const storeRoot = (): string => served.http.config.store.storeUrl.replace('file://', '');

  /** Stores objects that nothing refers to, and that are old enough to be deleted. */
  async function storeUnreferenced(keys: readonly string[]): Promise<void> {
    const twoDaysAgo = new Date(Date.now() - 2 * DAY_MS);
    for (const key of keys) {
      await served.store.put(key, randomBytes(10), { mimeType: 'image/png' });
      await utimes(path.join(storeRoot(), key), twoDaysAgo, twoDaysAgo);
    }
  }

  async function failing(kind: FailingKind): Promise<readonly string[]> {
    return (await listFailingItems(served.room.database, { kind, limit: 100 })).map(({ id }) => id);
  }

  it('of the sweep deletes the other objects when one cannot be deleted, and that one when it can', async () => {
    const [first = '', second = ''] = await storeAndDelete(2);
    bad.add(first);

    assert.deepEqual(await sweepDeleted(), { deleted: 1 });
    assert.equal(await isStored(first), true);
    assert.equal(await isStored(second), false);
    assert.deepEqual(await failing('object'), [first]);
    // It waits for its retry, and keeps no later pass busy.
    assert.deepEqual(await sweepDeleted(), { deleted: 0 });

    bad.delete(first);
    await served.room.rows('UPDATE failing_items SET retry_at = now()');
    assert.deepEqual(await sweepDeleted(), { deleted: 1 });
    assert.equal(await isStored(first), false);
    assert.deepEqual(await failing('object'), []);
  });

  it('of the sweep frees a full disk around an object that it cannot delete', async (t) => {
    const [first = '', ...others] = await storeAndDelete(20);
    bad.add(first);
    isFull = true;
    t.after(() => {
      isFull = false;
    });

    assert.deepEqual(await sweepDeleted(), { deleted: others.length });

    for (const key of others) assert.equal(await isStored(key), false);
    assert.deepEqual(await failing('object'), [first]);
    bad.delete(first);
    await served.room.rows('UPDATE failing_items SET retry_at = now()');
    assert.deepEqual(await sweepDeleted(), { deleted: 1 });
  });

  it('of the sweep waits for no deletion that gets no response', async () => {
    const [first = '', ...others] = await storeAndDelete(20);
    hanging.add(first);

    assert.deepEqual(await sweepDeleted(), { deleted: others.length });

    assert.deepEqual(await failing('object'), [first]);
    const [item] = await listFailingItems(served.room.database, { limit: 1 });
    assert.equal(item?.error, 'StoreUnavailableError: the object store could not delete: TimeoutError');
  });

  it('of the sweep of unreferenced objects skips a directory that cannot be read', async (t) => {
    await served.room.rows('DELETE FROM failing_items');
    const left = ['AA', 'BB', 'CC'].map((directory) => `outputs/${directory}/${newTaskId()}-generated-left`);
    await storeUnreferenced(left);
    makeUnreadable(t, path.join(storeRoot(), 'outputs/BB'));

    assert.deepEqual(await maintenance.run<SweepResult>('sweepObjects', { target: 'unnamed' }), { deleted: 2 });

    assert.deepEqual(await Promise.all(left.map(isStored)), [false, true, false]);
    assert.deepEqual(await failing('object'), ['outputs/BB/']);
  });

  it('of the sweep of unreferenced objects is continued by the next attempt', async () => {
    const left = ['outputs/0A', 'files/0A', 'files/ZA'].map(
      (directory) => `${directory}/${directory.startsWith('files') ? newId('file') : newTaskId()}-generated-left`,
    );
    await storeUnreferenced(left);
    listed.length = 0;
    unlistable = 'files/1';

    // Of those that the last attempt deleted.
    assert.deepEqual(await maintenance.run<SweepResult>('sweepObjects', { target: 'unnamed' }), { deleted: 1 });

    assert.deepEqual(await Promise.all(left.map(isStored)), [false, false, false]);
    const again = listed.lastIndexOf('files/1');
    assert.deepEqual(listed.slice(again - 2, again), ['files/0', 'files/1']);
    assert.deepEqual([listed.length, new Set(listed).size], [67, 66]);
  });

  it('of the repair continues after a task whose repair throws', async () => {
    const account = await served.newAccount();
    const ids: TaskId[] = [];
    for (let index = 0; index < 3; index++) {
      ids.push((await account.client.create(body())).body.data.taskId as TaskId);
    }
    const claimed = await claimOutbox(served.room.database, 1_000);
    await removeOutbox(
      served.room.database,
      claimed.map(({ id }) => id),
    );
    await served.room.rows(`UPDATE tasks SET updated_at = now() - interval '1 minute' WHERE id = ANY ($1)`, ids);
    const [stuck = assert.fail('there is no task')] = ids;
    bad.add(stuck);

    const { repair } = await maintenance.run<MaintainResult>('maintain');

    assert.equal(repair.restarted, 2);
    assert.deepEqual(await failing('task'), [stuck]);
    const restarted = await served.room.rows<{ id: string }>(
      `SELECT subject_id AS id FROM outbox WHERE kind = 'start_task' AND subject_id = ANY ($1)`,
      ids,
    );
    assert.deepEqual(new Set(restarted.map(({ id }) => id)), new Set(ids.slice(1)));
  });

  it('over stalled callbacks reaches all of them, although the first are stalled permanently', async () => {
    const account = await served.newAccount();
    const ids: string[] = [];
    for (let index = 0; index < 5; index++) ids.push((await account.client.create(body())).body.data.taskId);
    await served.room.rows(
      `INSERT INTO callbacks (task_id, account_id, url, state, attempts, created_at)
       SELECT id, account_id, 'https://example.com/', 'pending', 0, now() - interval '1 hour'
         FROM tasks WHERE id = ANY ($1)`,
      ids,
    );
    const { database } = served.room;
    const asked: string[] = [];
    for (let pass = 0; pass < 3; pass++) {
      asked.push(...(await requestStalledCallbacks(database, 2)));
      // Temporal was notified without any effect: they are as stalled as before.
      await served.room.rows(`DELETE FROM outbox WHERE kind = 'deliver_callback'`);
    }

    assert.deepEqual(new Set(asked), new Set(ids));
    assert.deepEqual(new Set(await requestStalledCallbacks(database, 2)), new Set(asked.slice(1, 3)));
  });
});
