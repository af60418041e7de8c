/** Providers as operators see and change them, on a real catalogue that follows the settings. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { definitionHash } from '../../src/catalogue/definition.ts';
import { openLiveCatalogue } from '../../src/catalogue/live-catalogue.ts';
import type { LiveCatalogue } from '../../src/catalogue/live-catalogue.ts';
import { recordVerification } from '../../src/catalogue/live-verifications.ts';
import { PROTOCOLS } from '../../src/providers/protocols.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { definition } from '../catalogue/definitions.ts';
import { raw } from './raw-request.ts';
import { ADMIN_TOKEN, serveAdmin } from './serve-admin.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import type { Static } from 'typebox';
import type { AdminProviderSchema } from '@darkroom/api/admin/admin-providers';

type WireProvider = Static<typeof AdminProviderSchema>;

const upstream = {
  protocol: 'http',
  baseUrl: 'https://api.acme.example',
  http: {
    auth: { scheme: 'jwt-hs256' },
    submit: { path: "'/jobs'", body: '{}' },
    jobId: 'id',
    poll: { path: "'/jobs/' & $jobId", state: 'state' },
    outputs: 'urls',
  },
};
const provider = (name: string, changes: object = {}): object => ({
  name,
  title: name.toUpperCase(),
  documentation: 'https://acme.example/docs',
  checkedAt: '2026-11-27',
  upstream,
  ...changes,
});

let directory: string;
let admin: Awaited<ReturnType<typeof serveAdmin>>;
let catalogue: LiveCatalogue;
before(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-providers-'));
  for (const [name, changes] of [
    ['acme', {}],
    ['comfy', { credential: 'none', isSelfHosted: true, upstream: { protocol: 'openai' } }],
  ] as const) {
    const at = path.join(directory, 'providers', name);
    await mkdir(at, { recursive: true });
    await writeFile(path.join(at, 'provider.json'), JSON.stringify(provider(name, changes)));
    const routes = { default: { upstreams: [{ provider: name, model: 'm' }] } };
    await writeFile(path.join(at, 'model.json'), JSON.stringify({ ...definition({ name: `${name}/images` }), routes }));
  }
  admin = await serveAdmin({ environment: { TRUSTED_PROXIES: '127.0.0.0/8' } });
  const { http } = admin.served;
  catalogue = await openLiveCatalogue({
    directories: [directory],
    protocols: PROTOCOLS,
    definitions: http.definitions,
    settings: http.upstreamSettings,
    logger: silentLogger(),
    now: Date.now,
  });
  // The context is created with the catalogue of the room, which follows no files.
  Object.assign(http, { catalogue });
});
after(async () => {
  await catalogue.close();
  await admin.close();
  await rm(directory, { recursive: true, force: true });
});

async function call(method: string, at: string, body?: object, status = 200): Promise<unknown> {
  const headers = { Authorization: `Bearer ${ADMIN_TOKEN}`, 'Content-Type': 'application/json' };
  const answer = await raw(admin.url, method, at, headers, body === undefined ? undefined : JSON.stringify(body));
  assert.equal(answer.status, status, answer.text);
  const parsed = JSON.parse(answer.text) as { data?: unknown };
  return status === 200 ? parsed.data : parsed;
}

const list = async (): Promise<readonly WireProvider[]> =>
  ((await call('GET', '/admin/providers')) as { providers: WireProvider[] }).providers;

describe('GET /admin/providers', () => {
  it('says what each needs, and what it offers', async () => {
    const [acme, comfy] = await list();

    assert.deepEqual(acme, {
      name: 'acme',
      title: 'ACME',
      documentation: 'https://acme.example/docs',
      keys: null,
      checkedAt: '2026-11-27',
      missing: 'credential',
      credential: { need: 'required', source: null, checks: [] },
      baseUrl: { url: 'https://api.acme.example', source: null },
      models: [{ name: 'acme/images', modality: 'image', isOffered: false, verification: null }],
    });
    assert.deepEqual([comfy?.missing, comfy?.credential.need, comfy?.baseUrl.url], ['base_url', 'none', null]);
  });
});

describe('the verification of a model', () => {
  /** The last run of its only upstream. */
  async function run(outcome: 'success' | 'fail', hash: string): Promise<WireProvider['models'][number] | undefined> {
    const position = { provider: 'acme', model: 'acme/images', route: 'default', upstream: 0 };
    const result = { definitionHash: hash, outcome, detail: '', members: undefined, costMicroUsd: 0n };
    await recordVerification(admin.served.room.database, position, result);
    return (await list())[0]?.models[0];
  }

  it('is that of its last run, and counts for the definition that was run', async () => {
    const [model] = catalogue.providers().find(({ provider: { name } }) => name === 'acme')?.models ?? [];
    assert.ok(model !== undefined);
    const hash = definitionHash(model);

    const success = await run('success', hash);
    assert.equal(success?.verification?.outcome, 'success');
    assert.ok(Math.abs((success.verification.at ?? 0) - Date.now() / 1_000) < 60);
    assert.equal((await run('fail', hash))?.verification?.outcome, 'fail');
    assert.equal((await run('success', definitionHash({ ...model, description: 'changed' })))?.verification, null);
    assert.equal((await list())[1]?.models[0]?.verification, null);
  });
});

describe('PUT and DELETE /admin/providers/{provider}', () => {
  it('offer and withdraw the models of a provider, without a restart and without showing the credential', async () => {
    const set = (await call('PUT', '/admin/providers/acme', { credential: ' issuer:key\n' })) as WireProvider;
    assert.deepEqual([set.missing, set.credential.source, set.models[0]?.isOffered], [null, 'stored', true]);
    assert.doesNotMatch(JSON.stringify(await list()), /issuer:key/);
    assert.equal(admin.served.http.upstreamSettings.get('acme'), 'issuer:key');

    const reset = (await call('DELETE', '/admin/providers/acme')) as WireProvider;
    assert.deepEqual([reset.missing, reset.models[0]?.isOffered], ['credential', false]);
    // Nothing is left to delete.
    await call('DELETE', '/admin/providers/acme');
  });

  it('set the URL of a server that users host', async () => {
    await call('PUT', '/admin/providers/comfy', { baseUrl: 'http://10.0.0.7:8188' });
    await waitFor('its model is offered', () => catalogue.available().some(({ name }) => name === 'comfy/images'));
    assert.equal((await list())[1]?.baseUrl.url, 'http://10.0.0.7:8188');

    await call('PUT', '/admin/providers/comfy', { baseUrl: null });
    await waitFor('its model is withdrawn', () => catalogue.available().length === 0);
  });

  const rejected: readonly (readonly [string, string, object, RegExp])[] = [
    ['a credential of another form', 'acme', { credential: 'key' }, /credential.*issuer:key/],
    ['a credential for a provider that takes none', 'comfy', { credential: 'key' }, /takes none/],
    ['a URL with a user', 'comfy', { baseUrl: 'http://user:word@10.0.0.7' }, /baseUrl/],
    ['a URL of a file', 'comfy', { baseUrl: 'file:///etc/passwd' }, /baseUrl/],
    ['nothing', 'acme', {}, /invalid request/],
    ['an unknown member', 'acme', { key: 'a:b' }, /key/],
    ['an empty credential', 'acme', { credential: '' }, /credential/],
    ['a credential that is too long', 'acme', { credential: `a:${'b'.repeat(20_000)}` }, /credential/],
  ];
  for (const [what, name, body, message] of rejected) {
    it(`reject ${what}, and repeat nothing of it`, async () => {
      const answer = JSON.stringify(await call('PUT', `/admin/providers/${name}`, body, 400));

      assert.match(answer, message);
      assert.doesNotMatch(answer, /user:word|bbbb/);
      assert.deepEqual(await admin.served.room.rows('SELECT name FROM upstream_settings'), []);
    });
  }

  it('find no provider by another name', async () => {
    for (const name of ['none', 'ACME', '..%2f..', 'a'.repeat(300)]) {
      await call('PUT', `/admin/providers/${name}`, { credential: 'a:b' }, 404);
    }
  });
});
