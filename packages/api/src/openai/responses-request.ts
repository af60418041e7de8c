/**
 * The body of `POST /responses` (spec §4.4, contract §9): OpenAI's public API, what Open Responses has in addition,
 * and `reasoning.enabled`. Only its outer form; what depends on other fields is validated in decode-request.ts.
 * Wherever OpenAI's API accepts null for "not given", null is accepted.
 */
import { Type } from 'typebox';
import { boolean, enumOf, integer, nullable, number, string } from './optional-parts.ts';
import { OUTPUT_FORMATS, REASONING_EFFORTS } from '../facts/text-options.ts';
import { InputSchema, when } from './responses-input.ts';

/** Part of OpenAI's API, and rejected by name if it is given (decode-request.ts). */
const unsupported = (description: string) => Type.Optional(Type.Unsafe<unknown>({ description }));

const SUMMARIES = ['auto', 'concise', 'detailed'];

/** A function has these members and no others; a tool of another type is rejected by its type. */
const ToolSchema = Type.Unsafe<WireTool>({
  type: 'object',
  required: ['type'],
  properties: { type: { type: 'string', maxLength: 256 } },
  ...when(
    { type: 'object', properties: { type: { const: 'function' } } },
    {
      type: 'object',
      required: ['name'],
      properties: {
        type: { type: 'string' },
        name: { type: 'string', pattern: '^[A-Za-z0-9_.-]{1,64}$' },
        description: { type: ['string', 'null'], maxLength: 100_000 },
        parameters: { type: ['object', 'null'], description: 'A JSON Schema of its arguments.' },
        strict: { type: ['boolean', 'null'], description: 'The arguments follow the schema exactly.' },
      },
      additionalProperties: false,
    },
  ),
});

/** A tool as a request describes it. */
export interface WireTool {
  readonly type: string;
  readonly name: string;
  readonly description?: string | null;
  readonly parameters?: Readonly<Record<string, unknown>> | null;
  readonly strict?: boolean | null;
}

/** The member `reasoning`. */
export interface WireReasoning {
  readonly effort?: (typeof REASONING_EFFORTS)[number] | null;
  readonly summary?: string | null;
  readonly generate_summary?: string | null;
  readonly enabled?: boolean | null;
}

const ReasoningSchema = Type.Object(
  {
    effort: enumOf(REASONING_EFFORTS, 'How much reasoning precedes the answer.'),
    summary: enumOf(SUMMARIES, 'Returns the reasoning as a summary.'),
    generate_summary: enumOf(SUMMARIES, 'The older name of `summary`.'),
    enabled: boolean('False turns reasoning off; it may not contradict `effort`.'),
  },
  { additionalProperties: false },
);

const TextSchema = Type.Object(
  {
    format: Type.Optional(
      Type.Unsafe<(Readonly<Record<string, unknown>> & { readonly type: string }) | null>({
        type: ['object', 'null'],
        required: ['type'],
        properties: { type: { type: 'string', enum: [...OUTPUT_FORMATS] } },
        description: 'The format of the answer; a `json_schema` has its `name` and its `schema` beside the type.',
      }),
    ),
    verbosity: enumOf(['low', 'medium', 'high'], 'The length of the answer.'),
  },
  { additionalProperties: false },
);

export const ResponsesRequestSchema = Type.Object(
  {
    model: Type.String({ minLength: 1, maxLength: 300, description: 'The name as listed by `GET /v1/models`.' }),
    input: Type.Optional(InputSchema),
    instructions: string(10_485_760, 'The first system message; not carried over to the next response.'),
    previous_response_id: string(256, 'The response that this one continues; it has to be stored.'),
    store: boolean('False: the response is not stored. Stored responses are retained for 30 days.'),
    stream: boolean('Server-sent events, the last one `data: [DONE]`.'),
    stream_options: Type.Optional(
      nullable<{ include_obfuscation?: false | null }>(
        Type.Object(
          { include_obfuscation: Type.Optional(Type.Unsafe<false | null>({ enum: [false, null] })) },
          { additionalProperties: false },
        ),
      ),
    ),
    tools: Type.Optional(
      nullable<WireTool[]>(Type.Array(ToolSchema, { maxItems: 512, description: 'Functions the model may call.' })),
    ),
    tool_choice: Type.Optional(
      Type.Unsafe<string | Readonly<Record<string, unknown>> | null>({
        type: ['string', 'object', 'null'],
        description: '`auto`, `none`, `required`, one function by its name, or `allowed_tools`.',
      }),
    ),
    parallel_tool_calls: boolean('Whether several calls may come at once.'),
    max_tool_calls: integer(1, 1_000_000, 'Caps the calls of built-in tools, of which there are none.'),
    max_output_tokens: integer(1, 100_000_000, 'Caps reasoning and answer together.'),
    text: Type.Optional(nullable<Record<string, unknown>>(TextSchema)),
    reasoning: Type.Optional(nullable<WireReasoning>(ReasoningSchema)),
    temperature: number(0, 2, 'Sampling temperature.'),
    top_p: number(0, 1, 'Only the most likely tokens with this total probability are sampled.'),
    frequency_penalty: number(-2, 2, 'Penalizes tokens by how often they occurred (Open Responses).'),
    presence_penalty: number(-2, 2, 'Penalizes tokens that occurred (Open Responses).'),
    top_logprobs: integer(0, 20, 'The log probability of each token, and of that many alternatives.'),
    include: Type.Optional(
      nullable<string[]>(
        Type.Array(Type.String({ maxLength: 256 }), {
          maxItems: 100,
          description:
            '`message.output_text.logprobs`, `reasoning.encrypted_content`, `message.input_image.image_url`.',
        }),
      ),
    ),
    truncation: enumOf(
      ['auto', 'disabled'],
      '`auto`: the oldest turns are left out if the context is too small for all.',
    ),
    metadata: Type.Optional(
      nullable<Record<string, string>>(
        Type.Unsafe({
          type: 'object',
          maxProperties: 16,
          propertyNames: { type: 'string', minLength: 1, maxLength: 64 },
          additionalProperties: { type: 'string', maxLength: 512 },
          description: 'Your own metadata.',
        }),
      ),
    ),
    user: string(512, 'Your identifier of the end user.'),
    safety_identifier: string(512, 'Your identifier of the end user.'),
    prompt_cache_key: string(512, 'Requests with one key are likely to share a cache.'),
    prompt_cache_retention: enumOf(['in-memory', 'in_memory', '24h'], 'Passed to the upstream.'),
    service_tier: enumOf(['auto', 'default'], 'Only the default tier.'),
    background: unsupported('Not supported: a response is created while its request waits.'),
    conversation: unsupported('Not supported: use `previous_response_id`.'),
    prompt: unsupported('Not supported: send the whole prompt.'),
    context_management: unsupported('Not supported.'),
    moderation: unsupported('Not supported.'),
    prompt_cache_options: unsupported('Not supported.'),
  },
  { additionalProperties: true },
);
