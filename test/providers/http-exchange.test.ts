/** One exchange with a server that misbehaves in ways the test provider does not. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createHttpExchange, ExchangeLost } from '../../src/providers/http-exchange.ts';
import type { ExchangeAnswer, ExchangeRequest } from '../../src/providers/http-exchange.ts';
import { jsonBody } from '../../src/providers/request-body.ts';

const exchange = createHttpExchange();

/** Sends one request to a server that responds in the given way. */
async function ask(answer: RequestListener, changes: Partial<ExchangeRequest> = {}): Promise<ExchangeAnswer> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  try {
    return await exchange({
      method: 'POST',
      url: new URL(`http://127.0.0.1:${port}/v1/things?a=b`),
      headers: { authorization: 'Bearer key' },
      content: jsonBody({ some: 'thing' }),
      signal: new AbortController().signal,
      timeoutMs: 60_000,
      maxBytes: 1_000,
      onFreshConnection: true,
      ...changes,
    });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe('an HTTP request to a provider', () => {
  let directory = '';
  let fileTo = '';
  before(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'darkroom-exchange-'));
    fileTo = path.join(directory, 'response');
  });
  after(async () => rm(directory, { recursive: true }));

  /** The content of a response that was a file. */
  const contentOf = async ({ file }: ExchangeAnswer): Promise<string> => {
    const content = await readFile(file?.path ?? assert.fail('the response was no file'), 'utf8');
    assert.equal(content.length, file?.byteLength);
    return content;
  };

  it('sends the body as JSON to the path, and reads JSON back', async () => {
    const answer = await ask((request, response) => {
      let text = '';
      request.on('data', (chunk: Buffer) => (text += chunk.toString()));
      request.on('end', () => {
        response.end(JSON.stringify({ url: request.url, text, connection: request.headers.connection }));
      });
    });

    assert.deepEqual(answer, {
      status: 200,
      retryAfterMs: undefined,
      json: { url: '/v1/things?a=b', text: '{"some":"thing"}', connection: 'close' },
      byteLength: 75,
    });
  });

  it('reads a response in chunks of one byte, as JSON and as a file', async () => {
    const inChunks: RequestListener = (_request, response) => {
      response.setHeader('content-type', 'application/octet-stream');
      for (const character of '{"some":"thing"}') response.write(character);
      response.end();
    };

    assert.deepEqual((await ask(inChunks)).json, { some: 'thing' });
    assert.equal(await contentOf(await ask(inChunks, { fileTo })), '{"some":"thing"}');
  });

  it('writes a file that comes in small pieces no slower than one that comes in large ones', async () => {
    const inPieces =
      (pieceBytes: number): RequestListener =>
      (_request, response) => {
        response.setHeader('content-type', 'audio/wav');
        let rest = 60_000_000 / pieceBytes;
        const piece = Buffer.alloc(pieceBytes, 7);
        const more = (): void => {
          while (rest > 0) {
            rest -= 1;
            if (!response.write(piece)) return void response.once('drain', more);
          }
          response.end();
        };
        more();
      };
    const timeOf = async (pieceBytes: number): Promise<number> => {
      const since = performance.now();
      const { file } = await ask(inPieces(pieceBytes), { fileTo });
      assert.equal(file?.byteLength, 60_000_000);
      return performance.now() - since;
    };

    const ofLargeMs = await timeOf(60_000);
    const ofSmallMs = await timeOf(1_000);
    // A pause for every few pieces once made it a thousand times as long.
    assert.ok(ofSmallMs < 30 * ofLargeMs + 5_000, `${ofSmallMs} ms, and ${ofLargeMs} ms in large pieces`);
  });

  it('stops reading a body above the limit, and returns the status', async () => {
    let cut: Promise<unknown> | undefined;
    const answer = await ask((_request, response) => {
      cut = once(response, 'close');
      response.write('"' + 'x'.repeat(2_000));
    });

    const bodyFault = 'BODY_TOO_LARGE';
    assert.deepEqual(answer, { status: 200, retryAfterMs: undefined, json: undefined, byteLength: 0, bodyFault });
    await cut;
  });

  it('stops reading JSON with too many parts, before any of it is parsed', async () => {
    for (const [body, isRead] of [
      [`[${'1,'.repeat(150_000)}1]`, true],
      [`[${'1,'.repeat(250_000)}1]`, false],
      ['['.repeat(500_000), false],
      [`[${'{"a":1},'.repeat(250_000)}{}]`, false],
    ] as const) {
      let isWhole = false;
      const answer = await ask(
        (_request, response) => {
          response.on('finish', () => (isWhole = true));
          response.end(body);
        },
        { maxBytes: 64 * 1024 * 1024 },
      );

      assert.equal(answer.bodyFault, isRead ? undefined : 'JSON_TOO_LARGE');
      assert.equal(Array.isArray(answer.json), isRead);
      assert.ok(isWhole || !isRead);
    }
  });

  it('returns the status and Retry-After of a rejection whose body is truncated', async () => {
    const answer = await ask((_request, response) => {
      response.writeHead(429, { 'retry-after': '9', 'content-length': 500 });
      response.write('{', () => response.destroy());
    });

    assert.equal(answer.status, 429);
    assert.equal(answer.retryAfterMs, 9_000);
    assert.equal(answer.json, undefined);
  });

  it('does not follow a redirect', async () => {
    const answer = await ask((_request, response) => response.writeHead(307, { location: '/elsewhere' }).end());

    assert.equal(answer.status, 307);
  });

  it('takes the status that follows an informational one', async () => {
    const answer = await ask((_request, response) => {
      response.writeProcessing();
      response.end('{}');
    });

    assert.deepEqual([answer.status, answer.json], [200, {}]);
  });

  it('reports that something was sent when the connection ends without a status', async () => {
    const lost = await ask((request) => request.socket.destroy()).catch((error: unknown) => error);

    assert.ok(lost instanceof ExchangeLost);
    assert.equal(lost.wasSent, true);
  });

  it('returns a file when one is expected, and only its status when a text arrives instead', async () => {
    const sound = await ask((_request, response) => response.setHeader('content-type', 'audio/wav').end('RIFF'), {
      fileTo,
    });
    assert.deepEqual([await contentOf(sound), sound.json], ['RIFF', undefined]);

    const page = await ask((_request, response) => response.setHeader('content-type', 'text/html').end('<p>'), {
      fileTo,
    });
    assert.deepEqual([page.file, page.bodyFault], [undefined, 'NOT_JSON']);
  });

  it('returns a file that its server declares as text, in whatever pieces it arrives', async () => {
    const sound = Buffer.concat([Buffer.from('RIFF'), Buffer.from([0x24, 0x10, 0, 0]), Buffer.alloc(9_000, 'WAVE')]);
    for (const pieces of [[sound], [sound.subarray(0, 3), sound.subarray(3)], [...sound].map((byte) => [byte])]) {
      const answer = await ask(
        (_request, response) => {
          response.setHeader('content-type', 'text/html; charset=utf-8');
          for (const piece of pieces) response.write(Buffer.from(piece));
          response.end();
        },
        { fileTo, maxBytes: 1_000 },
      );
      assert.deepEqual(await readFile(answer.file?.path ?? assert.fail('no file')), sound);
    }

    const long = await ask(
      (_request, response) => response.setHeader('content-type', 'text/html').end(`${'<p>'.repeat(500)}\0`),
      { fileTo, maxBytes: 10_000 },
    );
    assert.deepEqual([long.file, long.bodyFault], [undefined, 'NOT_JSON']);
    const failed = await ask((_request, response) => response.writeHead(500).end(sound), { fileTo, maxBytes: 10_000 });
    assert.deepEqual([failed.file, failed.bodyFault], [undefined, 'NOT_JSON']);
  });

  it('reads nothing of a body whose Content-Length is above the limit', async () => {
    const answer = await ask((_request, response) => {
      response.writeHead(429, { 'retry-after': '9', 'content-length': 3e12 }).write('{');
    });

    assert.deepEqual([answer.status, answer.retryAfterMs, answer.bodyFault], [429, 9_000, 'BODY_TOO_LARGE']);
  });

  it('sends a stream with its length, byte for byte', async () => {
    const bytes = Buffer.alloc(300_000, 7);
    const chunks = [bytes.subarray(0, 100_000), bytes.subarray(100_000)];
    const answer = await ask(
      (request, response) => {
        let received = 0;
        request.on('data', (chunk: Buffer) => (received += chunk.length));
        request.on('end', () => response.end(JSON.stringify([request.headers['content-length'], received])));
      },
      { content: { contentType: 'a/b', body: Readable.from(chunks, { objectMode: false }), byteLength: bytes.length } },
    );

    assert.deepEqual(answer.json, ['300000', 300_000]);
  });

  it('reports that nothing was accepted when the connection ends before the body has', async () => {
    const endless = new Readable({ read: () => undefined });
    endless.push('a beginning');
    const lost = await ask((request) => request.once('data', () => request.socket.destroy()), {
      content: { contentType: 'a/b', body: endless, byteLength: 1_000 },
    }).catch((error: unknown) => error);

    assert.ok(lost instanceof ExchangeLost);
    assert.equal(lost.wasSent, false);
    assert.equal(endless.destroyed, true);
  });

  it('reports that nothing was sent when the signal was already aborted, or a header is invalid', async () => {
    let requests = 0;
    const count: RequestListener = (_request, response) => {
      requests += 1;
      response.end('{}');
    };
    for (const changes of [{ signal: AbortSignal.abort() }, { headers: { authorization: 'Bearer a\nb' } }]) {
      const lost = await ask(count, changes).catch((error: unknown) => error);

      assert.ok(lost instanceof ExchangeLost);
      assert.equal(lost.wasSent, false);
    }
    assert.equal(requests, 0);
  });

  it('writes nothing when it is aborted before the connection is established', async () => {
    const server = createTcpServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const connection = once(server, 'connection') as Promise<[Socket]>;
    const stop = new AbortController();

    const work = exchange({
      method: 'POST',
      url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`),
      headers: {},
      content: jsonBody({}),
      signal: stop.signal,
      timeoutMs: undefined,
      maxBytes: 1_000,
      onFreshConnection: true,
    });
    stop.abort();

    await assert.rejects(work, { name: 'ExchangeLost', wasSent: false, code: 'ABORTED' });
    const [socket] = await connection;
    await once(socket.resume(), 'close');
    assert.equal(socket.bytesRead, 0);
    server.close();
  });
});
