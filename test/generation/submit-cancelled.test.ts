/** A start that arrives after its task was cancelled: it exits without a request to the provider. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { submitGeneration } from '../../src/generation/submit.ts';
import { cancelTask } from '../../src/tasks/lifecycle/cancel.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { readTask } from '../../src/tasks/record/read.ts';
import { body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { newAttempt } from './attempts.ts';
import { openGenerationBench } from './contexts.ts';
import { scriptedProvider } from './scripted-provider.ts';

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom();
});
after(() => room.close());

for (const isUpstream of [true, false]) {
  it(`submits nothing to ${isUpstream ? 'an upstream' : 'an engine'} for a task that was cancelled after its claim`, async () => {
    const caller = await room.newCaller();
    const { taskId } = await room.creator.create(caller, body(), undefined);
    await claimOutbox(room.database, 100);
    await cancelTask(room.database, caller.accountId, taskId, 7);
    const provider = scriptedProvider({ protocol: 'embedded' });
    const bench = openGenerationBench(room, { embedded: provider });
    const facts = { accountId: caller.accountId, model: 'acme/images', handlingSeconds: 60, archivingSeconds: 60 };

    const result = await submitGeneration(bench.context, newAttempt(), { taskId, isUpstream, ...facts });
    await bench.close();

    assert.deepEqual(result, { kind: 'over' });
    assert.equal(provider.sent(), 0);
    assert.equal((await readTask(room.database, taskId)).errorReason, 'cancelled');
  });
}
