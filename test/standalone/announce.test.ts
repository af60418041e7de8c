/** The commands that `npm start` prints, pasted into a shell. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { announce } from '../../src/standalone/announce.ts';

const run = promisify(execFile);

const printed = announce({
  apiUrl: 'http://127.0.0.1:8787',
  publicUrl: 'http://127.0.0.1:8787',
  adminUrl: 'http://127.0.0.1:8788',
  temporalTasksUrl: undefined,
  dataDir: '/data',
  firstRun: { accountId: 'acct_1', apiKey: 'dk_live_x', balanceUsd: '10', signInSecret: 's' },
});
const lineWith = (text: string): string =>
  printed
    .split('\n')
    .find((line) => line.includes(text))
    ?.trim() ?? '';

describe('the commands that a first start prints', () => {
  it('wait for a change of the status', () => {
    assert.match(lineWith('cat task.json'), /-H 'Prefer: wait=\d+'/);
  });

  it('download the output of a task that succeeded, and say so of one that has not', async (t) => {
    const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-announce-'));
    t.after(() => rm(directory, { recursive: true, force: true }));
    const download = lineWith('image.png');
    const answer = async (data: unknown): Promise<string> => {
      await writeFile(path.join(directory, 'task.json'), JSON.stringify({ code: 200, data }));
      const { stdout, stderr } = await run('sh', ['-c', download], { cwd: directory });
      assert.equal(stderr, '');
      return stdout.trim();
    };

    assert.equal(await answer({ status: 'handling' }), 'No success yet: get its status again.');
    assert.equal(
      await answer({ status: 'fail', error: { code: 'TASK_FAILED' } }),
      'No success yet: get its status again.',
    );

    const output = path.join(directory, 'output');
    await writeFile(output, 'the image');
    assert.equal(
      await answer({ status: 'success', output: [{ url: pathToFileURL(output).href }] }),
      'Saved as image.png.',
    );
    assert.equal(await readFile(path.join(directory, 'image.png'), 'utf8'), 'the image');
  });
});
