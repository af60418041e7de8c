/**
 * The form of a text model's file (contract §8, §9): one JSON document in the directory of the media models' files,
 * distinguished by `"modality": "text"`. Nothing of a text call outlives the call, so a definition is read where the
 * call starts and is not pinned.
 */
import { TEXT_FEATURES } from '@darkroom/api/facts/text-features';
import type { TextFeature } from '@darkroom/api/facts/text-features';
import { TextPricingSchema } from '@darkroom/api/tasks/text-pricing';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { EditorSchema, PROVIDER_NAME } from './definition.ts';
import type { ModelDefinition } from './definition.ts';
import { isZeroFactor } from './price-proof.ts';

/** The interfaces of protocol `openai` that an upstream has; each has the first. */
export const TEXT_APIS = ['chat.completions', 'responses'] as const;
export type TextApi = (typeof TEXT_APIS)[number];
const Seconds = Type.Integer({ minimum: 1, maximum: 86_400 });
const Tokens = Type.Integer({ minimum: 1, maximum: 100_000_000 });
const UnixSeconds = Type.Integer({ minimum: 0, maximum: 253_402_300_799 });
const Name = Type.String({ minLength: 1, maxLength: 200, pattern: '^[A-Za-z0-9][A-Za-z0-9._:/-]*$' });

/** The names of the parameter of an upstream's chat completions that limits reasoning and output together. */
export const CAP_PARAMETERS = ['max_tokens', 'max_completion_tokens'] as const;
/** The parameters in which an upstream's chat completions accept the reasoning effort. */
export const REASONING_PARAMETERS = ['reasoning_effort', 'reasoning', 'enable_thinking'] as const;

/**
 * An upstream of a text model. `parameters` are always sent, whatever the request says about them; one that is null
 * is never sent. `capParameter` is `max_tokens` by default, which nearly all servers know; OpenAI's own reasoning
 * models take only `max_completion_tokens`. `reasoningParameter` is `reasoning_effort` by default; `reasoning` is
 * OpenRouter's object, and `enable_thinking` the switch in `chat_template_kwargs` of vLLM, SGLang and llama.cpp.
 */
export const TextUpstreamSchema = Type.Object(
  {
    id: Type.Optional(Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,63}$' })),
    provider: Type.Optional(Type.String({ pattern: PROVIDER_NAME })),
    protocol: Type.Unsafe<'openai' | 'embedded'>({ type: 'string', enum: ['openai', 'embedded'] }),
    baseUrl: Type.Optional(Type.String({ minLength: 1, maxLength: 2048, pattern: '^https?://' })),
    secret: Type.Optional(Type.String({ minLength: 1, maxLength: 64, pattern: '^[a-z0-9_]+$' })),
    model: Type.String({ minLength: 1, maxLength: 300 }),
    apis: Type.Optional(
      Type.Array(Type.Unsafe<TextApi>({ type: 'string', enum: [...TEXT_APIS] }), {
        minItems: 1,
        uniqueItems: true,
        description: 'Of text models: the interfaces of OpenAI that it has. Default: `chat.completions`.',
      }),
    ),
    parameters: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    capParameter: Type.Optional(
      Type.Unsafe<(typeof CAP_PARAMETERS)[number]>({
        type: 'string',
        enum: [...CAP_PARAMETERS],
        description: 'Of text models: the parameter that limits the output. Default: `max_tokens`.',
      }),
    ),
    reasoningParameter: Type.Optional(
      Type.Unsafe<(typeof REASONING_PARAMETERS)[number]>({
        type: 'string',
        enum: [...REASONING_PARAMETERS],
        description: 'Of text models: the parameter with the reasoning effort. Default: `reasoning_effort`.',
      }),
    ),
  },
  { additionalProperties: false },
);

const Margin = Type.Integer({ minimum: 0, maximum: 1_000_000 });

/**
 * How the hold bounds the input. Without it: one token for each byte of UTF-8, and margins for any chat template
 * (text/money/input-bound.ts). `tokenizer` is the one that every upstream of the model uses; `tokensPerByte` the most
 * tokens that a byte of any text can come to.
 */
const InputTokensSchema = Type.Object(
  {
    tokenizer: Type.Optional(Type.Unsafe<'o200k_base'>({ type: 'string', enum: ['o200k_base'] })),
    tokensPerByte: Type.Optional(Type.Number({ minimum: 0.01, maximum: 1 })),
    perRequest: Type.Optional(Margin),
    perMessage: Type.Optional(Margin),
    perTool: Type.Optional(Margin),
    perImage: Type.Optional(Margin),
  },
  { additionalProperties: false },
);

/**
 * The whole file. `maxOutputTokens` bounds reasoning and answer together, and is what is held if a request names no
 * cap of its own. `imageModel` is the model with which the built-in tool `image_generation` generates, unless a request
 * names another. `extraParameters` are names beyond OpenAI's, such as `top_k`, that the upstreams take as they are.
 * From `deprecatedAt` on, clients should not start to use a model; from `retiresAt` on, it accepts no requests;
 * `replacement` is the model to use instead.
 */
export const TextModelDefinitionSchema = Type.Object(
  {
    $schema: Type.Optional(EditorSchema),
    name: Name,
    modality: Type.Literal('text'),
    ownedBy: Type.String({ minLength: 1, maxLength: 100 }),
    created: Type.Integer({ minimum: 0 }),
    description: Type.String({ minLength: 1, maxLength: 4000 }),
    upstreams: Type.Array(TextUpstreamSchema, { minItems: 1, maxItems: 8 }),
    contextTokens: Tokens,
    maxOutputTokens: Tokens,
    extraParameters: Type.Optional(
      Type.Array(Type.String({ pattern: '^[a-z][a-z0-9_]{0,63}$' }), { maxItems: 50, uniqueItems: true }),
    ),
    features: Type.Array(Type.Unsafe<TextFeature>({ type: 'string', enum: [...TEXT_FEATURES] }), { uniqueItems: true }),
    pricing: TextPricingSchema,
    inputTokens: Type.Optional(InputTokensSchema),
    imageModel: Type.Optional(Name),
    limits: Type.Optional(
      Type.Object(
        {
          firstByteSeconds: Type.Optional(Seconds),
          idleSeconds: Type.Optional(Seconds),
          totalSeconds: Type.Optional(Seconds),
        },
        { additionalProperties: false },
      ),
    ),
    deprecatedAt: Type.Optional(UnixSeconds),
    retiresAt: Type.Optional(UnixSeconds),
    replacement: Type.Optional(Name),
  },
  { additionalProperties: false },
);

export type TextModelDefinition = Static<typeof TextModelDefinitionSchema>;
export type TextUpstream = TextModelDefinition['upstreams'][number];
export type TextPricing = TextModelDefinition['pricing'];

/** What a model file describes. */
export type CatalogueModel = ModelDefinition | TextModelDefinition;

/** Whether a model takes text calls. */
export function isTextModel(definition: CatalogueModel): definition is TextModelDefinition {
  return definition.modality === 'text';
}

/** Whether a model takes tasks. */
export function isMediaModel(definition: CatalogueModel): definition is ModelDefinition {
  return definition.modality !== 'text';
}

/** How long a call may take, in whole seconds. */
export interface TextLimits {
  /** Until an upstream starts to respond: a cold model is loaded first. */
  readonly firstByteSeconds: number;
  /** The longest time between two pieces of a response, in seconds. */
  readonly idleSeconds: number;
  readonly totalSeconds: number;
}

/** The model's limits: its own, or else a default for each. Ours: spec §8 does not show the timeouts. */
export function textLimitsOf({ limits }: TextModelDefinition): TextLimits {
  return {
    firstByteSeconds: limits?.firstByteSeconds ?? 120,
    idleSeconds: limits?.idleSeconds ?? 60,
    totalSeconds: limits?.totalSeconds ?? 900,
  };
}

/**
 * What a text model's file must satisfy beyond its form: its upstreams can be called, and its bounds fit together.
 *
 * @returns the first problem with its position, or undefined.
 */
export function findTextModelProblem({
  upstreams,
  contextTokens,
  maxOutputTokens,
  inputTokens,
  pricing,
}: TextModelDefinition): string | undefined {
  if (isZeroFactor(pricing.batchFactor)) return 'pricing.batchFactor: it is 0';
  if (maxOutputTokens > contextTokens) {
    return `maxOutputTokens: ${maxOutputTokens} is more than contextTokens, ${contextTokens}`;
  }
  if (inputTokens?.tokenizer !== undefined && inputTokens.tokensPerByte !== undefined) {
    return 'inputTokens: tokenizer and tokensPerByte exclude each other; keep one';
  }
  for (const [index, upstream] of upstreams.entries()) {
    const problem = findUpstreamProblem(upstream);
    if (problem !== undefined) return `upstreams.${index}.${problem}`;
  }
  return undefined;
}

function findUpstreamProblem({ protocol, baseUrl, secret, apis }: TextUpstream): string | undefined {
  if (protocol === 'embedded') {
    if (baseUrl !== undefined) return 'baseUrl: protocol embedded has none';
    return secret === undefined ? undefined : 'secret: protocol embedded has none';
  }
  if (baseUrl === undefined) return 'baseUrl: missing for protocol openai';
  if (!URL.canParse(baseUrl)) return 'baseUrl: not an address';
  if (apis !== undefined && !apis.includes('chat.completions')) return 'apis: chat.completions is missing';
  return undefined;
}
