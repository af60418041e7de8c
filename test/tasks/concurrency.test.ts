/** Everything at once: accept, claim, cancel, settle and remove neither deadlock nor lose a micro. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { InsufficientBalanceError } from '../../src/billing/ledger.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { Statement } from '../../src/database/database.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { QueueFullError } from '../../src/tasks/create/accept.ts';
import { cancelTask } from '../../src/tasks/lifecycle/cancel.ts';
import { claimOutbox, removeOutbox } from '../../src/tasks/outbox/outbox.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { beginHandling } from '../../src/tasks/lifecycle/transitions.ts';
import { PRICE, body, openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

const RETENTION = { retentionDays: 7 };
const ACCOUNTS = 3;

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom();
});
after(() => room.close());

/** Time does not expire leases of locked rows, so the test must not either. */
const EXPIRE_LEASES: Statement = {
  name: 'expire_leases',
  text: `UPDATE outbox SET due_at = now()
          WHERE id IN (SELECT id FROM outbox WHERE is_ready FOR UPDATE SKIP LOCKED)`,
};

/** One of many simultaneous actions. `pick` chooses an account, and a task among those known by then. */
interface Step {
  readonly action:
    | 'accept'
    | 'accept with a key'
    | 'claim'
    | 'deliver'
    | 'handle'
    | 'cancel'
    | 'succeed'
    | 'fail'
    | 'time out';
  readonly pick: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  action: fc.constantFrom<Step['action']>(
    'accept',
    'accept',
    'accept with a key',
    'claim',
    'claim',
    'deliver',
    'handle',
    'cancel',
    'succeed',
    'fail',
    'time out',
  ),
  pick: fc.nat({ max: 1_000 }),
});

interface Run {
  readonly callers: readonly Caller[];
  readonly tasks: { readonly id: TaskId; readonly caller: Caller }[];
  readonly prefix: string;
}

async function take(run: Run, { action, pick }: Step): Promise<void> {
  const caller = run.callers[pick % ACCOUNTS];
  const known = run.tasks[pick % Math.max(1, run.tasks.length)];
  if (caller === undefined) return;
  switch (action) {
    case 'accept':
    case 'accept with a key': {
      const key = action === 'accept' ? undefined : `${run.prefix}-${pick % 5}`;
      const sent = body({ callback: { url: 'https://example.com/hook' } });
      const { taskId } = await room.creator.create(caller, sent, key);
      run.tasks.push({ id: taskId, caller });
      return;
    }
    case 'claim':
      await claimOutbox(room.database, 1 + (pick % 10));
      return;
    case 'deliver':
      await removeOutbox(
        room.database,
        (await claimOutbox(room.database, 20)).map((item) => item.id),
      );
      return;
    case 'handle':
      if (known) await beginHandling(room.database, known.id, 60);
      return;
    case 'time out':
      await room.database.query(EXPIRE_LEASES);
      return;
    case 'cancel':
      if (known) await cancelTask(room.database, known.caller.accountId, known.id, RETENTION.retentionDays);
      return;
    case 'succeed':
      if (!known) return;
      await settleTask(
        room.database,
        known.id,
        { status: 'success', outputs: [], capturedMicroUsd: BigInt(pick * 13) },
        RETENTION,
      );
      return;
    case 'fail':
      if (known) await settleTask(room.database, known.id, { status: 'fail', reason: 'provider_error' }, RETENTION);
  }
}

describe('accepting, claiming, cancelling and settling at once', () => {
  it('ends every task once, with every micro accounted for and no deadlock', async () => {
    let runs = 0;
    const waves = fc.array(fc.array(step, { minLength: 8, maxLength: 24 }), { minLength: 3, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(waves, async (plan) => {
        const callers = await Promise.all(
          Array.from({ length: ACCOUNTS }, () =>
            room.newCaller({ microUsd: 12n * PRICE, runningCap: 4, queueCap: 10 }),
          ),
        );
        const run: Run = { callers, tasks: [], prefix: `run-${runs++}` };

        for (const wave of plan) {
          const outcomes = await Promise.allSettled(wave.map((each) => take(run, each)));
          for (const outcome of outcomes) {
            if (outcome.status === 'fulfilled') continue;
            const isRejection =
              outcome.reason instanceof InsufficientBalanceError || outcome.reason instanceof QueueFullError;
            if (!isRejection) throw outcome.reason;
          }
          assert.deepEqual(await verifyLedger(room.database), []);
        }

        await Promise.all(
          run.tasks.map((task) =>
            settleTask(room.database, task.id, { status: 'fail', reason: 'timed_out' }, RETENTION),
          ),
        );
        assert.deepEqual(await verifyLedger(room.database), []);
        for (const caller of callers) {
          const { heldMicroUsd, queued, running } = await room.account(caller);
          assert.deepEqual({ heldMicroUsd, queued, running }, { heldMicroUsd: 0n, queued: 0, running: 0 });
        }
        const taskIds = run.tasks.map((task) => task.id);
        // A task that its cancel ended may have a workflow that is waiting to start: Temporal is notified of those,
        // and of no other.
        const left = await room.rows(
          `SELECT o.kind FROM outbox o JOIN tasks t ON t.id = o.subject_id
            WHERE t.id = ANY ($1) AND o.kind <> 'deliver_callback'
              AND NOT (o.kind = 'cancel_task' AND t.error_reason = 'cancelled' AND t.started_at IS NULL)`,
          taskIds,
        );
        assert.deepEqual(left, []);
        const gaps = await room.rows(
          `SELECT task_id FROM task_events WHERE task_id = ANY ($1) GROUP BY task_id HAVING max(seq) <> count(*)`,
          taskIds,
        );
        assert.deepEqual(gaps, []);
      }),
      { numRuns: 25, endOnFailure: true },
    );
  });
});
