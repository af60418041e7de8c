/** A model whose upstreams are a pool of test providers. */

/**
 * The model `test/<name>` of one pool, whose servers speak the `/videos` of OpenAI. What they make is an image, which is
 * fast.
 *
 * @param servers the URL of each test provider, by its id.
 */
export function poolModel(name: string, handlingSeconds: number, servers: Readonly<Record<string, string>>): object {
  return {
    name: `test/${name}`,
    modality: 'image',
    ownedBy: 'test',
    created: 0,
    description: 'A pool of test providers.',
    routes: {
      default: {
        balance: 'least_busy',
        upstreams: [
          {
            id: name,
            protocol: 'openai',
            api: 'videos',
            secret: 'test',
            model: 'test/video',
            servers: Object.entries(servers).map(([id, url]) => ({ id, baseUrl: `${url}/openai/v1` })),
          },
        ],
      },
    },
    inputSchema: {
      type: 'object',
      additionalProperties: false,
      required: ['prompt'],
      properties: { prompt: { type: 'string', minLength: 1, maxLength: 4_000 } },
    },
    pricing: { unit: 'image', usd: '0.01' },
    limits: { handlingSeconds },
    typicalSeconds: 1,
    examples: [{ prompt: 'anything' }],
  };
}
