/** The ledger of text calls: a hold before, one settlement after, many together, and never more than the balance. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { readAccount, updateLimits } from '../../../src/accounts/accounts.ts';
import { SCOPES } from '@darkroom/api/facts/scopes';
import type { Caller } from '../../../src/accounts/authenticate.ts';
import { createKey } from '../../../src/accounts/keys.ts';
import type { SpendCaps } from '../../../src/accounts/keys.ts';
import { InsufficientBalanceError } from '../../../src/billing/ledger.ts';
import { SpendCapError } from '../../../src/billing/spend-caps.ts';
import { readExceededHolds, readOperatorCosts } from '../../../src/billing/operator-costs.ts';
import { readUsage } from '../../../src/billing/usage.ts';
import { verifyLedger } from '../../../src/billing/verify.ts';
import { DatabaseUnavailableError, UniqueViolationError } from '../../../src/database/database.ts';
import type { NewTextCall } from '../../../src/text/money/move.ts';
import { listAllCalls } from '../../../src/text/money/list-calls.ts';
import { TooManyStreamsError } from '../../../src/text/money/hold-one-by-one.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { PRICE, body, openTaskRoom } from '../../tasks/task-room.ts';
import type { TaskRoom } from '../../tasks/task-room.ts';
import {
  entriesOf,
  newTextCall,
  openTextProcess,
  readTextCall,
  settlementOf,
  statementsOf,
  withSpendCaps,
} from './text-processes.ts';
import type { TextProcess } from './text-processes.ts';

let room: TaskRoom;
let process: TextProcess;
let other: TextProcess;
before(async () => {
  room = await openTaskRoom();
  [process, other] = [await openTextProcess(room), await openTextProcess(room)];
});
after(async () => {
  await process.close();
  await other.close();
  await room.close();
});

/** Available and held amounts, and how many calls are under way. */
async function balancesOf({ accountId }: Caller): Promise<readonly [bigint, bigint, number]> {
  const { availableMicroUsd, heldMicroUsd, textStreams } = await readAccount(room.database, accountId);
  return [availableMicroUsd, heldMicroUsd, textStreams];
}

/** The outcomes of simultaneous holds. */
async function outcomesOf(calls: readonly NewTextCall[], at: TextProcess = process): Promise<readonly unknown[]> {
  const outcomes = await Promise.allSettled(calls.map((call) => at.ledger.hold(call)));
  return outcomes.map((outcome) => (outcome.status === 'fulfilled' ? 'held' : outcome.reason));
}

const namesOf = (outcomes: readonly unknown[]): readonly string[] =>
  outcomes.map((outcome) => (outcome instanceof Error ? outcome.name : String(outcome)));

async function provesItself(): Promise<void> {
  assert.deepEqual(await verifyLedger(room.database), []);
}

describe('a text call', () => {
  it('has its worst case held before it, and is captured and released after it', async () => {
    const caller = await room.newCaller({ microUsd: 5_000n });
    const call = newTextCall(caller, { isStored: true });

    await process.ledger.hold(call);

    assert.deepEqual(await balancesOf(caller), [4_000n, 1_000n, 1]);
    const held = await readTextCall(room, call.id);
    assert.equal(held?.settled_at, null);
    assert.equal(held.process_id, process.processId);
    assert.equal(held.is_stored, true);

    process.ledger.settle(settlementOf(call, 123n, { isEstimated: true }));
    await process.ledger.flush();

    assert.deepEqual(await balancesOf(caller), [4_877n, 0n, 0]);
    assert.deepEqual(await entriesOf(room, call.id), [
      ['hold', 1_000n, 4_000n, 1_000n],
      ['capture', 123n, 4_000n, 877n],
      ['release', 877n, 4_877n, 0n],
    ]);
    const row = await readTextCall(room, call.id);
    assert.ok(row?.settled_at instanceof Date);
    assert.deepEqual(
      [row.captured_micro_usd, row.input_tokens, row.cached_input_tokens, row.output_tokens, row.reasoning_tokens],
      [123n, 10, 2, 5, 1],
    );
    assert.deepEqual([row.is_stored, row.is_estimated], [true, true]);
    await provesItself();
  });

  it('is listed to operators with its end user, how it ended and why', async () => {
    const caller = await room.newCaller();
    const [answered, failed, open] = [
      newTextCall(caller, { endUser: 'ada' }),
      newTextCall(caller, { endUser: 'ada' }),
      newTextCall(caller, { endUser: 'bob' }),
    ];
    await Promise.all([answered, failed, open].map((call) => process.ledger.hold(call)));
    process.ledger.settle({ ...settlementOf(answered, 10n), outcome: 'answered', upstream: 'text:acme' });
    process.ledger.settle({ ...settlementOf(failed, 0n), outcome: 'failed', errorReason: 'upstream_timeout' });
    await process.ledger.flush();

    const listed = async (user?: string) => {
      const { rows } = await listAllCalls(room.database, { keyId: caller.keyId, user, size: 10 });
      return new Map(rows.map(({ id, status, reason, upstream }) => [id, [status, reason, upstream]]));
    };
    const ofAda: readonly (readonly [string, unknown])[] = [
      [answered.id, ['answered', null, 'text:acme']],
      [failed.id, ['failed', 'upstream_timeout', null]],
    ];
    assert.deepEqual(await listed('ada'), new Map(ofAda));
    assert.deepEqual(await listed(), new Map([...ofAda, [open.id, ['in_progress', null, null]]]));
    assert.equal((await listed('eve')).size, 0);
  });

  it('is captured as a whole, or released as a whole, with one entry', async () => {
    const caller = await room.newCaller();
    const [whole, none, free] = [
      newTextCall(caller),
      newTextCall(caller),
      newTextCall(caller, { heldMicroUsd: 0n, floorMicroUsd: 0n }),
    ];
    for (const call of [whole, none, free]) await process.ledger.hold(call);

    process.ledger.settle(settlementOf(whole, 1_000n));
    process.ledger.settle(settlementOf(none, 0n));
    process.ledger.settle(settlementOf(free, 0n));
    await process.ledger.flush();

    for (const [call, entry, held] of [
      [whole, 'capture', 1_000n],
      [none, 'release', 1_000n],
      [free, 'release', 0n],
    ] as const) {
      const entries = (await entriesOf(room, call.id)).map(([kind, amount]) => [kind, amount]);
      assert.deepEqual(entries, [
        ['hold', held],
        [entry, held],
      ]);
    }
    await provesItself();
  });

  it('has reported usage beyond the hold recorded once, as an operator cost of its own kind', async () => {
    const caller = await room.newCaller();
    const model = `acme/${caller.keyId}`;
    const [reported, estimated] = [newTextCall(caller, { model }), newTextCall(caller, { model })];
    await Promise.all([reported, estimated].map((call) => process.ledger.hold(call)));
    for (let times = 0; times < 2; times++) {
      process.ledger.settle({ ...settlementOf(reported, 1_081n), upstream: 'text:acme' });
    }
    process.ledger.settle(settlementOf(estimated, 1_081n, { isEstimated: true }));
    await process.ledger.flush();

    assert.equal((await readTextCall(room, reported.id))?.captured_micro_usd, 1_000n);
    const [{ day } = { day: '' }] = await room.rows<{ day: string }>(
      `SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day`,
    );
    const costs = await readOperatorCosts(room.database, { from: '2026-01-01', to: day });
    assert.deepEqual(
      costs.filter((cost) => cost.model === model),
      [{ upstream: 'text:acme', model, reason: 'hold_exceeded', tasks: 1, atMostMicroUsd: 81n }],
    );
    const exceeded = await readExceededHolds(room.database, caller.accountId, { from: day, to: day });
    assert.deepEqual(exceeded, { calls: 1, microUsd: 81n });
    const { id } = reported;
    const announced = { id, model, upstream: 'text:acme', dueMicroUsd: '1081', heldMicroUsd: '1000' };
    assert.deepEqual(
      process.exceeded.filter((hold) => hold.model === model),
      [announced],
    );
    assert.deepEqual(await verifyLedger(room.database), []);
  });

  it('is never captured above its hold, nor below zero, whatever an upstream reports', async () => {
    const caller = await room.newCaller({ microUsd: 10_000n });
    const [dear, odd] = [newTextCall(caller), newTextCall(caller)];
    for (const call of [dear, odd]) await process.ledger.hold(call);

    process.ledger.settle(settlementOf(dear, 10n ** 30n, { inputTokens: 1e300, outputTokens: Number.NaN }));
    process.ledger.settle(settlementOf(odd, -5n, { inputTokens: -1, cachedInputTokens: 4.5 }));
    await process.ledger.flush();

    assert.deepEqual(await balancesOf(caller), [9_000n, 0n, 0]);
    assert.equal((await readTextCall(room, dear.id))?.input_tokens, 2_147_483_647);
    assert.equal((await readTextCall(room, odd.id))?.cached_input_tokens, 0);
    await provesItself();
  });

  it('is settled once, however often and by whichever process that is requested', async () => {
    const caller = await room.newCaller({ microUsd: 5_000n });
    const call = newTextCall(caller);
    await process.ledger.hold(call);

    for (const captured of [100n, 200n]) process.ledger.settle(settlementOf(call, captured));
    await process.ledger.flush();
    other.ledger.settle(settlementOf(call, 300n));
    process.ledger.settle(settlementOf(call, 400n));
    await Promise.all([process.ledger.flush(), other.ledger.flush()]);

    assert.deepEqual(await balancesOf(caller), [4_900n, 0n, 0]);
    assert.equal((await entriesOf(room, call.id)).length, 3);
    await provesItself();
  });

  it('is settled once when the two ways to settle it would write no entry of the same kind', async () => {
    const caller = await room.newCaller({ microUsd: 5_000n });
    const [released, captured] = [newTextCall(caller), newTextCall(caller)];
    for (const call of [released, captured]) await process.ledger.hold(call);
    process.ledger.settle(settlementOf(released, 0n));
    process.ledger.settle(settlementOf(captured, 1_000n));
    await process.ledger.flush();
    const standIn = newTextCall(caller, { heldMicroUsd: 3_000n });
    await process.ledger.hold(standIn);

    other.ledger.settle(settlementOf(released, 1_000n));
    other.ledger.settle(settlementOf(captured, 0n));
    await other.ledger.flush();

    assert.deepEqual(await balancesOf(caller), [1_000n, 3_000n, 1]);
    await provesItself();
  });

  it('takes one statement to hold, which also writes pending settlements', async () => {
    const caller = await room.newCaller();
    const [first, second] = [newTextCall(caller), newTextCall(caller)];
    room.forgetStatements();

    await process.ledger.hold(first);
    process.ledger.settle(settlementOf(first, 1n));
    await process.ledger.hold(second);

    assert.deepEqual(statementsOf(room), ['move_text_money', 'move_text_money']);
    assert.notEqual((await readTextCall(room, first.id))?.settled_at, null);
  });

  it('is settled soon when no other call follows', async () => {
    const caller = await room.newCaller();
    const call = newTextCall(caller);
    await process.ledger.hold(call);

    process.ledger.settle(settlementOf(call, 1n));

    await waitFor('the call is settled', async () => (await readTextCall(room, call.id))?.settled_at !== null);
  });

  it('is included in the usage of its account, by its model and key', async () => {
    const caller = await room.newCaller();
    const key = await createKey(room.database, caller.accountId, { name: 'second', scopes: SCOPES });
    const calls = [newTextCall(caller), newTextCall({ ...caller, keyId: key.id }), newTextCall(caller)];
    for (const call of calls) await process.ledger.hold(call);
    for (const [index, call] of calls.entries()) process.ledger.settle(settlementOf(call, BigInt(10 ** index)));
    await process.ledger.flush();

    const today = new Date().toISOString().slice(0, 10);
    const usage = await readUsage(room.database, caller.accountId, {
      from: '2000-01-01',
      to: today,
      groupBy: ['model', 'keyId'],
    });

    assert.deepEqual(
      usage.toSorted((a, b) => Number(b.capturedMicroUsd - a.capturedMicroUsd)),
      [
        { model: 'acme/words', keyId: caller.keyId, capturedMicroUsd: 101n, count: 2 },
        { model: 'acme/words', keyId: key.id, capturedMicroUsd: 10n, count: 1 },
      ],
    );
  });
});

describe('many text calls of one account', () => {
  it('are held in a few statements, each with the balances after it', async () => {
    const caller = await room.newCaller({ microUsd: 1_000_000n });
    const calls = Array.from({ length: 60 }, () => newTextCall(caller));
    room.forgetStatements();

    assert.deepEqual(new Set(await outcomesOf(calls)), new Set(['held']));

    assert.deepEqual(statementsOf(room), ['move_text_money', 'move_text_money']);
    assert.deepEqual(await balancesOf(caller), [940_000n, 60_000n, 60]);
    for (const [index, { id }] of calls.entries()) {
      const held = BigInt(index + 1) * 1_000n;
      assert.deepEqual(await entriesOf(room, id), [['hold', 1_000n, 1_000_000n - held, held]]);
    }
    for (const call of calls) process.ledger.settle(settlementOf(call, 10n));
    room.forgetStatements();
    await process.ledger.flush();
    assert.deepEqual(statementsOf(room), ['move_text_money']);
    assert.deepEqual(await balancesOf(caller), [999_400n, 0n, 0]);
    await provesItself();
  });

  it('are decided individually, in order, when the money is not enough for all', async () => {
    const caller = await room.newCaller({ microUsd: 9_000n });
    const needs = [1_000n, 4_000n, 3_000n, 4_000n, 1_000n, 1n];

    const outcomes = await outcomesOf(needs.map((heldMicroUsd) => newTextCall(caller, { heldMicroUsd })));

    assert.deepEqual(namesOf(outcomes), [
      'held',
      'held',
      'held',
      'InsufficientBalanceError',
      'held',
      'InsufficientBalanceError',
    ]);
    const [poor, poorer] = [outcomes[3], outcomes[5]];
    assert.ok(poor instanceof InsufficientBalanceError && poorer instanceof InsufficientBalanceError);
    assert.deepEqual([poor.accountId, poor.availableMicroUsd, poor.neededMicroUsd], [caller.accountId, 1_000n, 4_000n]);
    assert.deepEqual([poorer.availableMicroUsd, poorer.neededMicroUsd], [0n, 1n]);
    assert.deepEqual(await balancesOf(caller), [0n, 9_000n, 4]);
    await provesItself();
  });

  it('can use the money and the slots of calls that ended before them', async () => {
    const caller = await room.newCaller({ microUsd: 1_000n, textStreamsCap: 1 });
    let call = newTextCall(caller);
    await process.ledger.hold(call);

    for (let round = 0; round < 20; round++) {
      process.ledger.settle(settlementOf(call, 0n));
      call = newTextCall(caller);
      await process.ledger.hold(call);
    }

    assert.deepEqual(await balancesOf(caller), [0n, 1_000n, 1]);
  });

  it('that cost more than the maximum are rejected, without affecting others', async () => {
    const caller = await room.newCaller({ microUsd: 5_000n });
    const calls = [1_000n, 10n ** 40n, 1_000n, 2n ** 63n, 1_000n].map((heldMicroUsd) =>
      newTextCall(caller, { heldMicroUsd, floorMicroUsd: 1n }),
    );

    assert.deepEqual(namesOf(await outcomesOf(calls)), [
      'held',
      'InsufficientBalanceError',
      'held',
      'InsufficientBalanceError',
      'held',
    ]);
    await provesItself();
  });

  it('share the account with tasks', async () => {
    const caller = await room.newCaller({ microUsd: 2n * PRICE + 1_500n });
    await Promise.all([
      room.creator.create(caller, body(), undefined),
      process.ledger.hold(newTextCall(caller)),
      room.creator.create(caller, body(), undefined),
    ]);

    await assert.rejects(process.ledger.hold(newTextCall(caller)), InsufficientBalanceError);
    await assert.rejects(room.creator.create(caller, body(), undefined), InsufficientBalanceError);

    assert.deepEqual(await balancesOf(caller), [500n, 2n * PRICE + 1_000n, 1]);
    await provesItself();
  });

  it('are not affected by an invalid one', async () => {
    const caller = await room.newCaller({ microUsd: 100_000n });
    const known = newTextCall(caller);
    await process.ledger.hold(known);
    const calls = [
      newTextCall(caller),
      newTextCall(caller),
      { ...newTextCall(caller), id: known.id },
      newTextCall(caller),
    ];

    const outcomes = await outcomesOf(calls);

    assert.deepEqual(namesOf(outcomes), ['held', 'held', 'UniqueViolationError', 'held']);
    assert.ok(outcomes[2] instanceof UniqueViolationError);
    assert.deepEqual(await balancesOf(caller), [96_000n, 4_000n, 4]);
    await provesItself();
  });
});

describe('the concurrency limit of text calls', () => {
  it('is exact across all processes', async () => {
    const caller = await room.newCaller({ textStreamsCap: 7 });
    const calls = Array.from({ length: 40 }, () => newTextCall(caller));

    const [here, there] = await Promise.all([
      outcomesOf(calls.slice(0, 20), process),
      outcomesOf(calls.slice(20), other),
    ]);

    const outcomes = [...here, ...there];
    assert.equal(outcomes.filter((outcome) => outcome === 'held').length, 7);
    const rejections = outcomes.filter((outcome) => outcome !== 'held');
    assert.ok(rejections.every((rejection) => rejection instanceof TooManyStreamsError && rejection.cap === 7));
    assert.deepEqual((await balancesOf(caller))[2], 7);

    // Two end, and two more are accepted.
    const held = calls.filter((_, index) => outcomes[index] === 'held');
    for (const call of held.slice(0, 2)) process.ledger.settle(settlementOf(call, 1n));
    await process.ledger.flush();
    const more = await outcomesOf(
      Array.from({ length: 5 }, () => newTextCall(caller)),
      other,
    );
    assert.equal(more.filter((outcome) => outcome === 'held').length, 2);
    await provesItself();
  });

  it('may be lowered below the current number, and set to zero', async () => {
    const caller = await room.newCaller({ textStreamsCap: 3 });
    const calls = [newTextCall(caller), newTextCall(caller), newTextCall(caller)];
    for (const call of calls) await process.ledger.hold(call);
    await updateLimits(room.database, caller.accountId, { textStreamsCap: 0 });

    for (const call of calls) process.ledger.settle(settlementOf(call, 1n));
    await assert.rejects(process.ledger.hold(newTextCall(caller)), TooManyStreamsError);
    await process.ledger.flush();

    assert.equal((await balancesOf(caller))[2], 0);
    await provesItself();
  });
});

describe('a key with spend caps', () => {
  const cappedCaller = async (spendCaps: SpendCaps): Promise<Caller> =>
    withSpendCaps(room, await room.newCaller({ microUsd: 1_000_000n }), spendCaps);

  it('holds as much as its caps leave, also concurrently', async () => {
    const caller = await cappedCaller({ dayMicroUsd: 5_000n, totalMicroUsd: 3_500n });

    const outcomes = await outcomesOf(Array.from({ length: 5 }, () => newTextCall(caller)));

    assert.deepEqual(namesOf(outcomes), ['held', 'held', 'held', 'SpendCapError', 'SpendCapError']);
    const [, , , rejection] = outcomes;
    assert.ok(rejection instanceof SpendCapError);
    assert.deepEqual(
      [rejection.period, rejection.capMicroUsd, rejection.leftMicroUsd, rejection.neededMicroUsd],
      ['total', 3_500n, 500n, 1_000n],
    );
    await provesItself();
  });

  it('counts what was captured, and no longer what was released', async () => {
    const caller = await cappedCaller({ dayMicroUsd: 2_000n });
    const calls = [newTextCall(caller), newTextCall(caller)];
    assert.deepEqual(await outcomesOf(calls), ['held', 'held']);
    await assert.rejects(process.ledger.hold(newTextCall(caller)), { name: 'SpendCapError', period: 'day' });

    for (const call of calls) process.ledger.settle(settlementOf(call, 250n));

    assert.deepEqual(namesOf(await outcomesOf([newTextCall(caller), newTextCall(caller)])), ['held', 'SpendCapError']);
    await provesItself();
  });

  it('does not affect other keys', async () => {
    const capped = await cappedCaller({ dayMicroUsd: 1_000n });
    const plain = { ...capped, keyId: 'another', spendCapIds: [] };
    const callers = [capped, plain, capped, plain, capped];

    assert.deepEqual(namesOf(await outcomesOf(callers.map((caller) => newTextCall(caller)))), [
      'held',
      'held',
      'SpendCapError',
      'held',
      'SpendCapError',
    ]);
    await provesItself();
  });
});

describe('when the database is unavailable', () => {
  it('a settlement is retried until it is written', async () => {
    const away = await openTextProcess(room);
    const caller = await room.newCaller({ microUsd: 5_000n });
    const call = newTextCall(caller);
    await away.ledger.hold(call);

    away.wire.state = 'cut';
    away.ledger.settle(settlementOf(call, 100n));
    await away.ledger.flush();
    await assert.rejects(away.ledger.hold(newTextCall(caller)), DatabaseUnavailableError);
    assert.deepEqual(await balancesOf(caller), [4_000n, 1_000n, 1]);
    away.wire.state = 'good';

    await waitFor('the call is settled', async () => (await balancesOf(caller))[2] === 0);
    assert.deepEqual(await balancesOf(caller), [4_900n, 0n, 0]);
    await away.close();
    await provesItself();
  });

  it('in the middle of a settlement, it is made once', async () => {
    const away = await openTextProcess(room);
    const caller = await room.newCaller({ microUsd: 5_000n });
    const call = newTextCall(caller);
    await away.ledger.hold(call);

    away.wire.state = 'deaf';
    away.ledger.settle(settlementOf(call, 100n));
    await away.ledger.flush();
    assert.deepEqual(await balancesOf(caller), [4_900n, 0n, 0]);
    away.wire.state = 'good';
    await away.close();

    assert.deepEqual(await balancesOf(caller), [4_900n, 0n, 0]);
    assert.equal((await entriesOf(room, call.id)).length, 3);
    await provesItself();
  });

  it('in the middle of a hold, nothing stays held', async () => {
    const away = await openTextProcess(room);
    const [plain, owner] = [await room.newCaller({ microUsd: 5_000n }), await room.newCaller({ microUsd: 5_000n })];
    const capped = await withSpendCaps(room, owner, { dayMicroUsd: 1_000n });
    const calls = [newTextCall(plain), newTextCall(capped)];

    away.wire.state = 'deaf';
    assert.deepEqual(namesOf(await outcomesOf(calls, away)), Array(2).fill('DatabaseUnavailableError'));
    for (const caller of [plain, capped]) assert.deepEqual(await balancesOf(caller), [4_000n, 1_000n, 1]);
    away.wire.state = 'good';

    for (const caller of [plain, capped]) {
      await waitFor('nothing is held', async () => (await balancesOf(caller))[2] === 0);
      assert.deepEqual(await balancesOf(caller), [5_000n, 0n, 0]);
    }
    await away.close();
    await provesItself();
  });

  it('before a hold, that hold is prevented from being written late', async () => {
    const away = await openTextProcess(room);
    const caller = await room.newCaller({ microUsd: 5_000n });
    const call = newTextCall(caller);
    away.wire.state = 'cut';
    await assert.rejects(away.ledger.hold(call), DatabaseUnavailableError);
    away.wire.state = 'good';
    await away.ledger.flush();

    await assert.rejects(process.ledger.hold(call), UniqueViolationError);

    assert.deepEqual(await balancesOf(caller), [5_000n, 0n, 0]);
    assert.equal((await readTextCall(room, call.id))?.process_id, null);
    assert.deepEqual(await entriesOf(room, call.id), []);
    await away.close();
    await provesItself();
  });

  it('permanently, the process exits without waiting, and the calls are left to others', async () => {
    const away = await openTextProcess(room);
    const caller = await room.newCaller({ microUsd: 5_000n });
    const call = newTextCall(caller);
    await away.ledger.hold(call);
    away.wire.state = 'cut';
    away.ledger.settle(settlementOf(call, 100n));

    await away.close();

    assert.deepEqual(await balancesOf(caller), [4_000n, 1_000n, 1]);
    await away.lapse();
    await process.sweep();
    assert.deepEqual(await balancesOf(caller), [4_970n, 0n, 0]);
    await provesItself();
  });
});

describe('the shutdown of a process', () => {
  it('writes all pending settlements', async () => {
    const ending = await openTextProcess(room);
    const callers = await Promise.all(
      Array.from({ length: 4 }, () => room.newCaller({ microUsd: 500_000n, textStreamsCap: 1_000 })),
    );
    const calls = callers.flatMap((caller) => Array.from({ length: 250 }, () => newTextCall(caller)));
    await Promise.all(calls.map((call) => ending.ledger.hold(call)));
    for (const call of calls) ending.ledger.settle(settlementOf(call, 7n));

    await ending.close();

    for (const caller of callers) assert.deepEqual(await balancesOf(caller), [500_000n - 250n * 7n, 0n, 0]);
    await provesItself();
  });
});
