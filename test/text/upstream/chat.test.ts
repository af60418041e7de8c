/**
 * Chat completions passed on from an upstream of the same interface, streamed and not, over real sockets; and what a
 * client receives instead of deviations from OpenAI's document.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import type { TextModelDefinition } from '../../../src/catalogue/text-definition.ts';
import { HELLO, USAGE, chatChunks } from './scripted-answers.ts';
import type { Json } from './scripted-answers.ts';
import { startTestUpstream } from './test-upstream.ts';
import type { TestUpstream } from './test-upstream.ts';
import {
  MODEL_NAME,
  SECRET,
  bodyOf,
  chatCall,
  choiceOf,
  dataOf,
  framesOf,
  openBench,
  openaiUpstream,
  saidIn,
  textModel,
} from './upstream-bench.ts';
import type { Bench } from './upstream-bench.ts';

describe('chat completions of an upstream', () => {
  let upstream: TestUpstream;
  let bench: Bench;
  let model: TextModelDefinition;
  before(async () => {
    upstream = await startTestUpstream();
  });
  after(() => upstream.close());
  beforeEach(() => {
    bench = openBench();
    model = textModel([openaiUpstream(upstream.baseUrl, { secret: 'vendor' })]);
    upstream.script({});
  });
  afterEach(() => bench.router.close());

  const streamed = async (changes: Json = {}): Promise<{ frames: string[]; chunks: Json[] }> => {
    const frames = await framesOf(bench.router, await chatCall(model, { stream: true, ...changes }));
    return { frames, chunks: frames.map(dataOf) };
  };
  const chunk = (delta: Json, finish?: unknown, rest: Json = {}): Json => ({
    choices: [{ index: 0, delta, ...rest, ...(finish === undefined ? {} : { finish_reason: finish }) }],
  });
  const noLeak = (text: string): void => {
    for (const secret of ['vendor', 'Vendor', 'upstream', '9b', SECRET, upstream.host, 'cost', '0.000']) {
      assert.ok(!text.includes(secret), `${secret} is in ${text}`);
    }
  };

  // Proves S4.4-3.
  it('passes a stream on, one event a frame, under our name and id', async () => {
    const { frames, chunks } = await streamed();

    assert.equal(saidIn(chunks), 'Hello, wörld 🌍!');
    for (const chunk of chunks) {
      const { choices, ...rest } = chunk;
      assert.deepEqual(rest, {
        id: 'chatcmpl-ours-1',
        object: 'chat.completion.chunk',
        created: 1_700_000_000,
        model: MODEL_NAME,
      });
      assert.equal((choices as unknown[]).length, 1);
    }
    assert.equal(frames.length, 6);
    noLeak(frames.join(''));
  });

  it('describes the allowed tools in a form that every server supports', async () => {
    const tools = ['f', 'g'].map((name) => ({ type: 'function', function: { name, description: 'Ours.' } }));
    const allowed_tools = { mode: 'required', tools: [{ type: 'function', function: { name: 'g' } }] };

    await streamed({ tools, tool_choice: { type: 'allowed_tools', allowed_tools } });

    const sent = upstream.requests.at(-1)?.body;
    assert.deepEqual([sent?.['tools'], sent?.['tool_choice']], [tools.slice(1), 'required']);
  });

  it('passes the choices on as they were written, whatever the spacing', async () => {
    const choices =
      '[ {"index" : 0,\t"delta":{"content":"a \\"model\\": \\"b\\" \\u00e9\\\\"} , "finish_reason":null,"x":1.50} ]';
    upstream.script({
      events: [
        `{ "model" : "other" , "choices" :  ${choices} ,"id":"\\"choices\\":[]", "mod\\u0065l": {"choices":[{}]} }`,
        `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}`,
        '[DONE]',
      ],
    });

    const { frames } = await streamed();

    const head = `{"id":"chatcmpl-ours-1","object":"chat.completion.chunk","created":1700000000,"model":"${MODEL_NAME}"`;
    assert.deepEqual(frames, [
      `data: ${head},"choices":${choices}}\n\n`,
      `data: ${head},"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n`,
    ]);
  });

  it('sends our own body with the upstream’s model, its credential, and as little of the client as necessary', async () => {
    await streamed({
      user: 'end-user-7',
      metadata: { tenant: 'acme' },
      store: false,
      service_tier: 'auto',
      temperature: 0.5,
      top_p: null,
      max_completion_tokens: 77,
      reasoning: { enabled: false },
      tools: [{ type: 'function', function: { name: 'f' } }],
      messages: [
        { role: 'developer', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'text', text: 'Hello?' }] },
      ],
    });

    const [request] = upstream.requests.slice(-1);
    assert.equal(request?.path, '/v1/chat/completions');
    assert.equal(request.headers.authorization, `Bearer ${SECRET}`);
    assert.equal(request.headers['accept-encoding'], 'identity');
    assert.deepEqual(request.body, {
      model: 'vendor-x/secret-model-9b',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello?' },
      ],
      user: 'end-user-7',
      temperature: 0.5,
      max_tokens: 77,
      reasoning_effort: 'none',
      tools: [{ type: 'function', function: { name: 'f' } }],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  // Proves C9-9.
  it('lets the definition rename the cap and the reasoning, and add and remove parameters', async () => {
    model = textModel(
      [
        openaiUpstream(upstream.baseUrl, {
          capParameter: 'max_completion_tokens',
          reasoningParameter: 'enable_thinking',
          parameters: { top_k: 40, temperature: 1, user: null, stream_options: null, model: 'not-this', stream: false },
        }),
      ],
      { contextTokens: 2_000 },
    );
    await streamed({ temperature: 0.2, user: 'someone', reasoning_effort: 'high' });

    const [request] = upstream.requests.slice(-1);
    assert.equal(request?.headers.authorization, undefined);
    assert.deepEqual(request?.body, {
      model: 'vendor-x/secret-model-9b',
      messages: [{ role: 'user', content: 'Hello?' }],
      temperature: 1,
      top_k: 40,
      // The client requested no limit: the held amount determines the cap.
      max_completion_tokens: 1_000,
      chat_template_kwargs: { enable_thinking: true },
      stream: true,
    });
  });

  it('sends empty contents as they are', async () => {
    model = textModel([openaiUpstream(upstream.baseUrl)]);
    const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '' } };
    const messages = [
      { role: 'system', content: '' },
      { role: 'user', content: '' },
      { role: 'assistant', content: '', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: '' },
      { role: 'assistant', content: '' },
      { role: 'assistant', content: null, tool_calls: [call] },
    ];
    await streamed({ messages });

    assert.deepEqual(upstream.requests.at(-1)?.body['messages'], messages);
  });

  it('omits parameters with no effect that the model does not support', async () => {
    model = textModel([openaiUpstream(upstream.baseUrl)], { features: [] });
    await streamed({
      reasoning: { enabled: false },
      verbosity: 'medium',
      n: 1,
      frequency_penalty: 0,
      presence_penalty: 0,
      logit_bias: {},
      logprobs: false,
      tools: [],
      tool_choice: 'auto',
      parallel_tool_calls: true,
      response_format: { type: 'text' },
      modalities: ['text'],
    });

    assert.deepEqual(Object.keys(upstream.requests.at(-1)?.body ?? {}).toSorted(), [
      'max_tokens',
      'messages',
      'model',
      'stream',
      'stream_options',
    ]);
  });

  it('never requests more than the context has room for', async () => {
    model = textModel([openaiUpstream(upstream.baseUrl)], { contextTokens: 500, maxOutputTokens: 500 });
    const call = await chatCall(model, { stream: true, max_tokens: 499 });
    const room = 500 - call.tally.usage().inputTokens;
    await framesOf(bench.router, call);
    assert.ok(room < 499);
    assert.equal(upstream.requests.at(-1)?.body['max_tokens'], room);
  });

  it('reserves some room for a miscount when the client sets no cap, and at least half of it for the answer', async () => {
    const sent = async (contextTokens: number): Promise<number> => {
      model = textModel([openaiUpstream(upstream.baseUrl)], { contextTokens, maxOutputTokens: contextTokens });
      await streamed({});
      return Number(upstream.requests.at(-1)?.body['max_tokens']);
    };
    assert.ok((await sent(10_000)) > 9_900);
    for (const contextTokens of [100, 20, 8]) {
      const cap = await sent(contextTokens);
      assert.ok(cap >= 1 && cap < contextTokens, `${cap} of ${contextTokens}`);
    }
  });

  it('uses OpenRouter’s spelling of reasoning when the definition says so', async () => {
    model = textModel([openaiUpstream(upstream.baseUrl, { reasoningParameter: 'reasoning' })]);
    await streamed({ reasoning: { enabled: false } });
    assert.deepEqual(upstream.requests.at(-1)?.body['reasoning'], { enabled: false });
    await streamed({ reasoning_effort: 'low' });
    assert.deepEqual(upstream.requests.at(-1)?.body['reasoning'], { effort: 'low' });
  });

  describe('usage', () => {
    const counted = { inputTokens: USAGE.input, cachedInputTokens: 3, outputTokens: 7, reasoningTokens: 2 };

    it('is always read, and returned only when requested', async () => {
      for (const usageOnEvery of [false, true]) {
        upstream.script({ usageOnEvery });
        const silent = await chatCall(model, { stream: true });
        for (const frame of await framesOf(bench.router, silent)) assert.ok(!('usage' in dataOf(frame)), frame);
        assert.deepEqual(silent.tally.usage(), { ...counted, isEstimated: false });

        const { chunks } = await streamed({ stream_options: { include_usage: true } });
        assert.deepEqual(
          chunks.slice(0, -1).map(({ usage }) => usage),
          chunks.slice(0, -1).map(() => null),
        );
        const { choices, usage } = chunks.at(-1) ?? {};
        assert.deepEqual(choices, []);
        assert.deepEqual(usage, {
          prompt_tokens: 11,
          completion_tokens: 7,
          total_tokens: 18,
          prompt_tokens_details: { cached_tokens: 3, audio_tokens: 0 },
          completion_tokens_details: {
            reasoning_tokens: 2,
            audio_tokens: 0,
            accepted_prediction_tokens: 0,
            rejected_prediction_tokens: 0,
          },
        });
      }
    });

    it('is estimated when the upstream reports none, streamed and not', async () => {
      upstream.script({ withoutUsage: true });
      const call = await chatCall(model, { stream: true, stream_options: { include_usage: true } });
      const frames = await framesOf(bench.router, call);
      const { usage } = dataOf(frames.at(-1) ?? '');
      const estimated = call.tally.usage();
      assert.equal(estimated.isEstimated, true);
      assert.ok(estimated.outputTokens > 3, `${estimated.outputTokens}`);
      assert.equal((usage as Json)['completion_tokens'], estimated.outputTokens);
      assert.equal((usage as Json)['prompt_tokens'], 5);

      const whole = await chatCall(model);
      const body = await bodyOf(bench.router, whole);
      assert.equal(whole.tally.usage().isEstimated, true);
      assert.equal((body['usage'] as Json)['completion_tokens'], estimated.outputTokens);
    });

    it('that is invalid, or all zeros, is treated as missing', async () => {
      for (const usage of [{ prompt_tokens: 'many' }, 7, { prompt_tokens: 0, completion_tokens: 0 }, {}]) {
        upstream.script({ body: { choices: [{ message: { content: 'So.' } }], usage } });
        const call = await chatCall(model);
        await bodyOf(bench.router, call);
        assert.equal(call.tally.usage().isEstimated, true, JSON.stringify(usage));
      }
    });

    it('adds reasoning to the output when the upstream counts it separately', async () => {
      upstream.script({
        body: {
          choices: [{ message: { content: 'So.' } }],
          usage: {
            prompt_tokens: 10,
            completion_tokens: 5,
            total_tokens: 45,
            completion_tokens_details: { reasoning_tokens: 30 },
            prompt_cache_hit_tokens: 4,
          },
        },
      });
      const call = await chatCall(model);
      await bodyOf(bench.router, call);

      assert.deepEqual(call.tally.usage(), {
        inputTokens: 10,
        cachedInputTokens: 4,
        outputTokens: 35,
        reasoningTokens: 30,
        isEstimated: false,
      });
    });
  });

  // Proves C9-1.
  it('returns an unstreamed answer with every field that OpenAI’s document requires', async () => {
    upstream.script({
      reply: {
        reasoning: ['I think.'],
        toolCalls: [{ id: 'call_a', name: 'f', pieces: ['{"a":', '1}'] }],
        usage: USAGE,
      },
      reasoningField: 'reasoning',
    });
    const body = await bodyOf(bench.router, await chatCall(model));

    const { usage, ...rest } = body;
    assert.deepEqual(rest, {
      id: 'chatcmpl-ours-1',
      object: 'chat.completion',
      created: 1_700_000_000,
      model: MODEL_NAME,
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: null,
            refusal: null,
            annotations: [],
            reasoning_content: 'I think.',
            tool_calls: [{ id: 'call_a', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
          },
          logprobs: null,
          finish_reason: 'tool_calls',
        },
      ],
    });
    assert.equal((usage as Json)['total_tokens'], 18);
    assert.equal(upstream.requests.at(-1)?.body['stream'], false);
    noLeak(JSON.stringify(body));
  });

  it('passes several choices on', async () => {
    const { chunks } = await streamed({ n: 3 });
    const indexes = chunks.flatMap(({ choices }) => (choices as { index: number }[]).map(({ index }) => index));
    assert.deepEqual(new Set(indexes), new Set([0, 1, 2]));
    assert.equal(saidIn(chunks), HELLO.text?.flatMap((piece) => [piece, piece, piece]).join(''));

    const body = await bodyOf(bench.router, await chatCall(model, { n: 2 }));
    assert.equal((body['choices'] as unknown[]).length, 2);
  });

  it('returns reasoning in one field, whatever the upstream calls it', async () => {
    for (const reasoningField of ['reasoning', 'reasoning_content'] as const) {
      upstream.script({ reply: { reasoning: ['Let me', ' see.'], text: ['Yes.'] }, reasoningField });
      const call = await chatCall(model, { stream: true });
      const frames = await framesOf(bench.router, call);
      const chunks = frames.map(dataOf);

      assert.equal(saidIn(chunks, 'reasoning_content'), 'Let me see.');
      assert.equal(saidIn(chunks, 'reasoning'), '');
      assert.equal(saidIn(chunks), 'Yes.');
      assert.ok(call.tally.usage().reasoningTokens > 0);
    }
  });

  it('passes logprobs on, and every parallel tool call', async () => {
    const events = chatChunks({ text: ['a'] });
    const logprobs = { content: [{ token: 'a', logprob: -0.1, bytes: [97], top_logprobs: [] }], refusal: null };
    const piece = (index: number, text: string): Json =>
      chunk({ tool_calls: [{ index, function: { arguments: text } }] }, null);
    const begin = (index: number): Json => {
      const called = { name: `f${index}`, arguments: '' };
      return chunk({ tool_calls: [{ index, id: `c${index}`, type: 'function', function: called }] }, null, {
        logprobs,
      });
    };
    const pieces = [piece(1, '{"b"'), piece(0, '{"a"'), piece(1, ':2}'), piece(0, ':1}')];
    upstream.script({ events: [events[0], begin(0), begin(1), ...pieces, events.at(-1), '[DONE]'] });
    const { chunks } = await streamed();
    const texts = ['', ''];
    for (const { choices } of chunks) {
      const [choice] = choices as { delta: { tool_calls?: { index: number; function: { arguments: string } }[] } }[];
      for (const { index, function: called } of choice?.delta.tool_calls ?? []) texts[index] += called.arguments;
    }
    assert.deepEqual(texts, ['{"a":1}', '{"b":2}']);
    assert.deepEqual(choiceOf(chunks[1])['logprobs'], logprobs);
  });

  describe('that deviates from OpenAI’s document', () => {
    const called = (id: string, text: string): Json =>
      chunk({ tool_calls: [{ index: 0, id, type: 'function', function: { name: 'f', arguments: text } }] }, null);
    const deltasOf = (chunks: readonly Json[]): unknown[] =>
      chunks.flatMap(({ choices }) => (choices as { delta: { tool_calls?: unknown[] } }[])[0]?.delta.tool_calls ?? []);

    it('an end without [DONE] is accepted, when every choice has ended', async () => {
      upstream.script({ withoutDone: true });
      const { chunks } = await streamed();
      assert.equal(saidIn(chunks), 'Hello, wörld 🌍!');
    });

    it('a missing finish reason is added', async () => {
      upstream.script({ events: [chunk({ content: 'So' }, null), '[DONE]'] });
      const { chunks } = await streamed();
      assert.deepEqual(chunks.at(-1)?.['choices'], [{ index: 0, delta: {}, finish_reason: 'stop' }]);
    });

    it('finish reasons that OpenAI does not have', async () => {
      for (const [theirs, ours] of [
        ['', null],
        ['eos', 'stop'],
        ['max_tokens', 'length'],
        ['function_call', 'tool_calls'],
        ['SAFETY', 'content_filter'],
      ]) {
        upstream.script({ events: [chunk({ content: 'So' }, theirs), '[DONE]'] });
        const { chunks } = await streamed();
        assert.equal(choiceOf(chunks[0])['finish_reason'], ours, String(theirs));
      }
    });

    it('calls without index, type or id, and repeated ids', async () => {
      upstream.script({
        events: [
          chunk({ tool_calls: [{ id: 'a', function: { name: 'f', arguments: { x: 1 } } }] }),
          chunk({ tool_calls: [{ function: { name: 'g', arguments: '{' } }] }),
          chunk({ tool_calls: [{ function: { arguments: '}' } }] }),
          chunk({}, 'tool_calls'),
          '[DONE]',
        ],
      });
      const [first, second, third] = deltasOf((await streamed()).chunks) as { id: string }[];
      assert.deepEqual(first, { index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } });
      const { id = '', ...rest } = second ?? {};
      assert.match(id, /^call_\w{24}$/);
      assert.deepEqual(rest, { index: 1, type: 'function', function: { name: 'g', arguments: '{' } });
      assert.deepEqual(third, { index: 1, function: { arguments: '}' } });

      upstream.script({ events: [called('a', ''), called('a', '{}'), chunk({}, 'tool_calls')] });
      assert.deepEqual(deltasOf((await streamed()).chunks)[1], { index: 0, function: { arguments: '{}' } });
    });

    it('calls that all have the index 0', async () => {
      upstream.script({ events: [called('a', '{}'), called('b', '{}'), chunk({}, 'stop')] });
      const calls = deltasOf((await streamed()).chunks) as { index: number; id: string }[];
      assert.deepEqual(
        calls.map(({ index, id }) => [index, id]),
        [
          [0, 'a'],
          [1, 'b'],
        ],
      );
    });

    it('an event that spans lines, chunks without choices, and event names', async () => {
      const spread = JSON.stringify(chunk({ content: 'So\nit is' }, null), undefined, 2);
      const lines = spread.split('\n').map((line) => `data: ${line}\r\n`);
      upstream.script({
        bytes: Buffer.from(
          [
            '\uFEFF: hello\r\n\r\n',
            'data:{"choices":[],"prompt_filter_results":[]}\r\n\r\n',
            'event: ping\ndata: {}\n\n',
            ...lines,
            '\r\n',
            'event:message\rdata:{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\r\r',
            'retry: 10\nid: 7\ndata: [DONE]',
          ].join(''),
        ),
      });
      const { chunks } = await streamed();
      assert.equal(saidIn(chunks), 'So\nit is');
      assert.equal(chunks.length, 2);
    });

    it('an event of some megabytes', async () => {
      const long = 'x'.repeat(3 * 1024 * 1024);
      upstream.script({ events: [chunk({ content: long }, null), chunk({}, 'stop'), '[DONE]'] });
      const { chunks } = await streamed();
      assert.equal(saidIn(chunks).length, long.length);
    });
  });
});
