/**
 * How a process of the standalone installation is launched, as data: the code that builds it (PostgreSQL, Temporal,
 * our own roles) need not know what runs it (the supervisor, or the services of a test run).
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';

/** Everything needed to start one process. */
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
