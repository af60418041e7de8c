/** A supervised part: how long it is waited for, and what happens when it dies before and after it was ready. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, unlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import { packageFile } from '../../src/config/package-root.ts';
import { LogFile } from '../../src/standalone/logs.ts';
import { Part } from '../../src/standalone/part.ts';
import { ProcessRecord } from '../../src/standalone/processes.ts';

/** More than the deaths after which a part that was never ready is given up. */
const MANY_DEATHS = 7;

let parent: string;
before(async () => {
  parent = await mkdtemp(path.join(os.tmpdir(), 'darkroom-part-'));
});
after(() => rm(parent, { recursive: true, force: true }));

let directory: string;
let reports: string[];
let part: Part;
beforeEach(async () => {
  directory = await mkdtemp(path.join(parent, 'run-'));
  reports = [];
});
afterEach(() => part.stop());

function createPart(what = ''): Part {
  part = new Part(
    {
      name: 'program',
      title: 'The program',
      launch: async () => ({
        command: process.execPath,
        args: [packageFile('test/standalone/fixtures/slow-starter.mjs'), directory, what],
        environment: { PATH: process.env['PATH'] },
        hasChannel: true,
      }),
      waitUntilReady: async (announced, signal) => {
        const ended = new Promise<never>((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('it ended')));
        });
        await Promise.race([announced, ended]);
      },
      stopSignal: 'SIGTERM',
      stopTimeoutMs: 5_000,
    },
    {
      log: new LogFile(directory, 'program'),
      record: new ProcessRecord(directory),
      onLine: () => undefined,
      report: (line) => reports.push(line),
      noticeMs: 50,
      // Even a process that is starved of processor time gets some within this many.
      mostIdleNotices: 100,
      restarts: { firstMs: 1, maxMs: 10 },
    },
  );
  return part;
}

const may = (what: string, content = ''): Promise<void> => writeFile(path.join(directory, what), content);
const restarts = (reason: RegExp): number =>
  reports.filter((line) => line.startsWith('The program ended unexpectedly') && reason.test(line)).length;

describe('a part of a standalone installation', () => {
  it('is waited for while it makes progress, with a line that says what it does', async () => {
    let isReady = false;
    const started = createPart()
      .start()
      .then(() => {
        isReady = true;
      });

    await waitFor('it is waited for longer than one that does nothing', () => reports.length > 110);
    assert.equal(isReady, false);
    assert.ok(
      reports.some((line) => /^Waiting for the program \(\d+ s\): loading the models$/.test(line)),
      reports[9],
    );
    assert.equal(restarts(/./), 0);
    await may('may-be-ready');
    await started;
  });

  it(
    'is ended and started again when it does nothing while it starts',
    { skip: process.platform !== 'linux' },
    async () => {
      await may('may-be-ready');

      await createPart('stops').start();

      assert.equal(restarts(/it did nothing while it started/), 1);
    },
  );

  for (const [code, reason] of [
    ['3', /exit code 3/],
    ['78', /its configuration is invalid; its log shows why/],
  ] as const) {
    it(`is restarted for as long as it takes once it has been ready (exit code ${code})`, async () => {
      await may('may-be-ready');
      await createPart().start();

      await may('may-die', code);
      await waitFor('it has died many times', () => restarts(reason) >= MANY_DEATHS);
      await unlink(path.join(directory, 'may-die'));

      await waitFor('it runs again', () => reports.includes('The program runs again.'));
    });
  }

  it('shows no line of the process that died while the next one starts', async () => {
    const started = createPart('quiet').start();
    await waitFor('the first one writes', () => reports.some((line) => line.endsWith(': loading the models')));
    await may('may-be-ready');
    await started;
    await unlink(path.join(directory, 'may-be-ready'));
    const before = reports.length;
    await may('may-die', '3');
    await waitFor('it has died', () => restarts(/exit code 3/) > 0);
    await unlink(path.join(directory, 'may-die'));

    const waiting = (): readonly string[] => reports.slice(before).filter((line) => line.startsWith('Waiting'));
    await waitFor('the next one is waited for', () => waiting().length > 0);

    assert.match(waiting()[0] ?? '', /^Waiting for the program \(\d+ s\)\.$/);
  });

  it('is given up when it has died five times and was never ready', async () => {
    await may('may-die', '3');

    await assert.rejects(createPart().start(), /The program ended 5 times before it was ready \(last: exit code 3\)/);
  });

  it('is given up at once when it was never ready and its configuration is invalid', async () => {
    await may('may-die', '78');

    await assert.rejects(createPart().start(), /The program cannot run with this configuration/);
  });
});
