/**
 * A catalogue that follows its files, with real files and the file system's own change events. Where a test turns the
 * slow polling off, only an event can have caused the change; where the file system sends none, only the polling.
 */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { pino } from 'pino';
import { ModelUnavailableError } from '../../src/catalogue/catalogue.ts';
import { definitionHash } from '../../src/catalogue/definition.ts';
import type { ModelDefinition } from '../../src/catalogue/definition.ts';
import type { CatalogueModel } from '../../src/catalogue/text-definition.ts';
import { openLiveCatalogue } from '../../src/catalogue/live-catalogue.ts';
import type { LiveCatalogue, LiveCatalogueOptions } from '../../src/catalogue/live-catalogue.ts';
import { ModelFileError } from '../../src/catalogue/model-files.ts';
import { letPass } from '../support/let-pass.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { definition } from './definitions.ts';
import { PROTOCOLS } from '../../src/providers/protocols.ts';

/** Longer than any test. */
const NEVER_MS = 3_600_000;

interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

let directory: string;
let logged: LogLine[];
/** Names in the order in which they were pinned. */
let pinned: string[];
let opened: LiveCatalogue[];
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-live-'));
  [logged, pinned, opened] = [[], [], []];
});
afterEach(async () => {
  await Promise.all(opened.map((catalogue) => catalogue.close()));
  await rm(directory, { recursive: true, force: true });
});

const at = (name: string): string => path.join(directory, name);
const text = (changes: Partial<ModelDefinition> = {}): string => JSON.stringify(definition(changes));

/** Writes a file atomically. */
async function put(name: string, content: string): Promise<void> {
  await writeFile(at(`${name}.new`), content);
  await rename(at(`${name}.new`), at(name));
}

async function open(options: Partial<LiveCatalogueOptions> = {}): Promise<LiveCatalogue> {
  const catalogue = await openLiveCatalogue({
    directories: [directory],
    protocols: PROTOCOLS,
    definitions: { pin: async (models) => void pinned.push(...models.map(({ name }) => name)) },
    logger: pino({}, { write: (line: string) => void logged.push(JSON.parse(line) as LogLine) }),
    now: Date.now,
    pollMs: NEVER_MS,
    settleMs: 30,
    ...options,
  });
  opened.push(catalogue);
  return catalogue;
}

const names = (catalogue: LiveCatalogue): readonly string[] => catalogue.available().map(({ name }) => name);
const errorLines = (): readonly LogLine[] => logged.filter(({ level }) => level >= 50);

describe('a catalogue that follows its files', () => {
  it('loads a file that is added, changed and removed', async () => {
    await put('a.json', text({ name: 'a' }));
    const catalogue = await open();
    assert.deepEqual(names(catalogue), ['a']);

    await put('b.json', text({ name: 'b' }));
    await waitFor('b is there', () => names(catalogue).includes('b'));

    await put('a.json', text({ name: 'a', description: 'Other words.' }));
    await waitFor('a is another', () => catalogue.find('a')?.description === 'Other words.');

    await unlink(at('a.json'));
    await waitFor('a is gone', () => !names(catalogue).includes('a'));
    assert.throws(() => catalogue.resolve('a', undefined), ModelUnavailableError);
    assert.deepEqual(names(catalogue), ['b']);
    assert.deepEqual(pinned, ['a', 'b', 'a']);
    assert.deepEqual(
      logged.filter(({ added }) => added !== undefined).map(({ added, changed, removed }) => [added, changed, removed]),
      [
        [['b'], [], []],
        [[], ['a'], []],
        [[], [], ['a']],
      ],
    );
  });

  it('warns of a model that sells below cost, whenever its file is read', async () => {
    const costing = (usd: string): string => {
      const cost = { pricing: { unit: 'image', usd: '0.02' } } as const;
      const routes = { default: { upstreams: [{ protocol: 'embedded', model: 'scene', cost }] } };
      return text({ name: 'a', routes, pricing: { unit: 'image', usd } });
    };
    const warnings = (): readonly string[] =>
      logged.filter(({ msg }) => msg === 'model sells below cost').map(({ problem }) => String(problem));
    await put('a.json', costing('0.01'));
    await open();
    assert.deepEqual(warnings(), ['routes.default.upstreams.0.cost: examples.0 costs 0.02 USD and is sold for 0.01']);

    await put('a.json', costing('0.019'));
    await waitFor('it is read again', () => warnings().length === 2);
    await put('a.json', costing('0.02'));
    await waitFor('it is read again', () => logged.filter(({ changed }) => changed !== undefined).length === 2);
    assert.equal(warnings().length, 2);
  });

  it('pins a new definition before it can be requested', async () => {
    let letPin = (): void => {};
    const gate = new Promise<void>((resolve) => {
      letPin = resolve;
    });
    let asked: readonly CatalogueModel[] = [];
    const pin: LiveCatalogueOptions['definitions']['pin'] = async (models) => {
      asked = models;
      if (models.length > 0) await gate;
    };
    const catalogue = await open({ definitions: { pin } });
    await put('a.json', text({ name: 'a' }));
    await waitFor('it is being pinned', () => asked.length === 1);

    assert.throws(() => catalogue.resolve('a', undefined), ModelUnavailableError);
    letPin();
    await waitFor('it is there', () => names(catalogue).includes('a'));
    assert.equal(catalogue.resolve('a', undefined).hash, definitionHash(definition({ name: 'a' })));
  });

  it('stays unchanged while the new definition cannot be pinned, and retries', async () => {
    let isAway = true;
    const pin: LiveCatalogueOptions['definitions']['pin'] = async (models) => {
      if (isAway && models.length > 0) throw new Error('the database is away');
    };
    const catalogue = await open({ definitions: { pin }, pollMs: 50 });
    await put('a.json', text({ name: 'a' }));
    await waitFor('the failure is logged', () =>
      logged.some(({ msg }) => msg === 'loading changed model files failed'),
    );
    assert.deepEqual(names(catalogue), []);

    isAway = false;
    await waitFor('it is there', () => names(catalogue).includes('a'));
  });

  it('does not recompile a schema that has not changed', async () => {
    await put('a.json', text({ name: 'a' }));
    const catalogue = await open();
    const { checkInput, definition: before } = catalogue.resolve('a', undefined);

    await put('b.json', text({ name: 'b' }));
    await waitFor('b is there', () => names(catalogue).includes('b'));

    assert.equal(catalogue.resolve('a', undefined).checkInput, checkInput);
    assert.equal(catalogue.find('a'), before);
  });

  it('does nothing after it is closed', async () => {
    const catalogue = await open({ pollMs: 20 });
    await catalogue.close();
    const other = await open({ pollMs: 20 });

    await put('a.json', text({ name: 'a' }));
    await waitFor('another one sees the file', () => names(other).includes('a'));

    assert.deepEqual(names(catalogue), []);
  });
});

describe('an invalid file', () => {
  it('is rejected at startup, when there is no previous version', async () => {
    await put('a.json', '{');

    await assert.rejects(open(), ModelFileError);
  });

  it('delays no other, and is reported with file, position and reason until it is fixed', async () => {
    await put('a.json', text({ name: 'a' }));
    const catalogue = await open();

    await put('b.json', text({ name: 'b', typicalSeconds: -1 }));
    await put('a.json', text({ name: 'a', description: 'Good, and taken up alone.' }));
    await put('c.json', '{\n  "name": "c",\n  "modality" "image"\n}');
    await waitFor('both are rejected', () => catalogue.state().rejected?.problems.length === 2);

    const [first, second] = catalogue.state().rejected?.problems ?? [];
    assert.deepEqual(first?.file, at('b.json'));
    assert.equal(first?.problem, 'invalid model file: typicalSeconds: minimum: got -1, want 0');
    assert.deepEqual(second?.file, at('c.json'));
    assert.match(second?.problem ?? '', /line 3,? column 14/);
    assert.deepEqual(new Set(errorLines().map(({ file }) => file)), new Set([at('b.json'), at('c.json')]));
    // The terminal of npm start shows nothing else of the line.
    const messages = errorLines().map(({ msg }) => msg);
    assert.ok(messages.includes(`model file rejected; there is no previous content to use: ${first?.message}`));
    assert.equal(catalogue.find('a')?.description, 'Good, and taken up alone.');
    assert.deepEqual(names(catalogue), ['a']);
    assert.deepEqual(pinned, ['a', 'a']);

    await put('b.json', text({ name: 'b' }));
    await unlink(at('c.json'));
    await waitFor('all is taken up', () => names(catalogue).join() === 'a,b');
    assert.equal(catalogue.state().rejected, undefined);
    assert.deepEqual(pinned, ['a', 'a', 'b']);

    logged = [];
    await put('b.json', '{');
    await waitFor('b is rejected', () => errorLines().length > 0);
    assert.match(errorLines()[0]?.msg ?? '', /^model file rejected; its previous content stays in use: /);
  });

  it('reports each problem of a file with its position', async () => {
    await put('a.json', text({ name: 'a' }));
    const rejections: string[][] = [];
    const catalogue = await open({
      onRejected: (problems) =>
        rejections.push(problems.map(({ file, member }) => `${path.basename(file)}: ${member}`)),
    });

    await put('a.json', text({ name: 'a', typicalSeconds: -1, created: -1 }));

    await waitFor('it is rejected', () => rejections.length > 0);
    assert.deepEqual(rejections[0]?.toSorted(), ['a.json: created', 'a.json: typicalSeconds']);
    assert.deepEqual(
      catalogue
        .state()
        .rejected?.problems.map(({ problem }) => problem)
        .toSorted(),
      ['created', 'typicalSeconds'].map((member) => `invalid model file: ${member}: minimum: got -1, want 0`),
    );

    await put('a.json', text({ name: 'a' }));
    await waitFor('it is valid again', () => rejections.length > 1);
    assert.deepEqual(rejections[1], []);
  });

  it('keeps the previous version of its model until it is valid again or removed', async () => {
    await put('a.json', text({ name: 'a' }));
    await put('b.json', text({ name: 'b' }));
    let unreadableFiles = 0;
    const catalogue = await open({ onRejected: (problems) => (unreadableFiles += problems.length) });

    await put('a.json', '{');
    await put('b.json', text({ name: 'b', description: 'Another.' }));
    await waitFor('b is taken up', () => catalogue.find('b')?.description === 'Another.');
    assert.equal(catalogue.find('a')?.description, 'For tests.');
    await put('c.json', text({ name: 'c' }));
    await waitFor('c is taken up', () => names(catalogue).includes('c'));
    assert.deepEqual(names(catalogue), ['a', 'b', 'c']);
    await waitFor('both changes were counted', () => unreadableFiles >= 2);

    await unlink(at('a.json'));
    await waitFor('a is gone', () => names(catalogue).join() === 'b,c');
    assert.equal(catalogue.state().rejected, undefined);
  });

  it('does not take the name of an existing model, whatever its position in their order', async () => {
    await put('b.json', text({ name: 'b' }));
    const catalogue = await open();

    await put('a.json', text({ name: 'b', created: 1 }));
    await put('c.json', text({ name: 'c', replacement: 'nowhere' }));
    await waitFor('both are rejected', () => catalogue.state().rejected?.problems.length === 2);

    assert.deepEqual(names(catalogue), ['b']);
    assert.equal(catalogue.find('b')?.created, definition().created);
  });

  it('is reported once, however often it is read', async () => {
    const catalogue = await open({ pollMs: 20 });
    await put('a.json', '{');
    await waitFor('it is rejected', () => catalogue.state().rejected !== undefined);
    const { rejected } = catalogue.state();
    assert.equal(errorLines().length, 1);

    // Found by a later poll, after several that found nothing new.
    await letPass(200);
    await put('b.json', '[]');
    await waitFor('the other is rejected too', () => catalogue.state().rejected !== rejected);

    assert.equal(errorLines().length, 3);
  });

  it('is one with the name of a model in another file', async () => {
    await put('a.json', text());
    const catalogue = await open();

    await put('b.json', text({ created: 1 }));
    await waitFor('it is rejected', () => catalogue.state().rejected !== undefined);
    assert.match(catalogue.state().rejected?.problems[0]?.problem ?? '', /^name: .*a\.json has acme\/images already$/);
    assert.equal(catalogue.find('acme/images')?.created, definition().created);

    await unlink(at('a.json'));
    await waitFor('the other is taken up', () => catalogue.find('acme/images')?.created === 1);
    assert.equal(catalogue.state().rejected, undefined);
  });

  it('is one that is not a regular file, or cannot be read', async () => {
    const catalogue = await open({ pollMs: 50 });

    await mkdir(at('directory.json'));
    await symlink(at('nowhere'), at('link.json'));
    await waitFor('both are rejected', () => catalogue.state().rejected?.problems.length === 2);

    assert.deepEqual(
      catalogue.state().rejected?.problems.map(({ problem }) => problem),
      ['not a file', 'there is no such file or directory'],
    );
  });
});

describe('a change of the files', () => {
  it('may consist of several steps of which none is seen', async () => {
    await put('a.json', text({ name: 'a' }));
    // So long that no machine is too slow between the steps.
    const catalogue = await open({ settleMs: 3_000 });
    const after = text({ name: 'a', description: 'After.' });

    await writeFile(at('a.json'), '');
    await letPass(20);
    await writeFile(at('a.json'), after.slice(0, 100));
    await letPass(20);
    await unlink(at('a.json'));
    await letPass(20);
    await put('a.json', after);
    await waitFor('it is taken up', () => catalogue.find('a')?.description === 'After.');

    assert.deepEqual(errorLines(), []);
    assert.deepEqual(pinned, ['a', 'a']);
  });

  it('may be a mounted volume that links its files to a directory, and replaces that', async () => {
    const version = async (name: string, description: string): Promise<void> => {
      await mkdir(at(name));
      await writeFile(at(`${name}/a.json`), text({ name: 'a', description }));
    };
    await version('..1', 'First.');
    await symlink('..1', at('..data'));
    await symlink('..data/a.json', at('a.json'));
    const catalogue = await open();
    assert.equal(catalogue.find('a')?.description, 'First.');

    await version('..2', 'Second.');
    await symlink('..2', at('..data_tmp'));
    await rename(at('..data_tmp'), at('..data'));
    await rm(at('..1'), { recursive: true });
    await waitFor('the second is taken up', () => catalogue.find('a')?.description === 'Second.');

    assert.deepEqual(errorLines(), []);
  });

  it('may be a directory that becomes a link to another one', async () => {
    await mkdir(at('blue'));
    await mkdir(at('green'));
    await put('blue/a.json', text({ name: 'blue' }));
    await put('green/a.json', text({ name: 'green' }));
    await symlink('blue', at('current'));
    const catalogue = await open({ directories: [at('current')], pollMs: 50 });
    assert.deepEqual(names(catalogue), ['blue']);

    await symlink('green', at('next'));
    await rename(at('next'), at('current'));
    await waitFor('green is there', () => names(catalogue).join() === 'green');
  });

  it('may be a file that is removed and restored: the same model is available again', async () => {
    await put('a.json', text({ name: 'a' }));
    const catalogue = await open();
    const { hash } = catalogue.resolve('a', undefined);

    await rename(at('a.json'), at('a.json~'));
    await waitFor('it is gone', () => names(catalogue).length === 0);
    await rename(at('a.json~'), at('a.json'));
    await waitFor('it is back', () => names(catalogue).length === 1);

    assert.equal(catalogue.resolve('a', undefined).hash, hash);
  });

  it('may be a directory that disappears and returns: its models stay meanwhile', async () => {
    const own = at('own');
    await mkdir(own);
    await put('own/a.json', text({ name: 'a' }));
    const catalogue = await open({ directories: [own], pollMs: 50 });

    await rename(own, at('elsewhere'));
    await waitFor('it is missed', () => catalogue.state().rejected !== undefined);
    assert.deepEqual(
      catalogue.state().rejected?.problems.map(({ message }) => message),
      [`${own}: there is no such file or directory`],
    );
    assert.deepEqual(names(catalogue), ['a']);

    await mkdir(own);
    await put('own/b.json', text({ name: 'b' }));
    await waitFor('it is back', () => names(catalogue).join() === 'b');
    assert.equal(catalogue.state().rejected, undefined);
  });

  it("may be an editor's backup files, which are not models", async () => {
    const catalogue = await open({ pollMs: 50 });

    await writeFile(at('.a.json'), '{');
    await symlink('user@host.1', at('.#b.json'));
    await writeFile(at('a.json~'), '{');
    await put('a.json', text({ name: 'a' }));
    await waitFor('the model is there', () => names(catalogue).join() === 'a');

    assert.equal(catalogue.state().rejected, undefined);
  });
});
