/** The processes of a standalone installation: how they are launched, identified and recorded. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

interface RecordedProcess {
  readonly pid: number;
  readonly startToken: string;
  readonly stopSignal: NodeJS.Signals;
}

const FILE = 'processes.json';
/** How long an orphan has to finish its work; parts that need more time are stopped by their supervisor. */
const STOP_TIMEOUT_MS = 5_000;
const POLL_MS = 50;

/**
 * The processes that an installation has started, recorded in its data directory: a supervisor that was killed leaves
 * some behind, and the next start finds and stops them with this record.
 */
export class ProcessRecord {
  readonly #file: string;
  readonly #processes = new Map<string, RecordedProcess>();

  constructor(directory: string) {
    this.#file = path.join(directory, FILE);
  }

  /** Records a process just started under a part's name; the previous one is removed. */
  async add(name: string, pid: number, stopSignal: NodeJS.Signals): Promise<void> {
    const identity = await readProcess(pid);
    if (identity === undefined) return;
    this.#processes.set(name, { pid, startToken: identity.startToken, stopSignal });
    this.#save();
  }

  /** Removes a process that has ended. */
  remove(name: string): void {
    if (this.#processes.delete(name)) this.#save();
  }

  /**
   * Stops the processes that an earlier supervisor left running. Each is ended only if it is the recorded process
   * itself.
   *
   * @param others pids found in another way, with proof that they are ours.
   * @returns the names of those stopped.
   */
  async stopOrphans(others: ReadonlyMap<string, number>): Promise<string[]> {
    const found = this.#read();
    for (const [name, pid] of others) {
      const identity = await readProcess(pid);
      if (identity !== undefined) found.set(name, { pid, startToken: identity.startToken, stopSignal: 'SIGINT' });
    }
    const stopped = await Promise.all(
      [...found].map(async ([name, recorded]) => ((await stopOrphan(recorded)) ? [name] : [])),
    );
    this.#save();
    return stopped.flat();
  }

  #read(): Map<string, RecordedProcess> {
    try {
      return new Map(Object.entries(JSON.parse(readFileSync(this.#file, 'utf8')) as Record<string, RecordedProcess>));
    } catch {
      return new Map();
    }
  }

  #save(): void {
    const draft = `${this.#file}.new`;
    writeFileSync(draft, JSON.stringify(Object.fromEntries(this.#processes)), { mode: 0o600 });
    renameSync(draft, this.#file);
  }
}

async function stopOrphan(recorded: RecordedProcess): Promise<boolean> {
  if (!(await isSameProcess(recorded))) return false;
  process.kill(recorded.pid, recorded.stopSignal);
  const deadline = Date.now() + STOP_TIMEOUT_MS;
  while (await isSameProcess(recorded)) {
    if (Date.now() > deadline) killGroup(recorded.pid);
    await delay(POLL_MS);
  }
  return true;
}

const run = promisify(execFile);

/**
 * A live process. `startToken` differs between two processes that have had the same pid. A pid alone is not proof: after
 * a reboot, or in a container, the same number belongs to another process, and ending that one would be a disaster.
 */
interface ProcessIdentity {
  readonly pid: number;
  readonly startToken: string;
  readonly commandLine: string;
}

/** Finds a process; undefined if there is none, or only a zombie. */
export async function readProcess(pid: number): Promise<ProcessIdentity | undefined> {
  return process.platform === 'linux' ? readFromProc(pid) : readFromPs(pid);
}

/** Whether the recorded process itself is still alive. */
export async function isSameProcess(recorded: { pid: number; startToken: string }): Promise<boolean> {
  return (await readProcess(recorded.pid))?.startToken === recorded.startToken;
}

/**
 * proc(5): in `stat`, after the name in parentheses, the 1st field is the state, the 12th to 15th the processor time of
 * the process and of its children that have ended, and the 20th the start time.
 */
const STATE_FIELD = 0;
const CPU_TIME_FIELDS = [11, 15] as const;
const START_TIME_FIELD = 19;

/** How much processor time a process has used, in ticks; undefined where the system does not say, or it has ended. */
export async function readCpuTicks(pid: number): Promise<number | undefined> {
  if (process.platform !== 'linux') return undefined;
  try {
    const fields = statFields(await readFile(`/proc/${pid}/stat`, 'utf8'));
    return fields.slice(...CPU_TIME_FIELDS).reduce((sum, field) => sum + Number(field), 0);
  } catch {
    return undefined;
  }
}

function statFields(stat: string): readonly string[] {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

async function readFromProc(pid: number): Promise<ProcessIdentity | undefined> {
  try {
    const [stat, commandLine, bootId] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'utf8'),
      readFile(`/proc/${pid}/cmdline`, 'utf8'),
      readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
    ]);
    const fields = statFields(stat);
    if (fields[STATE_FIELD] === 'Z' || fields[STATE_FIELD] === 'X') return undefined;
    const startToken = `${bootId.trim()}:${fields[START_TIME_FIELD] ?? ''}`;
    return { pid, startToken, commandLine: commandLine.replaceAll('\0', ' ').trim() };
  } catch {
    return undefined;
  }
}

async function readFromPs(pid: number): Promise<ProcessIdentity | undefined> {
  try {
    const { stdout } = await run('ps', ['-o', 'stat=,lstart=,command=', '-p', String(pid)]);
    const match = /^\s*(\S+)\s+(\S+\s+\S+\s+\S+\s+\S+\s+\S+)\s+(.*)$/.exec(stdout.trimEnd());
    if (match === null || match[1]?.startsWith('Z') === true) return undefined;
    return { pid, startToken: match[2] ?? '', commandLine: match[3] ?? '' };
  } catch {
    return undefined;
  }
}

/**
 * Everything needed to start one process, as data: the code that builds it (PostgreSQL, Temporal, our own roles) need
 * not know what runs it (the supervisor, or the services of a test run).
 */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  /** Absent: our own user. */
  readonly user?: { readonly uid: number; readonly gid: number };
  /** Whether the child gets a channel over which it reports that it is ready, and which closes when we die. */
  readonly hasChannel?: boolean;
}

/**
 * Starts the process with its output piped to us. It leads a process group of its own: Ctrl-C on the terminal must
 * reach only the supervisor, which then stops the parts gracefully.
 */
export function launchProcess(launch: Launch): ChildProcess {
  return spawn(launch.command, [...launch.args], {
    env: launch.environment,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', ...(launch.hasChannel === true ? (['ipc'] as const) : [])],
    ...(launch.user === undefined ? {} : launch.user),
  });
}

/** Ends a process started here and all of its descendants, at once. */
export function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // No process of the group is left.
  }
}
