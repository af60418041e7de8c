/** The proof of the ledger is itself proven: each way in which money could go wrong is made, and must be found. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { LedgerViolation } from '../../src/billing/verify.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { claimOutbox } from '../../src/tasks/outbox.ts';
import { settleTask } from '../../src/tasks/settle.ts';
import { PRICE, body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';

const PAID_IN = 'topups + adjustments = available + held + captured';
const HELD = 'held = holds - captures - releases = what open tasks hold';
const ONE_HOLD = 'one hold per task';
const ONE_SETTLEMENT = 'one settlement per task, of what was held';
const SLOTS = 'running slots are those of open tasks';

class RolledBack extends Error {}

let room: TaskRoom;
let accountId: string;
let open: TaskId;
let succeeded: TaskId;
let failed: TaskId;

before(async () => {
  room = await openTaskRoom();
  const caller = await room.newCaller();
  ({ accountId } = caller);
  const create = async (): Promise<TaskId> => (await room.creator.create(caller, body(), undefined)).taskId;
  [open, succeeded, failed] = [await create(), await create(), await create()];
  await claimOutbox(room.database, 100);
  const verdict = { status: 'success', outputs: [], capturedMicroUsd: PRICE / 2n } as const;
  await settleTask(room.database, succeeded, verdict, { retentionDays: 7 });
  await settleTask(room.database, failed, { status: 'fail', reason: 'no_output' }, { retentionDays: 7 });
});
after(() => room.close());

/** What is found after a change, which is then undone. */
async function violationsAfter(...changes: string[]): Promise<readonly LedgerViolation[]> {
  let found: readonly LedgerViolation[] = [];
  const work = room.database.transaction(async (transaction) => {
    const run = (text: string): Promise<unknown> => transaction.query({ name: '', text });
    await run('ALTER TABLE ledger_entries DISABLE TRIGGER USER');
    for (const change of changes) await run(change);
    found = await verifyLedger(transaction);
    throw new RolledBack();
  });
  await assert.rejects(work, RolledBack);
  return found;
}

async function rulesBrokenBy(...changes: string[]): Promise<readonly string[]> {
  const rules = (await violationsAfter(...changes)).map((violation) => violation.rule);
  return [...new Set(rules)].toSorted();
}

describe('the proof of the ledger', () => {
  it('finds nothing where all is well', async () => {
    assert.deepEqual(await verifyLedger(room.database), []);
  });

  it('finds a micro that came from nowhere or went there', async () => {
    for (const sign of ['+', '-']) {
      const change = `UPDATE account_counters SET available_micro_usd = available_micro_usd ${sign} 1`;
      assert.deepEqual(await rulesBrokenBy(change), [PAID_IN]);
    }
    assert.deepEqual(await rulesBrokenBy(`DELETE FROM ledger_entries WHERE kind = 'topup'`), [PAID_IN]);
  });

  it('names the account, with all the amounts', async () => {
    const [violation] = await violationsAfter('UPDATE account_counters SET available_micro_usd = 7');

    assert.deepEqual(violation, {
      rule: PAID_IN,
      subject: accountId,
      detail: `1000000000 <> 7 + ${PRICE} + ${PRICE / 2n}`,
    });
  });

  it('finds money that is held for no open task', async () => {
    const change = `UPDATE account_counters SET held_micro_usd = held_micro_usd + 1,
                                                available_micro_usd = available_micro_usd - 1`;

    assert.deepEqual(await rulesBrokenBy(change), [HELD]);
  });

  it('finds an open task that holds another amount than its account does', async () => {
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

  it('finds a task that ended without a settlement, or was settled without having ended', async () => {
    const [violation] = (
      await violationsAfter(`DELETE FROM ledger_entries WHERE kind = 'release' AND reference = '${failed}'`)
    ).filter(({ rule }) => rule === ONE_SETTLEMENT);
    assert.equal(violation?.subject, failed);

    const early = `INSERT INTO ledger_entries (account_id, kind, reference, amount_micro_usd, available_after_micro_usd,
                                               held_after_micro_usd)
                   VALUES ('${accountId}', 'release', '${open}', ${PRICE}, 0, 0)`;
    assert.ok((await rulesBrokenBy(early)).includes(ONE_SETTLEMENT));
  });

  it('finds a settlement of another amount than was held', async () => {
    const change = `UPDATE ledger_entries SET amount_micro_usd = amount_micro_usd + 1
                     WHERE kind = 'release' AND reference = '${succeeded}'`;

    assert.ok((await rulesBrokenBy(change)).includes(ONE_SETTLEMENT));
  });

  it('finds a task that shows its owner another price than was taken', async () => {
    const change = `UPDATE tasks SET captured_micro_usd = captured_micro_usd - 1 WHERE id = '${succeeded}'`;

    assert.deepEqual(await rulesBrokenBy(change), [ONE_SETTLEMENT]);
  });

  it('finds a slot that no open task occupies', async () => {
    assert.deepEqual(await rulesBrokenBy('UPDATE account_counters SET running = running + 1'), [SLOTS]);
    assert.deepEqual(await rulesBrokenBy('UPDATE account_counters SET queued = queued + 1'), [SLOTS]);
  });

  it('says no more than a hundred things', async () => {
    const change = `INSERT INTO tasks (id, account_id, key_id, fingerprint, fingerprint_version, model, definition_hash,
                                       storage, held_micro_usd, queue_deadline_at)
                    SELECT 'orphan-' || n, 'acc_none', 'key', '', 1, 'm', 'h', 'temp', 1, now()
                      FROM generate_series(1, 300) n`;

    assert.equal((await violationsAfter(change)).length, 100);
  });
});
