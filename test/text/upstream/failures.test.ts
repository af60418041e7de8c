/** What upstreams do wrong, before the first output and in the middle, and what a call receives. */
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import type { TextModelDefinition } from '../../../src/catalogue/text-definition.ts';
import { InvalidTextRequest, TextFailure } from '../../../src/text/text-failure.ts';
import type { TextFailureReason } from '../../../src/text/text-failure.ts';
import type { Json } from './scripted-answers.ts';
import { startTestUpstream, streamBytes } from './test-upstream.ts';
import type { Behaviour, TestUpstream } from './test-upstream.ts';
import {
  MODEL_NAME,
  SECRET,
  bodyOf,
  chatCall,
  failureOf,
  framesOf,
  open,
  openBench,
  openaiUpstream,
  responsesCall,
  textModel,
} from './upstream-bench.ts';
import type { Bench } from './upstream-bench.ts';

describe('an upstream that misbehaves', () => {
  let upstream: TestUpstream;
  let bench: Bench;
  let model: TextModelDefinition;
  before(async () => {
    upstream = await startTestUpstream();
  });
  after(() => upstream.close());
  beforeEach(() => {
    bench = openBench();
    model = textModel([openaiUpstream(upstream.baseUrl, { secret: 'vendor', id: 'first' })]);
    upstream.script({});
  });
  afterEach(() => bench.router.close());

  const fail = async (behaviour: Behaviour, changes: Json = {}): Promise<Error> => {
    upstream.script(behaviour);
    const call = await chatCall(model, changes);
    const error = await failureOf(call.isStreamed ? framesOf(bench.router, call) : bodyOf(bench.router, call));
    assert.ok(error instanceof Error);
    for (const secret of ['vendor', '9b', 'secret', 'words', SECRET, upstream.host, '127.0.0.1']) {
      assert.ok(!error.message.includes(secret), error.message);
    }
    return error;
  };
  const failsWith = async (
    reason: TextFailureReason,
    behaviour: Behaviour,
    changes: Json = {},
  ): Promise<TextFailure> => {
    const error = await fail(behaviour, changes);
    assert.ok(error instanceof TextFailure, String(error));
    assert.equal(error.reason, reason, JSON.stringify({ ...behaviour, bytes: undefined }));
    return error;
  };
  const errorBody = (error: Json): Json => ({ error: { message: 'secret words of vendor-x', ...error } });

  it('is classified by its status', async () => {
    for (const [status, reason] of [
      [301, 'upstream_unavailable'],
      [400, 'upstream_refused'],
      [401, 'upstream_unavailable'],
      [402, 'upstream_unavailable'],
      [403, 'upstream_unavailable'],
      [404, 'upstream_refused'],
      [408, 'upstream_timeout'],
      [409, 'upstream_unavailable'],
      [413, 'upstream_refused'],
      [422, 'upstream_refused'],
      [429, 'upstream_rate_limited'],
      [500, 'upstream_unavailable'],
      [503, 'upstream_unavailable'],
    ] as const) {
      for (const stream of [true, false]) {
        const headers = status === 301 ? { location: `${upstream.baseUrl}/elsewhere` } : {};
        await failsWith(reason, { status, headers, body: errorBody({ type: 'x', code: null }) }, { stream });
        await failsWith(reason, { status, headers, body: '<html>secret words</html>' }, { stream });
      }
    }
    assert.ok(upstream.requests.every(({ path }) => path === '/v1/chat/completions'));
  });

  it('that names a parameter of the client’s makes the request an invalid one, in our words', async () => {
    const rejectionFor = async (error: Json, changes: Json): Promise<unknown> => {
      const failure = await fail({ status: 400, body: errorBody(error) }, changes);
      if (failure instanceof InvalidTextRequest) return [failure.param, failure.code];
      return failure instanceof TextFailure ? failure.reason : failure;
    };

    for (const [error, changes, expected] of [
      [{ param: 'temperature', code: 'unsupported_value' }, { temperature: 0.3 }, ['temperature', 'unsupported_value']],
      [{ param: 'messages[0].content', code: 'vendor_word' }, {}, ['messages.0.content', 'invalid_value']],
      [{ param: 'max_tokens' }, { max_completion_tokens: 10 }, ['max_completion_tokens', 'invalid_value']],
      [{ param: 'reasoning_effort' }, { reasoning: { effort: 'low' } }, ['reasoning', 'invalid_value']],
    ] as const) {
      assert.deepEqual(await rejectionFor(error, changes), expected);
    }
    // A parameter that the client has not sent is not the client's error.
    for (const param of ['max_tokens', 'top_k', 'model', 'vendor words', 7, 'stream_options']) {
      assert.equal(await rejectionFor({ param }, {}), 'upstream_refused', String(param));
    }
  });

  it('that reports too long a conversation is translated for the client, in any wording', async () => {
    for (const body of [
      errorBody({ code: 'context_length_exceeded', param: 'messages' }),
      {
        error: {
          message: "This model's maximum context length is 8 tokens of vendor-x",
          type: 'BadRequestError',
          code: 400,
        },
      },
      { error: { message: 'secret words', type: 'exceed_context_size_error', code: 400 } },
      { object: 'error', message: 'the request exceeds the available context size', code: 400 },
    ]) {
      const error = await fail({ status: 400, body });
      assert.ok(error instanceof InvalidTextRequest, String(error));
      assert.deepEqual([error.param, error.code], ['messages', 'context_length_exceeded']);
      assert.match(error.message, new RegExp(MODEL_NAME));
    }
  });

  it('names the parameters of responses, when that is what the client sent', async () => {
    upstream.script({ status: 400, body: errorBody({ param: 'response_format', code: 'invalid_json_schema' }) });
    const text = { format: { type: 'json_schema', name: 's', schema: { type: 'object' } } };
    const error = await failureOf(open(bench.router, await responsesCall(model, { text })));
    assert.ok(error instanceof InvalidTextRequest, String(error));
    assert.deepEqual([error.param, error.code], ['text.format', 'invalid_json_schema']);

    upstream.script({ status: 400, body: errorBody({ code: 'context_length_exceeded' }) });
    const tooLong = await failureOf(open(bench.router, await responsesCall(model)));
    assert.ok(tooLong instanceof InvalidTextRequest && tooLong.param === 'input', String(tooLong));
  });

  it('that returns no valid response of the protocol, before it has begun', async () => {
    const choice = (delta: unknown, rest: Json = {}): unknown => ({ choices: [{ index: 0, delta, ...rest }] });
    for (const behaviour of [
      { body: '<html>secret words</html>', headers: { 'content-type': 'text/html' } },
      { body: errorBody({ code: 500 }) },
      { bytes: Buffer.from('<html>secret words</html>\n\n') },
      { bytes: Buffer.alloc(0) },
      { bytes: Buffer.from('data: {"choices"\n\n') },
      { bytes: Buffer.from(': still working\n\n') },
      { headers: { 'content-encoding': 'gzip' } },
      { events: [errorBody({ code: 'secret words' })] },
      { events: [{ type: 'error', message: 'secret words' }] },
      { events: ['[DONE]'] },
      { events: [[1]] },
      { events: [{}] },
      { events: [{ choices: {} }] },
      { events: [{ choices: [7] }] },
      { events: [choice('text')] },
      { events: [choice({ content: 7 })] },
      { events: [choice({ content: 'So' }, { index: 'one' })] },
      { events: [choice({ content: 'So' }, { finish_reason: 7 })] },
      { events: [choice({ content: 'So' }, { finish_reason: 'error' })] },
      { events: [choice({ tool_calls: [7] })] },
      { events: [choice({ tool_calls: [{ index: 'one' }] })] },
      { events: [choice({ tool_calls: [{ function: { arguments: 7 } }] })] },
      { bytes: Buffer.from(`data: ${'x'.repeat(4 * 1024 * 1024 + 1)}`) },
    ] satisfies Behaviour[]) {
      await failsWith('upstream_invalid', behaviour, { stream: true });
    }
    for (const body of [
      '<html>',
      '',
      '{"choices":',
      [],
      {},
      { choices: [] },
      { choices: [{ message: 7 }] },
      errorBody({}),
    ]) {
      await failsWith('upstream_invalid', { body });
    }
    await failsWith('upstream_invalid', { breaksAfter: 1 });
  });

  it('whose whole answer is too large', async () => {
    await failsWith('upstream_invalid', { body: { choices: [], more: 'x'.repeat(33 * 1024 * 1024) } });
    await failsWith('upstream_invalid', { body: 'x', headers: { 'content-length': String(1e9) } });
  });

  describe('in the middle of a stream', () => {
    const broken = async (
      behaviour: Behaviour,
      changes: Json = {},
    ): Promise<{ texts: string[]; error: TextFailure }> => {
      upstream.script(behaviour);
      const opened = await open(bench.router, await chatCall(model, { stream: true, ...changes }));
      assert.equal(opened.kind, 'frames');
      const texts: string[] = [];
      const error = await failureOf(
        (async () => {
          for await (const frame of opened.frames) texts.push(frame);
        })(),
      );
      assert.ok(error instanceof TextFailure, String(error));
      assert.doesNotMatch(error.message, /secret|internal/);
      return { texts, error };
    };

    it('a broken connection, an early end, an error or garbage end it with a failure, after the partial output', async () => {
      const pieces = Array.from({ length: 10 }, (_, index) => ` word${index}`);
      for (const behaviour of [{ breaksAfter: 10 }, { endsAfter: 10 }, { errorAfter: 10 }] satisfies Behaviour[]) {
        const { texts, error } = await broken({ reply: { text: pieces }, ...behaviour });
        assert.equal(error.reason, 'upstream_invalid');
        assert.equal(texts.length, 10);
      }
      const events = [{ choices: [{ index: 0, delta: { content: 'So' } }] }, 'oops'];
      // In pieces, and in one.
      for (const behaviour of [{ events }, { bytes: streamBytes({}, events) }]) {
        const { texts, error } = await broken(behaviour);
        assert.equal(texts.length, 1);
        assert.equal(error.reason, 'upstream_invalid');
      }
      // No other upstream was called, and nothing is retried.
      assert.equal(bench.log.length, 0);
    });

    it('a regular end is too early when one of several choices has not finished', async () => {
      const { error } = await broken({ withoutDone: true, endsAfter: 11 }, { n: 2 });
      assert.equal(error.reason, 'upstream_invalid');
    });

    it('a connection that breaks after the last choice has finished is no failure', async () => {
      upstream.script({
        events: [
          { choices: [{ index: 0, delta: { content: 'So.' }, finish_reason: null }] },
          { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
          'never sent',
        ],
        breaksAfter: 2,
      });
      const frames = await framesOf(bench.router, await chatCall(model, { stream: true }));
      assert.equal(frames.length, 2);
    });

    it('silence is a timeout', async () => {
      model = { ...model, limits: { idleSeconds: 1 } };
      const { texts, error } = await broken({ silentAfter: 2 });
      assert.equal(texts.length, 2);
      assert.equal(error.reason, 'upstream_timeout');
      await upstream.gone(upstream.requests.length - 1);
    });
  });

  it('that disconnects before the response is retried once, on another connection', async () => {
    const count = upstream.requests.length;
    upstream.script({ breaksAfter: 'request' }, {});
    const frames = await framesOf(bench.router, await chatCall(model, { stream: true }));
    assert.equal(frames.length, 6);
    assert.equal(upstream.requests.length, count + 2);
    assert.deepEqual(bench.log, []);
  });

  it('that cannot be reached is unavailable', async () => {
    const placeholder = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => placeholder.once('listening', resolve));
    const { port } = placeholder.address() as AddressInfo;
    await new Promise((resolve) => placeholder.close(resolve));
    model = textModel([openaiUpstream(`http://127.0.0.1:${port}/v1`)]);

    const error = await failureOf(open(bench.router, await chatCall(model)));
    assert.ok(error instanceof TextFailure && error.reason === 'upstream_unavailable', String(error));
    assert.equal(bench.log[0]?.['code'], 'ECONNREFUSED');
  });

  it('without its credential, or with one that no header can carry, is unavailable', async () => {
    await bench.router.close();
    for (const [secrets, expected] of [
      [{}, /UPSTREAM_VENDOR_KEY/],
      [{ vendor: 'has\na line' }, /could not be reached/],
    ] as const) {
      bench = openBench(secrets);
      const error = await failureOf(open(bench.router, await chatCall(model)));
      assert.ok(error instanceof TextFailure && error.reason === 'upstream_unavailable', String(error));
      assert.match(JSON.stringify(bench.log), expected);
      assert.doesNotMatch(JSON.stringify(bench.log), /a line/);
      await bench.router.close();
    }
    bench = openBench();
  });
});
