/**
 * The proof of the ledger is itself proven: each way in which money could go wrong is simulated, and must be
 * detected.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createKey } from '../../src/accounts/keys.ts';
import { SCOPES } from '@darkroom/api/facts/scopes';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { recordAdjustment } from '../../src/billing/ledger.ts';
import { meterStorage } from '../../src/billing/storage-metering.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { LedgerViolation } from '../../src/billing/verify.ts';
import { timeOutMs } from '../../src/config/time-outs.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { pruneNow } from '../tasks/old-tasks.ts';
import { PRICE, body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import * as brokenLedger from './broken-ledger.ts';

const PAID_IN = 'topups + adjustments = available + held + captured';
const HELD = 'held = holds - captures - releases = what open tasks and text calls hold';
const KNOWN = 'every entry is of an account';
const LAST = 'the last entry has the balance of the account';
const FOLLOWS = 'every entry follows from the one before it';
const COVERED = 'every capture and release has a hold that covers it';
const NOT_NEGATIVE = 'no amount but an adjustment is negative';
const ONE_HOLD = 'one hold per task';
const ONE_SETTLEMENT = 'one settlement per task, of what was held';
const GONE = 'a pruned task is gone';
const SLOTS = 'running slots are those of open tasks';
const TOTAL = 'every task is counted once';
const CAPS = 'spend caps count what was held and not released';
const STORAGE_DAY = 'a day of storage is held and captured as it was metered';
const BYTES = 'persistent bytes are those of open periods and pending promotions';

const DAY_MS = 86_400_000;

let room: TaskRoom;
let accountId: string;
let capId: string;
let open: TaskId;
let succeeded: TaskId;
let failed: TaskId;
let pruned: TaskId;

before(async () => {
  room = await openTaskRoom();
  const caller = await room.newCaller();
  ({ accountId } = caller);
  const key = await createKey(room.database, accountId, {
    name: 'capped',
    scopes: SCOPES,
    spendCaps: { dayMicroUsd: 100n * PRICE, totalMicroUsd: 1_000n * PRICE },
  });
  capId = key.id;
  const capped: Caller = { ...caller, keyId: key.id, spendCapIds: [key.id] };
  const create = async (by: Caller, changes = {}): Promise<TaskId> =>
    (await room.creator.create(by, body(changes), undefined)).taskId;
  [open, succeeded, failed] = [
    await create(capped),
    await create(capped, { storage: 'persistent' }),
    await create(caller),
  ];
  await claimOutbox(room.database, 100);
  const output = { type: 'image', objectKey: 'outputs/1', mimeType: 'image/png', sha256: '0'.repeat(64) };
  const outputs = [
    { ...output, sizeBytes: 1_000_000_000 },
    { ...output, objectKey: 'outputs/2', sizeBytes: 7 },
  ];
  const verdict = { status: 'success', outputs, capturedMicroUsd: PRICE / 2n } as const;
  await settleTask(room.database, succeeded, verdict, { retentionDays: 7 });
  pruned = await create(capped);
  const ofPruned = { ...verdict, outputs: [{ ...output, objectKey: 'outputs/3', sizeBytes: 7 }] };
  await settleTask(room.database, pruned, ofPruned, { retentionDays: 7 });
  await pruneNow(room, pruned);
  await settleTask(room.database, failed, { status: 'fail', reason: 'no_output' }, { retentionDays: 7 });
  await recordAdjustment(room.database, { accountId, amountMicroUsd: -5n });
  await meterStorage(room.database, { now: Date.now() + 3 * DAY_MS, priceMicroUsdPerGbMonth: 50_000n });
});
after(() => room.close());

const violationsAfter = (...changes: string[]): Promise<readonly LedgerViolation[]> =>
  brokenLedger.violationsAfter(room, changes);
const rulesBrokenBy = (...changes: string[]): Promise<readonly string[]> => brokenLedger.rulesBrokenBy(room, changes);
const entry = (kind: string, reference: string, amount: bigint | number, owner = accountId): string =>
  brokenLedger.strayEntry(kind, reference, amount, owner);

describe('verification of the ledger', () => {
  it('finds nothing when everything adds up', async () => {
    assert.deepEqual(await verifyLedger(room.database), []);
    const [counts] = await room.rows<{ entries: number; days: number; periods: number }>(
      `SELECT (SELECT count(*)::integer FROM ledger_entries WHERE reference LIKE 'storage:%') AS entries,
              (SELECT count(*)::integer FROM storage_days) AS days,
              (SELECT count(*)::integer FROM spend_periods) AS periods`,
    );
    // There is data of each kind to check.
    assert.ok((counts?.days ?? 0) >= 2);
    assert.equal(counts?.entries, 2 * (counts?.days ?? 0));
    assert.equal(counts.periods, 2);
  });

  // Proves C7-42.
  it('finds a micro that appeared or disappeared', async () => {
    for (const sign of ['+', '-']) {
      const change = `UPDATE account_counters SET available_micro_usd = available_micro_usd ${sign} 1`;
      assert.deepEqual(await rulesBrokenBy(change), [LAST, PAID_IN]);
    }
    assert.ok((await rulesBrokenBy(`DELETE FROM ledger_entries WHERE kind = 'topup'`)).includes(PAID_IN));
    assert.ok((await rulesBrokenBy(`DELETE FROM ledger_entries WHERE kind = 'adjustment'`)).includes(PAID_IN));
  });

  it('names the account, with all the amounts', async () => {
    const [violation] = await violationsAfter('UPDATE account_counters SET available_micro_usd = 7');
    const [row] = await room.rows<{ captured: bigint }>(
      `SELECT sum(amount_micro_usd)::bigint AS captured FROM ledger_entries WHERE kind = 'capture'`,
    );

    assert.deepEqual(violation, {
      rule: PAID_IN,
      subject: accountId,
      detail: `999999995 <> 7 + ${PRICE} + ${row?.captured}`,
    });
  });

  it('finds a hold that belongs to no open task', async () => {
    const change = `UPDATE account_counters SET held_micro_usd = held_micro_usd + 1,
                                                available_micro_usd = available_micro_usd - 1`;

    assert.deepEqual(await rulesBrokenBy(change), [HELD, LAST]);
  });

  it('finds an open task whose hold differs from that of its account', async () => {
    assert.ok((await rulesBrokenBy(`UPDATE tasks SET held_micro_usd = 1 WHERE id = '${open}'`)).includes(HELD));
  });

  it('finds a task without a hold, or with one of another amount or account', async () => {
    for (const change of [
      `DELETE FROM ledger_entries WHERE kind = 'hold' AND reference = '${open}'`,
      `UPDATE ledger_entries SET amount_micro_usd = 1 WHERE kind = 'hold' AND reference = '${open}'`,
      `UPDATE ledger_entries SET account_id = 'acc_other' WHERE kind = 'hold' AND reference = '${open}'`,
    ]) {
      assert.ok((await rulesBrokenBy(change)).includes(ONE_HOLD), change);
    }
  });

  // Proves C7-39.
  it('finds a task that ended without a settlement, or was settled without having ended', async () => {
    const [violation] = (
      await violationsAfter(`DELETE FROM ledger_entries WHERE kind = 'release' AND reference = '${failed}'`)
    ).filter(({ rule }) => rule === ONE_SETTLEMENT);
    assert.equal(violation?.subject, failed);

    assert.ok((await rulesBrokenBy(entry('release', open, PRICE))).includes(ONE_SETTLEMENT));
  });

  it('finds a settlement whose amount differs from the hold', async () => {
    const change = `UPDATE ledger_entries SET amount_micro_usd = amount_micro_usd + 1
                     WHERE kind = 'release' AND reference = '${succeeded}'`;

    assert.ok((await rulesBrokenBy(change)).includes(ONE_SETTLEMENT));
  });

  it('finds a task that shows its owner a price other than the captured one', async () => {
    const change = `UPDATE tasks SET captured_micro_usd = captured_micro_usd - 1 WHERE id = '${succeeded}'`;

    assert.deepEqual(await rulesBrokenBy(change), [ONE_SETTLEMENT]);
  });

  // Proves C4-23.
  it('finds a pruned task whose entries are not those of its hold and its settlement, or that is still there', async () => {
    for (const [change, rules] of [
      [`DELETE FROM ledger_entries WHERE kind = 'hold' AND reference = '${pruned}'`, [ONE_HOLD]],
      [`DELETE FROM ledger_entries WHERE kind IN ('capture', 'release') AND reference = '${pruned}'`, [ONE_SETTLEMENT]],
      [`UPDATE pruned_tasks SET captured_micro_usd = captured_micro_usd + 1`, [ONE_SETTLEMENT]],
      [`UPDATE pruned_tasks SET held_micro_usd = held_micro_usd + 1`, [ONE_HOLD, ONE_SETTLEMENT]],
      [`UPDATE pruned_tasks SET spend_cap_ids = NULL`, [CAPS]],
      [`UPDATE pruned_tasks SET task_id = '${succeeded}'`, [GONE]],
      [`DELETE FROM pruned_tasks`, [CAPS]],
    ] as const) {
      const broken = await rulesBrokenBy(change);
      for (const rule of rules) assert.ok(broken.includes(rule), `${change}: ${broken.join('; ')}`);
    }
  });

  it('finds a slot that no open task occupies', async () => {
    assert.deepEqual(await rulesBrokenBy('UPDATE account_counters SET running = running + 1'), [SLOTS]);
    assert.deepEqual(await rulesBrokenBy('UPDATE account_counters SET queued = queued + 1'), [SLOTS]);
  });

  it('finds a task that is not counted, and one that is counted and does not exist', async () => {
    assert.deepEqual(await rulesBrokenBy('UPDATE account_counters SET tasks_total = tasks_total + 1'), [TOTAL]);
    assert.deepEqual(await rulesBrokenBy('UPDATE account_counters SET tasks_total = tasks_total - 1'), [TOTAL]);
  });

  it('finds entries of an account that does not exist', async () => {
    const [violation] = (await violationsAfter(entry('topup', 'unknown', 0, 'acc_unknown'))).filter(
      ({ rule }) => rule === KNOWN,
    );

    assert.equal(violation?.subject, 'acc_unknown');
  });

  it('finds a capture or release without a hold', async () => {
    for (const change of [
      entry('capture', 'of-nothing', 1),
      entry('release', 'of-nothing', 0),
      entry('release', succeeded.replace('tk', 'TK'), 1),
      `UPDATE ledger_entries SET amount_micro_usd = 1 WHERE kind = 'hold' AND reference = '${succeeded}'`,
      `UPDATE ledger_entries SET account_id = 'acc_other' WHERE kind = 'hold' AND reference = '${succeeded}'`,
    ]) {
      assert.ok((await rulesBrokenBy(change)).includes(COVERED), change);
    }
  });

  it('finds a negative amount where none is allowed, but accepts one in an adjustment', async () => {
    for (const kind of ['topup', 'hold', 'capture', 'release']) {
      assert.ok((await rulesBrokenBy(entry(kind, 'negative', -1))).includes(NOT_NEGATIVE), kind);
    }
    assert.ok(!(await rulesBrokenBy(entry('adjustment', 'negative', -1))).includes(NOT_NEGATIVE));
  });
});

describe('verification of balances in ledger entries', () => {
  const column = (name: string, change: string, where: string): string =>
    `UPDATE ledger_entries SET ${name} = ${name} ${change} WHERE ${where}`;

  it('finds an entry that does not follow from the previous one', async () => {
    for (const kind of ['topup', 'adjustment', 'hold', 'capture', 'release']) {
      for (const name of ['available_after_micro_usd', 'held_after_micro_usd']) {
        const where = `id = (SELECT min(id) FROM ledger_entries WHERE kind = '${kind}')`;
        assert.ok((await rulesBrokenBy(column(name, '+ 1', where))).includes(FOLLOWS), `${kind} ${name}`);
      }
    }
  });

  it('finds every entry after a gap to be off, however consistent they are otherwise', async () => {
    const shift = column('available_after_micro_usd', '+ 1', `kind <> 'topup'`);

    const found = await violationsAfter(shift);

    assert.deepEqual([...new Set(found.map(({ rule }) => rule))].toSorted(), [FOLLOWS, LAST]);
    assert.equal(found.filter(({ rule }) => rule === FOLLOWS).length, 1);
  });

  it('finds a first entry that does not begin with zero', async () => {
    const shift = column('available_after_micro_usd', '+ 1', 'true');

    const [violation] = (await violationsAfter(shift)).filter(({ rule }) => rule === FOLLOWS);

    assert.match(violation?.subject ?? '', /^topup /);
    assert.match(violation?.detail ?? '', /^available 1000000001, held 0, after available 0, held 0 /);
  });

  it('finds a last entry whose balance differs from that of the account', async () => {
    for (const name of ['available_after_micro_usd', 'held_after_micro_usd']) {
      const where = 'id = (SELECT max(id) FROM ledger_entries)';
      assert.deepEqual(await rulesBrokenBy(column(name, '+ 1', where)), [FOLLOWS, LAST]);
    }
    assert.ok((await rulesBrokenBy('DELETE FROM ledger_entries')).includes(LAST));
  });
});

describe('verification of spend caps', () => {
  it('finds a cap whose count differs from what was held and not released', async () => {
    for (const period of ['total', 'day']) {
      const where = `cap_id = '${capId}' AND (period = 'total') = ${period === 'total'}`;
      for (const change of [
        `UPDATE spend_periods SET spent_micro_usd = spent_micro_usd + 1 WHERE ${where}`,
        `UPDATE spend_periods SET spent_micro_usd = spent_micro_usd - 1 WHERE ${where}`,
        `DELETE FROM spend_periods WHERE ${where}`,
      ]) {
        assert.deepEqual(await rulesBrokenBy(change), [CAPS], change);
      }
    }
  });

  it('finds an amount that was counted on another day than it was held', async () => {
    const change = `UPDATE spend_periods SET period = '2001-01-01' WHERE period <> 'total'`;

    const found = await violationsAfter(change);

    assert.deepEqual(
      found.map(({ rule }) => rule),
      [CAPS, CAPS],
    );
    assert.deepEqual(found.map(({ detail }) => detail).toSorted(), [
      `counted 0, entries ${2n * PRICE}`,
      `counted ${2n * PRICE}, entries 0`,
    ]);
  });

  it('finds a task that names a cap which does not count it', async () => {
    assert.deepEqual(await rulesBrokenBy(`UPDATE tasks SET spend_cap_ids = NULL WHERE id = '${open}'`), [CAPS]);
    const change = `UPDATE tasks SET spend_cap_ids = ARRAY['${capId}'] WHERE id = '${failed}'`;
    // It was released completely: none of it counts.
    assert.deepEqual(await rulesBrokenBy(change), []);
  });
});

describe('verification of storage', () => {
  it('finds a day whose entries differ from what was metered', async () => {
    for (const change of [
      'UPDATE storage_days SET paid_micro_usd = paid_micro_usd - 1',
      'DELETE FROM storage_days',
      `DELETE FROM ledger_entries WHERE kind = 'hold' AND reference LIKE 'storage:%'`,
      `DELETE FROM ledger_entries WHERE kind = 'capture' AND reference LIKE 'storage:%'`,
      `UPDATE ledger_entries SET account_id = 'acc_other' WHERE reference LIKE 'storage:%'`,
      `UPDATE ledger_entries SET reference = 'storage:${accountId}:2001-01-01'
        WHERE id IN (SELECT max(id) FROM ledger_entries WHERE reference LIKE 'storage:%' GROUP BY kind)`,
    ]) {
      assert.ok((await rulesBrokenBy(change)).includes(STORAGE_DAY), change);
    }
  });

  it('finds persistent bytes that no output occupies, and outputs whose bytes are not counted', async () => {
    for (const sign of ['+', '-']) {
      const change = `UPDATE account_counters SET persistent_bytes = persistent_bytes ${sign} 1`;
      assert.deepEqual(await rulesBrokenBy(change), [BYTES]);
    }
    assert.deepEqual(await rulesBrokenBy('UPDATE storage_periods SET ended_at = now()'), [BYTES]);
    const pending = `UPDATE outputs SET pending_since = now() WHERE size_bytes = 7`;
    assert.deepEqual(await rulesBrokenBy(pending), [BYTES]);
    assert.deepEqual(
      await rulesBrokenBy(pending, 'UPDATE account_counters SET persistent_bytes = persistent_bytes + 7'),
      [],
    );
  });
});

describe('a verification run', () => {
  it('reports at most a hundred problems', async () => {
    const change = `INSERT INTO tasks (id, account_id, key_id, fingerprint, fingerprint_version, model, definition_hash,
                                       storage, held_micro_usd, queue_deadline_at)
                    SELECT 'orphan-' || n, 'acc_none', 'key', '', 1, 'm', 'h', 'temp', 1, now()
                      FROM generate_series(1, 300) n`;

    assert.equal((await violationsAfter(change)).length, 100);
  });

  // Proves C7-42.
  it('passes while money moves', async () => {
    const caller = await room.newCaller();
    let isOver = false;
    const moving = (async () => {
      while (!isOver) {
        const { taskId } = await room.creator.create(caller, body(), undefined);
        await claimOutbox(room.database, 10);
        await settleTask(room.database, taskId, { status: 'fail', reason: 'no_output' }, { retentionDays: 7 });
      }
    })();

    for (let round = 0; round < 25; round++) assert.deepEqual(await verifyLedger(room.database), []);
    isOver = true;
    await moving;
    assert.ok((await room.account(caller)).availableMicroUsd > 0n);
  });

  it('changes nothing, and leaves its connection as it found it', async () => {
    const settings = `SELECT current_setting('statement_timeout') AS timeout, current_setting('work_mem') AS memory,
                             current_setting('transaction_isolation') AS isolation`;
    const timeout = `${timeOutMs(15_000) / 1000}s`;
    for (let round = 0; round < 3; round++) await verifyLedger(room.database);

    for (let round = 0; round < 3; round++) {
      assert.deepEqual(await room.rows(settings), [{ timeout, memory: '4MB', isolation: 'read committed' }]);
    }
  });
});
