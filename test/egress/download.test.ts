import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { AMPLE_MS, egressOf, failsWith, listen } from './loopback.ts';

describe('download', () => {
  const bound = { accountId: 'ac-1', timeoutMs: AMPLE_MS, maxBytes: 1_000_000 };

  it('streams the bytes and the type without its parameters', async (t) => {
    const content = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251));
    const store = await listen(t, (_request, response) => {
      response.writeHead(200, { 'content-type': 'Image/PNG; charset=binary' }).end(content);
    });
    const { egress } = egressOf(t, [`http://127.0.0.1:${store.port}`]);

    const file = await egress.download(`http://127.0.0.1:${store.port}/a.png`, bound);

    assert.equal(file.mimeType, 'image/png');
    assert.deepEqual(await buffer(file.body), content);
  });

  it('follows three redirects but not a fourth', async (t) => {
    const store = await listen(t, (request, response) => {
      const left = Number(request.url?.slice(1));
      if (left === 0) response.writeHead(200).end('here');
      else response.writeHead(302, { location: `/${left - 1}#part` }).end();
    });
    const { egress } = egressOf(t, [`http://127.0.0.1:${store.port}`]);

    const file = await egress.download(`http://127.0.0.1:${store.port}/3`, bound);
    assert.equal((await buffer(file.body)).toString(), 'here');
    await failsWith('unreachable', egress.download(`http://127.0.0.1:${store.port}/4`, bound));
  });

  it('validates every address that it is redirected to', async (t) => {
    const hidden = await listen(t, (_request, response) => response.writeHead(200).end('secret'));
    let location = '';
    const store = await listen(t, (_request, response) => response.writeHead(302, { location }).end());
    const { egress, logged } = egressOf(t, [`http://127.0.0.1:${store.port}`]);
    const targets = [
      `http://127.0.0.1:${hidden.port}/`,
      `https://127.0.0.1:${hidden.port}/`,
      `http://user@127.0.0.1:${store.port}/`,
      'http://169.254.169.254/latest/meta-data/',
      'file:///etc/passwd',
      '//[::1]/',
    ];

    for (location of targets) {
      await failsWith('unreachable', egress.download(`http://127.0.0.1:${store.port}/`, bound));
    }
    assert.equal(hidden.requests.length, 0);
    assert.equal(store.requests.length, targets.length);
    assert.equal(logged().filter((line) => line['msg'] === 'outgoing request blocked').length, targets.length);
    location = 'http://';
    await failsWith('unreachable', egress.download(`http://127.0.0.1:${store.port}/`, bound));
  });

  it('fails with the status when the response is not a file', async (t) => {
    const store = await listen(t, (request, response) => {
      if (request.url === '/gzip') response.writeHead(200, { 'content-encoding': 'gzip' }).end('x');
      else response.writeHead(Number(request.url?.slice(1))).end();
    });
    const { egress } = egressOf(t, [`http://127.0.0.1:${store.port}`]);

    for (const status of [304, 401, 404, 500]) {
      const error = await failsWith('status', egress.download(`http://127.0.0.1:${store.port}/${status}`, bound));
      assert.equal(error.status, status);
    }
    await failsWith('status', egress.download(`http://127.0.0.1:${store.port}/gzip`, bound));
  });

  it('rejects a file with too large a Content-Length, and aborts one without it at the limit', async (t) => {
    const store = await listen(t, (request, response) => {
      if (request.url === '/says') response.writeHead(200, { 'content-length': '1001' });
      response.end(Buffer.alloc(1001));
    });
    const { egress } = egressOf(t, [`http://127.0.0.1:${store.port}`]);
    const small = { accountId: 'ac-1', timeoutMs: AMPLE_MS, maxBytes: 1000 };

    await failsWith('too_large', egress.download(`http://127.0.0.1:${store.port}/says`, small));
    const chunked = await listen(t, (_request, response) => {
      response.write(Buffer.alloc(600));
      response.end(Buffer.alloc(600));
    });
    const { egress: other } = egressOf(t, [`http://127.0.0.1:${chunked.port}`]);
    const file = await other.download(`http://127.0.0.1:${chunked.port}/`, small);
    await failsWith('too_large', buffer(file.body));
  });

  it('ends the stream at the deadline, read or not', async (t) => {
    const closed: Promise<void>[] = [];
    const store = await listen(t, (_request, response) => {
      closed.push(new Promise((resolve) => response.once('close', () => resolve())));
      response.write('a');
    });
    const { egress } = egressOf(t, [`http://127.0.0.1:${store.port}`]);
    const url = `http://127.0.0.1:${store.port}/`;

    const read = await egress.download(url, { accountId: 'ac-1', timeoutMs: 300, maxBytes: 1000 });
    await failsWith('timeout', buffer(read.body));
    const unread = await egress.download(url, { accountId: 'ac-1', timeoutMs: 300, maxBytes: 1000 });
    await Promise.all(closed);
    await failsWith('timeout', buffer(unread.body));
  });

  it('closes the connection when the reader goes away', async (t) => {
    const closed: Promise<void>[] = [];
    const store = await listen(t, (_request, response) => {
      closed.push(new Promise((resolve) => response.once('close', () => resolve())));
      response.write('a');
    });
    const { egress } = egressOf(t, [`http://127.0.0.1:${store.port}`]);

    const file = await egress.download(`http://127.0.0.1:${store.port}/`, bound);
    file.body.destroy();

    await Promise.all(closed);
    assert.equal(closed.length, 1);
  });

  it('reports a truncated file as unreachable, not as complete', async (t) => {
    const store = await listen(t, (_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write(Buffer.alloc(50), () => response.destroy());
    });
    const { egress } = egressOf(t, [`http://127.0.0.1:${store.port}`]);

    const file = await egress.download(`http://127.0.0.1:${store.port}/`, bound);
    await failsWith('unreachable', buffer(file.body));
  });
});
