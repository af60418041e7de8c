/** Pruning: what goes, what stays, and that neither money nor keys change by it (docs/decisions/0026). */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { verifyLedger } from '../../src/billing/verify.ts';
import { settle } from '../../src/billing/ledger.ts';
import { UniqueViolationError } from '../../src/database/database.ts';
import type { Caller } from '../../src/accounts/authenticate.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { createTaskLister } from '../../src/tasks/listing/list.ts';
import { cancelTask } from '../../src/tasks/lifecycle/cancel.ts';
import { eraseTask } from '../../src/tasks/lifecycle/erase.ts';
import { redeliverCallback } from '../../src/tasks/lifecycle/callback.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { readTaskInput } from '../../src/tasks/record/input-objects.ts';
import { TaskPrunedError, readTask } from '../../src/tasks/record/read.ts';
import { readTimeline } from '../../src/tasks/record/timeline.ts';
import { RETENTION_DAYS, createOldTask, openPruningRoom } from './old-tasks.ts';
import type { PruningRoom } from './old-tasks.ts';
import { PRICE, body, openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

const DAY_MS = 86_400_000;
/** Every table with rows of tasks that are pruned with them. */
const TABLES = [
  'tasks',
  'task_events',
  'task_metadata',
  'outputs',
  'generations',
  'callbacks',
  'callback_attempts',
  'task_inputs',
  'provider_hooks',
];

let room: TaskRoom;
let pruning: PruningRoom;
before(async () => {
  room = await openTaskRoom();
  pruning = await openPruningRoom(room);
});
beforeEach(() => pruning.beginRound());
after(async () => {
  assert.deepEqual(await verifyLedger(room.database), []);
  await pruning.close();
  await room.close();
});

async function tablesWith(taskId: TaskId): Promise<readonly string[]> {
  const counts = await Promise.all(
    TABLES.map(async (table) => {
      const column = table === 'tasks' ? 'id' : 'task_id';
      const [row] = await room.rows<{ count: bigint }>(`SELECT count(*) FROM ${table} WHERE ${column} = $1`, taskId);
      return row?.count === 0n ? [] : [table];
    }),
  );
  return counts.flat();
}

async function prunedIds(caller: Caller): Promise<readonly string[]> {
  const rows = await room.rows<{ id: string }>(
    'SELECT task_id AS id FROM pruned_tasks WHERE account_id = $1 ORDER BY created_at, task_id',
    caller.accountId,
  );
  return rows.map(({ id }) => id);
}

describe('a pruned task', () => {
  // Proves C4-19, C4-20.
  it('is in the archive with all its rows, and in no other table than the narrow one and those of money', async () => {
    const caller = await room.newCaller();
    const taskId = await createOldTask(room, caller, { key: 'old' });
    await room.rows(
      `INSERT INTO generations (task_id, upstream, state, files) VALUES ($1, 'local', 'produced', '[]')`,
      taskId,
    );
    await room.rows(`INSERT INTO task_inputs (task_id, object_key) VALUES ($1, 'files/a')`, taskId);
    await room.rows(`INSERT INTO provider_hooks (task_id, upstream) VALUES ($1, 'local')`, taskId);
    assert.deepEqual(await tablesWith(taskId), TABLES);
    const before = await room.account(caller);

    assert.equal(await pruning.prune(), 1);

    assert.deepEqual(await tablesWith(taskId), []);
    const [archive] = await room.rows<{ key: string; tasks: number; size: bigint }>(
      `SELECT a.object_key AS key, a.tasks, a.size_bytes AS size
         FROM pruned_tasks p JOIN task_archives a ON a.id = p.archive_id WHERE p.task_id = $1`,
      taskId,
    );
    assert.ok(archive);
    assert.match(
      archive.key,
      new RegExp(`^archive/tasks/${caller.accountId}/\\d{4}-\\d{2}/${taskId}-[0-9a-f]{16}.ndjson.gz$`),
    );
    assert.deepEqual([archive.tasks, archive.size], [1, BigInt((await pruning.store.head(archive.key)).sizeBytes)]);
    const [line, ...others] = await pruning.linesOf(archive.key);
    assert.deepEqual(others, []);
    assert.equal(line?.format, 1);
    const { id, model, metadata, idempotency_key: key } = line.task;
    assert.deepEqual([id, model, metadata, key], [taskId, 'acme/images', { project: 'north' }, 'old']);
    assert.deepEqual(
      line.events.map(({ seq, type }) => [seq, type]),
      [
        [1, 'accepted'],
        [2, 'archived'],
        [3, 'settled'],
      ],
    );
    assert.equal(line.outputs[0]?.['object_key'], `outputs/${taskId}`);
    assert.equal(line.callback?.['url'], 'https://example.com/hook');
    assert.equal(line.callbackAttempts[0]?.['http_status'], 204);
    assert.deepEqual(await room.account(caller), before);
    assert.deepEqual(await verifyLedger(room.database), []);
  });

  // Proves C4-19.
  it('ended before the retention began, not at that moment', async () => {
    const now = Date.now();
    const caller = await room.newCaller();
    const since = now - RETENTION_DAYS * DAY_MS;
    const [older, exact, younger] = await Promise.all(
      [-1, 0, 1].map((ms) => createOldTask(room, caller, { endedAt: since + ms })),
    );
    assert.ok(older && exact && younger);

    assert.equal(await pruning.prune({ now }), 1);

    assert.deepEqual(await prunedIds(caller), [older]);
    assert.equal((await readTask(room.database, exact)).id, exact);
    assert.equal((await readTask(room.database, younger)).id, younger);
  });

  // Proves C4-21.
  it('is reported with its dates to its owner, and unknown to others', async () => {
    const caller = await room.newCaller();
    const other = await room.newCaller();
    const endedAt = Date.parse('2026-01-02T03:04:05Z');
    const taskId = await createOldTask(room, caller, { endedAt });
    await pruning.prune();

    const attempts = (accountId: string): readonly (() => Promise<unknown>)[] => [
      () => readTask(room.database, taskId, accountId),
      () => readTaskInput(room.database, taskId, accountId),
      () => readTimeline(room.database, taskId, accountId, 0),
      () => cancelTask(room.database, accountId, taskId, 7),
      () => eraseTask(room.database, accountId, taskId, Date.now()),
      () => redeliverCallback(room.database, accountId, taskId),
    ];
    for (const attempt of attempts(caller.accountId)) {
      await assert.rejects(attempt(), (error) => {
        assert.ok(error instanceof TaskPrunedError);
        assert.match(
          error.message,
          /created at 2026-01-02T03:04:04Z, ended at 2026-01-02T03:04:05Z and was removed at/,
        );
        return error.dates.completedAt.getTime() === endedAt && error.kind === 'task_pruned';
      });
    }
    for (const attempt of attempts(other.accountId)) {
      await assert.rejects(attempt(), { name: 'TaskNotFoundError', kind: 'not_found' });
    }
    const { accountId } = caller;
    const lister = createTaskLister(room.database, Date.now);
    const list = await lister.list({ accountId, filter: {}, offset: 0, size: 10 });
    assert.deepEqual(list, { tasks: [], total: 0, isCapped: false, next: undefined });
  });

  // Proves C4-22.
  it('keeps its key: the same request is a replay, another one a mismatch, and neither costs anything', async () => {
    const caller = await room.newCaller();
    const request = { input: { prompt: 'the first' } };
    const taskId = await createOldTask(room, caller, { key: 'for-ever', request });
    await pruning.prune();
    const before = await room.account(caller);
    const sent = body({ metadata: { project: 'north' }, callback: { url: 'https://example.com/hook' }, ...request });
    const many = (key: string, what: Record<string, unknown>) =>
      room.creator.createMany(
        caller,
        [{ body: what, idempotencyKey: key }],
        () => Promise.resolve(0),
        () => Promise.resolve(),
      );

    const exhausted = { take: () => Promise.resolve(7), giveBack: () => undefined };
    const replays = await Promise.all([
      room.creator.create(caller, sent, 'for-ever'),
      room.creator.create(caller, sent, 'for-ever', exhausted),
      room.creator.create({ ...caller, models: new Set(['acme/other']) }, sent, 'for-ever'),
      room.creator.create({ ...caller, spendCapIds: ['a-cap'] }, sent, 'for-ever'),
    ]);
    const [together] = await many('for-ever', sent);

    for (const replay of [...replays, together]) assert.deepEqual(replay, { taskId, isReplay: true });
    await assert.rejects(room.creator.create(caller, body(), 'for-ever'), { name: 'IdempotencyMismatchError' });
    const [outcome] = await many('for-ever', body());
    assert.equal(outcome instanceof Error && outcome.name, 'IdempotencyMismatchError');
    assert.deepEqual(await tablesWith(taskId), []);
    assert.deepEqual(await room.account(caller), before);
    // The same key of another account, and another key, are not affected.
    const other = await room.newCaller();
    assert.equal((await room.creator.create(other, sent, 'for-ever')).isReplay, false);
    assert.equal((await room.creator.create(caller, sent, 'another')).isReplay, false);
  });

  it('is found by creates that come while it is pruned', async () => {
    const caller = await room.newCaller();
    const keys = Array.from({ length: 40 }, (_, index) => `race-${index}`);
    const ids = await Promise.all(
      keys.map((key) => createOldTask(room, caller, { key, request: { input: { prompt: key } } })),
    );
    const sent = (key: string) =>
      body({ metadata: { project: 'north' }, callback: { url: 'https://example.com/hook' }, input: { prompt: key } });

    const [pruned, ...replays] = await Promise.all([
      pruning.prune({ pageSize: 1 }),
      ...Array.from({ length: 5 }, async () => {
        const found = [];
        for (const key of keys) found.push(await room.creator.create(caller, sent(key), key));
        return found;
      }),
    ]);

    assert.equal(pruned, 40);
    for (const found of replays)
      assert.deepEqual(
        found,
        ids.map((taskId) => ({ taskId, isReplay: true })),
      );
  });

  it('is not created a second time if what remains of it is missing', async () => {
    const caller = await room.newCaller();
    const taskId = await createOldTask(room, caller, { key: 'missing' });
    await pruning.prune();
    const before = await room.account(caller);
    await room.rows(`UPDATE pruned_tasks SET task_id = 'hidden' WHERE task_id = $1`, taskId);

    await assert.rejects(room.creator.create(caller, body(), 'missing'), /is no task, and rows of it are there/);

    await room.rows(`UPDATE pruned_tasks SET task_id = $1 WHERE task_id = 'hidden'`, taskId);
    assert.deepEqual(await room.account(caller), before);
    assert.deepEqual(await tablesWith(taskId), []);
  });

  // Proves C4-23.
  it('cannot be settled again: neither its workflow nor an entry of its own can move money', async () => {
    const caller = await room.newCaller();
    const taskId = await createOldTask(room, caller);
    await pruning.prune();
    // What is on hold for this one would pay for the other.
    await room.creator.create(caller, body(), undefined);
    const before = await room.account(caller);

    const verdict = { status: 'fail', reason: 'terminated' } as const;
    assert.equal(await settleTask(room.database, taskId, verdict, { retentionDays: 7 }), undefined);
    for (const capturedMicroUsd of [0n, PRICE]) {
      const { accountId, keyId } = caller;
      const amounts = { heldMicroUsd: PRICE, capturedMicroUsd };
      const settlement = { keyId, reference: taskId, model: 'acme/images', occupied: 'queued', ...amounts } as const;
      const late = room.database.transaction((transaction) => settle(transaction, accountId, [settlement]));
      await assert.rejects(late, UniqueViolationError);
    }

    assert.deepEqual(await room.account(caller), before);
  });
});

describe('a task that ended long ago', () => {
  /** What keeps a task, as a change to the database, and what ends it. */
  const REASONS: Readonly<Record<string, readonly [keep: string, release: string]>> = {
    'is still delivered': [
      `UPDATE callbacks SET state = 'pending' WHERE task_id = $1`,
      `UPDATE callbacks SET state = 'exhausted' WHERE task_id = $1`,
    ],
    'has a stored output': [
      `UPDATE outputs SET gone_at = NULL, gone_reason = NULL, bytes_deleted_at = NULL, storage_tier = 'persistent'
        WHERE task_id = $1`,
      `UPDATE outputs SET gone_at = now(), gone_reason = 'deleted', bytes_deleted_at = now() WHERE task_id = $1`,
    ],
    'has an output whose bytes are not deleted yet': [
      'UPDATE outputs SET bytes_deleted_at = NULL WHERE task_id = $1',
      'UPDATE outputs SET bytes_deleted_at = now() WHERE task_id = $1',
    ],
    'has its input': [`UPDATE tasks SET input = '{}' WHERE id = $1`, 'UPDATE tasks SET input = NULL WHERE id = $1'],
    'is a line of an open batch': [
      `WITH batch AS (
         INSERT INTO batches (id, account_id, key_id, endpoint, completion_window, input_file_id, input_object_key,
                              input_bytes, output_kept_seconds, status, created_at, expires_at)
         SELECT 'batch_open', account_id, key_id, '/v1/tasks', '24h', 'file-1', 'files/1', 1, 1, 'in_progress', now(),
                now() FROM tasks WHERE id = $1)
       UPDATE tasks SET batch_id = 'batch_open' WHERE id = $1`,
      `WITH task AS (SELECT $1::text)
       UPDATE batches SET status = 'completed', ended_at = now() WHERE id = 'batch_open'`,
    ],
    'has work in the outbox': [
      `INSERT INTO outbox (kind, account_id, subject_id, is_ready, due_at)
       SELECT 'stop_generation', account_id, id, true, 'infinity' FROM tasks WHERE id = $1`,
      'DELETE FROM outbox WHERE subject_id = $1',
    ],
    'has a slot at an upstream': [
      `INSERT INTO upstream_slots (upstream, task_id) VALUES ('local', $1)`,
      'DELETE FROM upstream_slots WHERE task_id = $1',
    ],
    'is awaited by a request': [
      `INSERT INTO awaited_responses (task_id, account_id, key_id, fingerprint)
       SELECT id, account_id, key_id, fingerprint FROM tasks WHERE id = $1`,
      'DELETE FROM awaited_responses WHERE task_id = $1',
    ],
  };

  for (const [reason, [keep, release]] of Object.entries(REASONS)) {
    // Proves C4-19.
    it(`stays while it ${reason}`, async () => {
      const caller = await room.newCaller();
      const taskId = await createOldTask(room, caller);
      await room.rows(keep, taskId);

      await pruning.prune();
      assert.deepEqual(await prunedIds(caller), []);

      await room.rows(release, taskId);
      await pruning.beginRound();
      await pruning.prune();
      assert.deepEqual(await prunedIds(caller), [taskId]);
    });
  }

  it('is exported with its input where inputs are retained for ever', async () => {
    const caller = await room.newCaller();
    const taskId = await createOldTask(room, caller);
    await room.rows(`UPDATE tasks SET input = '{"prompt": "a fox"}' WHERE id = $1`, taskId);

    assert.equal(await pruning.prune({ keepsInputs: true }), 1);

    const [archive] = await room.rows<{ key: string }>(
      'SELECT object_key AS key FROM task_archives WHERE account_id = $1',
      caller.accountId,
    );
    const [line] = await pruning.linesOf(archive?.key ?? '');
    assert.deepEqual(line?.task['input'], { prompt: 'a fox' });
  });

  it('stays while it is open, whatever its age', async () => {
    const caller = await room.newCaller();
    const { taskId } = await room.creator.create(caller, body(), undefined);
    await room.rows(`UPDATE tasks SET created_at = now() - interval '1 year' WHERE id = $1`, taskId);

    assert.equal(await pruning.prune({ keepsInputs: true }), 0);

    assert.equal((await readTask(room.database, taskId)).status, 'queued');
  });
});
