/**
 * The models of a campaign: a provider that accepts a submit once (`chaos/keyed`), one that would accept it twice
 * (`chaos/unkeyed`), both in sequence (`chaos/either`), one that answers with the result (`chaos/synchronous`), and a
 * text model.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** Decimal USD, held for each task. */
const MODEL_PRICE = '0.03';
export const TEXT_MODEL = 'chaos/text';
/** Decimal USD per million tokens. */
export const TEXT_PRICE = { input: 10, output: 40 } as const;
/** Whatever is broken, a task ends within these limits: seconds. */
export const LIMITS = { queuedSeconds: 600, handlingSeconds: 60, archivingSeconds: 60 } as const;

const UPSTREAMS = {
  keyed: ['tasks'],
  unkeyed: ['replicate'],
  either: ['replicate', 'tasks'],
  synchronous: ['openai'],
} as const;
export const TASK_MODELS = ['chaos/keyed', 'chaos/unkeyed', 'chaos/either'] as const;
/** A provider that answers a submit only with its result, and would accept it twice; not used by clients. */
export const SYNCHRONOUS_MODEL = 'chaos/synchronous';

export async function writeModels(directory: string, urls: { provider: string; text: string }): Promise<void> {
  await mkdir(directory);
  for (const [name, protocols] of Object.entries(UPSTREAMS)) {
    const upstreams = protocols.map((protocol) => ({
      id: `${name}-${protocol}`,
      protocol,
      baseUrl: `${urls.provider}/${protocol}/v1`,
      secret: 'chaos',
      model: 'owner/model',
    }));
    await writeModel(directory, {
      name: `chaos/${name}`,
      modality: 'image',
      routes: { default: { upstreams } },
      inputSchema: {
        type: 'object',
        additionalProperties: false,
        required: ['prompt'],
        properties: { prompt: { type: 'string', minLength: 1, maxLength: 4000 } },
      },
      pricing: { unit: 'image', usd: MODEL_PRICE },
      limits: LIMITS,
      typicalSeconds: 2,
      examples: [{ prompt: 'anything' }],
    });
  }
  await writeModel(directory, {
    name: TEXT_MODEL,
    modality: 'text',
    upstreams: [{ protocol: 'openai', baseUrl: `${urls.text}/text/v1`, secret: 'chaos', model: 'words' }],
    contextTokens: 8_000,
    maxOutputTokens: 100,
    features: [],
    pricing: { unit: 'token', inputUsd: String(TEXT_PRICE.input), outputUsd: String(TEXT_PRICE.output) },
    limits: { firstByteSeconds: 10, idleSeconds: 10, totalSeconds: 60 },
  });
}

async function writeModel(
  directory: string,
  model: Readonly<Record<string, unknown>> & { name: string },
): Promise<void> {
  const document = { ownedBy: 'chaos', created: 1_763_683_200, description: 'For a campaign.', ...model };
  await writeFile(path.join(directory, `${path.basename(model.name)}.json`), JSON.stringify(document));
}
