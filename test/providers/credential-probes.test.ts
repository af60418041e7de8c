/** Which credentials providers accept: asked without cost, shared by all processes, and never guessed. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { broken, startService } from '@darkroom/testing/answering-service';
import type { Answer } from '@darkroom/testing/answering-service';
import { waitFor } from '@darkroom/testing/wait-for';
import { createOffer, findMissing } from '../../src/catalogue/offer.ts';
import type { ProviderFile } from '../../src/catalogue/provider-file.ts';
import { createCredentialProbes } from '../../src/providers/credential-probes.ts';
import type { CredentialProbes } from '../../src/providers/credential-probes.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { definition } from '../catalogue/definitions.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';

const status =
  (code: number): Answer =>
  (_request, response) => {
    response.writeHead(code, { 'content-type': 'application/json' }).end('{}');
  };

describe('the credentials of providers', () => {
  let testDatabase: TestDatabase;
  before(async () => {
    testDatabase = await createTestDatabase();
  });
  after(() => testDatabase.close());

  /** One process, with a credential that a test can change. */
  function openProcess(secrets: Readonly<Record<string, string>>): CredentialProbes {
    return createCredentialProbes({
      database: testDatabase.database,
      settings: { get: (name) => secrets[name], baseUrlOf: () => undefined, onChange: () => () => {} },
      encryptionKey: 'a key of tests',
      logger: silentLogger(),
      intervalMs: 20,
    });
  }

  function offeredAt(baseUrl: string, changes: Partial<ProviderFile> = {}) {
    const name = `acme${++made}`;
    const provider: ProviderFile = {
      name,
      title: 'Acme',
      checkedAt: '2026-11-28',
      probe: { path: '/models' },
      upstream: { protocol: 'openai', baseUrl },
      ...changes,
    };
    const upstream = { provider: name, id: name, protocol: 'openai', baseUrl, secret: name, model: 'm' };
    return {
      provider,
      models: [definition({ name: `${name}/images`, routes: { default: { upstreams: [upstream] } } })],
    };
  }
  let made = 0;

  for (const [code, state] of [
    [200, 'valid'],
    [401, 'rejected'],
    [403, 'unknown'],
    [429, 'unknown'],
    [500, 'unknown'],
  ] as const) {
    it(`are ${state} after ${code}`, async () => {
      await using service = await startService(status(code));
      const offered = offeredAt(service.url);
      const probes = openProcess({ [offered.provider.name]: 'sk-made-up' });

      await probes.probe(offered);

      assert.deepEqual(
        probes.of(offered).map((each) => each.state),
        [state],
      );
      const [request] = service.received;
      assert.equal(`${request?.method} ${request?.url}`, 'GET /models');
      assert.equal(request?.headers.authorization, 'Bearer sk-made-up');
      await probes.close();
    });
  }

  it('that are rejected take their models off sale, with the reason, until another is set', async () => {
    await using service = await startService(status(401), status(200));
    const offered = offeredAt(service.url);
    const { name } = offered.provider;
    const secrets = { [name]: 'sk-made-up' };
    const probes = openProcess(secrets);
    const settings = {
      hasCredential: (credential: string) => credential in secrets,
      baseUrlOf: () => undefined,
      isRejected: (provider: string, credential: string) => probes.isRejected(provider, credential),
    };
    const offer = createOffer(settings);
    const known = { definitions: offered.models, providers: [offered.provider] };
    let changes = 0;
    probes.onChange(() => changes++);
    assert.equal(offer(known).length, 1, 'nothing is known yet');

    await probes.probe(offered);

    assert.deepEqual([offer(known).length, findMissing(offered.provider, settings)], [0, 'valid_credential']);
    assert.equal(changes, 1);

    secrets[name] = 'sk-right';
    await probes.probe(offered);
    assert.deepEqual([offer(known).length, findMissing(offered.provider, settings)], [1, undefined]);
    await probes.close();
  });

  it('stay as they were when the provider cannot be reached', async () => {
    await using service = await startService(status(401), broken);
    const offered = offeredAt(service.url);
    const secrets = { [offered.provider.name]: 'sk-made-up' };
    const probes = openProcess(secrets);
    await probes.probe(offered);
    await probes.probe(offered);
    assert.equal(probes.of(offered)[0]?.state, 'rejected');

    await using gone = await startService(broken);
    const other = offeredAt(gone.url);
    secrets[other.provider.name] = 'sk-another';
    await probes.probe(other);
    assert.equal(probes.of(other)[0]?.state, 'unknown');
    assert.equal(probes.isRejected(other.provider.name, other.provider.name), false);
    await probes.close();
  });

  it('are asked about once for all processes, which all know the answer', async () => {
    await using service = await startService(status(401));
    const offered = offeredAt(service.url);
    const secrets = { [offered.provider.name]: 'sk-shared' };
    const processes = [openProcess(secrets), openProcess(secrets), openProcess(secrets)];
    for (const probes of processes) probes.follow(() => [{ ...offered, missing: undefined }]);

    for (const probes of processes) {
      await waitFor('it knows', () => probes.isRejected(offered.provider.name, offered.provider.name));
    }

    assert.equal(service.received.length, 1);
    await Promise.all(processes.map((probes) => probes.close()));
  });

  it('cannot be checked where the file of the provider names no request', async () => {
    const { probe: _, ...provider } = offeredAt('http://127.0.0.1:9').provider;
    const offered = { provider, models: [] };
    const probes = openProcess({ [provider.name]: 'sk-any' });

    await probes.probe(offered);

    assert.equal(probes.of(offered)[0]?.state, 'not_checkable');
    await probes.close();
  });
});
