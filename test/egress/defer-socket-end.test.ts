/**
 * Servers that end their connection with the response, and a reader that is behind. Each way in which this program
 * reads data that it does not hold in memory at once is tested: undici by itself ends the process here, or reports
 * the response as lost.
 */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import type { Socket } from 'node:net';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { createUpstreamDownload } from '../../src/providers/upstream-download.ts';
import { createExchanges } from '../../src/upstreams/exchange.ts';
import { letPass } from '../support/let-pass.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { AMPLE_MS, CERTIFICATE, KEY, egressOf } from './loopback.ts';

/** A body in one piece is read completely before the reader's own buffer is full; larger ones are not. */
const LENGTHS = [16_384, 65_536, 300_000, 3_000_000];
const CALL = { accountId: 'ac-1', timeoutMs: AMPLE_MS, maxBytes: 10_000_000, signal: new AbortController().signal };

/** How the end of a body is marked. Each server ends the connection after it, announced or not. */
const FRAMINGS: Readonly<Record<string, (content: Buffer) => readonly [string, Buffer]>> = {
  'a length': (content) => [`Content-Length: ${content.length}\r\nConnection: close`, content],
  'a length, and a promise to keep the connection': (content) => [
    `Content-Length: ${content.length}\r\nConnection: keep-alive`,
    content,
  ],
  'a last chunk': (content) => [
    'Transfer-Encoding: chunked\r\nConnection: close',
    Buffer.concat([Buffer.from(`${content.length.toString(16)}\r\n`), content, Buffer.from('\r\n0\r\n\r\n')]),
  ],
  'the end of the connection': (content) => ['Connection: close', content],
};

interface Ending {
  readonly port: number;
  /** The server has written everything and ended the connection. */
  readonly hasEnded: Promise<unknown>;
}

async function servesAndEnds(test: TestContext, head: string, body: Buffer, isTls: boolean): Promise<Ending> {
  const ended = new EventEmitter();
  const hasEnded = once(ended, 'end');
  const answer = (socket: Socket): void => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n${head}\r\n\r\n`);
      socket.end(body, () => ended.emit('end'));
    });
  };
  const server = isTls ? createTlsServer({ key: KEY, cert: CERTIFICATE }, answer) : createServer(answer);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  test.after(() => server.close());
  return { port: (server.address() as AddressInfo).port, hasEnded };
}

/** Reads nothing until the server has ended, or cannot continue without us. */
async function readLate(body: Readable, { hasEnded }: Ending): Promise<Buffer> {
  await Promise.race([hasEnded, letPass(100)]);
  await letPass(20);
  return buffer(body);
}

const READERS: Readonly<Record<string, (test: TestContext, ending: Ending) => Promise<Buffer>>> = {
  'a guarded download': async (test, ending) => {
    const { egress } = egressOf(test, [`http://127.0.0.1:${ending.port}`]);
    const file = await egress.download(`http://127.0.0.1:${ending.port}/`, CALL);
    return readLate(file.body, ending);
  },
  'a guarded download over TLS': async (test, ending) => {
    const { egress } = egressOf(test, [`receiver.test:${ending.port}`], {
      resolve: async () => ['127.0.0.1'],
      certificateAuthority: CERTIFICATE,
    });
    const file = await egress.download(`https://receiver.test:${ending.port}/`, CALL);
    return readLate(file.body, ending);
  },
  'a download from an upstream': async (_test, ending) => {
    const file = await createUpstreamDownload()(new URL(`http://127.0.0.1:${ending.port}/`), {}, CALL);
    assert.ok(file.from === 'upstream');
    return readLate(file.body, ending);
  },
  'a text call on a kept connection': (test, ending) => readTextLate(test, ending, false),
  'a text call on its own connection': (test, ending) => readTextLate(test, ending, true),
};

async function readTextLate(test: TestContext, ending: Ending, onFreshConnection: boolean): Promise<Buffer> {
  const exchanges = createExchanges();
  test.after(() => exchanges.close());
  const chunks: Buffer[] = [];
  const emitter = new EventEmitter();
  const begun = once(emitter, 'data');
  let ended: Error | 'well' | undefined;
  const running = exchanges.start(
    {
      origin: `http://127.0.0.1:${ending.port}`,
      path: '/',
      method: 'POST',
      headers: {},
      body: '{}',
      onFreshConnection,
    },
    {
      head: () => undefined,
      data: (chunk) => {
        chunks.push(chunk);
        running.pause();
        emitter.emit('data');
      },
      end: () => (ended = 'well'),
      lost: (code) => (ended = new Error(code)),
    },
  );
  await begun;
  await Promise.race([ending.hasEnded, letPass(100)]);
  await waitFor('the exchange is over', () => (running.resume(), ended !== undefined), 1);
  if (ended instanceof Error) throw ended;
  return Buffer.concat(chunks);
}

describe('a response after which the server closes its connection', () => {
  for (const [reader, read] of Object.entries(READERS)) {
    for (const [framing, frame] of Object.entries(FRAMINGS)) {
      it(`arrives completely at ${reader} that is slow, when its end is marked by ${framing}`, async (t) => {
        for (const length of LENGTHS) {
          const content = Buffer.from(Array.from({ length }, (_, index) => index % 251));
          const ending = await servesAndEnds(t, ...frame(content), reader.includes('TLS'));

          const received = await read(t, ending);

          assert.ok(received.equals(content), `${received.length} of ${length} bytes`);
        }
      });
    }
  }

  for (const [reader, read] of Object.entries(READERS)) {
    it(`is still lost to ${reader} when the end comes too early`, async (t) => {
      for (const head of ['Content-Length: 70000', 'Transfer-Encoding: chunked']) {
        const body = head.startsWith('T') ? '10000\r\n' : '';
        const content = Buffer.concat([Buffer.from(body), Buffer.alloc(65_536, 1)]);
        const ending = await servesAndEnds(t, `${head}\r\nConnection: close`, content, reader.includes('TLS'));

        await assert.rejects(read(t, ending));
      }
    });
  }
});
