/**
 * The catalogue as clients see it (contract §8), and as operators do. For clients the list is in the OpenAI shape, so
 * that clients of that API can read it; our own fields are added to it. Nothing is revealed about the upstreams behind
 * a model.
 */
import type { AdminCatalogueSchema } from '@darkroom/api/admin/admin-catalogue';
import { ChatRequestSchema } from '@darkroom/api/openai/chat-request';
import type { TextSchema, WireModel, WireModelDetail } from '@darkroom/api/tasks/model';
import type { Static } from 'typebox';
import type { Catalogue } from '../catalogue/catalogue.ts';
import { definitionHash } from '../catalogue/definition.ts';
import { lossesOf } from '../catalogue/work-cost.ts';
import { endpointsOf } from '../catalogue/openai-input.ts';
import { isTextModel } from '../catalogue/text-definition.ts';
import type { CatalogueModel, TextModelDefinition } from '../catalogue/text-definition.ts';

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

/** The catalogue of an api process as its operators see it. */
export function presentCatalogue(catalogue: Catalogue): Static<typeof AdminCatalogueSchema> {
  const { since, rejected } = catalogue.state();
  const available = new Set(catalogue.available());
  return {
    since: Math.floor(since / 1000),
    models: catalogue.models.map((definition) => ({
      name: definition.name,
      modality: definition.modality,
      hash: definitionHash(definition),
      routes: isTextModel(definition) ? [] : Object.keys(definition.routes),
      isRetired: !available.has(definition),
    })),
    belowCost: lossesOf(catalogue.models).map(({ model, problem }) => ({ model, problem })),
    refused:
      rejected === undefined
        ? null
        : {
            since: Math.floor(rejected.since / 1000),
            problems: rejected.problems.map(({ file, problem }) => ({ file, problem })),
          },
  };
}
