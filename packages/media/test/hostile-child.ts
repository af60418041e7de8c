/**
 * A compromised media child: what a decoder would run if a third party's file exploited a bug. Started by the tests
 * of the sandbox like any other media child; it executes its request and reports the outcomes.
 */
import { spawn, spawnSync } from 'node:child_process';
import { appendFileSync, openSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { serveParent } from '../src/child-channel.ts';

/** One attempt. */
export type Attack =
  | { readonly attack: 'read' | 'write' | 'list'; readonly paths: readonly string[] }
  | { readonly attack: 'signal'; readonly pids: readonly number[] }
  | { readonly attack: 'connect'; readonly targets: readonly { port?: number; host?: string; path?: string }[] }
  | { readonly attack: 'processes' | 'fork' | 'memory' | 'memory-of-many' | 'cpu' | 'open' | 'fill' | 'privileges' };

/** The outcome of each part: `done`, or the system's error code. */
export type Outcomes = Readonly<Record<string, string>>;

function attempt(action: () => unknown): string {
  try {
    action();
    return 'done';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

function outcomesOf<Item>(items: readonly Item[], action: (item: Item) => unknown): Outcomes {
  return Object.fromEntries(items.map((item) => [String(item), attempt(() => action(item))]));
}

/** Calls until it fails. */
function countUntilFailure(most: number, action: (index: number) => unknown): Outcomes {
  for (let index = 0; index < most; index++) {
    const outcome = attempt(() => action(index));
    if (outcome !== 'done') return { count: String(index), outcome };
  }
  return { count: String(most), outcome: 'done' };
}

async function connectTo(target: { port?: number; host?: string; path?: string }): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ ...target, port: target.port ?? 0 });
    socket.setTimeout(2000, () => resolve('ETIMEDOUT'));
    socket.on('connect', () => resolve('done'));
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}

/** Starts processes until the machine allows no more, or 300 of them. */
async function fork(): Promise<Outcomes> {
  let failures = 0;
  let started = 0;
  for (let index = 0; index < 300; index++) {
    const child = spawn('/bin/sh', ['-c', 'read forever'], { stdio: ['pipe', 'ignore', 'ignore'] });
    child.on('error', () => failures++);
    if (child.pid !== undefined) started++;
    if (index % 20 === 0) await sleep(5);
  }
  return { started: String(started), outcome: failures > 0 || started < 300 ? 'failed' : 'done' };
}

function takeMemory(): void {
  const taken: Buffer[] = [];
  for (;;) taken.push(Buffer.alloc(32 * 1024 ** 2, 1));
}

/** Each within its own limit, and forever. */
async function takeMemoryInMany(): Promise<Outcomes> {
  const script = 'globalThis.taken = Buffer.alloc(120 * 1024 ** 2, 1); setInterval(() => {}, 1000);';
  for (let index = 0; index < 6; index++)
    spawn(process.execPath, ['-e', script], { stdio: 'ignore' }).on('error', () => {});
  await sleep(30_000);
  return { outcome: 'done' };
}

/** Shell: succeeds for a process that has any. */
const HAS_CAPABILITIES =
  'while read name set; do [ "$name" = CapEff: ] && [ "$set" != 0000000000000000 ] && exit 0; done < /proc/self/status; exit 1';

function privileges(): Outcomes {
  const status = readFileSync('/proc/self/status', 'utf8');
  const outcomeOf = (command: string, args: readonly string[]): string => {
    const { status: code, error } = spawnSync(command, args, { stdio: 'ignore', timeout: 5000 });
    return code === 0 ? 'done' : error instanceof Error && 'code' in error ? String(error.code) : 'failed';
  };
  return {
    capabilities: [...status.matchAll(/^Cap(?:Prm|Eff|Bnd|Amb):\s*(\w+)$/gm)]
      .map(([, set]) => BigInt(`0x${set}`))
      .join(),
    noNewPrivileges: /^NoNewPrivs:\s*(\d)$/m.exec(status)?.[1] ?? '',
    'change user': attempt(() => process.setuid?.(12_345)),
    'change root': outcomeOf('/usr/sbin/chroot', ['/tmp', '/nothing']),
    unmount: outcomeOf('/usr/bin/umount', ['-l', '/proc']),
    'take capabilities': outcomeOf('/usr/bin/setpriv', ['--ambient-caps=+all', '/bin/sh', '-c', HAS_CAPABILITIES]),
    'run a program that is not ours': outcomeOf('/usr/bin/env', []),
    'run its own program': attempt(() => {
      writeFileSync('/tmp/program', '#!/bin/sh\nexit 0\n', { mode: 0o755 });
      const { error } = spawnSync('/tmp/program');
      if (error !== undefined) throw error;
    }),
    'change the kernel': attempt(() => writeFileSync('/proc/sys/kernel/core_pattern', 'x')),
  };
}

async function run(request: Attack): Promise<Outcomes> {
  switch (request.attack) {
    case 'read':
      return outcomesOf(request.paths, (file) => readFileSync(file));
    case 'list':
      return Object.fromEntries(request.paths.map((directory) => [directory, readdirSync(directory).join()]));
    case 'write':
      return outcomesOf(request.paths, (file) => appendFileSync(file, 'taken over'));
    case 'signal':
      // Signal 0 only checks the permission.
      return outcomesOf(request.pids, (pid) => process.kill(pid, 0));
    case 'connect': {
      const outcomes = await Promise.all(request.targets.map(connectTo));
      return Object.fromEntries(
        request.targets.map((target, index) => [JSON.stringify(target), outcomes[index] ?? '']),
      );
    }
    case 'processes': {
      const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
      return Object.fromEntries(pids.map((pid) => [pid, readFileSync(`/proc/${pid}/cmdline`, 'utf8')]));
    }
    case 'fork':
      return fork();
    case 'open':
      return countUntilFailure(10_000, () => openSync('/dev/null', 'r'));
    case 'fill':
      return countUntilFailure(100, (index) => writeFileSync(`${os.tmpdir()}/${index}`, Buffer.alloc(1024 ** 2 - 1)));
    case 'privileges':
      return privileges();
    case 'memory':
      takeMemory();
      return {};
    case 'memory-of-many':
      return takeMemoryInMany();
    case 'cpu':
      for (;;);
  }
}

await serveParent(async (request, channel) => {
  channel.endWithParent();
  const outcomes: Outcomes[] = [];
  for (const attack of request['attacks'] as readonly Attack[]) outcomes.push(await run(attack));
  await channel.sendJson({ outcomes });
});
