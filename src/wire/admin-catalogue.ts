/** The catalogue of an api process as its operators see it. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { Catalogue } from '../catalogue/catalogue.ts';
import { definitionHash } from '../catalogue/definition.ts';
import { isTextModel } from '../catalogue/text-definition.ts';
import type { CatalogueModel } from '../catalogue/text-definition.ts';

const UnixSeconds = (description: string) => Type.Integer({ minimum: 0, description: `Unix seconds: ${description}` });

export const AdminCatalogueSchema = Type.Object(
  {
    since: UnixSeconds('since when the catalogue is what it is.'),
    models: Type.Array(
      Type.Object(
        {
          name: Type.String(),
          modality: Type.Unsafe<CatalogueModel['modality']>({
            type: 'string',
            enum: ['image', 'video', 'audio', 'text'],
          }),
          hash: Type.String({ description: 'What new tasks are pinned to: SHA-256 of the definition, hex.' }),
          routes: Type.Array(Type.String()),
          isRetired: Type.Boolean({ description: 'It takes no requests any more.' }),
        },
        { additionalProperties: false },
      ),
    ),
    refused: Type.Unsafe<{ since: number; problems: { file: string; problem: string }[] } | null>({
      type: ['object', 'null'],
      description:
        'What is wrong with the model files as they are now; until it is fixed a bad file has the model that it had before. null: nothing.',
      required: ['since', 'problems'],
      additionalProperties: false,
      properties: {
        since: UnixSeconds('since when they are refused.'),
        problems: Type.Array(
          Type.Object(
            { file: Type.String(), problem: Type.String({ description: 'The place in the file, and the reason.' }) },
            { additionalProperties: false },
          ),
        ),
      },
    }),
  },
  { additionalProperties: false },
);

export function presentCatalogue(catalogue: Catalogue): Static<typeof AdminCatalogueSchema> {
  const { since, refused } = catalogue.state();
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
    refused:
      refused === undefined
        ? null
        : {
            since: Math.floor(refused.since / 1000),
            problems: refused.problems.map(({ file, problem }) => ({ file, problem })),
          },
  };
}
