/** The catalogue of an api process as its operators see it. */
import { Type } from 'typebox';
import { MODALITIES } from '../facts/modalities.ts';
import type { Modality } from '../facts/modalities.ts';

const UnixSeconds = (description: string) => Type.Integer({ minimum: 0, description: `Unix seconds: ${description}` });

/** What a model makes: files by tasks, or text. */
export const ModalitySchema = Type.Unsafe<Modality>({ type: 'string', enum: [...MODALITIES] });

export const AdminCatalogueSchema = Type.Object(
  {
    since: UnixSeconds('when the catalogue was last updated.'),
    models: Type.Array(
      Type.Object(
        {
          name: Type.String(),
          modality: ModalitySchema,
          hash: Type.String({ description: 'The hexadecimal SHA-256 of the definition that new tasks are pinned to.' }),
          routes: Type.Array(Type.String()),
          isRetired: Type.Boolean({ description: 'Whether the model no longer accepts requests.' }),
        },
        { additionalProperties: false },
      ),
    ),
    belowCost: Type.Array(
      Type.Object(
        {
          model: Type.String(),
          problem: Type.String({ description: 'The position in the file and the amounts.' }),
        },
        { additionalProperties: false },
      ),
      { description: 'Models that sell an example below the price rule of an upstream’s `cost`.' },
    ),
    refused: Type.Unsafe<{ since: number; problems: { file: string; problem: string }[] } | null>({
      type: ['object', 'null'],
      description:
        'The errors in the current model files. Until a rejected file is fixed, its previous model stays loaded. Null if there are no errors.',
      required: ['since', 'problems'],
      additionalProperties: false,
      properties: {
        since: UnixSeconds('when these files were rejected.'),
        problems: Type.Array(
          Type.Object(
            { file: Type.String(), problem: Type.String({ description: 'The position in the file and the reason.' }) },
            { additionalProperties: false },
          ),
        ),
      },
    }),
  },
  { additionalProperties: false },
);
