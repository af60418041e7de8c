/**
 * Model files of a test's own, whose upstream is the test provider: one model for each protocol, called
 * `test/<protocol>`. The folder is an operator's MODELS_DIR.
 */
import { mkdtemp, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

/** The protocols that the test provider speaks. */
export const UPSTREAM_PROTOCOLS = ['openai', 'replicate', 'tasks'] as const;
export type UpstreamProtocol = (typeof UPSTREAM_PROTOCOLS)[number];

/** The name under which the models look their credential up: UPSTREAM_TEST_KEY. */
const SECRET = 'test';

/** The price of every model, held when a task is accepted: decimal USD. */
export const MODEL_PRICE = '0.03';

/** Writes the files. @returns the folder, which whoever called removes. */
export async function writeModelFiles(providerUrl: string): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'darkroom-models-'));
  for (const protocol of UPSTREAM_PROTOCOLS) {
    const definition = {
      name: `test/${protocol}`,
      modality: 'image',
      ownedBy: 'test',
      created: 1_763_683_200,
      description: `the test provider, by ${protocol}`,
      routes: {
        default: {
          upstreams: [{ protocol, baseUrl: `${providerUrl}/${protocol}/v1`, secret: SECRET, model: 'owner/model' }],
        },
      },
      inputSchema: {
        type: 'object',
        additionalProperties: false,
        required: ['prompt'],
        properties: { prompt: { type: 'string', minLength: 1, maxLength: 4000 } },
      },
      pricing: { unit: 'image', usd: MODEL_PRICE },
      limits: { queuedSeconds: 86_400, handlingSeconds: 600, archivingSeconds: 600 },
      typicalSeconds: 2,
      examples: [{ prompt: 'anything' }],
    };
    await writeFile(path.join(folder, `${protocol}.json`), JSON.stringify(definition));
  }
  return folder;
}
