/** The proof of the ledger detects each way in which the money of a text call could go wrong. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { SCOPES } from '@darkroom/api/facts/scopes';
import { createKey } from '../../src/accounts/keys.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { NewTextCall } from '../../src/text/money/move.ts';
import { openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { newTextCall, openTextProcess, settlementOf } from '../text/money/text-processes.ts';
import { rulesBrokenBy, strayEntry, violationsAfter } from './broken-ledger.ts';

const HELD = 'held = holds - captures - releases = what open tasks and text calls hold';
const LAST = 'the last entry has the balance of the account';
const ONE_HOLD = 'one hold per text call';
const NO_HOLD = 'nothing is held for a call that never was';
const ONE_SETTLEMENT = 'one settlement per text call, of what was held';
const BORNE = "what a report has beyond its hold is the operator's cost";
const STREAMS = 'text streams are the calls that are not settled';
const CAPS = 'spend caps count what was held and not released';

let room: TaskRoom;
let accountId: string;
let capId: string;
let open: NewTextCall;
let settled: NewTextCall;
let undone: NewTextCall;

before(async () => {
  room = await openTaskRoom();
  const owner = await room.newCaller();
  ({ accountId } = owner);
  const spendCaps = { dayMicroUsd: 50_000n };
  ({ id: capId } = await createKey(room.database, accountId, { name: 'capped', scopes: SCOPES, spendCaps }));
  const caller = { ...owner, keyId: capId, spendCapIds: [capId] };
  const process = await openTextProcess(room);
  [open, settled, undone] = [newTextCall(caller), newTextCall(caller), newTextCall(caller)];
  await process.ledger.hold(open);
  await process.ledger.hold(settled);
  process.ledger.settle(settlementOf(settled, 100n));
  process.wire.state = 'cut';
  await assert.rejects(process.ledger.hold(undone));
  process.wire.state = 'good';
  await process.close();
});
after(() => room.close());

const brokenBy = (...changes: string[]): Promise<readonly string[]> => rulesBrokenBy(room, changes);

describe('verification of text calls', () => {
  it('finds nothing when everything adds up', async () => {
    assert.deepEqual(await verifyLedger(room.database), []);
    const rows = await room.rows<{ calls: number }>('SELECT count(*)::integer AS calls FROM text_calls');
    assert.deepEqual(rows, [{ calls: 3 }]);
  });

  // Proves C7-43.
  it('finds a call whose hold differs from that of its account', async () => {
    const change = `UPDATE text_calls SET held_micro_usd = 999 WHERE id = '${open.id}'`;

    assert.deepEqual(await brokenBy(change), [HELD, ONE_HOLD].toSorted());
  });

  it('finds a call without a hold, or with one of another amount or account', async () => {
    for (const change of [
      `DELETE FROM ledger_entries WHERE kind = 'hold' AND reference = '${open.id}'`,
      `UPDATE ledger_entries SET amount_micro_usd = 1 WHERE kind = 'hold' AND reference = '${open.id}'`,
      `UPDATE ledger_entries SET account_id = 'acc_other' WHERE kind = 'hold' AND reference = '${open.id}'`,
    ]) {
      assert.ok((await brokenBy(change)).includes(ONE_HOLD), change);
    }
  });

  it('finds a call that ended without a settlement in the ledger, or the other way round', async () => {
    const gone = `DELETE FROM ledger_entries WHERE kind IN ('capture', 'release') AND reference = '${settled.id}'`;
    const [violation] = (await violationsAfter(room, [gone])).filter(({ rule }) => rule === ONE_SETTLEMENT);
    assert.equal(violation?.subject, settled.id);
    assert.equal(
      violation.detail,
      'held 1000, settled nothing, captured  in the ledger and 100 in the call, settled: t',
    );

    assert.ok((await brokenBy(strayEntry('release', open.id, 1_000n, accountId))).includes(ONE_SETTLEMENT));
  });

  // Proves C7-43.
  it('finds a settlement whose amount differs from the hold, or whose capture differs from the call', async () => {
    for (const change of [
      `UPDATE ledger_entries SET amount_micro_usd = amount_micro_usd + 1
        WHERE kind = 'release' AND reference = '${settled.id}'`,
      `UPDATE text_calls SET captured_micro_usd = captured_micro_usd - 1 WHERE id = '${settled.id}'`,
    ]) {
      assert.ok((await brokenBy(change)).includes(ONE_SETTLEMENT), change);
    }
  });

  it('finds usage beyond the hold that is not charged, charged differently, or charged for nothing', async () => {
    const due = `UPDATE text_calls SET due_micro_usd = 1081 WHERE id = '${settled.id}'`;
    const cost = (microUsd: number): string =>
      `INSERT INTO operator_costs (task_id, upstream, model, reason, at_most_micro_usd)
       VALUES ('${settled.id}', 'text:acme', 'acme/words', 'hold_exceeded', ${microUsd})`;

    assert.deepEqual(await brokenBy(due), [BORNE]);
    assert.deepEqual(await brokenBy(cost(81)), [BORNE]);
    // Its call captured less than was held.
    assert.deepEqual(await brokenBy(due, cost(81)), [BORNE]);
    assert.deepEqual(await brokenBy(due, cost(80)), [BORNE]);
  });

  it('finds a stream that belongs to no call, and a call whose stream is not counted', async () => {
    for (const sign of ['+', '-']) {
      const change = `UPDATE account_counters SET text_streams = text_streams ${sign} 1 WHERE account_id = '${accountId}'`;
      assert.deepEqual(await brokenBy(change), [STREAMS]);
    }
  });

  it('finds a hold for a call that does not exist', async () => {
    const entry = strayEntry('hold', undone.id, 0n, accountId);

    assert.ok((await brokenBy(entry)).includes(NO_HOLD));
  });

  it('finds a cap whose count differs from the holds and releases of its calls', async () => {
    const periods = await room.rows<{ spent: bigint }>(
      'SELECT spent_micro_usd AS spent FROM spend_periods WHERE cap_id = $1',
      capId,
    );
    assert.deepEqual(periods, [{ spent: 1_100n }, { spent: 1_100n }]);
    for (const change of [
      `UPDATE spend_periods SET spent_micro_usd = spent_micro_usd + 1`,
      `UPDATE text_calls SET spend_cap_ids = NULL WHERE id = '${open.id}'`,
    ]) {
      assert.deepEqual(await brokenBy(change), [CAPS], change);
    }
  });

  it('counts what pruned calls spent under a cap, and finds where it differs', async () => {
    const prune = `DELETE FROM text_calls WHERE id = '${settled.id}'`;
    const spent = (microUsd: number): string =>
      `INSERT INTO pruned_text_spend SELECT '${capId}', (created_at AT TIME ZONE 'UTC')::date, ${microUsd}
         FROM ledger_entries WHERE kind = 'hold' AND reference = '${settled.id}'`;

    assert.deepEqual(await brokenBy(prune, spent(100)), []);
    assert.deepEqual(await brokenBy(prune), [CAPS]);
    assert.deepEqual(await brokenBy(prune, spent(99)), [CAPS]);
    assert.deepEqual(await brokenBy(spent(1)), [CAPS]);
  });

  it('finds an account whose balance changed without an entry', async () => {
    const change = `UPDATE account_counters SET held_micro_usd = held_micro_usd - 1 WHERE account_id = '${accountId}'`;

    const broken = await brokenBy(change);

    assert.ok(broken.includes(HELD) && broken.includes(LAST));
  });
});
