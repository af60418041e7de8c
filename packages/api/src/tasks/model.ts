/**
 * A model as clients see it (contract §8): the list is in the OpenAI shape, so that clients of that API can read it;
 * our own fields are added to it. Nothing is revealed about the upstreams behind a model.
 */
import { Type } from 'typebox';
import type { TextFeature } from '../facts/text-features.ts';
import { TEXT_FEATURES } from '../facts/text-features.ts';
import { MODALITIES } from '../facts/modalities.ts';
import type { Modality } from '../facts/modalities.ts';
import { PricingSchema } from './pricing.ts';
import { TextPricingSchema } from './text-pricing.ts';
import type { Static } from 'typebox';

const UnixSecondsOrNull = (description: string) =>
  Type.Unsafe<number | null>({ type: ['integer', 'null'], minimum: 0, description });

/** What a text model states in addition to the fields of every model. */
export const TextSchema = Type.Object(
  {
    contextTokens: Type.Integer({
      minimum: 1,
      description: 'The maximum number of tokens of a conversation and its response together.',
    }),
    maxOutputTokens: Type.Integer({
      minimum: 1,
      description: 'The maximum number of tokens to generate, including reasoning.',
    }),
    features: Type.Array(Type.Unsafe<TextFeature>({ type: 'string', enum: [...TEXT_FEATURES] }), {
      description:
        'The features that a request may use in addition to text. Any other feature is rejected, and the error names it.',
    }),
  },
  { additionalProperties: false, description: 'Properties of a text model. Absent for other models.' },
);

const MODEL_FIELDS = {
  id: Type.String({ description: 'The name to send as `model`.' }),
  object: Type.Literal('model'),
  created: Type.Integer({ minimum: 0, description: 'Unix seconds.' }),
  owned_by: Type.String(),
  shutdown_date: UnixSecondsOrNull(
    'The time when the model stops accepting requests, in Unix seconds. Null: no retirement is planned.',
  ),
  modality: Type.Unsafe<Modality>({ type: 'string', enum: [...MODALITIES] }),
  endpoints: Type.Array(Type.String(), {
    description:
      'The paths of the endpoints that take the model, for example `/v1/tasks` and `/v1/images/generations`.',
  }),
  description: Type.String(),
  routes: Type.Array(Type.String(), { description: 'The values that `route` accepts. A text model has no routes.' }),
  pricing: Type.Union([PricingSchema, TextPricingSchema]),
  text: Type.Optional(TextSchema),
  deprecation: UnixSecondsOrNull(
    'The time since when the model is deprecated, in Unix seconds. Null: it is not deprecated.',
  ),
  replacement: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'The model to use instead, or null.',
  }),
};

export const ModelSchema = Type.Object(MODEL_FIELDS, { additionalProperties: false });

export const ModelListSchema = Type.Object(
  { object: Type.Literal('list'), data: Type.Array(ModelSchema) },
  { additionalProperties: false },
);

export const ModelDetailSchema = Type.Object(
  {
    ...MODEL_FIELDS,
    input_schema: Type.Unsafe<Readonly<Record<string, unknown>>>({
      type: 'object',
      description:
        'The JSON Schema (draft 2020-12) that `input` is validated against. For a text model, the schema of the body of `POST /chat/completions`.',
    }),
    examples: Type.Array(Type.Unsafe<Readonly<Record<string, unknown>>>({ type: 'object' }), {
      description: 'Examples of inputs that the model accepts.',
    }),
  },
  { additionalProperties: false },
);

export type WireModel = Static<typeof ModelSchema>;

export type WireModelDetail = Static<typeof ModelDetailSchema>;
