/**
 * The services of docker-compose.yml as plain processes: the same scripts, the same Temporal configuration and the
 * same environment, except for addresses and ports, on the embedded PostgreSQL. What a container engine adds (images,
 * volumes, the proxy) is not included.
 */
import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { GIVE_UP_MS } from '@darkroom/testing/wait-for';
import { packageFile } from '../../src/config/package-root.ts';
import { builtProgram } from '../support/built-program.ts';
import { launchProcess } from '../../src/standalone/processes.ts';
import { findFreePort } from '../../src/standalone/ports.ts';
import { clusterLaunch, clusterUrl, createCluster, waitForCluster } from '../../src/standalone/postgres.ts';
import { Role } from '../support/darkroom.ts';
import { composeEnvironment } from './compose-file.ts';
import { findTemporalPorts } from './temporal-ports.ts';
import { setUpTemporalSchema } from './temporal-programs.ts';

const run = promisify(execFile);
const STOP_TIMEOUT_MS = 20_000;
const LOOPBACK = '127.0.0.1';

/** The file that the compose service mounts. */
export const DYNAMIC_CONFIG = packageFile('deploy/docker/temporal/dynamic-config.yaml');

export interface Topology {
  readonly apiUrl: string;
  readonly temporalAddress: string;
  readonly namespace: string;
  /** Runs one of the scripts again that compose runs once. */
  setUpSchema(): Promise<void>;
  /** Runs a subcommand of the program until it ends, with a role's environment. */
  runProgram(...args: readonly string[]): Promise<string>;
  stop(): Promise<void>;
}

/** Starts everything; the caller stops it. `programs` is the directory of the Temporal programs. */
export async function startTopology(programs: string): Promise<Topology> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-topology-'));
  // Under root, PostgreSQL runs as another user, who needs access to the directory.
  await chmod(directory, 0o711);
  const toStop: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const stopOne of toStop.toReversed()) await stopOne();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    return { ...(await startAll(directory, programs, toStop)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startAll(
  directory: string,
  programs: string,
  toStop: (() => Promise<void>)[],
): Promise<Omit<Topology, 'stop'>> {
  const secrets = makeSecrets();
  const environment = (path: readonly string[]) => composeEnvironment(path, secrets);
  const temporalPorts = await findTemporalPorts();
  const [postgresPort, apiPort] = [await findFreePort(), await findFreePort()];

  await startPostgres(path.join(directory, 'postgres'), postgresPort, secrets, toStop);

  const setUpSchema = (): Promise<void> =>
    setUpTemporalSchema(programs, {
      ...environment(['services', 'temporal-schema', 'environment']),
      SQL_HOST: LOOPBACK,
      SQL_PORT: String(postgresPort),
    });
  await setUpSchema();

  const temporalAddress = `${LOOPBACK}:${temporalPorts.frontend}`;
  const checkTemporal = await startTemporal(
    path.join(programs, 'temporal-server'),
    {
      ...environment(['services', 'temporal', 'environment']),
      POSTGRES_SEEDS: LOOPBACK,
      DB_PORT: String(postgresPort),
      BIND_ON_IP: LOOPBACK,
      DYNAMIC_CONFIG_FILE_PATH: DYNAMIC_CONFIG,
      ...temporalPorts.environment,
    },
    toStop,
  );

  const apiUrl = `http://${LOOPBACK}:${apiPort}`;
  const given = environment(['x-role-environment']);
  const databaseUrl = new URL(given['DATABASE_URL'] ?? '');
  databaseUrl.hostname = LOOPBACK;
  databaseUrl.port = String(postgresPort);
  const roleEnvironment: NodeJS.ProcessEnv = {
    PATH: process.env['PATH'],
    ...given,
    DATABASE_URL: databaseUrl.href,
    TEMPORAL_ADDRESS: temporalAddress,
    STORE_URL: pathToFileURL(path.join(directory, 'objects')).href,
    HOST: LOOPBACK,
    PORT: String(apiPort),
    // Each container has one of its own; here they would be the same.
    METRICS_PORT: '',
    PUBLIC_URL: apiUrl,
  };
  const runProgram = async (...args: readonly string[]): Promise<string> => {
    const program = [...builtProgram(), ...args];
    return (await run(process.execPath, program, { env: roleEnvironment })).stdout;
  };
  await waitForSuccess(() => runProgram('migrate'), checkTemporal);
  const roles = (['api', 'worker'] as const).map(
    (role) => new Role(role, roleEnvironment, path.join(directory, `${role}.log`)),
  );
  for (const role of roles) {
    toStop.push(async () => void (await role.kill('SIGTERM')));
    await role.start();
  }
  return { apiUrl, temporalAddress, namespace: given['TEMPORAL_NAMESPACE'] ?? '', setUpSchema, runProgram };
}

/** The secrets that a user puts into `.env`. */
function makeSecrets(): Record<string, string> {
  const names = [
    'POSTGRES_PASSWORD',
    'DARKROOM_DB_PASSWORD',
    'TEMPORAL_DB_PASSWORD',
    'URL_SIGNING_KEY',
    'ENCRYPTION_KEY',
  ];
  return Object.fromEntries(names.map((name) => [name, randomBytes(32).toString('hex')]));
}

async function startPostgres(
  directory: string,
  port: number,
  secrets: Readonly<Record<string, string>>,
  toStop: (() => Promise<void>)[],
): Promise<void> {
  const cluster = { directory, port, password: secrets['POSTGRES_PASSWORD'] ?? '', isDurable: false };
  await createCluster(cluster.directory, cluster.password);
  const server = launchProcess(await clusterLaunch(cluster));
  toStop.push(() => stopProcess(server, 'SIGINT'));
  await waitForCluster(cluster, AbortSignal.timeout(GIVE_UP_MS));

  // The image's superuser has a different name from ours, and the script gives our superuser's name to an ordinary
  // user.
  const superuser = new URL(clusterUrl(cluster, 'postgres'));
  const first = superuser.username;
  await query(superuser, `CREATE ROLE postgres SUPERUSER LOGIN PASSWORD '${cluster.password}'`);
  superuser.username = 'postgres';
  await query(superuser, `ALTER ROLE ${first} RENAME TO first_superuser`);
  await run('sh', [packageFile('deploy/docker/postgres/create-databases.sh')], {
    env: {
      PATH: process.env['PATH'],
      PGHOST: LOOPBACK,
      PGPORT: String(port),
      PGPASSWORD: cluster.password,
      POSTGRES_USER: 'postgres',
      ...composeEnvironment(['services', 'postgres', 'environment'], secrets),
    },
  });
}

async function query(url: URL, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}

/** @returns a check that throws, with the last output, if the server has ended. */
async function startTemporal(
  program: string,
  environment: NodeJS.ProcessEnv,
  toStop: (() => Promise<void>)[],
): Promise<() => void> {
  const server = spawn(program, ['start'], { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  toStop.push(() => stopProcess(server, 'SIGTERM'));
  let output = '';
  for (const stream of [server.stdout, server.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-4_000);
    });
  }
  const check = (): void => {
    if (server.exitCode !== null) throw new Error(`the Temporal server ended:\n${output}`);
  };
  // Like the health check of compose.
  await waitForSuccess(() => canConnect(Number(environment['FRONTEND_GRPC_PORT'])), check);
  return check;
}

async function canConnect(port: number): Promise<void> {
  const socket = connect(port, LOOPBACK);
  try {
    await once(socket, 'connect');
  } finally {
    socket.destroy();
  }
}

/** Retries as `restart: on-failure` and a health check do. */
async function waitForSuccess<T>(attempt: () => Promise<T>, check: () => void = () => {}): Promise<T> {
  const deadline = Date.now() + GIVE_UP_MS;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      check();
      if (Date.now() > deadline) throw error;
      await delay(200);
    }
  }
}

async function stopProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await exited;
  clearTimeout(timer);
}
