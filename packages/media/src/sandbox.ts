/**
 * The sandbox of media children that read untrusted files: how well this machine lets us confine a child is tried
 * once, and every child is then started in the best way that worked. Isolation is never assumed: the operator sees it
 * in the log and in a metric, and can require it (`MEDIA_SANDBOX`).
 */
import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import os from 'node:os';
import { promisify } from 'node:util';
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';
import { childModulePath, programFiles } from './program-files.ts';
import { sandboxCommand } from './sandbox-command.ts';
import type { Confinement, SandboxLimits, SandboxedProgram } from './sandbox-command.ts';

/**
 * What can be isolated of a media child:
 *
 * - `mount`: it sees our program, its packages, the system's libraries and the file it is given, and nothing else.
 * - `pid`: it sees and signals no process but its own, and none of them outlives it.
 * - `network`: it has no network, not even the loopback.
 * - `ipc`: no shared memory or queues with others.
 * - `user`: it runs as another user than ours, or as our own in a user namespace without capabilities.
 * - `no_new_privileges`: it gains no privilege by running a program.
 * - `limits`: the kernel bounds its memory, processor time, files and open files.
 * - `processes`: how many processes it has is bounded.
 */
export const ISOLATIONS = [
  'mount',
  'pid',
  'network',
  'ipc',
  'user',
  'no_new_privileges',
  'limits',
  'processes',
] as const;
export type Isolation = (typeof ISOLATIONS)[number];

/** What this machine lets us do. */
export interface MediaSandbox {
  /** The best that worked. */
  readonly confinement: Confinement;
  /** For files that the user of `other-user` may not read. Undefined: there is nothing between. */
  readonly forOwnFiles?: Confinement | undefined;
  /** Whether the kernel counts the processes of a user namespace separately. */
  readonly canLimitProcesses: boolean;
  /** Why anything better did not work, in the words of the program that failed; empty if this is the best. */
  readonly reasons: readonly string[];
}

const run = promisify(execFile);

const PROBE_MS = 10_000;
/** Where threads find the result of the process: they are started after it, and there are many. */
const SHARED = 'darkroom.mediaSandbox';
const CANDIDATES: readonly Confinement[] = ['other-user', 'user-namespace', 'namespaces', 'limits'];
const PROBE_LIMITS: SandboxLimits = { cpuSeconds: 10, dataMb: 1024, fileMb: 1, openFiles: 256 };
/** Before this version a user's processes are counted together, in whichever namespace they are. */
const COUNTS_BY_NAMESPACE = [5, 14] as const;

const BY_CONFINEMENT: Readonly<Record<Confinement, readonly Isolation[]>> = {
  'other-user': ISOLATIONS,
  'user-namespace': ISOLATIONS,
  namespaces: ISOLATIONS.filter((isolation) => isolation !== 'mount'),
  limits: ['no_new_privileges', 'limits'],
  none: [],
};

let found: Promise<MediaSandbox> | undefined;

/**
 * What this machine lets us do: tried at the first call in a process, which takes a tenth of a second. Never rejects.
 */
export function findMediaSandbox(): Promise<MediaSandbox> {
  found ??= probeAndShare();
  return found;
}

async function probeAndShare(): Promise<MediaSandbox> {
  const shared = getEnvironmentData(SHARED) as MediaSandbox | undefined;
  if (shared !== undefined) return shared;
  const sandbox = await probeMediaSandbox();
  setEnvironmentData(SHARED, { ...sandbox });
  return sandbox;
}

/** What a child is isolated from; in the order of `ISOLATIONS`. */
export function isolationsOf(sandbox: MediaSandbox): readonly Isolation[] {
  const weakest = sandbox.confinement === 'other-user' ? sandbox.forOwnFiles : sandbox.confinement;
  return BY_CONFINEMENT[weakest ?? sandbox.confinement];
}

/**
 * The command line of a program in the best sandbox there is.
 *
 * @param program.limits `processes` is left out if it cannot be limited.
 */
export function mediaSandboxCommand(sandbox: MediaSandbox, program: SandboxedProgram): readonly string[] {
  const { confinement, forOwnFiles, canLimitProcesses } = sandbox;
  const isOwnFile =
    confinement === 'other-user' && forOwnFiles !== undefined && !program.readable.every(isWorldReadable);
  const chosen = isOwnFile ? forOwnFiles : confinement;
  const limits =
    canLimitProcesses && chosen !== 'limits' ? program.limits : { ...program.limits, processes: undefined };
  return sandboxCommand(chosen, { ...program, limits });
}

/** A file that does not exist is not. */
function isWorldReadable(file: string): boolean {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode;
  return mode === undefined || (mode & 0o004) !== 0;
}

/**
 * Tries this machine, without caching the result.
 *
 * @param candidates what is tried, the best first.
 */
export async function probeMediaSandbox(candidates = CANDIDATES): Promise<MediaSandbox> {
  const canLimitProcesses = isKernelAtLeast(...COUNTS_BY_NAMESPACE);
  if (process.platform !== 'linux') {
    const reasons = [`${os.type()} has none of what a sandbox is made of`];
    return { confinement: 'none', canLimitProcesses: false, reasons };
  }
  const reasons: string[] = [];
  const working: Confinement[] = [];
  for (const confinement of candidates) {
    if (confinement === 'other-user' && process.getuid?.() !== 0) continue;
    const problem = await findProblem(confinement);
    if (problem === undefined) working.push(confinement);
    else if (working.length === 0) reasons.push(`${confinement}: ${problem}`);
    // As another user it cannot read every file, and then the next best is needed.
    if (working.length > 0 && working[0] !== 'other-user') break;
    if (working.length > 1) break;
  }
  const [confinement = 'none', forOwnFiles] = working;
  return { confinement, forOwnFiles, canLimitProcesses, reasons };
}

/** Tried with our own program and packages, which another user may own. @returns undefined: it works. */
async function findProblem(confinement: Confinement): Promise<string | undefined> {
  const readChecks = [childModulePath('decode-child'), ...programFiles()]
    .flatMap((file) => ['-a', '-r', file])
    .slice(1);
  const script = `[ "$@" ] && exec "$0" --version`;
  const [command = '', ...args] = sandboxCommand(confinement, {
    command: ['/bin/sh', '-c', script, process.execPath, ...readChecks],
    limits: PROBE_LIMITS,
    readable: [],
    niceness: 0,
  });
  try {
    const { stdout } = await run(command, args, { env: {}, timeout: PROBE_MS });
    return stdout.trim() === process.version ? undefined : 'our program cannot be read there';
  } catch (error) {
    const { stderr, message } = error as Error & { readonly stderr?: string };
    return stderr?.trim().split('\n').at(-1) || message.split('\n')[0] || 'it failed';
  }
}

function isKernelAtLeast(major: number, minor: number): boolean {
  const [ourMajor = 0, ourMinor = 0] = os
    .release()
    .split('.')
    .map((part) => Number.parseInt(part, 10));
  return ourMajor > major || (ourMajor === major && ourMinor >= minor);
}
