/** A response is rendered from any order of events: its items, its numbered stream events, its object (contract §9). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import OpenAI, { APIError } from 'openai';
import type { TextEvent } from '../../../src/text/source.ts';
import {
  CREATED_AT,
  PROBLEM,
  answerOf,
  args,
  call,
  encoderFor,
  finish,
  readStrictly,
  reasoning,
  refusal,
  text,
  typesOf,
} from './answers.ts';
import { responseProblem } from './response-schema.ts';

const MESSAGE_DONE = ['output_text.done', 'content_part.done', 'output_item.done'];

/** The 24 stream events of Open Responses, abbreviated, except for those of unsupported features. */
const STREAM_EVENTS = [
  'created',
  'in_progress',
  'completed',
  'failed',
  'incomplete',
  'output_item.added',
  'output_item.done',
  'content_part.added',
  'content_part.done',
  'output_text.delta',
  'output_text.done',
  'refusal.delta',
  'refusal.done',
  'function_call_arguments.delta',
  'function_call_arguments.done',
  'reasoning_summary_part.added',
  'reasoning_summary_part.done',
  'reasoning_summary_text.delta',
  'reasoning_summary_text.done',
  'error',
];
/** There are no background responses, reasoning is reported as summaries, and no text has annotations. */
const EVENTS_OF_NOTHING_HERE = ['queued', 'reasoning.delta', 'reasoning.done', 'output_text.annotation.added'];
const CALL_DONE = ['function_call_arguments.done', 'output_item.done'];

/** `output`, abbreviated. */
function itemsOf(answer: { readonly output: readonly Readonly<Record<string, unknown>>[] }): readonly unknown[] {
  return answer.output.map((item) => {
    if (item['type'] === 'function_call') return [item['name'], item['arguments'], item['status']];
    const parts = [...((item['content'] as unknown[]) ?? []), ...((item['summary'] as unknown[]) ?? [])];
    const texts = parts.map((part) => {
      const { text, refusal } = part as { text?: string; refusal?: string };
      return text ?? { refusal };
    });
    return [item['type'], ...texts, item['status']];
  });
}

describe('the stream of a response', () => {
  it('goes from reasoning to text in two items', () => {
    const { events, answer } = answerOf([
      reasoning('Let me '),
      reasoning('see.'),
      text('Hi'),
      text('!'),
      finish('stop'),
    ]);

    assert.deepEqual(typesOf(events), [
      'created',
      'in_progress',
      'output_item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
      'output_item.done',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.delta',
      ...MESSAGE_DONE,
      'completed',
    ]);
    assert.deepEqual(itemsOf(answer), [
      ['reasoning', 'Let me see.', 'completed'],
      ['message', 'Hi!', 'completed'],
    ]);
    assert.deepEqual(readStrictly(events), { done: answer.output, open: undefined });
    assert.deepEqual(
      answer.output.map(({ id }) => id),
      ['rs_01TEST_0', 'msg_01TEST_1'],
    );
  });

  it('returns reasoning as a summary, the only form that both documents define, asked for or not', () => {
    for (const parameters of [{}, { reasoning: { summary: 'auto' } }]) {
      const { answer } = answerOf([reasoning('Let me see.'), text('Hi'), finish('stop')], parameters);
      assert.deepEqual(answer.output[0], {
        id: 'rs_01TEST_0',
        type: 'reasoning',
        status: 'completed',
        summary: [{ type: 'summary_text', text: 'Let me see.' }],
      });
    }
  });

  it('goes from text to a call in two items', () => {
    const { events, answer } = answerOf([
      text('One moment.'),
      call(0, 'weather'),
      args(0, '{"city":'),
      args(0, '"Oslo"}'),
      finish('tool_calls'),
    ]);

    assert.deepEqual(typesOf(events).slice(4), [
      'output_text.delta',
      ...MESSAGE_DONE,
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.delta',
      ...CALL_DONE,
      'completed',
    ]);
    assert.deepEqual(itemsOf(answer), [
      ['message', 'One moment.', 'completed'],
      ['weather', '{"city":"Oslo"}', 'completed'],
    ]);
    readStrictly(events);
  });

  it('ends a call when its arguments are complete and the next begins', () => {
    const encoder = encoderFor();
    encoder.begin();
    const before = [call(0, 'a'), args(0, '{"x":"}"'), args(0, '}')].flatMap((event) => [...encoder.next(event)]);
    assert.doesNotMatch(before.join(''), /output_item\.done/);

    const next = encoder.next(call(1, 'b')).join('');

    assert.match(next, /output_item\.done.*output_item\.added/s);
  });

  const cases: readonly (readonly [string, readonly TextEvent[], readonly unknown[]])[] = [
    [
      'serializes parallel calls',
      [
        call(0, 'a'),
        call(1, 'b'),
        args(1, '{"y":'),
        args(0, '{"x":'),
        args(1, '2}'),
        args(0, '1}'),
        call(2, 'c'),
        args(2, '{}'),
        finish('tool_calls'),
      ],
      [
        ['a', '{"x":1}', 'completed'],
        ['b', '{"y":2}', 'completed'],
        ['c', '{}', 'completed'],
      ],
    ],
    [
      'begins a new message after a call, even one without arguments',
      [text('a'), call(0, 'f'), text('b'), text('c'), finish('stop')],
      [
        ['message', 'a', 'completed'],
        ['f', '', 'completed'],
        ['message', 'bc', 'completed'],
      ],
    ],
    [
      'has no text when reasoning used up the cap',
      [text(''), reasoning('Hm'), finish('length')],
      [['reasoning', 'Hm', 'incomplete']],
    ],
    ['has no item when nothing was said before the cap', [text(''), finish('length')], []],
    [
      'distinguishes the truncated call from complete ones',
      [call(0, 'a'), args(0, '{}'), call(1, 'b'), args(1, '{"city":"Os'), finish('length')],
      [
        ['a', '{}', 'completed'],
        ['b', '{"city":"Os', 'incomplete'],
      ],
    ],
    [
      'ignores events after the end, of other choices, and arguments of calls that never began',
      [
        { type: 'text', choice: 1, text: 'another' },
        args(4, '{}'),
        text('this'),
        finish('stop'),
        text('later'),
        { type: 'usage', usage: { inputTokens: 1, cachedInputTokens: 0, outputTokens: 1, reasoningTokens: 0 } },
      ],
      [['message', 'this', 'completed']],
    ],
  ];
  for (const [what, said, items] of cases) {
    it(what, () => {
      const { events, answer } = answerOf(said);

      assert.deepEqual(itemsOf(answer), items);
      readStrictly(events);
    });
  }

  it('streams text after a call whose arguments arrived at once', () => {
    const encoder = encoderFor();
    encoder.begin();
    for (const event of [text('a'), call(0, 'f'), args(0, '{}')]) encoder.next(event);

    assert.match(encoder.next(text('b')).join(''), /"type":"response\.output_text\.delta".*"delta":"b"/);
  });

  it('is incomplete when the cap was reached, and so is the item in progress', () => {
    const { events, answer } = answerOf([text('Once upon'), finish('length')]);

    assert.equal(answer.status, 'incomplete');
    assert.deepEqual(answer['incomplete_details'], { reason: 'max_output_tokens' });
    assert.equal(answer['completed_at'], null);
    assert.deepEqual(itemsOf(answer), [['message', 'Once upon', 'incomplete']]);
    assert.equal(events.at(-1)?.type, 'response.incomplete');
    readStrictly(events);
  });

  it('names the filter that ended it', () => {
    const { answer } = answerOf([text('I'), finish('content_filter')]);

    assert.deepEqual(answer['incomplete_details'], { reason: 'content_filter' });
  });

  it('has refusals as parts of the message', () => {
    const { events, answer } = answerOf([text('Well. '), refusal('I will '), refusal('not.'), finish('stop')]);

    assert.deepEqual(itemsOf(answer), [['message', 'Well. ', { refusal: 'I will not.' }, 'completed']]);
    assert.deepEqual(typesOf(events).slice(5, 12), [
      'output_text.done',
      'content_part.done',
      'content_part.added',
      'refusal.delta',
      'refusal.delta',
      'refusal.done',
      'content_part.done',
    ]);
    readStrictly(events);
  });

  it('is complete and empty when nothing was generated', () => {
    const { events, answer } = answerOf([]);

    assert.deepEqual(typesOf(events), ['created', 'in_progress', 'completed']);
    assert.equal(answer.status, 'completed');
    assert.deepEqual(answer.output, []);
  });

  // Proves C9-4.
  it('has only events of Open Responses, with all required fields', () => {
    const said = [reasoning('Hm.'), text('So.'), refusal('No.'), call(0, 'f'), args(0, '{}')];
    const streams = [
      answerOf([...said, finish('tool_calls')]),
      answerOf([...said, finish('length')]),
      answerOf(said, {}, { problem: PROBLEM }),
    ];
    const eventTypes = new Set(streams.flatMap(({ events }) => typesOf(events)));

    assert.equal(STREAM_EVENTS.length + EVENTS_OF_NOTHING_HERE.length, 24);
    assert.deepEqual([...eventTypes].toSorted(), STREAM_EVENTS.toSorted());
    for (const { events } of streams) readStrictly(events);
  });

  it('reports an error after ten events, and that the response failed', () => {
    const said: readonly TextEvent[] = [
      ...Array.from({ length: 8 }, (_, index) => text(`${index} `)),
      call(0, 'f'),
      args(0, '{"x'),
    ];
    const { events, answer } = answerOf(said, {}, { problem: PROBLEM });

    assert.deepEqual(typesOf(events).slice(-2), ['error', 'failed']);
    assert.deepEqual(events.at(-2), {
      type: 'error',
      sequence_number: events.length - 2,
      code: 'upstream_unavailable',
      message: 'the model broke off',
      param: null,
      error_code: 'SERVICE_UNAVAILABLE',
      error: { type: 'server_error', code: 'upstream_unavailable', message: 'the model broke off', param: null },
    });
    assert.equal(answer.status, 'failed');
    assert.deepEqual(answer['error'], { code: 'server_error', message: 'the model broke off' });
    assert.deepEqual(itemsOf(answer), [
      ['message', '0 1 2 3 4 5 6 7 ', 'completed'],
      ['f', '{"x', 'incomplete'],
    ]);
    // An incomplete call is never reported as done.
    assert.deepEqual(readStrictly(events).done, answer.output.slice(0, 1));
  });

  it('reports the failure in the form of the response object', () => {
    const codeOf = (status: number): unknown => answerOf([], {}, { problem: { ...PROBLEM, status } }).answer['error'];

    assert.deepEqual(codeOf(429), { code: 'rate_limit_exceeded', message: PROBLEM.message });
    assert.deepEqual(codeOf(400), { code: 'invalid_prompt', message: PROBLEM.message });
  });

  it('has log probabilities when requested, and only then', () => {
    const token = {
      token: 'Hi',
      logprob: -0.5,
      bytes: null,
      alternatives: [{ token: 'Ho', logprob: -1, bytes: [72] }],
    };
    const eventTypes = {
      token: 'Hi',
      logprob: -0.5,
      bytes: [72, 105],
      top_logprobs: [{ token: 'Ho', logprob: -1, bytes: [72] }],
    };
    const said = [text('Hi', [token]), finish('stop')];

    const asked = answerOf(said, { include: ['message.output_text.logprobs'], top_logprobs: 1 });
    const delta = asked.events.find(({ type }) => type === 'response.output_text.delta');
    const done = asked.events.find(({ type }) => type === 'response.output_text.done');
    assert.deepEqual(delta?.['logprobs'], [eventTypes]);
    assert.deepEqual(done?.['logprobs'], [eventTypes]);
    assert.deepEqual(asked.answer.output[0]?.['content'], [
      { type: 'output_text', text: 'Hi', annotations: [], logprobs: [eventTypes] },
    ]);

    const unasked = answerOf(said);
    assert.deepEqual(unasked.events.find(({ type }) => type === 'response.output_text.delta')?.['logprobs'], []);
  });
});

describe('the response object', () => {
  it('has times and usage', () => {
    const { answer, events } = answerOf([text('b'), finish('stop')]);

    assert.equal(answer['created_at'], CREATED_AT);
    assert.equal(answer['completed_at'], CREATED_AT + 7);
    assert.deepEqual(answer['usage'], {
      input_tokens: 11,
      input_tokens_details: { cached_tokens: 3, cache_write_tokens: 0 },
      output_tokens: 20,
      output_tokens_details: { reasoning_tokens: 5 },
      total_tokens: 31,
    });
    const created = events[0]?.['response'] as Record<string, unknown>;
    assert.equal(created['status'], 'in_progress');
    assert.equal(created['usage'], null);
    assert.deepEqual(created['output'], []);
  });

  // Proves C9-3.
  it('has every field that OpenAI and Open Responses require, whatever was requested', () => {
    const said = [reasoning('a'), text('b'), refusal('c'), call(0, 'f'), args(0, '{}')];
    const tools = [{ type: 'function', name: 'f' }];
    const asked: readonly Readonly<Record<string, unknown>>[] = [
      {},
      { tools, tool_choice: { type: 'allowed_tools', mode: null, tools } },
      {
        instructions: 'Be brief.',
        user: 'u',
        metadata: { a: 'b' },
        tools: [{ type: 'function', name: 'f', parameters: { type: 'object' } }],
        tool_choice: { type: 'allowed_tools', tools: [{ type: 'function', name: 'f' }] },
        text: { format: { type: 'json_schema', name: 'n', schema: {} }, verbosity: 'low' },
        reasoning: { effort: 'low', summary: 'auto' },
        include: ['reasoning.encrypted_content'],
        prompt_cache_retention: 'in-memory',
        max_output_tokens: 5,
        temperature: 0,
      },
    ];
    for (const parameters of asked) {
      for (const reason of ['stop', 'length', 'content_filter', 'tool_calls'] as const) {
        const { answer, events } = answerOf([...said, finish(reason)], parameters);
        assert.equal(responseProblem(answer), undefined);
        assert.equal(responseProblem(events[0]?.['response']), undefined);
      }
      assert.equal(responseProblem(answerOf(said, parameters, { problem: PROBLEM }).answer), undefined);
    }
  });
});

/** OpenAI's own client, unmodified, with a prepared response. */
function clientOf(body: string, contentType: string): OpenAI {
  return new OpenAI({
    apiKey: 'none',
    maxRetries: 0,
    fetch: () => Promise.resolve(new Response(body, { headers: { 'content-type': contentType } })),
  });
}

function streamClientOf(frames: readonly string[]): OpenAI {
  return clientOf(`${frames.join('')}data: [DONE]\n\n`, 'text/event-stream');
}

describe("OpenAI's client", () => {
  const question = { model: 'some-model', input: 'Hello' } as const;
  const said = [reasoning('Hm.'), text('Hi'), call(0, 'f'), call(1, 'g'), args(1, '{"b":2}'), args(0, '{"a":1}')];

  // Proves C9-2.
  it('assembles the same items from the stream', async () => {
    const cases: readonly (readonly TextEvent[])[] = [
      [...said, finish('tool_calls')],
      // Its last event is not one that the client takes the whole response from.
      [...said, text('and'), finish('length')],
    ];
    for (const events of cases) {
      const { frames, answer } = answerOf(events);

      const { output } = await streamClientOf(frames).responses.stream(question).finalResponse();

      assert.deepEqual(
        output.map((item) => [item.type, item.id, item.type === 'function_call' ? item.arguments : '']),
        answer.output.map(({ type, id, arguments: text = '' }) => [type, id, text]),
      );
    }
  });

  it('reads a response that is not streamed', async () => {
    const { answer } = answerOf([...said, finish('tool_calls')]);

    const response = await clientOf(JSON.stringify(answer), 'application/json').responses.create(question);

    assert.equal(response.output_text, 'Hi');
  });

  // Proves C9-13.
  it('throws an error when the stream has one', async () => {
    const { frames } = answerOf([text('Hi')], {}, { problem: PROBLEM });
    const stream = await streamClientOf(frames).responses.create({ ...question, stream: true });

    const types: string[] = [];
    await assert.rejects(
      async () => {
        for await (const { type } of stream) types.push(type);
      },
      (error) => error instanceof APIError && error.code === 'upstream_unavailable',
    );
    assert.equal(types.at(-1), 'response.output_text.delta');
  });
});
