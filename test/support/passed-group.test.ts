/** The groups of tests that `.ci/run` leaves out while nothing has changed that they are about (scripts/test-files.mjs). */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { packageFile } from '../../src/config/package-root.ts';

interface TestFiles {
  withoutPassed(root: string, names: readonly string[]): Promise<readonly string[]>;
  passing(root: string, names: readonly string[]): Promise<() => Promise<void>>;
}

let root: string;
let files: TestFiles;
before(async () => {
  files = (await import(pathToFileURL(packageFile('scripts/test-files.mjs')).href)) as TestFiles;
  root = await mkdtemp(path.join(os.tmpdir(), 'darkroom-passed-'));
  await mkdir(path.join(root, '.ci'));
});
after(() => rm(root, { recursive: true, force: true }));

async function write(file: string, content: string): Promise<void> {
  await mkdir(path.dirname(path.join(root, file)), { recursive: true });
  await writeFile(path.join(root, file), content);
}

/** Of these `media` is left out once it has passed; the others have no sources of their own. */
const NAMES = ['node-24', 'media', 'upgrades'];
const LEFT = ['node-24', 'upgrades'];

async function pass(names: readonly string[]): Promise<void> {
  const passed = await files.passing(root, names);
  await passed();
}

describe('a group with sources of its own', () => {
  it('runs in a clone whose sources have never passed', async () => {
    await write('packages/engines/src/engine.ts', '1');
    assert.deepEqual(await files.withoutPassed(root, NAMES), NAMES);
  });

  it('is left out once it has passed, and runs again when a source changes, appears or disappears', async () => {
    await pass(NAMES);
    assert.deepEqual(await files.withoutPassed(root, NAMES), LEFT);

    for (const file of ['packages/engines/src/engine.ts', 'test/providers/embedded/new.test.ts', 'package-lock.json']) {
      await write(file, '2');
      assert.deepEqual(await files.withoutPassed(root, NAMES), NAMES, file);
      await pass([]);
      assert.deepEqual(await files.withoutPassed(root, NAMES), LEFT, file);
    }
    await rm(path.join(root, 'test/providers/embedded/new.test.ts'));
    assert.deepEqual(await files.withoutPassed(root, NAMES), NAMES);
  });

  it('has passed with what was there when its run began', async () => {
    const passed = await files.passing(root, ['media']);
    await write('packages/engines/src/engine.ts', '3');
    await passed();
    assert.deepEqual(await files.withoutPassed(root, NAMES), NAMES);
  });

  it('has not passed in a run of other groups, which keeps what had passed', async () => {
    await pass(['media']);
    await pass(['browser', 'upgrades']);
    await write('packages/dashboard/src/app.tsx', '1');
    assert.deepEqual(await files.withoutPassed(root, ['browser', ...NAMES]), ['browser', ...LEFT]);
  });
});

describe('a group about whole installations', () => {
  it('runs again when the program changes, its own tests, or a test module that they import', async () => {
    await write('test/kill/kill.test.ts', "import { start } from '../e2e/start.ts';");
    await write('test/e2e/start.ts', "export { wait } from './wait.ts';");
    await write('test/faults/slow.test.ts', '1');
    await pass(['faults']);
    assert.deepEqual(await files.withoutPassed(root, ['faults']), []);

    for (const file of ['src/main.ts', 'test/faults/slow.test.ts', 'test/e2e/wait.ts', 'test/support/wait-for.ts']) {
      await write(file, '2');
      assert.deepEqual(await files.withoutPassed(root, ['faults']), ['faults'], file);
      await pass(['faults']);
    }
    await write('test/e2e/other.test.ts', '2');
    assert.deepEqual(await files.withoutPassed(root, ['faults']), []);
  });
});
