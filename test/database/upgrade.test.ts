/** An installation of an earlier release continues after an upgrade: its ledger, its tasks and its promises. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { verifyLedger } from '../../src/billing/verify.ts';
import { packageFile } from '../../src/config/package-root.ts';
import { openDatabase } from '../../src/database/database.ts';
import type { Database } from '../../src/database/database.ts';
import { migrate, readInstallationId } from '../../src/database/migrate.ts';
import { createDiskStore } from '../../src/objects/stores/disk-store.ts';
import { markStore } from '../../src/objects/stores/claimed-store.ts';
import { reservePort } from '../support/reserve-port.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { ApiClient } from '../support/api-client.ts';
import { Role } from '../support/darkroom.ts';
import { programConfig, programEnvironment } from '../support/pooled-run.ts';
import { LAST_RELEASE, createReleaseDatabase, readReleaseFixture } from '../support/release-fixture.ts';
import type { ReleaseDatabase } from '../support/release-fixture.ts';
import { createTestNamespace, temporalAddress } from '../support/test-namespace.ts';
import type { TestNamespace } from '../support/test-namespace.ts';

describe(`an upgrade from ${LAST_RELEASE}`, () => {
  let release: ReleaseDatabase;
  let database: Database;
  let namespace: TestNamespace;
  let directory: string;
  let api: Role;
  let url: string;

  before(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-upgrade-'));
    release = await createReleaseDatabase(LAST_RELEASE);
    database = openDatabase({ ...programConfig(release.url), poolSize: 2 }, silentLogger());
    await migrate(release.url, database, silentLogger());
    const store = path.join(directory, 'store');
    // Its objects are not in the fixture.
    await markStore(createDiskStore(store), await readInstallationId(database));
    namespace = await createTestNamespace();
    const port = await reservePort();
    url = `http://127.0.0.1:${port}`;
    api = new Role(
      'api',
      {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        ...programEnvironment(release.url),
        TEMPORAL_ADDRESS: temporalAddress(),
        TEMPORAL_NAMESPACE: namespace.name,
        STORE_URL: `file://${store}`,
        URL_SIGNING_KEY: randomBytes(24).toString('hex'),
        ENCRYPTION_KEY: release.fixture.encryptionKey,
        PORT: String(port),
        PUBLIC_URL: url,
        EGRESS_ALLOW: 'http://127.0.0.1:28999',
        EGRESS_PORTS: '443,28999',
      },
      path.join(directory, 'log'),
    );
    await api.start();
  });

  after(async () => {
    await api.kill('SIGTERM');
    await namespace.close();
    await database.close();
    await release.close();
    await rm(directory, { recursive: true, force: true });
  });

  it('leaves a ledger that adds up', async () => {
    const [entries] = await database.query<{ count: string }>({
      name: 'count_entries',
      text: 'SELECT count(*) FROM ledger_entries',
    });

    assert.ok(Number(entries?.count) > 30, 'the fixture has entries to verify');
    assert.deepEqual(await verifyLedger(database), []);
  });

  it('reads every earlier task, in its status', async () => {
    const { accounts, tasks } = release.fixture.samples;
    const clients = accounts.map(({ key }) => new ApiClient([url], key));
    for (const [name, { taskId, status }] of Object.entries(tasks)) {
      const answers = await Promise.all(clients.map((client) => client.send('GET', `/v1/tasks/${taskId}`)));
      const found = answers.filter((answer) => answer.status === 200);

      assert.equal(found.length, 1, `${name} is read by its own account alone`);
      assert.equal(found[0]?.body.data.status, status, name);
    }
  });

  it('answers an earlier Idempotency-Key with its task, and charges nothing', async () => {
    const { key, idempotencyKey, body, taskId } = release.fixture.samples.replay;
    const client = new ApiClient([url], key);
    const balance = async (): Promise<unknown> => (await client.send('GET', '/v1/account')).body.data;
    const balanceBefore = await balance();

    const answer = await client.create(body, idempotencyKey);

    assert.equal(answer.status, 200, answer.body.message);
    assert.equal(answer.body.data.taskId, taskId);
    assert.equal(answer.headers.get('Idempotent-Replay'), 'true');
    assert.deepEqual(await balance(), balanceBefore);
  });

  it('rejects another body under that key', async () => {
    const { key, idempotencyKey, body } = release.fixture.samples.replay;

    const answer = await new ApiClient([url], key).create(
      { ...(body as object), storage: 'persistent' },
      idempotencyKey,
    );

    assert.equal(answer.status, 422);
  });
});

describe('released migrations', () => {
  it('never change: a database that ran them would differ from a new one', async () => {
    const { migrations } = await readReleaseFixture(LAST_RELEASE);

    assert.ok(Object.keys(migrations).length > 0);
    for (const [name, hash] of Object.entries(migrations)) {
      const text = await readFile(packageFile(path.join('migrations', name)), 'utf8');
      const found = createHash('sha256').update(text).digest('hex');
      assert.equal(found, hash, `${name} is released; until then, record the fixture anew (scripts/release-fixture)`);
    }
  });
});
