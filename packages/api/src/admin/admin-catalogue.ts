/** The catalogue of an api process as its operators see it. */
import { Type } from 'typebox';

const UnixSeconds = (description: string) => Type.Integer({ minimum: 0, description: `Unix seconds: ${description}` });

export const AdminCatalogueSchema = Type.Object(
  {
    since: UnixSeconds('since when the catalogue is what it is.'),
    models: Type.Array(
      Type.Object(
        {
          name: Type.String(),
          modality: Type.Unsafe<'image' | 'video' | 'audio' | 'text'>({
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
        since: UnixSeconds('since when they are rejected.'),
        problems: Type.Array(
          Type.Object(
            { file: Type.String(), problem: Type.String({ description: 'The position in the file, and the reason.' }) },
            { additionalProperties: false },
          ),
        ),
      },
    }),
  },
  { additionalProperties: false },
);
