/** Pools of model files: which upstreams an entry with servers and credentials becomes, and what is rejected. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { definitionHash, limitsOf } from '../../src/catalogue/definition.ts';
import type { ModelDefinition } from '../../src/catalogue/definition.ts';
import { createModelReader, loadModels } from '../../src/catalogue/load-models.ts';
import { readModelTexts } from '../../src/catalogue/model-files.ts';
import { createOffer } from '../../src/catalogue/offer.ts';
import { isMediaModel } from '../../src/catalogue/text-definition.ts';
import { PROTOCOLS } from '../../src/providers/protocols.ts';
import { definition } from './definitions.ts';

const ENTRY = { protocol: 'openai', model: 'wan' };
const [NORTH, SOUTH] = ['http://10.0.0.1:8000/v1', 'http://10.0.0.2:8000/v1'];

let directory: string;
before(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-pools-'));
});
after(() => rm(directory, { recursive: true, force: true }));

/** The model that a file becomes whose default route has this content. */
async function load(route: object): Promise<ModelDefinition> {
  await writeFile(path.join(directory, 'a.json'), JSON.stringify({ ...definition(), routes: { default: route } }));
  const [model] = await loadModels([directory], PROTOCOLS);
  assert.ok(model !== undefined && isMediaModel(model));
  return model;
}

async function membersOf(...upstreams: object[]) {
  return (await load({ upstreams })).routes['default']?.upstreams ?? [];
}

async function messageOf(route: object): Promise<string> {
  const error: unknown = await load(route).then(
    () => assert.fail('accepted'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof Error);
  return error.message.replace(/^\S*a\.json: /, '');
}

describe('an entry with servers', () => {
  it('becomes one upstream for each, with what is its own', async () => {
    const servers = [
      { baseUrl: NORTH, id: 'north', concurrency: 3, weight: 2 },
      { baseUrl: SOUTH, id: 'south' },
    ];

    assert.deepEqual(await membersOf({ ...ENTRY, id: 'gpu', secret: 'gpu', concurrency: 1, servers }), [
      {
        ...ENTRY,
        pool: 'gpu',
        server: 'north',
        id: 'gpu-north',
        secret: 'gpu',
        baseUrl: NORTH,
        concurrency: 3,
        weight: 2,
      },
      {
        ...ENTRY,
        pool: 'gpu',
        server: 'south',
        id: 'gpu-south',
        secret: 'gpu',
        baseUrl: SOUTH,
        concurrency: 1,
        weight: 1,
      },
    ]);
  });

  it('has ids that show no host and stay when other servers come and go', async () => {
    const [north, south] = await membersOf({ ...ENTRY, servers: [{ baseUrl: NORTH }, { baseUrl: SOUTH }] });
    const [alone] = await membersOf({ ...ENTRY, servers: [{ baseUrl: SOUTH }] });

    assert.match(north?.id ?? '', /^openai-[0-9a-f]{8}$/);
    assert.notEqual(north?.id, south?.id);
    assert.equal(alone?.id, south?.id);
  });
});

describe('an entry with credentials', () => {
  it('becomes one upstream for each', async () => {
    const credentials = [
      { secret: 'first', concurrency: 2 },
      { secret: 'second', weight: 0, id: 'spare' },
    ];

    assert.deepEqual(await membersOf({ ...ENTRY, id: 'fal', baseUrl: NORTH, credentials }), [
      { ...ENTRY, pool: 'fal', id: 'fal-first', baseUrl: NORTH, secret: 'first', concurrency: 2, weight: 1 },
      { ...ENTRY, pool: 'fal', id: 'fal-spare', baseUrl: NORTH, secret: 'second', weight: 0 },
    ]);
  });

  it('becomes one for each combination with its servers', async () => {
    const servers = [
      { baseUrl: NORTH, id: 'north', weight: 2 },
      { baseUrl: SOUTH, id: 'south' },
    ];
    const credentials = [{ secret: 'a', weight: 3 }, { secret: 'b' }];

    const members = await membersOf({ ...ENTRY, id: 'x', weight: 5, servers, credentials });

    assert.deepEqual(
      members.map(({ id, weight }) => [id, weight]),
      [
        ['x-north-a', 30],
        ['x-north-b', 10],
        ['x-south-a', 15],
        ['x-south-b', 5],
      ],
    );
  });
});

describe('a pool of a provider', () => {
  it('replaces its URL and its secret, and has the members whose keys are there', async () => {
    const providers = path.join(directory, 'providers', 'acme');
    await mkdir(providers, { recursive: true });
    const provider = {
      name: 'acme',
      title: 'Acme',
      documentation: 'https://acme.example/docs',
      checkedAt: '2026-11-27',
      upstream: { protocol: 'openai', baseUrl: 'https://acme.example/v1' },
    };
    await writeFile(path.join(providers, 'provider.json'), JSON.stringify(provider));
    const servers = [NORTH, SOUTH].map((baseUrl, index) => ({ baseUrl, id: `s${index}` }));
    const credentials = [{ secret: 'first' }, { secret: 'second' }];
    const upstreams = [{ provider: 'acme', model: 'wan', servers, credentials }];
    await writeFile(
      path.join(directory, 'a.json'),
      JSON.stringify({ ...definition(), routes: { default: { upstreams } } }),
    );
    const { definitions, problems } = await createModelReader(PROTOCOLS)(await readModelTexts([directory]));
    assert.deepEqual(problems, []);
    const idsOf = ({ routes }: ModelDefinition): unknown =>
      routes['default']?.upstreams.map(({ id, baseUrl, secret }) => [id, baseUrl, secret]);

    const offer = createOffer({
      hasCredential: (name) => name === 'second',
      baseUrlOf: () => 'https://elsewhere.example/v1',
    });
    const [offered] = offer({ definitions, providers: [provider] });

    assert.ok(offered !== undefined && isMediaModel(offered));
    assert.deepEqual(idsOf(offered), [
      ['acme-s0-second', NORTH, 'second'],
      ['acme-s1-second', SOUTH, 'second'],
    ]);
    await rm(path.join(directory, 'providers'), { recursive: true });
  });
});

describe('a model file without pools', () => {
  it('is pinned as before', async () => {
    const upstreams = [{ ...ENTRY, baseUrl: NORTH, secret: 'a' }];
    const expected = definition({ routes: { default: { upstreams } } });

    const model = await load({ upstreams });

    assert.equal(definitionHash(model), definitionHash(expected));
    assert.deepEqual(limitsOf(model), limitsOf(expected));
  });
});

describe('a pool', () => {
  const servers = [{ baseUrl: NORTH }, { baseUrl: SOUTH }];
  const many = Array.from({ length: 33 }, (_each, index) => ({ baseUrl: `http://10.0.1.${index}/v1` }));

  it('has up to 64 members', async () => {
    const members = await membersOf(
      { ...ENTRY, servers: many.slice(1) },
      { ...ENTRY, id: 'more', servers: many.slice(1) },
    );
    assert.equal(members.length, 64);
  });

  const cases: readonly (readonly [object, RegExp])[] = [
    [
      { upstreams: [{ ...ENTRY, baseUrl: NORTH, servers }] },
      /^routes\.default\.upstreams\.0\.baseUrl: servers replaces it$/,
    ],
    [
      { upstreams: [{ ...ENTRY, baseUrl: NORTH, secret: 'a', credentials: [{ secret: 'b' }] }] },
      /^routes\.default\.upstreams\.0\.secret: credentials replaces it$/,
    ],
    [
      { upstreams: [{ ...ENTRY, servers: [...servers, { baseUrl: NORTH }] }] },
      /^routes\.default\.upstreams: two members have the id openai-[0-9a-f]{8}: give each an id of its own$/,
    ],
    [
      {
        upstreams: [
          { ...ENTRY, servers },
          { ...ENTRY, servers: many.slice(0, 1) },
        ],
      },
      /^routes\.default\.upstreams\.1\.id: another pool of the route is called openai$/,
    ],
    [
      { upstreams: [{ ...ENTRY, servers: many, credentials: [{ secret: 'a' }, { secret: 'b' }] }] },
      /^routes\.default\.upstreams: 66 with all members, at most 64$/,
    ],
    [{ upstreams: [{ ...ENTRY, id: 'x'.repeat(60), servers }] }, /is longer than 64 characters: give shorter ids$/],
    [
      {
        upstreams: [
          {
            ...ENTRY,
            servers: [{ baseUrl: NORTH }, { baseUrl: SOUTH, concurrency: 1 }],
            credentials: [{ secret: 'a' }, { secret: 'b' }],
          },
        ],
      },
      /^routes\.default\.upstreams\.0\.servers\.1\.concurrency: with several servers and several credentials/,
    ],
    [
      { upstreams: [{ protocol: 'embedded', model: 'scene', servers }] },
      /^routes\.default\.upstreams\.0\.protocol: an embedded engine has no servers/,
    ],
    [
      { balance: 'random', upstreams: [{ ...ENTRY, servers }] },
      /^invalid model file: routes\.default\.balance: enum: got "random"/,
    ],
    [
      { upstreams: [{ ...ENTRY, servers: [{ baseUrl: NORTH, weight: -1 }] }] },
      /^invalid model file: routes\.default\.upstreams\.0\.servers\.0\.weight: minimum: got -1, want 0$/,
    ],
    [
      { upstreams: [{ ...ENTRY, baseUrl: NORTH, pool: 'gpu' }] },
      /^additional properties not allowed: routes\.default\.upstreams\.0\.pool$/,
    ],
    [
      {
        upstreams: [
          { ...ENTRY, servers },
          { protocol: 'nothing', model: 'x' },
        ],
      },
      /^routes\.default\.upstreams\.1\.protocol: there is no "nothing"/,
    ],
  ];
  it('is rejected with the member and the reason', async () => {
    for (const [route, expected] of cases) assert.match(await messageOf(route), expected);
  });
});
