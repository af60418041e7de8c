/** The catalogue of an api process as its operators see it. */
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { Static } from 'typebox';
import type { AdminCatalogueSchema } from '@darkroom/api/admin/admin-catalogue';
import { lossesOf } from '../catalogue/work-cost.ts';
import { definitionHash } from '../catalogue/definition.ts';
import { isTextModel } from '../catalogue/text-definition.ts';

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
