/**
 * Text calls in the background at an upstream, which is paid for what it is sent: a request that was sent is waited for,
 * whatever ends its attempt, and one that is repeated all the same is recorded as the operator's possible cost. What
 * passes at the upstream is waited out.
 */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { after, before, beforeEach, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import { verifyLedger } from '../../src/billing/verify.ts';
import { WorkerStoppingError } from '../../src/generation/stopping.ts';
import { drainUpstream, resumeUpstream } from '../../src/upstreams/states.ts';
import { cancelCall } from '../../src/text/background/record-outcome.ts';
import { textDefinition } from '../catalogue/definitions.ts';
import { startTestUpstream } from '../text/upstream/test-upstream.ts';
import type { Behaviour, TestUpstream } from '../text/upstream/test-upstream.ts';
import { openaiUpstream } from '../text/upstream/upstream-bench.ts';
import { BackgroundRoom } from './background-room.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

const QUESTION = { model: 'acme/chat', input: 'Hello?', stream: true };
const FALLBACK = { model: 'acme/two', input: 'Hello?' };

/** Nothing listens there. */
const NOBODY = 'http://127.0.0.1:1/v1';

/** Each in the state of a test of its own. */
const PASSING = ['drained', 'closed', 'unauthorized', 'out-of-credit', 'forbidden', 'broken', 'faulty'] as const;
const questionOf = (name: (typeof PASSING)[number]) => ({ model: `acme/${name}`, input: 'Hello?' });

let upstream: TestUpstream;
let second: TestUpstream;
let served: ServedApp;
let room: BackgroundRoom;
let account: ServedAccount;
before(async () => {
  [upstream, second] = await Promise.all([startTestUpstream(), startTestUpstream()]);
  const one = openaiUpstream(upstream.baseUrl, { id: 'one', apis: ['chat.completions'] });
  const other = openaiUpstream(second.baseUrl, { id: 'other', apis: ['chat.completions'] });
  served = await serveApp({
    models: [
      textDefinition({ name: 'acme/chat', upstreams: [one] }),
      textDefinition({ name: 'acme/two', upstreams: [one, other] }),
      ...PASSING.map((id) => {
        const baseUrl = id === 'closed' ? NOBODY : upstream.baseUrl;
        return textDefinition({
          name: `acme/${id}`,
          upstreams: [openaiUpstream(baseUrl, { id, apis: ['chat.completions'] })],
        });
      }),
    ],
  });
  room = new BackgroundRoom(served);
});
after(async () => {
  await served.text.ledger.flush();
  assert.deepEqual(await verifyLedger(served.room.database), []);
  await served.close();
  await Promise.all([upstream.close(), second.close()]);
});
beforeEach(async () => {
  account = await served.newAccount();
});

/** The upstream answers when it is let to. */
function held(): { readonly behaviour: Behaviour; readonly letGo: () => void } {
  const gate = new EventEmitter();
  const isOpen = once(gate, 'open');
  return { behaviour: { pace: async () => void (await isOpen) }, letGo: () => void gate.emit('open') };
}

/** Requests that the upstream got from now on. */
function requestsFromNow(): () => number {
  const earlier = upstream.requests.length;
  return () => upstream.requests.length - earlier;
}

/** A call whose request the upstream has, and does not answer. */
async function sentCall(stopping?: AbortSignal, ending?: AbortSignal) {
  const { behaviour, letGo } = held();
  upstream.script(behaviour);
  const requests = requestsFromNow();
  const id = await room.accept(account, QUESTION);
  const running = room.attempt(id, stopping, ending);
  // It may be left to another attempt before anybody awaits it.
  running.catch(() => {});
  await waitFor('the upstream has the request', () => requests() === 1);
  return { id, running, letGo, requests };
}

async function heldFor(id: string): Promise<bigint> {
  const [row] = await room.held(id);
  return row?.held ?? assert.fail('nothing is held');
}

describe('a text call in the background at an upstream', () => {
  it('is answered by the request that was sent, although its process stops', async () => {
    const stopping = new AbortController();
    const { id, running, letGo, requests } = await sentCall(stopping.signal);

    stopping.abort(new WorkerStoppingError());
    letGo();

    assert.deepEqual(await running, { kind: 'ended' });
    assert.equal((await room.row(id))?.state, 'answered');
    assert.equal(requests(), 1);
    assert.ok(((await room.settled(id)).captured ?? 0n) > 0n);
    assert.deepEqual(await room.lostCosts(id), []);
  });

  it('is left to another process if nothing was sent when its own stops', async () => {
    const requests = requestsFromNow();
    const id = await room.accept(account, QUESTION);
    await assert.rejects(room.attempt(id, AbortSignal.abort(new WorkerStoppingError())), WorkerStoppingError);
    assert.equal(requests(), 0);

    upstream.script({});
    assert.deepEqual(await room.attempt(id), { kind: 'ended' });

    assert.equal(requests(), 1);
    assert.equal((await room.row(id))?.lost, 0);
    await room.settled(id);
    assert.deepEqual(await room.lostCosts(id), []);
  });

  it('is recorded as a possible cost when it is sent again after the grace time', async () => {
    const [stopping, ending] = [new AbortController(), new AbortController()];
    const { id, running, requests } = await sentCall(stopping.signal, ending.signal);

    stopping.abort(new WorkerStoppingError());
    ending.abort(new WorkerStoppingError());
    await assert.rejects(running, WorkerStoppingError);
    upstream.script({});
    assert.deepEqual(await room.attempt(id), { kind: 'ended' });

    assert.equal(requests(), 2);
    assert.equal((await room.row(id))?.lost, 1);
    await room.settled(id);
    assert.deepEqual(await room.lostCosts(id), [await heldFor(id)]);
    assert.deepEqual(await room.entries(id), ['hold', 'capture', 'release']);
  });

  it('is waited for by the next attempt while its own is alive', async () => {
    const { id, running, letGo, requests } = await sentCall();

    assert.equal((await room.attempt(id)).kind, 'wait');
    letGo();

    assert.deepEqual(await running, { kind: 'ended' });
    assert.deepEqual(await room.attempt(id), { kind: 'ended' });
    assert.equal(requests(), 1);
    const row = await room.row(id);
    assert.deepEqual([row?.state, row?.attempts, row?.lost], ['answered', 1, 0]);
    await room.settled(id);
  });

  it('is recorded as a possible cost when its process has died, whoever ends the call', async () => {
    const ending = new AbortController();
    const { id, running } = await sentCall(undefined, ending.signal);
    await served.room.rows('UPDATE background_calls SET attempts = attempts + 1 WHERE id = $1', id);
    await running;
    await room.lose(id);

    const next = held();
    upstream.script(next.behaviour);
    const requests = requestsFromNow();
    const cancelled = room.attempt(id);
    await waitFor('the upstream has the request again', () => requests() === 1);
    assert.equal((await room.row(id))?.lost, 1);
    await cancelCall(served.room.database, { id, accountId: account.id }, Date.now());
    await cancelled;
    next.letGo();

    await room.settled(id);
    assert.deepEqual(await room.lostCosts(id), [await heldFor(id)]);
  });

  it('records what an upstream may bill that did not answer in time', async () => {
    upstream.script({ breaksAfter: 'request' });
    second.script({});
    const id = await room.accept(account, FALLBACK);

    assert.deepEqual(await room.attempt(id), { kind: 'ended' });

    assert.equal((await room.row(id))?.state, 'answered');
    await room.settled(id);
    const [cost] = await room.lostCosts(id);
    assert.ok(cost !== undefined && cost >= (await heldFor(id)));
  });

  it('records nothing of a request that an upstream rejected', async () => {
    upstream.script({ status: 401, body: { error: { message: 'no' } } });
    second.script({});
    const id = await room.accept(account, FALLBACK);

    assert.deepEqual(await room.attempt(id), { kind: 'ended' });

    assert.equal((await room.row(id))?.state, 'answered');
    await room.settled(id);
    assert.deepEqual(await room.lostCosts(id), []);
  });
});

describe('a text call in the background whose upstream cannot answer at this moment', () => {
  /** Tries a call until it has ended. */
  async function end(id: string): Promise<void> {
    await waitFor('the call has ended', async () => (await room.attempt(id)).kind === 'ended');
    assert.equal((await room.row(id))?.state, 'answered');
  }

  it('waits while an operator has drained it', async () => {
    await drainUpstream(served.room.database, 'text:drained');
    const requests = requestsFromNow();
    const id = await room.accept(account, questionOf('drained'));
    for (let times = 0; times < 8; times++) assert.deepEqual(await room.attempt(id), { kind: 'wait', ms: 0 });
    assert.deepEqual([requests(), (await room.row(id))?.lost], [0, 0]);

    upstream.script({});
    await resumeUpstream(served.room.database, 'text:drained');
    await end(id);

    assert.equal(requests(), 1);
    await room.settled(id);
    assert.deepEqual(await room.lostCosts(id), []);
    assert.deepEqual(await room.entries(id), ['hold', 'capture', 'release']);
  });

  it('waits while it cannot be reached', async () => {
    const id = await room.accept(account, questionOf('closed'));
    for (let times = 0; times < 8; times++) assert.deepEqual(await room.attempt(id), { kind: 'wait', ms: 0 });
    const row = await room.row(id);
    assert.deepEqual([row?.state, row?.lost], ['in_progress', 0]);
    assert.deepEqual(await room.entries(id), ['hold']);

    // The same as ten minutes later.
    await served.room.rows(`UPDATE background_calls SET started_at = now() - interval '10 min' WHERE id = $1`, id);
    assert.deepEqual(await room.attempt(id), { kind: 'ended' });
    assert.equal((await room.row(id))?.error?.status, 503);
    assert.equal((await room.settled(id)).captured, 0n);
    assert.deepEqual(await room.lostCosts(id), []);
  });

  for (const [name, status] of [
    ['unauthorized', 401],
    ['out-of-credit', 402],
  ] as const) {
    it(`waits while it answers ${status}`, async () => {
      upstream.script({ status, body: {} }, {});
      const id = await room.accept(account, questionOf(name));
      assert.deepEqual(await room.attempt(id), { kind: 'wait', ms: 0 });
      assert.equal((await room.row(id))?.lost, 0);
      await end(id);
      await room.settled(id);
      assert.deepEqual(await room.lostCosts(id), []);
    });
  }

  it('repeats what it answers 403 to a few times, and for nothing', async () => {
    upstream.script({ status: 403, body: {} }, {});
    const id = await room.accept(account, questionOf('forbidden'));
    assert.deepEqual(await room.attempt(id), { kind: 'wait', ms: 15_000 });
    assert.equal((await room.row(id))?.lost, 1);
    await end(id);
    await room.settled(id);
    assert.deepEqual(await room.lostCosts(id), []);
  });

  it('begins again after an answer that broke off, which is recorded as a possible cost', async () => {
    upstream.script({ breaksAfter: 1 }, {});
    const id = await room.accept(account, { ...questionOf('broken'), stream: true });
    assert.deepEqual(await room.attempt(id), { kind: 'wait', ms: 15_000 });
    await end(id);
    await room.settled(id);
    assert.deepEqual(await room.lostCosts(id), [await heldFor(id)]);
    assert.deepEqual(await room.entries(id), ['hold', 'capture', 'release']);
  });

  it('sends it a few times what makes it fail, with longer waits, and then fails', async () => {
    upstream.script({ status: 500, body: {} });
    const requests = requestsFromNow();
    const id = await room.accept(account, questionOf('faulty'));
    for (const ms of [15_000, 60_000, 240_000, 240_000, 240_000]) {
      assert.deepEqual(await room.attempt(id), { kind: 'wait', ms });
    }
    assert.deepEqual([requests(), (await room.row(id))?.lost], [5, 5]);
    // Its circuit breaker is open: nothing is sent, and nothing counts.
    for (let times = 0; times < 3; times++) assert.deepEqual(await room.attempt(id), { kind: 'wait', ms: 0 });
    assert.deepEqual([requests(), (await room.row(id))?.lost], [5, 5]);

    // A client that does not wait tries it all the same.
    upstream.script({});
    const answered = await account.client.send('POST', '/v1/responses', questionOf('faulty'));
    assert.equal(answered.status, 200, JSON.stringify(answered.body));
    upstream.script({ status: 500, body: {} });
    assert.deepEqual(await room.attempt(id), { kind: 'ended' });

    assert.equal(requests(), 7);
    const row = await room.row(id);
    assert.deepEqual([row?.state, row?.error?.status], ['failed', 503]);
    assert.equal((await room.settled(id)).captured, 0n);
    assert.deepEqual(await room.lostCosts(id), [5n * (await heldFor(id))]);
    assert.deepEqual(await room.entries(id), ['hold', 'release']);
  });

  it('fails if an answer has the wrong form: the next one would be no different', async () => {
    upstream.script({ body: '<html>' });
    const id = await room.accept(account, { model: 'acme/chat', input: 'Hello?' });
    assert.deepEqual(await room.attempt(id), { kind: 'ended' });
    assert.equal((await room.row(id))?.error?.status, 503);
    assert.equal((await room.settled(id)).captured, 0n);
  });
});
