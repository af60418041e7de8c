/**
 * A model as clients see it (contract §8): the list is in the OpenAI shape, so that clients of that API read it; what is
 * ours is added to it. Of the upstreams behind a model nothing is told.
 */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { PricingSchema } from '../catalogue/definition.ts';
import type { ModelDefinition, Modality } from '../catalogue/definition.ts';

const UnixSecondsOrNull = (description: string) =>
  Type.Unsafe<number | null>({ type: ['integer', 'null'], minimum: 0, description });

const MODEL_FIELDS = {
  id: Type.String({ description: 'The name to give as `model`.' }),
  object: Type.Literal('model'),
  created: Type.Integer({ minimum: 0, description: 'Unix seconds.' }),
  owned_by: Type.String(),
  shutdown_date: UnixSecondsOrNull('Unix seconds: when the model takes no requests any more; null: no such plan.'),
  modality: Type.Unsafe<Modality>({ type: 'string', enum: ['image', 'video', 'audio'] }),
  description: Type.String(),
  routes: Type.Array(Type.String(), { description: 'What can be given as `route`.' }),
  pricing: PricingSchema,
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
      description: 'The very JSON Schema (draft 2020-12) that `input` is checked by.',
    }),
    examples: Type.Array(Type.Unsafe<Readonly<Record<string, unknown>>>({ type: 'object' }), {
      description: 'Inputs that the model accepts.',
    }),
  },
  { additionalProperties: false },
);

export type WireModel = Static<typeof ModelSchema>;
export type WireModelDetail = Static<typeof ModelDetailSchema>;

export function presentModel(definition: ModelDefinition): WireModel {
  return {
    id: definition.name,
    object: 'model',
    created: definition.created,
    owned_by: definition.ownedBy,
    shutdown_date: definition.retiresAt ?? null,
    modality: definition.modality,
    description: definition.description,
    routes: Object.keys(definition.routes),
    pricing: definition.pricing,
    deprecation: definition.deprecatedAt ?? null,
    replacement: definition.replacement ?? null,
  };
}

export function presentModelDetail(definition: ModelDefinition): WireModelDetail {
  return {
    ...presentModel(definition),
    input_schema: definition.inputSchema,
    examples: [...definition.examples],
  };
}
