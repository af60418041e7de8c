import assert from 'node:assert/strict';
import { mkdir, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { PACKAGE_ROOT } from '../../src/config/package-root.ts';
import { resolveDataDirectory, openDataDirectory } from '../../src/standalone/data-directory.ts';
import { readOrCreateSecrets } from '../../src/standalone/secrets.ts';
import { temporaryDirectory } from './fixtures/supervised.ts';

describe('the data directory', () => {
  let parent: string;
  let directory: string;

  beforeEach(async () => {
    parent = await temporaryDirectory();
    directory = path.join(parent, 'data');
  });

  afterEach(() => rm(parent, { recursive: true, force: true }));

  it('is the one that the option names, then DATA_DIR, then data in the project', () => {
    assert.equal(resolveDataDirectory('/a', { DATA_DIR: '/b' }), '/a');
    assert.equal(resolveDataDirectory(undefined, { DATA_DIR: '/b' }), '/b');
    assert.equal(resolveDataDirectory('', { DATA_DIR: '' }), path.join(PACKAGE_ROOT, 'data'));
  });

  it('is created for its owner alone, and can be opened again', async () => {
    await (await openDataDirectory(directory)).release();
    assert.equal((await stat(directory)).mode & 0o066, 0);
    await (await openDataDirectory(directory)).release();
  });

  it('can be opened when an earlier start only created it', async () => {
    await mkdir(directory);
    await writeFile(path.join(directory, 'lock'), '');
    await (await openDataDirectory(directory)).release();
  });

  it('is rejected while another process uses it', async () => {
    const opened = await openDataDirectory(directory);
    await assert.rejects(openDataDirectory(directory), {
      name: 'StandaloneError',
      message: /already running .*process \d+/,
    });
    await opened.release();
  });

  it('is rejected when another release made it, and stays unchanged', async () => {
    await (await openDataDirectory(directory)).release();
    await writeFile(path.join(directory, 'VERSION'), '99\n');
    await assert.rejects(openDataDirectory(directory), {
      name: 'StandaloneError',
      message: /another release .*layout 99/,
    });
    assert.equal(await readFile(path.join(directory, 'VERSION'), 'utf8'), '99\n');
  });

  it('is rejected with a clear message when it is not a directory, or contains something else, which stays', async () => {
    await writeFile(directory, '');
    await assert.rejects(openDataDirectory(directory), { name: 'StandaloneError', message: /is not a folder/ });

    await assert.rejects(openDataDirectory(parent), {
      name: 'StandaloneError',
      message: /not empty and is not a data folder/,
    });
    assert.deepEqual(await readdir(parent), ['data']);
  });

  it('is rejected at once with the reason where it cannot be created', async () => {
    for (const [name, reason] of [
      ...(process.platform === 'linux' ? ([['/proc/none', 'the file system of /proc']] as const) : []),
      [path.join(parent, 'x'.repeat(300)), 'ENAMETOOLONG'],
    ] as const) {
      await assert.rejects(openDataDirectory(name), {
        name: 'StandaloneError',
        message: new RegExp(`^${name} cannot be created: ${reason}.+ --data-dir\\.$`),
      });
    }
  });
});

describe('the secrets of an installation', () => {
  let directory: string;

  beforeEach(async () => {
    directory = await temporaryDirectory();
  });

  afterEach(() => rm(directory, { recursive: true, force: true }));

  it('are created once, long, different from each other, and readable by their owner only', async () => {
    const made = await readOrCreateSecrets(directory, false);
    assert.equal(new Set(Object.values(made)).size, 4);
    for (const secret of Object.values(made)) assert.ok(String(secret).length >= 43);
    assert.equal((await stat(path.join(directory, 'secrets.json'))).mode & 0o777, 0o600);
    assert.deepEqual(await readOrCreateSecrets(directory, true), made);
  });

  it('are not created again beside a database that the old ones opened', async () => {
    await assert.rejects(readOrCreateSecrets(directory, true), { name: 'StandaloneError', message: /is missing/ });
  });

  it('are rejected when damaged, or when one of them is not a text, without being shown', async () => {
    const made = await readOrCreateSecrets(directory, false);
    for (const content of [JSON.stringify({ ...made, adminToken: 7 }), '{"urlSigningKey":"half of it']) {
      await writeFile(path.join(directory, 'secrets.json'), content);
      await assert.rejects(readOrCreateSecrets(directory, true), (error: Error) => {
        assert.equal(error.name, 'StandaloneError');
        assert.match(error.message, /is damaged/);
        assert.doesNotMatch(error.message, /half of it/);
        return true;
      });
    }
  });
});
