/**
 * How the body of `POST /responses` is decoded, and what is rejected, with the position and the reason (contract §9).
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Message } from '../../../src/text/request.ts';
import { referencedIds } from '../../../src/text/responses/decode-input.ts';
import { itemId, nameInputItems, responseOfItem } from '../../../src/text/responses/items.ts';
import type { ConversationItem } from '../../../src/text/responses/items.ts';
import { selfContainedBody } from '../../../src/text/responses/conversation.ts';
import { checkResponsesBody } from '../../../src/text/responses/decode-request.ts';
import { InvalidTextRequest } from '../../../src/text/text-failure.ts';
import { NOTHING_EARLIER, answerOf, args, call, decode, finish, reasoning, text } from './answers.ts';

type Body = Readonly<Record<string, unknown>>;

const BODY = { model: 'some-model', input: 'Hello' };
const SAID = (role: 'user' | 'system' | 'developer', value: string): Message => ({
  role,
  content: [{ type: 'text', text: value }],
});
const ANSWERED = (value: string, rest: object = {}): Message => ({
  role: 'assistant',
  content: value === '' ? [] : [{ type: 'text', text: value }],
  toolCalls: [],
  ...rest,
});
const RETURNED = (toolCallId: string, value: string): Message => ({
  role: 'tool',
  toolCallId,
  content: [{ type: 'text', text: value }],
});

/** The parameter and the code that a body is rejected with. */
function rejectionOf(body: Body, earlier = NOTHING_EARLIER): readonly [string | undefined, string] {
  try {
    decode({ ...BODY, ...body }, earlier);
  } catch (error) {
    assert.ok(error instanceof InvalidTextRequest, String(error));
    return [error.param, error.code];
  }
  assert.fail('it was not rejected');
}

function messagesOf(input: unknown, rest: Body = {}): readonly Message[] {
  return decode({ model: 'some-model', input, ...rest }).request.messages;
}

const FUNCTION = (name: string, rest: Body = {}): Body => ({ type: 'function', name, ...rest });
const CALL = (id: string, name: string, value = '{}'): Body => ({
  type: 'function_call',
  call_id: id,
  name,
  arguments: value,
});
const OUTPUT = (id: string, output: unknown): Body => ({ type: 'function_call_output', call_id: id, output });

describe('the conversation of a request', () => {
  it('is one message of the user when the input is a text, after the instructions if there are any', () => {
    const hello = SAID('user', 'Hello');
    assert.deepEqual(messagesOf('Hello', { instructions: 'Be brief.' }), [SAID('system', 'Be brief.'), hello]);
    for (const rest of [{}, { instructions: '' }, { instructions: null }]) {
      assert.deepEqual(messagesOf('Hello', rest), [hello]);
    }
  });

  it('accepts messages in the short form and in the full one', () => {
    const messages = messagesOf([
      { role: 'developer', content: 'Be kind.' },
      {
        type: 'message',
        id: 'msg_1',
        status: 'completed',
        role: 'user',
        content: [{ type: 'input_text', text: 'Hi' }],
      },
      { role: 'assistant', content: 'Hello' },
      {
        type: 'message',
        role: 'assistant',
        id: 'msg_2',
        status: 'completed',
        content: [
          { type: 'output_text', text: 'Well', annotations: [], logprobs: [], parsed: null },
          { type: 'refusal', refusal: 'No' },
        ],
      },
      { type: null, role: 'system', content: [{ type: 'input_text', text: 'Hurry.' }] },
    ]);

    assert.deepEqual(messages, [
      SAID('developer', 'Be kind.'),
      SAID('user', 'Hi'),
      ANSWERED('Hello'),
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Well' },
          { type: 'refusal', refusal: 'No' },
        ],
        toolCalls: [],
      },
      SAID('system', 'Hurry.'),
    ]);
  });

  it('accepts images by URL and by data, of users and of functions', () => {
    const data = 'data:image/png;base64,iVBORw0KGgo=';
    const [user, , tool] = messagesOf([
      {
        role: 'user',
        content: [
          { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'low' },
          { type: 'input_image', image_url: data, file_id: null },
        ],
      },
      CALL('call_1', 'look'),
      OUTPUT('call_1', [{ type: 'input_image', image_url: data, detail: 'auto' }]),
    ]);

    assert.deepEqual(user?.content, [
      { type: 'image', url: 'https://example.com/a.png', detail: 'low' },
      { type: 'image', url: data },
    ]);
    assert.deepEqual(tool?.content, [{ type: 'image', url: data }]);
  });

  it('joins parallel calls, and puts their outputs behind them', () => {
    const messages = messagesOf([
      { role: 'user', content: 'Weather?' },
      { type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: 'Two cities.' }] },
      { role: 'assistant', content: 'One moment.' },
      CALL('call_1', 'weather', '{"city":"Oslo"}'),
      { ...CALL('call_2', 'weather', '{"city":"Rome"}'), id: 'fc_2', status: 'completed', parsed_arguments: null },
      { role: 'assistant', content: 'Still there?' },
      OUTPUT('call_1', 'rain'),
      { ...OUTPUT('call_2', [{ type: 'input_text', text: 'sun' }]), id: null, status: null },
      { role: 'assistant', content: 'Rain and sun.' },
    ]);

    assert.deepEqual(messages, [
      SAID('user', 'Weather?'),
      {
        role: 'assistant',
        reasoning: 'Two cities.',
        content: [
          { type: 'text', text: 'One moment.' },
          { type: 'text', text: 'Still there?' },
        ],
        toolCalls: [
          { id: 'call_1', name: 'weather', arguments: '{"city":"Oslo"}' },
          { id: 'call_2', name: 'weather', arguments: '{"city":"Rome"}' },
        ],
      },
      RETURNED('call_1', 'rain'),
      RETURNED('call_2', 'sun'),
      ANSWERED('Rain and sun.'),
    ]);
  });

  it('separates what an assistant said in several messages, and the reasoning before each', () => {
    const thought = (value: string): Body => ({ type: 'reasoning', summary: [{ type: 'summary_text', text: value }] });
    const messages = messagesOf([
      thought('a'),
      { role: 'assistant', content: 'A' },
      thought('b'),
      CALL('call_1', 'f'),
      thought('c'),
      CALL('call_2', 'g'),
      OUTPUT('call_1', '1'),
      OUTPUT('call_2', '2'),
      thought('left alone'),
      { role: 'user', content: 'Go on' },
    ]);

    assert.deepEqual(messages, [
      ANSWERED('A', { reasoning: 'a' }),
      ANSWERED('', {
        reasoning: 'b\n\nc',
        toolCalls: [
          { id: 'call_1', name: 'f', arguments: '{}' },
          { id: 'call_2', name: 'g', arguments: '{}' },
        ],
      }),
      RETURNED('call_1', '1'),
      RETURNED('call_2', '2'),
      SAID('user', 'Go on'),
    ]);
  });

  it('restores the reasoning that an answer has encrypted', () => {
    const { answer } = answerOf([reasoning('It rhymes.'), text('Yes'), finish('stop')], {
      include: ['reasoning.encrypted_content'],
      reasoning: { summary: 'auto' },
    });
    const [thought, ...rest] = answer.output.map((item) => ({ ...item }));

    const messages = messagesOf([{ ...thought, summary: [] }, ...rest]);

    assert.deepEqual(messages, [ANSWERED('Yes', { reasoning: 'It rhymes.' })]);
    const damaged = { ...thought, summary: [], encrypted_content: 'dkr1.AAAAŁŁŁŁ' };
    assert.deepEqual(messagesOf([damaged, ...rest]), [ANSWERED('Yes')]);
  });

  it('preserves reasoning that another provider encrypted, with the items beside it', () => {
    const texts = (type: string, text: string) => [{ type, text }];
    const foreign = { type: 'reasoning', id: 'rs_9', summary: [], encrypted_content: 'gAAAAABo' };
    const openReasoning = {
      ...foreign,
      summary: texts('summary_text', 'In short'),
      content: texts('reasoning_text', 'Hm'),
    };

    const messages = messagesOf([
      foreign,
      { role: 'assistant', content: 'Yes' },
      openReasoning,
      { role: 'assistant', content: 'No' },
    ]);

    assert.deepEqual(messages, [
      ANSWERED('Yes', { sealedReasoning: 'gAAAAABo' }),
      ANSWERED('No', { reasoning: 'Hm', sealedReasoning: 'gAAAAABoIn short' }),
    ]);
  });

  it('accepts a whole answer as it was returned', () => {
    const { answer } = answerOf([
      reasoning('Hm'),
      text('Wait'),
      call(0, 'f'),
      args(0, '{"a":1}'),
      finish('tool_calls'),
    ]);

    const messages = messagesOf([{ role: 'user', content: 'Go' }, ...answer.output, OUTPUT('call_0', 'done')]);

    assert.deepEqual(messages.slice(1), [
      ANSWERED('Wait', { reasoning: 'Hm', toolCalls: [{ id: 'call_0', name: 'f', arguments: '{"a":1}' }] }),
      RETURNED('call_0', 'done'),
    ]);
  });

  it('continues what was stored, without its instructions, and needs no input then', () => {
    const conversation = nameInputItems('resp_1', decode({ ...BODY, instructions: 'Be brief.' }).input);
    const continued = (rest: Body) =>
      decode({ model: 'some-model', previous_response_id: 'resp_1', ...rest }, { ...NOTHING_EARLIER, conversation });

    const { request, input } = continued({ input: 'And now?', instructions: 'Be long.' });

    assert.deepEqual(request.messages, [SAID('system', 'Be long.'), SAID('user', 'Hello'), SAID('user', 'And now?')]);
    assert.equal(input.length, 1);
    assert.deepEqual(continued({}).request.messages, [SAID('user', 'Hello')]);
  });

  it('resolves references to items of the conversation, and to stored ones beside it', () => {
    const input = [{ type: 'item_reference', id: 'msg_1_i0' }, { id: 'fc_2_0' }, OUTPUT('call_0', 'x')];
    const first = nameInputItems('resp_1', decode(BODY).input);
    const second: ConversationItem = {
      type: 'function_call',
      id: 'fc_2_0',
      status: 'completed',
      call_id: 'call_0',
      name: 'f',
      arguments: '{}',
    };

    const { request } = decode(
      { model: 'some-model', input },
      { conversation: first, referenced: new Map([['fc_2_0', second]]) },
    );

    assert.deepEqual(referencedIds(input), ['msg_1_i0', 'fc_2_0']);
    assert.deepEqual(referencedIds('msg_1_i0'), []);
    assert.deepEqual(request.messages, [
      SAID('user', 'Hello'),
      SAID('user', 'Hello'),
      ANSWERED('', { toolCalls: [{ id: 'call_0', name: 'f', arguments: '{}' }] }),
      RETURNED('call_0', 'x'),
    ]);
  });
});

describe('an invalid input', () => {
  const file = { type: 'input_file', file_id: 'file-1' };
  const audio = { type: 'input_audio', input_audio: { data: '', format: 'wav' } };
  const said = { type: 'input_text', text: 'a' };
  const user = (...content: readonly object[]) => [{ role: 'user', content }];
  const url = 'https://a.b/c';
  const image = (rest: object) => user({ type: 'input_image', ...rest });
  const atPart = 'input.0.content.0';
  const missing = 'missing_required_parameter';
  const cases: readonly (readonly [string, unknown, string, string])[] = [
    ['nothing at all', undefined, 'input', missing],
    ['null', null, 'input', missing],
    ['no items', [], 'input', missing],
    ['a number', 7, 'input', 'invalid_type'],
    ['an item that is a text', ['a'], 'input.0', 'invalid_type'],
    ['an item of no type', [{ text: 'a' }], 'input.0.type', missing],
    ['an item of another type', [{ type: 'web_search_call', id: 'ws_1' }], 'input.0.type', 'unsupported_value'],
    ['a message of another role', [{ role: 'tool', content: 'a' }], 'input.0.role', 'invalid_value'],
    ['a message without content', [{ role: 'user' }], 'input.0.content', missing],
    ['content that is null', [{ role: 'user', content: null }], 'input.0.content', 'invalid_type'],
    ['a file', user(said, file), 'input.0.content.1.type', 'unsupported_value'],
    ['audio', user(said, audio), 'input.0.content.1.type', 'unsupported_value'],
    ['a part without its text', user({ type: 'input_text' }), `${atPart}.text`, missing],
    ['a part of no type', user({ text: 'a' }), `${atPart}.type`, missing],
    ['a user who answers', user({ type: 'output_text', text: 'a' }), `${atPart}.type`, 'unsupported_value'],
    ['an assistant who asks', [{ role: 'assistant', content: [said] }], `${atPart}.type`, 'unsupported_value'],
    [
      'an image of the system',
      [{ role: 'system', content: [{ type: 'input_image', image_url: url }] }],
      `${atPart}.type`,
      'unsupported_value',
    ],
    [
      'an image by its file and by its address',
      image({ file_id: 'file-1', image_url: url }),
      `${atPart}.file_id`,
      'invalid_value',
    ],
    ['an image from nowhere', image({}), `${atPart}.image_url`, missing],
    ['an image by another scheme', image({ image_url: 'ftp://a.b/c' }), `${atPart}.image_url`, 'invalid_image_url'],
    [
      'a compaction that is damaged',
      [{ type: 'compaction', encrypted_content: 'dkc1.AAAAŁŁŁŁ' }],
      'input.0.encrypted_content',
      'invalid_value',
    ],
    [
      'an image of a phone',
      image({ image_url: 'data:image/heic;base64,AAEC' }),
      `${atPart}.image_url`,
      'invalid_image_url',
    ],
    [
      'an image in another detail',
      image({ image_url: url, detail: 'original' }),
      `${atPart}.detail`,
      'unsupported_value',
    ],
    ['a call without arguments', [{ type: 'function_call', call_id: 'a', name: 'f' }], 'input.0.arguments', missing],
    ['an output of no call', [OUTPUT('call_1', 'x')], 'input.0.call_id', 'invalid_value'],
    ['an output before its call', [OUTPUT('call_1', 'x'), CALL('call_1', 'f')], 'input.0.call_id', 'invalid_value'],
    [
      'a file that a function returns',
      [CALL('c', 'f'), OUTPUT('c', [file])],
      'input.1.output.0.type',
      'unsupported_value',
    ],
    ['a reference to nothing', [{ type: 'item_reference', id: 'msg_x' }], 'input.0.id', 'invalid_value'],
    ['a status of its own', [{ role: 'user', content: 'a', status: 'done' }], 'input.0.status', 'invalid_value'],
  ];
  for (const [what, input, param, code] of cases) {
    it(`${what}: names ${param}`, () => assert.deepEqual(rejectionOf({ input }), [param, code]));
  }
});

describe('the parameters of a request', () => {
  it('are translated to the internal form', () => {
    const { request, isStored, truncation } = decode({
      ...BODY,
      max_output_tokens: 100,
      temperature: 0.5,
      top_p: 0.9,
      frequency_penalty: 0.1,
      presence_penalty: -0.1,
      top_logprobs: 2,
      tools: [FUNCTION('f', { description: 'd', parameters: { type: 'object' }, strict: true })],
      tool_choice: 'required',
      parallel_tool_calls: false,
      reasoning: { effort: 'low' },
      text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true }, verbosity: 'low' },
      store: false,
      truncation: 'auto',
    });

    assert.deepEqual(request, {
      model: 'some-model',
      messages: [SAID('user', 'Hello')],
      maxOutputTokens: 100,
      stop: [],
      choices: 1,
      temperature: 0.5,
      topP: 0.9,
      frequencyPenalty: 0.1,
      presencePenalty: -0.1,
      logitBias: undefined,
      seed: undefined,
      topLogprobs: 2,
      format: { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true },
      tools: [{ name: 'f', description: 'd', parameters: { type: 'object' }, strict: true }],
      toolChoice: 'required',
      parallelToolCalls: false,
      reasoningEffort: 'low',
      verbosity: 'low',
    });
    assert.equal(isStored, false);
    assert.equal(truncation, 'auto');
  });

  it('may all be null, which is the same as absent', () => {
    const names = Object.keys(decode(BODY).rendering.echo);
    const extra = ['stream', 'stream_options', 'include', 'background', 'conversation', 'prompt', 'moderation'];
    const nulls = Object.fromEntries([...names, ...extra].map((name) => [name, null]));

    assert.deepEqual(decode({ ...BODY, ...nulls }), decode(BODY));
    assert.deepEqual(
      decode({
        ...BODY,
        reasoning: { effort: null, summary: null, enabled: null },
        text: { format: null, verbosity: null },
      }),
      decode(BODY),
    );
  });

  it('are echoed, with the defaults of omitted ones', () => {
    assert.deepEqual(decode(BODY).rendering.echo, {
      background: false,
      instructions: null,
      max_output_tokens: null,
      max_tool_calls: null,
      parallel_tool_calls: true,
      previous_response_id: null,
      reasoning: { effort: null, summary: null },
      store: true,
      temperature: 1,
      top_p: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      top_logprobs: 0,
      text: { format: { type: 'text' } },
      tool_choice: 'auto',
      tools: [],
      truncation: 'disabled',
      metadata: {},
      safety_identifier: null,
      prompt_cache_key: null,
    });
    const asked = {
      instructions: 'Be brief.',
      max_output_tokens: 1,
      max_tool_calls: 3,
      metadata: { a: 'b' },
      user: 'u',
      safety_identifier: 's',
      prompt_cache_key: 'k',
      prompt_cache_retention: '24h',
      text: { format: { type: 'json_object' }, verbosity: 'high' },
      tools: [FUNCTION('f')],
      tool_choice: FUNCTION('f'),
    };
    const { echo } = decode({ ...BODY, ...asked, service_tier: 'auto' }).rendering;
    for (const [name, value] of Object.entries(asked)) {
      if (name !== 'tools') assert.deepEqual((echo as unknown as Body)[name], value, name);
    }
    assert.deepEqual(echo.tools, [{ type: 'function', name: 'f', description: null, parameters: null, strict: null }]);
  });

  it('request log probabilities by either name', () => {
    const include = ['message.output_text.logprobs'];
    assert.equal(decode(BODY).request.topLogprobs, undefined);
    assert.equal(decode({ ...BODY, top_logprobs: 0 }).request.topLogprobs, undefined);
    assert.equal(decode({ ...BODY, include }).request.topLogprobs, 0);
    assert.equal(decode({ ...BODY, include, top_logprobs: 4 }).request.topLogprobs, 4);
    assert.equal(decode({ ...BODY, top_logprobs: 4 }).request.topLogprobs, 4);
    assert.equal(decode({ ...BODY, top_logprobs: 4 }).rendering.showsLogprobs, true);
  });

  // Proves C9-9.
  it('enable and disable reasoning', () => {
    const effort = (reasoning: Body): unknown => decode({ ...BODY, reasoning }).request.reasoningEffort;
    assert.equal(effort({ enabled: false }), 'none');
    assert.equal(effort({ enabled: false, effort: 'none' }), 'none');
    assert.equal(effort({ enabled: true }), 'medium');
    assert.equal(effort({ enabled: true, effort: 'high' }), 'high');
    assert.equal(effort({ generate_summary: 'auto' }), undefined);
  });

  it('allow some of the tools, and hide the others from the model', () => {
    const tools = [FUNCTION('f'), FUNCTION('g')];
    const { request, rendering } = decode({
      ...BODY,
      tools,
      tool_choice: { type: 'allowed_tools', mode: 'required', tools: [FUNCTION('g')] },
    });

    assert.deepEqual(request.tools, [{ name: 'g' }]);
    assert.equal(request.toolChoice, 'required');
    assert.equal(rendering.echo.tools.length, 2);
    assert.deepEqual(decode({ ...BODY, tools, tool_choice: FUNCTION('f') }).request.toolChoice, { name: 'f' });
    assert.equal(decode({ ...BODY, tools }).request.toolChoice, 'auto');
    assert.equal(decode({ ...BODY }).request.toolChoice, 'none');
  });

  it('repeat the mode of allowed tools, which is auto when it is null or omitted', () => {
    const tools = [FUNCTION('f')];
    for (const [given, mode] of [
      [{}, 'auto'],
      [{ mode: null }, 'auto'],
      [{ mode: 'none' }, 'none'],
    ] as const) {
      const { request, rendering } = decode({
        ...BODY,
        tools,
        tool_choice: { type: 'allowed_tools', tools, ...given },
      });

      assert.equal(request.toolChoice, mode);
      assert.deepEqual(rendering.echo.tool_choice, { type: 'allowed_tools', tools, mode });
    }
  });

  it('may be specific to the model', () => {
    assert.doesNotThrow(() => decode({ ...BODY, top_k: 3 }, NOTHING_EARLIER, ['top_k']));
  });
});

describe('an invalid parameter', () => {
  const tools = [FUNCTION('f')];
  const format = (value: Body): Body => ({ text: { format: value } });
  const allowed = (changes: Body): Body => ({ tool_choice: { type: 'allowed_tools', ...changes }, tools });
  const cases: readonly (readonly [Body, string, string])[] = [
    [{ nonsense: 1 }, 'nonsense', 'unknown_parameter'],
    [{ model: undefined }, 'model', 'missing_required_parameter'],
    [{ model: 7 }, 'model', 'invalid_type'],
    [{ background: 'yes' }, 'background', 'invalid_type'],
    [{ background: true, store: false }, 'store', 'invalid_value'],
    [{ conversation: 'conv_1' }, 'conversation', 'unsupported_parameter'],
    [{ prompt: { id: 'pmpt_1' } }, 'prompt', 'unsupported_parameter'],
    [{ moderation: { model: 'm' } }, 'moderation', 'unsupported_parameter'],
    [{ context_management: [] }, 'context_management', 'unsupported_parameter'],
    [{ service_tier: 'flex' }, 'service_tier', 'invalid_value'],
    [{ truncation: 'middle' }, 'truncation', 'invalid_value'],
    [{ max_output_tokens: 0 }, 'max_output_tokens', 'integer_below_min_value'],
    [{ max_output_tokens: 1.5 }, 'max_output_tokens', 'invalid_type'],
    [{ temperature: 3 }, 'temperature', 'decimal_above_max_value'],
    [{ top_logprobs: 21 }, 'top_logprobs', 'integer_above_max_value'],
    [{ stream_options: { include_obfuscation: true } }, 'stream_options.include_obfuscation', 'invalid_value'],
    [{ include: ['message.output_text.logprobs', 'file_search_call.results'] }, 'include.1', 'unsupported_parameter'],
    [{ metadata: { a: 1 } }, 'metadata.a', 'invalid_type'],
    [{ metadata: { a: 'x'.repeat(513) } }, 'metadata.a', 'string_above_max_length'],
    [{ metadata: { ['k'.repeat(65)]: 'x' } }, 'metadata', 'string_above_max_length'],
    [
      { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`k${n}`, ''])) },
      'metadata',
      'invalid_value',
    ],
    [{ reasoning: { effort: 'max' } }, 'reasoning.effort', 'invalid_value'],
    [{ reasoning: { enabled: false, effort: 'high' } }, 'reasoning.enabled', 'invalid_value'],
    [{ reasoning: { enabled: true, effort: 'none' } }, 'reasoning.enabled', 'invalid_value'],
    [{ reasoning: { summary: 'auto', generate_summary: 'concise' } }, 'reasoning.generate_summary', 'invalid_value'],
    [{ reasoning: { mode: 'pro' } }, 'reasoning.mode', 'unknown_parameter'],
    [{ tools: [FUNCTION('f'), { type: 'web_search' }] }, 'tools.1.type', 'unsupported_parameter'],
    [{ tools: [FUNCTION('f', { defer_loading: true })] }, 'tools.0.defer_loading', 'unknown_parameter'],
    [{ tools: [{ type: 'function' }] }, 'tools.0.name', 'missing_required_parameter'],
    [{ tools: [FUNCTION('two words')] }, 'tools.0.name', 'invalid_value'],
    [{ tools: [FUNCTION('f'), FUNCTION('f')] }, 'tools.1', 'invalid_value'],
    [{ tool_choice: 'any', tools }, 'tool_choice', 'invalid_value'],
    [{ tool_choice: 'required' }, 'tool_choice', 'invalid_value'],
    [{ tool_choice: {}, tools }, 'tool_choice', 'invalid_value'],
    [{ tool_choice: { type: 'mcp' }, tools }, 'tool_choice.type', 'unsupported_parameter'],
    [{ tool_choice: { type: 'function' }, tools }, 'tool_choice.name', 'missing_required_parameter'],
    [{ tool_choice: FUNCTION('g'), tools }, 'tool_choice.name', 'invalid_value'],
    [allowed({ mode: 'auto', tools: [] }), 'tool_choice.tools', 'invalid_value'],
    [allowed({ mode: 'any', tools }), 'tool_choice.mode', 'invalid_value'],
    [allowed({ tools: [FUNCTION('g')] }), 'tool_choice.tools.0.name', 'invalid_value'],
    [allowed({ tools: [{ type: 'mcp' }] }), 'tool_choice.tools.0.type', 'unsupported_parameter'],
    [format({ type: 'xml' }), 'text.format.type', 'invalid_value'],
    [format({}), 'text.format.type', 'missing_required_parameter'],
    [format({ type: 'json_schema', schema: {} }), 'text.format.name', 'invalid_value'],
    [format({ type: 'json_schema', name: 'n' }), 'text.format.schema', 'invalid_value'],
    [{ text: { verbosity: 'loud' } }, 'text.verbosity', 'invalid_value'],
  ];
  for (const [body, param, code] of cases) {
    // Proves C9-10.
    it(`${JSON.stringify(body).slice(0, 70)}: names ${param}`, () =>
      assert.deepEqual(rejectionOf(body), [param, code]));
  }

  it('names the tools that there are', () => {
    for (const body of [{ tools: [{ type: 'mcp' }] }, allowed({ tools: [{ type: 'mcp' }] })]) {
      assert.throws(() => decode({ ...BODY, ...body }), /only "function" and "image_generation" are supported/);
    }
  });
});

describe('the id of an item', () => {
  it('identifies the response of the item', () => {
    assert.equal(itemId('resp_01AB', { type: 'message' }, 3), 'msg_01AB_3');
    assert.equal(responseOfItem('msg_01AB_3'), 'resp_01AB');
    assert.equal(responseOfItem(itemId('resp_a_1', { type: 'reasoning' }, 0, 'input')), 'resp_a_1');
    assert.equal(responseOfItem('msg_67ccd3acc8d48190'), undefined);
  });

  it("is the client's own when it has one", () => {
    const { input } = decode({ ...BODY, input: [{ ...CALL('c', 'f'), id: 'fc_mine' }, OUTPUT('c', 'x')] });

    assert.deepEqual(
      nameInputItems('resp_01AB', input).map(({ id }) => id),
      ['fc_mine', 'fco_01AB_i1'],
    );
  });
});

describe('the body that is sent to an upstream of this endpoint', () => {
  const bodyFor = (body: Body, conversation: readonly ConversationItem[] = []): Body => {
    const decoded = decode(body, { ...NOTHING_EARLIER, conversation });
    return selfContainedBody(checkResponsesBody(body), decoded, decoded.items);
  };

  it('is the same, and requests no storage', () => {
    assert.deepEqual(bodyFor({ ...BODY, temperature: 0, tools: [FUNCTION('f')] }), {
      ...BODY,
      temperature: 0,
      tools: [FUNCTION('f')],
      store: false,
    });
  });

  it("has the conversation written out, and reasoning in OpenAI's form", () => {
    const conversation = [
      ...nameInputItems('resp_1', decode(BODY).input),
      ...(answerOf([reasoning('Hm'), text('Hi'), finish('stop')], { include: ['reasoning.encrypted_content'] }).answer
        .output as unknown as readonly ConversationItem[]),
      ...nameInputItems(
        'resp_2',
        decode({
          ...BODY,
          input: [
            { type: 'reasoning', id: 'rs_up', encrypted_content: 'gAAA' },
            { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' },
            { type: 'function_call_output', call_id: 'call_1', output: '1' },
            { type: 'reasoning', id: 'rs_lone', encrypted_content: 'gAAB' },
          ],
        }).input,
      ),
    ];

    const body = bodyFor(
      { ...BODY, input: 'More', previous_response_id: 'resp_1', store: true, reasoning: { enabled: false } },
      conversation,
    );

    assert.deepEqual(body, {
      model: 'some-model',
      store: false,
      reasoning: { effort: 'none' },
      input: [
        { type: 'message', role: 'user', status: 'completed', content: [{ type: 'input_text', text: 'Hello' }] },
        { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Hm' }] },
        {
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Hi', annotations: [], logprobs: [] }],
        },
        { type: 'reasoning', id: 'rs_up', status: 'completed', summary: [], content: [], encrypted_content: 'gAAA' },
        { type: 'function_call', status: 'completed', call_id: 'call_1', name: 'f', arguments: '{}' },
        { type: 'function_call_output', status: 'completed', call_id: 'call_1', output: '1' },
        { type: 'message', role: 'user', status: 'completed', content: [{ type: 'input_text', text: 'More' }] },
      ],
    });
  });
});
