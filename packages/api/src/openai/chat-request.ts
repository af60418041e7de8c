/**
 * The body of `POST /chat/completions` (spec §4.4, contract §9): OpenAI's public API, and `reasoning` in addition.
 * Only its outer form; what depends on other fields is validated in decode-request.ts. Wherever OpenAI's API accepts
 * null for "not given", null is accepted.
 */
import { Type } from 'typebox';
import {
  boolean,
  enumOf,
  integer,
  nullable,
  number,
  promptCacheRetention,
  reasoningEffort,
  string,
} from './optional-parts.ts';
import { OUTPUT_FORMATS } from '../facts/text-options.ts';

const FunctionName = Type.String({
  pattern: '^[A-Za-z0-9_.-]{1,64}$',
  description: 'Letters, digits, `_`, `.` and `-`, 64 at most.',
});

/** Its content apart from its type is validated where the type is known. */
const FormatSchema = Type.Unsafe<Readonly<Record<string, unknown>> & { readonly type: string }>({
  type: 'object',
  properties: { type: { type: 'string', enum: [...OUTPUT_FORMATS] } },
  required: ['type'],
  description: 'The format of the response. For `json_schema`, `name` and `schema` are in the member `json_schema`.',
});

const Content = (description: string) =>
  Type.Unsafe<unknown>({
    type: ['string', 'array', 'null'],
    items: { type: 'object', properties: { type: { type: 'string' } }, required: ['type'] },
    description,
  });

/** OpenAI's own client sends back its parsed form of an answer, and those of OpenRouter the details of its reasoning. */
const PARSED = { description: 'A field that clients add. It is ignored.' };

const ToolCallSchema = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: 256 }),
    type: Type.Literal('function'),
    function: Type.Object(
      {
        name: Type.String({ minLength: 1, maxLength: 256 }),
        arguments: Type.String(),
        parsed_arguments: Type.Optional(Type.Unknown(PARSED)),
      },
      { additionalProperties: false },
    ),
    index: Type.Optional(Type.Integer({ minimum: 0 })),
  },
  { additionalProperties: false },
);

const MessageSchema = Type.Object(
  {
    role: Type.Unsafe<string>({ type: 'string', enum: ['developer', 'system', 'user', 'assistant', 'tool'] }),
    content: Type.Optional(
      Content(
        'A string, or parts of type `text`. Messages of a user can also have parts of type `image_url`, with `url` or `file_id`, or `input_image`.',
      ),
    ),
    name: string(256, 'The name of the author.'),
    tool_calls: Type.Optional(
      nullable<unknown[]>(
        Type.Array(ToolCallSchema, { maxItems: 512, description: 'The tool calls of the assistant.' }),
      ),
    ),
    tool_call_id: Type.Optional(
      Type.String({ minLength: 1, maxLength: 256, description: 'The id of the tool call that this result is for.' }),
    ),
    refusal: string(1_000_000, 'The refusal of the assistant.'),
    reasoning: string(
      10_000_000,
      'The reasoning of the assistant, as returned earlier. `reasoning_content` is also accepted.',
    ),
    reasoning_content: string(10_000_000, 'The same as `reasoning`, under the name that many servers use.'),
    reasoning_details: Type.Optional(Type.Unknown(PARSED)),
    parsed: Type.Optional(Type.Unknown(PARSED)),
    annotations: Type.Optional(Type.Unsafe<unknown>({ type: ['array', 'null'] })),
    audio: Type.Optional(Type.Unsafe<null>({ type: 'null' })),
    function_call: Type.Optional(Type.Unsafe<null>({ type: 'null' })),
  },
  { additionalProperties: false },
);

const ToolSchema = Type.Object(
  {
    type: Type.String(),
    function: Type.Optional(
      Type.Object(
        {
          name: FunctionName,
          description: string(100_000, 'What the function does and when to call it.'),
          parameters: Type.Optional(
            nullable<Record<string, unknown>>(
              Type.Unsafe({ type: 'object', description: 'The JSON Schema of the arguments.' }),
            ),
          ),
          strict: boolean('Whether the arguments must follow the schema exactly.'),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
);

export const ChatRequestSchema = Type.Object(
  {
    model: Type.String({
      minLength: 1,
      maxLength: 300,
      description: 'The model name, as returned by `GET /v1/models`.',
    }),
    messages: Type.Array(MessageSchema, {
      minItems: 1,
      maxItems: 10_000,
      description: 'The messages of the conversation so far.',
    }),
    stream: boolean('Whether to stream the response as server-sent events. The last one is `data: [DONE]`.'),
    stream_options: Type.Optional(
      nullable<{ include_usage?: boolean | null }>(
        Type.Object(
          {
            include_usage: boolean('Whether a last chunk contains the usage.'),
            include_obfuscation: Type.Optional(Type.Unsafe<false | null>({ enum: [false, null] })),
          },
          { additionalProperties: false },
        ),
      ),
    ),
    max_completion_tokens: integer(1, 100_000_000, 'The maximum number of tokens to generate, including reasoning.'),
    max_tokens: integer(1, 100_000_000, 'The older name of `max_completion_tokens`.'),
    n: integer(1, 128, 'The number of choices to generate. Each is charged.'),
    stop: Type.Optional(
      Type.Unsafe<string | readonly string[] | null>({
        type: ['string', 'array', 'null'],
        minLength: 1,
        items: { type: 'string', minLength: 1 },
        maxItems: 16,
        description: 'Sequences that end the response. They are not part of it.',
      }),
    ),
    temperature: number(0, 2, 'The sampling temperature.'),
    top_p: number(0, 1, 'Samples only from the most likely tokens with this total probability.'),
    frequency_penalty: number(-2, 2, 'Penalizes tokens by how often they have occurred.'),
    presence_penalty: number(-2, 2, 'Penalizes tokens that have occurred.'),
    logit_bias: Type.Optional(
      nullable<Record<string, number>>(
        Type.Unsafe({
          type: 'object',
          maxProperties: 1_024,
          additionalProperties: { type: 'number', minimum: -100, maximum: 100 },
        }),
      ),
    ),
    seed: integer(
      Number.MIN_SAFE_INTEGER,
      Number.MAX_SAFE_INTEGER,
      'Requests with the same seed and parameters return the same response, as far as the model supports it.',
    ),
    logprobs: boolean('Whether to return the log probability of each token.'),
    top_logprobs: integer(0, 20, 'The number of alternatives to return for each token. Requires `logprobs`.'),
    response_format: Type.Optional(nullable<Record<string, unknown>>(FormatSchema)),
    tools: Type.Optional(
      nullable<unknown[]>(
        Type.Array(ToolSchema, { maxItems: 512, description: 'The functions that the model may call.' }),
      ),
    ),
    tool_choice: Type.Optional(
      Type.Unsafe<unknown>({
        type: ['string', 'object', 'null'],
        description:
          'Which function the model calls: `auto`, `none`, `required`, one function by its name, or `allowed_tools`.',
      }),
    ),
    parallel_tool_calls: boolean('Whether the model may call several functions at once.'),
    reasoning_effort: reasoningEffort,
    reasoning: Type.Optional(
      nullable<{ enabled?: boolean | null; effort?: string | null }>(
        Type.Object(
          {
            enabled: boolean('Whether the model reasons. False turns reasoning off.'),
            effort: reasoningEffort,
          },
          {
            additionalProperties: false,
            description: 'The same setting as `reasoning_effort`. The two must not contradict each other.',
          },
        ),
      ),
    ),
    verbosity: enumOf(['low', 'medium', 'high'], 'The length of the response.'),
    user: string(512, 'Your identifier for the end user.'),
    safety_identifier: string(512, 'Your identifier for the end user.'),
    prompt_cache_key: string(512, 'Requests with the same key are likely to share a cache.'),
    prompt_cache_retention: promptCacheRetention,
    metadata: Type.Optional(
      nullable<Record<string, string>>(
        Type.Unsafe({
          type: 'object',
          maxProperties: 16,
          propertyNames: { type: 'string', minLength: 1, maxLength: 64 },
          additionalProperties: { type: 'string', maxLength: 512 },
          description: 'Your own key-value pairs.',
        }),
      ),
    ),
    modalities: Type.Optional(
      Type.Unsafe<readonly 'text'[] | null>({ type: ['array', 'null'], items: { enum: ['text'] }, minItems: 1 }),
    ),
    service_tier: enumOf(['auto', 'default'], 'The service tier. Only the default tier is available.'),
    store: Type.Optional(
      Type.Unsafe<false | null>({
        enum: [false, null],
        description: 'Must be false: chat completions are not stored.',
      }),
    ),
  },
  { additionalProperties: true },
);
