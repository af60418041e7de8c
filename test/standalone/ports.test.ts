/** Free ports stay free, and a requested port that is taken is reported plainly. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { claimPort, findFreePort } from '../../src/standalone/ports.ts';

/** The lowest port that any common system uses for outgoing connections: Linux's `ip_local_port_range`. */
const OUTGOING_FROM = 32_768;

describe('a free port', () => {
  it('is outside the range of outgoing connections, so that none takes it while its server is down', async () => {
    for (let tries = 0; tries < 50; tries++) {
      const port = await findFreePort();
      assert.ok(port >= 1024 && port < OUTGOING_FROM, String(port));
    }
    assert.ok((await claimPort(0, 'a test', 'TEST_PORT')) < OUTGOING_FROM);
  });

  it('is given to one caller, even before its server listens', async () => {
    const ports = await Promise.all(Array.from({ length: 500 }, () => findFreePort()));
    assert.equal(new Set(ports).size, ports.length);
  });

  it('can be listened on', async () => {
    const server = createServer().listen(await findFreePort(), '127.0.0.1');
    await once(server, 'listening');
    server.close();
  });
});

describe('a wanted port', () => {
  it('is rejected with its purpose and its variable when another program uses it', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    try {
      await assert.rejects(claimPort(port, 'the API', 'PORT'), {
        message: `port ${port}, for the API, is in use by another program. Set PORT to another port (0 picks a free one).`,
      });
    } finally {
      server.close();
    }
  });
});
