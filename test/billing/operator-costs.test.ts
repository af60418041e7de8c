/** What the operator may have to pay although no account was charged (contract §7 "Money"). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { readOperatorCosts } from '../../src/billing/operator-costs.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { FailureReason } from '../../src/domain/failure-reason.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { declareIntent } from '../../src/tasks/lifecycle/intents.ts';
import { readWorkingTask } from '../../src/tasks/lifecycle/transitions.ts';
import { recordJob } from '../../src/tasks/lifecycle/generations.ts';
import { PRICE, body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';

describe('the operator’s own cost', () => {
  let room: TaskRoom;
  before(async () => {
    room = await openTaskRoom();
  });
  after(() => room.close());

  async function end(reason: FailureReason, was: 'nowhere' | 'announced' | 'taken', upstream: string): Promise<void> {
    const caller = await room.newCaller();
    const { taskId } = await room.creator.create(caller, body(), undefined);
    const at = { upstreamName: upstream, upstreamIndex: 0, label: 1 };
    if (was === 'announced') await declareIntent(room.database, taskId, at);
    if (was === 'taken') await recordJob(room.database, await readWorkingTask(room.database, taskId), at, 'job');
    for (let times = 0; times < 2; times++) {
      await settleTask(room.database, taskId, { status: 'fail', reason }, { retentionDays: 7 });
    }
    assert.equal((await room.account(caller)).availableMicroUsd, 1_000_000_000n);
  }

  const costsOf = async (upstream: string): Promise<unknown> => {
    const day = new Date().toISOString().slice(0, 10);
    const costs = await readOperatorCosts(room.database, { from: day, to: day });
    return costs
      .filter((cost) => cost.upstream === upstream)
      .map(({ model, reason, tasks, atMostMicroUsd }) => ({ model, reason, tasks, atMostMicroUsd }));
  };

  // Proves C7-38.
  it('is the hold of work that a provider had when its time ran out, or may have accepted: once per task', async () => {
    await end('timed_out', 'taken', 'one:example.com');
    await end('timed_out', 'taken', 'one:example.com');
    await end('outcome_unknown', 'announced', 'one:example.com');

    assert.deepEqual(await costsOf('one:example.com'), [
      { model: 'acme/images', reason: 'outcome_unknown', tasks: 1, atMostMicroUsd: PRICE },
      { model: 'acme/images', reason: 'timed_out', tasks: 2, atMostMicroUsd: 2n * PRICE },
    ]);
    assert.deepEqual(await verifyLedger(room.database), []);
  });

  it('is the hold of cancelled or fruitless work that a provider may bill', async () => {
    await end('cancelled', 'taken', 'four:example.com');
    await end('cancelled', 'announced', 'four:example.com');
    await end('no_output', 'taken', 'four:example.com');

    assert.deepEqual(await costsOf('four:example.com'), [
      { model: 'acme/images', reason: 'cancelled', tasks: 2, atMostMicroUsd: 2n * PRICE },
      { model: 'acme/images', reason: 'no_output', tasks: 1, atMostMicroUsd: PRICE },
    ]);
  });

  it('is zero when no provider was called, or when the provider itself reported the failure', async () => {
    await end('timed_out', 'nowhere', 'two:example.com');
    await end('cancelled', 'nowhere', 'two:example.com');
    await end('provider_error', 'taken', 'two:example.com');

    assert.deepEqual(await costsOf('two:example.com'), []);
  });

  it('is counted on the requested UTC days only', async () => {
    await end('timed_out', 'taken', 'three:example.com');

    const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    assert.deepEqual(await readOperatorCosts(room.database, { from: '2026-01-01', to: yesterday }), []);
  });
});
