/**
 * The body of `POST /responses` (spec §4.4, contract §9): OpenAI's public API, what Open Responses has in addition,
 * and `reasoning.enabled`. Only its outer form; what depends on other fields is validated in decode-request.ts.
 * Wherever OpenAI's API accepts null for "not given", null is accepted.
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
import type { REASONING_EFFORTS } from '../facts/text-options.ts';
import { IMAGE_TOOL_FORM } from './image-generation-tool.ts';
import type { WireImageTool } from './image-generation-tool.ts';
import { InputSchema, when } from './responses-input.ts';

/** Part of OpenAI's API, and rejected by name if it is given (decode-request.ts). */
const unsupported = (description: string) => Type.Optional(Type.Unsafe<unknown>({ description }));

const SUMMARIES = ['auto', 'concise', 'detailed'];

const FUNCTION_FORM = {
  type: 'object',
  required: ['name'],
  properties: {
    type: { type: 'string' },
    name: {
      type: 'string',
      pattern: '^[A-Za-z0-9_.-]{1,64}$',
      description: 'Letters, digits, `_`, `.` and `-`, 64 at most.',
    },
    description: { type: ['string', 'null'], maxLength: 100_000 },
    parameters: { type: ['object', 'null'], description: 'The JSON Schema of the arguments.' },
    strict: { type: ['boolean', 'null'], description: 'Whether the arguments must follow the schema exactly.' },
  },
  additionalProperties: false,
};

/** A tool has the members of its type and no others; a tool of another type is rejected by its type. */
const ToolSchema = Type.Unsafe<WireTool>({
  type: 'object',
  required: ['type'],
  properties: { type: { type: 'string', maxLength: 256 } },
  allOf: [
    when({ type: 'object', properties: { type: { const: 'function' } } }, FUNCTION_FORM),
    when({ type: 'object', properties: { type: { const: 'image_generation' } } }, IMAGE_TOOL_FORM),
  ],
});

/** A tool as a request describes it. */
export type WireTool = WireFunction | WireImageTool;

/** Tools of types that do not exist here have this form too, until they are rejected. */
export interface WireFunction {
  readonly type: 'function';
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
    effort: reasoningEffort,
    summary: enumOf(SUMMARIES, 'Whether to return a summary of the reasoning, and how detailed it is.'),
    generate_summary: enumOf(SUMMARIES, 'The older name of `summary`.'),
    enabled: boolean('Whether the model reasons. False turns reasoning off. Must not contradict `effort`.'),
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
        description: 'The format of the response. For `json_schema`, `name` and `schema` are alongside `type`.',
      }),
    ),
    verbosity: enumOf(['low', 'medium', 'high'], 'The length of the response.'),
  },
  { additionalProperties: false },
);

export const ResponsesRequestSchema = Type.Object(
  {
    model: Type.String({
      minLength: 1,
      maxLength: 300,
      description: 'The model name, as returned by `GET /v1/models`.',
    }),
    input: Type.Optional(InputSchema),
    instructions: string(10_485_760, 'The first system message. It is not carried over to the next response.'),
    previous_response_id: string(256, 'The id of the response that this one continues. That response must be stored.'),
    store: boolean('Whether to store the response. Stored responses are retained for 30 days.'),
    stream: boolean('Whether to stream the response as server-sent events. The last one is `data: [DONE]`.'),
    stream_options: Type.Optional(
      nullable<{ include_obfuscation?: false | null }>(
        Type.Object(
          { include_obfuscation: Type.Optional(Type.Unsafe<false | null>({ enum: [false, null] })) },
          { additionalProperties: false },
        ),
      ),
    ),
    tools: Type.Optional(
      nullable<WireTool[]>(
        Type.Array(ToolSchema, {
          maxItems: 512,
          description: 'The functions that the model may call, and the built-in tool `image_generation`.',
        }),
      ),
    ),
    tool_choice: Type.Optional(
      Type.Unsafe<string | Readonly<Record<string, unknown>> | null>({
        type: ['string', 'object', 'null'],
        description:
          'Which tool the model calls: `auto`, `none`, `required`, one function by its name, `image_generation`, or `allowed_tools`.',
      }),
    ),
    parallel_tool_calls: boolean('Whether the model may call several functions at once.'),
    max_tool_calls: integer(
      1,
      1_000_000,
      'The maximum number of images that `image_generation` generates for this response; at most 4.',
    ),
    max_output_tokens: integer(1, 100_000_000, 'The maximum number of tokens to generate, including reasoning.'),
    text: Type.Optional(nullable<Record<string, unknown>>(TextSchema)),
    reasoning: Type.Optional(nullable<WireReasoning>(ReasoningSchema)),
    temperature: number(0, 2, 'The sampling temperature.'),
    top_p: number(0, 1, 'Samples only from the most likely tokens with this total probability.'),
    frequency_penalty: number(-2, 2, 'Penalizes tokens by how often they have occurred (Open Responses).'),
    presence_penalty: number(-2, 2, 'Penalizes tokens that have occurred (Open Responses).'),
    top_logprobs: integer(0, 20, 'Returns the log probability of each token and of this number of alternatives.'),
    include: Type.Optional(
      nullable<string[]>(
        Type.Array(Type.String({ maxLength: 256 }), {
          maxItems: 100,
          description:
            'Optional parts of the response: `message.output_text.logprobs`, `reasoning.encrypted_content`, `message.input_image.image_url`.',
        }),
      ),
    ),
    truncation: enumOf(
      ['auto', 'disabled'],
      '`auto`: the oldest turns are dropped if the conversation does not fit the context. `disabled`: such a request is rejected.',
    ),
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
    user: string(512, 'Your identifier for the end user.'),
    safety_identifier: string(512, 'Your identifier for the end user.'),
    prompt_cache_key: string(512, 'Requests with the same key are likely to share a cache.'),
    prompt_cache_retention: promptCacheRetention,
    service_tier: enumOf(['auto', 'default'], 'The service tier. Only the default tier is available.'),
    background: Type.Optional(
      nullable<boolean>(
        Type.Unsafe({
          type: 'boolean',
          description:
            'Whether to return the response at once, with `status: "queued"`, and create it in the background. Needs `store`.',
        }),
      ),
    ),
    conversation: unsupported('Not supported: use `previous_response_id`.'),
    prompt: unsupported('Not supported: send the complete prompt.'),
    context_management: unsupported('Not supported.'),
    moderation: unsupported('Not supported.'),
    prompt_cache_options: unsupported('Not supported.'),
  },
  { additionalProperties: true },
);
