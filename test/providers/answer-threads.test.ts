/** The threads that read answers of providers: which upstream waits for which, and what is read there. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { after, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import { createAnswerThreads } from '../../src/providers/answer-threads.ts';
import type { AnswerThreads } from '../../src/providers/answer-threads.ts';
import { createHttpExchange } from '../../src/providers/http-exchange.ts';
import { createHttpProvider } from '../../src/providers/http/http-provider.ts';
import { ProviderUnreachable } from '../../src/providers/provider.ts';
import type { GenerationRequest } from '../../src/providers/provider.ts';
import { createReplicateProvider } from '../../src/providers/replicate/replicate-provider.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createSecretSource } from '../../src/upstreams/secrets.ts';
import { JOBS } from './http/recorder.ts';
import { submitCall } from './submit-call.ts';

/** So long that no test ends with it: a job that does not end holds its thread until the threads are closed. */
const NEVER_MS = 600_000;
const call = submitCall();
const deps = { secrets: createSecretSource({ MAIN: 'key' }), logger: silentLogger() };

/** Runs work against a server on loopback. */
async function withServer(answer: RequestListener, work: (origin: string) => Promise<void>): Promise<void> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

function requestTo(baseUrl: string, id: string, state: string = JOBS.poll?.state ?? ''): GenerationRequest {
  const http = { ...JOBS, poll: { path: "'/jobs/' & $jobId", state } };
  const upstream = { id, protocol: 'http', baseUrl, secret: 'main', model: 'some/model', http };
  return { taskId: 'tk-svc-00000000000000000000000001', upstream, input: { prompt: 'a boat' } };
}

/** A list of short values, in as many bytes: what takes longest to parse and to copy. */
function listOf(bytes: number): readonly number[] {
  return Array.from({ length: bytes / 10 }, () => 123_456_789);
}

describe('the threads that read answers', { timeout: 180_000 }, () => {
  const opened: AnswerThreads[] = [];
  const open = (): AnswerThreads => {
    const threads = createAnswerThreads({ timeoutMs: NEVER_MS });
    opened.push(threads);
    return threads;
  };
  after(async () => {
    for (const threads of opened) await threads.close();
  });

  it('leave one to other upstreams, however many answers of one are being read', async () => {
    const answer = { state: 'running', log: `${'a'.repeat(60)}!`, files: listOf(900_000) };
    let polls = 0;
    const answering: RequestListener = (_request, response) => {
      polls += 1;
      response.end(JSON.stringify(answer));
    };
    await withServer(answering, async (origin) => {
      const threads = open();
      const provider = createHttpProvider({ ...deps, threads });
      const flooding = requestTo(origin, 'flooding', '$match(log, /(a+)+$/) ? state : state');
      const ended: string[] = [];
      const floods = Array.from({ length: 20 }, async () => {
        const answer = await provider.poll(flooding, 'job-1', submitCall()).catch(() => undefined);
        // One that is given up, on a slow machine, has not been read.
        if (answer !== undefined) ended.push('flooding');
      });
      await waitFor('the first poll of the flood', () => polls > 0);

      const polled = await provider.poll(requestTo(origin, 'neighbour'), 'job-1', call);
      ended.push('neighbour');

      assert.equal(polled.kind, 'running');
      assert.deepEqual(ended, ['neighbour']);
      await threads.close();
      await Promise.all(floods);
    });
  });

  it('end the wait of a poll that is given up', async () => {
    const threads = open();
    const scope = { document: { log: `${'a'.repeat(60)}!` }, variables: {} };
    const provider = createHttpProvider({ ...deps, threads });
    await withServer(
      (_request, response) => response.end(JSON.stringify(scope.document)),
      async (origin) => {
        const request = requestTo(origin, 'flooding', '$match(log, /(a+)+$/)');
        const endless = provider.poll(request, 'job-1', call).catch(() => undefined);
        const given = new AbortController();
        const waiting = provider.poll(request, 'job-1', { ...call, signal: given.signal });
        given.abort(new Error('the worker stops'));

        await assert.rejects(waiting, { message: 'the worker stops' });
        await threads.close();
        await endless;
      },
    );
  });

  it('parse large answers, and those of many values, in the share of their upstream', async () => {
    const real = open();
    const parsed: string[] = [];
    const threads: AnswerThreads = {
      ...real,
      parse(upstream, bytes, signal) {
        parsed.push(upstream);
        return real.parse(upstream, bytes, signal);
      },
    };
    const exchange = createHttpExchange(threads);
    const read = async (body: string) => {
      let answer: Awaited<ReturnType<typeof exchange>> | undefined;
      await withServer(
        (_request, response) => response.end(body),
        async (origin) => {
          answer = await exchange({
            method: 'GET',
            url: new URL(origin),
            upstream: 'painter',
            headers: {},
            signal: call.signal,
            timeoutMs: undefined,
            maxBytes: 10_000_000,
            onFreshConnection: true,
          });
        },
      );
      return answer ?? assert.fail('there was no answer');
    };
    const large = { file: 'A'.repeat(5_000_000), __proto__: null, text: 'ö\u0000' };
    const many = { values: Array.from({ length: 6_000 }, (_, index) => index) };

    assert.deepEqual((await read('{"a":1}')).json, { a: 1 });
    assert.deepEqual(parsed, []);
    assert.deepEqual((await read(JSON.stringify(large))).json, { file: large.file, text: large.text });
    assert.deepEqual((await read(`\ufeff${JSON.stringify(many)}`)).json, many);
    assert.deepEqual(parsed, ['painter', 'painter']);
    const broken = await read('x'.repeat(200_000));
    assert.deepEqual([broken.json, broken.bodyFault, broken.byteLength], [undefined, 'NOT_JSON', 200_000]);
  });

  it('are told no more than a megabyte by a job that is still running', async () => {
    let state = 'running';
    const answering: RequestListener = (_request, response) =>
      void response.end(
        JSON.stringify({ state, status: state, files: listOf(1_600_000), output: ['https://a.test/b'] }),
      );
    await withServer(answering, async (origin) => {
      const request = requestTo(origin, 'large');
      const isTooLarge = (error: unknown): boolean =>
        error instanceof ProviderUnreachable && error.code === 'BODY_TOO_LARGE' && error.status === 200;

      for (const create of [createHttpProvider, createReplicateProvider]) {
        const provider = create({ ...deps, threads: open() });
        state = 'running';
        await assert.rejects(provider.poll(request, 'job-1', call), isTooLarge);
        if (create === createHttpProvider) continue;
        state = 'succeeded';
        assert.equal((await provider.poll(request, 'job-1', call)).kind, 'done');
      }
    });
  });

  it('leave the event loop free while large answers are copied', async () => {
    const threads = open();
    const turns: number[] = [];
    let isOver = false;
    const counted = (async () => {
      for (let turn = 0; !isOver; turn += 1) {
        turns.push(turn);
        await setImmediate();
      }
    })();

    const pieces = Array.from({ length: 5 }, () =>
      threads.parse('painter', Buffer.from(JSON.stringify(listOf(1_000_000)))),
    );
    const before = turns.length;
    await Promise.race(pieces);
    const between = turns.length;
    await Promise.all(pieces);
    isOver = true;
    await counted;

    assert.ok(before < between && between < turns.length, 'other work runs between two pieces');
  });
});
