/** `admin secrets`: rotating the keys from the command line, on any installation and on the file of `npm start`. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { createAccount } from '../../src/accounts/accounts.ts';
import { createWebhookKeys } from '../../src/accounts/webhook-key.ts';
import { readInstance, writeInstance } from '../../src/standalone/instance.ts';
import { keyVariables } from '../../src/standalone/settings.ts';
import { readOrCreateSecrets } from '../../src/standalone/secrets.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { urlKeyId } from '../../src/objects/urls/url-keys.ts';
import { beginArchiving, beginHandling } from '../../src/tasks/lifecycle/transitions.ts';
import { body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { publishInstance, runAdminInHost } from './admin-command.ts';
import { programEnvironment } from '../support/pooled-run.ts';

const OLD = 'the old encryption key of 32 characters or more';
const NEW = 'the new encryption key of 32 characters or more';
const ROTATING = { ENCRYPTION_KEY: NEW, ENCRYPTION_KEY_FALLBACKS: OLD };

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom();
});
after(() => room.close());

async function admin(environment: Record<string, string>, ...args: string[]) {
  const result = await runAdminInHost(['secrets', ...args, '--json'], environment);
  return { ...result, printed: result.code === 0 ? (JSON.parse(result.stdout) as Record<string, unknown>) : {} };
}

async function store(key: string): Promise<string> {
  return room.database.transaction(async (transaction) => {
    const accountId = await createAccount(transaction, 'test');
    await createWebhookKeys(key).replace(transaction, accountId, 'a secret of sixteen letters', Date.now());
    return accountId;
  });
}

/** A task that is handled for the given time. @param signingKey of the worker that started it. */
async function begin(seconds: number, signingKey?: string): Promise<{ taskId: TaskId; deadline: string }> {
  const { taskId } = await room.creator.create(await room.newCaller(), body(), undefined);
  const keyId = signingKey === undefined ? undefined : urlKeyId(signingKey);
  await beginHandling(room.database, taskId, seconds, keyId);
  const [row] = await room.rows<{ deadline: Date }>('SELECT deadline_at AS deadline FROM tasks WHERE id = $1', taskId);
  return { taskId, deadline: row?.deadline.toISOString() ?? '' };
}

describe('admin secrets', () => {
  beforeEach(() => room.database.query({ name: 'forget_all', text: 'DELETE FROM webhook_keys' }));

  it('explains itself', async () => {
    const { code, stdout } = await runAdminInHost(['secrets', 'reencrypt', '--help'], {});

    assert.equal(code, 0);
    assert.match(stdout, /may\s+be interrupted and repeated/);
    assert.match(stdout, /--batch-size/);
  });

  it('re-encrypts, reports progress, and reports when the old key can be removed', async () => {
    const environment = { ...programEnvironment(room.url), ...ROTATING };
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
    const alone = await admin({ ...programEnvironment(room.url), ENCRYPTION_KEY: NEW }, 'status');
    assert.deepEqual([alone.printed['current'], alone.printed['encryptionKeyFallbacks']], [3, 'none']);
  });

  it('fails when no key can decrypt a secret, and names its account', async () => {
    const accountId = await store('a key that no one has any more 32 characters');

    const { code, stdout } = await admin({ ...programEnvironment(room.url), ...ROTATING }, 'status');

    assert.equal(code, 1);
    assert.deepEqual((JSON.parse(stdout) as { undecryptableAccounts: unknown }).undecryptableAccounts, [accountId]);
  });

  it('names the missing key, without a stack, when webhook-key cannot decrypt a secret', async () => {
    const accountId = await store('a lost encryption key of 32 characters or more');
    const environment = { ...programEnvironment(room.url), ...ROTATING };

    const { code, stderr } = await runAdminInHost(['webhook-key', 'show', '--account', accountId], environment);

    assert.equal(code, 1);
    assert.match(
      stderr,
      /^neither ENCRYPTION_KEY nor .* secret of acc_\w+ was encrypted with: add it to .*_FALLBACKS/m,
    );
    assert.doesNotMatch(stderr, /^ +at /m);
  });

  it('reports how long the old URL signing key is needed for downloads', async () => {
    const environment = { ...programEnvironment(room.url), ...ROTATING, URL_SIGNING_KEY_FALLBACKS: OLD };

    const { printed } = await admin({ ...environment, URL_LIFETIME_SECONDS: '600' }, 'status');

    assert.match(String(printed['urlSigningKeyFallbacks']), /^can be removed, if .* at least 900 s before/);
  });

  it('reports until when open tasks need the old URL signing key: only those that began with it', async () => {
    const environment = {
      ...programEnvironment(room.url),
      ...ROTATING,
      URL_SIGNING_KEY_FALLBACKS: `${'x'.repeat(32)},${OLD}`,
    };
    const advice = async () => String((await admin(environment, 'status')).printed['urlSigningKeyFallbacks']);
    await begin(90_000, NEW);
    await begin(-1, OLD);
    const unneeded = await advice();
    const ofOldKey = await begin(3_600, OLD);
    const unknown = await begin(7_200);

    const both = await advice();
    await beginArchiving(room.database, unknown.taskId);
    const one = await advice();
    await beginArchiving(room.database, ofOldKey.taskId);

    assert.match(unneeded, /^can be removed, if/);
    assert.ok(both.startsWith(`needed until ${unknown.deadline} by 2 open tasks`), both);
    assert.ok(one.startsWith(`needed until ${ofOldKey.deadline} by 1 open task:`), one);
    assert.match(await advice(), /^can be removed, if/);
  });
});

describe('admin secrets of npm start', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-secrets-'));
    await room.database.query({ name: 'forget_all', text: 'DELETE FROM webhook_keys' });
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  /** So long ago that no URL is valid any more. */
  const long = new Date(Date.now() - 24 * 3_600_000);
  const run = (command: string) => admin({}, command, '--data-dir', directory);

  /** How a start of `npm start` changes the file. */
  async function start(
    startedAt: Date,
    environment?: Readonly<Record<string, string>>,
  ): Promise<Awaited<ReturnType<typeof readOrCreateSecrets>>> {
    const secrets = await readOrCreateSecrets(directory, false);
    const keys = Object.entries({ ...environment, ...keyVariables(secrets, environment ?? {}) });
    await publishInstance(directory, {
      databaseUrl: room.url,
      startedAt: startedAt.toISOString(),
      environment: {
        ...programEnvironment(room.url),
        ...Object.fromEntries(keys.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))),
      },
    });
    return secrets;
  }

  it('keeps the old keys while a task is open that began with them', async () => {
    const { urlSigningKey } = await start(long);
    await run('rotate');
    await start(long);
    const { taskId, deadline } = await begin(3_600, urlSigningKey);

    const rejected = await run('forget');
    await beginArchiving(room.database, taskId);
    const allowed = await run('forget');

    assert.equal(rejected.code, 1);
    assert.match(rejected.stderr, /1 open task .* for up to 3[56]\d\d s more/);
    assert.ok(rejected.stderr.includes(deadline), rejected.stderr);
    assert.equal(allowed.code, 0, allowed.stderr);
  });

  it('rotates its file, and removes the old keys when nothing needs them', async () => {
    const before = await start(long);
    await store(before.encryptionKey);

    const { code, printed } = await run('rotate');
    assert.equal(code, 0);
    assert.equal(
      printed['next'],
      `restart npm start, then: npm run admin -- --data-dir '${directory}' secrets reencrypt`,
    );
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
  });

  it('waits for no URL of a leaked signing key, which its operator has removed from the file', async () => {
    await start(long);
    await run('rotate');
    const file = path.join(directory, 'secrets.json');
    const { urlSigningKeyFallbacks: _leaked, ...kept } = JSON.parse(await readFile(file, 'utf8')) as object & {
      urlSigningKeyFallbacks: unknown;
    };
    await writeFile(file, JSON.stringify(kept));
    await start(new Date());

    const { code, stderr } = await run('forget');

    assert.equal(code, 0, stderr);
  });

  it('keeps the old keys in use beside fallbacks of the environment, until no secret needs them', async () => {
    const before = await start(long);
    await store(OLD);
    await store(before.encryptionKey);
    await run('rotate');

    await start(long, { ENCRYPTION_KEY_FALLBACKS: OLD, URL_SIGNING_KEY_FALLBACKS: OLD });
    const { printed } = await run('status');
    const rejected = await run('forget');
    await run('reencrypt');
    const allowed = await run('forget');

    assert.deepEqual([printed['fallback'], printed['undecryptable']], [2, 0]);
    assert.match(rejected.stderr, /2 stored secrets need the old key: run secrets reencrypt first/);
    assert.equal(allowed.code, 0, allowed.stderr);
  });

  it('keeps the old keys when the installation runs without them', async () => {
    await store((await start(long)).encryptionKey);
    await run('rotate');
    const rotated = await start(long);
    const instance = await readInstance(directory);
    assert.ok(instance);

    // As if the variable had hidden the fallbacks of the file.
    await writeInstance({ ...instance, environment: { ...instance.environment, ENCRYPTION_KEY_FALLBACKS: OLD } });
    const rejected = await run('forget');

    assert.match(rejected.stderr, /does not run with the keys of its secrets\.json: restart it/);
    assert.deepEqual(await readOrCreateSecrets(directory, true), rotated);
  });
});
