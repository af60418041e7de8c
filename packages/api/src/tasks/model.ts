/**
 * A model as clients see it (contract §8): the list is in the OpenAI shape, so that clients of that API can read it;
 * our own fields are added to it. Nothing is revealed about the upstreams behind a model.
 */
import { Type } from 'typebox';
import type { TextFeature } from '../facts/text-features.ts';
import { TEXT_FEATURES } from '../facts/text-features.ts';
import { PricingSchema } from './pricing.ts';
import { TextPricingSchema } from './text-pricing.ts';
import type { Static } from 'typebox';

const UnixSecondsOrNull = (description: string) =>
  Type.Unsafe<number | null>({ type: ['integer', 'null'], minimum: 0, description });

const MODALITIES = ['image', 'video', 'audio', 'text'] as const;

/** What a text model can do, beside what every model states. */
export const TextSchema = Type.Object(
  {
    contextTokens: Type.Integer({ minimum: 1, description: 'What a conversation and its answer may have together.' }),
    maxOutputTokens: Type.Integer({ minimum: 1, description: 'Reasoning and answer together.' }),
    features: Type.Array(Type.Unsafe<TextFeature>({ type: 'string', enum: [...TEXT_FEATURES] }), {
      description: 'What a request may use besides text; anything else is rejected by name.',
    }),
  },
  { additionalProperties: false, description: 'Only for text models.' },
);

const MODEL_FIELDS = {
  id: Type.String({ description: 'The name to give as `model`.' }),
  object: Type.Literal('model'),
  created: Type.Integer({ minimum: 0, description: 'Unix seconds.' }),
  owned_by: Type.String(),
  shutdown_date: UnixSecondsOrNull('Unix seconds: when the model takes no requests any more; null: no such plan.'),
  modality: Type.Unsafe<(typeof MODALITIES)[number]>({ type: 'string', enum: [...MODALITIES] }),
  description: Type.String(),
  routes: Type.Array(Type.String(), { description: 'What can be given as `route`; a text model takes none.' }),
  pricing: Type.Union([PricingSchema, TextPricingSchema]),
  text: Type.Optional(TextSchema),
  deprecation: UnixSecondsOrNull('Unix seconds: since when nothing new should use the model; null: it is current.'),
  replacement: Type.Unsafe<string | null>({ type: ['string', 'null'], description: 'The model to use instead.' }),
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
        'The very JSON Schema (draft 2020-12) that `input` is checked by; of a text model that of the body of `POST /chat/completions`.',
    }),
    examples: Type.Array(Type.Unsafe<Readonly<Record<string, unknown>>>({ type: 'object' }), {
      description: 'Inputs that the model accepts.',
    }),
  },
  { additionalProperties: false },
);

export type WireModel = Static<typeof ModelSchema>;

export type WireModelDetail = Static<typeof ModelDetailSchema>;
