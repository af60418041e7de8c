/**
 * Inputs at URLs that respond and then stall: those of one account delay no other account. A worker that waited for
 * each of them would process nothing else for many minutes, far longer than these tests wait.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { SlowServer } from '../support/slow-server.ts';
import { waitFor } from '@darkroom/testing/wait-for';

/** More than the worker has slots with one engine thread. */
const MANY = 8;

describe('slow inputs', () => {
  let outside: SlowServer;
  let darkroom: Darkroom;
  before(async () => {
    outside = await new SlowServer().start();
    darkroom = await startDarkroom({ environment: { ENGINE_THREADS: '1', EGRESS_ALLOW: outside.url } });
  });
  after(async () => {
    await darkroom.stop();
    outside.stop();
  });

  async function create({ client }: TestAccount, model: string, input: object): Promise<string> {
    const created = await client.create({ model, input });
    assert.equal(created.status, 200, JSON.stringify(created.body));
    return created.body.data.taskId;
  }

  it('do not delay another account’s task, and can be cancelled at any point', async () => {
    const [slow, other] = [await darkroom.createAccount(), await darkroom.createAccount()];
    const taskIds: string[] = [];
    for (let index = 0; index < MANY; index++) {
      const image_url = `${outside.url}/slow/${index}.png`;
      taskIds.push(await create(slow, 'darkroom/poster', { prompt: '"ONE"', image_url }));
    }
    await waitFor('two of the account are fetched', () => outside.open === 2);

    const task = await other.client.waitForTerminal(await create(other, 'darkroom/scene', { prompt: 'a lighthouse' }));
    assert.equal(task.status, 'success', JSON.stringify(task));
    const own = await slow.client.waitForTerminal(await create(slow, 'darkroom/scene', { prompt: 'a lighthouse' }));
    assert.equal(own.status, 'success', JSON.stringify(own));
    assert.equal(outside.mostOpen, 2);

    for (const taskId of taskIds) await slow.client.send('POST', `/v1/tasks/${taskId}/cancel`);
    const reasons: unknown[] = [];
    for (const [index, taskId] of taskIds.entries()) {
      const ended = await slow.client.waitForTerminal(taskId);
      assert.equal(ended.billing.captured, '0');
      // On a slow machine, both timeouts of an input can be over before the cancel.
      const fetches = outside.asked.filter((url) => url === `/slow/${index}.png`).length;
      if (fetches < 2) assert.equal(ended.error?.reason, 'cancelled');
      reasons.push(ended.error?.reason);
    }
    assert.ok(reasons.includes('cancelled'), String(reasons));
    await waitFor('no connection is left open', () => outside.open === 0);
  });

  it('fail their tasks after the second timeout, and leave the engine to others', async () => {
    const [silent, other] = [await darkroom.createAccount(), await darkroom.createAccount()];
    const urls = ['/silent/a.png', '/silent/b.png'];
    const taskIds: string[] = [];
    for (const url of urls) {
      taskIds.push(await create(silent, 'darkroom/poster', { prompt: '"ONE"', image_url: `${outside.url}${url}` }));
    }
    await waitFor('both are fetched', () => urls.every((url) => outside.asked.includes(url)));

    const task = await other.client.waitForTerminal(await create(other, 'darkroom/scene', { prompt: 'a lighthouse' }));
    assert.equal(task.status, 'success', JSON.stringify(task));
    for (const taskId of taskIds) {
      const ended = await silent.client.waitForTerminal(taskId);
      assert.equal(ended.status, 'fail');
      assert.equal(ended.error?.reason, 'input_unreachable');
      assert.equal(ended.billing.captured, '0');
    }
    for (const url of urls) assert.equal(outside.asked.filter((asked) => asked === url).length, 2, url);
  });
});
