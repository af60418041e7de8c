/** Which upstream is called: order, fallback before the first byte, pauses, and upstreams that keep failing. */
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import type { TextModelDefinition, TextUpstream } from '../../../src/catalogue/text-definition.ts';
import { silentLogger } from '../../../src/telemetry/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import type { TextEvent, TextSource } from '../../../src/text/source.ts';
import { InvalidTextRequest, TextFailure } from '../../../src/text/text-failure.ts';
import { createTextRouter } from '../../../src/text/upstream/text-router.ts';
import type { TextRouter } from '../../../src/text/upstream/text-router.ts';
import { createUpstreamGate } from '../../../src/upstreams/gate.ts';
import { createSecretSource } from '../../../src/upstreams/secrets.ts';
import { openTaskRoom } from '../../tasks/task-room.ts';
import type { TaskRoom } from '../../tasks/task-room.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { startTestUpstream } from './test-upstream.ts';
import type { Behaviour, TestUpstream } from './test-upstream.ts';
import {
  SECRET,
  chatCall,
  collect,
  failureOf,
  framesOf,
  open,
  openBench,
  openaiUpstream,
  textModel,
} from './upstream-bench.ts';
import type { Bench } from './upstream-bench.ts';

describe('the upstreams of a text model', () => {
  let first: TestUpstream;
  let second: TestUpstream;
  let bench: Bench;
  let model: TextModelDefinition;
  before(async () => {
    [first, second] = await Promise.all([startTestUpstream(), startTestUpstream()]);
  });
  after(() => Promise.all([first.close(), second.close()]));
  let counts: { first: number; second: number };
  beforeEach(() => {
    bench = openBench();
    model = textModel([
      openaiUpstream(first.baseUrl, { id: 'first' }),
      openaiUpstream(second.baseUrl, { id: 'second', secret: 'vendor' }),
    ]);
    first.script({});
    second.script({});
    counts = { first: first.requests.length, second: second.requests.length };
  });
  afterEach(() => bench.router.close());

  /** How many requests each has received in this test. */
  const asked = (): readonly [number, number] => [
    first.requests.length - counts.first,
    second.requests.length - counts.second,
  ];
  /** What was reported besides that an upstream answers. */
  const problems = () => bench.gate.reports.filter(({ health }) => health !== 'answered');
  const call = async (): Promise<string[]> => framesOf(bench.router, await chatCall(model, { stream: true }));
  const failure = async (): Promise<TextFailure> => {
    const error = await failureOf(call());
    assert.ok(error instanceof TextFailure, String(error));
    return error;
  };

  it('are tried in order, with only one database query per second', async () => {
    for (let times = 0; times < 5; times++) await call();
    assert.deepEqual(asked(), [5, 0]);
    assert.deepEqual(bench.gate.asked, ['text:first']);
    assert.deepEqual(bench.gate.reports, [{ name: 'text:first', health: 'answered' }], 'once a minute');

    bench.clock.nowMs += 1_001;
    await call();
    assert.deepEqual(bench.gate.asked, ['text:first', 'text:first']);
    assert.deepEqual(bench.log, []);
  });

  it('are tried one after the other while nothing was generated', async () => {
    for (const behaviour of [
      { status: 500, body: {} },
      { status: 429, body: {} },
      { status: 401, body: {} },
      { body: '<html>' },
      { events: [{ error: { message: 'secret words' } }] },
      { breaksAfter: 'request' },
    ] satisfies Behaviour[]) {
      first.script(behaviour);
      const frames = await call();
      assert.equal(frames.length, 6, JSON.stringify(behaviour));
    }
    const [line] = bench.log;
    assert.equal(line?.['upstream'], 'text:first');
    assert.equal(line?.['status'], 500);
    const log = JSON.stringify(bench.log);
    for (const secret of ['secret words', 'Hello', SECRET]) assert.ok(!log.includes(secret), log);
  });

  it('are not tried further when one rejects the request itself', async () => {
    first.script({
      status: 404,
      body: { error: { message: 'no such model', code: 'model_not_found', param: 'model' } },
    });
    assert.equal((await failure()).reason, 'upstream_refused');
    first.script({ status: 400, body: { error: { code: 'context_length_exceeded' } } });
    assert.ok((await failureOf(call())) instanceof InvalidTextRequest);
    assert.deepEqual(asked(), [2, 0]);
  });

  it('are not tried further once something was generated', async () => {
    first.script({ breaksAfter: 1 });
    assert.equal((await failure()).reason, 'upstream_invalid');
    assert.deepEqual(asked(), [1, 0]);
  });

  it('are retried once when the failure may be temporary', async () => {
    first.script({ status: 503, body: {} }, {});
    second.script({ status: 401, body: {} });
    assert.equal((await call()).length, 6);
    assert.deepEqual(asked(), [2, 1]);

    first.script({ status: 503, body: {} });
    assert.equal((await failure()).reason, 'upstream_unavailable');
    assert.deepEqual(asked(), [4, 2]);
  });

  it('may be abandoned between two attempts', async () => {
    first.script({ status: 503, body: {} });
    second.script({ status: 401, body: {} });
    const gone = new AbortController();
    const opening = failureOf(open(bench.router, await chatCall(model), gone.signal));
    // One turn after the second failure, and well before the next attempt.
    while (bench.log.length < 2) await nextTurn();
    gone.abort();
    const error = await opening;
    assert.ok(error instanceof TextFailure && error.reason === 'interrupted', String(error));
    assert.deepEqual(asked(), [1, 1]);
  });

  describe('that send Retry-After', () => {
    const patience: Behaviour = { status: 429, headers: { 'retry-after': '30' }, body: {} };

    it('are skipped, and other processes are notified', async () => {
      first.script(patience);
      await call();
      await call();
      assert.deepEqual(asked(), [1, 2]);
      assert.deepEqual(problems(), [{ name: 'text:first', health: { pauseMs: 30_000 } }]);

      first.script({});
      bench.clock.nowMs += 30_001;
      await call();
      assert.deepEqual(asked(), [2, 2]);
    });

    it('are recorded once, however many concurrent calls got it', async () => {
      first.script(patience);
      await Promise.all(Array.from({ length: 10 }, call));
      assert.equal(problems().length, 1);
    });

    it('leave a call without an upstream with the time to wait', async () => {
      first.script(patience);
      second.script({ status: 429, headers: { 'retry-after-ms': '7500', 'retry-after': '9' }, body: {} });
      for (const expected of [8, 8]) {
        const error = await failure();
        assert.deepEqual([error.reason, error.retryAfterSeconds], ['upstream_rate_limited', expected]);
      }
      assert.deepEqual(asked(), [1, 1]);
      bench.clock.nowMs += 5_000;
      assert.equal((await failure()).retryAfterSeconds, 3);
    });

    it('without a value are tried again by the next call', async () => {
      first.script({ status: 429, body: {} });
      second.script({ status: 429, body: {} });
      const error = await failure();
      assert.deepEqual([error.reason, error.retryAfterSeconds], ['upstream_rate_limited', undefined]);
      await failure();
      assert.deepEqual(asked(), [2, 2]);
      assert.deepEqual(problems(), []);
    });

    it('are skipped when another process got it', async () => {
      bench.gate.paused.set('text:first', 10_000);
      await call();
      await call();
      assert.deepEqual(asked(), [0, 2]);
      assert.deepEqual(problems(), []);
    });

    it('may do so with 503 too', async () => {
      first.script({ status: 503, headers: { 'retry-after': '5' }, body: {} });
      await call();
      await call();
      assert.deepEqual(asked(), [1, 2]);
    });
  });

  it('that an operator has drained get no calls, until they are resumed', async () => {
    bench.gate.drained.add('text:first');
    await call();
    assert.deepEqual(asked(), [0, 1]);
    bench.gate.drained.add('text:second');
    bench.clock.nowMs += 5_001;
    assert.equal((await failure()).reason, 'upstream_unavailable');
    assert.deepEqual(asked(), [0, 1]);

    bench.gate.drained.clear();
    bench.clock.nowMs += 5_001;
    await call();
    assert.deepEqual(asked(), [1, 1]);
  });

  it('that fail, or reject our credential, are reported, and that they have recovered', async () => {
    model = textModel([openaiUpstream(first.baseUrl, { id: 'first' })]);
    first.script({ status: 401, body: {} });
    await failure();
    assert.deepEqual(problems(), [{ name: 'text:first', health: { pauseMs: 0, reason: 'unauthorized' } }]);

    first.script({ status: 500, body: {} });
    await failure();
    await nextTurn();
    await failure();
    assert.ok(problems().some(({ health }) => health === 'failed'));

    first.script({});
    await call();
    assert.deepEqual(bench.gate.reports.at(-1), { name: 'text:first', health: 'answered' });
  });

  it('that keep failing are tried after the others, until an occasional probe succeeds', async () => {
    first.script({ status: 500, body: {} });
    for (let times = 0; times < 6; times++) await call();
    assert.deepEqual(asked(), [5, 6]);

    first.script({});
    bench.clock.nowMs += 30_001;
    await Promise.all([call(), call()]);
    assert.deepEqual(asked(), [6, 7]);
    await call();
    assert.deepEqual(asked(), [7, 7]);
  });

  it('that keep failing are tried anyway, when there are no others', async () => {
    model = textModel([openaiUpstream(first.baseUrl)]);
    first.script({ status: 500, body: {} });
    for (let times = 0; times < 6; times++) await failure();
    first.script({});
    assert.equal((await call()).length, 6);
  });

  it('may be the embedded model', async () => {
    const said: TextEvent = { type: 'text', choice: 0, text: 'Hello.' };
    const embedded: TextSource = {
      open: () =>
        Promise.resolve({
          kind: 'events',
          events: (async function* () {
            yield await Promise.resolve(said);
          })(),
        }),
    };
    await bench.router.close();
    bench = openBench({}, embedded);
    const ours: TextUpstream = { protocol: 'embedded', model: 'conformance' };
    first.script({ status: 500, body: {} });
    model = textModel([openaiUpstream(first.baseUrl), ours]);
    const opened = await open(bench.router, await chatCall(model));
    assert.equal(opened.kind, 'events');
    assert.deepEqual(await collect(opened.events), [said]);
    assert.deepEqual(new Set(bench.gate.asked), new Set([`text:${first.host}/vendor-x/secret-model-9b`]));
  });

  describe('between processes', () => {
    let room: TaskRoom;
    before(async () => {
      room = await openTaskRoom();
    });
    after(() => room.close());

    it('a pause is shared through the database, and a successful call is not', async () => {
      const { database } = room;
      let nowMs = 1_000_000;
      const now = (): number => nowMs;
      const routerOf = (): TextRouter =>
        createTextRouter({
          embedded: { open: () => Promise.reject(new Error('there is none')) },
          secrets: createSecretSource({ vendor: SECRET }),
          gate: createUpstreamGate({ database, logger: silentLogger(), now }),
          metrics: createMetrics().outgoing,
          logger: silentLogger(),
          now,
          steadyClock: now,
        });
      const [one, other] = [routerOf(), routerOf()];
      const ask = async (router: TextRouter): Promise<void> => {
        await framesOf(router, await chatCall(model, { stream: true }));
      };
      try {
        first.script({ status: 429, headers: { 'retry-after': '60' }, body: {} });
        await ask(one);
        await waitFor('the pause is written', async () => {
          const rows = await room.rows(
            `SELECT 1 FROM upstream_states WHERE upstream = 'text:first' AND paused_until > now()`,
          );
          return rows.length === 1;
        });
        first.script({});
        await waitFor('the other process knows', async () => {
          const [before] = asked();
          nowMs += 1_001;
          await ask(other);
          return asked()[0] === before;
        });

        room.forgetStatements();
        const [before] = asked();
        for (let times = 0; times < 20; times++) await ask(other);
        assert.equal(asked()[0], before);
        assert.deepEqual(room.statements, []);
      } finally {
        await Promise.all([one.close(), other.close()]);
      }
    });
  });
});
