/** Old text calls are exported and deleted, and nothing that is computed from calls changes by it. */
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import type { Caller } from '../../../src/accounts/authenticate.ts';
import { listLedger } from '../../../src/billing/ledger-list.ts';
import { readExceededHolds } from '../../../src/billing/operator-costs.ts';
import { verifyLedger } from '../../../src/billing/verify.ts';
import { isOurKey, listUnnamedKeys } from '../../../src/objects/outputs/sweep.ts';
import { StoreUnavailableError } from '../../../src/objects/stores/object-store.ts';
import { moveTextMoney } from '../../../src/text/money/move.ts';
import type { NewTextCall } from '../../../src/text/money/move.ts';
import { storeWith } from '../../tasks/old-tasks.ts';
import { openTaskRoom } from '../../tasks/task-room.ts';
import { pruneUntilKilled } from '../../tasks/stopped-pruning.ts';
import type { TaskRoom } from '../../tasks/task-room.ts';
import { createOldCalls, openCallPruningRoom } from './old-calls.ts';
import type { CallPruningRoom, OldCallOptions } from './old-calls.ts';
import { newTextCall, openTextProcess, settlementOf, withSpendCaps } from './text-processes.ts';
import type { TextProcess } from './text-processes.ts';

const DAY_MS = 86_400_000;
const DAYS = { from: '2020-01-01', to: '2100-01-01' };

let room: TaskRoom;
let pruning: CallPruningRoom;
let process: TextProcess;
let caller: Caller;
before(async () => {
  room = await openTaskRoom();
  pruning = await openCallPruningRoom(room);
  process = await openTextProcess(room);
});
beforeEach(async () => {
  await room.rows('TRUNCATE text_call_archives');
  await pruning.beginRound();
  const owner = await room.newCaller({ textStreamsCap: 1_000 });
  caller = await withSpendCaps(room, owner, { dayMicroUsd: 100_000_000n });
});
afterEach(async () => {
  assert.deepEqual(await verifyLedger(room.database), []);
  await room.rows('DELETE FROM background_calls');
  await pruning.beginRound();
  await pruning.prune({ now: Date.now() + 365 * DAY_MS });
});
after(async () => {
  await process.close();
  await pruning.close();
  await room.close();
});

const createOld = (count: number, options?: OldCallOptions): Promise<readonly NewTextCall[]> =>
  createOldCalls(room, process, caller, count, options);

async function leftOf(calls: readonly NewTextCall[]): Promise<readonly string[]> {
  const ids = calls.map(({ id }) => id);
  const rows = await room.rows<{ id: string }>('SELECT id FROM text_calls WHERE id = ANY ($1)', ids);
  return rows.map(({ id }) => id).toSorted();
}

const idsOf = (calls: readonly { readonly id: string }[]): readonly string[] => calls.map(({ id }) => id).toSorted();

/** Each call is in the table or in an archive, and those that were pruned are in one. */
async function assertNothingLost(calls: readonly NewTextCall[]): Promise<void> {
  const left = new Set(await leftOf(calls));
  const archived = new Set((await pruning.archived()).map(({ id }) => id));
  assert.deepEqual(
    calls.filter(({ id }) => !left.has(id) && !archived.has(id)),
    [],
  );
}

describe('an old text call', () => {
  it('is exported with its row and deleted, and a newer one of the account stays', async () => {
    const [old] = await createOld(1, { days: 30.01 });
    const [recent] = await createOld(1, { days: 29.99 });
    assert.ok(old !== undefined && recent !== undefined);
    const [row] = await room.rows<{ row: object }>('SELECT to_jsonb(t) AS row FROM text_calls t WHERE id = $1', old.id);

    assert.equal(await pruning.prune(), 1);

    assert.deepEqual(await leftOf([old, recent]), [recent.id]);
    assert.deepEqual(await pruning.archived(), [{ format: 1, ...row?.row }]);
    const [archive] = await room.rows<{ key: string; calls: number; size: bigint; hasTimes: boolean }>(
      `SELECT object_key AS key, calls, size_bytes AS size, first_created_at = last_created_at AS "hasTimes"
         FROM text_call_archives`,
    );
    assert.ok(archive !== undefined);
    assert.match(archive.key, /^archive\/text-calls\/20/);
    assert.deepEqual([archive.calls, archive.hasTimes], [1, true]);
    assert.equal(BigInt((await pruning.store.head(archive.key)).sizeBytes), archive.size);
  });

  it('leaves the ledger, its page, the spend caps and the costs of the operator as they were', async () => {
    const calls = [
      ...(await createOld(3)),
      ...(await createOld(2, { usage: { isEstimated: true } })),
      ...(await createOld(1, { capturedMicroUsd: 0n })),
      ...(await createOld(1, { capturedMicroUsd: 1_500n })),
    ];
    const read = async (): Promise<unknown> => [
      await listLedger(room.database, caller.accountId, { size: 100 }),
      await room.account(caller),
      await readExceededHolds(room.database, caller.accountId, DAYS),
      await room.rows('SELECT * FROM spend_periods WHERE cap_id = $1 ORDER BY period', caller.keyId),
    ];
    const before = await read();

    assert.equal(await pruning.prune(), 6);

    assert.deepEqual(await read(), before);
    // The one that exceeded its hold is the proof of the operator's cost.
    assert.deepEqual(await leftOf(calls), [calls.at(-1)?.id]);
    const { entries } = await listLedger(room.database, caller.accountId, { size: 100, kinds: ['capture'] });
    assert.equal(entries.filter(({ isEstimated }) => isEstimated).length, 2);
    // Without what is kept of them, the caps could not be proven.
    const [spent] = await room.rows<{ spent: bigint }>(
      'SELECT sum(spent_micro_usd)::bigint AS spent FROM pruned_text_spend WHERE cap_id = $1',
      caller.keyId,
    );
    assert.equal(spent?.spent, 500n);
  });

  it('stays while it is open, has a record in the background, or differs from its entries', async () => {
    const [inBackground, differing] = await createOld(2);
    const open = newTextCall(caller);
    assert.ok(inBackground !== undefined && differing !== undefined);
    await process.ledger.hold(open);
    await room.rows(
      `INSERT INTO background_calls (id, account_id, key_id, surface, state, ended_at)
       VALUES ($1, $2, $3, 'responses', 'answered', now())`,
      inBackground.id,
      caller.accountId,
      caller.keyId,
    );
    const change = 'UPDATE text_calls SET captured_micro_usd = captured_micro_usd + $2 WHERE id = $1';
    await room.rows(change, differing.id, 1);

    assert.equal(await pruning.prune({ now: Date.now() + 365 * DAY_MS }), 0);

    assert.deepEqual(await leftOf([inBackground, differing, open]), idsOf([inBackground, differing, open]));
    await room.rows(change, differing.id, -1);
    await moveTextMoney(room.database, caller.accountId, process.processId, [settlementOf(open, 100n)], []);
  });

  it('is settled by a process that was stopped for a month without moving anything', async () => {
    const [call] = await createOld(1);
    assert.ok(call !== undefined);
    await pruning.prune();
    const before = await room.account(caller);

    await moveTextMoney(room.database, caller.accountId, process.processId, [settlementOf(call, 900n)], []);

    assert.deepEqual(await room.account(caller), before);
    assert.deepEqual(await verifyLedger(room.database), []);
    await room.rows('DELETE FROM text_calls WHERE id = $1', call.id);
    await assert.rejects(process.ledger.hold(call), { name: 'UniqueViolationError' });
    assert.deepEqual(await room.account(caller), before);
  });
});

describe('passes', () => {
  it('go on where the last one stopped, count each page, and rest for a day after the table', async () => {
    const calls = await createOld(200);
    await room.rows('VACUUM FULL text_calls');
    const pages: number[] = [];
    const one = { pageBlocks: 1, endAt: 0, onPruned: (count: number) => void pages.push(count) };

    const first = await pruning.prune(one);
    const progress = await room.rows('SELECT block FROM text_pruning_progress');
    const second = await pruning.prune({ ...one, endAt: Infinity });

    // How many calls the first block has depends on the versions of rows that PostgreSQL still keeps.
    assert.ok(first < second, `${first} and ${second}`);
    assert.deepEqual(progress, [{ block: 1n }]);
    assert.equal(first + second, 200);
    assert.ok(pages.length > 3);
    assert.equal(
      pages.reduce((sum, count) => sum + count, 0),
      200,
    );
    await assertNothingLost(calls);
    const [late] = await createOld(1);
    assert.ok(late !== undefined);
    assert.equal(await pruning.prune(), 0);
    assert.equal(await pruning.prune({ now: Date.now() + DAY_MS - 60_000 }), 0);
    assert.equal(await pruning.prune({ now: Date.now() + DAY_MS + 60_000 }), 1);
  });

  it('do not wait for a clock that was set back', async () => {
    await pruning.prune({ now: Date.now() + 365 * DAY_MS });
    await createOld(1);

    assert.equal(await pruning.prune(), 1);
  });

  it('prune each call once, however many run at the same time, for many accounts', async () => {
    const calls: NewTextCall[] = [];
    for (let accounts = 0; accounts < 4; accounts++) {
      const other = await room.newCaller({ textStreamsCap: 1_000 });
      calls.push(...(await createOldCalls(room, process, other, 51)));
      calls.push(...(await createOld(51)));
    }

    const counts = await Promise.all(Array.from({ length: 4 }, () => pruning.prune({ pageBlocks: 2 })));

    assert.equal(
      counts.reduce((sum, count) => sum + count, 0),
      calls.length,
    );
    const [recorded] = await room.rows<{ calls: bigint }>('SELECT sum(calls) AS calls FROM text_call_archives');
    assert.equal(BigInt(recorded?.calls ?? 0), BigInt(calls.length));
    assert.deepEqual(idsOf(await pruning.archived()), idsOf(calls));
  });

  it('export a call again that changed since it was exported, and leave nothing else in the store', async () => {
    const [changed, other] = await createOld(2);
    assert.ok(changed !== undefined && other !== undefined);
    const stored = async (): Promise<readonly string[]> => {
      const keys: string[] = [];
      for await (const { key } of pruning.store.list('archive/text-calls/')) keys.push(key);
      return keys;
    };
    const before = new Set(await stored());
    const store = storeWith(pruning.store, {
      async put(...args) {
        const result = await pruning.store.put(...args);
        await room.rows('UPDATE text_calls SET output_tokens = 77 WHERE id = $1', changed.id);
        return result;
      },
    });

    assert.equal(await pruning.prune({ store }), 2);

    assert.deepEqual(await leftOf([changed, other]), []);
    const exported = (await pruning.archived()).filter(({ id }) => id === changed.id);
    assert.deepEqual(
      exported.map(({ output_tokens: tokens }) => tokens),
      [77],
    );
    const written = (await stored()).filter((key) => !before.has(key));
    assert.deepEqual([written.length, written.every(isOurKey)], [1, true]);
    assert.deepEqual(await listUnnamedKeys(room.database, written), []);
  });

  it('lose nothing by a store that is not available, and try the same page again', async () => {
    const calls = await createOld(3);
    const store = storeWith(pruning.store, {
      put: () => Promise.reject(new StoreUnavailableError('put', { cause: new Error('gone') })),
    });

    await assert.rejects(pruning.prune({ store }), StoreUnavailableError);

    assert.deepEqual(await leftOf(calls), idsOf(calls));
    assert.equal(await pruning.prune(), 3);
  });

  it('delete nothing that was read back damaged, and go on with the next page', async () => {
    const calls = await createOld(3);
    const store = storeWith(pruning.store, {
      read: () => Promise.resolve(Readable.from([Buffer.from('other bytes')])),
    });

    await assert.rejects(pruning.prune({ store }), { name: 'ArchiveDamagedError' });

    assert.deepEqual(await leftOf(calls), idsOf(calls));
    assert.equal(await pruning.prune(), 0);
    await pruning.beginRound();
    assert.equal(await pruning.prune(), 3);
  });
});

describe('a process that is killed while it prunes', () => {
  const POINTS = [
    'written',
    'read',
    'insert_text_call_archive',
    'delete_pruned_text_calls',
    'advance_text_pruning',
  ] as const;

  const untilKilled = (point: string): Promise<void> =>
    pruneUntilKilled(room, { program: 'test/text/money/call-pruning-process.ts', directory: pruning.directory, point });

  for (const point of POINTS) {
    it(`loses no call and prunes none twice: ${point}`, async () => {
      const calls = await createOld(3, { usage: { isEstimated: true } });
      const balance = await room.account(caller);

      await untilKilled(point);

      const left = point === 'advance_text_pruning' ? 0 : 3;
      assert.equal((await leftOf(calls)).length, left);
      assert.equal(await pruning.prune(), left);
      assert.deepEqual(idsOf(await pruning.archived()), idsOf(calls));
      assert.deepEqual(await room.account(caller), balance);
      assert.deepEqual(await verifyLedger(room.database), []);
    });
  }
});
