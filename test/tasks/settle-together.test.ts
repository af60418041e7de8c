/**
 * Settlements of one account share a transaction: each task still ends as if it had been settled by itself, and what
 * is wrong with one keeps no other from ending.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { createKey } from '../../src/accounts/keys.ts';
import { SCOPES } from '@darkroom/api/facts/scopes';
import { verifyLedger } from '../../src/billing/verify.ts';
import { DatabaseUnavailableError, LockTimeoutError, UniqueViolationError } from '../../src/database/database.ts';
import type { Database } from '../../src/database/database.ts';
import type { ArchivedOutput } from '../../src/domain/run-record.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { ACTIVITIES_WAIT, createAccountDatabase } from '../../src/limits/row-databases.ts';
import { createSettler } from '../../src/tasks/lifecycle/settle-queue.ts';
import type { Settler, SettlerOptions } from '../../src/tasks/lifecycle/settle-queue.ts';
import { settleTask, settleTogether } from '../../src/tasks/lifecycle/settle.ts';
import type { Ending, Verdict } from '../../src/tasks/lifecycle/settle.ts';
import { beginHandling } from '../../src/tasks/lifecycle/transitions.ts';
import { recordFiles } from '../../src/tasks/lifecycle/generations.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import type { SettledTask } from '../../src/telemetry/metrics-work.ts';
import { lockRows } from '../support/locked-rows.ts';
import { PRICE, body, openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

const RETENTION = { retentionDays: 7 };
/** As test/support/test-database.ts opens it. */
const POOL_SIZE = 10;
const GIGABYTE = 1_000_000_000;
const UPSTREAM = { upstreamName: 'acme', upstreamIndex: 0, label: 1 };

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom();
});
after(async () => {
  assert.deepEqual(await verifyLedger(room.database), []);
  await room.close();
});

async function createTask(caller: Caller, changes: Record<string, unknown> = {}): Promise<TaskId> {
  return (await room.creator.create(caller, body(changes), undefined)).taskId;
}

async function createTasks(caller: Caller, count: number): Promise<readonly TaskId[]> {
  const taskIds: TaskId[] = [];
  for (let index = 0; index < count; index++) taskIds.push(await createTask(caller));
  return taskIds;
}

function success(index: number, capturedMicroUsd: bigint, sizeBytes = 1_000): Verdict {
  const output: ArchivedOutput = {
    type: 'image',
    objectKey: `outputs/together-${index}`,
    mimeType: 'image/png',
    sizeBytes,
    sha256: 'ab'.repeat(32),
    width: 10,
    height: 20,
  };
  return { status: 'success', outputs: [output, { ...output, objectKey: `${output.objectKey}-b` }], capturedMicroUsd };
}

const CALLBACK = { callback: { url: 'https://example.com/hook' } };
/** Every kind of end, with what the task is created with. */
const ENDS: readonly (readonly [changes: Record<string, unknown>, verdict: Verdict])[] = [
  [CALLBACK, success(1, 4_000n)],
  [{ storage: 'persistent' }, success(2, PRICE, GIGABYTE)],
  [{ storage: 'persistent' }, success(3, 2n * PRICE, 100_000 * GIGABYTE)],
  [{}, { status: 'fail', reason: 'no_output' }],
  [CALLBACK, { status: 'fail', reason: 'cancelled', capturedMicroUsd: 7n }],
  [{}, success(4, 0n)],
];

/** Tasks that end in every way, in the order of `ENDS`, and one that was never launched. */
async function endingsOf(caller: Caller): Promise<readonly Ending[]> {
  const endings: Ending[] = [];
  for (const [changes, verdict] of ENDS) endings.push({ taskId: await createTask(caller, changes), verdict });
  await claimOutbox(room.database, 1_000);
  for (const { taskId, verdict } of endings) {
    if (verdict.status !== 'fail' || verdict.reason !== 'no_output') continue;
    const { task } = await beginHandling(room.database, taskId, 60);
    await recordFiles(room.database, task, UPSTREAM, [{ key: 'k', sizeBytes: 1, sha256: 'ab'.repeat(32) }]);
  }
  return [...endings, { taskId: await createTask(caller, CALLBACK), verdict: { status: 'fail', reason: 'cancelled' } }];
}

/** All that is recorded of the tasks of an account, without names and times: the tasks are numbered. */
async function recordedOf(caller: Caller, endings: readonly Ending[]): Promise<unknown> {
  const numbers = new Map<unknown, number>(endings.map(({ taskId }, index) => [taskId, index]));
  const read = async (columns: string, from: string): Promise<unknown> => {
    const text = `SELECT ${columns} FROM ${from} WHERE account_id = $1`;
    const rows = await room.rows(text, caller.accountId);
    return rows
      .map(({ task, ...row }) => ({ task: numbers.get(task), ...row }))
      .toSorted((a, b) => (JSON.stringify(a, textOf) < JSON.stringify(b, textOf) ? -1 : 1));
  };
  const ofTasks = (table: string): string => `${table} r JOIN (SELECT id, account_id FROM tasks) t ON t.id = r.task_id`;
  const { availableMicroUsd, heldMicroUsd, queued, running, persistentBytes } = await room.account(caller);
  return {
    counters: { availableMicroUsd, heldMicroUsd, queued, running, persistentBytes },
    tasks: await read(
      'id AS task, status, error_reason, captured_micro_usd, storage, completed_at IS NOT NULL AS ended',
      'tasks',
    ),
    outputs: await read(
      'task_id AS task, position, object_key, size_bytes, storage_tier, model, retain_until IS NULL AS kept',
      'outputs',
    ),
    events: await read('r.task_id AS task, seq, type, detail', ofTasks('task_events')),
    callbacks: await read('task_id AS task, state', 'callbacks'),
    outbox: await read('subject_id AS task, kind, is_ready', 'outbox'),
    costs: await read('task_id AS task, upstream, captured_micro_usd, cost_micro_usd, source', 'task_costs'),
    operatorCosts: await read('r.task_id AS task, upstream, reason, at_most_micro_usd', ofTasks('operator_costs')),
    entries: await read('reference AS task, kind, amount_micro_usd', 'ledger_entries'),
  };
}

function textOf(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}` : value;
}

/** Collects settlements until the first transaction of the account may begin. */
function gatedSettler(options: Partial<SettlerOptions> = {}): { readonly settler: Settler; open(): void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const database: Database = {
    ...room.database,
    async transaction(work) {
      await opened;
      return room.database.transaction(work);
    },
  };
  const settler = createSettler({ accountDatabase: () => database, ...RETENTION, ...options });
  return { settler, open };
}

/** @returns it, and how many transactions were begun on it. */
function failingDatabase(error: Error): { readonly database: Database; readonly transactions: () => number } {
  let count = 0;
  const database: Database = {
    ...room.database,
    transaction() {
      count += 1;
      return Promise.reject(error);
    },
  };
  return { database, transactions: () => count };
}

const successesOf = (taskIds: readonly TaskId[]): readonly Ending[] =>
  taskIds.map((taskId, index) => ({ taskId, verdict: success(index, 1n) }));

/** Begins to settle all of them at the same moment, each as a success. */
function settleAtOnce(settler: Settler, caller: Caller, taskIds: readonly TaskId[]) {
  return taskIds.map((taskId, index) => settler.settle(taskId, caller.accountId, success(index, 1n)));
}

async function settleAll(taskIds: readonly TaskId[]): Promise<void> {
  for (const { taskId, verdict } of successesOf(taskIds)) await settleTask(room.database, taskId, verdict, RETENTION);
}

describe('tasks that are settled together', () => {
  // Proves C3-32, C7-35, C7-39.
  it('end as they do one after the other', async () => {
    const [caller, other] = [await room.newCaller(), await room.newCaller()];
    const [endings, others] = [await endingsOf(caller), await endingsOf(other)];

    const outcomes = await settleTogether(room.database, endings, RETENTION);
    const singly = new Map<TaskId, unknown>();
    const inOrder = others.toSorted((a, b) => (a.taskId < b.taskId ? -1 : 1));
    for (const { taskId, verdict } of inOrder) {
      singly.set(taskId, await settleTask(room.database, taskId, verdict, RETENTION));
    }

    assert.deepEqual(
      endings.map(({ taskId }) => outcomes.get(taskId)),
      others.map(({ taskId }) => singly.get(taskId)),
    );
    assert.deepEqual(await recordedOf(caller, endings), await recordedOf(other, others));
  });

  // Proves C7-39.
  it('leave ledger entries that each have the balances after it', async () => {
    const caller = await room.newCaller();
    const endings = await endingsOf(caller);
    await settleTogether(room.database, endings, RETENTION);

    const entries = await room.rows<{ kind: string; amount: bigint; available: bigint; held: bigint }>(
      `SELECT kind, amount_micro_usd AS amount, available_after_micro_usd AS available, held_after_micro_usd AS held
         FROM ledger_entries WHERE account_id = $1 ORDER BY id`,
      caller.accountId,
    );

    let [available, held] = [0n, 0n];
    for (const { kind, amount, ...after } of entries) {
      if (kind === 'topup' || kind === 'release') available += amount;
      if (kind === 'hold') [available, held] = [available - amount, held + amount];
      if (kind === 'capture' || kind === 'release') held -= amount;
      assert.deepEqual(after, { available, held });
    }
    assert.equal(held, 0n);
    assert.equal((await room.account(caller)).availableMicroUsd, available);
  });

  it('are not settled again where one has ended already: it keeps its outcome', async () => {
    const caller = await room.newCaller();
    const taskIds = await createTasks(caller, 3);
    const [, ended = assert.fail()] = taskIds;
    await settleTask(room.database, ended, { status: 'fail', reason: 'cancelled' }, RETENTION);

    const outcomes = await settleTogether(room.database, successesOf(taskIds), RETENTION);

    assert.deepEqual(
      taskIds.map((taskId) => outcomes.get(taskId)),
      [
        { status: 'success', reason: null },
        { status: 'fail', reason: 'cancelled' },
        { status: 'success', reason: null },
      ],
    );
    assert.equal((await room.account(caller)).heldMicroUsd, 0n);
  });

  it('of several accounts are rejected, and stay as they are', async () => {
    const callers = [await room.newCaller(), await room.newCaller()];
    const taskIds = (await Promise.all(callers.map((caller) => createTasks(caller, 1)))).flat();

    await assert.rejects(settleTogether(room.database, successesOf(taskIds), RETENTION), /tasks of several accounts/);

    for (const caller of callers) assert.equal((await room.account(caller)).heldMicroUsd, PRICE);
  });

  it('release the caps of their keys', async () => {
    const caller = await room.newCaller();
    const spendCaps = { totalMicroUsd: 100n * PRICE };
    const key = await createKey(room.database, caller.accountId, { name: 'capped', scopes: SCOPES, spendCaps });
    const taskIds = await createTasks({ ...caller, keyId: key.id, spendCapIds: [key.id] }, 3);

    const endings = taskIds.map((taskId, index) => ({ taskId, verdict: success(index, 1_000n) }));
    await settleTogether(room.database, endings, RETENTION);

    const spent = await room.rows('SELECT spent_micro_usd AS spent FROM spend_periods WHERE cap_id = $1', key.id);
    assert.deepEqual(spent, [{ spent: 3_000n }, { spent: 3_000n }]);
  });
});

describe('settlements of one account that arrive at the same time', () => {
  it('share transactions, of at most 50 tasks each', async () => {
    const caller = await room.newCaller({ queueCap: 1_000 });
    const taskIds = await createTasks(caller, 121);
    const settled: SettledTask[] = [];
    const { settler, open } = gatedSettler({ onSettled: (task) => settled.push(task) });
    const outcomes = settleAtOnce(settler, caller, taskIds);
    open();

    for (const outcome of await Promise.all(outcomes)) assert.deepEqual(outcome, { status: 'success', reason: null });

    const sizes = await room.rows<{ tasks: number }>(
      'SELECT count(*)::int AS tasks FROM tasks WHERE account_id = $1 GROUP BY completed_at ORDER BY completed_at',
      caller.accountId,
    );
    assert.deepEqual(
      sizes.map(({ tasks }) => tasks),
      [1, 50, 50, 20],
    );
    assert.equal(settled.length, 121);
    const account = await room.account(caller);
    assert.deepEqual([account.heldMicroUsd, account.queued, account.running], [0n, 0, 0]);
  });

  it('settle a task once that is among them twice, and both get its outcome', async () => {
    const caller = await room.newCaller();
    const [before, twice] = [await createTask(caller), await createTask(caller)];
    const { settler, open } = gatedSettler();
    const outcomes = [
      settler.settle(before, caller.accountId, success(0, 1n)),
      settler.settle(twice, caller.accountId, { status: 'fail', reason: 'cancelled' }),
      settler.settle(twice, caller.accountId, success(1, 1n)),
    ];
    open();

    const [, ...ofTwice] = await Promise.all(outcomes);

    assert.deepEqual(ofTwice, [
      { status: 'fail', reason: 'cancelled' },
      { status: 'fail', reason: 'cancelled' },
    ]);
  });

  it('end although one of them cannot', async () => {
    const caller = await room.newCaller();
    const taskIds = await createTasks(caller, 4);
    const [, , broken = assert.fail()] = taskIds;
    // A release that must not be there: the ledger rejects a second one.
    await room.rows(
      `INSERT INTO ledger_entries (account_id, kind, reference, amount_micro_usd, key_id, model,
                                   available_after_micro_usd, held_after_micro_usd)
       VALUES ($1, 'release', $2, 0, $3, 'acme/images', 0, 0)`,
      caller.accountId,
      broken,
      caller.keyId,
    );
    const { settler, open } = gatedSettler();
    const outcomes = settleAtOnce(settler, caller, taskIds);
    open();

    const results = await Promise.allSettled(outcomes);

    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
    );
    const [, , failure] = results;
    assert.ok(failure?.status === 'rejected' && failure.reason instanceof UniqueViolationError);
    assert.equal((await room.account(caller)).heldMicroUsd, PRICE);
    await room.rows('ALTER TABLE ledger_entries DISABLE TRIGGER USER');
    await room.rows(`DELETE FROM ledger_entries WHERE reference = $1 AND kind = 'release'`, broken);
    await room.rows('ALTER TABLE ledger_entries ENABLE TRIGGER USER');
    assert.ok(await settleTask(room.database, broken, success(9, 1n), RETENTION));
  });

  it('end although the row of one of them stays locked', async (t) => {
    const caller = await room.newCaller();
    const taskIds = await createTasks(caller, 4);
    const [, locked = assert.fail()] = taskIds;
    const operator = await lockRows(room.url, 'SELECT FROM tasks WHERE id = $1 FOR UPDATE', locked);
    t.after(() => operator.release());
    const accountDatabase = createAccountDatabase(room.database, POOL_SIZE, ACTIVITIES_WAIT);
    const settler = createSettler({ accountDatabase, ...RETENTION });

    const results = await Promise.allSettled(settleAtOnce(settler, caller, taskIds));

    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
    );
    await operator.release();
    assert.ok(await settler.settle(locked, caller.accountId, success(1, 1n)));
    assert.equal((await room.account(caller)).heldMicroUsd, 0n);
  });

  it('all fail after three waits where the row of the account stays locked', async () => {
    const caller = await room.newCaller();
    const taskIds = await createTasks(caller, 9);
    const { database, transactions } = failingDatabase(new LockTimeoutError('another transaction'));
    const settler = createSettler({ accountDatabase: () => database, ...RETENTION });

    const results = await Promise.allSettled(settleAtOnce(settler, caller, taskIds));

    assert.ok(results.every(({ status }) => status === 'rejected'));
    assert.equal(transactions(), 1 + 3, 'the first alone, all others, and two of them');
    await settleAll(taskIds);
  });

  it('all fail, and are not tried one by one, where the database is unavailable', async () => {
    const caller = await room.newCaller();
    const taskIds = await createTasks(caller, 5);
    const { database, transactions } = failingDatabase(new DatabaseUnavailableError('the connection was lost'));
    const settler = createSettler({ accountDatabase: () => database, ...RETENTION });

    const results = await Promise.allSettled(settleAtOnce(settler, caller, taskIds));

    assert.ok(results.every(({ status }) => status === 'rejected'));
    assert.equal(transactions(), 2);
    assert.equal((await room.account(caller)).heldMicroUsd, 5n * PRICE);
    await settleAll(taskIds);
  });

  it('of a task that does not exist resolve to nothing', async () => {
    const caller = await room.newCaller();
    const { settler, open } = gatedSettler();
    open();
    const unknown = settler.settle('tk-svc-none', caller.accountId, success(0, 1n));
    assert.equal(await unknown, undefined);
  });
});
