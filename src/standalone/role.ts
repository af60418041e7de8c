/**
 * Our own processes as the standalone installation runs them: each is this very program with a role as its subcommand,
 * configured by environment variables only, exactly as in a container.
 */
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { StandaloneError } from './standalone-error.ts';
import { killGroup, launchProcess } from './launch.ts';
import type { Launch } from './launch.ts';
import type { LogFile } from './log-files.ts';
import type { ReadyMessage } from './part.ts';
import { unlessAborted } from '../domain/unless-aborted.ts';

/** A long-running role. */
export type ServingRole = 'api' | 'worker';
/** A role that runs once and exits. */
export type OneTimeRole = 'migrate' | 'first-run';

/**
 * The launch of a role: with the same Node options as this process.
 *
 * @param program the module that has the roles as subcommands.
 */
export function roleLaunch(program: string, role: ServingRole | OneTimeRole, environment: NodeJS.ProcessEnv): Launch {
  return {
    command: process.execPath,
    args: [...process.execArgv, program, role],
    environment,
    hasChannel: role === 'api' || role === 'worker',
  };
}

/** The addresses on which a role listens, if any. */
export interface RoleAddresses {
  readonly apiUrl?: string;
  readonly adminUrl?: string;
}

/** Waits for a serving role's ready message, and for the API's own `/readyz` if we can request it. */
export async function waitForRole(announced: Promise<ReadyMessage>, signal: AbortSignal): Promise<RoleAddresses> {
  const { url, adminUrl } = await unlessAborted(announced, signal);
  // HTTPS with a certificate for a public name could not be verified on loopback.
  if (url?.startsWith('http://') === true) {
    while (!(await answersReady(url, signal))) await delay(100, undefined, { signal });
  }
  return { ...(url === undefined ? {} : { apiUrl: url }), ...(adminUrl === undefined ? {} : { adminUrl }) };
}

async function answersReady(url: string, signal: AbortSignal): Promise<boolean> {
  try {
    const response = await fetch(new URL('/readyz', url), { signal });
    await response.body?.cancel();
    return response.ok;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}

/**
 * Runs a one-time role to its end.
 *
 * @param log receives the role's log; its standard output only if it is not the answer, which may contain a key.
 * @returns its standard output, line by line.
 * @throws {StandaloneError} it failed; with its last log lines.
 */
export async function runRole(
  program: string,
  role: OneTimeRole,
  environment: NodeJS.ProcessEnv,
  log: LogFile,
  signal: AbortSignal,
): Promise<string[]> {
  signal.throwIfAborted();
  const child = launchProcess(roleLaunch(program, role, environment));
  const output: string[] = [];
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      output.push(line);
      if (role !== 'first-run') log.write(line);
    });
  }
  if (child.stderr !== null) createInterface({ input: child.stderr }).on('line', (line) => log.write(line));
  const end = (): void => {
    if (child.pid !== undefined) killGroup(child.pid);
  };
  signal.addEventListener('abort', end);
  const code = await new Promise<number | null>((resolve) => {
    child.once('error', (error) => {
      log.write(error.message);
      resolve(null);
    });
    child.once('close', resolve);
  });
  signal.removeEventListener('abort', end);
  signal.throwIfAborted();
  if (code === 0) return output;
  const lines = log.lastLines.map((line) => `  ${line}`).join('\n');
  throw new StandaloneError(`the step "${role}" failed. Its last log lines (${log.path}):\n${lines}`);
}
