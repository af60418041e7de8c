/**
 * The ledger of text calls under random interleavings, together with tasks of the same accounts: several processes
 * hold, settle, die, pause and sweep, many things at the same moment, and at every quiet point the whole ledger is
 * proved.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { setSuspended, updateLimits } from '../../../src/accounts/accounts.ts';
import type { Caller } from '../../../src/accounts/authenticate.ts';
import { adjust, topUp } from '../../../src/billing/ledger.ts';
import { verifyLedger } from '../../../src/billing/verify.ts';
import { newId } from '../../../src/domain/ids.ts';
import type { TaskId } from '../../../src/domain/workflow-ids.ts';
import { claimOutbox } from '../../../src/tasks/outbox/outbox.ts';
import { settleTask } from '../../../src/tasks/lifecycle/settle.ts';
import type { NewTextCall } from '../../../src/text/money/move.ts';
import { PRICE, body, openTaskRoom } from '../../tasks/task-room.ts';
import type { TaskRoom } from '../../tasks/task-room.ts';
import { newTextCall, openTextProcess, readTextCall, settlementOf, withSpendCaps } from './text-processes.ts';
import type { TextProcess } from './text-processes.ts';

/** One action. Numbers choose among what exists. */
type Step =
  | { readonly does: 'hold'; readonly who: number; readonly at: number; readonly amount: number }
  | { readonly does: 'settle'; readonly which: number; readonly captured: number }
  | { readonly does: 'kill' | 'pause' | 'sweep' | 'lose' | 'find'; readonly at: number }
  | { readonly does: 'create'; readonly who: number }
  | { readonly does: 'end'; readonly which: number; readonly captured: number }
  | { readonly does: 'topUp' | 'adjust'; readonly who: number; readonly amount: number }
  | { readonly does: 'suspend'; readonly who: number; readonly isSuspended: boolean }
  | { readonly does: 'limit'; readonly who: number; readonly cap: number };

const index = fc.nat({ max: 1_000 });
const amount = fc.oneof(fc.constant(0), fc.nat({ max: 9_000 }), fc.integer({ min: 40_000, max: 90_000 }));
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ does: fc.constant('hold' as const), who: index, at: index, amount }) },
  { weight: 8, arbitrary: fc.record({ does: fc.constant('settle' as const), which: index, captured: amount }) },
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constantFrom('kill' as const, 'pause' as const, 'sweep' as const, 'lose' as const, 'find' as const),
      at: index,
    }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('create' as const), who: index }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('end' as const), which: index, captured: amount }) },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constantFrom('topUp' as const, 'adjust' as const),
      who: index,
      amount: fc.integer({ min: -30_000, max: 30_000 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constant('suspend' as const), who: index, isSuspended: fc.boolean() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constant('limit' as const), who: index, cap: fc.nat({ max: 12 }) }),
  },
);
/** Waves: everything in one happens at the same moment. */
const waves = fc.array(fc.array(step, { minLength: 1, maxLength: 30 }), { minLength: 2, maxLength: 6 });

/** Errors that an action may cause; anything else fails the test. */
const EXPECTED = new Set([
  'InsufficientBalanceError',
  'SpendCapError',
  'TooManyStreamsError',
  'QueueFullError',
  'AdjustmentTooLargeError',
  'DatabaseUnavailableError',
]);

describe('the ledger of text calls under random interleavings', () => {
  let room: TaskRoom;
  before(async () => {
    room = await openTaskRoom();
  });
  after(() => room.close());

  // Proves C7-43.
  it('adds up at every quiet point, and every call is settled once in the end', async () => {
    await fc.assert(
      fc.asyncProperty(waves, async (plan) => {
        const world = await openWorld(room);
        for (const wave of plan) {
          const watch = watchCounters(world);
          const outcomes = await Promise.allSettled(wave.map((each) => perform(world, each)));
          await Promise.all(world.processes.map((each) => each.ledger.flush()));
          await watch.stop();
          for (const outcome of outcomes) {
            if (outcome.status === 'rejected' && !EXPECTED.has((outcome.reason as Error).name)) throw outcome.reason;
          }
          assert.deepEqual(await verifyLedger(room.database), []);
        }
        await endWorld(world);
      }),
      { numRuns: 40, endOnFailure: true },
    );
  });
});

interface Made {
  readonly call: NewTextCall;
  readonly process: TextProcess;
  /** The amounts of attempted captures, if any. */
  captured: bigint[];
}

interface World {
  readonly room: TaskRoom;
  readonly callers: readonly Caller[];
  readonly processes: TextProcess[];
  readonly dead: Set<TextProcess>;
  readonly made: Made[];
  readonly tasks: TaskId[];
}

/**
 * A rich account, a poor one with few slots, a key of the rich one with a low spending limit, and a project that shares
 * the wallet of the rich one, with such a key of its own.
 */
async function openWorld(room: TaskRoom): Promise<World> {
  const rich = await room.newCaller({ microUsd: 40n * PRICE, runningCap: 5, queueCap: 30, textStreamsCap: 20 });
  const poor = await room.newCaller({ microUsd: 3n * PRICE, runningCap: 1, queueCap: 2, textStreamsCap: 3 });
  const project = await room.newCaller({ sharesWalletOf: rich, runningCap: 3, queueCap: 10, textStreamsCap: 6 });
  return {
    room,
    callers: [rich, poor, await withCap(room, rich), project, await withCap(room, project)],
    processes: await Promise.all([openTextProcess(room), openTextProcess(room), openTextProcess(room)]),
    dead: new Set(),
    made: [],
    tasks: [],
  };
}

/** Another key of the caller, with low caps. */
function withCap(room: TaskRoom, caller: Caller): Promise<Caller> {
  return withSpendCaps(room, caller, { dayMicroUsd: 2n * PRICE, totalMicroUsd: 4n * PRICE });
}

async function perform(world: World, does: Step): Promise<void> {
  const { room, callers, made, tasks } = world;
  const caller = 'who' in does ? callers[does.who % callers.length] : undefined;
  const living = world.processes.filter((each) => !world.dead.has(each));
  const process = 'at' in does ? living[does.at % Math.max(living.length, 1)] : undefined;
  switch (does.does) {
    case 'hold': {
      if (caller === undefined || process === undefined) return;
      const heldMicroUsd = BigInt(does.amount);
      const call = newTextCall(caller, { heldMicroUsd, floorMicroUsd: heldMicroUsd / 10n });
      await process.ledger.hold(call);
      made.push({ call, process, captured: [] });
      return;
    }
    case 'settle': {
      const one = made[does.which % Math.max(made.length, 1)];
      if (one === undefined || world.dead.has(one.process)) return;
      one.captured.push(BigInt(does.captured));
      one.process.ledger.settle(settlementOf(one.call, BigInt(does.captured)));
      return;
    }
    case 'kill':
      if (process === undefined) return;
      world.dead.add(process);
      await process.kill();
      world.processes.push(await openTextProcess(room));
      return;
    case 'pause':
      await process?.lapse();
      return;
    case 'sweep':
      await process?.sweep();
      return;
    case 'lose':
    case 'find':
      if (process !== undefined) process.wire.state = does.does === 'lose' ? 'deaf' : 'good';
      return;
    case 'create':
      if (caller !== undefined) tasks.push((await room.creator.create(caller, body(), undefined)).taskId);
      return;
    case 'end': {
      await claimOutbox(room.database, 10);
      const taskId = tasks[does.which % Math.max(tasks.length, 1)];
      if (taskId === undefined) return;
      const verdict = { status: 'fail', reason: 'cancelled', capturedMicroUsd: BigInt(does.captured) } as const;
      await settleTask(room.database, taskId, verdict, { retentionDays: 7 });
      return;
    }
    case 'topUp':
    case 'adjust': {
      if (caller === undefined || does.amount === 0) return;
      const sum = BigInt(does.does === 'topUp' ? Math.abs(does.amount) : does.amount);
      const move = does.does === 'topUp' ? topUp : adjust;
      await room.database.transaction((transaction) => move(transaction, caller.accountId, sum, newId('topup')));
      return;
    }
    case 'suspend':
      if (caller === undefined) return;
      await room.database.transaction((transaction) => setSuspended(transaction, caller.accountId, does.isSuspended));
      return;
    case 'limit':
      if (caller === undefined) return;
      await updateLimits(room.database, caller.accountId, { textStreamsCap: does.cap });
  }
}

/** All processes end; a new one settles what is left. Then each call was settled once, by one of those that tried. */
async function endWorld({ room, callers, processes, dead, made }: World): Promise<void> {
  for (const process of processes) {
    if (!dead.has(process)) process.wire.state = 'good';
    await process.close();
    await process.lapse();
  }
  const last = await openTextProcess(room);
  await last.sweep();
  await last.close();
  for (const { call, captured } of made) {
    const row = await readTextCall(room, call.id);
    const possible = [...captured, call.floorMicroUsd].map((each) =>
      each < call.heldMicroUsd ? each : call.heldMicroUsd,
    );
    assert.ok(row?.settled_at instanceof Date, `${call.id} is not settled`);
    assert.ok(possible.includes(row.captured_micro_usd ?? -1n), `${call.id} was captured ${row.captured_micro_usd}`);
  }
  const open = await room.rows<{ streams: number }>(
    'SELECT text_streams AS streams FROM account_counters WHERE account_id = ANY ($1) AND text_streams <> 0',
    callers.map(({ accountId }) => accountId),
  );
  assert.deepEqual(open, []);
  assert.deepEqual(await verifyLedger(room.database), []);
}

/** Reads the counters repeatedly until it is stopped; `stop` throws what it found. */
function watchCounters({ room, callers }: World): { stop(): Promise<void> } {
  let isOver = false;
  const statement = {
    name: 'watch_text_counters',
    text: `SELECT account_id FROM account_counters
            WHERE account_id = ANY ($1) AND (available_micro_usd < 0 OR held_micro_usd < 0 OR text_streams < 0)`,
  };
  const watching = (async () => {
    while (!isOver) {
      assert.deepEqual(await room.database.query(statement, [callers.map(({ accountId }) => accountId)]), []);
    }
  })();
  return {
    async stop() {
      isOver = true;
      await watching;
    },
  };
}
