/**
 * The end-to-end tests on Node 24, which the container image runs, and every method of OpenAI's client; there, both use
 * its newest major, which needs it (`newest-clients/`). All other tests run on the Node of the machine,
 * and CI's is 20. With `NODE_24_FILES` only the named ones: `.ci/run` has those that show what Node itself may change,
 * native modules, threads, sockets and streams.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { PACKAGE_ROOT, packageFile } from '../../src/config/package-root.ts';
import { installLocked } from '../support/npm-environment.ts';
import { NODE_24, obtainNode } from './node-release.ts';

const NEWEST_CLIENTS = packageFile('test/wide/newest-clients');
const OF_METHODS = 'test/wide/openai-methods.test.ts';

const OUTPUT_BYTES = 64 * 1024 * 1024;
const LAST_LINES = 100;

const run = promisify(execFile);

describe(`Node ${NODE_24}`, () => {
  let directory: string;
  let node: string;
  before(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-node-'));
    node = await obtainNode(directory, NODE_24);
  });
  after(() => rm(directory, { recursive: true, force: true }));

  it('passes the end-to-end tests, and those of the newest client', async () => {
    assert.equal((await run(node, ['--version'])).stdout, `v${NODE_24}\n`);
    const { NODE_24_FILES = '' } = process.env;
    const named = NODE_24_FILES.split(' ').map((name) => `${name}.test.ts`);
    const found = (await readdir(packageFile('test/e2e'))).map((name) => path.join('test/e2e', name));
    const files = [...found, OF_METHODS]
      .filter((file) => file.endsWith('.test.ts'))
      .filter((file) => NODE_24_FILES === '' || named.includes(path.basename(file)));
    // The tests of this run are not theirs: with this variable they would report to it.
    const { NODE_TEST_CONTEXT: _context, ...environment } = process.env;
    const imported = [
      packageFile('test/support/prepare-program.mjs'),
      packageFile('test/support/end-descendants.mjs'),
      path.join(NEWEST_CLIENTS, 'hook.mjs'),
    ].map((file) => `--import=${file}`);
    const clients = await installLocked(NEWEST_CLIENTS, {
      name: 'newest-clients',
      what: 'the newest client of OpenAI',
    });
    const runner = packageFile('dist/test/support/run-tests.js');
    const env = { ...environment, DARKROOM_TEST_NEWEST_CLIENTS: clients };
    const options = { cwd: PACKAGE_ROOT, env, maxBuffer: OUTPUT_BYTES };

    const ended = await run(node, ['--enable-source-maps', ...imported, runner, ...files], options).catch(
      (error: unknown) => error as { stdout: string; stderr: string; code: number },
    );

    const shown = ended.stdout.split('\n').slice(-LAST_LINES).join('\n');
    assert.ok(!('code' in ended), `${shown}\n${ended.stderr}`);
    assert.match(ended.stdout, /^ℹ pass [1-9]/m);
    assert.match(ended.stdout, /^ℹ fail 0$/m);
  });
});
