/**
 * A process that is stopped with a shared wallet locked: the accounts of that wallet wait, and are known to wait as soon
 * as one of them has waited in vain, so that they do not take the connections of others one after another.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { SCOPES } from '@darkroom/api/facts/scopes';
import { createKey } from '../../src/accounts/keys.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import {
  AccountBusyError,
  REQUESTS_WAIT,
  createAccountDatabase,
  createStalledRows,
} from '../../src/limits/row-databases.ts';
import { createTaskCreator } from '../../src/tasks/create/create.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { freeze } from './freeze.ts';
import { body, openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

const POOL_SIZE = 10;
const PROJECTS = 12;

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom();
});
after(async () => {
  assert.deepEqual(await verifyLedger(room.database), []);
  await room.close();
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
    const spendCaps = { totalMicroUsd: 1_000_000_000n };
    const key = await createKey(room.database, project.accountId, { name: 'capped', scopes: SCOPES, spendCaps });
    const stalled = createStalledRows();
    const accountDatabase = createAccountDatabase(room.database, POOL_SIZE, REQUESTS_WAIT, undefined, stalled);
    const creator = createTaskCreator({ ...room.creatorDependencies, accountDatabase });
    const frozen = await freeze(room, t, 'charge_spend_caps', project.accountId, key.id);

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
