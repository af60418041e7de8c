/** What happens to persistent outputs when the account cannot pay for them (contract §5), on an advanced clock. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { adjust, topUp } from '../../src/billing/ledger.ts';
import { meterStorage } from '../../src/billing/storage-metering.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import { newId } from '../../src/domain/ids.ts';
import { returnUnpaidOutputs } from '../../src/tasks/lifecycle/storage-operations.ts';
import { STORAGE_PRICE, createStorageRoom } from '../objects/stored-outputs.ts';
import type { StorageRoom } from '../objects/stored-outputs.ts';
import { openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

const GB = 1_000_000_000;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

let room: TaskRoom;
let storage: StorageRoom;
before(async () => {
  room = await openTaskRoom();
  storage = createStorageRoom(room);
});
after(async () => {
  assert.deepEqual(await verifyLedger(room.database), []);
  await room.close();
});

describe('unpaid storage', () => {
  const FIVE_MINUTES_MS = 5 * MINUTE_MS;

  /** Meters and returns, as one pass of the schedule does. */
  async function passAt(now: number): Promise<number> {
    await meterStorage(room.database, { now, priceMicroUsdPerGbMonth: STORAGE_PRICE });
    return returnUnpaidOutputs(room.database, { now, retentionDays: 7 });
  }

  // Proves C5-19.
  it('returns to temp after seven days, and is retained for the retention days from then on', async () => {
    const { caller, taskId, outputIds } = await storage.newOutputs([GB, GB]);
    const [early = '', late = ''] = outputIds;
    const began = Date.parse('2026-07-01T00:00:00Z');
    await storage.promoteAt(caller, [early], began);
    await storage.promoteAt(caller, [late], began + DAY_MS);
    const { availableMicroUsd } = await room.account(caller);
    await room.database.transaction((transaction) =>
      adjust(transaction, caller.accountId, -availableMicroUsd, newId('topup')),
    );

    assert.equal(await passAt(began + 6 * DAY_MS + FIVE_MINUTES_MS), 0);
    const now = began + 7 * DAY_MS + FIVE_MINUTES_MS;
    assert.equal(await passAt(now), 1);
    assert.equal(await passAt(now), 0);

    assert.deepEqual(await storage.outputOf(early), {
      tier: 'temp',
      isPending: false,
      retainUntil: new Date(now + 7 * DAY_MS),
      goneReason: null,
    });
    assert.equal((await storage.outputOf(late)).tier, 'persistent');
    assert.deepEqual(await storage.periodsOf(early), [{ began, ended: now }]);
    assert.deepEqual((await storage.eventsOf(taskId)).at(-1), {
      type: 'storage_fell_back',
      detail: { outputId: early, storage: 'temp', reason: 'unpaid' },
    });
    assert.equal(await storage.persistentBytes(caller), GB);

    assert.equal(await passAt(now + DAY_MS), 1);
    assert.equal(await storage.persistentBytes(caller), 0);

    // Outputs that were returned can be promoted again when there is a balance.
    await room.database.transaction((transaction) => topUp(transaction, caller.accountId, 1_000_000n, newId('topup')));
    await storage.promoteAt(caller, [early], now + 2 * DAY_MS);
    assert.equal((await storage.periodsOf(early)).length, 2);
  });

  it('stays when a part of it was paid in full on one of the days', async () => {
    const { caller, outputIds } = await storage.newOutputs([31 * GB]);
    const began = Date.parse('2026-08-01T00:00:00Z');
    await storage.promoteAt(caller, outputIds, began);
    const { availableMicroUsd } = await room.account(caller);
    await room.database.transaction((transaction) =>
      adjust(transaction, caller.accountId, 50_000n - availableMicroUsd, newId('topup')),
    );

    assert.equal(await passAt(began + 7 * DAY_MS + FIVE_MINUTES_MS), 0);
    assert.equal((await storage.outputOf(outputIds[0] ?? '')).tier, 'persistent');
    assert.equal(await passAt(began + 8 * DAY_MS + FIVE_MINUTES_MS), 1);
  });
});
