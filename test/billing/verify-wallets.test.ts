/** Every way in which the money of a shared wallet could go wrong is simulated, and must be detected. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { PRICE, body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { rulesBrokenBy, violationsAfter } from './broken-ledger.ts';

const PAID_IN = 'topups + adjustments = available + held + captured';
const HELD = 'held = holds - captures - releases = what open tasks and text calls hold';
const LAST = 'the last entry has the balance of the account';
const FOLLOWS = 'every entry follows from the one before it';
const OF_WALLET = 'every entry is of the wallet of its account';
const BESIDE = 'an account that draws on a wallet has no money beside it';
const NO_CHAIN = 'a wallet is an account that draws on no other';

/** Only by hand: the constraints reject it. */
const UNGUARDED = [
  'ALTER TABLE account_counters DROP CONSTRAINT account_counters_wallet_id_check',
  'ALTER TABLE account_counters DISABLE TRIGGER USER',
];

let room: TaskRoom;
let first: Caller;
let project: Caller;
let last: TaskId;
before(async () => {
  room = await openTaskRoom();
  first = await room.newCaller({ microUsd: 10n * PRICE });
  project = await room.newCaller({ sharesWalletOf: first });
  const create = async (caller: Caller): Promise<TaskId> =>
    (await room.creator.create(caller, body(), undefined)).taskId;
  const settled = [await create(first), await create(project)];
  for (const taskId of settled) {
    await settleTask(room.database, taskId, { status: 'fail', reason: 'no_output' }, { retentionDays: 7 });
  }
  await create(first);
  last = await create(project);
});
after(() => room.close());

const of = (caller: Caller): string => `account_id = '${caller.accountId}'`;

describe('verification of a shared wallet', () => {
  it('finds nothing when everything adds up', async () => {
    assert.deepEqual(await verifyLedger(room.database), []);
  });

  it('finds a micro that appeared in the wallet, and names it', async () => {
    const change = `UPDATE account_counters SET available_micro_usd = available_micro_usd + 1 WHERE ${of(first)}`;

    assert.deepEqual(await rulesBrokenBy(room, [change]), [LAST, PAID_IN]);
    const [violation] = await violationsAfter(room, [change]);
    assert.equal(violation?.subject, first.accountId);
  });

  it('finds money beside the wallet', async () => {
    for (const column of ['available_micro_usd', 'held_micro_usd']) {
      const change = `UPDATE account_counters SET ${column} = 1 WHERE ${of(project)}`;
      assert.deepEqual(await rulesBrokenBy(room, [...UNGUARDED, change]), [BESIDE], column);
    }
  });

  it('finds an entry that moved another wallet than that of its account', async () => {
    const change = `UPDATE ledger_entries SET wallet_id = NULL WHERE reference = '${last}'`;
    assert.ok((await rulesBrokenBy(room, [change])).includes(OF_WALLET));

    const foreign = `UPDATE ledger_entries SET wallet_id = '${project.accountId}' WHERE ${of(first)}`;
    assert.ok((await rulesBrokenBy(room, [foreign])).includes(OF_WALLET));
  });

  it('finds a hold that no account of the wallet has', async () => {
    const change = `UPDATE account_counters SET held_micro_usd = held_micro_usd + 1,
                           available_micro_usd = available_micro_usd - 1 WHERE ${of(first)}`;

    assert.deepEqual(await rulesBrokenBy(room, [change]), [HELD, LAST]);
  });

  it('finds an entry of one account that does not follow from that of another', async () => {
    const change = `UPDATE ledger_entries SET available_after_micro_usd = available_after_micro_usd + 1
                     WHERE kind = 'hold' AND reference = '${last}'`;

    assert.deepEqual(await rulesBrokenBy(room, [change]), [FOLLOWS, LAST]);
  });

  it('finds the missing last entry of the wallet, whichever account it is of', async () => {
    const change = `DELETE FROM ledger_entries WHERE reference = '${last}'`;

    assert.ok((await rulesBrokenBy(room, [change])).includes(LAST));
  });

  it('finds a wallet that draws on another one', async () => {
    const { accountId } = await room.newCaller({ microUsd: 0n });
    const change = `UPDATE account_counters SET wallet_id = '${accountId}' WHERE ${of(first)}`;

    assert.ok((await rulesBrokenBy(room, [...UNGUARDED, change])).includes(NO_CHAIN));
  });
});
