/**
 * A transaction that is frozen with an account's row locked, because its process was stopped in the middle: the
 * account waits for it, and no other does. No test here measures time: all work of the others is done while that
 * transaction is still open.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { SCOPES } from '@darkroom/api/facts/scopes';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { createKey } from '../../src/accounts/keys.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import { createPinnedDefinitions } from '../../src/catalogue/pinned-definitions.ts';
import { startLauncher } from '../../src/processes/launcher.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { readTask } from '../../src/tasks/record/read.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { NO_TRACES } from '../../src/telemetry/tracing.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { openAccountWork } from './account-work.ts';
import type { AccountWork } from './account-work.ts';
import { freeze } from './freeze.ts';
import { HeldGateway } from '../processes/held-gateway.ts';
import { body, openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

/** More than the pool has connections. */
const MANY = 30;
/** For each position in the order of accounts, before the frozen one and after it. */
const OTHERS = 6;

let room: TaskRoom;
let work: AccountWork;
before(async () => {
  room = await openTaskRoom();
  work = await openAccountWork(room);
});
after(async () => {
  assert.deepEqual(await verifyLedger(room.database), []);
  await room.close();
});

for (const step of ['a create under a spend cap', 'a settlement'] as const) {
  describe(`a process that is stopped inside ${step}`, () => {
    it('does not block other accounts from creating, launching, settling and cancelling', async (t) => {
      const owner = await room.newCaller();
      const spendCaps = { totalMicroUsd: 1_000_000_000n };
      const key = await createKey(room.database, owner.accountId, { name: 'capped', scopes: SCOPES, spendCaps });
      const capped: Caller = { ...owner, keyId: key.id, spendCapIds: [key.id] };
      const others = await Promise.all(Array.from({ length: OTHERS }, () => room.newCaller()));
      const [settled, ...running] = await work.create(owner, 1 + MANY);
      assert.ok(settled);
      await claimOutbox(room.database, 1_000);
      const waiting = await work.create(owner, MANY);
      const frozen = await (step === 'a settlement'
        ? freeze(room, t, 'commit', owner.accountId, key.id, settled)
        : freeze(room, t, 'charge_spend_caps', owner.accountId, key.id));

      // All requests that the account itself may send meanwhile.
      const blocked = [
        ...Array.from({ length: MANY }, () => work.creator.create(capped, body(), undefined)),
        ...running.map((taskId) => work.settle(owner, taskId)),
        ...waiting.map((taskId) => work.cancel(owner, taskId)),
      ].map((asked) => asked.catch((error: unknown) => error));
      const temporal = new HeldGateway();
      temporal.answersAtOnce = true;
      const { database } = room;
      const launcher = startLauncher({
        database,
        gateway: temporal.gateway,
        definitions: createPinnedDefinitions(database),
        tracing: NO_TRACES,
        logger: silentLogger(),
      });
      try {
        const done = await Promise.all(
          others.map(async (caller) => {
            const [first, second] = await work.create(caller, 2);
            assert.ok(first && second);
            await waitFor('both are launched', () => temporal.started.has(first) && temporal.started.has(second));
            await work.settle(caller, first);
            await work.cancel(caller, second);
            return [first, second];
          }),
        );

        assert.ok(await frozen.isOpen(), 'the transaction ended before all others were done');
        for (const taskId of done.flat()) assert.equal((await readTask(database, taskId)).status, 'fail');

        await frozen.end();
        await Promise.all(blocked);
        const [taskId] = await work.create(owner, 1);
        assert.ok(taskId);
        await waitFor('the account is launched again', () => temporal.started.has(taskId));
      } finally {
        await launcher.close();
      }
    });
  });
}
