/**
 * Our own processes as the standalone installation runs them: each is this very program with a role as its subcommand,
 * configured by environment variables only, exactly as in a container.
 */
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { StandaloneError } from './standalone-error.ts';
import { killGroup, launchProcess } from './processes.ts';
import type { Launch } from './processes.ts';
import type { LogFile } from './logs.ts';
import { indented, lastMessage, waitingLine, withNotices } from './logs.ts';
import type { ReadyMessage } from './part.ts';
import { unlessAborted } from '../domain/waits.ts';

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
export async function waitForRole(
  announced: Promise<ReadyMessage>,
  signal: AbortSignal,
  note: (what: string) => void,
): Promise<RoleAddresses> {
  const { url, adminUrl } = await unlessAborted(announced, signal);
  // HTTPS with a certificate for a public name could not be verified on loopback.
  if (url?.startsWith('http://') === true) {
    for (;;) {
      const problem = await readinessProblem(url, signal);
      if (problem === undefined) break;
      note(problem);
      await delay(100, undefined, { signal });
    }
  }
  return { ...(url === undefined ? {} : { apiUrl: url }), ...(adminUrl === undefined ? {} : { adminUrl }) };
}

/** @returns what keeps the api from being ready; undefined: it is. */
async function readinessProblem(url: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    const response = await fetch(new URL('/readyz', url), { signal });
    const body = await response.text();
    return response.ok ? undefined : `/readyz answers ${response.status} ${body}`;
  } catch {
    signal.throwIfAborted();
    return '/readyz does not answer';
  }
}

/**
 * Runs a one-time role to its end.
 *
 * @param log receives the role's log; its standard output only if it is not the answer, which may contain a key.
 * @param report receives a line every ten seconds.
 * @returns its standard output, line by line.
 * @throws {StandaloneError} it failed; with its last log lines.
 */
export async function runRole(
  program: string,
  role: OneTimeRole,
  environment: NodeJS.ProcessEnv,
  log: LogFile,
  report: (line: string) => void,
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
  const ended = new Promise<number | null>((resolve) => {
    child.once('error', (error) => {
      log.write(error.message);
      resolve(null);
    });
    child.once('close', resolve);
  });
  const code = await withNotices(ended, (seconds) =>
    report(waitingLine(`the step "${role}"`, seconds, lastMessage(log.lastLines))),
  );
  signal.removeEventListener('abort', end);
  signal.throwIfAborted();
  if (code === 0) return output;
  throw new StandaloneError(`the step "${role}" failed. Its last log lines (${log.path}):\n${indented(log.lastLines)}`);
}
