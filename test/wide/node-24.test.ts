/**
 * The end-to-end tests on Node 24, which the container image runs; all other tests run on the Node of the machine, and
 * CI's is 20.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { PACKAGE_ROOT, packageFile } from '../../src/config/package-root.ts';
import { NODE_24, obtainNode } from './node-release.ts';

const OUTPUT_BYTES = 64 * 1024 * 1024;
const LAST_LINES = 100;

const run = promisify(execFile);

describe(`Node ${NODE_24}`, { timeout: 1_200_000 }, () => {
  let directory: string;
  let node: string;
  before(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-node-'));
    node = await obtainNode(directory, NODE_24);
  });
  after(() => rm(directory, { recursive: true, force: true }));

  it('passes the end-to-end tests', async () => {
    assert.equal((await run(node, ['--version'])).stdout, `v${NODE_24}\n`);
    const files = (await readdir(packageFile('test/e2e')))
      .filter((name) => name.endsWith('.test.ts'))
      .map((name) => path.join('test/e2e', name));
    // The tests of this run are not theirs: with this variable they would report to it.
    const { NODE_TEST_CONTEXT: _context, ...environment } = process.env;
    const imported = ['check-connection-waits.mjs', 'end-descendants.mjs'].map(
      (file) => `--import=${packageFile(path.join('test/support', file))}`,
    );
    const runner = packageFile('dist/test/support/run-tests.js');
    const options = { cwd: PACKAGE_ROOT, env: environment, maxBuffer: OUTPUT_BYTES };

    const ended = await run(node, ['--enable-source-maps', ...imported, runner, ...files], options).catch(
      (error: unknown) => error as { stdout: string; stderr: string; code: number },
    );

    const shown = ended.stdout.split('\n').slice(-LAST_LINES).join('\n');
    assert.ok(!('code' in ended), `${shown}\n${ended.stderr}`);
    assert.match(ended.stdout, /^ℹ pass [1-9]/m);
    assert.match(ended.stdout, /^ℹ fail 0$/m);
  });
});
