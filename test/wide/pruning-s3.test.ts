/**
 * Tasks and text calls are pruned to a real S3 server, and their archives are read from it. Skipped, with the reason, if
 * there is neither the server nor Go to build it.
 */
import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { after, afterEach, before, describe, it } from 'node:test';
import { createGunzip } from 'node:zlib';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { ObjectStore } from '../../src/objects/stores/object-store.ts';
import { openStore } from '../../src/objects/stores/open-store.ts';
import { StoreUnavailableError } from '../../src/objects/stores/object-store.ts';
import { startS3Server, whyNoS3Server } from '../support/versitygw.ts';
import type { S3Server } from '../support/versitygw.ts';
import { createOldTask, openPruningRoom } from '../tasks/old-tasks.ts';
import type { PruningRoom } from '../tasks/old-tasks.ts';
import { openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { createOldCalls, openCallPruningRoom } from '../text/money/old-calls.ts';
import type { CallPruningRoom } from '../text/money/old-calls.ts';
import { openTextProcess } from '../text/money/text-processes.ts';
import type { TextProcess } from '../text/money/text-processes.ts';

const BUCKET = 'outputs';

describe('pruning to an S3 bucket', { skip: whyNoS3Server() }, () => {
  let server: S3Server;
  let store: ObjectStore;
  let room: TaskRoom;
  let tasks: PruningRoom;
  let calls: CallPruningRoom;
  let process: TextProcess;
  before(async () => {
    server = await startS3Server(BUCKET);
    store = await openStore({ storeUrl: `s3://${BUCKET}/one/installation/`, s3: server });
    room = await openTaskRoom();
    tasks = await openPruningRoom(room);
    calls = await openCallPruningRoom(room);
    process = await openTextProcess(room);
  });
  afterEach(async () => {
    assert.deepEqual(await verifyLedger(room.database), []);
    await tasks.beginRound();
    await calls.beginRound();
  });
  after(async () => {
    await process.close();
    await calls.close();
    await tasks.close();
    await room.close();
    await store.close();
    await server.stop();
  });

  /** The ids in an archive, whose recorded size and hash are compared with the object. */
  async function idsIn({ key, size }: { readonly key: string; readonly size: bigint }): Promise<readonly string[]> {
    assert.equal(BigInt((await store.head(key)).sizeBytes), size);
    const content = await text((await store.read(key)).pipe(createGunzip()));
    return content
      .trimEnd()
      .split('\n')
      .map((line) => {
        const { id, task } = JSON.parse(line) as { readonly id?: string; readonly task?: { readonly id: string } };
        return id ?? task?.id ?? '';
      });
  }

  it('exports each task to the archive that its row names', async () => {
    const caller = await room.newCaller();
    const ids: string[] = [];
    for (let days = 36; days > 31; days--) ids.push(await createOldTask(room, caller, { days }));

    assert.equal(await tasks.prune({ store, pageSize: 2 }), 5);

    const archives = await room.rows<{ key: string; size: bigint; ids: readonly string[] }>(
      `SELECT a.object_key AS key, a.size_bytes AS size, array_agg(p.task_id ORDER BY p.created_at) AS ids
         FROM pruned_tasks p JOIN task_archives a ON a.id = p.archive_id
        WHERE p.account_id = $1 GROUP BY a.id ORDER BY a.id`,
      caller.accountId,
    );
    assert.deepEqual(
      archives.map((archive) => archive.ids.length),
      [2, 2, 1],
    );
    assert.deepEqual(
      archives.flatMap((archive) => archive.ids),
      ids,
    );
    for (const archive of archives) assert.deepEqual(await idsIn(archive), archive.ids);
  });

  it('exports text calls of several accounts', async () => {
    const owners = [await room.newCaller(), await room.newCaller()];
    const created = [];
    for (const owner of owners) created.push(...(await createOldCalls(room, process, owner, 51)));

    assert.equal(await calls.prune({ store, pageBlocks: 1 }), 102);

    const archives = await room.rows<{ key: string; size: bigint }>(
      'SELECT object_key AS key, size_bytes AS size FROM text_call_archives',
    );
    assert.ok(archives.length > 1);
    const archived = (await Promise.all(archives.map((archive) => idsIn(archive)))).flat();
    assert.deepEqual(archived.toSorted(), created.map(({ id }) => id).toSorted());
    const [left] = await room.rows<{ count: bigint }>('SELECT count(*) FROM text_calls');
    assert.equal(left?.count, 0n);
  });

  it('deletes nothing while the server is away, and continues with another that has the bucket', async () => {
    const away = await startS3Server(BUCKET);
    const lost = await openStore({ storeUrl: `s3://${BUCKET}`, s3: away });
    await away.stop();
    const caller = await room.newCaller();
    await createOldTask(room, caller);
    await createOldCalls(room, process, caller, 2);

    await assert.rejects(tasks.prune({ store: lost }), StoreUnavailableError);
    await assert.rejects(calls.prune({ store: lost }), StoreUnavailableError);

    await lost.close();
    assert.equal(await tasks.prune({ store }), 1);
    assert.equal(await calls.prune({ store }), 2);
  });
});
