/**
 * Protection against clients that open many connections, or are slow on purpose: at the real listener, with limits
 * short enough to reach. Uploads are in upload-body.test.ts, event streams in task-events.test.ts.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pino } from 'pino';
import { silentLogger } from '../../src/telemetry/log.ts';
import type { ApiBody, ApiTask } from '../support/api-client.ts';
import { body } from '../tasks/task-room.ts';
import { makeCertificate } from '../support/test-certificate.ts';
import { letPass } from '../support/let-pass.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { errorOf, raw } from './raw-request.ts';
import { open } from './raw-socket.ts';
import type { Client } from './raw-socket.ts';
import { serveApp } from './serve.ts';
import type { ServeOptions, ServedApp } from './serve.ts';

let directory: string;
let tls: Record<string, string>;
before(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-limits-'));
  const { cert, key } = makeCertificate('limits');
  tls = { TLS_CERT_FILE: path.join(directory, 'crt'), TLS_KEY_FILE: path.join(directory, 'key') };
  await writeFile(tls['TLS_CERT_FILE'] ?? '', cert);
  await writeFile(tls['TLS_KEY_FILE'] ?? '', key);
});
after(() => rm(directory, { recursive: true, force: true }));

const REQUEST = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';

/** Whether a request on it is answered, or it is closed without a byte. */
async function isServed(client: Client): Promise<boolean> {
  client.socket.write(REQUEST);
  await waitFor('an answer or the end', () => client.heard() !== '' || client.isClosed());
  return client.heard().startsWith('HTTP/1.1 200 ');
}

/** More than sockets buffer by themselves. */
const LARGE = 64 * 1024 * 1024;

/** A task with one output of that size. @returns the path of its bytes. */
async function largeOutput(served: ServedApp): Promise<string> {
  const { client } = await served.newAccount();
  const ask = async (start: string, sent = ''): Promise<ApiTask> => {
    const asking = open(served.url);
    const head = `${start} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${client.key}\r\n`;
    asking.socket.write(`${head}Content-Type: application/json\r\nContent-Length: ${sent.length}\r\n\r\n${sent}`);
    await waitFor('it is answered', () => asking.isClosed());
    return (JSON.parse(asking.heard().split('\r\n\r\n')[1] ?? '') as ApiBody).data;
  };
  const { taskId } = await ask('POST /v1/tasks', JSON.stringify(body()));
  await served.succeed(taskId, Buffer.alloc(LARGE));
  const { output } = await ask(`GET /v1/tasks/${taskId}`);
  return new URL(output?.[0]?.url ?? '').pathname;
}

async function withApp(options: ServeOptions, use: (served: ServedApp) => Promise<void>): Promise<void> {
  const served = await serveApp(options);
  try {
    await use(served);
  } finally {
    await served.close();
  }
}

describe('connections', () => {
  for (const name of ['plain', 'TLS']) {
    const more = (): Record<string, string> => (name === 'TLS' ? tls : {});

    it(`beyond those of one address are closed immediately, and others are served: ${name}`, async () => {
      await withApp({ environment: { MAX_CONNECTIONS_PER_ADDRESS: '3', ...more() } }, async ({ url }) => {
        const first = [open(url), open(url), open(url)];
        for (const client of first) assert.ok(await isServed(client));
        assert.equal(await isServed(open(url)), false);
        assert.ok(await isServed(open(url, '127.0.0.2')));
        // Open connections are not affected, and one that ends makes room.
        assert.ok(await isServed(first[0] ?? assert.fail()));
        first[1]?.socket.destroy();
        await waitFor('there is room again', () => isServed(open(url)));
      });
    });

    it(`beyond the total are closed immediately: ${name}`, async () => {
      await withApp({ environment: { MAX_CONNECTIONS: '2', ...more() } }, async ({ url }) => {
        const first = [open(url), open(url, '127.0.0.2')];
        for (const client of first) assert.ok(await isServed(client));
        assert.equal(await isServed(open(url, '127.0.0.3')), false);
        first[0]?.socket.destroy();
        await waitFor('there is room again', () => isServed(open(url, '127.0.0.3')));
      });
    });
  }

  it('of a trusted proxy count only toward the total, and 0 is no limit', async () => {
    const environment = { MAX_CONNECTIONS_PER_ADDRESS: '1', MAX_CONNECTIONS: '0', TRUSTED_PROXIES: '127.0.0.2/32' };
    await withApp({ environment }, async ({ url }) => {
      for (let count = 0; count < 5; count++) assert.ok(await isServed(open(url, '127.0.0.2')));
      assert.ok(await isServed(open(url)));
      assert.equal(await isServed(open(url)), false);
    });
  });

  it('that were closed are logged in one occasional line, however many they are', async () => {
    const lines: { msg: string; closed?: { ofOneAddress: number } }[] = [];
    const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
    await withApp({ environment: { MAX_CONNECTIONS_PER_ADDRESS: '1' }, listening: { logger } }, async ({ url }) => {
      assert.ok(await isServed(open(url)));
      const rejected = Array.from({ length: 60 }, () => open(url));
      await waitFor('all are closed', () => rejected.every((client) => client.isClosed()));
      const closedCount = (): number => lines.reduce((sum, { closed }) => sum + (closed?.ofOneAddress ?? 0), 0);
      await waitFor(
        () => `all are reported; so far ${closedCount()}`,
        () => closedCount() === 60,
      );
      assert.ok(lines.length <= 10, `${lines.length} lines`);
    });
  });
});

describe('an idle connection', () => {
  it('stays open for longer than balancers keep theirs, by default, whatever the time-outs of requests', async () => {
    const limits = { headersTimeout: 200, requestTimeout: 200, connectionsCheckingInterval: 20 };
    await withApp({ listening: { limits, logger: silentLogger() } }, async ({ url }) => {
      let idle = open(url);
      await waitFor('a connection sends its request in time', async () => {
        if (await isServed(idle)) return true;
        idle = open(url);
        return false;
      });
      assert.match(idle.heard(), /^Keep-Alive: timeout=620\r$/m);
      const silent = open(url);
      await waitFor('the time-outs are over', () => silent.isClosed());

      const { length } = idle.heard();
      idle.socket.write(REQUEST);
      await waitFor('it is answered again', () => idle.heard().length > length);
      assert.equal(idle.isClosed(), false);
    });
  });

  it('is closed after the time that the operator sets', async () => {
    await withApp({ environment: { KEEP_ALIVE_SECONDS: '1' } }, async ({ url }) => {
      const idle = open(url);
      assert.ok(await isServed(idle));
      assert.match(idle.heard(), /^Keep-Alive: timeout=1\r$/m);
      await waitFor('it is closed', () => idle.isClosed());
    });
  });
});

const SHORT = { headersTimeout: 200, requestTimeout: 400, connectionsCheckingInterval: 50 };
const listening = { limits: SHORT, logger: silentLogger() };

/** Sends a text a byte at a time, until all of it is sent or the connection is closed. */
async function drip({ socket, isClosed }: Client, text: string): Promise<void> {
  for (const byte of text) {
    if (isClosed() || !socket.writable) return;
    socket.write(byte);
    await letPass(20);
  }
}

describe('a slow client', () => {
  it('that does not finish its headers or body, or sends nothing, gets a 408 and is disconnected', async () => {
    await withApp({ listening }, async ({ url, newAccount }) => {
      const { client: account } = await newAccount();
      const head = `Host: x\r\nAuthorization: Bearer ${account.key}\r\nContent-Type: application/json\r\n`;
      const slow = {
        nothing: '',
        headers: `GET /healthz HTTP/1.1\r\n${head}X-Slow: `,
        body: `POST /v1/tasks HTTP/1.1\r\n${head}Content-Length: 10000\r\n\r\n`,
      };
      for (const [what, begin] of Object.entries(slow)) {
        const client = open(url);
        if (begin !== '') {
          client.socket.write(begin);
          await drip(client, 'x'.repeat(5_000));
        }
        await waitFor(`the one that sends ${what} is cut`, () => client.isClosed());
        assert.match(client.heard(), /^HTTP\/1\.1 408 [^]*did not arrive in time/, what);
      }
    });
  });

  it('that does not finish the TLS handshake is disconnected', async () => {
    const limits = { ...SHORT, handshakeTimeout: 200 };
    await withApp({ environment: tls, listening: { limits } }, async ({ url }) => {
      const client = open(url.replace('https', 'http'));
      // The beginning of a ClientHello.
      await drip(client, '\x16\x03\x01\x02');
      await waitFor('it is cut', () => client.isClosed());
      assert.equal(client.heard(), '');
      // A handshake of ours may take longer than the limit, too.
      await waitFor('another is served', () => isServed(open(url)));
    });
  });

  it('that stops reading a large file is disconnected, and one that keeps reading gets all of it', async () => {
    const reading = { graceMs: 300, bytesPerSecond: 1_000_000, checkIntervalMs: 20 };
    for (const environment of [{}, tls]) {
      await withApp({ listening: { reading }, environment }, async (served) => {
        const ask = `GET ${await largeOutput(served)} HTTP/1.1\r\nHost: x\r\n\r\n`;
        const slow = open(served.url);
        slow.socket.write(ask);
        await waitFor('it begins to read', () => slow.heard() !== '');
        slow.socket.pause();
        const steady = open(served.url);
        steady.socket.write(ask);
        await waitFor('the other one has it all', () => steady.heard().length > LARGE);
        assert.equal(steady.isClosed(), false);
        // A client that does not read does not notice the end either: sending a byte to the closed connection shows
        // it.
        await waitFor('the slow one is cut', () => {
          if (!slow.isClosed()) slow.socket.write('x');
          return slow.isClosed();
        });
        assert.ok(slow.heard().length < LARGE);
        steady.socket.destroy();
      });
    }
  });
});

describe('a request with many headers', () => {
  it('is rejected, and one with the usual number is not', async () => {
    await withApp({}, async ({ url }) => {
      const headers = (count: number): Record<string, string> =>
        Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, '1']));
      assert.equal((await raw(url, 'GET', '/healthz', headers(90))).status, 200);
      const rejected = await raw(url, 'GET', '/healthz', headers(120));
      assert.deepEqual(errorOf(rejected), { status: 431, code: 'INVALID_REQUEST' });
    });
  });
});
