import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { CERTIFICATE, egressOf, failsWith, listen, message } from './loopback.ts';

describe('TLS', () => {
  it('delivers when the chain is trusted and carries the name of the URL, whatever the address', async (t) => {
    const receiver = await listen(t, (_request, response) => response.writeHead(204).end(), true);
    const { egress } = egressOf(t, [`receiver.test:${receiver.port}`], {
      resolve: async () => ['127.0.0.1'],
      certificateAuthority: CERTIFICATE,
    });

    assert.equal((await egress.post(`https://receiver.test:${receiver.port}/`, message())).status, 204);
    assert.equal((await egress.post(`https://Receiver.TEST.:${receiver.port}/`, message())).status, 204);
  });

  // Proves S2.3-1, C6-11.
  it('sends nothing when the chain is not trusted', async (t) => {
    const receiver = await listen(t, (_request, response) => response.writeHead(204).end(), true);
    const { egress } = egressOf(t, [`receiver.test:${receiver.port}`], { resolve: async () => ['127.0.0.1'] });

    await failsWith('tls', egress.post(`https://receiver.test:${receiver.port}/`, message()));
    assert.equal(receiver.requests.length, 0);
  });

  it('verifies also when the environment tells Node to skip verification', async (t) => {
    const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    t.after(() => {
      if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
    });
    const receiver = await listen(t, (_request, response) => response.writeHead(204).end(), true);
    const { egress } = egressOf(t, [`receiver.test:${receiver.port}`], { resolve: async () => ['127.0.0.1'] });

    await failsWith('tls', egress.post(`https://receiver.test:${receiver.port}/`, message()));
    assert.equal(receiver.requests.length, 0);
  });

  // Proves C6-11.
  it('sends nothing when the certificate is for another name, or for a name instead of the address', async (t) => {
    const receiver = await listen(t, (_request, response) => response.writeHead(204).end(), true);
    const { egress } = egressOf(t, [`127.0.0.1:${receiver.port}`], {
      resolve: async () => ['127.0.0.1'],
      certificateAuthority: CERTIFICATE,
    });

    await failsWith('tls', egress.post(`https://other.test:${receiver.port}/`, message()));
    await failsWith('tls', egress.post(`https://127.0.0.1:${receiver.port}/`, message()));
    assert.equal(receiver.requests.length, 0);
  });

  it('reports a peer without TLS as a TLS failure, and a silent one as a timeout', async (t) => {
    const plain = await listen(t, (_request, response) => response.writeHead(204).end());
    const { egress } = egressOf(t, [`127.0.0.1:${plain.port}`]);

    await failsWith('tls', egress.post(`https://127.0.0.1:${plain.port}/`, message()));
    const silent = createServer((socket) => socket.on('error', () => undefined));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    t.after(() => silent.close());
    const { port } = silent.address() as AddressInfo;
    const { egress: other } = egressOf(t, [`127.0.0.1:${port}`]);
    await failsWith('timeout', other.post(`https://127.0.0.1:${port}/`, message({ timeoutMs: 300 })));
  });

  it('speaks plain HTTP only where an entry allows it', async (t) => {
    const receiver = await listen(t, (_request, response) => response.writeHead(204).end());
    const { egress } = egressOf(t, [`127.0.0.1:${receiver.port}`]);

    await failsWith('unreachable', egress.post(`http://127.0.0.1:${receiver.port}/`, message()));
    assert.equal(receiver.requests.length, 0);
  });
});
