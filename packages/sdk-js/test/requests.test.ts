/** Retries, time limits and errors, against a server that does what a real one does only on bad days. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import {
  ApiError,
  ConnectionError,
  Darkroom,
  InvalidRequestError,
  RateLimitError,
  ServiceError,
  TimeoutError,
} from '../src/index.ts';
import type { DarkroomOptions } from '../src/index.ts';
import { broken, ok, rejected, silent, startService } from '@darkroom/testing/answering-service';
import type { Service } from '@darkroom/testing/answering-service';

const TASK = { taskId: 'tk-svc-00000000000000000000000000', status: 'success', output: [] };

const clientOf = ({ url }: Service, options: Partial<DarkroomOptions> = {}): Darkroom =>
  new Darkroom({ baseUrl: url, apiKey: 'key', ...options });

describe('a request', () => {
  it('is sent again with the same idempotency key when it can succeed later', async () => {
    await using service = await startService(
      broken,
      rejected(503, 'SERVICE_UNAVAILABLE'),
      rejected(500, 'INTERNAL_ERROR'),
      rejected(408, 'INVALID_REQUEST'),
      ok(TASK),
    );
    const { taskId, idempotencyKey } = await clientOf(service).submit('a', { prompt: 'b' });

    assert.equal(taskId, TASK.taskId);
    assert.equal(service.received.length, 5);
    const sent = service.received.map(({ headers, body }) => [headers['idempotency-key'], body]);
    assert.deepEqual(
      sent,
      sent.map(() => [idempotencyKey, '{"model":"a","input":{"prompt":"b"}}']),
    );
  });

  it('has a key of its own for each call', async () => {
    await using service = await startService(ok(TASK));
    const client = clientOf(service);
    const keys = await Promise.all([0, 1].map(() => client.submit('a', {})));

    assert.notEqual(keys[0]?.idempotencyKey, keys[1]?.idempotencyKey);
  });

  it('is not sent again before the time that the response names', async () => {
    await using service = await startService(rejected(429, 'RATE_LIMITED', { 'Retry-After': '2' }), ok(TASK));
    const begunAt = performance.now();
    await clientOf(service).get('a');

    assert.ok(performance.now() - begunAt >= 1_990);
  });

  it('is reported at once when the time that the response names is too long', async () => {
    await using service = await startService(rejected(429, 'RATE_LIMITED', { 'Retry-After': '3600' }));
    await assert.rejects(clientOf(service).get('a'), (error) => {
      assert.ok(error instanceof RateLimitError);
      assert.equal(error.retryAfterSeconds, 3600);
      return true;
    });
    assert.equal(service.received.length, 1);
  });

  it('is not sent again when it is wrong', async () => {
    await using service = await startService(rejected(400, 'INVALID_REQUEST'));
    await assert.rejects(clientOf(service).submit('a', {}), (error) => {
      assert.ok(error instanceof InvalidRequestError && error instanceof ApiError);
      assert.deepEqual([error.status, error.code, error.requestId], [400, 'INVALID_REQUEST', 'req_test']);
      return true;
    });
    assert.equal(service.received.length, 1);
  });

  it('is not sent again when the response says that this is of no use', async () => {
    await using service = await startService(rejected(503, 'SERVICE_UNAVAILABLE', { 'X-Should-Retry': 'false' }));
    await assert.rejects(clientOf(service).fetch('POST', '/audio/speech', { body: {} }), ServiceError);
    assert.equal(service.received.length, 1);
  });

  it('fails with the last reason when the retries are used up', async () => {
    await using service = await startService(rejected(503, 'SERVICE_UNAVAILABLE'));
    await assert.rejects(clientOf(service, { maxRetries: 1 }).get('a'), ServiceError);
    assert.equal(service.received.length, 2);

    await using away = await startService(broken);
    await assert.rejects(clientOf(away, { maxRetries: 0 }).get('a'), ConnectionError);
    assert.equal(away.received.length, 1);
  });

  it('fails with a TimeoutError when no response arrives in time', async () => {
    await using service = await startService(silent);
    let sent = 0;
    const client = clientOf(service, {
      maxRetries: 1,
      timeoutMs: 50,
      fetch(url, init) {
        sent += 1;
        return fetch(url, init);
      },
    });
    await assert.rejects(client.get('a'), TimeoutError);
    assert.equal(sent, 2);
  });

  it('ends with the reason of its signal, also while it waits for the next attempt', async () => {
    await using service = await startService(rejected(429, 'RATE_LIMITED', { 'Retry-After': '30' }));
    const signal = AbortSignal.timeout(100);
    await assert.rejects(clientOf(service).get('a', { signal }), (error) => error === signal.reason);
  });

  it('reports the response of something that is not Darkroom', async () => {
    await using service = await startService((_request, response) => void response.end('<html>hello</html>'));
    await assert.rejects(clientOf(service, { maxRetries: 0 }).get('a'), /did not return a Darkroom API response/);
  });

  it('gets the key of the moment, and other addresses get none', async () => {
    await using service = await startService(ok(TASK));
    await using store = await startService((_request, response) => void response.end('bytes'));
    let calls = 0;
    const client = clientOf(service, { apiKey: async () => `key-${++calls}` });
    await client.get('a');
    await client.get('a');
    const response = await client.download({ url: `${store.url}/media/a` });

    assert.equal(await response.text(), 'bytes');
    const sent = service.received.map(({ headers }) => headers.authorization);
    assert.deepEqual(sent, ['Bearer key-1', 'Bearer key-2']);
    assert.equal(store.received[0]?.headers.authorization, undefined);
  });

  it('stays below the path of the API whatever the id is', async () => {
    await using service = await startService(ok(TASK));
    const client = clientOf(service, { baseUrl: `${service.url}/darkroom/` });
    await client.get('../account');
    await assert.rejects(client.get('..'), ApiError);
    await assert.rejects(client.get(''), TypeError);

    assert.deepEqual(
      service.received.map(({ url }) => url),
      ['/darkroom/v1/tasks/..%2Faccount'],
    );
  });
});

describe('a client', () => {
  it('says what is wrong with its settings', () => {
    const settings: readonly (readonly [Partial<DarkroomOptions>, RegExp])[] = [
      [{ baseUrl: undefined }, /baseUrl is missing/],
      [{ baseUrl: 'here' }, /baseUrl is not a URL: here/],
      [{ baseUrl: 'ftp://example.com' }, /not an HTTP URL/],
      [{ baseUrl: 'https://a:b@example.com' }, /pass the key as apiKey/],
      [{ apiKey: undefined }, /apiKey is missing/],
      [{ timeoutMs: 0 }, /timeoutMs is not a whole number from 1 on/],
      [{ maxRetries: 1.5 }, /maxRetries is not a whole number from 0 on/],
    ];
    for (const [changed, message] of settings) {
      const options = { baseUrl: 'https://example.com', apiKey: 'a', ...changed };
      assert.throws(() => new Darkroom(options), message);
    }
  });

  it('does not show a malformed key', async () => {
    const client = new Darkroom({ baseUrl: 'http://127.0.0.1:1', apiKey: 'se\ncret', maxRetries: 0 });
    await assert.rejects(client.get('a'), (error) => !inspect(error).includes('cret'));
  });
});
