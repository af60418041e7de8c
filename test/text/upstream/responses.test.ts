/** Responses: passed through if the upstream supports them, and made from its chat completions if it does not. */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import type { TextModelDefinition } from '../../../src/catalogue/text-definition.ts';
import type { TextProblem } from '../../../src/text/encoder.ts';
import type { TextEvent } from '../../../src/text/source.ts';
import { TextFailure } from '../../../src/text/text-failure.ts';
import { HELLO, USAGE, messageItem, response, responseEvents } from './scripted-answers.ts';
import type { Json } from './scripted-answers.ts';
import { startTestUpstream } from './test-upstream.ts';
import type { Behaviour, TestUpstream } from './test-upstream.ts';
import {
  MODEL_NAME,
  bodyOf,
  collect,
  dataOf,
  eventsOf,
  failureOf,
  framesOf,
  open,
  openBench,
  openaiUpstream,
  responsesCall,
  textModel,
} from './upstream-bench.ts';
import type { Bench } from './upstream-bench.ts';

let upstream: TestUpstream;
let bench: Bench;
let model: TextModelDefinition;
before(async () => {
  upstream = await startTestUpstream();
});
after(() => upstream.close());
beforeEach(() => {
  bench = openBench();
  upstream.script({});
});
afterEach(() => bench.router.close());

describe('responses of an upstream that has them', () => {
  beforeEach(() => {
    model = textModel([openaiUpstream(upstream.baseUrl, { apis: ['chat.completions', 'responses'] })]);
  });
  const counted = { inputTokens: USAGE.input, cachedInputTokens: 3, outputTokens: 7, reasoningTokens: 2 };

  // Proves C9-3.
  it('passes the events on, numbered, with a response object of our own', async () => {
    const call = await responsesCall(model, {
      stream: true,
      metadata: { a: 'b' },
      temperature: 0.5,
      instructions: 'Be brief.',
    });
    const frames = await framesOf(bench.router, call);

    const types = frames.map((frame) => /^event: ([\w.]+)\n/.exec(frame)?.[1]);
    const events = frames.map(dataOf);
    assert.deepEqual(
      types,
      events.map(({ type }) => type),
    );
    assert.deepEqual(
      events.map((event) => event['sequence_number']),
      events.map((_, index) => index),
    );
    assert.deepEqual(
      types,
      responseEvents(HELLO).map(({ type }) => type),
    );
    for (const { response: object } of events.filter((event) => 'response' in event)) {
      const { id, model: name, metadata, temperature, instructions, store } = object as Json;
      assert.deepEqual(
        { id, name, metadata, temperature, instructions, store },
        {
          id: 'resp_ours_1',
          name: MODEL_NAME,
          metadata: { a: 'b' },
          temperature: 0.5,
          instructions: 'Be brief.',
          store: true,
        },
      );
    }
    const last = events.at(-1)?.['response'] as Json;
    assert.equal(last['status'], 'completed');
    assert.deepEqual((last['usage'] as Json)['total_tokens'], 18);
    assert.deepEqual(call.tally.usage(), { ...counted, isEstimated: false });
    const text = frames.join('');
    for (const secret of ['vendor', 'upstream', '9b', 'operator', upstream.host])
      assert.ok(!text.includes(secret), secret);
  });

  it('has the whole response, after the last frame', async () => {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    upstream.script({ pace: (index) => (index === 1 ? released : Promise.resolve()) });
    const opened = await open(bench.router, await responsesCall(model, { stream: true }));
    assert.equal(opened.kind, 'frames');
    assert.equal(opened.whole?.(), undefined);
    release();
    const frames = await collect(opened.frames);

    assert.deepEqual(opened.whole?.(), dataOf(frames.at(-1) ?? '')['response']);
  });

  it('disables storage at the upstream, and sends the full conversation itself', async () => {
    await framesOf(
      bench.router,
      await responsesCall(model, {
        stream: true,
        store: true,
        metadata: { tenant: 'acme' },
        user: 'end-user',
        reasoning: { enabled: false },
        max_output_tokens: 50,
        text: { format: { type: 'text' } },
        input: [{ role: 'user', content: 'Hello?' }],
      }),
    );
    const request = upstream.requests.at(-1);
    assert.equal(request?.path, '/v1/responses');
    assert.deepEqual(request?.body, {
      model: 'vendor-x/secret-model-9b',
      user: 'end-user',
      reasoning: { effort: 'none' },
      max_output_tokens: 50,
      text: { format: { type: 'text' } },
      input: [
        { type: 'message', role: 'user', status: 'completed', content: [{ type: 'input_text', text: 'Hello?' }] },
      ],
      stream: true,
      store: false,
    });
  });

  it('describes the allowed tools in a form that every server supports', async () => {
    const tools = ['f', 'g'].map((name) => ({ type: 'function', name, strict: false }));
    const choice = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'g' }] };

    const call = await responsesCall(model, { stream: true, tools, tool_choice: choice });
    const events = (await framesOf(bench.router, call)).map(dataOf);

    const sent = upstream.requests.at(-1)?.body;
    assert.deepEqual([sent?.['tools'], sent?.['tool_choice']], [tools.slice(1), 'auto']);
    // The client sees what it requested.
    const last = (events.at(-1)?.['response'] ?? {}) as Json;
    assert.deepEqual(last['tool_choice'], choice);
  });

  it('answers unstreamed', async () => {
    const call = await responsesCall(model, { store: false });
    const body = await bodyOf(bench.router, call);

    const { id, status, model: name, output, usage, store, error } = body;
    assert.deepEqual(
      { id, status, name, store, error },
      { id: 'resp_ours_1', status: 'completed', name: MODEL_NAME, store: false, error: null },
    );
    assert.equal((output as { content: { text: string }[] }[])[0]?.content[0]?.text, 'Hello, wörld 🌍!');
    assert.equal((usage as Json)['input_tokens'], 11);
    assert.deepEqual(call.tally.usage(), { ...counted, isEstimated: false });
    assert.equal(upstream.requests.at(-1)?.body['stream'], false);
  });

  it('reports that an answer is incomplete, streamed and not', async () => {
    upstream.script({ reply: { ...HELLO, finish: 'length' } });
    const frames = await framesOf(bench.router, await responsesCall(model, { stream: true }));
    const last = dataOf(frames.at(-1) ?? '');
    assert.equal(last['type'], 'response.incomplete');
    for (const object of [last['response'] as Json, await bodyOf(bench.router, await responsesCall(model))]) {
      assert.equal(object['status'], 'incomplete');
      assert.deepEqual(object['incomplete_details'], { reason: 'max_output_tokens' });
      assert.equal(object['completed_at'], null);
    }
  });

  it('estimates usage that is missing, streamed and not', async () => {
    upstream.script({ withoutUsage: true });
    const streamed = await responsesCall(model, { stream: true });
    const frames = await framesOf(bench.router, streamed);
    const usage = (dataOf(frames.at(-1) ?? '')['response'] as { usage: Json }).usage;
    assert.equal(streamed.tally.usage().isEstimated, true);
    assert.equal(usage['output_tokens'], streamed.tally.usage().outputTokens);

    const whole = await responsesCall(model);
    const body = await bodyOf(bench.router, whole);
    assert.equal((body['usage'] as Json)['output_tokens'], usage['output_tokens']);
  });

  // Proves C9-5.
  it('numbers events without a number, and closes the gaps of omitted ones', async () => {
    const events = responseEvents(HELLO).map((event) => ({ ...event, sequence_number: undefined }));
    for (const scripted of [
      events,
      responseEvents(HELLO).toSpliced(3, 0, { type: 'keepalive', sequence_number: 3 }),
      responseEvents(HELLO).map((event, index) => ({ ...event, sequence_number: index * 2 })),
    ]) {
      upstream.script({ events: scripted });
      const frames = await framesOf(bench.router, await responsesCall(model, { stream: true }));
      assert.deepEqual(
        frames.map((frame) => dataOf(frame)['sequence_number']),
        frames.map((_, index) => index),
      );
      assert.equal(frames.length, events.length);
    }
  });

  it('recognizes a failed response, an error, and an early end', async () => {
    const [first = {}] = responseEvents(HELLO);
    const failed = { ...response('failed', [], HELLO), error: { code: 'server_error', message: 'secret words' } };
    for (const events of [
      [first, { type: 'response.failed', sequence_number: 1, response: failed }],
      [first, { type: 'error', code: 'server_error', message: 'secret words' }],
      [first, '[DONE]'],
      [first],
      [first, { type: 'response.output_text.delta', delta: 7 }],
      [first, 'oops'],
    ]) {
      upstream.script({ events });
      const error = await failureOf(framesOf(bench.router, await responsesCall(model, { stream: true })));
      assert.ok(error instanceof TextFailure, String(error));
      assert.equal(error.reason, 'upstream_invalid');
      assert.ok(!error.message.includes('secret'));
    }
    for (const body of [failed, { output: [], status: 'in_progress' }, { status: 'completed' }, [], 'x']) {
      upstream.script({ body });
      const error = await failureOf(bodyOf(bench.router, await responsesCall(model)));
      assert.ok(error instanceof TextFailure && error.reason === 'upstream_invalid', String(error));
    }
  });
});

describe('a response that is passed on and interrupted', () => {
  const PROBLEM: TextProblem = {
    status: 503,
    errorCode: 'SERVICE_UNAVAILABLE',
    message: 'the model broke off',
    type: 'server_error',
    code: 'upstream_invalid',
    param: null,
  };
  beforeEach(() => {
    model = textModel([openaiUpstream(upstream.baseUrl, { apis: ['chat.completions', 'responses'] })]);
  });

  /** The events of a failing stream, and those that report the failure. */
  const broken = async (behaviour: Behaviour): Promise<{ passed: readonly Json[]; reported: readonly Json[] }> => {
    upstream.script(behaviour);
    const opened = await open(bench.router, await responsesCall(model, { stream: true }));
    assert.equal(opened.kind, 'frames');
    const frames: string[] = [];
    const error = await failureOf(
      (async () => {
        for await (const frame of opened.frames) frames.push(frame);
      })(),
    );
    assert.ok(error instanceof TextFailure, String(error));
    assert.equal(opened.whole?.(), undefined);
    return { passed: frames.map(dataOf), reported: (opened.fail?.(PROBLEM) ?? []).map(dataOf) };
  };
  /** With sequence numbers, and without a final event. */
  const numbered = (...events: readonly Json[]): Behaviour => ({
    events: [...responseEvents(HELLO).slice(0, 2), ...events, {}].map((event, index) => ({
      ...event,
      sequence_number: index,
    })),
    endsAfter: events.length + 2,
  });
  const outputOf = (reported: readonly Json[]): unknown => ((reported.at(-1)?.['response'] ?? {}) as Json)['output'];

  // Proves C9-13.
  it('continues the numbering, with an error and a failed response that has the partial output', async () => {
    for (const behaviour of [{ breaksAfter: 7 }, { endsAfter: 7 }, { errorAfter: 7 }] satisfies Behaviour[]) {
      const { passed, reported } = await broken(behaviour);

      assert.equal(passed.length, 7);
      const response = reported[1]?.['response'] as Json;
      assert.deepEqual(reported, [
        {
          type: 'error',
          sequence_number: 7,
          code: 'upstream_invalid',
          message: 'the model broke off',
          param: null,
          error_code: 'SERVICE_UNAVAILABLE',
          error: { type: 'server_error', code: 'upstream_invalid', message: 'the model broke off', param: null },
        },
        { type: 'response.failed', sequence_number: 8, response },
      ]);
      const { id, model: name, status, error, output, usage, completed_at } = response;
      assert.deepEqual(
        { id, name, status, error, usage, completed_at },
        {
          id: 'resp_ours_1',
          name: MODEL_NAME,
          status: 'failed',
          error: { code: 'server_error', message: 'the model broke off' },
          usage: null,
          completed_at: null,
        },
      );
      assert.deepEqual(output, [
        {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          status: 'incomplete',
          content: [{ type: 'output_text', text: 'Hello, wörld 🌍', annotations: [], logprobs: [] }],
        },
      ]);
      const text = JSON.stringify(reported);
      for (const secret of ['vendor', 'secret', 'operator', upstream.host]) assert.ok(!text.includes(secret), secret);
    }
  });

  it('gives no number to the event of the upstream’s own failure', async () => {
    const failed = { ...response('failed', [], HELLO), error: { code: 'server_error', message: 'secret words' } };
    const { passed, reported } = await broken(numbered({ type: 'response.failed', response: failed }));
    assert.deepEqual(
      [...passed, ...reported].map((event) => event['sequence_number']),
      [0, 1, 2, 3],
    );
    assert.deepEqual(outputOf(reported), []);
  });

  it('has completed items as reported, and open ones as far as they arrived', async () => {
    const thoughts = { id: 'rs_1', type: 'reasoning', summary: [] };
    const done = { ...thoughts, summary: [{ type: 'summary_text', text: 'Hm. Yes.' }] };
    const call = { id: 'fc_1', type: 'function_call', status: 'in_progress', call_id: 'c1', name: 'f', arguments: '' };
    const logprob = { token: 'No', logprob: -0.5, bytes: [78, 111], top_logprobs: [] };
    const item = (index: number): Json => ({ item_id: 'x', output_index: index });
    const { reported } = await broken(
      numbered(
        { type: 'response.output_item.added', output_index: 0, item: thoughts },
        { type: 'response.reasoning_summary_text.delta', ...item(0), summary_index: 0, delta: 'Hm.' },
        { type: 'response.output_item.done', output_index: 0, item: done },
        { type: 'response.output_item.added', output_index: 1, item: { ...thoughts, id: 'rs_2' } },
        { type: 'response.reasoning_summary_text.delta', ...item(1), summary_index: 1, delta: 'second' },
        { type: 'response.reasoning_summary_text.delta', ...item(1), summary_index: 0, delta: 'first' },
        { type: 'response.reasoning_text.delta', ...item(1), content_index: 0, delta: 'raw' },
        { type: 'response.output_item.added', output_index: 3, item: call },
        { type: 'response.function_call_arguments.delta', ...item(3), delta: '{"a"' },
        { type: 'response.function_call_arguments.delta', ...item(3), delta: ':1' },
        {
          type: 'response.output_item.added',
          output_index: 2,
          item: { ...messageItem('', 'in_progress'), id: 'msg_2' },
        },
        { type: 'response.output_text.delta', ...item(2), content_index: 0, delta: 'No', logprobs: [logprob] },
        { type: 'response.refusal.delta', ...item(2), content_index: 1, delta: 'Not that.' },
        // Of an item that was never announced.
        { type: 'response.output_text.delta', ...item(9), content_index: 0, delta: 'nowhere' },
      ),
    );

    assert.deepEqual(outputOf(reported), [
      done,
      {
        ...thoughts,
        id: 'rs_2',
        status: 'incomplete',
        summary: [
          { type: 'summary_text', text: 'first' },
          { type: 'summary_text', text: 'second' },
        ],
        content: [{ type: 'reasoning_text', text: 'raw' }],
      },
      {
        ...messageItem('', 'in_progress'),
        id: 'msg_2',
        status: 'incomplete',
        content: [
          { type: 'output_text', text: 'No', annotations: [], logprobs: [logprob] },
          { type: 'refusal', refusal: 'Not that.' },
        ],
      },
      { ...call, status: 'incomplete', arguments: '{"a":1' },
    ]);
  });
});

describe('responses of an upstream that has only chat completions', () => {
  beforeEach(() => {
    model = textModel([openaiUpstream(upstream.baseUrl, { apis: ['chat.completions'] })]);
  });
  const usage: TextEvent = {
    type: 'usage',
    usage: { inputTokens: 11, cachedInputTokens: 3, outputTokens: 7, reasoningTokens: 2 },
  };

  it('decodes the stream to events, whether or not the client streams', async () => {
    for (const stream of [true, false]) {
      upstream.script({ reply: { ...HELLO, reasoning: ['Hm', '.'], refusal: ['No.'] }, reasoningField: 'reasoning' });
      const events = await eventsOf(bench.router, await responsesCall(model, { stream }));

      assert.deepEqual(events, [
        { type: 'reasoning', choice: 0, text: 'Hm' },
        { type: 'reasoning', choice: 0, text: '.' },
        ...['Hello', ', ', 'wörld 🌍', '!'].map((text) => ({ type: 'text', choice: 0, text })),
        { type: 'refusal', choice: 0, text: 'No.' },
        { type: 'finish', choice: 0, reason: 'stop' },
        usage,
      ]);
      assert.equal(upstream.requests.at(-1)?.path, '/v1/chat/completions');
      assert.equal(upstream.requests.at(-1)?.body['stream'], true);
    }
  });

  it('builds a chat request', async () => {
    const tool = { type: 'function', name: 'f', parameters: { type: 'object' }, strict: true };
    await eventsOf(
      bench.router,
      await responsesCall(model, {
        instructions: 'Be brief.',
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'Look' },
              { type: 'input_image', image_url: 'https://x.test/a.png', detail: 'low' },
            ],
          },
          { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] },
          { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
          { type: 'function_call_output', call_id: 'c1', output: 'done' },
          { role: 'developer', content: 'Go on.' },
        ],
        tools: [tool],
        tool_choice: { type: 'function', name: 'f' },
        parallel_tool_calls: false,
        temperature: 0.5,
        top_p: 0.9,
        top_logprobs: 2,
        include: ['message.output_text.logprobs'],
        max_output_tokens: 64,
        reasoning: { effort: 'low' },
        text: { format: { type: 'json_schema', name: 's', schema: { type: 'object' }, strict: true } },
        metadata: { a: 'b' },
        user: 'end-user',
      }),
    );

    assert.deepEqual(upstream.requests.at(-1)?.body, {
      model: 'vendor-x/secret-model-9b',
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look' },
            { type: 'image_url', image_url: { url: 'https://x.test/a.png', detail: 'low' } },
          ],
        },
        {
          role: 'assistant',
          content: null,
          reasoning_content: 'Hm.',
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'done' },
        { role: 'system', content: 'Go on.' },
      ],
      user: 'end-user',
      temperature: 0.5,
      top_p: 0.9,
      logprobs: true,
      top_logprobs: 2,
      response_format: {
        type: 'json_schema',
        json_schema: { name: 's', schema: { type: 'object' }, strict: true },
      },
      tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' }, strict: true } }],
      tool_choice: { type: 'function', function: { name: 'f' } },
      parallel_tool_calls: false,
      max_tokens: 64,
      reasoning_effort: 'low',
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  const chunk = (delta: Json, rest: Json = {}): Json => ({ choices: [{ index: 0, delta, ...rest }] });
  const decoded = async (events: readonly unknown[]): Promise<TextEvent[]> => {
    upstream.script({ events });
    return eventsOf(bench.router, await responsesCall(model));
  };

  it('normalizes tool calls, whatever fields are missing', async () => {
    const call = (choice: Json): Json => chunk({ tool_calls: [choice] });
    const events = await decoded([
      call({ index: 4, id: 'a', function: { name: 'f' } }),
      call({ index: 1, id: 'b', type: 'function', function: { name: 'g', arguments: '{' } }),
      call({ index: 4, function: { arguments: '[1' } }),
      chunk({
        tool_calls: [
          { index: 1, function: { arguments: '}' } },
          { index: 4, function: { arguments: ']' } },
        ],
      }),
      // Its id first, then its arguments, and its name last.
      call({ index: 7, id: 'late' }),
      call({ index: 7, function: { arguments: '{"x"' } }),
      call({ index: 7, function: { name: 'h', arguments: ':1}' } }),
      // No index at all.
      call({ id: 'd', function: { name: 'i', arguments: '{}' } }),
      chunk({}, { finish_reason: 'stop' }),
    ]);

    assert.deepEqual(events, [
      { type: 'tool_call', choice: 0, index: 0, id: 'a', name: 'f' },
      { type: 'tool_call', choice: 0, index: 1, id: 'b', name: 'g' },
      { type: 'tool_arguments', choice: 0, index: 1, text: '{' },
      { type: 'tool_arguments', choice: 0, index: 0, text: '[1' },
      { type: 'tool_arguments', choice: 0, index: 1, text: '}' },
      { type: 'tool_arguments', choice: 0, index: 0, text: ']' },
      { type: 'tool_call', choice: 0, index: 2, id: 'late', name: 'h' },
      { type: 'tool_arguments', choice: 0, index: 2, text: '{"x":1}' },
      { type: 'tool_call', choice: 0, index: 3, id: 'd', name: 'i' },
      { type: 'tool_arguments', choice: 0, index: 3, text: '{}' },
      { type: 'finish', choice: 0, reason: 'tool_calls' },
    ]);
  });

  it('accepts an end without a text, and logprobs beside a text', async () => {
    assert.deepEqual(
      await decoded([chunk({ role: 'assistant', content: '' }), chunk({}, { finish_reason: 'length' })]),
      [{ type: 'finish', choice: 0, reason: 'length' }],
    );
    const logprobs = {
      content: [{ token: 'a', logprob: -1, bytes: [97], top_logprobs: [{ token: 'b', logprob: -2, bytes: null }] }],
    };
    const [text] = await decoded([chunk({ content: 'a' }, { logprobs }), chunk({}, { finish_reason: 'stop' })]);
    assert.deepEqual(text, {
      type: 'text',
      choice: 0,
      text: 'a',
      logprobs: [{ token: 'a', logprob: -1, bytes: [97], alternatives: [{ token: 'b', logprob: -2, bytes: null }] }],
    });
  });

  it('reports the last usage once, at the end', async () => {
    upstream.script({ usageOnEvery: true });
    const events = await eventsOf(bench.router, await responsesCall(model));
    assert.deepEqual(events.at(-1), usage);
    assert.equal(events.filter(({ type }) => type === 'usage').length, 1);
  });

  it('rejects an incomplete tool call as an answer', async () => {
    const error = await failureOf(
      decoded([chunk({ content: 'So' }), chunk({ tool_calls: [{ id: 'a' }] }), chunk({}, { finish_reason: 'stop' })]),
    );
    assert.ok(error instanceof TextFailure && error.reason === 'upstream_invalid', String(error));
  });
});
