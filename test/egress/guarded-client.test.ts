import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { egressOf, failsWith, listen, message } from './loopback.ts';

describe('post', () => {
  it('sends method, headers and body, and requests neither compression nor keep-alive', async (t) => {
    const bodies: string[] = [];
    const receiver = await listen(t, (request, response) => {
      void buffer(request).then((body) => {
        bodies.push(body.toString());
        response.writeHead(202, { 'retry-after': '7', 'x-many': ['a', 'b'] }).end('thanks');
      });
    });
    const { egress } = egressOf(t, [`http://127.0.0.1:${receiver.port}`]);

    const answer = await egress.post(
      `http://127.0.0.1:${receiver.port}/hook?x=1`,
      message({ headers: { 'content-type': 'application/json' } }),
    );

    const [request] = receiver.requests;
    assert.equal(answer.status, 202);
    assert.equal(answer.headers['retry-after'], '7');
    assert.equal(answer.headers['x-many'], 'a, b');
    assert.deepEqual(bodies, ['{"a":1}']);
    assert.equal(request?.method, 'POST');
    assert.equal(request?.url, '/hook?x=1');
    assert.equal(request?.headers['content-type'], 'application/json');
    assert.equal(request?.headers['accept-encoding'], 'identity');
    assert.equal(request?.headers.connection, 'close');
  });

  // Proves C6-18.
  it('sends nothing to an address that is not permitted, and reports it like any failure', async (t) => {
    const receiver = await listen(t, (_request, response) => response.writeHead(204).end());
    const { egress, logged } = egressOf(t, []);
    const spellings = ['127.0.0.1', '127.1', '2130706433', '0x7f.1', '0177.0.0.1'];
    const hosts = [...spellings, '[::1]', '[::ffff:127.0.0.1]', 'localhost'];

    for (const host of hosts) {
      for (const scheme of ['http', 'https']) {
        const url = `${scheme}://${host}:${receiver.port}/`;
        const error = await failsWith('unreachable', egress.post(url, message()));
        assert.equal(error.message, 'the address could not be reached');
        assert.equal(error.cause, undefined);
      }
    }

    assert.equal(receiver.requests.length, 0);
    assert.equal(logged().filter((line) => line['msg'] === 'outgoing request blocked').length, hosts.length * 2);
  });

  // Proves C2-13.
  it('rejects a name when any of its addresses is not permitted', async (t) => {
    const receiver = await listen(t, (_request, response) => response.writeHead(204).end());
    const { egress, logged } = egressOf(t, [`http://127.0.0.1:${receiver.port}`], {
      resolve: async () => ['127.0.0.1', '127.0.0.2'],
    });

    await failsWith('unreachable', egress.post(`http://mixed.test:${receiver.port}/`, message()));

    assert.equal(receiver.requests.length, 0);
    assert.equal(logged().at(-1)?.['address'], '127.0.0.2');
    assert.equal(logged().at(-1)?.['host'], `mixed.test:${receiver.port}`);
  });

  it('resolves a name once per call and validates it again on the next one', async (t) => {
    const receiver = await listen(t, (_request, response) => response.writeHead(204).end());
    const answers = [['127.0.0.1'], ['127.0.0.2'], ['127.0.0.1']];
    const { egress } = egressOf(t, [`http://127.0.0.1:${receiver.port}`], {
      resolve: async () => answers.shift() ?? assert.fail('resolved more than once for a call'),
    });
    const url = `http://rebinding.test:${receiver.port}/`;

    assert.equal((await egress.post(url, message())).status, 204);
    await failsWith('unreachable', egress.post(url, message()));
    assert.equal((await egress.post(url, message())).status, 204);

    assert.equal(answers.length, 0);
    assert.equal(receiver.requests.length, 2);
    assert.equal(receiver.requests[0]?.headers.host, `rebinding.test:${receiver.port}`);
  });

  it("sends nothing when the peer's address differs from the validated one", async (t) => {
    // Connecting to 0.0.0.0 reaches the loopback: the only way to get a different peer with real sockets.
    const receiver = await listen(t, (_request, response) => response.writeHead(204).end());
    const { egress, logged } = egressOf(t, [`http://0.0.0.0:${receiver.port}`]);

    await failsWith('unreachable', egress.post(`http://0.0.0.0:${receiver.port}/`, message()));

    assert.equal(receiver.requests.length, 0);
    assert.equal(logged().at(-1)?.['problem'], 'the peer is not the address that was checked');
  });

  it('tries the next address of a name when the first rejects the connection', async (t) => {
    const receiver = await listen(t, (_request, response) => response.writeHead(204).end());
    const { egress } = egressOf(t, [`http://127.0.0.0/8:${receiver.port}`], {
      resolve: async () => ['127.0.0.9', '127.0.0.1'],
    });

    assert.equal((await egress.post(`http://two.test:${receiver.port}/`, message())).status, 204);
  });

  it('returns a redirect as the response and does not follow it', async (t) => {
    const receiver = await listen(t, (_request, response) => response.writeHead(307, { location: '/other' }).end());
    const { egress } = egressOf(t, [`http://127.0.0.1:${receiver.port}`]);

    const answer = await egress.post(`http://127.0.0.1:${receiver.port}/`, message());

    assert.equal(answer.status, 307);
    assert.equal(receiver.requests.length, 1);
  });

  it('times out when the receiver sends slowly', async (t) => {
    const receiver = await listen(t, (_request, response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write('.'), 10);
      response.once('close', () => clearInterval(drip));
    });
    const { egress } = egressOf(t, [`http://127.0.0.1:${receiver.port}`]);

    await failsWith('timeout', egress.post(`http://127.0.0.1:${receiver.port}/`, message({ timeoutMs: 300 })));
  });

  it('times out when the receiver never responds, and when its name never resolves', async (t) => {
    const receiver = await listen(t, () => undefined);
    const { egress } = egressOf(t, [`http://127.0.0.1:${receiver.port}`], {
      resolve: () => new Promise(() => undefined),
    });

    await failsWith('timeout', egress.post(`http://127.0.0.1:${receiver.port}/`, message({ timeoutMs: 300 })));
    await failsWith('timeout', egress.post('https://never.test/', message({ timeoutMs: 300 })));
  });

  // Proves C6-20.
  it('reads an endless response up to the limit and returns its status', async (t) => {
    let sent = 0;
    const receiver = await listen(t, (_request, response) => {
      const chunk = Buffer.alloc(65_536);
      const pour = (): void => {
        while (!response.destroyed && response.write(chunk)) sent += chunk.length;
      };
      response.writeHead(200).on('drain', pour);
      pour();
    });
    const { egress } = egressOf(t, [`http://127.0.0.1:${receiver.port}`]);

    const answer = await egress.post(`http://127.0.0.1:${receiver.port}/`, message({ maxResponseBytes: 1000 }));

    assert.equal(answer.status, 200);
    // What fits into the buffers of two sockets; not the gigabytes that 20 s would transfer.
    assert.ok(sent < 64 * 1024 * 1024, `${sent} bytes were sent`);
  });

  it('reports garbage, a broken connection and a closed port as unreachable', async (t) => {
    const receiver = await listen(t, (request) => {
      if (request.url === '/garbage') request.socket.end('this is no HTTP\r\n\r\n');
      else request.socket.destroy();
    });
    const { egress } = egressOf(t, [`http://127.0.0.0/8:${receiver.port}`]);

    await failsWith('unreachable', egress.post(`http://127.0.0.1:${receiver.port}/garbage`, message()));
    await failsWith('unreachable', egress.post(`http://127.0.0.1:${receiver.port}/cut`, message()));
    await failsWith('unreachable', egress.post(`http://127.0.0.2:${receiver.port}/closed`, message()));
  });

  it('throws the abort reason of the caller', async (t) => {
    const controller = new AbortController();
    const reason = new Error('the worker stops');
    const receiver = await listen(t, () => controller.abort(reason));
    const { egress } = egressOf(t, [`http://127.0.0.1:${receiver.port}`]);
    const url = `http://127.0.0.1:${receiver.port}/`;

    await assert.rejects(egress.post(url, message({ signal: controller.signal })), reason);
    await assert.rejects(egress.post(url, message({ signal: controller.signal })), reason);
    assert.equal(receiver.requests.length, 1);
  });

  it('does not send credentials in a URL', async (t) => {
    const { egress } = egressOf(t, []);

    await assert.rejects(egress.post('https://example.com/', message({ headers: { Cookie: 'a=b' } })), TypeError);
  });
});

describe('the client', () => {
  it('logs what the operator allows, once, and nothing when that is empty', (t) => {
    const { logged } = egressOf(t, ['http://127.0.0.1:9000', 'receiver.internal:443']);
    const { logged: loggedByOther } = egressOf(t, []);

    assert.deepEqual(logged()[0]?.['entries'], ['http://127.0.0.1:9000', 'receiver.internal:443']);
    assert.equal(logged().length, 1);
    assert.equal(loggedByOther().length, 0);
  });

  it('aborts open requests when it is closed, and accepts no new ones', async (t) => {
    let reached = (): void => undefined;
    const isReached = new Promise<void>((resolve) => (reached = resolve));
    const receiver = await listen(t, () => reached());
    const { egress } = egressOf(t, [`http://127.0.0.1:${receiver.port}`]);
    const url = `http://127.0.0.1:${receiver.port}/`;

    const work = failsWith('unreachable', egress.post(url, message()));
    await isReached;
    await egress.close();
    await work;
    await failsWith('unreachable', egress.post(url, message()));
  });
});
