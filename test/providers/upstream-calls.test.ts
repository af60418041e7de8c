/** Responses to a submit that the test provider never gives, and what happens to the connections. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { newTaskId } from '../../src/domain/ids.ts';
import { ProviderRejection, ProviderUnknown } from '../../src/providers/provider.ts';
import { createReplicateProvider } from '../../src/providers/replicate/replicate-provider.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createSecretSource } from '../../src/upstreams/secrets.ts';
import { submitCall } from './submit-call.ts';

const provider = createReplicateProvider({ secrets: createSecretSource({}), logger: silentLogger() });

/** Submits once or more to a server that responds in the given way; returns the last outcome. */
async function submit(answer: RequestListener, times = 1): Promise<unknown> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`;
  const upstream = { protocol: 'replicate', baseUrl, model: 'test/image' };
  try {
    let outcome: unknown;
    for (let time = 0; time < times; time++) {
      outcome = await provider
        .submit({ taskId: newTaskId(), upstream, input: {} }, submitCall())
        .catch((error: unknown) => error);
    }
    return outcome;
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe('a submit to an upstream', () => {
  it('uses a new connection each time, so that a dead one cannot lose it', async () => {
    const ports = new Set<number | undefined>();
    await submit((request, response) => {
      ports.add(request.socket.remotePort);
      response.writeHead(201).end('{"id":"job-1"}');
    }, 3);

    assert.equal(ports.size, 3);
  });

  it('is sent below the base URL, with or without a trailing slash, and without a credential when none is named', async () => {
    let seen: unknown;
    const outcome = await submit((request, response) => {
      seen = [request.url, request.headers.authorization];
      response.writeHead(201).end('{"id":"job-1"}');
    });

    assert.deepEqual(outcome, { kind: 'job', jobId: 'job-1' });
    assert.deepEqual(seen, ['/v1/models/test/image/predictions', undefined]);
  });

  it('is of unknown outcome when a 503 contains a job id', async () => {
    const outcome = await submit((_request, response) => response.writeHead(503).end('{"id":"job-1"}'));

    assert.ok(outcome instanceof ProviderUnknown);
  });

  it('is of unknown outcome when it was accepted under an unusable id', async () => {
    for (const id of ['', '..', 'a/b', 'x'.repeat(201), 7, null]) {
      const outcome = await submit((_request, response) => response.writeHead(201).end(JSON.stringify({ id })));

      assert.ok(outcome instanceof ProviderUnknown, String(id));
    }
  });

  it('is rejected permanently when the upstream has moved or requires payment', async () => {
    for (const status of [301, 307, 402]) {
      const outcome = await submit((_request, response) => response.writeHead(status).end());

      assert.ok(outcome instanceof ProviderRejection);
      assert.equal(outcome.reason, 'model_unavailable');
      assert.equal(outcome.retryAfterMs, undefined);
    }
  });

  it('reports what is wrong with the credential, if that is the reason', async () => {
    for (const [status, body, condition] of [
      [401, '', 'unauthorized'],
      [403, '', 'unauthorized'],
      [402, '', 'out_of_credit'],
      [404, '', undefined],
      [429, '', 'busy'],
      [422, '', undefined],
    ] as const) {
      const outcome = await submit((_request, response) => response.writeHead(status).end(body));

      assert.ok(outcome instanceof ProviderRejection);
      assert.equal(outcome.condition, condition, String(status));
    }
  });

  it('is rejected for 5 s when the upstream sends no Retry-After', async () => {
    const outcome = await submit((_request, response) => response.writeHead(429).end());

    assert.ok(outcome instanceof ProviderRejection);
    assert.equal(outcome.retryAfterMs, 5_000);
  });
});
