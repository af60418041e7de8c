/** What a response reveals about the upstream itself, for all tasks, and possible responses to polling a job. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { newTaskId } from '../../src/domain/ids.ts';
import { ProviderRejection, ProviderUnreachable } from '../../src/providers/provider.ts';
import type { GenerationRequest } from '../../src/providers/provider.ts';
import { createUpstreamCalls } from '../../src/providers/upstream-calls.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createSecretSource } from '../../src/upstreams/secrets.ts';
import { submitCall } from './submit-call.ts';
import { freePort } from './unreachable-servers.ts';

const deps = { secrets: createSecretSource({ main: 'the-key' }), logger: silentLogger() };
const calls = createUpstreamCalls('any', deps);
const call = submitCall();

function to(baseUrl: string): GenerationRequest {
  return { taskId: newTaskId(), upstream: { protocol: 'any', baseUrl, secret: 'main', model: 'm' }, input: {} };
}

async function serving<T>(answer: RequestListener, work: (request: GenerationRequest) => Promise<T>): Promise<T> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await work(to(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

async function rejectionOf(request: GenerationRequest, signal = call.signal): Promise<unknown> {
  const work = calls.submit(request, { ...call, signal }, { path: '/jobs', body: {} });
  const error: unknown = await work.catch((reason: unknown) => reason);
  assert.ok(error instanceof ProviderRejection, String(error));
  return [error.condition, error.retryAfterMs];
}

describe('a rejection', () => {
  for (const [what, status, retryAfter, condition, waitMs] of [
    ['429 with a time', 429, '7', 'busy', 7_000],
    ['429 without one', 429, undefined, 'busy', 5_000],
    ['503 with a time', 503, '7', 'busy', 7_000],
    ['503 without one', 503, undefined, 'down', 5_000],
    ['400', 400, '7', undefined, undefined],
    ['401', 401, undefined, 'unauthorized', undefined],
    ['402', 402, undefined, 'out_of_credit', undefined],
    ['403', 403, undefined, 'unauthorized', undefined],
    ['404', 404, undefined, undefined, undefined],
  ] as const) {
    it(`reports with ${what} that the upstream is ${condition ?? 'well'}`, async () => {
      const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
      const rejection = await serving((_, response) => response.writeHead(status, headers).end('{}'), rejectionOf);

      assert.deepEqual(rejection, [condition, waitMs]);
    });
  }

  it('reports an upstream as down when its connection is refused, and nothing of one that was not called', async () => {
    const unreachable = to(`http://127.0.0.1:${await freePort()}`);

    assert.deepEqual(await rejectionOf(unreachable), ['down', 5_000]);
    assert.deepEqual(await rejectionOf(unreachable, AbortSignal.abort()), [undefined, 0]);
  });
});

describe('a poll of a job', () => {
  it('accepts more than 1 MB when the response can contain the files, and not otherwise', async () => {
    const large = JSON.stringify({ output: 'x'.repeat(2_000_000) });
    await serving(
      (_, response) => response.end(large),
      async (request) => {
        const question = { method: 'GET', path: '/jobs/1', definiteStatuses: [] } as const;
        const answer = await calls.query(request, call, { ...question, bringsFiles: true });
        assert.equal(JSON.stringify(answer.json).length, large.length);
        await assert.rejects(
          calls.query(request, call, question),
          (error) => error instanceof ProviderUnreachable && error.status === 200 && error.code === 'BODY_TOO_LARGE',
        );
      },
    );
  });

  it('accepts a success without a body when none is required', async () => {
    let seen: unknown;
    await serving(
      (request, response) => {
        seen = [request.method, request.headers['content-type']];
        response.writeHead(202).end();
      },
      async (request) => {
        const question = { method: 'PUT', path: '/jobs/1/cancel', body: { a: 1 }, definiteStatuses: [] } as const;
        assert.equal((await calls.query(request, call, { ...question, isBodyOptional: true })).status, 202);
        await assert.rejects(calls.query(request, call, question), { name: 'ProviderUnreachable' });
      },
    );
    assert.deepEqual(seen, ['PUT', 'application/json']);
  });

  it("returns the upstream's Retry-After", async () => {
    await serving(
      (_, response) => response.writeHead(429, { 'retry-after': '30' }).end(),
      async (request) => {
        await assert.rejects(
          calls.query(request, call, { method: 'GET', path: '/jobs/1', definiteStatuses: [] }),
          (error) => error instanceof ProviderUnreachable && error.status === 429 && error.retryAfterMs === 30_000,
        );
      },
    );
  });

  it('sends the credential in the way of its protocol', async () => {
    let seen: unknown;
    const other = createUpstreamCalls('any', deps, {
      authorize: (secret) => ({ headers: { 'x-api-key': secret } }),
    });
    await serving(
      (request, response) => {
        seen = [request.headers['x-api-key'], request.headers.authorization];
        response.end('{}');
      },
      (request) => other.query(request, call, { method: 'GET', path: '/jobs/1', definiteStatuses: [] }),
    );
    assert.deepEqual(seen, ['the-key', undefined]);
  });
});
