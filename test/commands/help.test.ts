/**
 * `--help` of the npm scripts on a fresh clone: nothing is installed or built yet, and nothing is afterwards. `npm
 * start` and `npm run admin` print the same as the program itself.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { packageFile } from '../../src/config/package-root.ts';
import { builtProgram } from '../support/built-program.ts';

const run = promisify(execFile);

/** Clones with only what `npm run` needs to start: no packages, no lock file to install them by, no build. */
let directory: string;
before(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-help-'));
});
after(() => rm(directory, { recursive: true, force: true }));

async function newClone(): Promise<string> {
  const clone = await mkdtemp(path.join(directory, 'clone-'));
  await cp(packageFile('package.json'), path.join(clone, 'package.json'));
  await cp(packageFile('scripts'), path.join(clone, 'scripts'), { recursive: true });
  return clone;
}

/** What the scripts of a clone, or of this repository, print. */
async function printedBy(clone: string, args: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  return run(process.execPath, [path.join(clone, 'scripts/bootstrap.mjs'), ...args], { cwd: clone });
}

/** What the built program prints. */
async function printedByProgram(args: readonly string[]): Promise<string> {
  return (await run(process.execPath, [...builtProgram(), ...args])).stdout;
}

describe('help before anything is installed', { concurrency: true }, () => {
  const requests = [
    ['start', '--help'],
    ['start', '-h'],
    ['start', '--data-dir', 'elsewhere', '--help'],
    ['admin', '--help'],
    ['admin', '--json', '--help'],
    ['admin', '-h'],
    ['admin', '--data-dir', 'elsewhere', '-h'],
  ];
  for (const args of requests) {
    it(`answers ${args.join(' ')} with what the program prints, and installs and builds nothing`, async () => {
      const clone = await newClone();

      const { stdout, stderr } = await printedBy(clone, args);

      assert.equal(stdout, await printedByProgram(args));
      assert.equal(stderr, '');
      assert.deepEqual((await readdir(clone)).toSorted(), ['package.json', 'scripts']);
    });
  }

  for (const [usage, ...args] of [
    ['npm run test:wide', 'test', '--wide', '--help'],
    ['npm run test:wide', 'test', '--wide', 'browser', '-h'],
    ['npm test', 'test', '--help'],
    ['npm test', 'test', '-h'],
    ['npm test', 'test', '--unit', '--help'],
    ['npm run test:containers', 'test:containers', '--help'],
    ['npm run test:containers', 'test:containers', 'upgrade', '-h'],
    ['npm run test:cluster', 'test:cluster', '--help'],
    ['npm run check', 'check', '--help'],
    ['npm run images', 'images', '--help'],
    ['npm run images', 'images', 'check', '--help'],
    ['npm run build', 'build', '--help'],
    ['npm run chaos', 'chaos', '--seed', '3', '--help'],
    ['npm run attack', 'attack', '-h'],
    ['npm run gallery', 'gallery', '--only', 'poster', '--help'],
    ['npm run screenshots', 'screenshots', '--help'],
    ['npm run ts', 'ts', '--help'],
    ['npm run cli', 'cli', '--json', '--help'],
  ] as const) {
    it(`answers ${args.join(' ')} with the help of ${usage}, and installs and builds nothing`, async () => {
      const clone = await newClone();

      const { stdout, stderr } = await printedBy(clone, args);

      assert.match(stdout, new RegExp(`^Usage: ${usage}(?: .*)?\n`));
      assert.equal(stderr, '');
      assert.deepEqual((await readdir(clone)).toSorted(), ['package.json', 'scripts']);
    });
  }

  for (const [name, program] of [
    ['chaos', 'dist/test/chaos/main.js'],
    ['attack', 'dist/test/attack/campaign/main.js'],
    ['gallery', 'dist/scripts/gallery/run.js'],
    ['screenshots', 'dist/scripts/screenshots/run.js'],
    ['cli', 'packages/cli/dist/src/main.js'],
  ] as const) {
    it(`answers ${name} --help with what the program prints`, async () => {
      const { stdout } = await printedBy(await newClone(), [name, '--help']);

      const env = { ...process.env, npm_lifecycle_event: name };
      assert.equal(stdout, (await run(process.execPath, [packageFile(program), '--help'], { env })).stdout);
    });
  }

  it('names in the help of test:wide every group and every file of test/wide', async () => {
    const { stdout } = await printedBy(await newClone(), ['test', '--wide', '--help']);
    const [, groups = '', files = ''] = stdout.split(/^(?:Groups|Files of test\/wide|Options):$/m);
    const rejected = await printedBy(packageFile('.'), ['test', '--wide', 'no-such']).catch(
      (error: { stderr: string }) => error,
    );
    const [, accepted = ''] = /accepts the groups ([a-z, ]+), and files/.exec(rejected.stderr) ?? [];
    const existing = (await readdir(packageFile('test/wide'))).filter((name) => name.endsWith('.test.ts'));

    assert.deepEqual(
      [...groups.matchAll(/^ {2}([a-z]+) /gm)].map(([, name = '']) => name).toSorted(),
      accepted.split(', ').toSorted(),
    );
    assert.deepEqual(
      (files.match(/[\w-]+/g) ?? []).toSorted(),
      existing.map((name) => name.replace('.test.ts', '')).toSorted(),
    );
  });

  it('shows the help of every npm script of this repository', async () => {
    const { scripts } = JSON.parse(await readFile(packageFile('package.json'), 'utf8')) as {
      scripts: Readonly<Record<string, string>>;
    };
    const expected = Object.entries(scripts).filter(([, script]) => script.includes('scripts/bootstrap.mjs'));
    for (const [name, script] of expected) {
      const [, args = ''] = /^exec node scripts\/bootstrap\.mjs (.+)$/.exec(script) ?? [];
      const { stdout } = await printedBy(await newClone(), [...args.split(' '), '--help']);
      const shown = name === 'test:unit' ? 'test' : name;
      assert.match(stdout, new RegExp(`^Usage: npm (?:run )?${shown}(?: .*)?$`, 'm'));
    }
  });

  it('answers bench --help with the name of every bench, and installs and builds nothing', async () => {
    const clone = await newClone();
    const { stdout } = await printedBy(clone, ['bench', '--help']);

    assert.match(stdout, /^Usage: npm run bench/);
    const directories = await readdir(packageFile('test/bench'));
    const names = directories.filter((name) => existsSync(packageFile(`test/bench/${name}/run.ts`)));
    assert.ok(names.includes('batch'));
    for (const name of names) assert.match(stdout, new RegExp(`^  ${name} `, 'm'));
    assert.deepEqual((await readdir(clone)).toSorted(), ['package.json', 'scripts']);
  });

  for (const args of [
    ['start', '--hlep'],
    ['start', '--port', '1'],
    ['start', '--verbos=yes'],
    ['start', '--verbose=yes'],
    ['start', '-x'],
    ['start', '-xh'],
    ['start', '--data-dir'],
    ['start', '--data-dir', '--verbose'],
    ['start', 'help'],
    ['start', '--data-dir', 'elsewhere', 'help'],
    ['admin'],
  ]) {
    it(`reports the mistake in ${args.join(' ')} as the program does`, async () => {
      const clone = await newClone();
      const stderrOf = (error: { code: number; stderr: string }) => ({ code: error.code, said: error.stderr.trim() });

      const ofClone = await printedBy(clone, args).catch(stderrOf);

      assert.deepEqual(ofClone, await printedByProgram(args).catch(stderrOf));
      assert.deepEqual((await readdir(clone)).toSorted(), ['package.json', 'scripts']);
    });
  }

  it('answers npm itself', async () => {
    const { stdout } = await run('npm', ['run', '--silent', 'admin', '--', '--help'], {
      cwd: await newClone(),
    });

    assert.match(stdout, /^Usage: npm run admin -- <group> <command>\n/);
  });

  it('leaves the help of a subcommand to the program', async () => {
    for (const option of ['--help', '-h']) {
      await assert.rejects(printedBy(await newClone(), ['admin', 'accounts', option]), /package-lock\.json/);
    }
  });
});
