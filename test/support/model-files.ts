/**
 * Model files of a test's own, whose upstream is the test provider: one model for each protocol, called
 * `test/<protocol>`. The directory is an operator's MODELS_DIR.
 */
import { mkdtemp, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

/** The protocols that the test provider implements. */
export const UPSTREAM_PROTOCOLS = ['openai', 'replicate', 'tasks'] as const;
export type UpstreamProtocol = (typeof UPSTREAM_PROTOCOLS)[number];

/** The name under which the models look their credential up: UPSTREAM_TEST_KEY. */
const SECRET = 'test';

/** The price of every model, held when a task is accepted: decimal USD. */
export const MODEL_PRICE = '0.03';

/** One upstream of a model; missing fields are those of its protocol's usual one. */
export type TestUpstream = { readonly protocol: UpstreamProtocol } & Readonly<Record<string, unknown>>;

/** The upstreams of a model, or its whole route. */
export type TestRoute =
  | readonly TestUpstream[]
  | { readonly upstreams: readonly TestUpstream[]; readonly fallback: string };

/**
 * Writes the files.
 *
 * @param more models in addition to the usual ones: the upstreams of each by what follows `test/` in its name.
 * @returns the directory, which the caller removes.
 */
export async function writeModelFiles(
  providerUrl: string,
  more: Readonly<Record<string, TestRoute>> = {},
): Promise<string> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-models-'));
  const usual: Record<string, TestRoute> = Object.fromEntries(
    UPSTREAM_PROTOCOLS.map((protocol) => [protocol, [{ protocol }]]),
  );
  for (const [name, route] of Object.entries({ ...usual, ...more })) {
    const { upstreams, ...rest } = 'upstreams' in route ? route : { upstreams: route };
    const definition = {
      name: `test/${name}`,
      modality: 'image',
      ownedBy: 'test',
      created: 1_763_683_200,
      description: `the test provider, by ${name}`,
      routes: {
        default: {
          ...rest,
          upstreams: upstreams.map((upstream) => ({
            baseUrl: `${providerUrl}/${upstream.protocol}/v1`,
            secret: SECRET,
            model: 'owner/model',
            ...upstream,
          })),
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
    await writeFile(path.join(directory, `${name}.json`), JSON.stringify(definition));
  }
  return directory;
}
