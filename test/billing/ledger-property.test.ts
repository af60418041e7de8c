/**
 * The ledger under random interleavings: accounts do everything that moves money or slots, many things at the same
 * moment, and at every quiet point the whole ledger is proved. Meanwhile the counters are read continuously. In the end
 * every task has ended once, and nothing is left of it but its callback.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { setSuspended } from '../../src/accounts/accounts.ts';
import { createKey } from '../../src/accounts/keys.ts';
import { SCOPES } from '@darkroom/api/facts/scopes';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { adjust, topUp } from '../../src/billing/ledger.ts';
import { meterStorage } from '../../src/billing/storage-metering.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { Statement } from '../../src/database/database.ts';
import { newId } from '../../src/domain/ids.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { cancelTask } from '../../src/tasks/lifecycle/cancel.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import type { Verdict } from '../../src/tasks/lifecycle/settle.ts';
import { beginHandling } from '../../src/tasks/lifecycle/transitions.ts';
import { PRICE, body, deliverOutbox, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';

const DAY_MS = 86_400_000;
/** The cost of a day of storage in these tests: enough to be visible next to a task. */
const USD_PER_GB_MONTH = 30_000_000n;
const RETENTION = { retentionDays: 7 };

/** Time does not expire leases of locked rows, so the test must not either. */
const EXPIRE_LEASES: Statement = {
  name: 'expire_leases',
  text: `UPDATE outbox SET due_at = now()
          WHERE id IN (SELECT id FROM outbox WHERE is_ready FOR UPDATE SKIP LOCKED)`,
};

/** One action of an account. Numbers choose among what exists. */
type Step =
  | { readonly does: 'create'; readonly who: number; readonly key: number; readonly storage: 'temp' | 'persistent' }
  | { readonly does: 'launch' | 'deliver' | 'expireLeases' }
  | { readonly does: 'handle'; readonly which: number }
  | { readonly does: 'succeed'; readonly which: number; readonly captured: number; readonly sizeGb: number }
  | { readonly does: 'fail' | 'cancel'; readonly which: number; readonly billed: number }
  | { readonly does: 'topUp' | 'adjust'; readonly who: number; readonly amount: number; readonly reference: number }
  | { readonly does: 'suspend'; readonly who: number; readonly isSuspended: boolean }
  | { readonly does: 'meter'; readonly days: number };

const index = fc.nat({ max: 1_000 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constant('create' as const),
      who: index,
      key: fc.nat({ max: 12 }),
      storage: fc.constantFrom('temp' as const, 'persistent' as const),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constantFrom('launch' as const, 'launch' as const, 'deliver' as const, 'expireLeases' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('handle' as const), which: index }) },
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constant('succeed' as const),
      which: index,
      captured: fc.nat({ max: 12_000 }),
      sizeGb: fc.nat({ max: 60 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constantFrom('fail' as const, 'cancel' as const),
      which: index,
      billed: fc.nat({ max: 12_000 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constantFrom('topUp' as const, 'adjust' as const),
      who: index,
      amount: fc.integer({ min: -30_000, max: 30_000 }),
      reference: fc.nat({ max: 5 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constant('suspend' as const), who: index, isSuspended: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('meter' as const), days: fc.nat({ max: 40 }) }) },
);
/** Waves: everything in one happens at the same moment. */
const waves = fc.array(fc.array(step, { minLength: 4, maxLength: 24 }), { minLength: 2, maxLength: 5 });

const OF_MOVES = ['UniqueViolationError', 'AdjustmentTooLargeError'];
/** Errors that an account may receive; anything else fails the test. */
const EXPECTED: Readonly<Partial<Record<Step['does'], readonly string[]>>> = {
  create: ['InsufficientBalanceError', 'QueueFullError', 'SpendCapError', 'IdempotencyMismatchError'],
  topUp: OF_MOVES,
  adjust: OF_MOVES,
};

describe('the ledger under random interleavings', () => {
  let room: TaskRoom;
  before(async () => {
    room = await openTaskRoom();
  });
  after(() => room.close());

  // Proves C7-42.
  it('adds up at every quiet point, no balance is ever negative, and every task ends once, without a deadlock', async () => {
    await fc.assert(
      fc.asyncProperty(waves, async (plan) => {
        const callers = await newCallers(room);
        const world: World = { room, callers, tasks: [], prefix: newId('topup') };
        for (const wave of plan) {
          const watch = watchCounters(room, callers);
          const outcomes = await Promise.allSettled(wave.map((each) => perform(world, each)));
          await watch.stop();
          for (const [position, { does }] of wave.entries()) {
            const outcome = outcomes[position];
            if (outcome?.status !== 'rejected') continue;
            if (EXPECTED[does]?.includes((outcome.reason as Error).name) !== true) throw outcome.reason;
          }
          assert.deepEqual(await verifyLedger(room.database), []);
        }
        await assertEnds(world);
      }),
      { numRuns: 40, endOnFailure: true },
    );
  });
});

/** Ends what is still open, and requires that every task has ended, with nothing on hold and no gap in its timeline. */
async function assertEnds({ room, callers, tasks }: World): Promise<void> {
  await Promise.all(tasks.map((taskId) => settle(room, taskId, { status: 'fail', reason: 'timed_out' })));
  assert.deepEqual(await verifyLedger(room.database), []);
  for (const caller of callers) {
    const { heldMicroUsd, queued, running } = await room.account(caller);
    assert.deepEqual({ heldMicroUsd, queued, running }, { heldMicroUsd: 0n, queued: 0, running: 0 });
  }
  // A task that its cancel ended may have a workflow that is waiting to start: Temporal is notified of those, and of no
  // other.
  const left = await room.rows(
    `SELECT o.kind FROM outbox o JOIN tasks t ON t.id = o.subject_id
      WHERE t.id = ANY ($1) AND o.kind <> 'deliver_callback'
        AND NOT (o.kind = 'cancel_task' AND t.error_reason = 'cancelled' AND t.started_at IS NULL)`,
    tasks,
  );
  assert.deepEqual(left, []);
  const gaps = await room.rows(
    `SELECT task_id FROM task_events WHERE task_id = ANY ($1) GROUP BY task_id HAVING max(seq) <> count(*)`,
    tasks,
  );
  assert.deepEqual(gaps, []);
}

interface World {
  readonly room: TaskRoom;
  readonly callers: readonly Caller[];
  readonly tasks: TaskId[];
  /** The prefix of this run's references. */
  readonly prefix: string;
}

/**
 * A rich account, a poor one with few slots, a key of the rich one with a low spending limit, and a project that shares
 * the wallet of the rich one, with such a key of its own.
 */
async function newCallers(room: TaskRoom): Promise<readonly Caller[]> {
  const rich = await room.newCaller({ microUsd: 40n * PRICE, runningCap: 5, queueCap: 30 });
  const poor = await room.newCaller({ microUsd: 3n * PRICE, runningCap: 1, queueCap: 2 });
  const project = await room.newCaller({ sharesWalletOf: rich, runningCap: 3, queueCap: 10 });
  return [rich, poor, await withCap(room, rich), project, await withCap(room, project)];
}

async function withCap(room: TaskRoom, caller: Caller): Promise<Caller> {
  const key = await createKey(room.database, caller.accountId, {
    name: 'capped',
    scopes: SCOPES,
    spendCaps: { dayMicroUsd: 2n * PRICE, totalMicroUsd: 4n * PRICE },
  });
  return { ...caller, keyId: key.id, spendCapIds: [key.id] };
}

async function perform({ room, callers, tasks, prefix }: World, does: Step): Promise<void> {
  const caller = 'who' in does ? callers[does.who % callers.length] : undefined;
  const taskId = 'which' in does ? tasks[does.which % Math.max(tasks.length, 1)] : undefined;
  switch (does.does) {
    case 'create': {
      if (caller === undefined) return;
      const key = does.key === 0 ? undefined : `${prefix}-${does.key}`;
      const sent = body({ storage: does.storage, callback: { url: 'https://example.com/hook' } });
      const created = await room.creator.create(caller, sent, key);
      tasks.push(created.taskId);
      return;
    }
    case 'launch':
      await claimOutbox(room.database, 10);
      return;
    case 'deliver':
      await deliverOutbox(room, 20);
      return;
    case 'expireLeases':
      await room.database.query(EXPIRE_LEASES);
      return;
    case 'handle':
      if (taskId !== undefined) await beginHandling(room.database, taskId, 60);
      return;
    case 'succeed': {
      if (taskId === undefined) return;
      const output = {
        type: 'image',
        objectKey: `outputs/${newId('out')}`,
        mimeType: 'image/png',
        sizeBytes: does.sizeGb * 1_000_000_000 + 1,
        sha256: '0'.repeat(64),
      };
      await settle(room, taskId, { status: 'success', outputs: [output], capturedMicroUsd: BigInt(does.captured) });
      return;
    }
    case 'fail':
      if (taskId === undefined) return;
      await settle(room, taskId, { status: 'fail', reason: 'cancelled', capturedMicroUsd: BigInt(does.billed) });
      return;
    case 'cancel': {
      const owner = await ownerOf(room, taskId);
      if (taskId !== undefined && owner !== undefined) await cancelTask(room.database, owner, taskId, 7);
      return;
    }
    case 'topUp':
    case 'adjust': {
      if (caller === undefined || does.amount === 0) return;
      const reference = `${prefix}-${does.reference}`;
      const amount = BigInt(does.does === 'topUp' ? Math.abs(does.amount) : does.amount);
      const move = does.does === 'topUp' ? topUp : adjust;
      await room.database.transaction((transaction) => move(transaction, caller.accountId, amount, reference));
      return;
    }
    case 'suspend':
      if (caller === undefined) return;
      await room.database.transaction((transaction) => setSuspended(transaction, caller.accountId, does.isSuspended));
      return;
    case 'meter':
      await meterStorage(room.database, {
        now: Date.now() + does.days * DAY_MS,
        priceMicroUsdPerGbMonth: USD_PER_GB_MONTH,
      });
      return;
  }
}

async function settle(room: TaskRoom, taskId: TaskId, verdict: Verdict): Promise<void> {
  await settleTask(room.database, taskId, verdict, RETENTION);
}

async function ownerOf(room: TaskRoom, taskId: TaskId | undefined): Promise<string | undefined> {
  if (taskId === undefined) return undefined;
  const statement = { name: 'owner_of_task', text: 'SELECT account_id AS owner FROM tasks WHERE id = $1' };
  const [row] = await room.database.query<{ owner: string }>(statement, [taskId]);
  return row?.owner;
}

/** Reads the counters repeatedly until it is stopped; `stop` throws what it found. */
function watchCounters(room: TaskRoom, callers: readonly Caller[]): { stop(): Promise<void> } {
  let isOver = false;
  const statement = {
    name: 'watch_counters',
    text: `SELECT account_id, available_micro_usd, held_micro_usd FROM account_counters
            WHERE account_id = ANY ($1) AND (available_micro_usd < 0 OR held_micro_usd < 0)`,
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
