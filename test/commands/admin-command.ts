/** Runs `admin` as an operator does, on the database of a test: in a process of its own, or in one for many commands. */
import { fork, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { GIVE_UP_MS } from '@darkroom/testing/wait-for';
import { packageModule } from '../../src/config/package-root.ts';
import { writeInstance } from '../../src/standalone/instance.ts';
import type { Instance } from '../../src/standalone/instance.ts';
import { builtProgram } from '../support/built-program.ts';

export const ENCRYPTION_KEY = 'an encryption key of at least 32 characters';

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** What admin-host.ts is asked to run. */
export interface AdminRequest {
  readonly id: number;
  readonly args: readonly string[];
  readonly environment: Environment;
}

interface AdminReply {
  readonly id: number;
  readonly result: CommandResult;
}

const inherited = () => ({ PATH: process.env['PATH'], HOME: process.env['HOME'] });

/** Writes what the commands read of an installation on a data directory, as if this process were one. */
export function publishInstance(
  dataDir: string,
  known: Pick<Instance, 'environment'> & Partial<Omit<Instance, 'pid'>>,
): Promise<void> {
  return writeInstance({
    apiUrl: 'http://127.0.0.1:1',
    adminUrl: 'http://127.0.0.1:2',
    temporalAddress: '127.0.0.1:3',
    databaseUrl: 'postgres://nobody@127.0.0.1:1/none',
    storeUrl: 'file:///nowhere',
    dataDir,
    startedAt: new Date().toISOString(),
    ...known,
  });
}

/** Runs the real program. @param environment all that the process gets in addition to PATH and HOME. */
export function runAdminCommand(args: readonly string[], environment: Environment): Promise<CommandResult> {
  const child = spawn(process.execPath, [...builtProgram(), 'admin', ...args], {
    env: { ...inherited(), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: GIVE_UP_MS,
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
}

let host: ChildProcess | undefined;
let lastId = 0;
const waiting = new Map<number, { resolve(result: CommandResult): void; reject(error: Error): void }>();

/** Started with the first command; ends with this process, which it does not keep alive. */
function startHost(): ChildProcess {
  const child = fork(packageModule('test/commands/admin-host.ts'), {
    env: inherited(),
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    execArgv: builtProgram().slice(0, 1),
  });
  child.on('message', ({ id, result }: AdminReply) => {
    waiting.get(id)?.resolve(result);
    waiting.delete(id);
    if (waiting.size === 0) child.channel?.unref();
  });
  child.once('close', (code, signal) => {
    host = undefined;
    for (const { reject } of waiting.values()) reject(new Error(`the admin host ended (${signal ?? code})`));
    waiting.clear();
  });
  child.unref();
  return child;
}

/**
 * The same in a process that runs all such commands of a test file, one after the other: for tests of what a command
 * does and prints. How a process starts, is interrupted and ends is tested with `runAdminCommand`.
 */
export function runAdminInHost(args: readonly string[], environment: Environment): Promise<CommandResult> {
  host ??= startHost();
  const child = host;
  const id = ++lastId;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    child.channel?.ref();
    child.send({ id, args, environment: { ...inherited(), ...environment } } satisfies AdminRequest, (error) => {
      if (error === null) return;
      waiting.delete(id);
      reject(error);
    });
  });
}
