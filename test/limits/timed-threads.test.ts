/** Jobs that never end: their caller gets an error, the next job is done, and nothing is started after the close. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { packageModule } from '../../src/config/package-root.ts';
import { ThreadEndedError, createTimedThread, threadArguments } from '../../src/limits/timed-threads.ts';
import type { TimedThread } from '../../src/limits/timed-threads.ts';
import type { LoopingJob } from './looping-thread.ts';

const LONG_MS = 60_000;

function loopingThread(): TimedThread<LoopingJob, string> {
  const module = packageModule('test/limits/looping-thread.ts');
  return createTimedThread({ module, startJob: 'answer', heapMb: 64 });
}

function endedBy(reason: ThreadEndedError['reason']) {
  return (error: unknown): boolean => error instanceof ThreadEndedError && error.reason === reason;
}

describe('a thread that does one job at a time', () => {
  it('is terminated with a job that takes too long or crashes it, and is available for the next', async () => {
    const thread = loopingThread();
    await thread.start();

    await assert.rejects(thread.run('loop', 100), endedBy('timeout'));
    assert.equal(await thread.run('answer', LONG_MS), 'answered');
    await assert.rejects(thread.run('die', LONG_MS), endedBy('died'));
    assert.equal(await thread.run('answer', LONG_MS), 'answered');
    await thread.close();
  });

  it('does the next job whatever becomes of the thread that was terminated', async () => {
    const thread = loopingThread();

    // Some of these exceed the time, some the memory, and some both at the same moment.
    for (let timeoutMs = 20; timeoutMs <= 400; timeoutMs += 20) {
      await assert.rejects(thread.run('fill', timeoutMs), ThreadEndedError);
      assert.equal(await thread.run('answer', LONG_MS), 'answered', `after ${timeoutMs} ms`);
    }
    await thread.close();
  });

  it('is closed with its job, and not started again for those that waited', async () => {
    const thread = loopingThread();
    await thread.start();
    const underWay = assert.rejects(thread.run('loop', LONG_MS), endedBy('died'));

    await thread.close();
    await underWay;

    await assert.rejects(thread.run('answer', LONG_MS), endedBy('died'));
  });

  it('reports no failed start when it is closed meanwhile', async () => {
    const thread = loopingThread();
    const starting = thread.start();

    await thread.close();

    await starting;
  });

  // Node ends the process if such a thread is closed at the wrong moment (src/limits/timed-threads.ts).
  it('does not load modules by require', async () => {
    const thread = loopingThread();

    assert.equal(await thread.run('require', LONG_MS), 'ERR_REQUIRE_ESM');
    await thread.close();
  });
});

const run = promisify(execFile);

/** Threads start whatever options their process was started with. */
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
