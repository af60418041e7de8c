import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { packageFile } from '../../src/config/package-root.ts';
import { waitFor } from '@darkroom/testing/wait-for';

/** Starts a process that leads a group of its own, like the servers of a test, prints its id and then hangs. */
const HANGING_FILE = `
  const { spawn } = await import('node:child_process');
  const server = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1_000)'], { detached: true, stdio: 'ignore' });
  process.stdout.write(String(server.pid));
  setInterval(() => {}, 1_000);
`;

describe('a test file that is ended because it times out', { skip: process.platform !== 'linux' }, () => {
  it('takes the processes that it started with it', async () => {
    const hanging = spawn(
      process.execPath,
      [`--import=${packageFile('test/support/end-descendants.mjs')}`, '--input-type=module', '-e', HANGING_FILE],
      { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, NODE_TEST_CONTEXT: 'child-v8' } },
    );
    const [output] = (await once(hanging.stdout, 'data')) as [Buffer];
    const server = Number(output.toString());
    assert.ok(isRunning(server));

    const ended = once(hanging, 'exit');
    hanging.kill('SIGTERM');
    const [code] = (await ended) as [number | null];

    assert.equal(code, 143);
    await waitFor('what it had started is gone', () => !isRunning(server));
  });
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
