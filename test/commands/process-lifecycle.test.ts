/**
 * How a process of ours is stopped: once, however often the same signal arrives, and immediately when stopped again.
 */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { packageModule } from '../../src/config/package-root.ts';
import { waitFor } from '@darkroom/testing/wait-for';

/**
 * A process that continues after the stop request, and reports it; a message of any kind advances its clock by two
 * seconds.
 */
const PROGRAM = `
  const { waitForStopSignal } = await import(${JSON.stringify(packageModule('src/commands/process-lifecycle.ts'))});
  const write = (text) => process.stdout.write(text + '\\n');
  const logger = { info: (_fields, message) => write(message), warn: (_fields, message) => write(message) };
  const now = performance.now.bind(performance);
  process.once('message', () => {
    performance.now = () => now() + 2_000;
    write('later');
  });
  setInterval(() => {}, 1_000);
  const stop = waitForStopSignal(logger);
  write('ready');
  await stop;
  setInterval(() => write('going on'), 20);`;

interface Stubborn {
  readonly child: ChildProcess;
  output(): string;
}

async function start(test: TestContext): Promise<Stubborn> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  test.after(() => child.kill('SIGKILL'));
  let output = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (output += text));
  await waitFor('it listens', () => output.includes('ready'));
  return { child, output: () => output };
}

/** A process whose library warns. */
const WARNING_PROGRAM = `
  const { logProcessWarnings } = await import(${JSON.stringify(packageModule('src/commands/process-lifecycle.ts'))});
  logProcessWarnings({ warn: ({ err }, message) => process.stdout.write(JSON.stringify({ name: err.name, message })) });
  const { signal } = new AbortController();
  for (let count = 0; count < 20; count++) signal.addEventListener('abort', () => {});`;

it('writes warnings of Node to the log, and nothing beside it', async () => {
  const args = ['--input-type=module', '-e', WARNING_PROGRAM];

  const { stdout, stderr } = await promisify(execFile)(process.execPath, args);

  const { name, message } = JSON.parse(stdout) as { name: string; message: string };
  assert.equal(name, 'MaxListenersExceededWarning');
  assert.match(message, /11 abort listeners/);
  assert.equal(stderr, '');
});

describe('stopping a process', () => {
  it("treats the signals of a group and of a supervisor, and the supervisor's exit, as one request", async (t) => {
    const { child, output } = await start(t);

    child.kill('SIGTERM');
    child.kill('SIGINT');
    child.kill('SIGTERM');
    await waitFor('it was asked', () => output().includes('stopping'));
    child.disconnect();
    const written = output().length;
    await waitFor('it goes on', () => output().slice(written).split('going on').length > 10);

    assert.equal(child.exitCode, null);
    assert.equal(output().replaceAll('going on\n', ''), 'ready\nstopping\n');
  });

  it('ends immediately when it is requested again later', async (t) => {
    const { child, output } = await start(t);

    child.kill('SIGTERM');
    await waitFor('it was asked', () => output().includes('stopping'));
    child.send('later');
    await waitFor('it is later', () => output().includes('later'));
    child.kill('SIGTERM');

    const [code] = (await once(child, 'exit')) as [number];
    assert.equal(code, 1);
  });
});
