/** `admin secrets`: rotating the keys from the command line, on any installation and on the file of `npm start`. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { createAccount } from '../../src/accounts/accounts.ts';
import { createWebhookKeys } from '../../src/accounts/webhook-key.ts';
import { removeInstance, writeInstance } from '../../src/embedded/instance.ts';
import { readOrMakeSecrets } from '../../src/embedded/secrets.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { runAdminCommand } from './admin-command.ts';

const OLD = 'the old encryption key of 32 characters or more';
const NEW = 'the new encryption key of 32 characters or more';
const ROTATING = { ENCRYPTION_KEY: NEW, ENCRYPTION_KEY_FALLBACKS: OLD };

let room: TestDatabase;
before(async () => {
  room = await createTestDatabase();
});
after(() => room.close());

async function admin(environment: Record<string, string>, ...args: string[]) {
  const result = await runAdminCommand(['secrets', ...args, '--json'], environment);
  return { ...result, printed: result.code === 0 ? (JSON.parse(result.stdout) as Record<string, unknown>) : {} };
}

async function store(key: string): Promise<string> {
  return room.database.transaction(async (transaction) => {
    const accountId = await createAccount(transaction, 'test');
    await createWebhookKeys(key).replace(transaction, accountId, 'a secret of sixteen letters', Date.now());
    return accountId;
  });
}

describe('admin secrets', () => {
  beforeEach(() => room.database.query({ name: 'forget_all', text: 'DELETE FROM webhook_keys' }));

  it('explains itself', async () => {
    const { code, stdout } = await runAdminCommand(['secrets', 'reencrypt', '--help'], {});

    assert.equal(code, 0);
    assert.match(stdout, /may\s+be interrupted and repeated/);
    assert.match(stdout, /--batch-size/);
  });

  it('encrypts anew, reports progress, and says when the old key can be removed', async () => {
    const environment = { DATABASE_URL: room.url, ...ROTATING };
    await store(OLD);
    await store(OLD);
    await store(NEW);

    const before = await admin(environment, 'status');
    const done = await admin(environment, 'reencrypt', '--batch-size', '2');
    const again = await admin(environment, 'reencrypt');

    assert.match(String(before.printed['encryptionKeyFallbacks']), /^needed by 2 stored secrets/);
    assert.equal(done.printed['reencrypted'], 2);
    assert.match(done.stderr, /pass 1: 2 read, \d encrypted anew\npass 1: 3 read, 2 encrypted anew/);
    assert.match(String(done.printed['encryptionKeyFallbacks']), /^can be removed, if every api and worker/);
    assert.equal(again.printed['reencrypted'], 0);
    const alone = await admin({ DATABASE_URL: room.url, ENCRYPTION_KEY: NEW }, 'status');
    assert.deepEqual([alone.printed['current'], alone.printed['encryptionKeyFallbacks']], [3, 'none']);
  });

  it('fails where a secret can be decrypted by none of the keys, and names its account', async () => {
    const accountId = await store('a key that nobody has any more 32 characters');

    const { code, stdout } = await admin({ DATABASE_URL: room.url, ...ROTATING }, 'status');

    assert.equal(code, 1);
    assert.deepEqual((JSON.parse(stdout) as { undecryptableAccounts: unknown }).undecryptableAccounts, [accountId]);
  });

  it('says how long the old URL signing key is needed', async () => {
    const environment = { DATABASE_URL: room.url, ...ROTATING, URL_SIGNING_KEY_FALLBACKS: OLD };

    const { printed } = await admin({ ...environment, URL_LIFETIME_SECONDS: '600' }, 'status');

    assert.match(String(printed['urlSigningKeyFallbacks']), /^can be removed 900 s after/);
  });
});

describe('admin secrets of npm start', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'darkroom-secrets-'));
    await room.database.query({ name: 'forget_all', text: 'DELETE FROM webhook_keys' });
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  /** What a start of `npm start` makes of the file. */
  async function start(startedAt: Date): Promise<Awaited<ReturnType<typeof readOrMakeSecrets>>> {
    const secrets = await readOrMakeSecrets(folder, false);
    await writeInstance({
      apiUrl: '',
      adminUrl: '',
      temporalAddress: '',
      databaseUrl: room.url,
      storeUrl: '',
      dataDir: folder,
      startedAt: startedAt.toISOString(),
      environment: {
        DATABASE_URL: room.url,
        URL_SIGNING_KEY: secrets.urlSigningKey,
        ENCRYPTION_KEY: secrets.encryptionKey,
        URL_SIGNING_KEY_FALLBACKS: secrets.urlSigningKeyFallbacks?.join(',') ?? '',
        ENCRYPTION_KEY_FALLBACKS: secrets.encryptionKeyFallbacks?.join(',') ?? '',
      },
    });
    return secrets;
  }

  it('rotates its file, and forgets the old keys when nothing needs them', async () => {
    const long = new Date(Date.now() - 24 * 3_600_000);
    const before = await start(long);
    await store(before.encryptionKey);
    const run = (command: string) => admin({}, command, '--data-dir', folder);

    assert.equal((await run('rotate')).code, 0);
    assert.match((await run('rotate')).stderr, /finish it|restart it/);
    assert.match((await run('forget')).stderr, /does not run with the keys/);
    const rotated = await start(new Date());
    assert.deepEqual(rotated.encryptionKeyFallbacks, [before.encryptionKey]);
    assert.deepEqual(rotated.urlSigningKeyFallbacks, [before.urlSigningKey]);
    assert.equal(rotated.postgresPassword, before.postgresPassword);
    assert.match((await run('forget')).stderr, /1 stored secrets need the old key/);
    assert.equal((await run('reencrypt')).printed['reencrypted'], 1);
    assert.match((await run('forget')).stderr, /valid for up to \d+ s more/);
    await start(long);
    assert.equal((await run('forget')).code, 0);

    const after = await start(new Date());
    assert.equal(after.encryptionKeyFallbacks, undefined);
    assert.equal(after.encryptionKey, rotated.encryptionKey);
    await removeInstance(folder);
  });
});
