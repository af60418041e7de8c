/**
 * Rows of accounts that stay locked, because a process was stopped in the middle of a transaction: the accounts wait for
 * it, and no other does. Many of them together take no more of the connections than one would, and the accounts of a
 * shared wallet are known to wait as soon as one of them has waited in vain. No test here measures time: all work of the
 * others is done while the rows are still locked.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { SCOPES } from '@darkroom/api/facts/scopes';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { createKey } from '../../src/accounts/keys.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import { createPinnedDefinitions } from '../../src/catalogue/pinned-definitions.ts';
import { DatabaseUnavailableError } from '../../src/database/database.ts';
import {
  AccountBusyError,
  REQUESTS_WAIT,
  createAccountDatabase,
  createStalledRows,
} from '../../src/limits/row-databases.ts';
import { startLauncher } from '../../src/processes/launcher.ts';
import type { Launcher, LauncherDependencies } from '../../src/processes/launcher.ts';
import { createTaskCreator } from '../../src/tasks/create/create.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { readTask } from '../../src/tasks/record/read.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { NO_TRACES } from '../../src/telemetry/tracing.ts';
import { lockRows } from '../support/locked-rows.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { openAccountWork } from './account-work.ts';
import type { AccountWork } from './account-work.ts';
import { freeze } from './freeze.ts';
import { HeldGateway } from '../processes/held-gateway.ts';
import { body, openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

/** As test/support/test-database.ts opens it. */
const POOL_SIZE = 10;
/** More requests of one account than the pool has connections. */
const MANY = 30;
/** So many that a busy account would hardly ever find a free slot. */
const STALLED = 30;
/** Accounts whose rows are locked: with one connection each and half of the remaining ones they would take the pool. */
const FROZEN = 6;
/** The number of each kind of request of such an account, at any time. */
const EACH = 5;
/** Accounts that go on: for each position in the order of accounts, before the frozen ones and after them. */
const OTHERS = 6;
/** Tasks that each of the others creates and ends, one after the other. */
const ROUNDS = 5;
/** Accounts that share a wallet with another one. */
const PROJECTS = 12;

const LOCK_ACCOUNTS = 'SELECT 1 FROM account_counters WHERE account_id = ANY ($1) FOR UPDATE';

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

/** The same account with a key whose creates cannot be batched. */
async function withSpendCap(owner: Caller): Promise<Caller> {
  const spendCaps = { totalMicroUsd: 1_000_000_000n };
  const key = await createKey(room.database, owner.accountId, { name: 'capped', scopes: SCOPES, spendCaps });
  return { ...owner, keyId: key.id, spendCapIds: [key.id] };
}

/** Whether a request was answered, and need not be repeated. */
async function isAnswered(request: () => Promise<unknown>): Promise<boolean> {
  try {
    await request();
    return true;
  } catch (error) {
    return !(error instanceof DatabaseUnavailableError);
  }
}

/** A launcher whose Temporal answers at once. @param changes of what it works with. */
function launch(changes: Partial<LauncherDependencies> = {}): { temporal: HeldGateway; launcher: Launcher } {
  const temporal = new HeldGateway();
  temporal.answersAtOnce = true;
  const { database } = room;
  const launcher = startLauncher({
    database,
    gateway: temporal.gateway,
    definitions: createPinnedDefinitions(database),
    tracing: NO_TRACES,
    logger: silentLogger(),
    ...changes,
  });
  return { temporal, launcher };
}

/** Creates two tasks, waits until both are launched, ends one of them, cancels the other, and reads both. */
async function workAs(caller: Caller, temporal: HeldGateway): Promise<void> {
  const [first, second] = await work.create(caller, 2);
  assert.ok(first && second);
  await waitFor('both are launched', () => temporal.started.has(first) && temporal.started.has(second));
  await work.settle(caller, first);
  await work.cancel(caller, second);
  for (const taskId of [first, second]) assert.equal((await readTask(room.database, taskId)).status, 'fail');
}

for (const step of ['a create under a spend cap', 'a settlement'] as const) {
  describe(`a process that is stopped inside ${step}`, () => {
    it('does not block other accounts from creating, launching, reading, settling and cancelling', async (t) => {
      const owner = await room.newCaller();
      const capped = await withSpendCap(owner);
      const others = await Promise.all(Array.from({ length: OTHERS }, () => room.newCaller()));
      const [settled, ...running] = await work.create(owner, 1 + MANY);
      assert.ok(settled);
      await claimOutbox(room.database, 1_000);
      const waiting = await work.create(owner, MANY);
      const frozen = await (step === 'a settlement'
        ? freeze(room, t, 'commit', owner.accountId, capped.keyId, settled)
        : freeze(room, t, 'charge_spend_caps', owner.accountId, capped.keyId));

      // All requests that the account itself may send meanwhile.
      const blocked = [
        ...Array.from({ length: MANY }, () => work.creator.create(capped, body(), undefined)),
        ...running.map((taskId) => work.settle(owner, taskId)),
        ...waiting.map((taskId) => work.cancel(owner, taskId)),
      ].map((asked) => asked.catch((error: unknown) => error));
      const { temporal, launcher } = launch();
      try {
        await Promise.all(others.map((caller) => workAs(caller, temporal)));

        assert.ok(await frozen.isOpen(), 'the transaction ended before all others were done');

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

describe('accounts whose rows stay locked', () => {
  it('do not block other accounts from creating, launching, reading, settling and cancelling', async () => {
    const others = await Promise.all(Array.from({ length: OTHERS }, () => room.newCaller()));
    const frozen = await Promise.all(Array.from({ length: FROZEN }, () => room.newCaller()));
    const capped = await Promise.all(frozen.map((owner) => withSpendCap(owner)));
    const running = await Promise.all(frozen.map((owner) => work.create(owner, EACH)));
    await claimOutbox(room.database, 1_000);
    const waiting = await Promise.all(frozen.map((owner) => work.create(owner, EACH)));
    const locked = await lockRows(
      room.url,
      LOCK_ACCOUNTS,
      frozen.map(({ accountId }) => accountId),
    );

    let isOver = false;
    /** Repeats a request until it is answered, as clients and activities do. */
    const ask = (request: () => Promise<unknown>): Promise<void> =>
      waitFor('it is answered', async () => isOver || (await isAnswered(request)), 20);
    const asked = frozen.flatMap((owner, index) => [
      ...Array.from({ length: EACH }, () => ask(() => work.creator.create(capped[index] ?? owner, body(), undefined))),
      ...(running[index] ?? []).map((taskId) => ask(() => work.settle(owner, taskId))),
      ...(waiting[index] ?? []).map((taskId) => ask(() => work.cancel(owner, taskId))),
    ]);
    const { temporal, launcher } = launch();
    try {
      await Promise.all(
        others.map(async (caller) => {
          for (let done = 0; done < ROUNDS; done++) await workAs(caller, temporal);
        }),
      );

      await locked.release();
      await Promise.all(asked);
      for (const taskId of running.flat()) assert.equal((await readTask(room.database, taskId)).status, 'fail');
    } finally {
      isOver = true;
      await locked.release();
      await Promise.all(asked);
      await launcher.close();
    }
  });

  it('leave the launcher a slot to wait for an account that is only busy', async () => {
    const busy = await room.newCaller();
    const frozen = await Promise.all(Array.from({ length: STALLED }, () => room.newCaller()));
    const [task] = await work.create(busy, 1);
    assert.ok(task);
    const waiting = (await Promise.all(frozen.map((caller) => work.create(caller, 1)))).flat();
    const stalledAccounts = createStalledRows();
    for (const { accountId } of frozen) stalledAccounts.add(accountId);
    const lockedForLong = await lockRows(
      room.url,
      LOCK_ACCOUNTS,
      frozen.map(({ accountId }) => accountId),
    );
    const lockedForNow = await lockRows(room.url, LOCK_ACCOUNTS, [busy.accountId]);
    const { database } = room;
    /** Accounts whose rows the launcher waits for, in order. */
    const waitedFor: unknown[] = [];
    const { temporal, launcher } = launch({
      database: {
        ...database,
        query(statement, values) {
          if (statement.name === 'claim_outbox_of_account') waitedFor.push(values?.at(-1));
          return database.query(statement, values);
        },
      },
      stalledAccounts,
    });
    try {
      await waitFor('two rows are waited for', () => waitedFor.length >= 2, 5);
      assert.ok(waitedFor.slice(0, 2).includes(busy.accountId), 'both slots are taken by accounts that stay locked');
      await lockedForNow.release();
      await waitFor('its task is launched', () => temporal.started.has(task));
      assert.ok(!waiting.some((taskId) => temporal.started.has(taskId)), 'the rows were free before it was');
    } finally {
      await lockedForNow.release();
      await lockedForLong.release();
      await launcher.close();
    }
  });
});

describe('a process that is stopped with a shared wallet locked', () => {
  it('blocks the accounts of the wallet, which are all known after one has waited, and no others', async (t) => {
    const first = await room.newCaller();
    const projects = await Promise.all(
      Array.from({ length: PROJECTS }, () => room.newCaller({ sharesWalletOf: first })),
    );
    const stranger = await room.newCaller();
    const [project, sibling] = projects;
    assert.ok(project && sibling);
    const { keyId } = await withSpendCap(project);
    const stalled = createStalledRows();
    const accountDatabase = createAccountDatabase(room.database, POOL_SIZE, REQUESTS_WAIT, undefined, stalled);
    const creator = createTaskCreator({ ...room.creatorDependencies, accountDatabase });
    const frozen = await freeze(room, t, 'charge_spend_caps', project.accountId, keyId);

    await assert.rejects(creator.create(sibling, body(), undefined), AccountBusyError);

    await waitFor('the accounts of the wallet are known', () =>
      [first, ...projects].every((each) => stalled.has(each.accountId)),
    );
    assert.ok(!stalled.has(stranger.accountId));
    await creator.create(stranger, body(), undefined);
    assert.ok(await frozen.isOpen(), 'the transaction ended before the other account was served');

    await frozen.end();
    await Promise.all([first, ...projects].map((each) => creator.create(each, body(), undefined)));
    for (const each of [first, ...projects]) assert.ok(!stalled.has(each.accountId), each.accountId);
  });
});
