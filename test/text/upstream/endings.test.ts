/** How long calls of upstreams may take, what may end them, and what is buffered and held meanwhile. */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import type { TextModelDefinition } from '../../../src/catalogue/text-definition.ts';
import { TextFailure } from '../../../src/text/text-failure.ts';
import { createGate } from '../../support/held-answers.ts';
import { letPass } from '../../support/let-pass.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import type { Json } from './scripted-answers.ts';
import { startTestUpstream } from './test-upstream.ts';
import type { Behaviour, TestUpstream } from './test-upstream.ts';
import {
  bodyOf,
  chatCall,
  collect,
  dataOf,
  failureOf,
  framesOf,
  open,
  openBench,
  openaiUpstream,
  textModel,
} from './upstream-bench.ts';
import type { Bench } from './upstream-bench.ts';

describe('a call of an upstream', () => {
  let upstream: TestUpstream;
  let bench: Bench;
  let model: TextModelDefinition;
  before(async () => {
    upstream = await startTestUpstream();
  });
  after(() => upstream.close());
  beforeEach(() => {
    bench = openBench();
    model = textModel([openaiUpstream(upstream.baseUrl)]);
    upstream.script({});
  });
  afterEach(() => bench.router.close());

  const timesOut = async (behaviour: Behaviour, changes: Json = {}): Promise<void> => {
    upstream.script(behaviour);
    const call = await chatCall(model, changes);
    const error = await failureOf(call.isStreamed ? framesOf(bench.router, call) : bodyOf(bench.router, call));
    assert.ok(error instanceof TextFailure && error.reason === 'upstream_timeout', String(error));
  };

  describe('that is slow', () => {
    it('to begin times out, without a retry', async () => {
      model = { ...model, limits: { firstByteSeconds: 1 } };
      for (const silentAfter of ['request', 'head', 0] as const) {
        const count = upstream.requests.length;
        await timesOut({ silentAfter }, { stream: true });
        assert.equal(upstream.requests.length, count + 1);
        await upstream.gone(count);
      }
    });

    it('in total times out', async () => {
      model = { ...model, limits: { totalSeconds: 1 } };
      await timesOut({ silentAfter: 'request' });
      let isOver = false;
      const endless = Array.from({ length: 100_000 }, () => ({ choices: [{ index: 0, delta: { content: 'x' } }] }));
      const pace = (): Promise<void> => (isOver ? new Promise(() => undefined) : letPass(20));
      await timesOut({ events: endless, pace }, { stream: true });
      isOver = true;
    });

    it('in the middle of a whole answer times out', async () => {
      model = { ...model, limits: { idleSeconds: 1 } };
      await timesOut({ silentAfter: 'head' });
    });

    it('in total leaves no time for a fallback', async () => {
      const other = await startTestUpstream();
      const upstreams = [openaiUpstream(upstream.baseUrl), openaiUpstream(other.baseUrl)];
      model = textModel(upstreams, { limits: { totalSeconds: 1 } });
      await timesOut({ silentAfter: 'request' });
      assert.equal(other.requests.length, 0);
      assert.equal(bench.log.length, 1);
      await other.close();
    });

    it('is not timed out because of a slow reader', async () => {
      model = { ...model, limits: { idleSeconds: 1 } };
      const holds = [createGate(), createGate()] as const;
      upstream.script({ pace: (index) => holds[index - 2]?.opened ?? Promise.resolve() });
      const opened = await open(bench.router, await chatCall(model, { stream: true }));
      assert.equal(opened.kind, 'frames');
      const pieces = opened.frames[Symbol.asyncIterator]();
      await pieces.next();
      await pieces.next();
      const third = pieces.next();
      holds[0].open();
      await third;
      // Longer than the limit, which elapses while the upstream is not being read.
      await letPass(2_500);
      holds[1].open();
      assert.equal((await collect({ [Symbol.asyncIterator]: () => pieces })).length, 3);
    });
  });

  describe('whose client disconnects', () => {
    it('before it has begun is aborted immediately', async () => {
      for (const behaviour of [{ silentAfter: 'request' }, { silentAfter: 'head' }] satisfies Behaviour[]) {
        const count = upstream.requests.length;
        upstream.script(behaviour);
        const gone = new AbortController();
        const opening = failureOf(open(bench.router, await chatCall(model, { stream: true }), gone.signal));
        await waitFor('the request is there', () => upstream.requests.length > count);
        gone.abort();
        const error = await opening;
        assert.ok(error instanceof TextFailure && error.reason === 'interrupted', String(error));
        await upstream.gone(count);
      }
      // A call that the client gave up is not the upstream's fault.
      assert.deepEqual(bench.log, []);
    });

    it('in the middle is aborted immediately, and what was generated until then is counted', async () => {
      for (const goes of ['abort', 'return'] as const) {
        const count = upstream.requests.length;
        upstream.script({
          reply: { text: Array.from({ length: 50 }, (_, index) => ` word${index}`) },
          silentAfter: 10,
        });
        const gone = new AbortController();
        const call = await chatCall(model, { stream: true });
        const opened = await open(bench.router, call, gone.signal);
        assert.equal(opened.kind, 'frames');
        const pieces = opened.frames[Symbol.asyncIterator]();
        for (let times = 0; times < 3; times++) await pieces.next();
        if (goes === 'return') await pieces.return?.();
        else {
          gone.abort();
          const error = await failureOf(pieces.next());
          assert.ok(error instanceof TextFailure && error.reason === 'interrupted', String(error));
        }
        await upstream.gone(count);
        const { outputTokens, isEstimated } = call.tally.usage();
        assert.ok(isEstimated && outputTokens > 2, String(outputTokens));
      }
    });

    it('is aborted with the reason of the caller', async () => {
      upstream.script({ silentAfter: 3 });
      const stopping = new AbortController();
      const opened = await open(bench.router, await chatCall(model, { stream: true }), stopping.signal);
      assert.equal(opened.kind, 'frames');
      const pieces = opened.frames[Symbol.asyncIterator]();
      for (let times = 0; times < 3; times++) await pieces.next();
      const waiting = failureOf(pieces.next());
      const reason = new TextFailure('interrupted', 'this process stops');
      stopping.abort(reason);
      assert.equal(await waiting, reason);
    });

    it('before it was sent is not sent', async () => {
      const count = upstream.requests.length;
      await failureOf(open(bench.router, await chatCall(model), AbortSignal.abort()));
      assert.equal(upstream.requests.length, count);
    });
  });

  it('is not read ahead of a slow reader', async () => {
    const piece = { choices: [{ index: 0, delta: { content: 'x'.repeat(10_000) }, finish_reason: null }] };
    const count = upstream.requests.length;
    const pieces = 6_000;
    upstream.script({
      events: [
        ...Array.from({ length: pieces }, () => piece),
        { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
        '[DONE]',
      ],
    });
    const opened = await open(bench.router, await chatCall(model, { stream: true }));
    assert.equal(opened.kind, 'frames');
    const request = upstream.requests[count];
    const seen: number[] = [];
    await waitFor('the upstream stands still', () => {
      seen.push(request?.written ?? 0);
      const last = seen.slice(-10);
      return last.length === 10 && last[0] !== 0 && last.every((written) => written === last[0]);
    });
    const ahead = seen.at(-1) ?? 0;
    // Sockets buffer some megabytes; the answer is sixty.
    assert.ok(ahead < 30_000_000, `${ahead} bytes were read ahead`);

    const frames = await collect(opened.frames);
    assert.equal(frames.length, pieces + 1);
    assert.equal(dataOf(frames.at(-1) ?? '')['id'], 'chatcmpl-ours-1');
  });

  it('reuses a keep-alive connection', async () => {
    const count = upstream.requests.length;
    const calls = 20;
    for (let times = 0; times < calls; times++) {
      const stream = times % 2 === 0;
      const call = await chatCall(model, { stream });
      await (stream ? framesOf(bench.router, call) : bodyOf(bench.router, call));
    }
    const ports = new Set(upstream.requests.slice(count).map(({ clientPort }) => clientPort));
    // Now and then a connection is not back yet when the next call arrives.
    assert.ok(ports.size < calls / 2, `${ports.size} connections for ${calls} calls`);
  });
});
