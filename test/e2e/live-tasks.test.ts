/** A task watched while real workers process it: its stream, waiting for it, and requesting its callback again. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { TestAccount } from '../support/darkroom.ts';
import { openEventSource } from '../http/event-source.ts';
import type { ApiTask } from '../support/api-client.ts';
import { GIVE_UP_MS } from '@darkroom/testing/wait-for';

const REDELIVERIES = 12;

describe('watching a task', { concurrency: true }, () => {
  let outside: DarkroomWithUpstreams;
  let account: TestAccount;
  before(async () => {
    outside = await startDarkroomWithUpstreams();
    account = await outside.darkroom.createAccount();
  });
  after(() => outside.stop());

  const create = (prompt: string, path?: string): Promise<string> =>
    outside.create(account, {
      model: 'test/tasks',
      input: { prompt },
      ...(path === undefined ? {} : { callback: { url: `${outside.receiver.url}${path}` } }),
    });

  /** Polls without a pause, so that the next request meets a delivery that is just closing. */
  async function waitForDelivered(taskId: string, attempts: number): Promise<ApiTask> {
    const deadline = Date.now() + GIVE_UP_MS;
    for (;;) {
      const { data } = (await account.client.get(taskId)).body;
      if (data.callback?.state === 'delivered' && data.callback.attempts === attempts) return data;
      if (Date.now() > deadline) throw new Error(`not delivered ${attempts} times: ${JSON.stringify(data)}`);
    }
  }

  // Proves C4-9.
  it('streams each step as it happens, from any api process, and ends with the task', async () => {
    const taskId = await create('a boat [slow 300]');
    const streams = await Promise.all(
      outside.darkroom.urls.map((url) => openEventSource(`${url}/v1/tasks/${taskId}/events`, account.client.key)),
    );
    await Promise.all(streams.map((stream) => stream.ended()));

    for (const { events } of streams) {
      assert.deepEqual(
        events.map(({ event }) => event),
        ['accepted', 'started', 'submitted', 'produced', 'archiving', 'archived', 'settled'],
      );
      assert.deepEqual(
        events.map(({ id }) => id),
        ['1', '2', '3', '4', '5', '6', '7'],
      );
    }
    assert.equal((await account.client.get(taskId)).body.data.status, 'success');
  });

  // Proves C3-31.
  it('waits from status to status with few requests', async () => {
    const taskId = await create('a boat [slow 300]');
    const seen: string[] = [];
    for (let requests = 1; !['success', 'fail'].includes(seen.at(-1) ?? ''); requests++) {
      const { body } = await account.client.send('GET', `/v1/tasks/${taskId}`, undefined, { Prefer: 'wait=30' });
      seen.push(body.data.status);
      assert.ok(requests <= 5, seen.join(' '));
    }

    assert.equal(seen.at(-1), 'success');
    assert.equal(new Set(seen).size, seen.length);
  });

  // Proves C4-8, C4-11.
  it('redelivers the callback whenever its owner requests it, also at the moment a delivery ends', async () => {
    const taskId = await create('a boat', '/ok/again');
    for (let deliveries = 1; deliveries <= REDELIVERIES; deliveries++) {
      await waitForDelivered(taskId, deliveries);
      const { status } = await account.client.send('POST', `/v1/tasks/${taskId}/callback/redeliver`);
      assert.equal(status, 200);
    }
    const task = await waitForDelivered(taskId, REDELIVERIES + 1);

    assert.equal(task.status, 'success');
    const received = await outside.callbacksOf(taskId);
    assert.equal(received.length, REDELIVERIES + 1);

    const { body } = await account.client.send('GET', `/v1/tasks/${taskId}/events`);
    const types = (body.data as unknown as { events: { type: string }[] }).events.map(({ type }) => type);
    assert.deepEqual(types.slice(types.indexOf('settled') + 1), [
      'callback_attempted',
      ...Array.from({ length: REDELIVERIES }, () => ['callback_redelivery', 'callback_attempted']).flat(),
    ]);
  });
});
