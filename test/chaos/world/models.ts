/**
 * The models of a campaign: a provider that accepts a submit once (`chaos/keyed`), one that would accept it twice
 * (`chaos/unkeyed`), both in sequence (`chaos/either`), one that answers with the result (`chaos/synchronous`), and a
 * text model. For the attack campaign also two that are described by expressions, which read all of a provider's
 * answers, and a text model that may take half a minute.
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

/** Two upstreams whose answers are read by the same expressions; attackers use one of them. */
export const DESCRIBED_MODEL = 'chaos/described';
export const FLOODED_MODEL = 'chaos/flooded';
export const SLOW_TEXT_MODEL = 'chaos/slow-text';
/** The `replicate` interface in a model file. What it says of a job also depends on each line of the job's log. */
const DESCRIPTION = {
  submit: { path: "'/predictions'", body: "{ 'version': $model, 'input': { 'prompt': prompt } }" },
  jobId: 'id',
  poll: {
    path: "'/predictions/' & $jobId",
    state:
      "$count(logs[$length($) > 0]) < 0 ? 'failed' : status = 'succeeded' ? 'done' : status in ['failed', 'canceled'] ? 'failed' : 'running'",
  },
  outputs: 'output',
};

export async function writeModels(directory: string, urls: { provider: string; text: string }): Promise<void> {
  await mkdir(directory);
  const common = { secret: 'chaos', model: 'owner/model' };
  const media = Object.entries(UPSTREAMS).map(([name, protocols]) => {
    const upstreams = protocols.map((protocol) => ({
      id: `${name}-${protocol}`,
      protocol,
      baseUrl: `${urls.provider}/${protocol}/v1`,
      ...common,
    }));
    return { name: `chaos/${name}`, upstreams };
  });
  const described = [DESCRIBED_MODEL, FLOODED_MODEL].map((name) => {
    const baseUrl = `${urls.provider}/replicate/v1`;
    return { name, upstreams: [{ id: path.basename(name), protocol: 'http', baseUrl, http: DESCRIPTION, ...common }] };
  });
  for (const { name, upstreams } of [...media, ...described]) {
    await writeModel(directory, {
      name,
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
  const texts = {
    [TEXT_MODEL]: { firstByteSeconds: 10, idleSeconds: 10 },
    [SLOW_TEXT_MODEL]: { firstByteSeconds: 50 },
  };
  for (const [name, limits] of Object.entries(texts)) {
    await writeModel(directory, {
      name,
      modality: 'text',
      upstreams: [{ protocol: 'openai', baseUrl: `${urls.text}/text/v1`, secret: 'chaos', model: 'words' }],
      contextTokens: 8_000,
      maxOutputTokens: 100,
      features: [],
      pricing: { unit: 'token', inputUsd: String(TEXT_PRICE.input), outputUsd: String(TEXT_PRICE.output) },
      limits: { ...limits, totalSeconds: 60 },
    });
  }
}

async function writeModel(
  directory: string,
  model: Readonly<Record<string, unknown>> & { name: string },
): Promise<void> {
  const document = { ownedBy: 'chaos', created: 1_763_683_200, description: 'For a campaign.', ...model };
  await writeFile(path.join(directory, `${path.basename(model.name)}.json`), JSON.stringify(document));
}
