/**
 * How a process of the embedded installation is launched, said as data: whoever builds it (PostgreSQL, Temporal, our
 * own roles) need not know who runs it (the supervisor, or the services of a test run).
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';

/** Everything that is needed to start one process. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  /** Absent: the user who runs us. */
  readonly user?: { readonly uid: number; readonly gid: number };
  /** Whether the child gets a channel over which it says that it is ready, and which closes when we die. */
  readonly hasChannel?: boolean;
}

/**
 * Starts the process with its output piped to us. It leads a process group of its own: Ctrl-C on the terminal must
 * reach only the supervisor, which then stops the parts in order.
 */
export function launchProcess(launch: Launch): ChildProcess {
  return spawn(launch.command, [...launch.args], {
    env: launch.environment,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', ...(launch.hasChannel === true ? (['ipc'] as const) : [])],
    ...(launch.user === undefined ? {} : launch.user),
  });
}

/** Ends a process started here and everything it started in turn, at once. */
export function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Nothing of the group lives any more.
  }
}
