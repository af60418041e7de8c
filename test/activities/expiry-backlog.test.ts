/** An expiry pass with more rows than it has time for: the next pass continues, and the repair is not delayed by it. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { asyncLocalStorage } from '@temporalio/activity';
import type { Context } from '@temporalio/activity';
import type { ActivityContext } from '../../activities/context.ts';
import { createExpireOutputs } from '../../activities/expire-outputs.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import type { ExpireResult } from '../../workflows/contracts.ts';
import { parseExposition } from '../telemetry/exposition.ts';
import { createOldTask } from '../tasks/old-tasks.ts';
import { openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { createOldCalls, openCallPruningRoom } from '../text/money/old-calls.ts';
import { openTextProcess } from '../text/money/text-processes.ts';

/** More than one statement expires at once. */
const UPLOADS = 700;

const CONFIG = { urls: { lifetimeSeconds: 60 }, inputRetentionDays: 0, taskRetentionDays: 0, textCallRetentionDays: 0 };

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom();
});
after(() => room.close());

function pass(passMs: number, changes: object = {}): Promise<ExpireResult> {
  const context = {
    config: CONFIG,
    database: room.database,
    clock: { read: () => Promise.resolve(Date.now()) },
    metrics: createMetrics(),
    logger: silentLogger(),
    stopping: new AbortController().signal,
    ...changes,
  } as unknown as ActivityContext;
  const running = { cancellationSignal: new AbortController().signal } as unknown as Context;
  return asyncLocalStorage.run(running, () => createExpireOutputs(context, passMs)());
}

it('deletes batches that ended more than 30 days ago', async () => {
  const { accountId, keyId } = await room.newCaller();
  await room.rows(
    `INSERT INTO batches (id, account_id, key_id, endpoint, completion_window, input_file_id, input_object_key,
                          input_bytes, output_kept_seconds, status, created_at, expires_at, ended_at)
     SELECT 'batch_' || days, $1, $2, '/v1/tasks', '24h', 'file-1', 'files/1', 1, 1, 'failed', now(), now(),
            now() - make_interval(days => days)
       FROM unnest(ARRAY[29, 31]) days`,
    accountId,
    keyId,
  );

  await pass(60_000);

  const left = await room.rows('SELECT id FROM batches WHERE account_id = $1', accountId);
  assert.deepEqual(left, [{ id: 'batch_29' }]);
});

it('ends when its time budget is used up, and leaves the rest to the next run', async () => {
  const { accountId } = await room.newCaller();
  await room.rows(
    `INSERT INTO files (id, account_id, object_key, mime_type, size_bytes, sha256, created_at, expires_at)
     SELECT 'file_' || n, $1, 'files/' || n, 'image/png', 1, repeat('0', 64), now() - interval '9 days', now() - interval '2 days'
       FROM generate_series(1, $2::integer) n RETURNING id`,
    accountId,
    UPLOADS,
  );

  const first = await pass(0);
  const second = await pass(60_000);

  assert.deepEqual([first.files, second.files], [500, UPLOADS - 500]);
});

it('deletes rows of files whose bytes were deleted more than 30 days ago, and no others', async () => {
  const { accountId } = await room.newCaller();
  const metrics = createMetrics();
  await room.rows(
    `INSERT INTO files (id, account_id, object_key, mime_type, size_bytes, sha256, created_at, expires_at, gone_at,
                        bytes_deleted_at)
     SELECT 'gone_' || n, $1, 'gone/' || n, 'image/png', 1, '', now() - interval '90 days', now() - interval '80 days',
            now() - interval '80 days', CASE WHEN n > 2 THEN now() - make_interval(days => 30, mins => n) END
       FROM generate_series(1, 553) n WHERE n <> 2`,
    accountId,
  );
  await room.rows(`UPDATE files SET bytes_deleted_at = now() - interval '29.99 days' WHERE id = 'gone_3'`);

  const first = await pass(0, { metrics });
  const [{ files }, others] = await Promise.all([pass(60_000, { metrics }), pass(60_000, { metrics })]);

  assert.deepEqual([first.files, files + others.files], [500, 50]);
  const left = await room.rows('SELECT id FROM files WHERE account_id = $1 ORDER BY id', accountId);
  assert.deepEqual(left, [{ id: 'gone_1' }, { id: 'gone_3' }]);
  const counted = parseExposition(await metrics.registry.metrics());
  assert.equal(counted.value('darkroom_pruned_total', { kind: 'files' }), 550);
});

it('prunes text calls and tasks only if a retention is set, each with its own, and counts them', async () => {
  const pruning = await openCallPruningRoom(room);
  const metrics = createMetrics();
  const process = await openTextProcess(room);
  const caller = await room.newCaller();
  await createOldCalls(room, process, caller, 2);
  await process.close();
  await createOldTask(room, caller);
  const settings = { store: pruning.store, accountDatabase: () => room.database, metrics };

  const counts = [];
  for (const config of [{}, { textCallRetentionDays: 32 }, { taskRetentionDays: 30 }, { textCallRetentionDays: 30 }]) {
    await pruning.beginRound();
    const { textCalls, tasks } = await pass(0, { ...settings, config: { ...CONFIG, ...config } });
    counts.push([textCalls, tasks]);
  }

  assert.deepEqual(counts, [
    [0, 0],
    [0, 0],
    [0, 1],
    [2, 0],
  ]);
  const counted = parseExposition(await metrics.registry.metrics());
  assert.equal(counted.value('darkroom_pruned_total', { kind: 'tasks' }), 1);
  assert.equal(counted.value('darkroom_pruned_total', { kind: 'text_calls' }), 2);
  await pruning.close();
});
