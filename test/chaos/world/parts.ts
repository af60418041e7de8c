/** How each part of the world is launched, and how to detect that it is ready. */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { reservePort } from '../../support/reserve-port.ts';
import { clusterLaunch, waitForCluster } from '../../../src/standalone/postgres.ts';
import type { Cluster } from '../../../src/standalone/postgres.ts';
import { obtainTemporalCli } from '../../../src/standalone/temporal-cli.ts';
import { temporalServerLaunch, waitForTemporal } from '../../../src/standalone/temporal-server.ts';
import { SEARCH_ATTRIBUTES } from '../../../src/temporal/search-attributes.ts';
import { obtainExecutable } from '../../support/versitygw.ts';
import { Part } from './part.ts';

export const S3_BUCKET = 'chaos';

/** The variables of our own environment that a process needs. */
function surroundings(): NodeJS.ProcessEnv {
  // oxlint-disable-next-line node/no-process-env -- child processes need PATH and HOME
  const { PATH, HOME, TMPDIR } = process.env;
  return { PATH, HOME, ...(TMPDIR === undefined ? {} : { TMPDIR }) };
}

/** More than is written between two flushes of the log to disk. */
const LOG_BUFFERS = '64MB';

/** A process with a channel reports itself that it is ready. */
const bySaying = (): Promise<void> => new Promise(() => undefined);

export function postgresPart(cluster: Cluster, logFile: string): Part {
  return new Part({
    name: 'postgres',
    launch: async () => {
      const launch = await clusterLaunch(cluster);
      // A setting on the command line cannot be changed later, and lost commits need that (lose-commits.ts).
      const args = launch.args.map((arg) => (arg === 'synchronous_commit=on' ? `wal_buffers=${LOG_BUFFERS}` : arg));
      return { ...launch, args };
    },
    ready: (signal) => waitForCluster(cluster, signal),
    stopSignal: 'SIGINT',
    logFile,
  });
}

export function temporalPart(cliPath: string, port: number, databaseFile: string, logFile: string): Part {
  return new Part({
    name: 'temporal',
    launch: () =>
      temporalServerLaunch(
        {
          cliPath,
          port,
          databaseFile,
          searchAttributes: SEARCH_ATTRIBUTES,
          dynamicConfig: { 'system.namespaceCacheRefreshInterval': '"200ms"' },
        },
        surroundings(),
      ),
    ready: (signal) => waitForTemporal(`127.0.0.1:${port}`, signal),
    stopSignal: 'SIGTERM',
    logFile,
  });
}

/** The Temporal CLI, located as by `npm start`. */
temporalPart.cli = (report: (line: string) => void): Promise<string> =>
  // oxlint-disable-next-line node/no-process-env -- where the machine keeps its own
  obtainTemporalCli({ cliPath: process.env['TEMPORAL_CLI_PATH'], environment: process.env, report });

export interface S3Part {
  readonly part: Part;
  readonly port: number;
  /** Variables of the processes that use it. */
  readonly credentials: Readonly<Record<string, string>>;
}

/** An S3 server on a directory that outlives it. */
export async function provideS3(directory: string, logFile: string): Promise<S3Part> {
  const executable = await obtainExecutable();
  const port = await reservePort();
  await mkdir(path.join(directory, S3_BUCKET), { recursive: true });
  const [accessKeyId, secretAccessKey] = ['chaos', randomBytes(20).toString('hex')];
  const address = `127.0.0.1:${port}`;
  const part = new Part({
    name: 's3',
    launch: () => ({
      command: executable,
      args: ['--port', address, '--quiet', '--health', '/health', 'posix', directory],
      environment: { ...surroundings(), ROOT_ACCESS_KEY_ID: accessKeyId, ROOT_SECRET_ACCESS_KEY: secretAccessKey },
    }),
    ready: async (signal) => {
      while (!(await isHealthy(`http://${address}/health`, signal))) await sleep(50, undefined, { signal });
    },
    stopSignal: 'SIGTERM',
    logFile,
  });
  const credentials = { S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey };
  return { part, port, credentials };
}

async function isHealthy(url: string, signal: AbortSignal): Promise<boolean> {
  try {
    const answer = await fetch(url, { signal });
    await answer.arrayBuffer();
    return answer.ok;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}

/** One of our own processes, as it is deployed. */
export function rolePart(
  name: string,
  role: 'api' | 'worker',
  program: string,
  environment: Readonly<Record<string, string | undefined>>,
  logFile: string,
): Part {
  return new Part({
    name,
    launch: () => ({
      command: process.execPath,
      args: [program, role],
      environment: { ...surroundings(), ...environment },
      hasChannel: true,
    }),
    ready: bySaying,
    stopSignal: 'SIGTERM',
    logFile,
  });
}

/** A process of the campaign's own. */
export function scriptPart(name: string, file: string, args: readonly string[], logFile: string): Part {
  return new Part({
    name,
    launch: () => ({
      command: process.execPath,
      args: [file, ...args],
      environment: surroundings(),
      hasChannel: true,
    }),
    ready: bySaying,
    stopSignal: 'SIGTERM',
    logFile,
  });
}

/** The keys of the objects below a directory: the same for a disk store and for the S3 server. */
export async function filesOfStore(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(directory, path.join(entry.parentPath, entry.name)))
    .filter((key) => key.startsWith('outputs/') || key.startsWith('files/'));
}
