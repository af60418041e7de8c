/**
 * The database's response to an intent is lost on its way: the attempt does not know whether it was recorded, but
 * knows that nothing was sent (docs/decisions/0004).
 */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import { startDatabaseWire } from '../support/database-wire.ts';
import type { DatabaseWire } from '../support/database-wire.ts';
import { servingUrl } from '../support/pooled-run.ts';

let wire: DatabaseWire;
let world: DarkroomWithUpstreams;
before(async () => {
  wire = await startDatabaseWire(servingUrl());
  world = await startDarkroomWithUpstreams({}, [], {}, 1, wire.url);
});
after(async () => {
  await world?.stop();
  wire.close();
});

for (const model of ['test/openai', 'test/replicate']) {
  it(`a task for ${model} is sent, once, by the next attempt`, async () => {
    const account = await world.darkroom.createAccount();
    const lost = wire.loseAnswer('insert_generation_intent');

    const taskId = await world.create(account, { model, input: { prompt: `a lost lake of ${model}` } });
    await lost;

    const task = await account.client.waitForTerminal(taskId);
    assert.equal(task.status, 'success', JSON.stringify(task));
    const log = await world.providerLog(`a lost lake of ${model}`);
    assert.equal(log.filter(({ kind }) => kind === 'submit').length, 1);
    await world.assertSettled(account);
  });
}
