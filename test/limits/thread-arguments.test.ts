/** Threads start whatever options their process was started with. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { packageModule } from '../../src/config/package-root.ts';
import { threadArguments } from '../../src/limits/thread-arguments.ts';

const run = promisify(execFile);

describe('the arguments of a thread', () => {
  it('are those of its process that a thread accepts, in either spelling', () => {
    const options = ['--enable-source-maps', '--max-old-space-size=512', '--import', './a.mjs', '--import=./b.mjs'];

    assert.deepEqual(threadArguments([...options, '--test-timeout=0', '-r', './c.cjs', '--title', 'darkroom']), [
      '--enable-source-maps',
      '--import=./a.mjs',
      '--import=./b.mjs',
      '--require=./c.cjs',
      '--no-experimental-require-module',
    ]);
  });

  it('let it start in a process with options for V8 and for the process alone', async () => {
    const program = packageModule('test/limits/start-thread.ts');
    const options = ['--max-old-space-size=512', '--max-http-header-size=20000', '--enable-source-maps'];

    const { stdout } = await run(process.execPath, [...options, program]);

    assert.equal(stdout, 'answered');
  });
});
