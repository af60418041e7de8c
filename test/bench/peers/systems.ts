/** Darkroom and its peers: the servers that each needs, and what its clients and its worker have to know. */
import { once } from 'node:events';
import { mkdir, readdir } from 'node:fs/promises';
import { createConnection } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '../../../src/database/database.ts';
import { migrate } from '../../../src/database/migrate.ts';
import { findFreePort } from '../../../src/standalone/ports.ts';
import { clusterUrl, ensureDatabase } from '../../../src/standalone/postgres.ts';
import { obtainTemporalCli } from '../../../src/standalone/temporal-cli.ts';
import { temporalServerLaunch, waitForTemporal } from '../../../src/standalone/temporal-server.ts';
import { silentLogger } from '../../../src/telemetry/log.ts';
import { SEARCH_ATTRIBUTES } from '../../../src/temporal/search-attributes.ts';
import { createBenchAccount } from '../stage/account.ts';
import { Child } from '../stage/children.ts';
import { startBenchCluster } from '../stage/cluster.ts';
import { roleEnvironment, roleLaunch, surroundings } from '../stage/node-launch.ts';
import type { RedisProgram } from './install.ts';
import { CONCURRENCY } from './system.ts';
import type { Execution, Parts, SystemFacts } from './system.ts';

/** DBOS looks for work and for results once a second by default; a latency below that is a setting away. */
const EAGER_POLL_MS = 20;

const SELECT_IDS = {
  name: 'bench_select_ids_by_key',
  text: `SELECT id, idempotency_key AS key FROM tasks WHERE idempotency_key = ANY ($1)`,
};
const SELECT_SUCCESSES = {
  name: 'bench_select_successes',
  text: `SELECT task_id AS "taskId", extract(epoch FROM at)::float8 * 1000 AS at
           FROM task_events WHERE type = 'success' AND task_id = ANY ($1)`,
};

export interface Programs {
  readonly scripts: string;
  readonly redis: RedisProgram;
  readonly versions: Readonly<Record<string, string>>;
  readonly report: (line: string) => void;
}

export function systemsOf({ scripts, redis, versions, report }: Programs): readonly SystemFacts[] {
  const dbos = versions['@dbos-inc/dbos-sdk'] ?? '';
  const restate = `${versions['@restatedev/restate-server'] ?? ''}, SDK ${versions['@restatedev/restate-sdk'] ?? ''}`;
  return [
    { name: 'Darkroom', script: 'darkroom.mjs', version: '', start: (...at) => startDarkroom(...at, report) },
    { name: 'DBOS', script: 'dbos.mjs', version: dbos, start: (...at) => startDbos(...at) },
    {
      name: 'DBOS, eager',
      script: 'dbos.mjs',
      version: `${dbos}, polling every ${EAGER_POLL_MS} ms`,
      start: (...at) => startDbos(...at, EAGER_POLL_MS),
    },
    { name: 'Restate', script: 'restate.mjs', version: restate, start: (...at) => startRestate(...at, scripts) },
    {
      name: 'BullMQ',
      script: 'bullmq.mjs',
      version: `${versions['bullmq'] ?? ''}, Redis ${redis.version}`,
      start: (...at) => startRedis(...at, redis),
    },
  ];
}

async function startDarkroom(directory: string, children: Set<Child>, report: (line: string) => void): Promise<Parts> {
  const cluster = await startBenchCluster(directory, { isDurable: true, children });
  const databaseUrl = clusterUrl(cluster, 'postgres');
  const temporalAddress = await startTemporal(directory, children, report);
  const database = openDatabase({ url: databaseUrl, poolSize: 1 }, silentLogger());
  const account = await (async () => {
    try {
      await migrate(databaseUrl, database, silentLogger());
      return await createBenchAccount(database);
    } finally {
      await database.close();
    }
  })();
  const port = await findFreePort();
  const storeDirectory = path.join(directory, 'store');
  const environment = roleEnvironment({ databaseUrl, temporalAddress, storeDirectory, port });
  const api = new Child('api', roleLaunch('api', environment, undefined), path.join(directory, 'api.log'));
  children.add(api);
  await api.ready();
  return {
    options: { url: `http://127.0.0.1:${port}`, apiKey: account.key.secret },
    workerLaunch: roleLaunch('worker', environment, undefined),
    readExecutions: (jobs) => readTasks(databaseUrl, storeDirectory, jobs),
  };
}

async function startTemporal(directory: string, children: Set<Child>, report: (line: string) => void): Promise<string> {
  const port = await findFreePort();
  await mkdir(path.join(directory, 'temporal'));
  const server = {
    cliPath: await obtainTemporalCli({ cliPath: undefined, environment: surroundings(), report }),
    port,
    databaseFile: path.join(directory, 'temporal', 'temporal.db'),
    searchAttributes: SEARCH_ATTRIBUTES,
  };
  const log = path.join(directory, 'temporal.log');
  const temporal = new Child('temporal', temporalServerLaunch(server, surroundings()), log);
  children.add(temporal);
  const address = `127.0.0.1:${port}`;
  await temporal.readyWhen((signal) => waitForTemporal(address, signal));
  return address;
}

/**
 * An execution of a task is a file in the store: each attempt writes one under a key of its own. Their times are those
 * of the successes, as only those follow each other after a kill.
 */
async function readTasks(
  databaseUrl: string,
  storeDirectory: string,
  jobs: readonly string[],
): Promise<readonly Execution[]> {
  const database = openDatabase({ url: databaseUrl, poolSize: 1 }, silentLogger());
  try {
    const tasks = await database.query<{ id: string; key: string }>(SELECT_IDS, [jobs]);
    const ids = tasks.map(({ id }) => id);
    const successes = await database.query<{ taskId: string; at: number }>(SELECT_SUCCESSES, [ids]);
    const names = await readdir(storeDirectory, { recursive: true });
    return tasks.flatMap(({ id, key }) => {
      const files = names.filter((name) => path.basename(name).startsWith(`${id}-generated-`)).length;
      const times = successes.filter(({ taskId }) => taskId === id).map(({ at }) => at);
      const executions = Math.max(files, times.length);
      return Array.from({ length: executions }, (_, index) => ({ job: key, at: times[index] ?? times[0] ?? 0 }));
    });
  } finally {
    await database.close();
  }
}

async function startDbos(directory: string, children: Set<Child>, pollMs?: number): Promise<Parts> {
  const cluster = await startBenchCluster(directory, { isDurable: true, children });
  await ensureDatabase(cluster, 'dbos');
  return { options: { databaseUrl: clusterUrl(cluster, 'dbos'), ...(pollMs === undefined ? {} : { pollMs }) } };
}

async function startRestate(directory: string, children: Set<Child>, scripts: string): Promise<Parts> {
  const [ingressPort, adminPort, nodePort, workerPort] = [
    await findFreePort(),
    await findFreePort(),
    await findFreePort(),
    await findFreePort(),
  ];
  const program = `node_modules/@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`;
  const environment = {
    ...surroundings(),
    RESTATE_BASE_DIR: path.join(directory, 'restate'),
    RESTATE_LISTEN_MODE: 'tcp',
    RESTATE_BIND_IP: '127.0.0.1',
    RESTATE_BIND_PORT: String(nodePort),
    RESTATE_INGRESS__BIND_PORT: String(ingressPort),
    RESTATE_ADMIN__BIND_PORT: String(adminPort),
    RESTATE_DISABLE_TELEMETRY: 'true',
    RESTATE_LOG_FILTER: 'warn',
  };
  const launch = { command: path.join(scripts, program), args: ['--no-logo'], environment };
  const server = new Child('restate', launch, path.join(directory, 'restate.log'));
  children.add(server);
  const [ingressUrl, adminUrl] = [`http://127.0.0.1:${ingressPort}`, `http://127.0.0.1:${adminPort}`];
  await server.readyWhen(async (signal) => {
    for (const url of [`${adminUrl}/health`, `${ingressUrl}/restate/health`]) await waitForOk(url, signal);
  });
  return { options: { ingressUrl, adminUrl, workerPort } };
}

/** With the settings that BullMQ's documents ask for in production: an append-only file, and nothing is evicted. */
async function startRedis(directory: string, children: Set<Child>, redis: RedisProgram): Promise<Parts> {
  const port = await findFreePort();
  const data = path.join(directory, 'redis');
  await mkdir(data);
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    dir: data,
    appendonly: 'yes',
    appendfsync: 'everysec',
    'maxmemory-policy': 'noeviction',
    logfile: path.join(data, 'log'),
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const launch = { command: redis.command, args, environment: { ...surroundings(), ...redis.environment } };
  const server = new Child('redis', launch, path.join(directory, 'redis.log'));
  children.add(server);
  await server.readyWhen((signal) => waitForPort(port, signal));
  return { options: { redisPort: port, concurrency: CONCURRENCY } };
}

async function waitForPort(port: number, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const socket = createConnection({ port, host: '127.0.0.1' });
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return;
    await sleep(50, undefined, { signal });
  }
}

async function waitForOk(url: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const isOk = await fetch(url, { signal }).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isOk) return;
    await sleep(50, undefined, { signal });
  }
}
