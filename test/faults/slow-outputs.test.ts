/**
 * Outputs at URLs that respond and then stall: those of one account's provider delay the archiving of no other
 * account.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import { SlowServer } from '../support/slow-server.ts';
import { waitFor } from '@darkroom/testing/wait-for';

/** More than a worker has slots for archiving and other short work (src/generation/slots.ts: 40). */
const MANY = 50;
/** This many accounts, each with its share, use all slots but one. */
const SLOW_ACCOUNTS = 7;
const ALMOST_ALL = 38;
/** An account holds at most as many slots as it leaves free. */
const SHARE = 20;

describe('slow outputs', () => {
  let slow: SlowServer;
  let outside: DarkroomWithUpstreams;
  before(async () => {
    slow = await new SlowServer().start();
    outside = await startDarkroomWithUpstreams({}, [slow.url]);
  });
  after(async () => {
    await outside.stop();
    slow.stop();
  });

  it('hold half of the worker’s slots, and another account’s outputs are archived meanwhile', async () => {
    const [hostile, other] = [await outside.darkroom.createAccount(), await outside.darkroom.createAccount()];
    const prompt = `a boat [file-redirect ${slow.url}/slow/output.png]`;
    for (let count = 0; count < MANY; count++) {
      await outside.create(hostile, { model: 'test/replicate', input: { prompt } });
    }
    await waitFor('the account holds its share', () => slow.open === SHARE);

    for (let count = 0; count < 3; count++) {
      const taskId = await outside.create(other, { model: 'test/replicate', input: { prompt: 'a lighthouse' } });
      const task = await other.client.waitForTerminal(taskId);
      assert.equal(task.status, 'success', JSON.stringify(task));
    }

    assert.equal(slow.mostOpen, SHARE);
  });

  it('hold no slot that settlements, stop requests and repairs need', async () => {
    const slowOnes = await Promise.all(Array.from({ length: SLOW_ACCOUNTS }, () => outside.darkroom.createAccount()));
    const prompt = `a boat [file-redirect ${slow.url}/slow/output.png]`;
    for (const account of slowOnes) {
      for (let count = 0; count < 10; count++) {
        await outside.create(account, { model: 'test/replicate', input: { prompt } });
      }
    }
    await waitFor('hardly a slot is free', () => slow.open >= ALMOST_ALL);
    const { installationId, temporal } = outside.darkroom;

    const other = await outside.darkroom.createAccount();
    const cancelled = await outside.create(other, {
      model: 'test/replicate',
      input: { prompt: 'a pier [slow 60000]' },
    });
    await outside.waitForProvider('a pier', 'submit');
    await other.client.send('POST', `/v1/tasks/${cancelled}/cancel`);
    assert.equal((await other.client.waitForTerminal(cancelled)).error?.reason, 'cancelled');
    await outside.waitForProvider('a pier', 'cancel');
    await temporal.schedule.getHandle(`${installationId}-maintain`).trigger();

    assert.ok(slow.open >= ALMOST_ALL, `${slow.open} are open`);
    const { events } = await temporal.workflow.getHandle(cancelled).fetchHistory();
    const queues = events?.flatMap(({ activityTaskScheduledEventAttributes: one }) => one?.taskQueue?.name ?? []);
    assert.deepEqual([...new Set(queues)], [`${installationId}-media-waiting`, `${installationId}-media`]);
  });
});
