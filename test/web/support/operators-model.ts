/**
 * A model of an operator's own, unlike any of ours: deprecated, with two routes, generated elsewhere, and with an
 * input that has objects, lists and multiple choices.
 */
import { mkdtemp, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

export const OPERATORS_MODEL = 'studio/old-painter';

/** Nothing listens there: the model is shown, and never run. */
const UPSTREAM = { protocol: 'replicate', baseUrl: 'http://127.0.0.1:9/v1', secret: 'studio', model: 'owner/painter' };

/** @returns the variables that a Darkroom with this model needs; the caller removes the directory. */
export async function operatorsModel(): Promise<{
  readonly directory: string;
  readonly environment: Record<string, string>;
}> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-operator-'));
  const now = Math.floor(Date.now() / 1000);
  const definition = {
    name: OPERATORS_MODEL,
    modality: 'image',
    ownedBy: 'studio',
    created: 1_763_683_200,
    description: 'Paints the prompt, elsewhere.',
    routes: { default: { upstreams: [UPSTREAM] }, fast: { upstreams: [UPSTREAM] } },
    inputSchema: {
      type: 'object',
      additionalProperties: false,
      required: ['prompt'],
      properties: {
        prompt: { type: 'string', minLength: 1, maxLength: 200, description: 'What is painted.' },
        palette: {
          type: 'array',
          uniqueItems: true,
          maxItems: 2,
          items: { type: 'string', enum: ['ochre', 'umber', 'indigo'] },
          description: 'Colours that it may use.',
        },
        canvas: {
          type: 'object',
          additionalProperties: false,
          required: ['width'],
          properties: {
            width: { type: 'integer', minimum: 64, maximum: 512, description: 'In pixels.' },
            texture: { type: 'string', enum: ['linen', 'paper'], default: 'linen' },
          },
        },
        titles: { type: 'array', maxItems: 3, items: { type: 'string', minLength: 2, maxLength: 40 } },
      },
    },
    pricing: { unit: 'image', usd: '0.0425' },
    typicalSeconds: 2,
    examples: [{ prompt: 'A harbour' }],
    deprecatedAt: now - 86_400,
    retiresAt: now + 30 * 86_400,
    replacement: 'darkroom/scene',
  };
  await writeFile(path.join(directory, 'old-painter.json'), JSON.stringify(definition));
  return { directory, environment: { MODELS_DIR: directory, UPSTREAM_STUDIO_KEY: 'none' } };
}
