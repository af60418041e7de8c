/**
 * The time that an upload may take: the server's timeout for whole requests does not end it, its own limits do. On a
 * real socket, with limits short enough to reach.
 */
import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { after, describe, it } from 'node:test';
import { loadConfig } from '../../src/config/config.ts';
import { factsOf } from '@darkroom/api/facts/error-kinds';
import { RequestError, problemOf } from '../../src/http/app/errors.ts';
import { listen } from '../../src/http/app/server.ts';
import type { RunningServer } from '../../src/http/app/server.ts';
import { receiveUpload } from '../../src/http/bodies/upload-body.ts';
import type { UploadBounds } from '../../src/http/bodies/upload-line.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { letPass } from '../support/let-pass.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { open } from './raw-socket.ts';

const BOUNDS = { maxBytes: 1_000, idleMs: 60_000, paceMs: 60_000, minBytesPerSecond: 1, wholeMs: 60_000 };
/** The server's own limits, from the first request on: a slow machine does not even begin in this time. */
const SHORT_LIMITS = { headersTimeout: 100, requestTimeout: 100 };

const running: RunningServer[] = [];
after(() => Promise.all(running.map((server) => server.close(0))));

/** How many bytes arrive. */
async function sizeOf(file: AsyncIterable<Buffer>): Promise<number> {
  let size = 0;
  for await (const chunk of file) size += chunk.length;
  return size;
}

/** A server that reads uploads. */
function serve(bounds: Partial<UploadBounds>): Promise<number> {
  return serveWith(uploads(bounds));
}

/** A server whose own limits become short with its first request. It reads uploads, or leaves bodies to these limits. */
function serveImpatiently(readsUploads: boolean): Promise<number> {
  const listener = uploads({}, readsUploads);
  return serveWith((request, response) => {
    Object.assign(running.at(-1)?.server ?? {}, SHORT_LIMITS);
    listener(request, response);
  });
}

function uploads(bounds: Partial<UploadBounds>, readsUploads = true): RequestListener {
  return (request, response) => {
    if (!readsUploads) {
      request.resume();
      return;
    }
    receiveUpload(request, sizeOf, { ...BOUNDS, ...bounds }).then(
      (size) => response.end(`kept ${size}`),
      (error: unknown) => {
        response.statusCode = factsOf(problemOf(error).kind).status;
        response.end('rejected');
      },
    );
  };
}

async function serveWith(listener: RequestListener): Promise<number> {
  const { http } = loadConfig({
    DATABASE_URL: 'postgres://not-used',
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    STORE_URL: 'file:///not-used',
    URL_SIGNING_KEY: 'a signing key of at least 32 characters',
    ENCRYPTION_KEY: 'a signing key of at least 32 characters',
    PORT: '0',
    PUBLIC_URL: 'http://127.0.0.1',
  });
  const server = await listen(http, listener, { logger: silentLogger(), limits: { connectionsCheckingInterval: 20 } });
  running.push(server);
  return Number(new URL(server.url).port);
}

/** Opens a connection and announces a body; `heard` resolves with what was received once it contains a text. */
function announce(port: number, length: number): { socket: Socket; heard(text: string): Promise<string> } {
  const socket = connect(port, '127.0.0.1');
  let answered = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    answered += text;
  });
  socket.on('error', () => undefined);
  const send = (): void => void socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`);
  send();
  return {
    socket,
    async heard(text) {
      await waitFor(
        () => `hearing ${text}; heard only ${JSON.stringify(answered)}`,
        () => answered.includes(text),
      );
      return answered;
    },
  };
}

/** Sends a byte every 20 ms. */
async function drip(socket: Socket, bytes: number): Promise<void> {
  for (let sent = 0; sent < bytes && socket.writable; sent++) {
    socket.write('x');
    await letPass(20);
  }
}

describe('an upload whose client disconnects', () => {
  it('before it is read ends immediately, complete or not', async () => {
    for (const body of ['', 'x'.repeat(100)]) {
      const outcome = new Promise<unknown>((resolve, reject) => {
        const listener: RequestListener = (request) => {
          // For the time that it takes to determine the account of the upload.
          request.once('close', () => {
            const keep = async (file: AsyncIterable<Buffer>): Promise<void> => {
              for await (const _chunk of file);
            };
            setImmediate(() => void receiveUpload(request, keep, BOUNDS).then(reject, resolve));
          });
          client.socket.destroy();
        };
        let client: ReturnType<typeof announce>;
        void serveWith(listener).then((port) => {
          client = announce(port, 100);
          client.socket.write(body);
        }, reject);
      });
      const error = await outcome;
      assert.ok(error instanceof RequestError);
      assert.match(error.message, /did not arrive whole/);
    }
  });
});

describe('the time limit of an upload', () => {
  it('may be longer than that of other requests, whose limit is unchanged', async () => {
    const slow = announce(await serveImpatiently(true), 20);
    await drip(slow.socket, 20);
    assert.match(await slow.heard('kept'), /^HTTP\/1.1 200 [^]*kept 20$/);

    // The connection is an ordinary one again: if the next request stays incomplete, it is ended.
    slow.socket.write('POST / HTTP/1.1\r\nHost: x\r\n');
    assert.match(await slow.heard('408'), /HTTP\/1.1 408 /);

    const other = announce(await serveImpatiently(false), 20);
    await drip(other.socket, 20);
    assert.match(await other.heard('408'), /^HTTP\/1.1 408 [^]*did not arrive in time/);
  });

  it('ends the upload when the connection stalls', async () => {
    const quiet = announce(await serve({ idleMs: 150 }), 20);
    await drip(quiet.socket, 5);
    assert.match(await quiet.heard('rejected'), /^HTTP\/1.1 408 /);
  });

  it('ends the upload when bytes arrive too slowly', async () => {
    const dripping = announce(await serve({ wholeMs: 300 }), 1_000);
    const dripped = drip(dripping.socket, 100);
    assert.match(await dripping.heard('rejected'), /^HTTP\/1.1 408 /);
    dripping.socket.destroy();
    await dripped;
  });

  it('ends the upload below the minimum rate, however much arrived at first', async () => {
    const port = await serve({ maxBytes: 1_000_000, paceMs: 400, minBytesPerSecond: 5_000 });
    for (const first of [0, 500_000]) {
      const dripping = announce(port, 1_000_000);
      dripping.socket.write(Buffer.alloc(first));
      const dripped = drip(dripping.socket, 10_000);
      assert.match(await dripping.heard('rejected'), /^HTTP\/1.1 408 /);
      dripping.socket.destroy();
      await dripped;
    }
  });

  it('does not end a slow upload above the minimum rate', async () => {
    // 50 bytes per second, far more than the limit, over many intervals.
    const slow = announce(await serve({ paceMs: 200, minBytesPerSecond: 5 }), 100);
    await drip(slow.socket, 100);
    assert.match(await slow.heard('kept'), /^HTTP\/1.1 200 [^]*kept 100$/);
  });

  it('does not count time in which the process stood still', async () => {
    const length = 10;
    let sender: ReturnType<typeof announce> | undefined;
    const port = await serveWith((request, response) => {
      receiveUpload(request, sizeOf, { ...BOUNDS, idleMs: 50, paceMs: 50, minBytesPerSecond: 100 }).then(
        (size) => response.end(`kept ${size}`),
        () => response.end('rejected'),
      );
      sender?.socket.write(Buffer.alloc(length));
      // What was sent arrives while nothing is read.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    });
    sender = announce(port, length);
    assert.match(await sender.heard('\r\n\r\n'), /kept 10$/);
  });

  it('does not count time in which the server is slow', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const length = 1_000_000;
    const port = await serveWith((request, response) => {
      const keep = async (file: AsyncIterable<Buffer>): Promise<number> => {
        let size = 0;
        for await (const chunk of file) {
          await held;
          size += chunk.length;
        }
        return size;
      };
      const bounds = { idleMs: 300, paceMs: 300, minBytesPerSecond: 1_000_000, wholeMs: 60_000 };
      receiveUpload(request, keep, { maxBytes: length, ...bounds }).then(
        (size) => response.end(`kept ${size}`),
        () => response.end('rejected'),
      );
    });
    const sender = announce(port, length);
    sender.socket.write(Buffer.alloc(length));
    // Longer than the connection may be silent.
    await letPass(1_000);
    release();
    assert.match(await sender.heard('\r\n\r\n'), /kept 1000000$/);
  });
});

describe('a received upload', () => {
  it('may take the store longer to finish than the stall timeout', async () => {
    const port = await serveWith((request, response) => {
      const keep = async (file: AsyncIterable<Buffer>, signal: AbortSignal): Promise<void> => {
        for await (const _chunk of file);
        await letPass(300);
        signal.throwIfAborted();
      };
      receiveUpload(request, keep, { ...BOUNDS, idleMs: 50, paceMs: 50, minBytesPerSecond: 1_000 }).then(
        () => response.end('kept'),
        () => response.end('rejected'),
      );
    });
    const sender = announce(port, 100);
    sender.socket.write(Buffer.alloc(100));
    assert.match(await sender.heard('\r\n\r\n'), /kept$/);
  });
});

describe('a form', () => {
  it('whose first part never comes is too large at some point, however little of it is a file', async () => {
    const port = await serve({ maxBytes: 100_000 });
    const client = open(`http://127.0.0.1:${port}`);
    client.socket.write(
      'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Type: multipart/form-data; boundary=b\r\n\r\n',
    );
    const chunk = `${(100_000).toString(16)}\r\n${'x'.repeat(100_000)}\r\n`;
    client.socket.write(chunk + chunk);

    await waitFor('it is rejected', () => client.heard().includes('\r\n\r\n'));
    assert.match(client.heard(), /^HTTP\/1\.1 413 /);
    client.socket.destroy();
  });
});
