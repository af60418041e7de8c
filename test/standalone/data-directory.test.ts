import assert from 'node:assert/strict';
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { PACKAGE_ROOT } from '../../src/config/package-root.ts';
import { resolveDataDirectory, openDataDirectory } from '../../src/standalone/data-directory.ts';
import { readOrCreateSecrets } from '../../src/standalone/secrets.ts';
import { temporaryFolder } from './fixtures/supervised.ts';

describe('the data folder', () => {
  let parent: string;
  let folder: string;

  beforeEach(async () => {
    parent = await temporaryFolder();
    folder = path.join(parent, 'data');
  });

  afterEach(() => rm(parent, { recursive: true, force: true }));

  it('is the one that the option names, then DATA_DIR, then data in the project', () => {
    assert.equal(resolveDataDirectory('/a', { DATA_DIR: '/b' }), '/a');
    assert.equal(resolveDataDirectory(undefined, { DATA_DIR: '/b' }), '/b');
    assert.equal(resolveDataDirectory('', { DATA_DIR: '' }), path.join(PACKAGE_ROOT, 'data'));
  });

  it('is made for its owner alone, and opens again', async () => {
    await (await openDataDirectory(folder)).release();
    assert.equal((await stat(folder)).mode & 0o066, 0);
    await (await openDataDirectory(folder)).release();
  });

  it('opens when an earlier start got no further than making it', async () => {
    await mkdir(folder);
    await writeFile(path.join(folder, 'lock'), '');
    await (await openDataDirectory(folder)).release();
  });

  it('is refused while somebody has it', async () => {
    const opened = await openDataDirectory(folder);
    await assert.rejects(openDataDirectory(folder), { name: 'EmbeddedError', message: /already running .*process \d+/ });
    await opened.release();
  });

  it('is refused when another release made it, and stays as it is', async () => {
    await (await openDataDirectory(folder)).release();
    await writeFile(path.join(folder, 'VERSION'), '99\n');
    await assert.rejects(openDataDirectory(folder), { name: 'EmbeddedError', message: /another release .*layout 99/ });
    assert.equal(await readFile(path.join(folder, 'VERSION'), 'utf8'), '99\n');
  });

  it('is refused with a clear word when it is no folder', async () => {
    await writeFile(folder, '');
    await assert.rejects(openDataDirectory(folder), { name: 'EmbeddedError', message: /is not a folder/ });
  });
});

describe('the secrets of an installation', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await temporaryFolder();
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('are made once, long, different from each other, and readable by their owner only', async () => {
    const made = await readOrCreateSecrets(folder, false);
    assert.equal(new Set(Object.values(made)).size, 4);
    for (const secret of Object.values(made)) assert.ok(String(secret).length >= 43);
    assert.equal((await stat(path.join(folder, 'secrets.json'))).mode & 0o777, 0o600);
    assert.deepEqual(await readOrCreateSecrets(folder, true), made);
  });

  it('of a folder that an earlier release made get what they lack, and keep the rest', async () => {
    const { adminToken, ...earlier } = await readOrCreateSecrets(folder, false);
    await writeFile(path.join(folder, 'secrets.json'), JSON.stringify(earlier));

    const completed = await readOrCreateSecrets(folder, true);

    assert.deepEqual({ ...completed, adminToken: undefined }, { ...earlier, adminToken: undefined });
    assert.notEqual(completed.adminToken, adminToken);
    assert.ok(completed.adminToken.length >= 43);
    assert.deepEqual(await readOrCreateSecrets(folder, true), completed);
    assert.equal((await stat(path.join(folder, 'secrets.json'))).mode & 0o777, 0o600);
  });

  it('are not made anew beside a database that the old ones opened', async () => {
    await assert.rejects(readOrCreateSecrets(folder, true), { name: 'EmbeddedError', message: /is gone/ });
  });

  it('are refused when one of them is no text', async () => {
    const made = await readOrCreateSecrets(folder, false);
    await writeFile(path.join(folder, 'secrets.json'), JSON.stringify({ ...made, adminToken: 7 }));
    await assert.rejects(readOrCreateSecrets(folder, true), { name: 'EmbeddedError', message: /is damaged/ });
  });

  it('are refused when damaged, without being shown', async () => {
    await writeFile(path.join(folder, 'secrets.json'), '{"urlSigningKey":"half of it');
    await assert.rejects(readOrCreateSecrets(folder, true), (error: Error) => {
      assert.match(error.message, /is damaged/);
      assert.doesNotMatch(error.message, /half of it/);
      return true;
    });
  });
});
