/** The credentials and URLs of upstreams in a running process: their sources, and how it follows their changes. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { execFile } from 'node:child_process';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { createSecretCipher } from '../../src/accounts/secret-cipher.ts';
import { countSecrets, reencryptSecrets } from '../../src/accounts/stored-secrets.ts';
import type { UpstreamEnvironment } from '../../src/config/environment.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { storeSetting } from '../../src/accounts/stored-upstream-settings.ts';
import { createUpstreamSettings } from '../../src/upstreams/upstream-settings.ts';
import type { UpstreamSettings } from '../../src/upstreams/upstream-settings.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { createLogLines } from '../providers/log-lines.ts';
import { openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { unreachableDatabase } from '../http/serve.ts';

const KEY = 'an encryption key of 32 characters or more';
const OTHER_KEY = 'another encryption key of 32 characters or more';
const NEVER_MS = 3_600_000;

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom();
});
after(() => room.close());

let directory: string;
let opened: UpstreamSettings[];
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-settings-'));
  opened = [];
  await room.database.query({ name: 'forget_settings', text: 'DELETE FROM upstream_settings' });
});
afterEach(async () => {
  await Promise.all(opened.map((settings) => settings.close()));
  await rm(directory, { recursive: true, force: true });
});

function open(
  environment: Partial<UpstreamEnvironment> = {},
  options: Partial<Parameters<typeof createUpstreamSettings>[0]> = {},
): UpstreamSettings {
  const settings = createUpstreamSettings({
    environment: { secrets: {}, secretFiles: {}, baseUrls: {}, ...environment },
    database: room.database,
    cipher: createSecretCipher(KEY),
    logger: silentLogger(),
    storedMs: NEVER_MS,
    filesMs: NEVER_MS,
    ...options,
  });
  opened.push(settings);
  return settings;
}

const store = (name: string, change: Parameters<typeof storeSetting>[3], key = KEY): Promise<void> =>
  storeSetting(room.database, createSecretCipher(key), name, change);

describe('the settings of upstreams', () => {
  it('come from the environment before a file, and from a file before what is stored', async () => {
    const file = path.join(directory, 'key');
    await writeFile(file, 'of the file\n');
    for (const name of ['one', 'two', 'three']) await store(name, { secret: 'stored', baseUrl: 'http://stored' });
    const settings = open({
      secrets: { one: 'of the environment' },
      secretFiles: { two: file },
      baseUrls: { one: 'http://environment' },
    });

    await settings.refresh();

    const found = ['one', 'two', 'three', 'four'].map((name) => [
      settings.get(name),
      settings.credentialSourceOf(name),
    ]);
    assert.deepEqual(found, [
      ['of the environment', 'environment'],
      ['of the file', 'file'],
      ['stored', 'stored'],
      [undefined, undefined],
    ]);
    assert.deepEqual(
      [settings.baseUrlOf('one'), settings.baseUrlSourceOf('one')],
      ['http://environment', 'environment'],
    );
    assert.deepEqual([settings.baseUrlOf('two'), settings.baseUrlSourceOf('two')], ['http://stored', 'stored']);
    assert.equal(settings.hasCredential('FOUR'), false);
    assert.equal(settings.get('Three'), 'stored');
  });

  it('are stored encrypted, and bound to their name', async () => {
    await store('one', { secret: 'sk-secret' });
    await store('two', { secret: 'other' });
    await room.database.query({
      name: 'swap',
      text: `UPDATE upstream_settings SET secret_ciphertext =
               (SELECT secret_ciphertext FROM upstream_settings WHERE name = 'one') WHERE name = 'two'`,
    });
    const rows = await room.rows<{ row: string }>('SELECT s::text AS row FROM upstream_settings s');
    const settings = open();

    await settings.refresh();

    assert.doesNotMatch(JSON.stringify(rows), new RegExp(Buffer.from('sk-secret').toString('hex')));
    assert.equal(settings.get('one'), 'sk-secret');
    assert.equal(settings.get('two'), undefined);
  });

  it('stay apart: each can be changed and removed by itself', async () => {
    const settings = open();
    await store('one', { secret: 'key', baseUrl: 'http://one' });
    await store('one', { secret: null });
    await settings.refresh();
    assert.deepEqual([settings.get('one'), settings.baseUrlOf('one')], [undefined, 'http://one']);

    await store('one', { secret: 'new' });
    await store('one', { baseUrl: null });
    await settings.refresh();
    assert.deepEqual([settings.get('one'), settings.baseUrlOf('one')], ['new', undefined]);

    await store('one', { secret: null });
    await settings.refresh();
    assert.deepEqual(await room.rows('SELECT name FROM upstream_settings'), []);
  });

  it('of another process are adopted by the next poll, with a notification', async () => {
    const settings = open({}, { storedMs: 50 });
    let changes = 0;
    const stop = settings.onChange(() => changes++);
    await settings.refresh();

    await store('one', { secret: 'key' });
    await waitFor('it is there', () => settings.get('one') === 'key');
    assert.equal(changes, 1);
    stop();
    await store('one', { secret: 'another' });
    await waitFor('it is the other one', () => settings.get('one') === 'another');
    assert.equal(changes, 1);
  });

  it('stay as they are while the database is unavailable', async () => {
    const database = unreachableDatabase();
    const settings = open({ secrets: { one: 'key' } }, { database });

    await settings.refresh();

    assert.equal(settings.get('one'), 'key');
    await database.close();
  });

  it('encrypted with an unknown key count as none, are counted, and can be encrypted anew', async () => {
    await store('old', { secret: 'key' }, OTHER_KEY);
    await store('new', { secret: 'key' });
    const settings = open();
    await settings.refresh();
    assert.deepEqual([settings.get('old'), settings.get('new')], [undefined, 'key']);

    const { undecryptable, undecryptableUpstreams } = await countSecrets(room.database, createSecretCipher(KEY), 10);
    assert.deepEqual([undecryptable, undecryptableUpstreams], [1, ['old']]);

    const rotating = createSecretCipher(KEY, OTHER_KEY);
    assert.equal(await reencryptSecrets(room.database, rotating, 10, () => {}), 1);
    await settings.refresh();
    assert.equal(settings.get('old'), 'key');
  });
});

describe('the file with a credential', () => {
  it('may appear, change and disappear while the process runs', async () => {
    const file = path.join(directory, 'key');
    const settings = open({ secretFiles: { acme: file } });
    const seen: (string | undefined)[] = [];
    settings.onChange(() => seen.push(settings.get('acme')));
    assert.equal(settings.get('acme'), undefined);

    await writeFile(file, ' first \n');
    await waitFor('it is read', () => settings.get('acme') === 'first');
    await writeFile(`${file}.new`, 'second');
    await rename(`${file}.new`, file);
    await waitFor('the new one is read', () => settings.get('acme') === 'second');
    await unlink(file);
    await waitFor('it is gone', () => settings.get('acme') === undefined);
    assert.deepEqual(seen, ['first', 'second', undefined]);
  });

  it('may be in a mounted volume, whose directory is replaced as a whole', async () => {
    const mount = path.join(directory, 'mount');
    await mkdir(mount);
    for (const [version, key] of [
      ['v1', 'first'],
      ['v2', 'second'],
    ] as const) {
      await mkdir(path.join(mount, version));
      await writeFile(path.join(mount, version, 'key'), key);
    }
    await symlink('v1', path.join(mount, '..data'));
    await symlink(path.join('..data', 'key'), path.join(mount, 'key'));
    const settings = open({ secretFiles: { acme: path.join(mount, 'key') } });
    assert.equal(settings.get('acme'), 'first');

    await symlink('v2', path.join(mount, '..new'));
    await rename(path.join(mount, '..new'), path.join(mount, '..data'));

    await waitFor('the new one is read', () => settings.get('acme') === 'second');
  });

  it('is found by polling where nothing reports a change', async () => {
    const file = path.join(directory, 'later', 'key');
    const settings = open({ secretFiles: { acme: file } }, { filesMs: 50 });

    await mkdir(path.dirname(file));
    await writeFile(file, 'key');

    await waitFor('it is read', () => settings.get('acme') === 'key');
  });

  it('counts as none when it is empty or no credential, and the log says what is wrong with it', async () => {
    const contents = {
      limit: 'x'.repeat(65_536),
      marked: '\uFEFFthe key\r\n',
      empty: '\n',
      large: 'x'.repeat(65_537),
      huge: Buffer.alloc(10_000_000, 'x'),
      binary: Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff]),
      nul: 'the\0key',
    };
    for (const [name, content] of Object.entries(contents)) await writeFile(path.join(directory, name), content);
    // Reading it would wait for a writer that never comes.
    await promisify(execFile)('mkfifo', [path.join(directory, 'pipe')]);
    await mkdir(path.join(directory, 'folder'));
    const names = [...Object.keys(contents), 'pipe', 'folder', 'missing'];
    const { logger, lines } = createLogLines();

    const settings = open(
      { secretFiles: Object.fromEntries(names.map((name) => [name, path.join(directory, name)])) },
      { logger },
    );

    assert.deepEqual(
      names.filter((name) => settings.hasCredential(name)),
      ['limit', 'marked'],
    );
    assert.equal(settings.get('marked'), 'the key');
    const said = Object.fromEntries(lines.map(({ credentialName, problem, msg }) => [credentialName, problem ?? msg]));
    assert.match(String(said['empty']), /missing or empty; it is used once it has one$/);
    assert.equal(said['missing'], said['empty']);
    assert.match(String(said['large']), /^it has 65537 bytes, and a credential at most 65536$/);
    assert.match(String(said['huge']), /^it has 10000000 bytes/);
    assert.equal(said['binary'], 'it is not text in UTF-8');
    assert.equal(said['nul'], 'it has a NUL character');
    assert.deepEqual([said['pipe'], said['folder']], ['it is not a file', 'it is not a file']);
    assert.doesNotMatch(JSON.stringify(lines), /xxx|the.{1,6}key"/);
  });

  it('leaves the credential as it is while it contains none, and says so once', async () => {
    const file = path.join(directory, 'key');
    await writeFile(file, 'first');
    const { logger, lines } = createLogLines();
    const settings = open({ secretFiles: { acme: file } }, { logger, filesMs: 50 });
    const errors = () => lines.filter(({ level }) => level === 50).map(({ msg }) => String(msg));

    for (const [content, problem] of [
      [Buffer.alloc(100_000, 'x'), 'it has 100000 bytes, and a credential at most 65536'],
      [Buffer.from([0xff, 0xfe]), 'it is not text in UTF-8'],
    ] as const) {
      await writeFile(file, content);
      await waitFor('it is reported', () => errors().some((text) => text.endsWith(problem)));
      assert.match(errors().at(-1) ?? '', /cannot be used; the previous one stays in use: /);
      assert.equal(settings.get('acme'), 'first');
    }
    await writeFile(file, 'second');
    await waitFor('it is repaired', () => settings.get('acme') === 'second');
    assert.equal(errors().length, 2);

    await writeFile(file, '');
    await waitFor('it is gone', () => settings.get('acme') === undefined);
  });
});
