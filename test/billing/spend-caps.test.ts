/** Spend caps of a key (contract §7): what counts against them, and when it stops counting. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createKey } from '../../src/accounts/keys.ts';
import type { SpendCaps } from '../../src/accounts/keys.ts';
import { SCOPES } from '@darkroom/api/facts/scopes';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { SpendCapError } from '../../src/billing/spend-caps.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { PRICE, body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';

const RETENTION = { retentionDays: 7 };

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom();
});
after(() => room.close());

async function cappedCaller(spendCaps: SpendCaps): Promise<Caller> {
  const caller = await room.newCaller({ runningCap: 1_000 });
  const key = await createKey(room.database, caller.accountId, { name: 'capped', scopes: SCOPES, spendCaps });
  return { ...caller, keyId: key.id, spendCapIds: [key.id] };
}

async function create(caller: Caller): Promise<TaskId> {
  return (await room.creator.create(caller, body(), undefined)).taskId;
}

/** Asserts that one more task is rejected, and returns why. */
async function rejectionFor(caller: Caller): Promise<Pick<SpendCapError, 'period' | 'leftMicroUsd'>> {
  const error = await create(caller).then(
    () => assert.fail('the cap did not reject the call'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof SpendCapError, String(error));
  return { period: error.period, leftMicroUsd: error.leftMicroUsd };
}

/** As if everything that counts today had been spent the day before. */
function tomorrow({ keyId }: Caller): Promise<unknown> {
  return room.rows(
    `UPDATE spend_periods SET period = to_char(period::date - 1, 'YYYY-MM-DD') WHERE cap_id = $1 AND period <> 'total'`,
    keyId,
  );
}

describe('a spend cap', () => {
  // Proves C7-7.
  it('counts holds, and rejects a task that would exceed it without leaving a trace', async () => {
    const caller = await cappedCaller({ totalMicroUsd: 2n * PRICE + 1n });
    await create(caller);
    await create(caller);
    const before = await room.account(caller);

    assert.deepEqual(await rejectionFor(caller), { period: 'total', leftMicroUsd: 1n });

    assert.deepEqual(await room.account(caller), before);
  });

  // Proves C7-7.
  it('no longer counts what a settlement released, and still counts what it captured', async () => {
    const caller = await cappedCaller({ dayMicroUsd: PRICE, totalMicroUsd: PRICE });
    const failed = await create(caller);
    await settleTask(room.database, failed, { status: 'fail', reason: 'no_output' }, RETENTION);

    const succeeded = await create(caller);
    const verdict = { status: 'success', outputs: [], capturedMicroUsd: PRICE - 1n } as const;
    await settleTask(room.database, succeeded, verdict, RETENTION);

    assert.deepEqual(await rejectionFor(caller), { period: 'day', leftMicroUsd: 1n });
  });

  it('of zero admits tasks that cost nothing', async () => {
    const caller = await cappedCaller({ totalMicroUsd: 0n });

    await room.creator.create(caller, body({ model: 'acme/free' }), undefined);

    assert.deepEqual(await rejectionFor(caller), { period: 'total', leftMicroUsd: 0n });
  });

  // Proves C7-7.
  it('is never exceeded by many concurrent requests', async () => {
    const caller = await cappedCaller({ dayMicroUsd: 3n * PRICE });

    const answers = await Promise.allSettled(Array.from({ length: 16 }, () => create(caller)));

    assert.equal(answers.filter(({ status }) => status === 'fulfilled').length, 3);
    for (const answer of answers) assert.ok(answer.status === 'fulfilled' || answer.reason instanceof SpendCapError);
  });

  it('matches the ledger', async () => {
    assert.deepEqual(await verifyLedger(room.database), []);
  });

  // Last: it moves counts to another day, which the proof above would rightly report.
  // Proves C7-7.
  it('per day is reset on the next day, and a total cap is not', async () => {
    const daily = await cappedCaller({ dayMicroUsd: PRICE });
    const both = await cappedCaller({ dayMicroUsd: PRICE, totalMicroUsd: PRICE });
    for (const caller of [daily, both]) {
      await create(caller);
      assert.equal((await rejectionFor(caller)).period, 'day');
      await tomorrow(caller);
    }

    await create(daily);
    assert.equal((await rejectionFor(both)).period, 'total');
  });
});
