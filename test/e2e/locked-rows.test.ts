/**
 * A row that another session keeps locked, such as an operator's `psql`, stops no pass: the item that it belongs to
 * is skipped and listed. The maintenance workflows on a real Temporal server, and a transaction that stays open
 * meanwhile.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import pg from 'pg';
import { listFailingItems } from '../../src/database/failing-items.ts';
import type { FailingKind } from '../../src/domain/failing-kind.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { ACTIVITIES_WAIT, createAccountDatabase } from '../../src/limits/row-databases.ts';
import { claimOutbox, removeOutbox } from '../../src/tasks/outbox/outbox.ts';
import { readTask } from '../../src/tasks/record/read.ts';
import type { MeterResult, SweepResult } from '../../workflows/contracts.ts';
import { serveWithClock, storeOutput } from '../http/stored-outputs.ts';
import type { AppWithClock } from '../http/stored-outputs.ts';
import type { ServedAccount, ServedApp } from '../http/serve.ts';
import { startMaintenanceWorker } from '../support/maintenance-worker.ts';
import type { MaintenanceWorker } from '../support/maintenance-worker.ts';
import { body } from '../tasks/task-room.ts';
import '../support/quiet-temporal.ts';

const DAY_MS = 86_400_000;
/** As test/support/test-database.ts opens it. */
const POOL_SIZE = 10;

describe('a row that stays locked', () => {
  let app: AppWithClock;
  let served: ServedApp;
  let maintenance: MaintenanceWorker;

  before(async () => {
    app = await serveWithClock();
    ({ served } = app);
    maintenance = await startMaintenanceWorker(served, {
      accountDatabase: createAccountDatabase(served.room.database, POOL_SIZE, ACTIVITIES_WAIT),
      describeTask: () => Promise.resolve('missing'),
    });
  });
  after(async () => {
    await maintenance.close();
    await served.close();
  });
  beforeEach(async () => {
    await served.room.rows('DELETE FROM failing_items');
  });

  /** Keeps the rows of a statement locked. @returns a function that ends it; the end of the test does so, too. */
  async function lock(t: TestContext, statement: string, ...values: unknown[]): Promise<() => Promise<void>> {
    const operator = new pg.Client({ connectionString: served.room.url });
    await operator.connect();
    await operator.query('BEGIN');
    await operator.query(`${statement} FOR UPDATE`, values);
    let ended: Promise<void> | undefined;
    const end = (): Promise<void> => (ended ??= operator.end());
    t.after(end);
    return end;
  }

  async function failing(kind: FailingKind): Promise<readonly string[]> {
    return (await listFailingItems(served.room.database, { kind, limit: 100 })).map(({ id }) => id);
  }

  /** Tasks whose start was delivered, and that no worker processes. */
  async function idleTasks(account: ServedAccount, count: number): Promise<readonly TaskId[]> {
    const ids: TaskId[] = [];
    for (let index = 0; index < count; index++) {
      ids.push((await account.client.create(body())).body.data.taskId as TaskId);
    }
    const claimed = await claimOutbox(served.room.database, 1_000);
    await removeOutbox(
      served.room.database,
      claimed.map(({ id }) => id),
    );
    await served.room.rows(`UPDATE tasks SET updated_at = now() - interval '1 minute' WHERE id = ANY ($1)`, ids);
    return ids;
  }

  async function waitingForTheirRepair(ids: readonly TaskId[]): Promise<readonly TaskId[]> {
    const restarted = await served.room.rows<{ id: TaskId }>(
      `SELECT subject_id AS id FROM outbox WHERE kind = 'start_task' AND subject_id = ANY ($1)`,
      ids,
    );
    return ids.filter((id) => !restarted.some((each) => each.id === id));
  }

  it('of a task makes the repair skip that task until it can be repaired', async (t) => {
    const [locked = assert.fail('there is no task'), ...others] = await idleTasks(await served.newAccount(), 3);
    const unlock = await lock(t, 'SELECT FROM tasks WHERE id = $1', locked);

    await maintenance.run('maintain');

    assert.deepEqual(await waitingForTheirRepair([locked, ...others]), [locked]);
    assert.deepEqual(await failing('task'), [locked]);

    await unlock();
    await served.room.rows('UPDATE failing_items SET retry_at = now()');
    await maintenance.run('maintain');

    assert.deepEqual(await waitingForTheirRepair([locked]), []);
    assert.deepEqual(await failing('task'), []);
  });

  it('of an account leaves connections to others while all of its tasks are due', async (t) => {
    const [frozen, other] = [await served.newAccount(), await served.newAccount()];
    const due = [...(await idleTasks(frozen, 10)), ...(await idleTasks(other, 1))];
    await served.room.rows(`UPDATE tasks SET queue_deadline_at = now() - interval '1 hour' WHERE id = ANY ($1)`, due);
    await lock(t, 'SELECT FROM account_counters WHERE account_id = $1', frozen.id);
    let busy = 0;
    const look = setInterval(() => {
      const { open, idle } = served.room.database.pool();
      busy = Math.max(busy, open - idle);
    }, 10);
    t.after(() => clearInterval(look));

    await maintenance.run('maintain');

    assert.equal((await readTask(served.room.database, due.at(-1) ?? assert.fail())).errorReason, 'timed_out');
    assert.deepEqual(new Set(await failing('task')), new Set(due.slice(0, -1)));
    assert.ok(busy <= POOL_SIZE / 2 + 1, `${busy} connections were in use`);
  });

  it('of an account makes the metering skip that account', async (t) => {
    const accounts = [await served.newAccount(), await served.newAccount(), await served.newAccount()];
    for (const account of accounts) {
      const { taskId } = (await account.client.create(body({ storage: 'persistent' }))).body.data;
      await served.succeed(taskId, randomBytes(100));
    }
    const ids = accounts.map(({ id }) => id).sort();
    const [locked = assert.fail('there is no account')] = ids;
    await lock(t, 'SELECT FROM account_counters WHERE account_id = $1', locked);

    await app.later(2 * DAY_MS, () => maintenance.run<MeterResult>('meterStorage'));

    const charged = await served.room.rows<{ id: string }>(
      'SELECT DISTINCT account_id AS id FROM storage_days WHERE account_id = ANY ($1) ORDER BY id',
      ids,
    );
    assert.deepEqual(
      charged.map(({ id }) => id),
      ids.slice(1),
    );
    assert.deepEqual(await failing('storage_metering'), [locked]);
  });

  it('of an output, or of a rate limit, blocks no other deletion', async (t) => {
    const account = await served.newAccount();
    const [first, second] = [await storeOutput(served, account), await storeOutput(served, account)];
    for (const { id } of [first, second]) await account.client.send('DELETE', `/v1/storages/${id}`);
    await served.room.rows(
      `INSERT INTO rate_buckets (id, tokens, leases, updated_at) VALUES ('test:locked', 1, '{}', now() - interval '1 day')`,
    );
    await lock(t, `SELECT FROM rate_buckets WHERE id = 'test:locked'`);
    const unlock = await lock(t, 'SELECT FROM outputs WHERE id = $1', first.id);
    const sweep = (): Promise<SweepResult> =>
      app.later(61_000, () => maintenance.run('sweepObjects', { target: 'deleted' }));

    assert.deepEqual(await sweep(), { deleted: 1 });
    assert.deepEqual(await failing('upkeep'), ['rate_limits']);

    await unlock();
    assert.deepEqual(await sweep(), { deleted: 1 });
  });

  it('like a statement that times out, leaves one kind of expired row to a later pass', async (t) => {
    await served.room.rows(
      `CREATE FUNCTION test_take_too_long() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN RAISE EXCEPTION 'canceling statement due to statement timeout' USING ERRCODE = '57014'; END $$`,
    );
    await served.room.rows(
      `CREATE TRIGGER test_take_too_long BEFORE UPDATE ON outputs FOR EACH STATEMENT EXECUTE FUNCTION test_take_too_long()`,
    );
    t.after(() => served.room.rows('DROP TRIGGER test_take_too_long ON outputs'));
    const fileId = 'file_0123456789ABCDEFGHJKMNPQRS';
    await served.room.rows(
      `INSERT INTO files (id, account_id, object_key, mime_type, size_bytes, sha256, created_at, expires_at)
       VALUES ($1, $2, 'files/AA/' || $1, 'image/png', 1, 'x', now() - interval '9 days', now() - interval '8 days')`,
      fileId,
      (await served.newAccount()).id,
    );

    await maintenance.expire();

    assert.deepEqual(await failing('expiry'), ['outputs']);
    const [file] = await served.room.rows<{ isGone: boolean }>(
      'SELECT gone_at IS NOT NULL AS "isGone" FROM files WHERE id = $1',
      fileId,
    );
    assert.equal(file?.isGone, true);
  });
});
