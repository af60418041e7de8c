/**
 * Retention, sweeping and metering by the workflows that the Schedules start, on a real Temporal server and a clock
 * that the test advances: the app, the launcher and a worker run in this process.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { utimes } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { readAccount } from '../../src/accounts/accounts.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import { newId, newTaskId } from '../../src/domain/ids.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { ObjectNotFoundError } from '../../src/objects/stores/object-store.ts';
import { UPLOAD_KEPT_SECONDS, recordUpload, uploadKey } from '../../src/objects/uploads.ts';
import { startLauncher } from '../../src/processes/launcher.ts';
import type { Launcher } from '../../src/processes/launcher.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { NO_TRACES } from '../../src/telemetry/tracing.ts';
import { markStore } from '../../src/objects/stores/claimed-store.ts';
import type { ExpireResult, MeterResult, SweepInput, SweepResult } from '../../workflows/contracts.ts';
import type { ServedAccount, ServedApp } from '../http/serve.ts';
import { listStored, serveWithClock, storeOutput } from '../http/stored-outputs.ts';
import type { AppWithClock } from '../http/stored-outputs.ts';
import { body } from '../tasks/task-room.ts';
import { startMaintenanceWorker } from '../support/maintenance-worker.ts';
import type { MaintenanceWorker } from '../support/maintenance-worker.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import '../support/quiet-temporal.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

describe('a stored output', () => {
  let app: AppWithClock;
  let served: ServedApp;
  let maintenance: MaintenanceWorker;
  let launcher: Launcher;

  before(async () => {
    app = await serveWithClock();
    ({ served } = app);
    await markStore(served.store, served.http.installationId);
    maintenance = await startMaintenanceWorker(served);
    const { database, definitions } = served.http;
    launcher = startLauncher({
      database,
      gateway: maintenance.gateway,
      definitions,
      tracing: NO_TRACES,
      logger: silentLogger(),
    });
  });
  after(async () => {
    await launcher.close();
    await maintenance.close();
    assert.deepEqual(await verifyLedger(served.room.database), []);
    await served.close();
  });

  const expire = (): Promise<ExpireResult> => maintenance.expire();
  const sweep = (target: SweepInput['target'] = 'deleted'): Promise<SweepResult> =>
    maintenance.run('sweepObjects', { target });
  const meter = (): Promise<MeterResult> => maintenance.run('meterStorage');

  async function isStored(key: string): Promise<boolean> {
    try {
      await served.store.head(key);
      return true;
    } catch (error) {
      assert.ok(error instanceof ObjectNotFoundError);
      return false;
    }
  }

  /** A stored output, and the end of its retention in milliseconds since 1970. */
  async function stored(account: ServedAccount): Promise<{ taskId: string; id: string; key: string; end: number }> {
    const { taskId, id } = await storeOutput(served, account, randomBytes(100));
    const [item] = (await listStored(account, `?taskId=${taskId}`)).items;
    return { taskId, id, key: `outputs/${taskId}/1`, end: (item?.retainUntil ?? NaN) * 1000 };
  }

  async function goneOf(id: string): Promise<unknown> {
    const [row] = await served.room.rows(
      `SELECT gone_reason AS reason, gone_at = retain_until AS "isAtItsEnd", bytes_deleted_at IS NOT NULL AS "isErased"
         FROM outputs WHERE id = $1`,
      id,
    );
    return row;
  }

  // Proves S8-2, C3-16, C5-14.
  it('can be downloaded until every URL expires, and then expires with its bytes', async () => {
    const account = await served.newAccount();
    const { id, key, end } = await stored(account);

    // The last URL that any client can receive.
    const [last] = (await app.at(end - 1, () => listStored(account))).items;
    const url = last?.url ?? '';
    const urlEnd = (last?.expireAt ?? 0) * 1000;

    await app.at(end, async () => {
      await expire();
      await sweep();
      assert.deepEqual((await listStored(account)).items, []);
      assert.equal((await fetch(url)).status, 200);
    });
    await app.at(urlEnd - 1, async () => {
      await expire();
      await sweep();
      assert.equal((await fetch(url)).status, 200);
      assert.equal(await isStored(key), true);
    });
    await app.at(urlEnd, async () => assert.equal((await fetch(url)).status, 403));

    await app.at(end + 38 * MINUTE_MS, async () => {
      assert.ok((await expire()).outputs >= 1);
      assert.equal((await expire()).outputs, 0);
      assert.deepEqual(await goneOf(id), { reason: 'expired', isAtItsEnd: true, isErased: false });
      assert.equal(await isStored(key), true);
      await sweep();
    });
    assert.equal(await isStored(key), false);
    assert.deepEqual(await goneOf(id), { reason: 'expired', isAtItsEnd: true, isErased: true });
  });

  it('never expires when it is persistent', async () => {
    const account = await served.newAccount();
    const { id, key, end } = await stored(account);
    await account.client.send('POST', '/v1/storages/promote', [id]);
    launcher.wake();
    await waitFor('the output is persistent', async () => {
      const [item] = (await listStored(account)).items;
      return item?.storage_tier === 'persistent';
    });

    await app.at(end + 30 * DAY_MS, async () => {
      await expire();
      await sweep();
      await sweep('unnamed');
      const [item] = (await listStored(account)).items;
      assert.equal(item?.id, id);
      assert.equal((await fetch(item?.url ?? '')).status, 200);
    });
    assert.equal(await isStored(key), true);
  });

  // Proves C5-13.
  it('loses its bytes a minute after it was deleted, on the disk too', async () => {
    const account = await served.newAccount();
    const { id, key } = await stored(account);
    await account.client.send('DELETE', `/v1/storages/${id}`);

    await sweep();
    assert.equal(await isStored(key), true);
    await app.later(61_000, () => Promise.all([sweep(), sweep()]));

    assert.equal(await isStored(key), false);
    assert.deepEqual(await app.later(61_000, sweep), { deleted: 0 });
  });

  // Proves C7-31.
  it('keeps its bytes as long as an open task refers to them', async () => {
    const account = await served.newAccount();
    const { id, key } = await stored(account);
    const { taskId } = (await account.client.create(body())).body.data;
    await served.room.rows('INSERT INTO task_inputs (task_id, object_key) VALUES ($1, $2)', taskId, key);
    await account.client.send('DELETE', `/v1/storages/${id}`);

    await app.later(2 * DAY_MS, sweep);
    await app.later(2 * DAY_MS, () => sweep('unnamed'));
    assert.equal(await isStored(key), true);
    await settleTask(
      served.room.database,
      taskId as TaskId,
      { status: 'fail', reason: 'provider_error' },
      { retentionDays: 7 },
    );
    await app.later(2 * DAY_MS, sweep);

    assert.equal(await isStored(key), false);
  });

  // Proves C7-28.
  it('has the same lifetime when it is an upload', async () => {
    const account = await served.newAccount();
    const id = newId('file');
    const objectKey = uploadKey(id);
    const put = await served.store.put(objectKey, randomBytes(10), { mimeType: 'image/png' });
    const upload = { id, accountId: account.id, objectKey, mimeType: 'image/png', ...put };
    await recordUpload(
      served.room.database,
      { ...upload, purpose: null, fileName: null },
      { keptSeconds: UPLOAD_KEPT_SECONDS, now: Date.now() },
    );

    await app.later(24 * HOUR_MS + MINUTE_MS, async () => {
      await expire();
      await sweep();
      await sweep('unnamed');
    });
    assert.equal(await isStored(objectKey), true);
    await app.later(25 * HOUR_MS, async () => assert.equal((await expire()).files, 1));
    await app.later(25 * HOUR_MS + 2 * MINUTE_MS, sweep);
    assert.equal(await isStored(objectKey), false);
  });

  it('is deleted after 24 h when nothing refers to it, and only then', async () => {
    const account = await served.newAccount();
    const { key } = await stored(account);
    const { taskId } = (await account.client.create(body())).body.data;
    const produced = `outputs/ZZ/${taskId}-generated-named`;
    const beingArchived = `outputs/ZZ/${taskId}-archived-in-work`;
    await served.room.rows(
      `INSERT INTO generations (task_id, upstream, state, files) VALUES ($1, 'test', 'produced', $2)`,
      taskId,
      JSON.stringify([{ key: produced, sizeBytes: 1, sha256: '' }, { url: 'https://example.com/x.png' }]),
    );
    const archive = (id: string): string => `${id}-0123456789abcdef.ndjson.gz`;
    const left = [
      `outputs/ZZ/${newTaskId()}-generated-left`,
      `files/ZZ/${newId('file')}-original`,
      `archive/tasks/${account.id}/2026-01/${archive(newTaskId())}`,
      `archive/text-calls/2026-01/${archive('chatcmpl-left')}`,
    ];
    const listed = [
      `archive/tasks/${account.id}/2026-01/${archive(newTaskId())}`,
      `archive/text-calls/2026-01/${archive('chatcmpl-listed')}`,
    ];
    await served.room.rows(
      `INSERT INTO task_archives (account_id, object_key, size_bytes, sha256, tasks) VALUES ($1, $2, 10, '', 1)`,
      account.id,
      listed[0],
    );
    await served.room.rows(
      `INSERT INTO text_call_archives (object_key, size_bytes, sha256, calls, first_created_at, last_created_at)
       VALUES ($1, 10, '', 1, now(), now())`,
      listed[1],
    );
    const foreign = ['outputs/reports/2026.pdf', 'files/ZZ/another', 'archive/tasks/report', `elsewhere/${taskId}`];
    const young = `outputs/ZZ/${newTaskId()}-archived-young`;
    for (const each of [...left, ...listed, ...foreign, produced, beingArchived, young]) {
      await served.store.put(each, randomBytes(10), { mimeType: 'image/png' });
    }
    const root = served.http.config.store.storeUrl.replace('file://', '');
    const aDayAgo = new Date(Date.now() - DAY_MS - MINUTE_MS);
    for (const each of [...left, ...listed, ...foreign, produced, beingArchived, key])
      await utimes(path.join(root, each), aDayAgo, aDayAgo);

    assert.deepEqual(await sweep('unnamed'), { deleted: 4 });

    for (const each of left) assert.equal(await isStored(each), false, each);
    for (const each of [key, produced, beingArchived, young, ...listed, ...foreign]) {
      assert.equal(await isStored(each), true, each);
    }
  });

  it('is not touched in a store that belongs to another installation', async () => {
    const left = `outputs/ZZ/${newTaskId()}-generated-left`;
    const root = served.http.config.store.storeUrl.replace('file://', '');
    await served.store.put(left, randomBytes(10), { mimeType: 'image/png' });
    const aDayAgo = new Date(Date.now() - DAY_MS - MINUTE_MS);
    await utimes(path.join(root, left), aDayAgo, aDayAgo);
    await markStore(served.store, 'inst_another');

    assert.deepEqual(await sweep('unnamed'), { deleted: 0 });

    assert.equal(await isStored(left), true);
    await markStore(served.store, served.http.installationId);
    assert.deepEqual(await sweep('unnamed'), { deleted: 1 });
  });

  it('does not extend unused rate limits, which are deleted after an hour', async () => {
    await served.room.rows(
      `INSERT INTO rate_buckets (id, tokens, leases, updated_at)
       VALUES ('idle', 1, '{}', now() - interval '61 minutes'), ('used', 1, '{}', now() - interval '59 minutes')`,
    );

    await sweep();

    const rows = await served.room.rows(`SELECT id FROM rate_buckets WHERE id IN ('idle', 'used')`);
    assert.deepEqual(rows, [{ id: 'used' }]);
  });

  it('is promoted although its workflow was lost, when the next pass starts it again', async () => {
    const account = await served.newAccount();
    const { id } = await stored(account);
    await served.room.database.transaction(async (transaction) => {
      const name = 'test_lost_promotion';
      await transaction.query({ name, text: 'UPDATE outputs SET pending_since = now() WHERE id = $1' }, [id]);
      await transaction.query(
        {
          name: `${name}_bytes`,
          text: 'UPDATE account_counters SET persistent_bytes = persistent_bytes + 100 WHERE account_id = $1',
        },
        [account.id],
      );
    });
    assert.equal((await expire()).requested, 0);

    await app.later(3 * MINUTE_MS, async () => {
      assert.equal((await expire()).requested, 1);
      await waitFor('the output is persistent', async () => {
        const [item] = (await listStored(account)).items;
        return item?.storage_tier === 'persistent' && item.status === 'available';
      });
    });
  });

  // Proves C5-19.
  it('is metered by the day, and returns to temp when its account does not pay for a week', async () => {
    const account = await served.newAccount({ microUsd: 10_000n });
    const { taskId } = (await account.client.create(body({ storage: 'persistent' }))).body.data;
    await served.succeed(taskId, randomBytes(100));
    const [item] = (await listStored(account)).items;
    assert.equal(item?.storage_tier, 'persistent');
    assert.equal((await readAccount(served.room.database, account.id)).availableMicroUsd, 0n);

    const start = Date.now();
    const first = await app.later(8 * DAY_MS, meter);
    assert.ok(first.days >= 8);
    assert.deepEqual(await app.later(8 * DAY_MS, meter), { days: 0, returned: 0 });
    assert.ok(first.returned >= 1);

    const [returned] = (await listStored(account)).items;
    assert.equal(returned?.storage_tier, 'temp');
    assert.ok((returned?.retainUntil ?? 0) * 1000 >= start + 15 * DAY_MS - 1_000);
  });
});
