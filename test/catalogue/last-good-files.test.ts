/** An api that starts while a model file is bad: it offers what the file contained when it was good. */
import assert from 'node:assert/strict';
import { mkdtemp, rename, rm, unlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import type { ModelDefinition } from '../../src/catalogue/definition.ts';
import { createLastGoodFiles } from '../../src/catalogue/last-good-files.ts';
import { openLiveCatalogue } from '../../src/catalogue/live-catalogue.ts';
import type { LiveCatalogue } from '../../src/catalogue/live-catalogue.ts';
import { ModelFileError } from '../../src/catalogue/model-files.ts';
import { PROTOCOLS } from '../../src/providers/protocols.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { definition } from './definitions.ts';

const NEVER_MS = 3_600_000;

let test: TestDatabase;
before(async () => {
  test = await createTestDatabase();
});
after(() => test.close());

let directory: string;
let rejected: number[];
let opened: LiveCatalogue | undefined;
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-good-'));
  rejected = [];
});
afterEach(async () => {
  await stop();
  await rm(directory, { recursive: true, force: true });
});

const at = (name: string): string => path.join(directory, name);
const put = (name: string, changes: Partial<ModelDefinition>): Promise<void> =>
  writeFile(at(name), JSON.stringify(definition(changes)));

/** Ends the process: what is written from then on is found only by the next one. */
async function stop(): Promise<void> {
  await opened?.close();
  opened = undefined;
}

async function restart(): Promise<LiveCatalogue> {
  await stop();
  opened = await openLiveCatalogue({
    directories: [directory],
    protocols: PROTOCOLS,
    definitions: { pin: async () => undefined },
    lastGood: createLastGoodFiles(test.database, directory),
    logger: silentLogger(),
    now: Date.now,
    onRejected: (problems) => rejected.push(problems.length),
    pollMs: NEVER_MS,
  });
  return opened;
}

const names = (catalogue: LiveCatalogue): readonly string[] =>
  catalogue
    .available()
    .map(({ name }) => name)
    .toSorted();

describe('an api that starts with a bad model file', () => {
  it('offers the last good content of it and the present content of others, and reports file and member', async () => {
    await put('a.json', { name: 'a', description: 'As it was.' });
    await put('b.json', { name: 'b' });
    await restart();
    await stop();
    await writeFile(at('a.json'), JSON.stringify({ ...definition({ name: 'a' }), pricing: { unit: 'image' } }));
    await put('b.json', { name: 'b', description: 'As it is.' });

    for (let starts = 1; starts <= 2; starts++) {
      const catalogue = await restart();

      assert.deepEqual(names(catalogue), ['a', 'b']);
      assert.equal(catalogue.find('a')?.description, 'As it was.');
      assert.equal(catalogue.find('b')?.description, 'As it is.');
      const [problem] = catalogue.state().rejected?.problems ?? [];
      assert.equal(problem?.file, at('a.json'));
      assert.match(problem?.problem ?? '', /pricing\.usd/);
      assert.equal(rejected.length, starts);
    }

    await stop();
    await put('a.json', { name: 'a', description: 'Repaired.' });
    const catalogue = await restart();
    assert.equal(catalogue.find('a')?.description, 'Repaired.');
    assert.equal(catalogue.state().rejected, undefined);
  });

  it('does not start if none was ever good', async () => {
    await writeFile(at('a.json'), '{"name":');

    await assert.rejects(restart(), ModelFileError);
  });

  it('starts without a file that was never good, and with the others', async () => {
    await put('a.json', { name: 'a' });
    await restart();
    await stop();
    await writeFile(at('new.json'), 'nothing');

    assert.deepEqual(names(await restart()), ['a']);
    assert.deepEqual(rejected, [1]);
  });

  it('offers what it had when the directory cannot be read', async () => {
    await put('a.json', { name: 'a' });
    await restart();
    await stop();
    await rename(directory, `${directory}-away`);

    assert.deepEqual(names(await restart()), ['a']);
    assert.deepEqual(names(await restart()), ['a']);
    await rename(`${directory}-away`, directory);
  });

  it('does not offer again what was removed', async () => {
    await put('a.json', { name: 'a' });
    await put('b.json', { name: 'b' });
    await restart();
    await stop();
    await unlink(at('a.json'));
    assert.deepEqual(names(await restart()), ['b']);
    await stop();
    await writeFile(at('a.json'), 'nothing');

    assert.deepEqual(names(await restart()), ['b']);
  });
});
