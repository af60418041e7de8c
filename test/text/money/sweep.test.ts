/**
 * What dead processes leave behind is settled by others, once, whichever others try it too; no living process loses
 * anything.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { readAccount } from '../../../src/accounts/accounts.ts';
import { verifyLedger } from '../../../src/billing/verify.ts';
import { silentLogger } from '../../../src/telemetry/log.ts';
import { sweepTextCalls } from '../../../src/text/money/process-lease.ts';
import { openTextMoney } from '../../../src/text/money/text-money.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { openTaskRoom } from '../../tasks/task-room.ts';
import type { TaskRoom } from '../../tasks/task-room.ts';
import {
  entriesOf,
  newTextCall,
  openTextProcess,
  readTextCall,
  settlementOf,
  withSpendCaps,
} from './text-processes.ts';
import type { TextProcess } from './text-processes.ts';

let room: TaskRoom;
let living: TextProcess;
before(async () => {
  room = await openTaskRoom();
  living = await openTextProcess(room);
});
after(async () => {
  await living.close();
  await room.close();
});

/** Available and held amounts, and how many calls are under way. */
async function balancesOf(accountId: string): Promise<readonly [bigint, bigint, number]> {
  const { availableMicroUsd, heldMicroUsd, textStreams } = await readAccount(room.database, accountId);
  return [availableMicroUsd, heldMicroUsd, textStreams];
}

async function isKnown({ processId }: TextProcess): Promise<boolean> {
  return (await room.rows('SELECT FROM text_processes WHERE id = $1', processId)).length === 1;
}

describe('a call whose process died', () => {
  it('is settled at its counted input, without output, and marked as estimated', async () => {
    const caller = await room.newCaller({ microUsd: 5_000n });
    const dying = await openTextProcess(room);
    const call = newTextCall(caller, { isStored: true });
    await dying.ledger.hold(call);
    await dying.kill();

    assert.equal(await living.sweep(), 1);

    const row = await readTextCall(room, call.id);
    assert.ok(row?.settled_at instanceof Date);
    assert.deepEqual(
      [row.captured_micro_usd, row.input_tokens, row.cached_input_tokens, row.output_tokens, row.reasoning_tokens],
      [30n, 10, 0, 0, 0],
    );
    assert.deepEqual([row.is_estimated, row.is_stored], [true, true]);
    assert.deepEqual(
      (await entriesOf(room, call.id)).map(([kind, amount]) => [kind, amount]),
      [
        ['hold', 1_000n],
        ['capture', 30n],
        ['release', 970n],
      ],
    );
    assert.deepEqual(await balancesOf(caller.accountId), [4_970n, 0n, 0]);
    assert.deepEqual(await verifyLedger(room.database), []);
  });

  it('releases its amount under the spend caps', async () => {
    const caller = await withSpendCaps(room, await room.newCaller(), { dayMicroUsd: 1_500n });
    const dying = await openTextProcess(room);
    await dying.ledger.hold(newTextCall(caller));
    await assert.rejects(living.ledger.hold(newTextCall(caller)), { name: 'SpendCapError' });
    await dying.kill();

    await living.sweep();

    await living.ledger.hold(newTextCall(caller));
    assert.deepEqual(await verifyLedger(room.database), []);
  });

  it('is settled once by many concurrent processes, for many accounts', async () => {
    const callers = await Promise.all(Array.from({ length: 4 }, () => room.newCaller({ textStreamsCap: 1_000 })));
    const dying = await openTextProcess(room);
    const calls = callers.flatMap((caller) => Array.from({ length: 230 }, () => newTextCall(caller)));
    await Promise.all(calls.map((call) => dying.ledger.hold(call)));
    await dying.kill();
    const sweepers = await Promise.all([openTextProcess(room), openTextProcess(room), openTextProcess(room)]);

    const settled = await Promise.all([living, ...sweepers].map((each) => each.sweep()));

    assert.equal(
      settled.reduce((sum, calls) => sum + calls, 0),
      calls.length,
    );
    for (const { accountId } of callers) {
      const { heldMicroUsd, textStreams } = await readAccount(room.database, accountId);
      assert.deepEqual([heldMicroUsd, textStreams], [0n, 0]);
    }
    assert.deepEqual(await verifyLedger(room.database), []);
    await Promise.all(sweepers.map((each) => each.close()));
  });

  it('is settled once when its process was only paused, and settles it at the same moment', async () => {
    const caller = await room.newCaller({ textStreamsCap: 1_000 });
    for (let round = 0; round < 10; round++) {
      const paused = await openTextProcess(room);
      const calls = Array.from({ length: 40 }, () => newTextCall(caller));
      await Promise.all(calls.map((call) => paused.ledger.hold(call)));
      await paused.lapse();

      for (const call of calls) paused.ledger.settle(settlementOf(call, 500n));
      await Promise.all([paused.ledger.flush(), living.sweep()]);

      const rows = await Promise.all(calls.map(({ id }) => readTextCall(room, id)));
      assert.ok(rows.every((row) => row?.captured_micro_usd === 500n || row?.captured_micro_usd === 30n));
      assert.equal((await readAccount(room.database, caller.accountId)).textStreams, 0);
      assert.deepEqual(await verifyLedger(room.database), []);
      await paused.close();
    }
  });
});

describe('a process that was paused for longer than its lease', () => {
  it('continues, its calls settled by others meanwhile and not twice', async () => {
    const caller = await room.newCaller({ microUsd: 5_000n });
    const paused = await openTextProcess(room);
    const call = newTextCall(caller);
    await paused.ledger.hold(call);
    await paused.lapse();
    assert.equal(await living.sweep(), 1);
    assert.equal(await isKnown(paused), false);

    paused.ledger.settle(settlementOf(call, 999n));
    const next = newTextCall(caller);
    await paused.ledger.hold(next);

    assert.equal((await readTextCall(room, call.id))?.captured_micro_usd, 30n);
    assert.equal(await isKnown(paused), true);
    assert.equal(await living.sweep(), 0);
    paused.ledger.settle(settlementOf(next, 1n));
    await paused.ledger.flush();
    assert.equal((await readAccount(room.database, caller.accountId)).availableMicroUsd, 4_969n);
    assert.deepEqual(await verifyLedger(room.database), []);
    await paused.close();
  });

  it('holds nothing before it has its lease again, whatever the hold is', async () => {
    const owner = await room.newCaller();
    const capped = await withSpendCaps(room, owner, { dayMicroUsd: 5_000n });
    const paused = await openTextProcess(room);
    for (const caller of [owner, capped]) {
      await paused.lapse();
      const calls = [newTextCall(caller), newTextCall(caller)];

      await Promise.all(calls.map((call) => paused.ledger.hold(call)));

      assert.equal(await living.sweep(), 0);
      for (const call of calls) paused.ledger.settle(settlementOf(call, 1n));
    }
    await paused.close();
    assert.deepEqual(await verifyLedger(room.database), []);
  });
});

describe('a live process', () => {
  it('is not swept, and neither are its calls', async () => {
    const caller = await room.newCaller();
    const call = newTextCall(caller);
    const owner = await openTextProcess(room);
    await owner.ledger.hold(call);

    assert.equal(await living.sweep(), 0);

    assert.equal((await readTextCall(room, call.id))?.settled_at, null);
    assert.equal(await isKnown(owner), true);
    owner.ledger.settle(settlementOf(call, 1n));
    await owner.close();
  });

  it('sweeps others only after its own lease was unbroken for as long as theirs may last', async () => {
    const caller = await room.newCaller();
    const call = newTextCall(caller);
    const [owner, sweeper] = [await openTextProcess(room), await openTextProcess(room)];
    await owner.ledger.hold(call);
    // As after an outage of the database: every lease has expired, and one process is back before the others.
    await owner.lapse();
    await sweeper.lapse();
    await room.rows(
      `UPDATE text_processes SET unbroken_since = now() - interval '1 h' WHERE id = $1`,
      sweeper.processId,
    );
    await sweeper.renew();
    assert.equal(await sweepTextCalls(room.database, sweeper.processId), 0);
    assert.equal((await readTextCall(room, call.id))?.settled_at, null);

    await owner.renew();
    assert.equal(await sweeper.sweep(), 0);

    owner.ledger.settle(settlementOf(call, 400n));
    await Promise.all([owner.close(), sweeper.close()]);
    assert.equal((await readTextCall(room, call.id))?.captured_micro_usd, 400n);
  });

  it('keeps its lease unbroken by renewing it', async () => {
    const owner = await openTextProcess(room);
    await room.rows(
      `UPDATE text_processes SET unbroken_since = '2020-01-01', leased_until = now() + interval '1 s' WHERE id = $1`,
      owner.processId,
    );

    await owner.renew();

    const [row] = await room.rows<{ isOld: boolean; isLong: boolean }>(
      `SELECT unbroken_since = '2020-01-01' AS "isOld", leased_until > now() + interval '15 s' AS "isLong"
         FROM text_processes WHERE id = $1`,
      owner.processId,
    );
    assert.deepEqual(row, { isOld: true, isLong: true });
    await owner.close();
  });
});

describe('a process that has ended', () => {
  it('is deleted as soon as nothing is left of it', async () => {
    const ending = await openTextProcess(room);
    const caller = await room.newCaller();
    const call = newTextCall(caller);
    await ending.ledger.hold(call);
    await ending.close();
    assert.equal(await isKnown(ending), true);

    // What it left open is settled at once: its lease has expired.
    assert.equal(await living.sweep(), 1);

    assert.equal(await isKnown(ending), false);
    assert.equal((await readTextCall(room, call.id))?.captured_micro_usd, 30n);
  });
});

describe('the money of text calls in an api process', () => {
  it('is swept periodically: what a dead process left is settled without a request', async () => {
    const caller = await room.newCaller();
    const dying = await openTextProcess(room);
    const call = newTextCall(caller);
    await dying.ledger.hold(call);
    await dying.kill();
    const before = new Set((await room.rows<{ id: string }>('SELECT id FROM text_processes')).map(({ id }) => id));
    const money = await openTextMoney({
      database: room.database,
      accountDatabase: () => room.database,
      logger: silentLogger(),
      metrics: { exceeded() {} },
    });
    const rows = await room.rows<{ id: string }>('SELECT id FROM text_processes');
    const own = rows.filter(({ id }) => !before.has(id));
    assert.equal(own.length, 1);

    // As if it had been running for a long time.
    await room.rows(`UPDATE text_processes SET unbroken_since = now() - interval '1 h' WHERE id = $1`, own[0]?.id);

    await waitFor('the call is settled', async () => (await readTextCall(room, call.id))?.settled_at !== null);
    const another = newTextCall(caller);
    await money.ledger.hold(another);
    money.ledger.settle(settlementOf(another, 5n));
    await money.close();
    assert.equal((await readTextCall(room, another.id))?.captured_micro_usd, 5n);
    assert.deepEqual(await verifyLedger(room.database), []);
  });
});

describe('a settlement whose commit the database lost', () => {
  /** As after a failover to a standby that lagged behind: the hold exists, later changes do not. */
  async function lose(id: string, accountId: string): Promise<void> {
    const text = `
      WITH entries AS (DELETE FROM ledger_entries WHERE reference = $1 AND kind <> 'hold'),
           call AS (UPDATE text_calls SET settled_at = NULL, captured_micro_usd = NULL, cached_input_tokens = NULL,
                           output_tokens = NULL, reasoning_tokens = NULL, is_estimated = false
                     WHERE id = $1)
      UPDATE account_counters SET available_micro_usd = $3, held_micro_usd = $4, text_streams = 1 WHERE account_id = $2`;
    await room.database.transaction(async (transaction) => {
      await transaction.query({ name: 'no_triggers', text: 'SET LOCAL session_replication_role = replica' }, []);
      await transaction.query({ name: 'lose_settlement', text }, [id, accountId, 4_000n, 1_000n]);
    });
  }

  it('is made again by the same process, with the result of the call', async () => {
    const caller = await room.newCaller({ microUsd: 5_000n });
    const call = newTextCall(caller);
    await living.ledger.hold(call);
    living.ledger.settle(settlementOf(call, 400n));
    await living.ledger.flush();
    await lose(call.id, caller.accountId);
    assert.equal((await readAccount(room.database, caller.accountId)).heldMicroUsd, 1_000n);

    assert.equal(await living.ledger.settleReopened(), 0, 'it may be on its way');
    living.wait();
    assert.equal(await living.ledger.settleReopened(), 1);
    await living.ledger.flush();

    assert.deepEqual(await balancesOf(caller.accountId), [4_600n, 0n, 0]);
    assert.equal((await readTextCall(room, call.id))?.captured_micro_usd, 400n);
    assert.equal(await living.ledger.settleReopened(), 0);
    assert.deepEqual(await verifyLedger(room.database), []);
  });

  it('is absent while the call is running', async () => {
    const caller = await room.newCaller({ microUsd: 5_000n });
    const call = newTextCall(caller);
    await living.ledger.hold(call);
    living.wait();

    assert.equal(await living.ledger.settleReopened(), 0);

    living.ledger.settle(settlementOf(call, 0n));
    await living.ledger.flush();
  });
});
