/** What counts as not given in a body in OpenAI's form: null, and an empty string where emptiness cannot be meant. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TSchema } from 'typebox';
import { CreateBatchSchema } from '@darkroom/api/openai/batches';
import { ChatRequestSchema } from '@darkroom/api/openai/chat-request';
import { ImageEditRequestSchema, ImageGenerationRequestSchema } from '@darkroom/api/openai/images';
import { ResponsesRequestSchema } from '@darkroom/api/openai/responses-request';
import { SpeechRequestSchema } from '@darkroom/api/openai/speech';
import { CompleteUploadSchema, CreateUploadSchema } from '@darkroom/api/openai/uploads';
import { VideoRequestSchema } from '@darkroom/api/openai/videos';
import { compileOpenAiParse } from '../../src/schema/openai-parse.ts';

type Json = Readonly<Record<string, unknown>>;

const compiled = new Map<TSchema, ReturnType<typeof compileOpenAiParse>>();

/** Compiling takes much longer than parsing. */
function parserOf(schema: TSchema): ReturnType<typeof compileOpenAiParse> {
  const parse = compiled.get(schema) ?? compileOpenAiParse(schema);
  compiled.set(schema, parse);
  return parse;
}

function parsed(schema: TSchema, body: Json): unknown {
  const result = parserOf(schema)(body);
  return result.violation === undefined ? result.value : assert.fail(result.violation.message);
}

const CALL = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '' } };
const ASKED = { role: 'user', content: 'Hi.' };

describe('what was said', () => {
  const conversations: readonly (readonly [title: string, messages: readonly Json[]])[] = [
    ['by the system', [{ role: 'system', content: '' }, ASKED]],
    ['by the developer', [{ role: 'developer', content: '' }, ASKED]],
    ['by the user', [{ role: 'user', content: '' }]],
    ['by the user, under an empty name', [{ ...ASKED, name: '' }]],
    ['by the user in parts', [{ role: 'user', content: [{ type: 'text', text: '' }] }]],
    ['by the assistant', [ASKED, { role: 'assistant', content: '', refusal: '', reasoning_content: '' }, ASKED]],
    [
      'by the assistant beside tool calls, and by a tool',
      [
        ASKED,
        { role: 'assistant', content: '', tool_calls: [CALL] },
        { role: 'tool', tool_call_id: 'call_1', content: '' },
      ],
    ],
    ['by the assistant as null', [ASKED, { role: 'assistant', content: null, tool_calls: [CALL] }]],
  ];
  for (const [title, messages] of conversations) {
    it(`is taken as it is where it is empty: ${title}`, () => {
      const body = { model: 'acme/text', messages };

      assert.deepEqual(parsed(ChatRequestSchema, body), body);
    });
  }

  it('is taken as it is in the input of a response', () => {
    const items = [
      { role: 'user', content: '' },
      { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '' },
      { type: 'function_call_output', call_id: 'call_1', output: '' },
      { role: 'assistant', content: [{ type: 'output_text', text: '' }] },
    ];
    for (const input of ['', items]) {
      const body = { model: 'acme/text', input };

      assert.deepEqual(parsed(ResponsesRequestSchema, body), body);
    }
  });

  it('includes the values of metadata and the descriptions of functions', () => {
    const tools = [{ type: 'function', function: { name: 'look', description: '' } }];
    const body = { model: 'acme/text', messages: [ASKED], metadata: { a: '' }, tools };

    assert.deepEqual(parsed(ChatRequestSchema, body), body);
  });
});

describe('an empty string', () => {
  it('is as if not given for every parameter that may be left out', () => {
    const chat = { model: 'acme/text', messages: [ASKED] };
    const image = { model: 'acme/image', prompt: 'a fox' };
    const response = { model: 'acme/text', input: 'Hi.' };

    assert.deepEqual(parsed(ChatRequestSchema, { ...chat, stop: '', user: '', n: '', metadata: '', tools: '' }), chat);
    assert.deepEqual(parsed(ImageGenerationRequestSchema, { ...image, size: '', n: '', style: '' }), image);
    assert.deepEqual(parsed(ResponsesRequestSchema, { ...response, instructions: '', prompt: '' }), response);
  });

  it('is as if not given further inside where the schema forbids it', () => {
    const body = { model: 'acme/text', input: 'Hi.', reasoning: { effort: '', summary: '' } };

    assert.deepEqual(parsed(ResponsesRequestSchema, body), { ...body, reasoning: {} });
  });
});

describe('null', () => {
  const url = 'https://example.com/a.png';
  const edit = { model: 'acme/edit', prompt: 'a fox' };
  const video = { model: 'acme/video', prompt: 'a fox' };
  const speech = { model: 'acme/speech', input: 'Hi.' };
  const file = { filename: 'a.png', purpose: 'vision', bytes: 1, mime_type: 'image/png' };
  const batch = { input_file_id: 'file-1', endpoint: '/v1/responses', completion_window: '24h' };
  const part = 'part_01JZZZZZZZZZZZZZZZZZZZZZZZ';
  const cases: readonly (readonly [title: string, schema: TSchema, sent: Json, taken: Json])[] = [
    [
      'the id and the index of a tool call',
      ChatRequestSchema,
      {
        model: 'acme/text',
        messages: [
          { ...ASKED, tool_call_id: null },
          { role: 'assistant', content: null, tool_calls: [{ ...CALL, index: null }], tool_call_id: null },
        ],
      },
      { model: 'acme/text', messages: [ASKED, { role: 'assistant', content: null, tool_calls: [CALL] }] },
    ],
    [
      'the function of a tool',
      ChatRequestSchema,
      { model: 'acme/text', messages: [ASKED], tools: [{ type: 'web_search', function: null }] },
      { model: 'acme/text', messages: [ASKED], tools: [{ type: 'web_search' }] },
    ],
    [
      'the other form of an image',
      ImageEditRequestSchema,
      {
        ...edit,
        images: [
          { image_url: url, file_id: null },
          { image_url: null, file_id: 'file-1' },
        ],
        mask: { image_url: url, file_id: null },
      },
      { ...edit, images: [{ image_url: url }, { file_id: 'file-1' }], mask: { image_url: url } },
    ],
    [
      'the other form of the image of a video',
      VideoRequestSchema,
      { ...video, input_reference: { image_url: url, file_id: null } },
      { ...video, input_reference: { image_url: url } },
    ],
    [
      'the other form of a voice',
      SpeechRequestSchema,
      { ...speech, voice: { id: 'alloy', name: null } },
      { ...speech, voice: { id: 'alloy' } },
    ],
    ['the expiry of an upload', CreateUploadSchema, { ...file, expires_after: null }, file],
    ['the checksum of an upload', CompleteUploadSchema, { part_ids: [part], md5: null }, { part_ids: [part] }],
    ['the expiry of the results of a batch', CreateBatchSchema, { ...batch, output_expires_after: null }, batch],
  ];
  for (const [title, schema, sent, taken] of cases) {
    it(`is as if not given: ${title}`, () => {
      assert.deepEqual(parsed(schema, sent), taken);
    });
  }

  it('leaves what is required required', () => {
    const parse = parserOf(ChatRequestSchema);

    assert.equal(parse({ model: null, messages: [ASKED] }).violation?.field, 'model');
    assert.equal(
      parse({ model: 'acme/text', messages: [{ role: null, content: '' }] }).violation?.field,
      'messages.0.role',
    );
  });

  /** Every optional member, wherever it is in the schema. */
  function* optionalMembers(schema: unknown, path: readonly string[]): Generator<readonly string[]> {
    const {
      properties = {},
      required = [],
      items,
    } = (schema ?? {}) as {
      properties?: Json;
      required?: readonly string[];
      items?: unknown;
    };
    if (items !== undefined) yield* optionalMembers(items, [...path, '0']);
    for (const [name, property] of Object.entries(properties)) {
      if (!required.includes(name)) yield [...path, name];
      yield* optionalMembers(property, [...path, name]);
    }
  }

  /** A value that is null at a path, and has nothing else. */
  function nullAt([name, ...rest]: readonly string[]): unknown {
    if (name === undefined) return null;
    return name === '0' ? [nullAt(rest)] : { [name]: nullAt(rest) };
  }

  it('is a value of the wrong type of no optional member', () => {
    const schemas = {
      ChatRequestSchema,
      CompleteUploadSchema,
      CreateBatchSchema,
      CreateUploadSchema,
      ImageEditRequestSchema,
      ImageGenerationRequestSchema,
      ResponsesRequestSchema,
      SpeechRequestSchema,
      VideoRequestSchema,
    };
    for (const [name, schema] of Object.entries(schemas)) {
      const parse = parserOf(schema);
      for (const path of optionalMembers(schema, [])) {
        const { violation } = parse(nullAt(path));

        assert.notEqual(violation?.field, path.join('.'), `${name}: ${violation?.message}`);
      }
    }
  });
});
