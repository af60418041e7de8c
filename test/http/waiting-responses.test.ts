/** Responses that wait: those of one account leave connections to all others. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import { body } from '../tasks/task-room.ts';
import { errorOf, raw } from './raw-request.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

/** Of the listener; an account holds at most as many as it leaves free. */
const CONNECTIONS = 8;
const SHARE = 4;

describe('long-poll responses', () => {
  let served: ServedApp;
  before(async () => {
    served = await serveApp({ environment: { MAX_CONNECTIONS: String(CONNECTIONS) } });
  });
  after(() => served.close());

  async function newTask({ client }: ServedAccount): Promise<string> {
    const { body: created } = await client.create(body());
    return created.data.taskId;
  }

  it('of one account leave as many connections as they hold, and release them', async () => {
    const [hostile, other] = [await served.newAccount(), await served.newAccount()];
    const [taskId, otherTask] = [await newTask(hostile), await newTask(other)];
    const headers = { Authorization: `Bearer ${hostile.client.key}`, Accept: 'text/event-stream' };
    const stop = new AbortController();
    const streams: Promise<Response>[] = [];
    for (let count = 0; count < SHARE; count++) {
      streams.push(fetch(`${served.url}/v1/tasks/${taskId}/events`, { headers, signal: stop.signal }));
    }
    for (const stream of streams) assert.equal((await stream).status, 200);

    const rejected = await raw(served.url, 'GET', `/v1/tasks/${taskId}/events`, headers);
    assert.deepEqual(errorOf(rejected), { status: 429, code: 'RATE_LIMITED' });
    assert.equal(rejected.headers['retry-after'], '5');

    // A wait is a preference: it is ignored, and the task is returned at once.
    const read = await raw(served.url, 'GET', `/v1/tasks/${taskId}`, { ...headers, Accept: '*/*', Prefer: 'wait=30' });
    assert.equal(read.status, 200);
    assert.equal(read.headers['preference-applied'], undefined);

    const waited = await raw(served.url, 'GET', `/v1/tasks/${otherTask}`, {
      Authorization: `Bearer ${other.client.key}`,
      Prefer: 'wait=1',
    });
    assert.equal(waited.headers['preference-applied'], 'wait=1');

    stop.abort();
    for (const stream of streams) await (await stream).text().catch(() => undefined);
    await waitFor('all are given back', () => served.http.waitingResponses.usage().inUse === 0);
  });
});
