/** Upstream answers in pieces of one byte: only a few buffers of them are held, however they are processed. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { textLimitsOf } from '../../../src/catalogue/text-definition.ts';
import { attempt } from '../../../src/text/upstream/attempt.ts';
import { EventSplitter } from '../../../src/text/upstream/event-stream.ts';
import type { Receiver } from '../../../src/upstreams/exchange.ts';
import { planOf } from '../../../src/text/upstream/plan.ts';
import { UpstreamFailure } from '../../../src/text/upstream/upstream-failure.ts';
import { liveBuffers } from '../../support/live-buffers.ts';
import { HELLO, chatCompletion } from './scripted-answers.ts';
import { chatCall, failureOf, openaiUpstream, textModel } from './upstream-bench.ts';

const PIECES = 60_000;
const upstream = openaiUpstream('http://127.0.0.1:1/v1');

/** A call whose upstream is simulated through the returned receiver. */
async function begin(): Promise<{ readonly receiver: Receiver; readonly opened: ReturnType<typeof attempt> }> {
  const call = await chatCall(textModel([upstream]));
  let receiver: Receiver | undefined;
  const opened = attempt({
    exchange: (_request, given) => {
      receiver = given;
      return { pause: () => undefined, resume: () => undefined, abort: () => true };
    },
    request: {
      origin: 'http://127.0.0.1:1',
      path: '/',
      method: 'POST',
      headers: {},
      body: '{}',
      onFreshConnection: false,
    },
    call,
    plan: planOf(call, upstream, Date.now),
    limits: textLimitsOf(call.model),
    startedAt: performance.now(),
    signal: new AbortController().signal,
  });
  return { receiver: receiver ?? assert.fail(), opened };
}

function sendBytes(receiver: Receiver, bytes: Buffer): void {
  for (const byte of bytes) receiver.data(Buffer.of(byte));
}

describe('an answer in pieces of one byte', () => {
  it('is held in a few buffers, and read like any other', async () => {
    const { receiver, opened } = await begin();
    const before = liveBuffers();
    receiver.head(200, { 'content-type': 'application/json' });
    sendBytes(receiver, Buffer.alloc(PIECES, ' '));

    const more = liveBuffers() - before;
    assert.ok(more < 100, `${more} buffers more`);
    sendBytes(receiver, Buffer.from(JSON.stringify(chatCompletion(HELLO))));
    receiver.end();
    assert.equal((await opened).kind, 'body');
  });

  it('is held in a few buffers when it is an error', async () => {
    const { receiver, opened } = await begin();
    const before = liveBuffers();
    receiver.head(400, { 'content-type': 'application/json' });
    sendBytes(receiver, Buffer.alloc(PIECES, ' '));

    const more = liveBuffers() - before;
    assert.ok(more < 100, `${more} buffers more`);
    receiver.end();
    assert.ok((await failureOf(opened)) instanceof Error);
  });
});

describe('an event', () => {
  it('of many empty lines is counted with its real size', () => {
    const splitter = new EventSplitter(() => undefined);
    const lines = Buffer.from('data:\n'.repeat(10_000));

    assert.throws(() => {
      for (let count = 0; count < 10; count++) splitter.push(lines);
    }, UpstreamFailure);
  });

  it('arrives after hours of keep-alive comments', () => {
    const events: string[] = [];
    const splitter = new EventSplitter((_name, data) => events.push(data));
    const comments = Buffer.from(': keep-alive\n\n'.repeat(1_000));
    for (let count = 0; count < 50; count++) splitter.push(comments);
    splitter.push(Buffer.from('data: a\n\n'));

    assert.deepEqual(events, ['a']);
  });
});
