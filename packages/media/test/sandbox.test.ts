/**
 * Promises about a compromised media child: in every sandbox that this machine allows it reaches nothing but the file
 * it was given.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import os, { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { MediaChild } from '../src/media-child.ts';
import { PACKAGE_DIRECTORY } from '../src/program-files.ts';
import { probeMediaSandbox } from '../src/sandbox.ts';
import { UndecodableMediaError } from '../src/undecodable-media-error.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import type { Outcomes } from './hostile-child.ts';
import { compiled } from './compiled.ts';
import { assertNoneDone, commandOf, openHostileWorld } from './hostile-world.ts';
import type { HostileWorld } from './hostile-world.ts';
import { CAN_SEE_PROCESSES } from '@darkroom/testing/media-processes';

const REPOSITORY = path.resolve(PACKAGE_DIRECTORY, '../..');

let world: HostileWorld;
before(async () => {
  world = await openHostileWorld();
});
after(() => world.close());

/**
 * Files that no child may read: of the service, of the machine, of its own program's package, and by indirect paths.
 */
function secretPaths({ secret }: HostileWorld): readonly string[] {
  const ofMachine = ['/etc/passwd', '/etc/hostname', '/proc/meminfo', `/proc/${process.pid}/environ`];
  const ofRepository = ['.env.example', '.git', 'package-lock.json', 'models'].map((name) =>
    path.join(REPOSITORY, name),
  );
  const around = [`/.old${secret}`, `/../..${secret}`, `/proc/1/root${secret}`, `/proc/1/cwd${secret}`];
  return [secret, ...ofMachine, ...ofRepository, ...around];
}

function pathsToWrite({ secret, input }: HostileWorld): readonly string[] {
  // A checkout below /tmp is in the directory that a child may write to, in a /tmp of its own.
  const beside = PACKAGE_DIRECTORY.startsWith('/tmp/') ? [] : ['new'];
  const ofPackage = [...beside, 'dist/src/new', 'dist/src/decode.js', 'package.json', '../../node_modules/new'];
  const ofMachine = ['/new', '/usr/lib/new', '/dev/new', '/proc/1/oom_score_adj', secret, input];
  return [...ofMachine, ...ofPackage.map((name) => path.join(PACKAGE_DIRECTORY, name))];
}

/** Reserved for documentation: RFC 5737. */
const OUTSIDE = { port: 443, host: '192.0.2.1' };

const everywhere = CAN_SEE_PROCESSES
  ? await Promise.all(
      (['other-user', 'user-namespace'] as const).map((confinement) => probeMediaSandbox([confinement])),
    )
  : [];
const whole = everywhere.filter(({ confinement }) => confinement !== 'none');

for (const sandbox of whole) {
  describe(`a compromised child in the sandbox "${sandbox.confinement}"`, () => {
    let sibling: ChildProcess;
    let outcomes: readonly Outcomes[];
    const written = path.join(tmpdir(), `taken-over-${process.pid}-${sandbox.confinement}`);
    before(async () => {
      sibling = spawn('/bin/sh', ['-c', 'read forever'], { stdio: ['pipe', 'ignore', 'ignore'] });
      const { input, loopback, abstract } = world;
      outcomes = await world.attack(sandbox, [
        { attack: 'read', paths: [input] },
        { attack: 'read', paths: secretPaths(world) },
        { attack: 'list', paths: ['/', '/dev'] },
        { attack: 'processes' },
        { attack: 'signal', pids: [process.pid, process.ppid, sibling.pid ?? 0].filter((pid) => pid > 20) },
        { attack: 'connect', targets: [loopback, { ...loopback, host: '::1' }, OUTSIDE, abstract] },
        { attack: 'write', paths: pathsToWrite(world) },
        { attack: 'write', paths: [written] },
        { attack: 'privileges' },
        { attack: 'fill' },
        { attack: 'open' },
      ]);
    });
    after(async () => {
      sibling.kill();
      await once(sibling, 'close');
    });

    it('can read its input file, and no other', () => {
      const [ofInput = {}, ofSecrets = {}, { '/': root = '', '/dev': devices } = {}] = outcomes;
      assert.deepEqual(ofInput, { [world.input]: 'done' });
      assertNoneDone(ofSecrets);
      const [top = ''] = PACKAGE_DIRECTORY.split('/').slice(1);
      const expected = ['.old', 'bin', 'dev', 'etc', 'lib', 'lib64', 'proc', 'tmp', 'usr', top];
      assert.deepEqual(
        root.split(',').filter((name) => !expected.includes(name)),
        [],
      );
      assert.equal(devices, 'null,random,urandom,zero');
    });

    it('can see and signal only its own processes', () => {
      const [processes = {}, signals = {}] = outcomes.slice(3);
      assert.ok(Object.keys(processes).length < 10, 'a shell, itself and its loader');
      assert.ok(!Object.values(processes).some((command) => command.includes('sandbox.test')));
      assertNoneDone(signals);
    });

    it('cannot connect to the loopback, to abstract sockets or to the outside', () => {
      assertNoneDone(outcomes[5]);
    });

    it('can write only to its own temporary directory, and only a little', async () => {
      assertNoneDone(outcomes[6]);
      assert.equal(await readFile(world.input, 'utf8'), 'given');
      assert.deepEqual(outcomes[7], { [written]: 'done' });
      assert.ok(!existsSync(written), 'what it has written was its own');
      const { count, outcome } = outcomes[9] ?? {};
      assert.equal(outcome, 'ENOSPC');
      assert.ok(Number(count) <= 16, `${count} MB`);
    });

    it('gains no privilege', () => {
      const { capabilities, noNewPrivileges, ...tries } = outcomes[8] ?? {};
      assert.equal(capabilities, '0,0,0,0');
      assert.equal(noNewPrivileges, '1');
      assertNoneDone(tries);
    });

    it('can open only a few files', () => {
      const { count, outcome } = outcomes[10] ?? {};
      assert.equal(outcome, 'EMFILE');
      assert.ok(Number(count) < 256, `${count} files`);
    });

    it('can start only a few processes, and none outlives it', async () => {
      // Stopped by the kernel, or by us where it does not count root's processes.
      const forking = world.attack(sandbox, [{ attack: 'fork' }]).then(([{ started, outcome } = {}]) => {
        assert.equal(outcome, 'failed');
        assert.ok(Number(started) < 64, `${started} processes`);
      });
      await forking.catch((error: unknown) => {
        assert.ok(error instanceof UndecodableMediaError, String(error));
        assert.equal(error.message, 'starts too many processes');
      });
      assert.deepEqual(world.processes(), []);
    });

    it('can use only bounded memory, alone and in many processes', async () => {
      for (const kind of ['memory', 'memory-of-many'] as const) {
        await assert.rejects(world.attack(sandbox, [{ attack: kind }]), (error: Error) => {
          assert.equal(error.name, 'UndecodableMediaError', String(error));
          assert.match(error.message, /more than 250 MB of memory|crashes its decoder/);
          return true;
        });
      }
      assert.deepEqual(world.processes(), []);
    });

    it('can use only bounded processor time', async () => {
      await assert.rejects(world.attack(sandbox, [{ attack: 'cpu' }], { maxCpuSeconds: 3 }), {
        name: 'UndecodableMediaError',
        message: 'takes more than 3 s of processor time to read',
      });
    });

    it('has our priority if it is prompt, until it has to let everything else go first', async () => {
      const child = await MediaChild.start(
        { ...world.child, sandbox, isPrompt: true },
        { attacks: [{ attack: 'cpu' }] },
      );
      try {
        await waitFor('the hostile child runs', () => world.processes().some((pid) => isBusy(pid)));
        assert.deepEqual(prioritiesOf(world.processes()), [os.getPriority()]);

        child.letOthersFirst();
        assert.deepEqual(prioritiesOf(world.processes()), [Math.max(10, os.getPriority())]);
      } finally {
        await child.end();
      }
    });

    it('ends with the process that started it, even when it never checks', async () => {
      const program = `
        const { MediaChild } = await import(${JSON.stringify(compiled('src/media-child.ts'))});
        const sandbox = ${JSON.stringify(sandbox)};
        await MediaChild.start({ ...${JSON.stringify(world.child)}, sandbox }, { attacks: [{ attack: 'cpu' }] });
        setInterval(() => {}, 1000);`;
      const parent = spawn(process.execPath, ['--input-type=module', '-e', program], {
        cwd: PACKAGE_DIRECTORY,
        stdio: 'ignore',
      });
      await waitFor('the hostile child runs', () => world.processes().some((pid) => isBusy(pid)));
      parent.kill('SIGKILL');
      await once(parent, 'close');

      await waitFor('the hostile child has ended', () => world.processes().length === 0);
    });
  });
}

/** The priorities that the threads of processes have, each once. */
function prioritiesOf(pids: readonly string[]): readonly number[] {
  const threads = pids.flatMap((pid) => readdirSync(`/proc/${pid}/task`));
  return [...new Set(threads.map((thread) => os.getPriority(Number(thread))))];
}

/** Whether a process is Node itself, and no longer starting. */
function isBusy(pid: string): boolean {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return commandOf(pid).startsWith(process.execPath) && Number(fields[11]) > 50;
  } catch {
    return false;
  }
}
