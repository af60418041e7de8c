/** A process whose event loop stands still: it is ended, says where it stood, and its supervisor starts it again. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { packageFile } from '../../src/config/package-root.ts';
import { LogFile } from '../../src/embedded/log-files.ts';
import { Part } from '../../src/embedded/part.ts';
import { ProcessRecord } from '../../src/embedded/process-record.ts';
import { until } from '../support/until.ts';

let folder: string;
before(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'darkroom-hang-'));
});
after(() => rm(folder, { recursive: true, force: true }));

let part: Part | undefined;
afterEach(() => part?.stop());

/** Starts the program under supervision. @returns what is told of it. */
async function supervise(what: string): Promise<{ readonly reports: string[]; readonly lines: string[] }> {
  const [reports, lines]: [string[], string[]] = [[], []];
  part = new Part(
    {
      name: what,
      title: 'The program',
      launch: async () => ({
        command: process.execPath,
        args: [packageFile('test/embedded/fixtures/hanging.mjs'), folder, what],
        environment: { PATH: process.env['PATH'] },
        hasChannel: true,
      }),
      waitUntilReady: async (announced) => void (await announced),
      stopSignal: 'SIGKILL',
      stopTimeoutMs: 5_000,
    },
    {
      log: new LogFile(folder, what),
      record: new ProcessRecord(folder),
      onLine: (_part, line) => lines.push(line),
      report: (line) => reports.push(line),
      onGivenUp: (error) => assert.fail(error),
    },
  );
  await part.start();
  return { reports, lines };
}

describe('a process whose event loop stands still', () => {
  it('is ended and started again; its log says where it stood, and its supervisor why it ended', async () => {
    const { reports, lines } = await supervise('hangs');

    await until('it runs again', () => reports.includes('The program runs again.'));

    assert.match(reports[0] ?? '', /ended unexpectedly \(its event loop stood still; its log says where\)/);
    const line = lines.find((each) => each.includes('the event loop stood still')) ?? assert.fail(lines.join('\n'));
    const { level, stack } = JSON.parse(line) as { level: number; stack: string };
    assert.equal(level, 60);
    assert.match(stack, /at standStill \(.*hanging/);
  });

  it('is left alone where it goes on in time, and where it was stopped for longer than it may stand still', async () => {
    const { reports } = await supervise('pauses');
    const running = part ?? assert.fail('it was not started');
    const pid = running.pid ?? assert.fail('it does not run');

    process.kill(pid, 'SIGSTOP');
    // Twice as long as the loop may stand still: the time itself is what is tested.
    await sleep(4_000);
    process.kill(pid, 'SIGCONT');
    await sleep(4_000);

    assert.deepEqual(reports, []);
    assert.equal(running.pid, pid);
  });
});
