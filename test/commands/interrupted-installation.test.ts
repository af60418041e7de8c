/** An installation that is ended half-way leaves nothing behind that a later command considers complete. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { appendFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { packageFile } from '../../src/config/package-root.ts';
import { waitFor } from '@darkroom/testing/wait-for';

/** Replaces npm: reports that it started, runs until it is released or ended, and writes what npm writes last. */
const NPM = `
  import { appendFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
  appendFileSync('begun', process.pid + '\\n');
  setInterval(() => {
    if (!existsSync('go-on')) return;
    mkdirSync('node_modules', { recursive: true });
    writeFileSync('node_modules/.package-lock.json', '{"packages":{}}');
    process.exit();
  }, 20);
`;

interface RunChild {
  (command: string, args: readonly string[], options: object): Promise<number | string>;
}

describe('a step of an installation or build', () => {
  it('is waited for with a line at every interval', async () => {
    const { runChild } = (await import(packageFile('scripts/run-child.mjs'))) as { runChild: RunChild };
    const said: string[] = [];
    let end = (): void => {};

    const code = runChild(process.execPath, ['-e', 'setInterval(() => {}, 1_000)'], {
      title: 'The installation',
      report: (line: string) => said.push(line),
      onProcess: (pid: number) => {
        end = () => void process.kill(pid, 'SIGTERM');
      },
      noticeMs: 5,
    });
    await waitFor('it has been reported', () => said.length >= 2);
    end();

    assert.equal(await code, 'SIGTERM');
    assert.match(said[0] ?? '', /^Waiting for the installation \(\d+ s\)\.$/);
  });
});

describe('an interrupted installation', () => {
  let clone: string;
  let started: ChildProcess[] = [];
  beforeEach(async () => {
    clone = await mkdtemp(path.join(os.tmpdir(), 'darkroom-interrupted-'));
    await cp(packageFile('scripts'), path.join(clone, 'scripts'), { recursive: true });
    await writeFile(path.join(clone, 'package.json'), '{"type":"module"}');
    await writeFile(path.join(clone, 'package-lock.json'), '{"packages":{"":{}}}');
    await writeFile(path.join(clone, 'npm.js'), NPM);
    await writeFile(path.join(clone, 'begun'), '');
  });
  afterEach(async () => {
    for (const pid of await begun()) end(pid);
    for (const child of started) child.kill('SIGKILL');
    started = [];
    await rm(clone, { recursive: true, force: true });
  });

  const begun = async (): Promise<readonly number[]> =>
    (await readFile(path.join(clone, 'begun'), 'utf8')).split('\n').filter(Boolean).map(Number);
  const isInstalled = (): boolean => existsSync(path.join(clone, 'node_modules/.installed-lock-hash'));

  /** @returns the command, and its output so far. */
  function start(): { readonly child: ChildProcess; readonly said: () => string } {
    const child = spawn(process.execPath, ['scripts/bootstrap.mjs', 'build'], {
      cwd: clone,
      env: { ...process.env, npm_execpath: path.join(clone, 'npm.js') },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    started.push(child);
    let text = '';
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    return { child, said: () => text };
  }

  it('ends npm too, and is started again by the next command', async () => {
    const { child, said } = start();
    await waitFor('npm works', async () => (await begun()).length === 1);
    child.kill('SIGTERM');
    await once(child, 'close');

    const [npm = 0] = await begun();
    assert.ok(!isAlive(npm), 'npm has ended');
    assert.match(said(), /The installation was interrupted; the next start begins it again/);
    assert.ok(!isInstalled());
    start();
    await waitFor('npm works again', async () => (await begun()).length === 2);
  });

  it('is waited for when npm continues without it, instead of starting another beside it', async () => {
    const { child } = start();
    await waitFor('npm works', async () => (await begun()).length === 1);
    child.kill('SIGKILL');
    // Not 'close': npm still holds its stderr.
    await once(child, 'exit');

    const { said } = start();
    const [npm = 0] = await begun();
    await waitFor('it waits', () => said().includes(`(process ${npm}) is installing or building; waiting for it`));
    assert.equal((await begun()).length, 1);
    await appendFile(path.join(clone, 'go-on'), '');
    await waitFor('it goes on', isInstalled);
    assert.equal((await begun()).length, 1);
  });

  it('ends the step of the build too, and names it', async () => {
    await mkdir(path.join(clone, 'node_modules/.bin'), { recursive: true });
    await appendFile(path.join(clone, 'go-on'), '');
    const compiler = "require('node:fs').appendFileSync('begun', process.pid + '\\n'); setInterval(() => {}, 1_000);";
    await writeFile(path.join(clone, 'node_modules/.bin/tsc'), `#!${process.execPath}\n${compiler}`, { mode: 0o755 });
    const { child, said } = start();
    await waitFor('the compiler works', async () => (await begun()).length === 2);

    // As from a terminal whose signal reaches this process alone.
    child.kill('SIGINT');
    await once(child, 'close');

    const [, compilerId = 0] = await begun();
    assert.ok(!isAlive(compilerId), 'the compiler has ended');
    assert.match(said(), /The compiler was interrupted; the next start begins it again/);
  });

  it('is reported as incomplete, not as a compile error', async () => {
    await appendFile(path.join(clone, 'go-on'), '');
    const { child, said } = start();
    await once(child, 'close');

    assert.match(said(), /tsc ENOENT\nSomething is missing in node_modules: remove that directory and start again\./);
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function end(pid: number): void {
  if (isAlive(pid)) process.kill(pid, 'SIGKILL');
}
