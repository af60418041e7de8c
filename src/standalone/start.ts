/**
 * `npm start`: runs a whole installation on this machine until it is stopped or cannot continue.
 */
import { parseArgs } from 'node:util';
import { abortReason } from '../domain/waits.ts';
import { errorCodeOf } from '../domain/darkroom-error.ts';
import { ConfigurationError } from '../config/environment.ts';
import { unknownVariables } from '../config/likely-mistakes.ts';
import { packageModule } from '../config/package-root.ts';
import { announce } from './announce.ts';
import { explainFailure, resolveDataDirectory, openDataDirectory } from './data-directory.ts';
import { StandaloneError } from './standalone-error.ts';
import { Installation } from './installation.ts';
import { shortenLogLine } from './logs.ts';
import { readSettings } from './settings.ts';

const USAGE = `Runs Darkroom on this machine: PostgreSQL, Temporal with its Web UI, the API and a worker.

Usage: npm start -- [options]

  --data-dir <folder>  where everything is kept (default: DATA_DIR, then data below the project)
  --database-only      starts PostgreSQL alone, and shows its address: for backups and copies
  --verbose            shows all log lines of all parts, not only warnings
  --help               shows this

Ports: PORT (8787), ADMIN_PORT (8788), TEMPORAL_PORT (7233), TEMPORAL_UI_PORT (8233), POSTGRES_PORT (a free one); 0 picks a free one.
DATABASE_URL, TEMPORAL_ADDRESS and STORE_URL name services of your own, which are then not started here.
All variables: .env.example.
`;

/**
 * One Ctrl-C arrives several times, from the terminal and from npm: only a signal after this time counts as a second
 * one.
 */
const SAME_SIGNAL_MS = 1_000;
const EXIT_INTERRUPTED = 130;

/**
 * Runs the installation.
 *
 * @param args the arguments after `start` on the command line.
 * @param program the module that has the roles as subcommands; default: this program's own.
 * @returns the exit code: 0 after a requested stop, 1 after a failure, which has been printed.
 */
export async function runStandalone(options: {
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly program?: string;
}): Promise<number> {
  // Other users must not be able to read the files of an installation.
  process.umask(0o077);
  // A closed terminal must not end us before our parts.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  try {
    const { values } = parseArgs({
      args: [...options.args],
      options: {
        'data-dir': { type: 'string' },
        'database-only': { type: 'boolean' },
        verbose: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
    if (values.help === true) {
      process.stdout.write(USAGE);
      return 0;
    }
    const dataDir = resolveDataDirectory(values['data-dir'], options.environment);
    const program = options.program ?? packageModule('src/main.ts');
    return await runOn(dataDir, program, options.environment, {
      isVerbose: values.verbose === true,
      isDatabaseOnly: values['database-only'] === true,
    });
  } catch (error) {
    process.stderr.write(`\n${messageOf(error)}\n`);
    return 1;
  }
}

/** The variables that name servers of the user's own. */
const ELSEWHERE = [
  { part: 'database', what: 'PostgreSQL', variable: 'DATABASE_URL' },
  { part: 'temporal', what: 'Temporal server', variable: 'TEMPORAL_ADDRESS' },
  { part: 'store', what: 'object store', variable: 'STORE_URL' },
] as const;

async function runOn(
  dataDir: string,
  program: string,
  environment: NodeJS.ProcessEnv,
  { isVerbose, isDatabaseOnly }: { readonly isVerbose: boolean; readonly isDatabaseOnly: boolean },
): Promise<number> {
  const report = (line: string): void => void process.stdout.write(`${line}\n`);
  // First: a problem in the settings may be caused by a misspelled one.
  for (const { message } of unknownVariables(environment)) report(`Warning: ${message}`);
  const settings = readSettings(environment);
  const directory = await openDataDirectory(dataDir);
  const stopRequested = new AbortController();
  const installation = new Installation({
    dataDir: directory.path,
    settings,
    environment,
    program,
    report,
    onLine: (part, line) => {
      const shown = isVerbose ? `${part}: ${line}` : shortenLogLine(part, line);
      if (shown !== undefined) report(shown);
    },
    signal: stopRequested.signal,
  });
  const stopListening = onStopSignals(
    () => {
      report('Stopping.');
      stopRequested.abort();
    },
    () => {
      installation.kill();
      process.exit(EXIT_INTERRUPTED);
    },
  );
  const killAll = (): void => installation.kill();
  process.on('exit', killAll);
  const ending = aborted(stopRequested.signal);
  const starting = isDatabaseOnly
    ? installation.startDatabase().then((url) => `PostgreSQL alone is running: ${url}\nStop: Ctrl-C`)
    : installation.start().then(announce);
  try {
    report(`Starting Darkroom on ${directory.path}.`);
    // In a shell that has them set, they may be those of something else.
    for (const { part, what, variable } of ELSEWHERE) {
      if (settings.runsElsewhere[part]) report(`Using the ${what} of ${variable}.`);
    }
    report(await Promise.race([starting, ending]));
    return await ending;
  } catch (error) {
    if (stopRequested.signal.aborted) return 0;
    throw await explainFailure(error, directory.path);
  } finally {
    stopRequested.abort();
    await installation.stop();
    await starting.catch(() => undefined);
    await directory.release();
    process.off('exit', killAll);
    stopListening();
    report('Stopped.');
  }
}

/** Rejects with the signal's reason once it is aborted. */
async function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(abortReason(signal)), { once: true });
  });
}

/** Calls `onStop` at the first stop signal, and `onForce` at one that arrives clearly later. */
function onStopSignals(onStop: () => void, onForce: () => void): () => void {
  let firstAt: number | undefined;
  const listen = (): void => {
    const now = Date.now();
    if (firstAt === undefined) {
      firstAt = now;
      onStop();
    } else if (now - firstAt > SAME_SIGNAL_MS) {
      onForce();
    }
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, listen);
  return () => {
    for (const signal of signals) process.off(signal, listen);
  };
}

/** What the user reads: our own errors as they are, all others with their stack, because they are bugs. */
function messageOf(error: unknown): string {
  if (error instanceof StandaloneError || error instanceof ConfigurationError) return error.message;
  if (errorCodeOf(error)?.startsWith('ERR_PARSE_ARGS') === true)
    return `${error instanceof Error ? error.message : String(error)}
See npm start -- --help.`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
