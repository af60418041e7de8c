/** Provider files: what they add to the models that refer to them, and when these models are offered. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { ModelUnavailableError, UnknownRouteError } from '../../src/catalogue/catalogue.ts';
import type { ModelDefinition } from '../../src/catalogue/definition.ts';
import { openLiveCatalogue } from '../../src/catalogue/live-catalogue.ts';
import type { LiveCatalogue, LiveProviderSettings } from '../../src/catalogue/live-catalogue.ts';
import { createModelReader, loadModels } from '../../src/catalogue/load-models.ts';
import { readModelTexts } from '../../src/catalogue/model-files.ts';
import { packageFile } from '../../src/config/package-root.ts';
import { findBinding } from '../../src/providers/http/binding.ts';
import { PROTOCOLS } from '../../src/providers/protocols.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { DarkroomError } from '../../src/domain/darkroom-error.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { definition, textDefinition } from './definitions.ts';

const NEVER_MS = 3_600_000;

let directory: string;
let catalogue: LiveCatalogue | undefined;
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-providers-'));
});
afterEach(async () => {
  await catalogue?.close();
  catalogue = undefined;
  await rm(directory, { recursive: true, force: true });
});

const HTTP = {
  auth: { scheme: 'header', name: 'X-Key' },
  headers: { 'X-Version': '1', 'X-Other': 'a' },
  submit: { path: "'/jobs'", refusal: "'input_invalid'" },
  jobId: 'id',
  poll: { path: "'/jobs/' & $jobId", state: 'state' },
  outputs: 'urls',
};
const PROVIDER = {
  name: 'acme',
  title: 'Acme',
  documentation: 'https://acme.example/docs',
  checkedAt: '2026-11-27',
  upstream: { protocol: 'http', baseUrl: 'https://api.acme.example/v1', concurrency: 4, http: HTTP },
};
const UPSTREAM = { provider: 'acme', model: 'posters', http: { submit: { body: "{ 'text': prompt }" } } };

async function putProvider(content: unknown = PROVIDER, name = 'acme'): Promise<void> {
  await mkdir(path.join(directory, 'providers', name), { recursive: true });
  await writeFile(path.join(directory, 'providers', name, 'provider.json'), JSON.stringify(content));
}

async function putModel(
  changes: object = { routes: { default: { upstreams: [UPSTREAM] } } },
  file = 'providers/acme/posters.json',
): Promise<void> {
  await mkdir(path.dirname(path.join(directory, file)), { recursive: true });
  await writeFile(path.join(directory, file), JSON.stringify({ ...definition({ name: 'posters' }), ...changes }));
}

async function read() {
  const { definitions, problems } = await createModelReader(PROTOCOLS)(await readModelTexts([directory]));
  return { definitions, problems: problems.map(({ problem }) => problem) };
}

interface ChangeableSettings extends LiveProviderSettings {
  set(change: {
    readonly credentials?: readonly string[];
    readonly rejected?: readonly string[];
    readonly baseUrls?: Readonly<Record<string, string>>;
  }): void;
}

function settingsOf(): ChangeableSettings {
  let [credentials, rejected]: (readonly string[])[] = [[], []];
  let baseUrls: Readonly<Record<string, string>> = {};
  const listeners = new Set<() => void>();
  return {
    hasCredential: (name) => credentials?.includes(name) === true,
    isRejected: (_provider, name) => rejected?.includes(name) === true,
    baseUrlOf: (name) => baseUrls[name],
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    set(change) {
      ({ credentials = [], rejected = [], baseUrls = {} } = change);
      for (const listener of listeners) listener();
    },
  };
}

async function open(settings: LiveProviderSettings, pin = async (): Promise<void> => {}): Promise<LiveCatalogue> {
  catalogue = await openLiveCatalogue({
    directories: [directory],
    protocols: PROTOCOLS,
    definitions: { pin },
    settings,
    logger: silentLogger(),
    now: Date.now,
    pollMs: NEVER_MS,
    settleMs: 10,
  });
  return catalogue;
}

const names = (from: LiveCatalogue): readonly string[] => from.available().map(({ name }) => name);

function firstUpstream(found: unknown): Record<string, unknown> {
  return (found as ModelDefinition).routes['default']?.upstreams[0] ?? assert.fail('there is no upstream');
}

describe('a provider file', () => {
  it('is merged under the upstreams that refer to it, member by member', async () => {
    await putProvider();
    await putModel({
      routes: {
        default: {
          upstreams: [{ ...UPSTREAM, concurrency: 2, http: { ...UPSTREAM.http, headers: { 'X-Other': null } } }],
        },
      },
    });

    const { definitions, problems } = await read();

    assert.deepEqual(problems, []);
    assert.deepEqual(firstUpstream(definitions[0]), {
      id: 'acme',
      secret: 'acme',
      protocol: 'http',
      baseUrl: 'https://api.acme.example/v1',
      concurrency: 2,
      provider: 'acme',
      model: 'posters',
      http: {
        ...HTTP,
        headers: { 'X-Version': '1' },
        submit: { ...HTTP.submit, body: "{ 'text': prompt }" },
      },
    });
  });

  it('may be one of another directory, and of a text model', async () => {
    await putProvider({ ...PROVIDER, upstream: { protocol: 'openai', baseUrl: 'https://api.acme.example/v1' } });
    await putModel({ routes: { default: { upstreams: [{ provider: 'acme', model: 'm' }] } } }, 'own.json');
    const words = {
      ...textDefinition({ name: 'words' }),
      upstreams: [{ provider: 'acme', model: 'w', apis: ['chat.completions'] }],
    };
    await writeFile(path.join(directory, 'words.json'), JSON.stringify(words));

    const { definitions, problems } = await read();

    assert.deepEqual(problems, []);
    assert.deepEqual(definitions.map(({ name }) => name).sort(), ['posters', 'words']);
  });

  const rejected: readonly (readonly [string, object, string])[] = [
    ['an unknown member', { ...PROVIDER, colour: 'red' }, 'additional properties not allowed: colour'],
    [
      'an unknown member of upstream',
      { ...PROVIDER, upstream: { ...PROVIDER.upstream, http: { ...HTTP, pol: {} } } },
      'additional properties not allowed: upstream.http.pol',
    ],
    ['a model in it', { ...PROVIDER, upstream: { model: 'x' } }, 'additional properties not allowed: upstream.model'],
    ['another name than its directory', { ...PROVIDER, name: 'other' }, 'name: the provider in this directory is acme'],
    [
      'documentation without TLS',
      { ...PROVIDER, documentation: 'http://acme.example' },
      'invalid provider file: documentation',
    ],
  ];
  for (const [what, content, problem] of rejected) {
    it(`is rejected with ${what}`, async () => {
      await putProvider(content);

      const { problems } = await read();

      assert.equal(problems.length, 1);
      assert.ok(problems[0]?.startsWith(problem), problems[0]);
    });
  }

  it('is rejected when another directory has a provider of its name', async () => {
    const other = await mkdtemp(path.join(os.tmpdir(), 'darkroom-providers-'));
    await putProvider();
    await mkdir(path.join(other, 'providers', 'acme'), { recursive: true });
    await writeFile(path.join(other, 'providers', 'acme', 'provider.json'), JSON.stringify(PROVIDER));

    const { problems } = await createModelReader(PROTOCOLS)(await readModelTexts([directory, other]));

    assert.deepEqual(
      problems.map(({ problem }) => problem),
      ['name: another provider is called acme'],
    );
    await rm(other, { recursive: true });
  });

  it('that does not exist, or is invalid, makes the models that refer to it invalid, which say so', async () => {
    await putModel();
    const reader = createModelReader(PROTOCOLS);
    const next = async () => {
      const { problems } = await reader(await readModelTexts([directory]));
      return problems.map(({ problem }) => problem);
    };
    const missing = ['routes.default.upstreams.0.provider: there is no provider "acme"'];

    assert.deepEqual(await next(), missing);
    await putProvider({ ...PROVIDER, title: '' });
    assert.deepEqual(await next(), [
      'invalid provider file: title: minLength: got 0, want 1',
      'routes.default.upstreams.0.provider: the file of the provider "acme" is invalid',
    ]);
    await rm(path.join(directory, 'providers/acme/provider.json'));
    assert.deepEqual(await next(), missing);
  });

  it('has its own problems reported once, with their positions in it, and no more than those', async () => {
    const http = { ...HTTP, headers: { accept: 'a/b' }, poll: { ...HTTP.poll, state: '(' } };
    await putProvider({ ...PROVIDER, upstream: { ...PROVIDER.upstream, http } });
    const own = { ...UPSTREAM, http: { ...UPSTREAM.http, jobId: ')', headers: { cookie: 'a' }, auth: { name: null } } };
    await putModel({ routes: { default: { upstreams: [UPSTREAM, own] } } });
    await putModel({ name: 'others', routes: { default: { upstreams: [UPSTREAM] } } }, 'providers/acme/others.json');

    const { problems } = await createModelReader(PROTOCOLS)(await readModelTexts([directory]));

    const of = (name: string) =>
      problems
        .flatMap(({ file, problem }) => (path.basename(file) === name ? (problem.split(': ')[0] ?? '') : []))
        .toSorted((one, other) => one.localeCompare(other));
    assert.deepEqual(of('provider.json'), ['upstream.http.headers.accept', 'upstream.http.poll.state']);
    assert.deepEqual(of('posters.json'), [
      'routes.default.upstreams.1.http.auth.name',
      'routes.default.upstreams.1.http.headers.cookie',
      'routes.default.upstreams.1.http.jobId',
    ]);
    assert.deepEqual(of('others.json'), []);
  });

  it('names media of some models that others do not have', async () => {
    const media = { image_url: 'inline' };
    await putProvider({ ...PROVIDER, upstream: { ...PROVIDER.upstream, http: { ...HTTP, media } } });
    await putModel();
    assert.deepEqual((await read()).problems, []);

    await putModel({ routes: { default: { upstreams: [{ ...UPSTREAM, http: { ...UPSTREAM.http, media } }] } } });
    assert.deepEqual((await read()).problems, [
      'routes.default.upstreams.0.http.media.image_url: inputSchema has no field image_url',
    ]);
  });

  it('leaves the form of the merged model to the check of the model', async () => {
    await putProvider();
    await putModel({ routes: { default: { upstreams: [{ provider: 'acme', model: 'posters' }] } } });

    assert.deepEqual((await read()).problems, ['routes.default.upstreams.0.http.submit: it needs either body or form']);
  });
});

describe('a model of a provider', () => {
  it('is offered while there is a credential, and pinned with its name only', async () => {
    await putProvider();
    await putModel();
    const settings = settingsOf();
    const live = await open(settings);
    assert.deepEqual(names(live), []);
    assert.equal(live.providers()[0]?.missing, 'credential');
    assert.deepEqual(
      live.providers()[0]?.models.map(({ name, modality }) => [name, modality]),
      [['posters', 'image']],
    );

    settings.set({ credentials: ['acme'] });
    await waitFor('it is offered', () => names(live).includes('posters'));
    assert.equal(firstUpstream(live.resolve('posters', undefined).definition)['secret'], 'acme');
    assert.equal(live.providers()[0]?.missing, undefined);

    settings.set({});
    await waitFor('it is withdrawn', () => !names(live).includes('posters'));
    assert.throws(() => live.resolve('posters', undefined), ModelUnavailableError);
  });

  it('is offered by the latest settings, also where they change while the others are adopted', async () => {
    await putProvider();
    await putModel();
    const settings = settingsOf();
    let whilePinned = (): void => {};
    const live = await open(settings, async () => {
      await Promise.resolve();
      whilePinned();
    });
    whilePinned = () => {
      whilePinned = () => {};
      settings.set({});
    };

    settings.set({ credentials: ['acme'] });
    await live.settingsAdopted();
    assert.deepEqual(names(live), []);
  });

  it('loses only the routes without a credential, and no route stands in for another', async () => {
    await putProvider();
    await putProvider({ ...PROVIDER, name: 'other' }, 'other');
    await putModel({
      routes: {
        default: { upstreams: [UPSTREAM] },
        other: { upstreams: [{ ...UPSTREAM, provider: 'other' }] },
        both: { upstreams: [UPSTREAM, { ...UPSTREAM, provider: 'other' }] },
      },
    });
    const settings = settingsOf();
    settings.set({ credentials: ['other'] });
    const live = await open(settings);

    assert.throws(() => live.resolve('posters', undefined), UnknownRouteError);
    const { definition: offered } = live.resolve('posters', 'both');
    assert.deepEqual(Object.keys(offered.routes), ['other', 'both']);
    assert.deepEqual(
      offered.routes['both']?.upstreams.map(({ provider }) => provider),
      ['other'],
    );

    settings.set({ credentials: ['other', 'acme'] });
    await waitFor('all are there', () => Object.keys(live.resolve('posters', 'both').definition.routes).length === 3);
    assert.equal(live.resolve('posters', undefined).route, 'default');
  });

  it('passes as withheld while its credential is rejected, unlike one that has none or does not exist', async () => {
    await putProvider();
    await putProvider({ ...PROVIDER, name: 'other' }, 'other');
    await putModel({
      routes: { default: { upstreams: [UPSTREAM] }, other: { upstreams: [{ ...UPSTREAM, provider: 'other' }] } },
    });
    const settings = settingsOf();
    const live = await open(settings);
    const waits = (route?: string, model = 'posters'): string | undefined => {
      try {
        live.resolve(model, route);
        return 'found';
      } catch (error) {
        assert.ok(error instanceof DarkroomError);
        return error.waitsFor;
      }
    };
    assert.equal(waits(), undefined);

    settings.set({ credentials: ['acme', 'other'], rejected: ['acme'] });
    await waitFor('a route is offered', () => waits('other') === 'found');
    assert.equal(waits(), 'model');
    assert.throws(() => live.resolve('posters', undefined), ModelUnavailableError);
    assert.deepEqual([waits('none'), waits(undefined, 'none')], [undefined, undefined]);

    settings.set({ credentials: ['acme', 'other'], rejected: ['acme', 'other'] });
    await waitFor('nothing is offered', () => names(live).length === 0);
    assert.deepEqual([waits(), waits('other'), waits('none')], ['model', 'model', undefined]);

    settings.set({ credentials: ['acme', 'other'] });
    await waitFor('all is offered', () => waits() === 'found');
    assert.equal(waits('other'), 'found');
  });

  it('goes to the configured URL', async () => {
    await putProvider();
    await putModel();
    const settings = settingsOf();
    settings.set({ credentials: ['acme'], baseUrls: { acme: 'http://10.0.0.7:8080' } });
    const live = await open(settings);

    const upstream = firstUpstream(live.resolve('posters', undefined).definition);

    assert.equal(upstream['baseUrl'], 'http://10.0.0.7:8080');
    assert.equal(upstream['secret'], 'acme');
  });

  it('of a server that users host is offered with its URL, and needs no optional credential', async () => {
    await putProvider({ ...PROVIDER, credential: 'optional', isSelfHosted: true });
    await putModel();
    const settings = settingsOf();
    const live = await open(settings);
    assert.equal(live.providers()[0]?.missing, 'base_url');

    settings.set({ baseUrls: { acme: 'http://10.0.0.7:8188' } });
    await waitFor('it is offered', () => names(live).includes('posters'));
    assert.equal(firstUpstream(live.resolve('posters', undefined).definition)['secret'], undefined);

    settings.set({ credentials: ['acme'], baseUrls: { acme: 'http://10.0.0.7:8188' } });
    await waitFor('it uses the credential', () => {
      return firstUpstream(live.resolve('posters', undefined).definition)['secret'] === 'acme';
    });
  });

  it('keeps its definition while the file of its provider is invalid', async () => {
    await putProvider();
    await putModel();
    const settings = settingsOf();
    settings.set({ credentials: ['acme'] });
    const live = await open(settings);
    const { hash } = live.resolve('posters', undefined);

    await putProvider({ ...PROVIDER, title: 7 });
    await waitFor('it is rejected', () => live.state().rejected !== undefined);
    assert.equal(live.resolve('posters', undefined).hash, hash);

    await putProvider({ ...PROVIDER, upstream: { ...PROVIDER.upstream, concurrency: 9 } });
    await waitFor(
      'it is adopted',
      () => live.state().rejected === undefined && live.resolve('posters', undefined).hash !== hash,
    );
    assert.equal(firstUpstream(live.resolve('posters', undefined).definition)['concurrency'], 9);
  });

  it('appears with a provider that is added while the process runs', async () => {
    const settings = settingsOf();
    settings.set({ credentials: ['acme'] });
    const live = await open(settings);

    await putProvider();
    await putModel();

    await waitFor('it is offered', () => names(live).includes('posters'));
  });
});

describe('the providers that come with Darkroom', () => {
  it('are valid, and offer nothing without a setting', async () => {
    const { providers, definitions, problems } = await createModelReader(PROTOCOLS)(
      await readModelTexts([packageFile('models')]),
    );
    assert.deepEqual(problems, []);
    assert.ok(providers.length > 0);
    const offered = await openLiveCatalogue({
      directories: [packageFile('models')],
      protocols: PROTOCOLS,
      definitions: { pin: async () => {} },
      logger: silentLogger(),
      now: Date.now,
    });
    catalogue = offered;
    assert.ok(offered.models.length < definitions.length);
    for (const { missing, provider } of offered.providers()) assert.notEqual(missing, undefined, provider.name);
    assert.equal((await loadModels([packageFile('models')], PROTOCOLS)).length, offered.models.length);
  });

  it('know what finished work costs, unless the server is one of our own', async () => {
    const read = createModelReader(PROTOCOLS);
    const { providers, definitions } = await read(await readModelTexts([packageFile('models')]));
    const ownServers = new Set(providers.filter(({ isSelfHosted }) => isSelfHosted === true).map(({ name }) => name));
    const unknown = definitions.flatMap((model) => {
      if (model.modality === 'text') return [];
      const upstreams = Object.values(model.routes).flatMap((route) => route.upstreams);
      const isKnown = upstreams.every((upstream) => {
        const http = findBinding(upstream);
        const isReported = http?.cost !== undefined || http?.submit.cost !== undefined;
        return upstream.provider === undefined || ownServers.has(upstream.provider) || isReported || upstream.cost;
      });
      return isKnown ? [] : [model.name];
    });
    // It is charged in tokens of sound, and does not report them.
    assert.deepEqual(unknown, ['openai/gpt-4o-mini-tts']);
  });
});
