/** Directories that a user names, also where none can be. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createDirectory } from '../../src/config/create-directory.ts';
import { withScratch } from '../../src/generation/scratch.ts';
import { createDiskStore } from '../../src/objects/stores/disk-store.ts';
import { StoreUnavailableError } from '../../src/objects/stores/object-store.ts';

/** A file system in which no user can create a directory, not even root. */
const NO_DIRECTORIES = { skip: process.platform === 'linux' ? false : 'there is no /proc here' };

describe('a directory that a user has named', () => {
  let base: string;
  before(async () => {
    base = await mkdtemp(path.join(os.tmpdir(), 'darkroom-directories-'));
  });
  after(() => rm(base, { recursive: true }));

  it('is created with its parents, by several at once, and may be there already', async () => {
    const directory = path.join(base, 'some', 'where', 'below');

    await Promise.all(Array.from({ length: 8 }, () => createDirectory(directory, { mode: 0o700 })));
    await createDirectory(directory);

    for (const created of [directory, path.dirname(directory)]) assert.equal((await stat(created)).mode & 0o777, 0o700);
  });

  it('is not a file, nor below one', async () => {
    const file = path.join(base, 'file');
    await writeFile(file, '');

    await assert.rejects(createDirectory(file), { code: 'EEXIST' });
    await assert.rejects(createDirectory(path.join(file, 'below')), { code: 'ENOTDIR' });
  });

  it('is not waited for where none can be created', NO_DIRECTORIES, async () => {
    for (const directory of ['/proc/none', '/proc/none/below']) {
      await assert.rejects(createDirectory(directory), {
        code: 'ENOENT',
        message: 'the file system of /proc cannot have a directory none',
      });
    }
    await assert.rejects(
      withScratch('/proc/none', () => Promise.resolve()),
      { code: 'ENOENT' },
    );
    await assert.rejects(createDiskStore('/proc/none').check(), (error) => {
      assert.ok(error instanceof StoreUnavailableError);
      assert.match(String(error.cause), /file system of \/proc/);
      return true;
    });
  });
});
