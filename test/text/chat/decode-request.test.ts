/**
 * From the body of a chat request to the common form: what is accepted, what it is decoded to, and what is rejected
 * by its name.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkChatBody, decodeChatRequest } from '../../../src/text/chat/decode-request.ts';
import type { TextRequest } from '../../../src/text/request.ts';
import { InvalidTextRequest } from '../../../src/text/text-failure.ts';
import { textRequest } from '../text-request.ts';

const HELLO = [{ role: 'user', content: 'hello' }];
const TOOL = { type: 'function', function: { name: 'get_weather', parameters: { type: 'object' } } };
const SCHEMA = { type: 'object', properties: {}, additionalProperties: false };
const PNG = 'data:image/png;base64,iVBORw0KGgo=';

function decode(changes: Readonly<Record<string, unknown>> = {}, extraParameters: readonly string[] = []): TextRequest {
  const body = checkChatBody({ model: 'acme/text', messages: HELLO, ...changes });
  return decodeChatRequest(body, { extraParameters: [...extraParameters] });
}

function rejectionOf(changes: Readonly<Record<string, unknown>>): readonly [param: string | undefined, code: string] {
  try {
    decode(changes);
  } catch (error) {
    assert.ok(error instanceof InvalidTextRequest, String(error));
    assert.ok(error.param === undefined || error.message.includes(error.param.split('.')[0] ?? ''), error.message);
    return [error.param, error.code];
  }
  return assert.fail(`taken: ${JSON.stringify(changes)}`);
}

describe('a chat request', () => {
  it('with only messages leaves everything to the defaults of the model', () => {
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }] as const;
    const defaults = textRequest({ model: 'acme/text', messages });
    assert.deepEqual(decode(), { ...defaults, toolChoice: 'none', verbosity: undefined });
  });

  it('may have null wherever a field is optional', () => {
    const names =
      `stream stream_options max_completion_tokens max_tokens n stop temperature top_p frequency_penalty presence_penalty logit_bias seed logprobs top_logprobs tools response_format tool_choice parallel_tool_calls reasoning_effort reasoning verbosity user safety_identifier prompt_cache_key metadata modalities service_tier store audio prediction web_search_options functions function_call`.split(
        ' ',
      );
    assert.deepEqual(decode(Object.fromEntries(names.map((name) => [name, null]))), decode());
  });

  it('passes every parameter on', () => {
    const request = decode({
      max_completion_tokens: 50,
      n: 2,
      stop: ['a', 'b'],
      temperature: 0.5,
      top_p: 0.9,
      frequency_penalty: 1,
      presence_penalty: -1,
      logit_bias: { '50256': -100 },
      seed: -3,
      logprobs: true,
      top_logprobs: 4,
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema: SCHEMA, strict: true } },
      tools: [TOOL],
      tool_choice: { type: 'function', function: { name: 'get_weather' } },
      parallel_tool_calls: false,
      reasoning_effort: 'high',
      verbosity: 'low',
    });
    assert.deepEqual(
      { ...request, messages: undefined },
      {
        model: 'acme/text',
        messages: undefined,
        maxOutputTokens: 50,
        stop: ['a', 'b'],
        choices: 2,
        temperature: 0.5,
        topP: 0.9,
        frequencyPenalty: 1,
        presencePenalty: -1,
        logitBias: { '50256': -100 },
        seed: -3,
        topLogprobs: 4,
        format: { type: 'json_schema', name: 'x', schema: SCHEMA, strict: true },
        tools: [{ name: 'get_weather', parameters: { type: 'object' } }],
        toolChoice: { name: 'get_weather' },
        parallelToolCalls: false,
        reasoningEffort: 'high',
        verbosity: 'low',
      },
    );
    assert.deepEqual(decode({ stop: 'end' }).stop, ['end']);
    assert.equal(decode({ max_tokens: 7 }).maxOutputTokens, 7);
    assert.equal(decode({ max_tokens: 7, max_completion_tokens: 7 }).maxOutputTokens, 7);
    assert.equal(decode({ logprobs: true }).topLogprobs, 0);
    assert.equal(decode({ tools: [TOOL] }).toolChoice, 'auto');
    assert.deepEqual(decode({ response_format: { type: 'json_object' } }).format, { type: 'json_object' });
  });

  // Proves S4.4-6, C9-9, C9-10.
  it('names reasoning in three equivalent ways', () => {
    const effort = (changes: Readonly<Record<string, unknown>>) => decode(changes).reasoningEffort;
    assert.equal(effort({ reasoning: { enabled: false } }), 'none');
    assert.equal(effort({ reasoning: { enabled: true } }), 'medium');
    assert.equal(effort({ reasoning: { effort: 'low' } }), 'low');
    assert.equal(effort({ reasoning: { enabled: true, effort: 'low' }, reasoning_effort: 'low' }), 'low');
    assert.equal(effort({ reasoning: { enabled: false }, reasoning_effort: 'none' }), 'none');
    assert.equal(effort({ reasoning: {} }), undefined);

    assert.equal(rejectionOf({ reasoning: { enabled: false, effort: 'high' } })[0], 'reasoning.enabled');
    assert.equal(rejectionOf({ reasoning: { enabled: false }, reasoning_effort: 'low' })[0], 'reasoning.enabled');
    assert.equal(rejectionOf({ reasoning: { effort: 'low' }, reasoning_effort: 'high' })[0], 'reasoning.effort');
    assert.equal(rejectionOf({ reasoning: { enabled: true, effort: 'none' } })[0], 'reasoning.enabled');
  });

  it('accepts the additional parameters of its model, and no others', () => {
    assert.doesNotThrow(() => decode({ top_k: 40 }, ['top_k']));
    assert.deepEqual(rejectionOf({ top_k: 40 }), ['top_k', 'unknown_parameter']);
    for (const name of ['audio', 'functions', 'function_call', 'prediction', 'web_search_options']) {
      assert.deepEqual(rejectionOf({ [name]: {} }), [name, 'unsupported_parameter']);
    }
  });

  it('allows some of its tools, and hides the others from the model', () => {
    const tools = ['f', 'g', 'h'].map((name) => ({ type: 'function', function: { name } }));
    const allowing = (mode: string, ...names: readonly string[]): TextRequest =>
      decode({
        tools,
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode, tools: names.map((name) => ({ type: 'function', function: { name } })) },
        },
      });

    assert.deepEqual(allowing('auto', 'h', 'f').tools, [{ name: 'f' }, { name: 'h' }]);
    assert.equal(allowing('auto', 'f').toolChoice, 'auto');
    assert.equal(allowing('required', 'f').toolChoice, 'required');
  });

  it('is rejected by name for an invalid tool selection', () => {
    const tools = [TOOL];
    const named = (name: string) => ({ type: 'function', function: { name } });
    const param = 'tool_choice.allowed_tools';
    const cases: readonly (readonly [unknown, string, string])[] = [
      [undefined, param, 'missing_required_parameter'],
      [{ tools: [named('get_weather')] }, `${param}.mode`, 'missing_required_parameter'],
      [{ mode: 'none', tools: [named('get_weather')] }, `${param}.mode`, 'invalid_value'],
      [{ mode: 'auto' }, `${param}.tools`, 'invalid_value'],
      [{ mode: 'auto', tools: [] }, `${param}.tools`, 'invalid_value'],
      [{ mode: 'auto', tools: [named('other')] }, `${param}.tools.0.function.name`, 'invalid_value'],
      [{ mode: 'auto', tools: [{ type: 'function', name: 'f' }] }, `${param}.tools.0.function.name`, 'invalid_value'],
      [{ mode: 'auto', tools: [{ type: 'custom' }] }, `${param}.tools.0.type`, 'unsupported_parameter'],
    ];
    for (const [allowed, param, code] of cases) {
      const choice = { type: 'allowed_tools', ...(allowed === undefined ? {} : { allowed_tools: allowed }) };
      assert.deepEqual(rejectionOf({ tools, tool_choice: choice }), [param, code], JSON.stringify(allowed));
    }
  });

  // Proves C9-11.
  it('is rejected by the name of the invalid field', () => {
    const said = (part: object) => ({ messages: [{ role: 'user', content: [part] }] });
    const shown = (image: unknown) => said({ type: 'image_url', image_url: image });
    const schema = (format: object) => ({ response_format: { type: 'json_schema', json_schema: format } });
    const choosing = (choice: unknown) => ({ tools: [TOOL], tool_choice: choice });
    const cases: readonly (readonly [Readonly<Record<string, unknown>>, string | undefined])[] = [
      [{ model: undefined }, 'model'],
      [{ model: 7 }, 'model'],
      [{ messages: undefined }, 'messages'],
      [{ messages: [] }, 'messages'],
      [{ messages: 'hello' }, 'messages'],
      [{ messages: [{ role: 'wizard', content: 'x' }] }, 'messages.0.role'],
      [{ messages: [{ content: 'x' }] }, 'messages.0.role'],
      [{ messages: [{ role: 'user' }] }, 'messages.0.content'],
      [{ messages: [{ role: 'user', content: null }] }, 'messages.0.content'],
      [{ messages: [{ role: 'assistant', content: null }] }, 'messages.0.content'],
      [{ messages: [{ role: 'user', content: 'x', colour: 'red' }] }, 'messages.0.colour'],
      [said({ type: 'text' }), 'messages.0.content.0.text'],
      [said({ text: 'x' }), 'messages.0.content.0.type'],
      [said({ type: 'input_audio', input_audio: {} }), 'messages.0.content.0.type'],
      [said({ type: 'file', file: {} }), 'messages.0.content.0.type'],
      [{ messages: [{ role: 'system', content: [{ type: 'image_url' }] }] }, 'messages.0.content.0.type'],
      [shown('x'), 'messages.0.content.0.image_url.url'],
      [shown({ url: 'ftp://x/y' }), 'messages.0.content.0.image_url.url'],
      [shown({ url: PNG, detail: 'most' }), 'messages.0.content.0.image_url.detail'],
      [{ messages: [{ role: 'user', content: 'x', tool_calls: [] }] }, 'messages.0.tool_calls'],
      [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages.0.tool_call_id'],
      [{ messages: [{ role: 'tool', content: 'x', tool_call_id: 'none' }] }, 'messages.0.tool_call_id'],
      [{ n: 0 }, 'n'],
      [{ n: 1.5 }, 'n'],
      [{ n: 1_000 }, 'n'],
      [{ stop: [] as string[], n: '2' }, 'n'],
      [{ stop: Array.from({ length: 17 }, () => 'x') }, 'stop'],
      [{ temperature: 2.1 }, 'temperature'],
      [{ top_p: -1 }, 'top_p'],
      [{ max_tokens: 0 }, 'max_tokens'],
      [{ max_tokens: 5, max_completion_tokens: 6 }, 'max_tokens'],
      [{ logit_bias: { a: 101 } }, 'logit_bias.a'],
      [{ top_logprobs: 3 }, 'top_logprobs'],
      [{ logprobs: true, top_logprobs: 21 }, 'top_logprobs'],
      [{ response_format: { type: 'xml' } }, 'response_format.type'],
      [{ response_format: { type: 'json_schema' } }, 'response_format.json_schema.name'],
      [schema({ name: 'x' }), 'response_format.json_schema.schema'],
      [schema({ name: 'a b', schema: {} }), 'response_format.json_schema.name'],
      [{ tools: [{ type: 'retrieval' }] }, 'tools.0.type'],
      [{ tools: [{ type: 'function' }] }, 'tools.0.function'],
      [{ tools: [TOOL, TOOL] }, 'tools.1'],
      [{ tools: [{ type: 'function', function: { name: 'no blanks' } }] }, 'tools.0.function.name'],
      [{ tool_choice: 'required' }, 'tool_choice'],
      [choosing('sometimes'), 'tool_choice'],
      [choosing({ type: 'function' }), 'tool_choice'],
      [choosing({ type: 'function', function: { name: 'other' } }), 'tool_choice.function.name'],
      [{ reasoning_effort: 'enormous' }, 'reasoning_effort'],
      [{ reasoning: { depth: 3 } }, 'reasoning.depth'],
      [{ stream: 'yes' }, 'stream'],
      [{ stream_options: { include_usage: 1 } }, 'stream_options.include_usage'],
      [{ store: true }, 'store'],
      [{ service_tier: 'flex' }, 'service_tier'],
      [{ modalities: ['text', 'audio'] }, 'modalities.1'],
      [{ metadata: { a: 1 } }, 'metadata.a'],
    ];
    for (const [changes, param] of cases) assert.equal(rejectionOf(changes)[0], param, JSON.stringify(changes));
  });

  it('ignores what clients send back without a meaning, and empty names, refusals and reasoning', () => {
    const said = { role: 'assistant', content: 'Yes.' };
    const empty = { name: '', refusal: '', reasoning: '', reasoning_details: [{ type: 'reasoning.text', text: 'hm' }] };

    assert.deepEqual(
      decode({ messages: [...HELLO, { ...said, ...empty, reasoning_content: 'hm' }] }).messages,
      decode({ messages: [...HELLO, { ...said, reasoning: 'hm' }] }).messages,
    );
    assert.deepEqual(
      decode({ messages: [{ role: 'user', content: 'hello', name: '', tool_call_id: null, reasoning_details: null }] }),
      decode(),
    );
  });

  it('preserves a conversation with calls, their results, refusals and reasoning', () => {
    const { messages } = decode({
      messages: [
        { role: 'developer', content: 'Be brief.', name: 'boss' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'See?' },
            { type: 'image_url', image_url: { url: PNG, detail: 'low' } },
          ],
        },
        {
          role: 'assistant',
          content: null,
          reasoning_content: 'hm',
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":' } }],
        },
        { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: '12 °C' }] },
        { role: 'assistant', content: 'It is cold.', refusal: 'no more', annotations: [] },
      ],
    });
    assert.deepEqual(messages, [
      { role: 'developer', content: [{ type: 'text', text: 'Be brief.' }], name: 'boss' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'See?' },
          { type: 'image', url: PNG, detail: 'low' },
        ],
      },
      {
        role: 'assistant',
        content: [],
        toolCalls: [{ id: 'call_1', name: 'get_weather', arguments: '{"city":' }],
        reasoning: 'hm',
      },
      { role: 'tool', toolCallId: 'call_1', content: [{ type: 'text', text: '12 °C' }] },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'It is cold.' },
          { type: 'refusal', refusal: 'no more' },
        ],
        toolCalls: [],
      },
    ]);
  });
});

describe('an image in a chat request', () => {
  const imageOf = (url: string) =>
    decode({ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] });

  // Whichever endpoint takes an image, the same texts are images (test/http/image-edits.test.ts).
  it('is a data URL in one spelling, whichever a client chose', () => {
    for (const url of [
      'DATA:IMAGE/PNG;Base64,iVBORw0KGgo',
      'data:;base64,iVBORw0KGgo=',
      'data:application/octet-stream;name="a,b.png";base64,iVBORw0KGgo%3D',
    ]) {
      assert.deepEqual(imageOf(url).messages[0]?.content, [{ type: 'image', url: PNG }], url);
    }
    const [image] = imageOf('data:image/png;base64,-_-_').messages[0]?.content ?? [];
    assert.ok(image?.type === 'image');
    assert.equal(image.url, 'data:image/png;base64,+/+/');
  });

  it('is rejected where it is none, is cut, or is the photograph of a phone', () => {
    const heic = Buffer.from('\0\0\0\x18ftypheic\0\0\0\0', 'latin1').toString('base64');
    for (const url of [
      'data:image/png;base64,',
      'data:image/png;base64,iVBORw0KG',
      'data:image/png;base64,ŁŁŁŁ',
      'data:application/octet-stream;base64,AAEC',
      'data:image/png;name=a,b.png;base64,iVBORw0KGgo=',
      'data:image/heic;base64,AAEC',
      `data:;base64,${heic}`,
    ]) {
      assert.throws(() => imageOf(url), InvalidTextRequest, url);
    }
  });
});
