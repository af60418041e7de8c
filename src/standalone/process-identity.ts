/**
 * Distinguishes a process from another one that got the same pid later. A pid alone is not proof: after a reboot, or
 * in a container, the same number belongs to another process, and ending that one would be a disaster.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A live process. `startToken` differs between two processes that have had the same pid. */
export interface ProcessIdentity {
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
