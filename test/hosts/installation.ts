/**
 * An installation on several hosts: two apis, two workers that generate, one that archives and calls back, Temporal, a
 * PostgreSQL with a synchronous standby behind one address, and an S3 server. Providers, receivers and clients are
 * outside.
 */
import { randomBytes } from 'node:crypto';
import { appendFile, chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '@darkroom/testing/wait-for';
import { readInstallationId } from '../../src/database/migrate.ts';
import type { Launch } from '../../src/standalone/launch.ts';
import { clusterLaunch, createCluster } from '../../src/standalone/postgres.ts';
import type { Cluster } from '../../src/standalone/postgres.ts';
import { obtainTemporalCli } from '../../src/standalone/temporal-cli.ts';
import { temporalServerLaunch, waitForTemporal } from '../../src/standalone/temporal-server.ts';
import { ensureSchedules } from '../../src/temporal/schedules.ts';
import { SEARCH_ATTRIBUTES } from '../../src/temporal/search-attributes.ts';
import { createWorldAccount } from '../chaos/world/accounts.ts';
import { Part } from '../chaos/world/part.ts';
import { ApiClient } from '../support/api-client.ts';
import { builtProgram } from '../support/built-program.ts';
import { hasStandby, prepareStandby, promote, queryOnce } from '../support/standby.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestNamespace } from '../support/test-namespace.ts';
import type { TestNamespace } from '../support/test-namespace.ts';
import { obtainExecutable } from '../support/versitygw.ts';
import type { Host, Network } from './network.ts';

const PORT = { postgres: 5432, temporal: 7233, s3: 9000, api: 8080 } as const;
/** What a proxy that ends TLS would serve; clients here reach the apis as that proxy does. */
const PUBLIC_URL = 'https://darkroom.test';
const BUCKET = 'hosts';
const BALANCE_MICRO_USD = 1_000_000_000n;

/** What each worker serves. */
const ROLES = {
  'api-1': undefined,
  'api-2': undefined,
  'generation-1': 'media,generation,waiting',
  'generation-2': 'media,generation,waiting',
  'archive-1': 'media,archiving,maintenance,callbacks',
} as const;
export type RoleName = keyof typeof ROLES;
export type HostName = RoleName | 'temporal' | 's3' | 'postgres-1' | 'postgres-2';

export interface Installation {
  readonly network: Network;
  readonly testDatabase: TestDatabase;
  readonly namespace: TestNamespace;
  readonly account: { readonly id: string; readonly client: ApiClient };
  host(name: HostName): Host;
  /** The process of a host. */
  part(name: HostName): Part;
  /** Ends the first PostgreSQL without warning, and promotes the other one. */
  failOver(): Promise<void>;
  close(): Promise<void>;
}

interface Outside {
  readonly modelsDir: string;
  /** Comma-separated addresses of providers and receivers. */
  readonly egressAllow: string;
}

/** @param network open; it is closed with the installation. */
export async function startInstallation(network: Network, outside: Outside): Promise<Installation> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-hosts-'));
  // PostgreSQL runs as another user, who needs access to the directory.
  await chmod(directory, 0o711);
  const at = (name: string): string => path.join(directory, name);
  const hosts = new Map<HostName, Host>();
  const parts = new Map<HostName, Part>();
  const names: readonly HostName[] = ['postgres-1', 'postgres-2', 'temporal', 's3', ...namesOf(ROLES)];
  for (const name of names) hosts.set(name, await network.addHost(name));
  const host = (name: HostName): Host => of(hosts, name);
  const part = (name: HostName): Part => of(parts, name);
  const add = (name: HostName, launch: () => Launch | Promise<Launch>, ready: (signal: AbortSignal) => Promise<void>) =>
    parts.set(
      name,
      new Part({
        name,
        launch: async () => host(name).launch(await launch()),
        ready,
        stopSignal: name.startsWith('postgres') ? 'SIGINT' : 'SIGTERM',
        logFile: at(`${name}.log`),
      }),
    );

  const password = randomBytes(12).toString('hex');
  const clusters = await createClusters(network, at, password, host('postgres-1').address);
  for (const [name, cluster] of clusters) {
    const urlOfHost = `postgres://darkroom:${password}@${host(name).address}:${PORT.postgres}/postgres`;
    add(
      name,
      () => postgresLaunch(cluster),
      (signal) => waitForPostgres(urlOfHost, signal),
    );
  }
  const cliPath = await obtainTemporalCli({
    cliPath: process.env['TEMPORAL_CLI_PATH'],
    environment: process.env,
    report: () => {},
  });
  const temporalAddress = `${host('temporal').address}:${PORT.temporal}`;
  add(
    'temporal',
    () => temporalLaunch(cliPath, at('temporal.sqlite')),
    (signal) => waitForTemporal(temporalAddress, signal),
  );
  const s3 = await provideS3(host('s3').address, at('s3'));
  add('s3', () => s3.launch, s3.ready);
  await network.float(host('postgres-1'));
  await Promise.all([...parts.values()].map((each) => each.start()));

  const databaseServer = `postgres://darkroom:${password}@${network.floating}:${PORT.postgres}/postgres`;
  await waitFor('the standby receives the log', () => hasStandby(databaseServer, 'sync'));
  const testDatabase = await createTestDatabase(undefined, databaseServer);
  const namespace = await createTestNamespace(temporalAddress);
  await ensureSchedules(namespace.client, await readInstallationId(testDatabase.database));

  const secrets = { URL_SIGNING_KEY: randomBytes(24).toString('hex'), ENCRYPTION_KEY: randomBytes(24).toString('hex') };
  const apiUrls = (['api-1', 'api-2'] as const).map((name) => `http://${host(name).address}:${PORT.api}`);
  for (const name of namesOf(ROLES)) {
    const queues = ROLES[name];
    const environment = {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      ...secrets,
      ...s3.environment,
      DATABASE_URL: testDatabase.url,
      TEMPORAL_ADDRESS: temporalAddress,
      TEMPORAL_NAMESPACE: namespace.name,
      MODELS_DIR: outside.modelsDir,
      SCRATCH_DIR: at(`scratch-${name}`),
      UPSTREAM_TEST_KEY: 'test-key',
      EGRESS_ALLOW: outside.egressAllow,
      CALLBACK_OFFSETS_SECONDS: '0,1,2,4,8,16',
      SHUTDOWN_GRACE_SECONDS: '5',
      UPSTREAM_GRACE_SECONDS: '30',
      ENGINE_THREADS: '1',
      ...(queues === undefined
        ? { HOST: host(name).address, PORT: String(PORT.api), PUBLIC_URL, TRUSTED_PROXIES: network.outside }
        : { WORKER_QUEUES: queues }),
    };
    await mkdir(environment.SCRATCH_DIR);
    add(
      name,
      () => ({
        command: process.execPath,
        args: [...builtProgram(), queues === undefined ? 'api' : 'worker'],
        environment,
        hasChannel: true,
      }),
      // A process with a channel reports itself that it is ready.
      () => new Promise(() => undefined),
    );
  }
  await Promise.all(namesOf(ROLES).map((name) => part(name).start()));
  const { id, key } = await createWorldAccount(testDatabase.database, 'hosts', BALANCE_MICRO_USD, { runningCap: 60 });

  return {
    network,
    testDatabase,
    namespace,
    account: { id, client: new ApiClient(apiUrls, key, { 'X-Forwarded-Proto': 'https' }) },
    host,
    part,
    async failOver() {
      await part('postgres-1').kill();
      await promote(`postgres://darkroom:${password}@${host('postgres-2').address}:${PORT.postgres}/postgres`);
      await network.float(host('postgres-2'));
    },
    async close() {
      await namespace.close().catch(() => undefined);
      await testDatabase.database.close().catch(() => undefined);
      for (const name of names.toReversed()) await parts.get(name)?.kill();
      await network.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function of<Name, Value>(map: ReadonlyMap<Name, Value>, name: Name): Value {
  const found = map.get(name);
  if (found === undefined) throw new Error(`there is no ${String(name)}`);
  return found;
}

function namesOf<Name extends string>(record: Readonly<Record<Name, unknown>>): readonly Name[] {
  // The keys of an object literal are those of its type.
  return Object.keys(record) as Name[];
}

/** A primary, whose commits wait for its standby, and the standby. */
async function createClusters(
  { range }: Network,
  at: (name: string) => string,
  password: string,
  primaryAddress: string,
): Promise<readonly (readonly ['postgres-1' | 'postgres-2', Cluster])[]> {
  const primary: Cluster = { directory: at('postgres-1'), port: PORT.postgres, password, isDurable: true };
  const standby: Cluster = { ...primary, directory: at('postgres-2') };
  await createCluster(primary.directory, password);
  const rules = ['all', 'replication'].map((database) => `host ${database} all ${range} scram-sha-256\n`);
  await appendFile(path.join(primary.directory, 'pg_hba.conf'), rules.join(''));
  await prepareStandby(primary, standby, { host: primaryAddress, port: PORT.postgres }, true);
  return [
    ['postgres-1', primary],
    ['postgres-2', standby],
  ];
}

/** On every address of its host, so that one can be added later. */
async function postgresLaunch(cluster: Cluster): Promise<Launch> {
  const launch = await clusterLaunch(cluster);
  return {
    ...launch,
    args: launch.args.map((arg) => (arg.startsWith('listen_addresses=') ? 'listen_addresses=0.0.0.0' : arg)),
  };
}

/** On every address of its host: its parts reach each other by the loopback. */
function temporalLaunch(cliPath: string, databaseFile: string): Launch {
  const launch = temporalServerLaunch(
    { cliPath, port: PORT.temporal, databaseFile, searchAttributes: SEARCH_ATTRIBUTES },
    process.env,
  );
  return { ...launch, args: launch.args.map((arg) => (arg === '127.0.0.1' ? '0.0.0.0' : arg)) };
}

interface S3Service {
  readonly launch: Launch;
  readonly ready: (signal: AbortSignal) => Promise<void>;
  /** Of the processes that use it. */
  readonly environment: Readonly<Record<string, string>>;
}

async function provideS3(address: string, directory: string): Promise<S3Service> {
  await mkdir(path.join(directory, BUCKET), { recursive: true });
  const [id, secret] = ['hosts', randomBytes(20).toString('hex')];
  const endpoint = `http://${address}:${PORT.s3}`;
  return {
    launch: {
      command: await obtainExecutable(),
      args: ['--port', `${address}:${PORT.s3}`, '--quiet', '--health', '/health', 'posix', directory],
      environment: { PATH: process.env['PATH'], ROOT_ACCESS_KEY_ID: id, ROOT_SECRET_ACCESS_KEY: secret },
    },
    async ready(signal) {
      for (;;) {
        const answer = await fetch(`${endpoint}/health`, { signal }).catch(() => undefined);
        await answer?.arrayBuffer();
        if (answer?.ok === true) return;
        await sleep(50, undefined, { signal });
      }
    },
    environment: {
      STORE_URL: `s3://${BUCKET}/objects`,
      S3_ENDPOINT: endpoint,
      S3_ACCESS_KEY_ID: id,
      S3_SECRET_ACCESS_KEY: secret,
    },
  };
}

async function waitForPostgres(url: string, signal: AbortSignal): Promise<void> {
  while (!(await queryOnce(url, 'SELECT 1').then(Boolean, () => false))) await sleep(50, undefined, { signal });
}
