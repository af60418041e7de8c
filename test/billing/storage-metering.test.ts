/** The metering of persistent storage: exact over any time, once per account and day, never below zero. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { adjust, topUp } from '../../src/billing/ledger.ts';
import { listUnpaidAccounts, meterStorage, storageCost, storageCostOfDay } from '../../src/billing/storage-metering.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import { newId } from '../../src/domain/ids.ts';
import { deleteOutputs } from '../../src/tasks/lifecycle/storage-operations.ts';
import { STORAGE_PRICE, createStorageRoom } from '../objects/stored-outputs.ts';
import type { StorageRoom } from '../objects/stored-outputs.ts';
import { PRICE, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';

const GB = 1_000_000_000;
const DAY_MS = 86_400_000;
const MICROSECONDS_OF_DAY = 86_400_000_000n;

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

function meterAt(now: number, priceMicroUsdPerGbMonth = STORAGE_PRICE): Promise<number> {
  return meterStorage(room.database, { now, priceMicroUsdPerGbMonth });
}

interface Day {
  readonly day: string;
  readonly byteSeconds: string;
  readonly due: bigint;
  readonly paid: bigint;
}

function daysOf(caller: Caller): Promise<readonly Day[]> {
  return room.rows<Day>(
    `SELECT day::text, trim_scale(byte_seconds)::text AS "byteSeconds", due_micro_usd AS due, paid_micro_usd AS paid
       FROM storage_days WHERE account_id = $1 ORDER BY day`,
    caller.accountId,
  );
}

function entriesOf(caller: Caller): Promise<readonly Record<string, unknown>[]> {
  return room.rows(
    `SELECT kind, reference, amount_micro_usd AS amount, key_id AS "keyId", model,
            available_after_micro_usd AS available, held_after_micro_usd AS held
       FROM ledger_entries WHERE account_id = $1 AND reference LIKE 'storage:%' ORDER BY id`,
    caller.accountId,
  );
}

/** Sets the balance of an account, whatever it was. */
async function leave(caller: Caller, microUsd: bigint): Promise<void> {
  const { availableMicroUsd } = await room.account(caller);
  await room.database.transaction((transaction) =>
    adjust(transaction, caller.accountId, microUsd - availableMicroUsd, newId('topup')),
  );
}

describe('the cost of storage', () => {
  // Proves C5-15.
  it('is the monthly price for 1e9 bytes stored for a whole month, however long the month is', () => {
    for (const [month, days] of [
      ['2026-01', 31n],
      ['2026-02', 28n],
      ['2024-02', 29n],
      ['2026-04', 30n],
    ] as const) {
      const kept = BigInt(GB) * days * MICROSECONDS_OF_DAY;
      assert.equal(storageCost(kept, STORAGE_PRICE, Date.parse(`${month}-15`)), STORAGE_PRICE, month);
    }
  });

  it('is rounded up once, to the micro, and is zero for zero bytes', () => {
    const at = Date.parse('2026-06-30T23:59:59Z');
    assert.equal(storageCost(0n, STORAGE_PRICE, at), 0n);
    assert.equal(storageCost(1n, STORAGE_PRICE, at), 1n);
    assert.equal(storageCost(1n, 0n, at), 0n);
    // 50,000 / 30 = 1,666.67
    assert.equal(storageCostOfDay(GB, STORAGE_PRICE, at), 1_667n);
  });

  it('is exact beyond the range of a floating-point number', () => {
    const at = Date.parse('2026-06-01');
    const month = 30n * MICROSECONDS_OF_DAY;
    const bytes = 9_007_199_254_740_993n;
    // The price of one byte for a month is one micro-USD.
    assert.equal(storageCost(bytes * month, BigInt(GB), at), bytes);
    assert.equal(storageCost(bytes * month + 1n, BigInt(GB), at), bytes + 1n);
  });
});

describe('metering', () => {
  // Proves C5-15.
  it('charges each ended UTC day by its own month, and the first and last for the part that was stored', async () => {
    const { caller, outputIds } = await storage.newOutputs([30 * GB]);
    await storage.promoteAt(caller, outputIds, Date.parse('2026-01-30T12:00:00Z'));
    const now = Date.parse('2026-02-02T06:00:00Z');
    await deleteOutputs(room.database, { accountId: caller.accountId, outputIds, now });
    const { availableMicroUsd } = await room.account(caller);

    await meterAt(Date.parse('2026-02-05T00:30:00Z'));

    // 30 GB at 50,000 a month: 48,387.1 a day of January, 53,571.4 a day of February.
    assert.deepEqual(await daysOf(caller), [
      { day: '2026-01-30', byteSeconds: String(30 * GB * 43_200), due: 24_194n, paid: 24_194n },
      { day: '2026-01-31', byteSeconds: String(30 * GB * 86_400), due: 48_388n, paid: 48_388n },
      { day: '2026-02-01', byteSeconds: String(30 * GB * 86_400), due: 53_572n, paid: 53_572n },
      { day: '2026-02-02', byteSeconds: String(30 * GB * 21_600), due: 13_393n, paid: 13_393n },
    ]);
    assert.equal((await room.account(caller)).availableMicroUsd, availableMicroUsd - 139_547n);
  });

  // Proves C7-40.
  it('adds up several outputs of a day before it rounds', async () => {
    const { caller, outputIds } = await storage.newOutputs([1, 1, 1]);
    await storage.promoteAt(caller, outputIds, Date.parse('2026-03-01T00:00:00Z'));

    await meterAt(Date.parse('2026-03-02T00:05:00Z'));

    assert.deepEqual(
      (await daysOf(caller)).map(({ day, byteSeconds, due }) => ({ day, byteSeconds, due })),
      [{ day: '2026-03-01', byteSeconds: '259200', due: 1n }],
    );
  });

  // Proves C7-41.
  it('writes a hold and its capture for each day, with available balance and hold after each', async () => {
    const caller = await room.newCaller({ microUsd: 1_000_000n });
    const { outputIds } = await storage.taskWithOutputs(caller, [31 * GB]);
    await storage.promoteAt(caller, outputIds, Date.parse('2026-03-10T00:00:00Z'));
    await room.creator.create(caller, { model: 'acme/images', input: { prompt: 'held meanwhile' } }, undefined);

    await meterAt(Date.parse('2026-03-11T00:05:00Z'));

    const reference = `storage:${caller.accountId}:2026-03-10`;
    const available = 1_000_000n - 2n * PRICE - 50_000n;
    const shared = { reference, amount: 50_000n, keyId: null, model: null, available };
    assert.deepEqual(await entriesOf(caller), [
      { kind: 'hold', ...shared, held: PRICE + 50_000n },
      { kind: 'capture', ...shared, held: PRICE },
    ]);
  });

  it('charges a day once, however often and in however many processes it runs at the same time', async () => {
    const { caller, outputIds } = await storage.newOutputs([31 * GB]);
    await storage.promoteAt(caller, outputIds, Date.parse('2026-03-20T00:00:00Z'));
    const now = Date.parse('2026-03-24T01:00:00Z');

    await Promise.all(Array.from({ length: 6 }, () => meterAt(now)));
    assert.equal(await meterAt(now), 0);

    assert.deepEqual(
      (await daysOf(caller)).map(({ day, paid }) => [day, paid]),
      ['20', '21', '22', '23'].map((day) => [`2026-03-${day}`, 50_000n]),
    );
    assert.equal((await entriesOf(caller)).length, 8);
  });

  it('skips a day that has not ended, or ends at this moment', async () => {
    const { caller, outputIds } = await storage.newOutputs([GB]);
    await storage.promoteAt(caller, outputIds, Date.parse('2026-04-01T10:00:00Z'));

    for (const time of ['2026-04-01T23:59:59Z', '2026-04-02T00:00:00Z', '2026-04-02T00:00:59Z']) {
      await meterAt(Date.parse(time));
      assert.deepEqual(await daysOf(caller), [], time);
    }
    await meterAt(Date.parse('2026-04-02T00:01:00Z'));
    assert.equal((await daysOf(caller)).length, 1);
  });

  it('catches up after a pause, and skips days without storage', async () => {
    const caller = await room.newCaller();
    const first = await storage.taskWithOutputs(caller, [GB]);
    await storage.promoteAt(caller, first.outputIds, Date.parse('2025-01-01T00:00:00Z'));
    const gone = { accountId: caller.accountId, outputIds: first.outputIds, now: Date.parse('2025-01-02T00:00:00Z') };
    await deleteOutputs(room.database, gone);
    await meterAt(Date.parse('2025-01-10T00:05:00Z'));
    const second = await storage.taskWithOutputs(caller, [GB]);
    await storage.promoteAt(caller, second.outputIds, Date.parse('2025-12-30T00:00:00Z'));

    await meterAt(Date.parse('2026-01-02T00:05:00Z'));

    assert.deepEqual(
      (await daysOf(caller)).map(({ day }) => day),
      ['2025-01-01', '2025-12-30', '2025-12-31', '2026-01-01'],
    );
  });

  // Proves C5-18.
  it('takes at most the available balance, never goes below zero, and leaves no debt', async () => {
    const { caller, outputIds } = await storage.newOutputs([30 * GB]);
    await storage.promoteAt(caller, outputIds, Date.parse('2026-04-10T00:00:00Z'));
    await leave(caller, 70_000n);

    await meterAt(Date.parse('2026-04-13T00:05:00Z'));

    assert.deepEqual(
      (await daysOf(caller)).map(({ due, paid }) => [due, paid]),
      [
        [50_000n, 50_000n],
        [50_000n, 20_000n],
        [50_000n, 0n],
      ],
    );
    assert.equal((await room.account(caller)).availableMicroUsd, 0n);
    // A day without a charge has no entries.
    assert.equal((await entriesOf(caller)).length, 4);

    await room.database.transaction((transaction) => topUp(transaction, caller.accountId, 200_000n, newId('topup')));
    await meterAt(Date.parse('2026-04-14T00:05:00Z'));
    assert.equal((await room.account(caller)).availableMicroUsd, 150_000n);
  });

  it('never goes below zero while the account spends and settles concurrently', async () => {
    const { caller, outputIds } = await storage.newOutputs([30 * GB]);
    await storage.promoteAt(caller, outputIds, Date.parse('2026-04-20T00:00:00Z'));
    await leave(caller, 100_000n);

    const creates = Array.from({ length: 12 }, (_, index) =>
      room.creator.create(caller, { model: 'acme/images', input: { prompt: `${index}` } }, undefined),
    );
    await Promise.allSettled([meterAt(Date.parse('2026-04-25T00:05:00Z')), ...creates]);

    const { availableMicroUsd, heldMicroUsd } = await room.account(caller);
    const paid = (await daysOf(caller)).reduce((sum, day) => sum + day.paid, 0n);
    assert.equal(availableMicroUsd + heldMicroUsd + paid, 100_000n);
    assert.deepEqual(await verifyLedger(room.database), []);
  });

  it('records days that cost nothing without charging for them', async () => {
    const caller = await room.newCaller({ microUsd: PRICE });
    const { outputIds } = await storage.taskWithOutputs(caller, [1]);
    await room.database.transaction((transaction) => topUp(transaction, caller.accountId, 1n, newId('topup')));
    await storage.promoteAt(caller, outputIds, Date.parse('2026-05-01T00:00:00Z'));

    await meterAt(Date.parse('2026-05-02T00:05:00Z'), 0n);

    assert.deepEqual(
      (await daysOf(caller)).map(({ due, paid }) => [due, paid]),
      [[0n, 0n]],
    );
    assert.deepEqual(await entriesOf(caller), []);
  });
});

describe('an account counts as unpaid', () => {
  it('after seven successive days that it could not pay, not after six, and not when one between was paid', async () => {
    const { caller, outputIds } = await storage.newOutputs([30 * GB]);
    const began = Date.parse('2026-06-01T00:00:00Z');
    await storage.promoteAt(caller, outputIds, began);
    await leave(caller, 0n);
    const afterDays = async (days: number): Promise<boolean> => {
      const now = began + days * DAY_MS + 5 * 60_000;
      await meterAt(now);
      return (await listUnpaidAccounts(room.database, now)).includes(caller.accountId);
    };

    assert.equal(await afterDays(6), false);
    await room.database.transaction((transaction) => topUp(transaction, caller.accountId, 50_000n, newId('topup')));
    assert.equal(await afterDays(7), false);
    assert.equal(await afterDays(13), false);
    assert.equal(await afterDays(14), true);
  });
});
