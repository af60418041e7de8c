/** `admin providers` and `admin models providers`: the keys of providers from the command line. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { createSecretCipher } from '../../src/accounts/secret-cipher.ts';
import { ownerOf, readStoredSettings } from '../../src/accounts/stored-upstream-settings.ts';
import { openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { ENCRYPTION_KEY, publishInstance, runAdminInHost } from './admin-command.ts';
import { programEnvironment } from '../support/pooled-run.ts';

let room: TaskRoom;
let directory: string;
before(async () => {
  room = await openTaskRoom();
  directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-providers-'));
});
afterEach(() => room.database.query({ name: 'forget_settings', text: 'DELETE FROM upstream_settings' }));
after(async () => {
  await rm(directory, { recursive: true });
  await room.close();
});

async function admin(args: readonly string[], environment: Record<string, string> = {}) {
  return runAdminInHost([...args, '--json'], { ...programEnvironment(room.url), ENCRYPTION_KEY, ...environment });
}

async function statusOf(name: string, environment: Record<string, string> = {}): Promise<string | undefined> {
  const { code, stdout, stderr } = await admin(['models', 'providers'], environment);
  assert.equal(code, 0, stderr);
  const listed = JSON.parse(stdout) as readonly { provider: string; status: string }[];
  return listed.find(({ provider }) => provider === name)?.status;
}

async function keyFile(content: string): Promise<string> {
  const file = path.join(directory, 'key');
  await writeFile(file, content);
  return file;
}

describe('admin models providers', () => {
  it('lists what is offered, whatever the source of the key', async () => {
    assert.equal(await statusOf('runway'), 'available with a key');
    assert.equal(await statusOf('runway', { UPSTREAM_RUNWAY_KEY: 'key' }), 'offered');
    assert.equal(await statusOf('runway', { UPSTREAM_RUNWAY_KEY_FILE: await keyFile('key\n') }), 'offered');
    assert.equal(await statusOf('runway', { UPSTREAM_RUNWAY_KEY_FILE: '/not/there' }), 'available with a key');
    await publishInstance(directory, {
      databaseUrl: room.url,
      environment: { ...programEnvironment(room.url), ENCRYPTION_KEY },
      upstreamKeys: ['runway'],
    });
    const ofInstallation = ['models', 'providers', '--data-dir', directory, '--json'];
    const { stdout } = await runAdminInHost(ofInstallation, {});
    assert.match(stdout, /"provider": ?"runway",\s*"title": ?"Runway",\s*"status": ?"offered"/);
    assert.equal((await admin(['providers', 'list'])).stdout, (await admin(['models', 'providers'])).stdout);
  });
});

describe('admin providers', () => {
  it('stores a key encrypted, and removes it', async () => {
    const set = await admin(['providers', 'set', 'runway', '--key-file', await keyFile('key_1234\n')]);
    assert.equal(set.code, 0, set.stderr);
    assert.deepEqual(JSON.parse(set.stdout), { provider: 'runway', stored: ['key'] });
    const [row] = await readStoredSettings(room.database);
    assert.ok(row?.encrypted !== null && row !== undefined);
    assert.equal(createSecretCipher(ENCRYPTION_KEY).decrypt(ownerOf('runway'), row.encrypted).secret, 'key_1234');
    assert.doesNotMatch(set.stdout + set.stderr, /key_1234/);
    assert.equal(await statusOf('runway'), 'offered');

    const removed = await admin(['providers', 'remove', 'runway']);
    assert.equal(removed.code, 0, removed.stderr);
    assert.deepEqual(await readStoredSettings(room.database), []);
  });

  it('stores a URL without a key', async () => {
    const { code, stderr } = await admin(['providers', 'set', 'runway', '--url', 'https://proxy.example/v1']);

    assert.equal(code, 0, stderr);
    const [row] = await readStoredSettings(room.database);
    assert.deepEqual([row?.baseUrl, row?.encrypted], ['https://proxy.example/v1', null]);
  });

  it('rejects what is no provider, no key and no URL, and stores nothing', async () => {
    for (const [args, problem] of [
      [['set', 'nobody', '--url', 'https://a.example'], /there is no provider of that name/],
      [['set', 'runway', '--url', 'a.example'], /baseUrl: want/],
      [['set', 'runway', '--key-file', await keyFile(' \n')], /it is empty/],
      [['set', 'runway', '--key-file', '/not/there'], /cannot be read/],
      [['set', 'runway', '--key-file', directory], /cannot be read/],
      [['remove', 'nobody'], /there is no provider of that name/],
    ] as const) {
      const { code, stderr } = await admin(['providers', ...args]);
      assert.equal(code, 1, args.join(' '));
      assert.match(stderr, problem);
    }
    await keyFile('two words');
    assert.match(
      (await admin(['providers', 'set', 'runway', '--key-file', path.join(directory, 'key')])).stderr,
      /visible ASCII/,
    );
    assert.deepEqual(await readStoredSettings(room.database), []);
  });
});
