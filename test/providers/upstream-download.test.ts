/** Files that an upstream serves itself. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { EgressError } from '../../src/egress/egress-error.ts';
import { newTaskId } from '../../src/domain/ids.ts';
import type { DownloadCall, UpstreamFile } from '../../src/providers/provider.ts';
import { createUpstreamCalls } from '../../src/providers/upstream-calls.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createSecretSource } from '../../src/upstreams/secrets.ts';
import { freePort } from './unreachable-servers.ts';

const { download } = createUpstreamCalls('any', {
  secrets: createSecretSource({ main: 'the-key' }),
  logger: silentLogger(),
});
const bounds: DownloadCall = { timeoutMs: 20_000, maxBytes: 1_000, signal: new AbortController().signal };

async function fetchFrom(baseUrl: string, url: string, call: DownloadCall = bounds): Promise<UpstreamFile> {
  const upstream = { protocol: 'any', baseUrl, secret: 'main', model: 'm' };
  return download({ taskId: newTaskId(), upstream, input: {} }, url, call);
}

/** Serves in the given way while `work` runs. */
async function serving<T>(answer: RequestListener, work: (origin: string) => Promise<T>): Promise<T> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

async function bytesOf(file: UpstreamFile): Promise<string> {
  assert.ok(file.from === 'upstream');
  return (await buffer(file.body)).toString();
}

/** The kind and status of the failure, and whether it is final. */
async function failureOf(work: Promise<unknown>): Promise<unknown> {
  const error: unknown = await work.then(
    () => assert.fail('it should have failed'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof EgressError, String(error));
  assert.doesNotMatch(`${error.message}${String(error.cause)}`, /127\.0\.0\.1|the-key/);
  return [error.kind, error.status, error.isBarred];
}

describe('a file of an upstream', () => {
  it('is fetched from the upstream’s own origin with its credential, at any path', async () => {
    const seen: unknown[] = [];
    const listener: RequestListener = (request, response) => {
      seen.push([request.method, request.url, request.headers.authorization]);
      response.end('bytes');
    };
    await serving(listener, async (origin) => {
      assert.equal(await bytesOf(await fetchFrom(`${origin}/v1/`, `${origin}/files/a.png?x=1`)), 'bytes');
    });

    assert.deepEqual(seen, [['GET', '/files/a.png?x=1', 'Bearer the-key']]);
  });

  it('is left to the guarded client, and never requested, on any other origin', async () => {
    let requests = 0;
    await serving(
      () => {
        requests += 1;
      },
      async (origin) => {
        const { port } = new URL(origin);
        for (const [baseUrl, url] of [
          [`https://127.0.0.1:${port}`, `${origin}/a`],
          ['http://127.0.0.1:1', `${origin}/a`],
          [`http://localhost:${port}`, `${origin}/a`],
          ['not an address', `${origin}/a`],
        ] as const) {
          assert.deepEqual(await fetchFrom(baseUrl, url), { from: 'elsewhere', url });
        }
      },
    );
    assert.equal(requests, 0);
  });

  it('is followed within the origin, and handed over without a request when it is redirected elsewhere', async () => {
    const listener: RequestListener = (request, response) => {
      if (request.url === '/a') response.writeHead(302, { location: '/b' }).end();
      else if (request.url === '/b') response.end('bytes');
      else response.writeHead(307, { location: 'https://cdn.example.com/c.png#x' }).end();
    };
    await serving(listener, async (origin) => {
      assert.equal(await bytesOf(await fetchFrom(origin, `${origin}/a`)), 'bytes');
      assert.deepEqual(await fetchFrom(origin, `${origin}/c`), {
        from: 'elsewhere',
        url: 'https://cdn.example.com/c.png',
      });
    });
  });

  it('fails permanently when it is redirected in a circle or without a target', async () => {
    await serving(
      (_request, response) => response.writeHead(302, { location: '/again' }).end(),
      async (origin) => {
        assert.deepEqual(await failureOf(fetchFrom(origin, `${origin}/a`)), ['unreachable', undefined, true]);
      },
    );
    await serving(
      (_request, response) => response.writeHead(302, { location: 'https://' }).end(),
      async (origin) => {
        assert.deepEqual(await failureOf(fetchFrom(origin, `${origin}/a`)), ['unreachable', undefined, true]);
      },
    );
  });

  it('is not fetched when it is too large, declared or not, or has an error status', async () => {
    const failures = await serving(
      (request, response) => {
        if (request.url === '/said') response.writeHead(200, { 'content-length': 2_000 }).write('x');
        else if (request.url === '/unsaid') response.end('x'.repeat(2_000));
        else response.writeHead(404).end();
      },
      async (origin) => [
        await failureOf(fetchFrom(origin, `${origin}/said`)),
        await failureOf(fetchFrom(origin, `${origin}/unsaid`).then(bytesOf)),
        await failureOf(fetchFrom(origin, `${origin}/gone`)),
      ],
    );

    assert.deepEqual(failures, [
      ['too_large', undefined, false],
      ['too_large', undefined, false],
      ['status', 404, false],
    ]);
  });

  it('is waited for no longer than its timeout, before its head and in the middle of it', async () => {
    const listener: RequestListener = (request, response) => {
      if (request.url === '/half') response.writeHead(200).write('half');
    };
    await serving(listener, async (origin) => {
      const call = { ...bounds, timeoutMs: 300 };
      assert.deepEqual(await failureOf(fetchFrom(origin, `${origin}/never`, call)), ['timeout', undefined, false]);
      const half = fetchFrom(origin, `${origin}/half`, call).then(bytesOf);
      assert.deepEqual(await failureOf(half), ['timeout', undefined, false]);
    });
  });

  it('can be retried when it was truncated or the connection was refused', async () => {
    const cut: RequestListener = (_request, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('x', () => response.destroy());
    };
    await serving(cut, async (origin) => {
      const work = fetchFrom(origin, `${origin}/a`).then(bytesOf);
      assert.deepEqual(await failureOf(work), ['unreachable', undefined, false]);
    });
    const unreachable = `http://127.0.0.1:${await freePort()}`;
    assert.deepEqual(await failureOf(fetchFrom(unreachable, `${unreachable}/a`)), ['unreachable', undefined, false]);
  });

  it('ends with the reason of the caller’s signal', async () => {
    const stop = new AbortController();
    const listener: RequestListener = (_request, response) => {
      response.writeHead(200).write('half');
    };
    await serving(listener, async (origin) => {
      const file = await fetchFrom(origin, `${origin}/a`, { ...bounds, signal: stop.signal });
      const reading = bytesOf(file);
      stop.abort(new Error('stopped'));
      await assert.rejects(reading, { message: 'stopped' });
    });
  });
});
