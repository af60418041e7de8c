/**
 * A worker that stops in the middle of a pass: the pass ends there, without another item, and Temporal can hand it to
 * another worker. The maintenance workflows on a real Temporal server.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { ActivityFailure, ApplicationFailure, WorkflowFailedError } from '@temporalio/client';
import { WorkerStoppingError } from '../../src/generation/stopping.ts';
import type { Database, Queryable } from '../../src/database/database.ts';
import { listFailingItems } from '../../src/database/failing-items.ts';
import { claimOutbox, removeOutbox } from '../../src/tasks/outbox/outbox.ts';
import { serveWithClock, storeOutput } from '../http/stored-outputs.ts';
import type { AppWithClock } from '../http/stored-outputs.ts';
import type { ServedApp } from '../http/serve.ts';
import { startMaintenanceWorker } from '../support/maintenance-worker.ts';
import type { MaintenanceWorker } from '../support/maintenance-worker.ts';
import { body } from '../tasks/task-room.ts';
import '../support/quiet-temporal.ts';

const DAY_MS = 86_400_000;

describe('a worker that is stopped during a pass', () => {
  let app: AppWithClock;
  let served: ServedApp;
  let maintenance: MaintenanceWorker;
  let stop: () => void;
  /** Called with each statement, task and object before it is processed. */
  let onWork: (name: string) => void = () => {};

  before(async () => {
    app = await serveWithClock();
    ({ served } = app);
  });
  after(() => served.close());
  beforeEach(async () => {
    const stopping = new AbortController();
    stop = () => stopping.abort(new WorkerStoppingError());
    maintenance = await startMaintenanceWorker(served, {
      database: watched(served.room.database),
      stopping: stopping.signal,
      describeTask: (taskId) => {
        onWork(taskId);
        return Promise.resolve('missing');
      },
    });
  });
  afterEach(async () => {
    onWork = () => {};
    await maintenance.close();
    assert.deepEqual(await listFailingItems(served.room.database, { limit: 10 }), []);
  });

  function watched(database: Database): Database {
    const watch = (inner: Queryable): Queryable => ({
      query: (statement, values) => {
        onWork(statement.name);
        return inner.query(statement, values);
      },
    });
    return {
      ...database,
      ...watch(database),
      transaction: (work) => database.transaction((inner) => work(watch(inner))),
    };
  }

  /** Counts statements and items whose name matches, and stops the worker at the first. */
  function stopAt(pattern: RegExp): { readonly count: () => number } {
    let count = 0;
    onWork = (name) => {
      if (!pattern.test(name)) return;
      count += 1;
      stop();
    };
    return { count: () => count };
  }

  async function assertStopped(pass: Promise<unknown>): Promise<void> {
    await assert.rejects(pass, (error) => {
      const failure =
        error instanceof WorkflowFailedError && error.cause instanceof ActivityFailure && error.cause.cause;
      assert.ok(failure instanceof ApplicationFailure, String(error));
      return failure.type === 'WorkerShutdown';
    });
  }

  it('of the repair processes no more tasks than those in progress', async () => {
    const account = await served.newAccount();
    for (let index = 0; index < 25; index++) await account.client.create(body());
    const claimed = await claimOutbox(served.room.database, 1_000);
    await removeOutbox(
      served.room.database,
      claimed.map(({ id }) => id),
    );
    await served.room.rows(`UPDATE tasks SET updated_at = now() - interval '1 minute'`);
    const tasks = stopAt(/^tk-svc-/);

    await assertStopped(maintenance.run('maintain'));

    assert.equal(tasks.count(), 10);
  });

  it('of the metering charges no other day, and no other account', async () => {
    for (let index = 0; index < 3; index++) {
      const account = await served.newAccount();
      const { taskId } = (await account.client.create(body({ storage: 'persistent' }))).body.data;
      await served.succeed(taskId, randomBytes(100));
    }
    const days = stopAt(/^book_storage_day$/);

    await assertStopped(app.later(5 * DAY_MS, () => maintenance.run('meterStorage')));

    assert.equal(days.count(), 1);
  });

  it('of the expiry continues with no other kind', async () => {
    const first = stopAt(/^(?:expire_outputs|expire_uploads|erase_old_inputs|delete_expired_text_responses)$/);

    await assertStopped(maintenance.run('maintain'));

    assert.equal(first.count(), 1);
  });

  it('of the sweep deletes no other batch', async () => {
    const account = await served.newAccount();
    for (let index = 0; index < 10; index++) {
      const { id } = await storeOutput(served, account);
      await account.client.send('DELETE', `/v1/storages/${id}`);
    }
    const marked = stopAt(/^mark_output_bytes_deleted$/);

    await assertStopped(app.later(61_000, () => maintenance.run('sweepObjects', { target: 'deleted' })));

    assert.equal(marked.count(), 1);
  });
});
