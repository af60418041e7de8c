import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { AccountNotFoundError } from '../../src/accounts/accounts.ts';
import { settle, topUp } from '../../src/billing/ledger.ts';
import type { Settlement } from '../../src/billing/ledger.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import { UniqueViolationError } from '../../src/database/database.ts';
import { PRICE, body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom();
});
after(() => room.close());

describe('a top-up', () => {
  it('adds to the available balance and writes its entry', async () => {
    const caller = await room.newCaller({ microUsd: 0n });

    const balance = await room.database.transaction((transaction) =>
      topUp(transaction, caller.accountId, 5_000_000n, 'invoice-1'),
    );

    assert.equal(balance, 5_000_000n);
    assert.equal((await room.account(caller)).availableMicroUsd, 5_000_000n);
    assert.deepEqual(await verifyLedger(room.database), []);
  });

  // Proves C7-41.
  it('is rejected a second time under the same reference, and nothing is added', async () => {
    const caller = await room.newCaller({ microUsd: 0n });
    const once = (): Promise<bigint> =>
      room.database.transaction((transaction) => topUp(transaction, caller.accountId, 1n, 'invoice-2'));
    await once();

    const again = await Promise.allSettled(Array.from({ length: 8 }, once));

    for (const answer of again)
      assert.ok(answer.status === 'rejected' && answer.reason instanceof UniqueViolationError);
    assert.equal((await room.account(caller)).availableMicroUsd, 1n);
  });

  it('is rejected for an account that does not exist', async () => {
    await assert.rejects(topUp(room.database, 'acc_none', 1n, 'invoice-3'), AccountNotFoundError);
    assert.deepEqual(await room.rows(`SELECT 1 FROM ledger_entries WHERE reference = 'invoice-3'`), []);
  });
});

describe('the ledger', () => {
  it('is append-only: no entry can be changed or deleted', async () => {
    await room.newCaller();

    await assert.rejects(room.rows('UPDATE ledger_entries SET amount_micro_usd = 0'), /ledger_entries is append-only/);
    await assert.rejects(room.rows('DELETE FROM ledger_entries'), /ledger_entries is append-only/);
  });

  // Proves C7-39.
  it('accepts one settlement per reference, and the second one rolls back its transaction', async () => {
    const caller = await room.newCaller();
    const { taskId } = await room.creator.create(caller, body(), undefined);
    const settlement: Settlement = {
      keyId: caller.keyId,
      reference: taskId,
      model: 'acme/images',
      heldMicroUsd: PRICE,
      capturedMicroUsd: 0n,
      occupied: 'queued',
    };
    await room.creator.create(caller, body(), undefined);
    await settle(room.database, caller.accountId, [settlement]);

    await assert.rejects(settle(room.database, caller.accountId, [settlement]), UniqueViolationError);

    assert.equal((await room.account(caller)).heldMicroUsd, PRICE);
    assert.equal((await room.account(caller)).queued, 1);
  });

  it('never allows a negative balance: the database itself rejects it', async () => {
    const caller = await room.newCaller({ microUsd: 1n });
    const text = 'UPDATE account_counters SET available_micro_usd = -1 WHERE account_id = $1';

    await assert.rejects(room.rows(text, caller.accountId), /account_counters_available_micro_usd_check/);
    await assert.rejects(
      room.rows('UPDATE account_counters SET held_micro_usd = -1 WHERE account_id = $1', caller.accountId),
      /account_counters_held_micro_usd_check/,
    );
  });
});
