/** `admin outputs verify`: which recorded bytes the store does not have. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { packageFile } from '../../src/config/package-root.ts';
import { readInstallationId } from '../../src/database/migrate.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { insertFile, uploadKey } from '../../src/objects/uploads.ts';
import { newId } from '../../src/domain/ids.ts';
import { createDiskStore } from '../../src/objects/stores/disk-store.ts';
import type { ObjectStore } from '../../src/objects/stores/object-store.ts';
import { markStore } from '../../src/objects/stores/claimed-store.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { readTask } from '../../src/tasks/record/read.ts';
import { temporaryDirectory } from '../standalone/fixtures/supervised.ts';
import { programEnvironment } from '../support/pooled-run.ts';
import { body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { runAdminInHost } from './admin-command.ts';
import type { CommandResult } from './admin-command.ts';

interface Report {
  readonly checked: number;
  readonly missingOutputs: number;
  readonly missingUploads: number;
  readonly deleted: number;
  readonly outputs: readonly Record<string, unknown>[];
  readonly uploads: readonly Record<string, unknown>[];
}

describe('admin outputs verify', () => {
  let room: TaskRoom;
  let directory: string;
  let store: ObjectStore;
  before(async () => {
    room = await openTaskRoom();
  });
  after(() => room.close());
  beforeEach(async () => {
    await room.rows('DELETE FROM outputs');
    await room.rows('DELETE FROM files');
    directory = await temporaryDirectory();
    store = createDiskStore(directory);
  });

  const verify = (...args: string[]): Promise<CommandResult> =>
    runAdminInHost(['outputs', 'verify', ...args, '--json'], {
      ...programEnvironment(room.url),
      STORE_URL: pathToFileURL(directory).href,
    });

  /** @param bytes what the store has; undefined: nothing. */
  async function newOutput(
    bytes: string | undefined,
    { objectKey = `outputs/00/${randomUUID()}`, sizeBytes = 3 } = {},
  ) {
    const caller = await room.newCaller();
    const { taskId } = await room.creator.create(caller, body(), undefined);
    await claimOutbox(room.database, 100);
    if (bytes !== undefined) await store.put(objectKey, Buffer.from(bytes), { mimeType: 'image/png' });
    const output = { type: 'image', objectKey, mimeType: 'image/png', sizeBytes, sha256: '0'.repeat(64) };
    const success = { status: 'success', outputs: [output], capturedMicroUsd: 0n } as const;
    await settleTask(room.database, taskId, success, { retentionDays: 7 });
    const [row] = await room.rows<{ id: string }>('SELECT id FROM outputs WHERE task_id = $1', taskId);
    return { taskId, accountId: caller.accountId, outputId: row?.id ?? assert.fail() };
  }

  async function newUpload(accountId: string): Promise<string> {
    const id = newId('file');
    const createdAt = Math.floor(Date.now() / 1000);
    const facts = { mimeType: 'image/png', sizeBytes: 3, sha256: '0'.repeat(64), purpose: null, fileName: null };
    const file = { id, accountId, objectKey: uploadKey(id), ...facts };
    await insertFile(room.database, file, { createdAt, expiresAt: createdAt + 3_600 });
    return id;
  }

  const goneReason = async (taskId: TaskId) => (await readTask(room.database, taskId)).outputs[0]?.goneReason;

  it('succeeds if the store has everything', async () => {
    await newOutput('abc');

    const { code, stdout } = await verify();

    assert.equal(code, 0);
    const none = { missingOutputs: 0, missingUploads: 0, deleted: 0, outputs: [], uploads: [] };
    assert.deepEqual(JSON.parse(stdout), { checked: 1, ...none });
  });

  it('lists what is missing or of another size, and changes nothing', async () => {
    await newOutput('abc');
    const lost = await newOutput(undefined);
    const cut = await newOutput('ab');
    const upload = await newUpload(lost.accountId);

    const { code, stdout, stderr } = await verify();

    assert.equal(code, 1, stderr);
    const report = JSON.parse(stdout) as Report;
    assert.deepEqual([report.checked, report.missingOutputs, report.missingUploads, report.deleted], [4, 2, 1, 0]);
    assert.deepEqual(
      report.outputs,
      [lost, cut]
        .toSorted((a, b) => (a.outputId < b.outputId ? -1 : 1))
        .map(({ outputId, taskId, accountId }) => ({
          output: outputId,
          task: taskId,
          account: accountId,
          sizeBytes: 3,
        })),
    );
    assert.deepEqual(report.uploads, [{ file: upload, account: lost.accountId, sizeBytes: 3 }]);
    assert.equal(await goneReason(lost.taskId), null);
  });

  it('reads page after page', async () => {
    const { taskId } = await newOutput('abc');
    await room.rows(
      `INSERT INTO outputs (id, task_id, account_id, model, position, type, object_key, mime_type, size_bytes, sha256,
                            storage_tier)
       SELECT 'out_' || n, task_id, account_id, model, n, type, CASE WHEN n = 1100 THEN 'outputs/00/lost' ELSE object_key END,
              mime_type, size_bytes, sha256, storage_tier FROM outputs, generate_series(1, 1100) AS n WHERE task_id = $1`,
      taskId,
    );

    const report = JSON.parse((await verify()).stdout) as Report;

    assert.deepEqual([report.checked, report.outputs.map(({ output }) => output)], [1101, ['out_1100']]);
  });

  it('looks only at what was recorded since a time', async () => {
    const { taskId } = await newOutput(undefined);
    await room.rows(`UPDATE outputs SET created_at = '2026-01-02T00:00:00Z' WHERE task_id = $1`, taskId);

    assert.equal((JSON.parse((await verify('--since', '2026-01-02T00:00:01Z')).stdout) as Report).checked, 0);
    assert.equal((JSON.parse((await verify('--since', '2026-01-02')).stdout) as Report).missingOutputs, 1);
    for (const time of ['yesterday', '5', '2026-13-01']) {
      const { code, stderr } = await verify('--since', time);
      assert.equal(code, 1);
      assert.match(stderr, /--since: "[^"]+" is not a time such as 2026-11-01T00:00:00Z/);
    }
  });

  it('marks what is missing as deleted on request, in its own store only', async () => {
    const lost = await newOutput(undefined);
    const kept = await newOutput('abc');
    await newUpload(lost.accountId);

    const unmarked = await verify('--delete-missing');
    assert.match(unmarked.stderr, /without the mark of an installation/);
    await markStore(store, 'inst_of_somebody_else');
    const foreign = await verify();
    assert.match(foreign.stderr, /the store of the installation inst_of_somebody_else/);
    assert.deepEqual([unmarked.code, foreign.code, await goneReason(lost.taskId)], [1, 1, null]);

    await markStore(store, await readInstallationId(room.database));
    const { code, stdout } = await verify('--delete-missing');
    assert.deepEqual([code, (JSON.parse(stdout) as Report).deleted], [1, 2]);
    assert.deepEqual([await goneReason(lost.taskId), await goneReason(kept.taskId)], ['deleted', null]);
    assert.equal((await verify('--delete-missing')).code, 0);
  });

  it('reports a store that does not answer, and no loss', async () => {
    await newOutput(undefined);
    directory = path.join(packageFile('package.json'), 'store');

    const { code, stdout, stderr } = await verify();

    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /the object store/i);
  });
});
