/**
 * Promises about a media child that has been taken over: in every sandbox that this machine allows it reaches nothing but
 * the file it was given, and where namespaces are forbidden the promises that are left are exactly these.
 */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { chmod, chown, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { after, before, describe, it } from 'node:test';
import { PACKAGE_ROOT } from '../../src/config/package-root.ts';
import { MediaChild } from '../../src/media/media-child.ts';
import type { MediaChildOptions } from '../../src/media/media-child.ts';
import { ISOLATIONS, isolationsOf, probeMediaSandbox } from '../../src/media/sandbox.ts';
import type { MediaSandbox } from '../../src/media/sandbox.ts';
import { UndecodableMediaError } from '../../src/media/undecodable-media-error.ts';
import { until } from '../support/until.ts';
import type { Attack, Outcomes } from './hostile-child.ts';
import { CAN_SEE_PROCESSES } from './media-processes.ts';

const HOSTILE = { module: 'test/media/hostile-child.ts', isUntrusted: true, maxMemoryMb: 250 } as const;

let folder: string;
let secret: string;
let given: string;
let tcp: Server;
let abstract: Server;
const abstractName = `\0darkroom-sandbox-${process.pid}`;
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'sandbox-'));
  // The child may be another user.
  await chmod(folder, 0o755);
  await mkdir(path.join(folder, 'data'));
  secret = path.join(folder, 'data/secrets.json');
  await writeFile(secret, '{"encryptionKey":"hush"}', { mode: 0o600 });
  given = path.join(folder, 'given file');
  await writeFile(given, 'given');
  tcp = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  abstract = createServer((socket) => socket.destroy()).listen(abstractName);
  await Promise.all([once(tcp, 'listening'), once(abstract, 'listening')]);
});
after(async () => {
  tcp.close();
  abstract.close();
  await rm(folder, { recursive: true });
});

/** Has a child try things one after the other. @returns what came of each. */
async function attack(
  sandbox: MediaSandbox,
  attacks: readonly Attack[],
  options: Partial<MediaChildOptions> = {},
): Promise<readonly Outcomes[]> {
  const child = await MediaChild.start({ ...HOSTILE, sandbox, readable: [given], ...options }, { attacks });
  try {
    const { outcomes } = await child.receiveFacts();
    return outcomes as Outcomes[];
  } finally {
    await child.end();
  }
}

/** What no child is to read: of the service, of the machine, of its own program's surroundings, by ways around. */
function secretPaths(): readonly string[] {
  const ofMachine = ['/etc/passwd', '/etc/hostname', '/proc/meminfo', `/proc/${process.pid}/environ`];
  const ofPackage = ['.env.example', '.git', 'package-lock.json', 'models'].map((name) =>
    path.join(PACKAGE_ROOT, name),
  );
  const around = [`/.old${secret}`, `/../..${secret}`, `/proc/1/root${secret}`, `/proc/1/cwd${secret}`];
  return [secret, ...ofMachine, ...ofPackage, ...around];
}

function pathsToWrite(): readonly string[] {
  const ofPackage = ['new', 'src/new', 'node_modules/new', 'src/main.ts', 'package.json'];
  const ofMachine = ['/new', '/usr/lib/new', '/dev/new', '/proc/1/oom_score_adj', secret, given];
  return [...ofMachine, ...ofPackage.map((name) => path.join(PACKAGE_ROOT, name))];
}

/** 192.0.2.1 is nobody's: RFC 5737. */
function targetsOf(port: number): readonly { port?: number; host?: string; path?: string }[] {
  const loopback = ['127.0.0.1', '::1'].map((host) => ({ port, host }));
  return [...loopback, { port: 443, host: '192.0.2.1' }, { path: abstractName }];
}

function assertNoneDone(outcomes: Readonly<Record<string, string>>): void {
  assert.ok(Object.keys(outcomes).length > 0);
  assert.deepEqual(
    Object.entries(outcomes).filter(([, outcome]) => outcome === 'done'),
    [],
  );
}

/** Processes whose command line names the hostile module. */
function hostileProcesses(): readonly string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(HOSTILE.module);
    } catch {
      return false;
    }
  });
}

const everywhere = CAN_SEE_PROCESSES
  ? await Promise.all(
      (['other-user', 'user-namespace'] as const).map((confinement) => probeMediaSandbox([confinement])),
    )
  : [];
const whole = everywhere.filter(({ confinement }) => confinement !== 'none');

for (const sandbox of whole) {
  describe(`a child that has been taken over, in the sandbox "${sandbox.confinement}"`, () => {
    let sibling: ChildProcess;
    let outcomes: readonly Outcomes[];
    const written = path.join(tmpdir(), `taken-over-${process.pid}-${sandbox.confinement}`);
    before(async () => {
      sibling = spawn('/bin/sh', ['-c', 'read forever'], { stdio: ['pipe', 'ignore', 'ignore'] });
      const { port } = tcp.address() as AddressInfo;
      outcomes = await attack(sandbox, [
        { attack: 'read', paths: [given] },
        { attack: 'read', paths: secretPaths() },
        { attack: 'list', paths: ['/', '/dev'] },
        { attack: 'processes' },
        { attack: 'signal', pids: [process.pid, process.ppid, sibling.pid ?? 0].filter((pid) => pid > 20) },
        { attack: 'connect', targets: targetsOf(port) },
        { attack: 'write', paths: pathsToWrite() },
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

    it('reads the file that it was given, and no other', () => {
      const [ofGiven = {}, ofSecrets = {}, { '/': root = '', '/dev': devices } = {}] = outcomes;
      assert.deepEqual(ofGiven, { [given]: 'done' });
      assertNoneDone(ofSecrets);
      const [top = ''] = PACKAGE_ROOT.split('/').slice(1);
      const expected = ['.old', 'bin', 'dev', 'etc', 'lib', 'lib64', 'proc', 'tmp', 'usr', top];
      assert.deepEqual(
        root.split(',').filter((name) => !expected.includes(name)),
        [],
      );
      assert.equal(devices, 'null,random,urandom,zero');
    });

    it('sees and signals no process but its own', () => {
      const [processes = {}, signals = {}] = outcomes.slice(3);
      assert.ok(Object.keys(processes).length < 10, 'a shell, itself and its loader');
      assert.ok(!Object.values(processes).some((command) => command.includes('sandbox.test')));
      assertNoneDone(signals);
    });

    it('connects to nothing: not to the loopback, not to abstract sockets, not to the outside', () => {
      assertNoneDone(outcomes[5] ?? {});
    });

    it('writes nothing outside its own directory for temporary files, and little into that', async () => {
      assertNoneDone(outcomes[6] ?? {});
      assert.equal(await readFile(given, 'utf8'), 'given');
      assert.deepEqual(outcomes[7], { [written]: 'done' });
      assert.ok(!existsSync(written), 'what it has written was its own');
      const { count, outcome } = outcomes[9] ?? {};
      assert.equal(outcome, 'ENOSPC');
      assert.ok(Number(count) <= 16, `${count} MB`);
    });

    it('gains no right', () => {
      const { capabilities, noNewPrivileges, ...tries } = outcomes[8] ?? {};
      assert.equal(capabilities, '0,0,0,0');
      assert.equal(noNewPrivileges, '1');
      assertNoneDone(tries);
    });

    it('opens few files', () => {
      const { count, outcome } = outcomes[10] ?? {};
      assert.equal(outcome, 'EMFILE');
      assert.ok(Number(count) < 256, `${count} files`);
    });

    it('starts few processes, and none outlives it', async () => {
      // By the kernel, or by us where it does not count those of root.
      const forking = attack(sandbox, [{ attack: 'fork' }]).then(([{ started, outcome } = {}]) => {
        assert.equal(outcome, 'failed');
        assert.ok(Number(started) < 64, `${started} processes`);
      });
      await forking.catch((error: unknown) => {
        assert.ok(error instanceof UndecodableMediaError, String(error));
        assert.equal(error.message, 'starts too many processes');
      });
      assert.deepEqual(hostileProcesses(), []);
    });

    it('takes bounded memory, alone and in many processes', async () => {
      for (const kind of ['memory', 'memory-of-many'] as const) {
        await assert.rejects(attack(sandbox, [{ attack: kind }]), (error: Error) => {
          assert.equal(error.name, 'UndecodableMediaError', String(error));
          assert.match(error.message, /more than 250 MB of memory|breaks its decoder/);
          return true;
        });
      }
      assert.deepEqual(hostileProcesses(), []);
    });

    it('takes bounded processor time', async () => {
      await assert.rejects(attack(sandbox, [{ attack: 'cpu' }], { maxCpuSeconds: 3 }), {
        name: 'UndecodableMediaError',
        message: 'takes more than 3 s of processor time to read',
      });
    });

    it('ends with the process that started it, though it never looks', async () => {
      const program = `
        const { MediaChild } = await import(${JSON.stringify(path.join(PACKAGE_ROOT, 'src/media/media-child.ts'))});
        const sandbox = ${JSON.stringify(sandbox)};
        await MediaChild.start({ ...${JSON.stringify(HOSTILE)}, sandbox }, { attacks: [{ attack: 'cpu' }] });
        setInterval(() => {}, 1000);`;
      const parent = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], {
        cwd: PACKAGE_ROOT,
        stdio: 'ignore',
      });
      await until('the hostile child runs', () => hostileProcesses().some((pid) => isBusy(pid)));
      parent.kill('SIGKILL');
      await once(parent, 'close');

      await until('the hostile child has ended', () => hostileProcesses().length === 0);
    });
  });
}

describe('where nothing may be mounted', { skip: !CAN_SEE_PROCESSES }, () => {
  it('a child reads what our user reads, and still reaches neither processes nor the network', async (t) => {
    const sandbox = await probeMediaSandbox(['namespaces']);
    if (sandbox.confinement === 'none') return t.skip('namespaces are forbidden here');
    assert.deepEqual(missingOf(sandbox), ['mount']);

    const { port } = tcp.address() as AddressInfo;
    const [reads = {}, signals = {}, connects = {}] = await attack(sandbox, [
      { attack: 'read', paths: [secret] },
      { attack: 'signal', pids: [process.pid, process.ppid].filter((pid) => pid > 20) },
      { attack: 'connect', targets: targetsOf(port) },
    ]);
    assert.deepEqual(reads, { [secret]: 'done' });
    assertNoneDone(signals);
    assertNoneDone(connects);
  });
});

describe('where namespaces are forbidden', { skip: !CAN_SEE_PROCESSES }, () => {
  it('a child reads, signals and connects as our user does, and gains no right and is bounded all the same', async () => {
    const sandbox = await probeMediaSandbox(['limits']);
    assert.equal(sandbox.confinement, 'limits');
    assert.deepEqual(isolationsOf(sandbox), ['no_new_privileges', 'limits']);

    const { port } = tcp.address() as AddressInfo;
    const loopback = { port, host: '127.0.0.1' };
    const [reads, signals, connects, { capabilities, noNewPrivileges } = {}, { outcome } = {}] = await attack(sandbox, [
      { attack: 'read', paths: [secret] },
      { attack: 'signal', pids: [process.pid] },
      { attack: 'connect', targets: [loopback] },
      { attack: 'privileges' },
      { attack: 'open' },
    ]);
    assert.deepEqual(reads, { [secret]: 'done' });
    assert.deepEqual(signals, { [process.pid]: 'done' });
    assert.deepEqual(connects, { [JSON.stringify(loopback)]: 'done' });
    assert.match(capabilities ?? '', /^0,0,\d+,0$/);
    assert.equal(noNewPrivileges, '1');
    assert.equal(outcome, 'EMFILE');
    await assert.rejects(attack(sandbox, [{ attack: 'memory' }]), UndecodableMediaError);
    await assert.rejects(attack(sandbox, [{ attack: 'cpu' }], { maxCpuSeconds: 3 }), UndecodableMediaError);
  });

  it('that is found out, said with its reason, and refused where a sandbox is required', async (t) => {
    // As in a container: no capability, and no user namespace to be had.
    const forbid =
      'echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all "$@"';
    const sandboxed = ['-r', '/bin/sh', '-c', forbid, 'sh', ...programCommand(FORBIDDEN)];
    if (whole.length === 0) return t.skip('namespaces are forbidden here: nothing is left to forbid');
    const { stdout } = await run('unshare', sandboxed, { cwd: PACKAGE_ROOT });
    const { sandbox, isolated, log, error, gauge } = JSON.parse(stdout) as Record<string, unknown>;
    assert.equal((sandbox as MediaSandbox).confinement, 'limits');
    assert.match((sandbox as MediaSandbox).reasons.join(), /user-namespace: unshare: /);
    assert.deepEqual(isolated, ['no_new_privileges', 'limits']);
    assert.deepEqual(log, ['media of others is read without a full sandbox']);
    assert.match(String(error), /MEDIA_SANDBOX is required.* mount, pid, network, ipc, user, processes \(.*unshare: /);
    assert.deepEqual(gauge, Object.fromEntries(ISOLATIONS.map((name) => [name, /limits|priv/.test(name) ? 1 : 0])));
  });
});

describe('an ordinary user', { skip: process.getuid?.() !== 0 }, () => {
  it('has the same sandbox: its child does not read what it reads itself', async () => {
    const NOBODY = 65_534;
    const own = path.join(folder, 'data/own.json');
    await writeFile(own, 'hush', { mode: 0o600 });
    await chown(own, NOBODY, NOBODY);
    const user = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'];
    const { stdout } = await run('setpriv', [...user, ...programCommand(ORDINARY), given, own], { cwd: PACKAGE_ROOT });
    const { confinement, ownRead, outcomes } = JSON.parse(stdout) as Record<string, unknown>;
    assert.equal(confinement, 'user-namespace');
    assert.equal(ownRead, 'hush');
    const [given1, own1, signals] = outcomes as readonly [Outcomes, Outcomes, Outcomes];
    assert.deepEqual(given1, { [given]: 'done' });
    assertNoneDone(own1);
    assertNoneDone(signals);
  });
});

describe('a Node that may be run and not read, as in our image', { skip: process.getuid?.() !== 0 }, () => {
  it('keeps its environment from a child of the same user, where namespaces are forbidden', async () => {
    const unreadable = path.join(folder, 'node');
    await copyFile(process.execPath, unreadable);
    await chmod(unreadable, 0o711);
    const user = ['--reuid=65534', '--regid=65534', '--clear-groups'];
    const outcomes = [];
    for (const node of [process.execPath, unreadable]) {
      const [, ...program] = programCommand(INSPECTED);
      // Not by setpriv itself, which still has the rights of root when it starts a program.
      const { stdout } = await run('setpriv', [...user, '/usr/bin/env', node, ...program], { cwd: PACKAGE_ROOT });
      outcomes.push(Object.values(JSON.parse(stdout) as Outcomes));
    }
    assert.deepEqual(outcomes, [
      ['done', 'done'],
      ['EACCES', 'EACCES'],
    ]);
  });
});

const run = promisify(execFile);

/** Prints what a process finds out and does where namespaces are forbidden. */
const FORBIDDEN = `
  const { findMediaSandbox, isolationsOf } = await import('./src/media/sandbox.ts');
  const { prepareMediaSandbox } = await import('./src/processes/media-sandbox.ts');
  const sandbox = await findMediaSandbox();
  const [log, gauge] = [[], {}];
  const logger = { warn: (fields, message) => log.push(message) };
  const metrics = { media: { isolation: (name, isIsolated) => (gauge[name] = isIsolated ? 1 : 0) } };
  await prepareMediaSandbox({ config: { requiresMediaSandbox: false }, logger, metrics });
  const error = await prepareMediaSandbox({ config: { requiresMediaSandbox: true }, logger, metrics }).catch(String);
  console.log(JSON.stringify({ sandbox, isolated: isolationsOf(sandbox), log, gauge, error }));`;

/** Prints what a hostile child of another user than root does. */
const ORDINARY = `
  const { readFileSync } = await import('node:fs');
  const { MediaChild } = await import('./src/media/media-child.ts');
  const { findMediaSandbox } = await import('./src/media/sandbox.ts');
  const [given, own] = process.argv.slice(1);
  const { confinement } = await findMediaSandbox();
  const attacks = [[given], [own]].map((paths) => ({ attack: 'read', paths }));
  const child = await MediaChild.start(
    { ...${JSON.stringify(HOSTILE)}, readable: [given] },
    { attacks: [...attacks, { attack: 'signal', pids: [process.pid] }] },
  );
  const { outcomes } = await child.receiveFacts();
  await child.end();
  console.log(JSON.stringify({ confinement, ownRead: readFileSync(own, 'utf8'), outcomes }));`;

/** Prints whether a hostile child that only has limits reads the environment of its parent, and where its memory is. */
const INSPECTED = `
  const { MediaChild } = await import('./src/media/media-child.ts');
  const { probeMediaSandbox } = await import('./src/media/sandbox.ts');
  const sandbox = await probeMediaSandbox(['limits']);
  const paths = ['environ', 'maps'].map((name) => '/proc/' + process.pid + '/' + name);
  const child = await MediaChild.start(
    { ...${JSON.stringify(HOSTILE)}, sandbox },
    { attacks: [{ attack: 'read', paths }] },
  );
  const { outcomes } = await child.receiveFacts();
  await child.end();
  console.log(JSON.stringify(outcomes[0]));`;

function programCommand(program: string): readonly string[] {
  return [process.execPath, '--import', 'tsx', '--input-type=module', '-e', program];
}

function missingOf(sandbox: MediaSandbox): readonly string[] {
  const isolations = isolationsOf(sandbox);
  return ISOLATIONS.filter((isolation) => !isolations.includes(isolation));
}

/** Whether a process is Node itself, and no longer starting. */
function isBusy(pid: string): boolean {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith(process.execPath) && Number(fields[11]) > 50;
  } catch {
    return false;
  }
}
