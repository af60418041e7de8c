/** A process whose event loop is blocked: it is ended, logs where it was blocked, and its supervisor restarts it. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { packageFile } from '../../src/config/package-root.ts';
import { LogFile } from '../../src/standalone/logs.ts';
import { Part } from '../../src/standalone/part.ts';
import { HUNG_EXIT_CODE } from '../../src/processes/hang-watch.ts';
import { ProcessRecord } from '../../src/standalone/processes.ts';
import { letPass } from '../support/let-pass.ts';
import { waitFor } from '@darkroom/testing/wait-for';

let directory: string;
before(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-hang-'));
});
after(() => rm(directory, { recursive: true, force: true }));

let part: Part | undefined;
afterEach(() => part?.stop());

/** Starts the program under supervision. @returns the reports and the lines of its output. */
async function supervise(what: string): Promise<{ readonly reports: string[]; readonly lines: string[] }> {
  const [reports, lines]: [string[], string[]] = [[], []];
  part = new Part(
    {
      name: what,
      title: 'The program',
      launch: async () => ({
        command: process.execPath,
        args: [packageFile('test/standalone/fixtures/hanging.mjs'), directory, what],
        environment: { PATH: process.env['PATH'] },
        hasChannel: true,
      }),
      waitUntilReady: async (announced) => void (await announced),
      stopSignal: 'SIGKILL',
      stopTimeoutMs: 5_000,
    },
    {
      log: new LogFile(directory, what),
      record: new ProcessRecord(directory),
      onLine: (_part, line) => lines.push(line),
      report: (line) => reports.push(line),
    },
  );
  await part.start();
  return { reports, lines };
}

/** Starts the program by itself, and reads none of its output. */
function launch(t: TestContext, args: readonly string[], options: readonly string[] = []): ChildProcess {
  const child = spawn(process.execPath, [...options, packageFile('test/standalone/fixtures/hanging.mjs'), ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  t.after(() => child.kill('SIGKILL'));
  return child;
}

describe('a process whose event loop is blocked', () => {
  it('is ended and restarted; its log shows where it was blocked, and its supervisor logs the reason', async () => {
    const { reports, lines } = await supervise('hangs');

    await waitFor('it runs again', () => reports.includes('The program runs again.'));

    assert.match(reports[0] ?? '', /ended unexpectedly \(its event loop was blocked; its log shows where\)/);
    const line = lines.find((each) => each.includes('the event loop was blocked')) ?? assert.fail(lines.join('\n'));
    const { level, stack } = JSON.parse(line) as { level: number; stack: string };
    assert.equal(level, 60);
    assert.match(stack, /at standStill \(.*hanging/);
  });

  it('is ended when it blocks on a reader of its own log, which loses the last lines as well', async (t) => {
    const child = launch(t, [directory, 'unread']);

    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];

    // It exits by itself if it could be interrupted, and otherwise it is killed.
    assert.ok(code === HUNG_EXIT_CODE || signal === 'SIGKILL', `${code} ${signal}`);
  });

  it('is not ended when a debugger may have stopped it', async (t) => {
    const debugged = await mkdtemp(path.join(directory, 'debugged-'));
    const child = launch(t, [debugged], ['--inspect=127.0.0.1:0']);
    await waitFor('it stands still', () => existsSync(path.join(debugged, 'first-life')));

    // Three times as long as the loop may be blocked: the time itself is what is tested.
    await letPass(8_000);

    assert.deepEqual([child.exitCode, child.signalCode], [null, null]);
  });

  it('is not ended when it continues in time, or when it was suspended for longer than the limit', async () => {
    const { reports } = await supervise('pauses');
    const running = part ?? assert.fail('it was not started');
    const pid = running.pid ?? assert.fail('it does not run');

    process.kill(pid, 'SIGSTOP');
    // Twice as long as the loop may be blocked: the time itself is what is tested.
    await letPass(4_000);
    process.kill(pid, 'SIGCONT');
    await letPass(4_000);

    assert.deepEqual(reports, []);
    assert.equal(running.pid, pid);
  });
});
