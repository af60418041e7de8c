import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { tryLock, withFileLock } from '../../src/standalone/file-lock.ts';
import { readProcess } from '../../src/standalone/processes.ts';

describe('a file lock', () => {
  let directory: string;
  let file: string;

  beforeEach(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-lock-'));
    file = path.join(directory, 'lock');
  });

  afterEach(() => rm(directory, { recursive: true, force: true }));

  it('is held by one process, which is named to the others, until it is released', async () => {
    const first = await tryLock(file);
    assert.ok('release' in first);
    assert.deepEqual(await tryLock(file), { heldBy: process.pid });

    await first.release();
    const second = await tryLock(file);
    assert.ok('release' in second);
    await second.release();
    assert.deepEqual(await readdir(directory), []);
  });

  it('is taken over from a process that died', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    assert.ok(child.pid !== undefined);
    const identity = await readProcess(child.pid);
    await writeFile(file, JSON.stringify({ pid: child.pid, startToken: identity?.startToken }));
    assert.deepEqual(await tryLock(file), { heldBy: child.pid });

    child.kill('SIGKILL');
    await once(child, 'exit');
    const lock = await tryLock(file);
    assert.ok('release' in lock);
    assert.match(await readFile(file, 'utf8'), new RegExp(`"pid":${process.pid}\\b`));
  });

  it('is taken over when its pid now belongs to another process, or it is damaged', async () => {
    for (const content of [JSON.stringify({ pid: process.pid, startToken: 'of another life' }), '', '{"pid":']) {
      await writeFile(file, content);
      const lock = await tryLock(file);
      assert.ok('release' in lock, content);
      await lock.release();
    }
  });

  it('lets one at a time do the work', async () => {
    const events: string[] = [];
    const work = (name: string) => async (): Promise<void> => {
      events.push(`${name} begins`);
      await readdir(directory);
      events.push(`${name} ends`);
    };
    const waited: number[] = [];
    await Promise.all([
      withFileLock(file, work('one'), (pid) => waited.push(pid)),
      withFileLock(path.join(directory, 'lock'), work('two'), (pid) => waited.push(pid)),
    ]);
    const names = events.map((event) => event.split(' ')[0]);
    assert.equal(names[0], names[1]);
    assert.equal(names[2], names[3]);
    assert.deepEqual(waited, [process.pid]);
  });
});
