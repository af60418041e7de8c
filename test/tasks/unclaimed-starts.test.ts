/** Starts that no launcher takes although their account has a free slot, and those that only wait for one. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { createUnclaimedStarts } from '../../src/tasks/outbox/backlog.ts';
import { body, openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

let room: TaskRoom;
let caller: Caller;
before(async () => {
  room = await openTaskRoom();
  caller = await room.newCaller({ runningCap: 2 });
  for (let task = 0; task < 3; task++) await room.creator.create(caller, body(), undefined);
});
after(() => room.close());

it('counts as many as there are free slots, and for how long the same one has been next', async () => {
  let now = 0;
  const starts = createUnclaimedStarts(() => now);
  const readAt = (seconds: number) => {
    now = seconds * 1_000;
    return starts.read(room.database);
  };

  assert.deepEqual(await readAt(5), { count: 2, oldestSeconds: 0 });
  assert.deepEqual(await readAt(75), { count: 2, oldestSeconds: 70 });
  assert.equal((await claimOutbox(room.database, 1)).length, 1);
  assert.deepEqual(await readAt(80), { count: 1, oldestSeconds: 0 });
  assert.deepEqual(await readAt(90), { count: 1, oldestSeconds: 10 });
  assert.equal((await claimOutbox(room.database, 1)).length, 1);
  assert.deepEqual(await readAt(100), { count: 0, oldestSeconds: 0 });
});
