import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, readdir, realpath, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { packageModule } from '../../src/config/package-root.ts';
import { createDiskStore } from '../../src/objects/stores/disk-store.ts';
import { ObjectNotFoundError, StoreUnavailableError } from '../../src/objects/stores/object-store.ts';
import { describeObjectStore } from './object-store-contract.ts';

const PNG = { mimeType: 'image/png' };

describeObjectStore('a directory', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'disk-store-'));
  return {
    store: createDiskStore(path.join(directory, 'made', 'when', 'used')),
    unfinished: async () => (await readdir(path.join(directory, 'made/when/used/~partial'))).length,
    close: () => rm(directory, { recursive: true }),
  };
});

describe('the disk store', () => {
  let base: string;
  before(async () => {
    base = await realpath(await mkdtemp(path.join(tmpdir(), 'disk-store-')));
  });
  after(() => rm(base, { recursive: true }));

  it('does not follow links out of its directory, in any operation', async () => {
    const outside = path.join(base, 'outside');
    const inside = path.join(base, 'inside');
    await mkdir(outside);
    await mkdir(inside);
    await writeFile(path.join(outside, 'secret'), 'secret');
    await symlink(outside, path.join(inside, 'directory'));
    await symlink(path.join(outside, 'secret'), path.join(inside, 'file'));
    const store = createDiskStore(inside);

    for (const key of ['file', 'directory/secret']) {
      await assert.rejects(store.read(key), ObjectNotFoundError);
      await assert.rejects(store.head(key), ObjectNotFoundError);
      await store.delete(key);
    }
    await assert.rejects(store.put('directory/new', Buffer.from('x'), PNG), StoreUnavailableError);
    await assert.rejects(store.put('directory/new/deep', Buffer.from('x'), PNG), StoreUnavailableError);
    await store.put('file', Buffer.from('mine'), PNG);

    assert.deepEqual(await readdir(outside), ['secret']);
    assert.equal(await readFile(path.join(outside, 'secret'), 'utf8'), 'secret');
    const listed: string[] = [];
    for await (const found of store.list('')) listed.push(found.key);
    for await (const found of store.list('directory/')) listed.push(found.key);
    assert.deepEqual(listed, ['file']);
  });

  it('works when the directory itself is reached by a link', async () => {
    await mkdir(path.join(base, 'real'));
    await symlink(path.join(base, 'real'), path.join(base, 'alias'));
    const store = createDiskStore(path.join(base, 'alias'));

    await store.put('a/b', Buffer.from('x'), PNG);

    assert.equal(await readFile(path.join(base, 'real/a/b'), 'utf8'), 'x');
  });

  it('ignores a pipe, and does not wait for its writer', async () => {
    await mkdir(path.join(base, 'pipes'));
    execFileSync('mkfifo', [path.join(base, 'pipes/pipe')]);
    const store = createDiskStore(path.join(base, 'pipes'));

    await assert.rejects(store.read('pipe'), ObjectNotFoundError);
  });

  it('leaves no empty directories behind after a delete', async () => {
    const directory = path.join(base, 'pruned');
    const store = createDiskStore(directory);
    await store.put('a/b/c/1', Buffer.from('x'), PNG);
    await store.put('a/2', Buffer.from('x'), PNG);

    await store.delete('a/b/c/1');

    assert.deepEqual((await readdir(directory, { recursive: true })).toSorted(), ['a', 'a/2', '~partial']);
  });

  it('rejects a key below an object, preserves the object, and leaves nothing unfinished', async () => {
    const directory = path.join(base, 'collision');
    const store = createDiskStore(directory);
    await store.put('a', Buffer.from('x'), PNG);

    await assert.rejects(store.put('a/b', Buffer.from('y'), PNG), StoreUnavailableError);

    assert.equal((await store.head('a')).sizeBytes, 1);
    assert.deepEqual(await readdir(path.join(directory, '~partial')), []);
  });

  it('removes what a killed process left unfinished a day ago, and nothing newer', async () => {
    const directory = path.join(base, 'killed');
    const partial = path.join(directory, '~partial');
    await mkdir(partial, { recursive: true });
    await writeFile(path.join(partial, 'old'), 'x');
    await writeFile(path.join(partial, 'young'), 'x');
    const longAgo = new Date(Date.now() - 25 * 60 * 60 * 1000);
    await utimes(path.join(partial, 'old'), longAgo, longAgo);

    await createDiskStore(directory).check();

    assert.deepEqual(await readdir(partial), ['young']);
  });

  it('fails its check while the directory cannot be created, and passes once it can', async () => {
    const blocker = path.join(base, 'blocker');
    await writeFile(blocker, 'a file stands in the way');
    const store = createDiskStore(path.join(blocker, 'store'));

    await assert.rejects(store.check(), (error) => error instanceof StoreUnavailableError && error.cause !== undefined);
    await rm(blocker);
    await store.check();
  });

  it('takes its directory for away, and no object for missing, when the disk is not mounted any more', async () => {
    const directory = path.join(base, 'mounted');
    const store = createDiskStore(directory);
    await store.put('a/object', Buffer.from('x'), PNG);
    await rename(directory, `${directory}-away`);

    // What is left of a mount is an empty directory; in tests also nothing, or a file.
    for (const leave of [async () => undefined, () => mkdir(directory), () => writeFile(directory, 'no directory')]) {
      await leave();
      for (const key of ['a/object', 'object']) {
        await assert.rejects(store.read(key), StoreUnavailableError);
        await assert.rejects(store.head(key), StoreUnavailableError);
        await assert.rejects(store.delete(key), StoreUnavailableError);
      }
      await assert.rejects(store.list('')[Symbol.asyncIterator]().next(), StoreUnavailableError);
      await rm(directory, { recursive: true, force: true });
    }

    await rename(`${directory}-away`, directory);
    assert.equal((await store.head('a/object')).sizeBytes, 1);
    await assert.rejects(store.head('a/nothing'), ObjectNotFoundError);
  });

  it('names the operation and the system’s error code in its message, and no path', async () => {
    const blocker = path.join(base, 'private-name');
    await writeFile(blocker, '');

    await assert.rejects(createDiskStore(path.join(blocker, 'store')).head('a'), {
      name: 'StoreUnavailableError',
      operation: 'head',
      message: 'the object store could not head: ENOTDIR',
    });
  });

  it('rejects a relative directory', () => {
    assert.throws(() => createDiskStore('outputs'), TypeError);
  });

  const canMount = spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0;
  const reason = canMount ? false : 'needs Linux user namespaces to mount a small file system of its own';
  it('reports that the disk is full, and leaves nothing behind', { skip: reason }, async () => {
    const directory = path.join(base, 'small');
    await mkdir(directory);
    const program = path.join(base, 'fill.mjs');
    await writeFile(program, fillDisk(directory));

    const command = 'mount -t tmpfs -o size=1m none "$1" && exec "$2" "$3"';
    const run = spawnSync('unshare', ['-rm', 'sh', '-c', command, 'sh', directory, process.execPath, program], {
      encoding: 'utf8',
    });

    assert.equal(run.stderr, '');
    const full = { name: 'StoreUnavailableError', message: 'the object store could not put: ENOSPC', cause: 'ENOSPC' };
    assert.deepEqual(JSON.parse(run.stdout), { bytes: full, stream: full, left: [], afterwards: 'stored' });
  });

  it('can be opened, read and emptied when the disk cannot store even a name', { skip: reason }, async () => {
    const directory = path.join(base, 'crowded');
    await mkdir(directory);
    const program = path.join(base, 'empty.mjs');
    await writeFile(program, emptyDisk(directory));

    const command = 'mount -t tmpfs -o nr_inodes=8 none "$1" && exec "$2" "$3"';
    const run = spawnSync('unshare', ['-rm', 'sh', '-c', command, 'sh', directory, process.execPath, program], {
      encoding: 'utf8',
    });

    assert.equal(run.stderr, '');
    assert.deepEqual(JSON.parse(run.stdout), { check: 'the object store could not check: ENOSPC', left: ['last'] });
  });
});

/**
 * A program that fills a file system with names, and then deletes all of them but one through a store that it has
 * just opened.
 */
function emptyDisk(directory: string): string {
  const moduleOf = (name: string): string => JSON.stringify(packageModule(name));
  return `
    import { readdir, writeFile } from 'node:fs/promises';
    const { createDiskStore } = await import(${moduleOf('src/objects/stores/disk-store.ts')});
    const { assertAnswers } = await import(${moduleOf('src/objects/stores/claimed-store.ts')});
    const directory = ${JSON.stringify(directory)};
    await createDiskStore(directory).put('last', Buffer.from('x'), { mimeType: 'image/png' });
    const full = [];
    try {
      for (;;) {
        await writeFile(directory + '/' + full.length, '');
        full.push(String(full.length));
      }
    } catch (error) {
      if (error.code !== 'ENOSPC') throw error;
    }
    const check = await createDiskStore(directory).check().then(() => 'no error', (error) => error.message);
    const store = createDiskStore(directory);
    await assertAnswers(store);
    for (const key of full) await store.delete(key);
    const left = (await readdir(directory)).filter((name) => name !== '~partial');
    console.log(JSON.stringify({ check, left }));
  `;
}

/** A program that writes too much into a small file system, both ways, and then something that fits. */
function fillDisk(directory: string): string {
  const store = JSON.stringify(packageModule('src/objects/stores/disk-store.ts'));
  return `
    import { readdir } from 'node:fs/promises';
    import { Readable } from 'node:stream';
    const { createDiskStore } = await import(${store});
    const store = createDiskStore(${JSON.stringify(directory)});
    const failure = (error) => ({ name: error.name, message: error.message, cause: error.cause.code });
    const large = Buffer.alloc(2 * 1024 * 1024, 1);
    const options = { mimeType: 'image/png' };
    const bytes = await store.put('a/large', large, options).catch(failure);
    const stream = await store.put('a/large', Readable.from([large, large]), options).catch(failure);
    const left = (await readdir(${JSON.stringify(directory)}, { recursive: true })).filter((name) => name !== '~partial');
    await store.put('a/small', large.subarray(0, 500_000), options);
    console.log(JSON.stringify({ bytes, stream, left, afterwards: 'stored' }));
  `;
}
