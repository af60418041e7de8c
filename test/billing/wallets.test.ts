/**
 * Several accounts that share a wallet (docs/decisions/0014): what one of them spends, the others do not have, at every
 * moment and after every kill. Limits, slots and spend caps stay those of each account.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { readAccount, setSuspended } from '../../src/accounts/accounts.ts';
import { SCOPES } from '@darkroom/api/facts/scopes';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { createKey } from '../../src/accounts/keys.ts';
import {
  AdjustmentTooLargeError,
  BalanceTooLargeError,
  topUp,
  recordAdjustment,
  recordTopUp,
} from '../../src/billing/ledger.ts';
import { listLedger } from '../../src/billing/ledger-list.ts';
import { meterStorage } from '../../src/billing/storage-metering.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { PRICE, body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { newTextCall, openTextProcess, settlementOf } from '../text/money/text-processes.ts';

const DAY_MS = 86_400_000;
const RETENTION = { retentionDays: 7 };

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom();
});
afterEach(async () => assert.deepEqual(await verifyLedger(room.database), []));
after(() => room.close());

/** Two accounts of one wallet. */
async function newPair(microUsd: bigint, limits: { queueCap?: number; runningCap?: number } = {}) {
  const first = await room.newCaller({ microUsd });
  return { first, project: await room.newCaller({ sharesWalletOf: first, ...limits }) };
}

async function create(caller: Caller, changes: Record<string, unknown> = {}): Promise<TaskId> {
  return (await room.creator.create(caller, body(changes), undefined)).taskId;
}

/** The names of the errors, or what was answered. */
async function outcomesOf(asked: readonly Promise<unknown>[]): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const outcome of await Promise.allSettled(asked)) {
    const name = outcome.status === 'fulfilled' ? 'done' : (outcome.reason as Error).name;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

async function balanceOf(caller: Caller): Promise<readonly [available: bigint, held: bigint]> {
  const { availableMicroUsd, heldMicroUsd } = await room.account(caller);
  return [availableMicroUsd, heldMicroUsd];
}

const withCap = async (caller: Caller, totalMicroUsd: bigint): Promise<Caller> => {
  const spendCaps = { totalMicroUsd };
  const key = await createKey(room.database, caller.accountId, { name: 'capped', scopes: SCOPES, spendCaps });
  return { ...caller, keyId: key.id, spendCapIds: [key.id] };
};

describe('accounts that share a wallet', () => {
  it('see the same money, and hold and settle it with slots of their own', async () => {
    const { first, project } = await newPair(10n * PRICE);
    const [own, shared] = [await create(first), await create(project)];
    await claimOutbox(room.database, 100);

    for (const caller of [first, project]) {
      assert.deepEqual(await balanceOf(caller), [8n * PRICE, 2n * PRICE]);
      const { running, queued } = await room.account(caller);
      assert.deepEqual([running, queued], [1, 0]);
    }
    const verdict = { status: 'success', outputs: [], capturedMicroUsd: PRICE / 4n } as const;
    await settleTask(room.database, shared, verdict, RETENTION);

    assert.deepEqual(await balanceOf(first), [9n * PRICE - PRICE / 4n, PRICE]);
    assert.equal((await room.account(first)).running, 1);
    assert.equal((await room.account(project)).running, 0);
    await settleTask(room.database, own, { status: 'fail', reason: 'no_output' }, RETENTION);
    assert.deepEqual(await balanceOf(project), [10n * PRICE - PRICE / 4n, 0n]);
  });

  it('have entries of their own, which name the wallet and follow one another in it', async () => {
    const { first, project } = await newPair(5n * PRICE);
    const tasks = [await create(project), await create(first), await create(project)];

    const rows = await room.rows(
      `SELECT account_id AS account, wallet_id AS wallet, available_after_micro_usd AS available FROM ledger_entries
        WHERE kind = 'hold' AND reference = ANY ($1) ORDER BY id`,
      tasks,
    );
    assert.deepEqual(rows, [
      { account: project.accountId, wallet: first.accountId, available: 4n * PRICE },
      { account: first.accountId, wallet: null, available: 3n * PRICE },
      { account: project.accountId, wallet: first.accountId, available: 2n * PRICE },
    ]);
    const { entries } = await listLedger(room.database, project.accountId, { size: 10 });
    assert.deepEqual(
      entries.map(({ reference }) => reference),
      [tasks[2], tasks[0]],
    );
  });

  it('race for the last cent: the wallet pays for as many tasks as it covers, and no more', async () => {
    for (const covered of [1n, 1n, 7n, 30n]) {
      const { first, project } = await newPair(covered * PRICE + PRICE - 1n);
      const third = await room.newCaller({ sharesWalletOf: first });

      const asked = Array.from({ length: 90 }, (_, index) => create([first, project, third][index % 3] ?? first));
      const counts = await outcomesOf(asked);

      assert.equal(counts.get('done'), Number(covered));
      assert.equal(counts.get('InsufficientBalanceError'), 90 - Number(covered));
      assert.deepEqual(await balanceOf(project), [PRICE - 1n, covered * PRICE]);
    }
  });

  it('race with single creates, many in one request, capped keys and text calls at the same moment', async () => {
    const { first, project } = await newPair(20n * PRICE);
    const capped = await withCap(project, 3n * PRICE);
    const text = await openTextProcess(room);
    const calls = [first, project].flatMap((caller) =>
      Array.from({ length: 10 }, () => newTextCall(caller, { heldMicroUsd: PRICE })),
    );
    const many = (caller: Caller): Promise<unknown> =>
      room.creator.createMany(
        caller,
        Array.from({ length: 10 }, () => ({ body: body(), idempotencyKey: undefined })),
        () => Promise.resolve(0),
        () => Promise.resolve(),
      );

    await outcomesOf([
      ...Array.from({ length: 20 }, (_, index) => create(index % 2 === 0 ? first : project)),
      ...Array.from({ length: 6 }, () => create(capped)),
      many(first),
      many(project),
      ...calls.map((call) => text.ledger.hold(call)),
    ]);

    // More was asked for than there is, and everything costs the same: all of it is on hold.
    assert.deepEqual(await balanceOf(first), [0n, 20n * PRICE]);
    assert.deepEqual(await verifyLedger(room.database), []);
    for (const call of calls) text.ledger.settle(settlementOf(call, PRICE / 2n));
    await text.ledger.flush();
    await text.close();
    assert.equal((await room.account(project)).textStreams, 0);
  });

  it('hold nothing where the queue of the account, or the cap of its key, has no room', async () => {
    const { first, project } = await newPair(100n * PRICE, { queueCap: 2, runningCap: 0 });

    const full = await outcomesOf(Array.from({ length: 12 }, () => create(project)));
    assert.deepEqual(Object.fromEntries(full), { QueueFullError: 10, done: 2 });
    assert.deepEqual(await balanceOf(first), [98n * PRICE, 2n * PRICE]);

    const other = await withCap(await room.newCaller({ sharesWalletOf: first }), 3n * PRICE);
    const capped = await outcomesOf(Array.from({ length: 6 }, () => create(other)));
    assert.deepEqual(Object.fromEntries(capped), { SpendCapError: 3, done: 3 });
    assert.deepEqual(await balanceOf(first), [95n * PRICE, 5n * PRICE]);
  });

  it('are suspended one by one: the wallet stays that of the others', async () => {
    const { first, project } = await newPair(2n * PRICE);
    await room.database.transaction((transaction) => setSuspended(transaction, first.accountId, true));
    const taskId = await create(project);

    await claimOutbox(room.database, 100);

    assert.equal((await room.account(project)).running, 1);
    await settleTask(room.database, taskId, { status: 'fail', reason: 'no_output' }, RETENTION);
  });

  it('are paid for and corrected through any of them, within the limits of the wallet', async () => {
    const { first, project } = await newPair(5n);

    const { availableMicroUsd } = await recordTopUp(room.database, {
      accountId: project.accountId,
      amountMicroUsd: 7n,
    });

    assert.equal(availableMicroUsd, 12n);
    assert.deepEqual(await balanceOf(first), [12n, 0n]);
    const takes = (amountMicroUsd: bigint): Promise<unknown> =>
      recordAdjustment(room.database, { accountId: project.accountId, amountMicroUsd });
    await takes(-12n);
    await assert.rejects(takes(-1n), AdjustmentTooLargeError);
    const most = 10n ** 18n;
    await recordTopUp(room.database, { accountId: first.accountId, amountMicroUsd: most });
    await assert.rejects(
      recordTopUp(room.database, { accountId: project.accountId, amountMicroUsd: 1n }),
      BalanceTooLargeError,
    );
    assert.deepEqual(await balanceOf(first), [most, 0n]);
  });

  it('pay for the storage of each account from the wallet, as far as it goes', async () => {
    const { first, project } = await newPair(PRICE);
    const taskId = await create(project, { storage: 'persistent' });
    await claimOutbox(room.database, 100);
    const output = { type: 'image', objectKey: `outputs/${taskId}`, mimeType: 'image/png', sha256: '0'.repeat(64) };
    const outputs = [{ ...output, sizeBytes: 1_000_000_000 }];
    await settleTask(room.database, taskId, { status: 'success', outputs, capturedMicroUsd: 0n }, RETENTION);

    const metering = { now: Date.now() + 40 * DAY_MS, priceMicroUsdPerGbMonth: 50_000n };
    await Promise.all(Array.from({ length: 3 }, () => meterStorage(room.database, metering)));

    const [days] = await room.rows<{ paid: bigint; due: bigint }>(
      `SELECT sum(paid_micro_usd)::bigint AS paid, sum(due_micro_usd)::bigint AS due FROM storage_days
        WHERE account_id = $1`,
      project.accountId,
    );
    assert.equal(days?.paid, PRICE);
    assert.ok(days.due > PRICE);
    assert.deepEqual(await balanceOf(first), [0n, 0n]);
  });
});

describe('the database', () => {
  const refusal = (text: string, ...values: unknown[]): Promise<string> =>
    room.rows(text, ...values).then(
      () => 'accepted',
      (error: Error) => error.message,
    );

  it('rejects money beside the wallet, another wallet for an account, and a wallet that draws on another', async () => {
    const { first, project } = await newPair(PRICE);
    const other = await room.newCaller();
    const draw = 'UPDATE account_counters SET wallet_id = $2 WHERE account_id = $1';
    const pay = 'UPDATE account_counters SET available_micro_usd = 1 WHERE account_id = $1';

    assert.match(await refusal(pay, project.accountId), /account_counters_wallet_id_check/);
    assert.match(await refusal(draw, project.accountId, other.accountId), /the wallet of account \w+ cannot change/);
    assert.match(await refusal(draw, project.accountId, null), /the wallet of account \w+ cannot change/);
    assert.match(await refusal(draw, first.accountId, first.accountId), /account_counters_wallet_id_check/);
  });
});

describe('an account', () => {
  it('has an organisation and a wallet of its own, with its id', async () => {
    const { accountId } = await room.newCaller();

    const { organisationId, walletId } = await readAccount(room.database, accountId);

    assert.deepEqual([organisationId, walletId], [accountId, accountId]);
  });

  it('is found with its money by an entry in its own wallet only', async () => {
    const { first, project } = await newPair(0n);
    await room.database.transaction((transaction) => topUp(transaction, project.accountId, 3n, 'for-the-wallet'));

    const { entries } = await listLedger(room.database, first.accountId, { size: 10 });

    assert.deepEqual(entries, []);
    assert.deepEqual(await balanceOf(first), [3n, 0n]);
  });
});
