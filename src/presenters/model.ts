/**
 * A model as clients see it (contract §8): the list is in the OpenAI shape, so that clients of that API can read it;
 * our own fields are added to it. Nothing is revealed about the upstreams behind a model.
 */
import type { CatalogueModel, TextModelDefinition } from '../catalogue/text-definition.ts';
import type { WireModel, WireModelDetail } from '@darkroom/api/tasks/model';
import { endpointsOf } from '../catalogue/openai-input.ts';
import { isTextModel } from '../catalogue/text-definition.ts';
import { ChatRequestSchema } from '@darkroom/api/openai/chat-request';
import type { Static } from 'typebox';
import type { TextSchema } from '@darkroom/api/tasks/model';

export function presentModel(definition: CatalogueModel): WireModel {
  return {
    id: definition.name,
    object: 'model',
    created: definition.created,
    owned_by: definition.ownedBy,
    shutdown_date: definition.retiresAt ?? null,
    modality: definition.modality,
    endpoints: [...endpointsOf(definition)],
    description: definition.description,
    routes: isTextModel(definition) ? [] : Object.keys(definition.routes),
    pricing: definition.pricing,
    ...(isTextModel(definition) ? { text: presentText(definition) } : {}),
    deprecation: definition.deprecatedAt ?? null,
    replacement: definition.replacement ?? null,
  };
}

export function presentModelDetail(definition: CatalogueModel): WireModelDetail {
  return isTextModel(definition)
    ? { ...presentModel(definition), input_schema: { ...ChatRequestSchema }, examples: [chatExample(definition)] }
    : { ...presentModel(definition), input_schema: definition.inputSchema, examples: [...definition.examples] };
}

function presentText({ contextTokens, maxOutputTokens, features }: TextModelDefinition): Static<typeof TextSchema> {
  return { contextTokens, maxOutputTokens, features: [...features] };
}

function chatExample({ name }: TextModelDefinition): Readonly<Record<string, unknown>> {
  return { model: name, messages: [{ role: 'user', content: 'Say hello.' }] };
}
