/**
 * What a model file can describe of an HTTP API beyond what the two public examples need: against a server that
 * records its requests.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { findBindingProblems } from '../../src/providers/http/validate-binding.ts';
import type { HttpBinding } from '../../src/providers/http/binding.ts';
import { createHttpProvider } from '../../src/providers/http/http-provider.ts';
import { ProviderFailure, ProviderRejection, ProviderUnknown } from '../../src/providers/provider.ts';
import type { GenerationRequest, Provider } from '../../src/providers/provider.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createSecretSource } from '../../src/upstreams/secrets.ts';
import { submitCall } from './submit-call.ts';

const call = submitCall();
const whole = createHttpProvider({
  secrets: createSecretSource({ MAIN: 'user:pass&word' }),
  logger: silentLogger(),
});

interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

interface Bench {
  readonly provider: Provider;
  readonly request: GenerationRequest;
  /** The requests that reached the server, in order. */
  readonly asked: readonly Asked[];
  /** The server's own address. */
  readonly origin: string;
}

/** The job API that is sufficient for most cases. */
const JOBS: HttpBinding = {
  submit: { path: "'/jobs'", body: '{ "say": prompt }' },
  jobId: 'id',
  poll: { path: "'/jobs/' & $jobId", state: 'state' },
  outputs: 'files',
};

/** Runs work against a server that responds with the entry of `answers` for a method and path. */
async function withServer(
  http: HttpBinding,
  answers: Readonly<Record<string, unknown>>,
  work: (bench: Bench) => Promise<void>,
): Promise<void> {
  assert.deepEqual(findBindingProblems(http), []);
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { method = '', url = '', headers } = request;
      asked.push({ method, url, headers, body: body === '' ? undefined : JSON.parse(body) });
      const answer = answers[`${method} ${url.split('?')[0]}`];
      if (Buffer.isBuffer(answer)) response.end(answer);
      else response.writeHead(answer === undefined ? 404 : 200).end(JSON.stringify(answer ?? {}));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const upstream = { protocol: 'http', baseUrl: `${origin}/v2`, secret: 'main', model: 'some/model', http };
  const provider = whole.boundTo?.(upstream, 'image');
  assert.ok(provider !== undefined);
  const taskId = 'tk-svc-00000000000000000000000001';
  try {
    await work({ provider, request: { taskId, upstream, input: { prompt: 'a boat' } }, asked, origin });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe('an HTTP API that a model file describes', () => {
  it('gets the credential as the file describes', async () => {
    const base64 = Buffer.from('user:pass&word').toString('base64');
    const cases = [
      { auth: undefined, header: 'authorization', value: 'Bearer user:pass&word', query: '' },
      { auth: { scheme: 'basic' }, header: 'authorization', value: `Basic ${base64}`, query: '' },
      { auth: { scheme: 'header', name: 'X-Key' }, header: 'x-key', value: 'user:pass&word', query: '' },
      {
        auth: { scheme: 'query', name: 'key' },
        header: 'authorization',
        value: undefined,
        query: '?key=user%3Apass%26word',
      },
    ] as const;
    for (const { auth, header, value, query } of cases) {
      const http = { ...JOBS, headers: { 'X-Version': '7' }, ...(auth === undefined ? {} : { auth }) };
      const answers = { 'POST /v2/jobs': { id: 'job-1' }, 'GET /v2/jobs/job-1': { state: 'running' } };
      await withServer(http, answers, async ({ provider, request, asked }) => {
        await provider.submit(request, call);
        await provider.poll(request, 'job-1', call);

        assert.deepEqual(
          asked.map(({ url }) => url),
          [`/v2/jobs${query}`, `/v2/jobs/job-1${query}`],
        );
        for (const { headers } of asked) assert.deepEqual([headers[header], headers['x-version']], [value, '7']);
      });
    }
  });

  it('serves its files with the credential in the query, and other hosts do not get it', async () => {
    const http: HttpBinding = { ...JOBS, auth: { scheme: 'query', name: 'key' } };
    await withServer(
      http,
      { 'GET /v2/files/1': Buffer.from('bytes') },
      async ({ provider, request, asked, origin }) => {
        const bounds = { ...call, timeoutMs: 10_000, maxBytes: 100 };

        const own = await provider.download?.(request, `${origin}/v2/files/1?a=b`, bounds);
        const other = await provider.download?.(request, 'https://elsewhere.example/1', bounds);

        assert.equal(own?.from === 'upstream' ? (await buffer(own.body)).toString() : '', 'bytes');
        assert.equal(asked[0]?.url, '/v2/files/1?a=b&key=user%3Apass%26word');
        assert.deepEqual(other, { from: 'elsewhere', url: 'https://elsewhere.example/1' });
      },
    );
  });

  it('may be synchronous, and return its files as base64', async () => {
    const http: HttpBinding = {
      submit: { method: 'PUT', path: "'/draw'", body: '{ "say": prompt }' },
      outputs: 'images.{ "base64": data }',
      reason: "error = 'nsfw' ? 'content_rejected'",
    };
    const images = [{ data: 'AAEC' }, { data: 'AwQ=' }];
    await withServer(http, { 'PUT /v2/draw': { images } }, async ({ provider, request }) => {
      assert.equal(provider.worksWhileSubmitting, true);
      assert.deepEqual(await provider.submit(request, call), {
        kind: 'done',
        files: [
          { from: 'bytes', bytes: Buffer.from([0, 1, 2]) },
          { from: 'bytes', bytes: Buffer.from([3, 4]) },
        ],
      });
      await assert.rejects(provider.poll(request, 'job', call), { name: 'ProviderFailure', reason: 'outcome_unknown' });
    });
    for (const [answer, reason] of [
      [{ error: 'nsfw' }, 'content_rejected'],
      [{ images: 'none' }, 'no_output'],
    ] as const) {
      await withServer(http, { 'PUT /v2/draw': answer }, async ({ provider, request }) => {
        await assert.rejects(provider.submit(request, call), { name: 'ProviderFailure', reason });
      });
    }
  });

  it('may get a submit twice, when the file allows it and sends the id of the task', async () => {
    const headers = { 'Idempotency-Key': '$taskId' };
    const http: HttpBinding = { ...JOBS, isSubmitRepeatable: true, submit: { ...JOBS.submit, headers } };
    await withServer(http, { 'POST /v2/jobs': { id: 17 } }, async ({ provider, request, asked }) => {
      assert.equal(provider.isSubmitRepeatable, true);
      assert.deepEqual(await provider.submit(request, call), { kind: 'job', jobId: '17' });
      assert.equal(asked[0]?.headers['idempotency-key'], request.taskId);
    });
  });

  it('gets no request when the file has no template for an input, or one that leads to another host', async () => {
    for (const submit of [
      { path: "'/jobs'", body: 'nothing.like.it' },
      { path: "'//../../etc'", body: '1' },
      { path: "'@elsewhere.example/'", body: '1' },
      { path: "'/jobs/' & prompt", body: '1' },
      { path: '$number(prompt)', body: '1' },
    ]) {
      await withServer({ ...JOBS, submit }, {}, async ({ provider, request, asked }) => {
        const error = await provider.submit(request, call).catch((reason: unknown) => reason);

        assert.ok(error instanceof ProviderRejection, submit.path);
        assert.equal(error.reason, 'model_unavailable');
        assert.deepEqual(asked, []);
      });
    }
  });

  it('is assumed to have accepted the work when it responds without a usable id', async () => {
    for (const id of ['a/b', { deep: 1 }, undefined]) {
      await withServer(JOBS, { 'POST /v2/jobs': { id } }, async ({ provider, request }) => {
        const error = await provider.submit(request, call).catch((reason: unknown) => reason);

        assert.ok(error instanceof ProviderUnknown);
      });
    }
  });

  it('can give a rejection reason from the closed list', async () => {
    const submit = { ...JOBS.submit, refusal: "code = 'bad-image' ? 'input_unreachable' : 'something else'" };
    const server = createServer((_request, response) => response.writeHead(400).end('{"code":"bad-image"}'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const upstream = { protocol: 'http', baseUrl, model: 'm', http: { ...JOBS, submit } };
    const request = { taskId: 'tk-svc-00000000000000000000000002', upstream, input: {} } as const;

    await assert.rejects(whole.submit(request, call), { name: 'ProviderRejection', reason: 'input_unreachable' });

    server.close();
  });

  it('can reject work by a 2xx with neither a job nor outputs', async () => {
    const codes = "{ '1002': 'provider_unavailable', '1026': 'content_rejected' }";
    const submit = { ...JOBS.submit, refusal: `$lookup(${codes}, $string(code))` };
    const outcomeOf = async (http: HttpBinding, answer: object): Promise<unknown> => {
      const outcomes: unknown[] = [];
      await withServer(http, { 'POST /v2/jobs': answer }, async ({ provider, request }) => {
        outcomes.push(await provider.submit(request, call).catch((error: unknown) => error));
      });
      const [outcome] = outcomes;
      if (outcome instanceof ProviderRejection || outcome instanceof ProviderFailure) return outcome.reason;
      return outcome instanceof ProviderUnknown ? 'unknown' : outcome;
    };
    const jobs = { ...JOBS, submit };
    assert.equal(await outcomeOf(jobs, { code: 1026 }), 'content_rejected');
    assert.equal(await outcomeOf(jobs, { id: '', code: 1002 }), 'provider_unavailable');
    assert.equal(await outcomeOf(jobs, { code: 7 }), 'unknown');
    assert.deepEqual(await outcomeOf(jobs, { id: 'job-1', code: 1026 }), { kind: 'job', jobId: 'job-1' });

    const synchronous = { submit, outputs: 'files' };
    const url = 'https://a.example/1.png';
    assert.equal(await outcomeOf(synchronous, { code: 1002 }), 'provider_unavailable');
    assert.equal(await outcomeOf(synchronous, { code: 7 }), 'no_output');
    assert.deepEqual(await outcomeOf(synchronous, { files: [url], code: 1026 }), {
      kind: 'done',
      files: [{ from: 'url', url }],
    });
  });

  it('is polled by POST when the file says so, and reports the cost of a cancelled job', async () => {
    const http: HttpBinding = {
      ...JOBS,
      poll: { method: 'POST', path: "'/query'", body: '{ "task": $jobId }', state: 'state' },
      cancel: { path: "'/cancel'", body: '{ "task": $jobId }', cost: 'usage.usd' },
    };
    const answers = { 'POST /v2/query': { state: 'failed', usage: { usd: 0.0042 } }, 'POST /v2/cancel': { ok: true } };
    await withServer(http, answers, async ({ provider, request, asked }) => {
      const answer = await provider.cancel(request, 'job-9', call);

      assert.deepEqual(answer, { outcome: 'cancelled', billedMicroUsd: 4_200n });
      assert.deepEqual(
        asked.map(({ url, body }) => [url, body]),
        [
          ['/v2/cancel', { task: 'job-9' }],
          ['/v2/query', { task: 'job-9' }],
        ],
      );
    });
  });

  it('names files by paths below its base URL, which lead nowhere else', async () => {
    const files = ['/view?filename=a%20b.png', '//elsewhere.example/a', '/../a', '/a/%2e%2e/b', '/a#b', '/a b', '@c'];
    await withServer(JOBS, { 'GET /v2/jobs/job-1': { state: 'done', files } }, async ({ provider, request }) => {
      const { baseUrl = '' } = request.upstream;

      assert.deepEqual(await provider.poll(request, 'job-1', call), {
        kind: 'done',
        files: [
          { from: 'url', url: `${baseUrl}/view?filename=a%20b.png` },
          { from: 'url', url: `${baseUrl}//elsewhere.example/a` },
        ],
      });
    });
  });

  it('returns no file by a URL that is not http(s), nor by a text that is not a URL', async () => {
    for (const files of ['file:///etc/passwd', 'a poem', 7, [null], [{ url: 'https://a.example/1.png' }]]) {
      await withServer(JOBS, { 'GET /v2/jobs/job-1': { state: 'done', files } }, async ({ provider, request }) => {
        const error = await provider.poll(request, 'job-1', call).catch((reason: unknown) => reason);

        assert.ok(error instanceof ProviderFailure);
        assert.equal(error.reason, 'no_output');
      });
    }
  });
});
