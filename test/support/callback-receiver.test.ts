import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { ReceivedCallback } from './callback-receiver.ts';
import { startCallbackReceiver } from './callback-receiver-process.ts';
import type { CallbackReceiver } from './callback-receiver-process.ts';
import { waitFor } from '@darkroom/testing/wait-for';

describe('the callback receiver', () => {
  let receiver: CallbackReceiver;
  before(async () => {
    receiver = await startCallbackReceiver();
  });
  after(() => receiver.stop());

  async function post(path: string): Promise<Response> {
    const response = await fetch(receiver.url + path, { method: 'POST', body: `body of ${path}`, redirect: 'manual' });
    await response.arrayBuffer();
    return response;
  }

  it('responds as its path says', async () => {
    const statuses: number[] = [];
    for (const path of ['/ok', '/gone', '/status/418', '/slow/1', '/redirect', '/else', '/huge']) {
      statuses.push((await post(path)).status);
    }

    assert.deepEqual(statuses, [204, 410, 418, 204, 302, 404, 200]);
    assert.equal((await post('/retry-after/7')).headers.get('retry-after'), '7');
    assert.equal((await post('/retry-after/7')).status, 204);
  });

  it('fails the first requests of each full path', async () => {
    const statuses: number[] = [];
    for (const path of ['/fail/2/a', '/fail/2/a', '/fail/2/b', '/fail/2/a', '/fail/2/b', '/fail/2/b']) {
      statuses.push((await post(path)).status);
    }

    assert.deepEqual(statuses, [500, 500, 500, 204, 500, 204]);
  });

  it('has recorded a request before it responds, including one that gets no response', async () => {
    await post('/ok/first?x=1');
    const socket = connect(Number(new URL(receiver.url).port), '127.0.0.1');
    socket.write('POST /hang/x HTTP/1.1\r\nHost: a\r\nX-Test: yes\r\nContent-Length: 4\r\n\r\nhalt');
    const other = await post('/ok/second');

    assert.equal(other.status, 204);
    const first = (await receiver.readLog()).find((entry) => entry.path === '/ok/first?x=1');
    assert.equal(first?.method, 'POST');
    assert.equal(first?.body, 'body of /ok/first?x=1');
    assert.equal(first?.headers['content-type'], 'text/plain;charset=UTF-8');
    const hung = async (): Promise<ReceivedCallback | undefined> =>
      (await receiver.readLog()).find((entry) => entry.path === '/hang/x');
    await waitFor('the request without an answer is written down', async () => (await hung()) !== undefined);
    assert.equal((await hung())?.headers['x-test'], 'yes');
    socket.destroy();
    await once(socket, 'close');
  });

  it('keeps its log readable for the test after it was stopped', async () => {
    const own = await startCallbackReceiver();
    await fetch(`${own.url}/ok`, { method: 'POST', body: 'last' });

    await own.stop();
    await own.stop();

    assert.deepEqual(
      (await own.readLog()).map(({ path, body }) => ({ path, body })),
      [{ path: '/ok', body: 'last' }],
    );
    await assert.rejects(fetch(`${own.url}/ok`));
    assert.throws(() => process.kill(own.pid, 0));
  });
});
