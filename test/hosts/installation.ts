/**
 * An installation on several hosts: a proxy, two apis, two workers that generate, one that archives and calls back, the
 * four services of Temporal and their PostgreSQL, a PgBouncer, a PostgreSQL with a synchronous standby behind one
 * address, and an S3 server. Providers, receivers and clients are outside.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { waitFor } from '@darkroom/testing/wait-for';
import type { Database } from '../../src/database/database.ts';
import { readInstallationId } from '../../src/database/migrate.ts';
import type { Launch } from '../../src/standalone/processes.ts';
import { ensureSchedules } from '../../src/temporal/schedules.ts';
import { createWorldAccount } from '../chaos/world/accounts.ts';
import { Part } from '../chaos/world/part.ts';
import { WorkerVersions } from '../deploy/released-worker.ts';
import { builtProgram } from '../support/built-program.ts';
import { hasStandby, promote } from '../support/standby.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestNamespace } from '../support/test-namespace.ts';
import type { TestNamespace } from '../support/test-namespace.ts';
import { HostsClient } from './client.ts';
import type { Host, Network } from './network.ts';
import { providePooler } from './pooler.ts';
import { createAlone, createPair, postgresService, postgresUrl } from './postgres.ts';
import { provideProxy } from './proxy.ts';
import { API_PORT, FIRST_BUILD_ID, firstRelease, roleEnvironment, roleLaunch, roleNames } from './roles.ts';
import type { Release, RoleName } from './roles.ts';
import { provideS3 } from './s3.ts';
import type { Service } from './service.ts';
import { deleteHistory, restoreHistory, saveHistory } from './temporal-history.ts';
import { TEMPORAL_HOSTS, provideTemporal } from './temporal.ts';

const run = promisify(execFile);

const BALANCE_MICRO_USD = 1_000_000_000n;

/** Each of Temporal's services opens up to 30. */
const TEMPORAL_CONNECTIONS = 200;

const BACKENDS = ['postgres-1', 'postgres-2', 'pooler', 'temporal-postgres', ...TEMPORAL_HOSTS, 's3', 'proxy'] as const;
export type HostName = RoleName | (typeof BACKENDS)[number];

export interface Installation {
  readonly network: Network;
  readonly testDatabase: TestDatabase;
  readonly namespace: TestNamespace;
  readonly account: { readonly id: string; readonly client: HostsClient };
  host(name: HostName): Host;
  /** The process of a host; of the release that was installed last. */
  part(name: HostName): Part;
  /** The versions of its workers. */
  readonly versions: WorkerVersions;
  /** Puts a release of a role on its host, which `part` then starts. @returns the process of the former release. */
  install(name: RoleName, release: Release): Promise<Part>;
  /** Takes the first PostgreSQL away without warning, and promotes the other one. */
  failOver(): Promise<void>;
  /** Copies Temporal's databases as they are now. */
  saveHistory(): Promise<void>;
  /** Stops Temporal, and starts it with the copy, or with nothing. */
  replaceHistory(by: 'copy' | 'nothing'): Promise<void>;
  /** What an operator runs after an upgrade or a loss. */
  migrate(): Promise<void>;
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
  const allParts: Part[] = [];
  const names: readonly HostName[] = [...BACKENDS, ...roleNames()];
  for (const name of names) hosts.set(name, await network.addHost(name));
  const host = (name: HostName): Host => of(hosts, name);
  const part = (name: HostName): Part => of(parts, name);
  const address = (name: HostName): string => host(name).address;
  const add = (name: HostName, { launch, ready, stopSignal = 'SIGTERM' }: Service): Part => {
    const onHost = async () => host(name).launch(await launch());
    const added = new Part({ name, launch: onHost, ready, stopSignal, logFile: at(`${name}.log`) });
    parts.set(name, added);
    allParts.push(added);
    return added;
  };

  const password = randomBytes(12).toString('hex');
  const place = { directory: at('postgres-1'), password, range: network.range };
  const [primary, standby] = await createPair(place, at('postgres-2'), address('postgres-1'));
  const databaseServer = postgresUrl(network.floating, password);
  const temporalPlace = { ...place, directory: at('temporal-postgres') };
  const temporalPostgres = await createAlone(temporalPlace, TEMPORAL_CONNECTIONS);
  const temporalServer = postgresUrl(address('temporal-postgres'), password);
  const temporal = await provideTemporal(
    address('temporal-frontend'),
    { address: address('temporal-postgres'), password },
    directory,
  );
  const s3 = await provideS3(address('s3'), at('s3'));
  const pooler = await providePooler(databaseServer, address('pooler'), at('pooler'));
  await network.float(host('postgres-1'));
  const backends: readonly Part[] = [
    add('postgres-1', postgresService(primary, address('postgres-1'))),
    add('postgres-2', postgresService(standby, address('postgres-2'))),
    add('temporal-postgres', postgresService(temporalPostgres, address('temporal-postgres'))),
    add('s3', s3),
    add('pooler', pooler),
  ];
  await Promise.all(backends.map((backend) => backend.start()));
  const startTemporal = async (): Promise<void> => {
    await temporal.setUp();
    await Promise.all(TEMPORAL_HOSTS.map((name) => part(name).start()));
  };
  for (const name of TEMPORAL_HOSTS) add(name, temporal.service(name, address(name)));
  await startTemporal();

  await waitFor('the standby receives the log', () => hasStandby(databaseServer, 'sync'));
  const testDatabase = await createTestDatabase(undefined, databaseServer);
  const namespace = await createTestNamespace(temporal.address);
  const installationId = await readInstallationId(testDatabase.database);
  await ensureSchedules(namespace.client, installationId);
  const versions = new WorkerVersions({ installationId, namespace: namespace.name }, temporal.address);

  const shared = {
    URL_SIGNING_KEY: randomBytes(24).toString('hex'),
    ENCRYPTION_KEY: randomBytes(24).toString('hex'),
    ...s3.environment,
    ...pooler.environment(testDatabase.url),
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: namespace.name,
    MODELS_DIR: outside.modelsDir,
    EGRESS_ALLOW: outside.egressAllow,
  };
  const addRole = async (name: RoleName, release: Release): Promise<void> => {
    // Processes of two releases on one host do not share it.
    const scratchDirectory = at(`scratch-${name}-${release.buildId}`);
    const ofRole = { address: address(name), proxyAddress: address('proxy'), scratchDirectory };
    const launch = (): Launch => roleLaunch(name, release, roleEnvironment(name, ofRole, shared));
    await mkdir(scratchDirectory, { recursive: true });
    // A process with a channel reports itself that it is ready.
    add(name, { launch, ready: () => new Promise(() => undefined) });
  };
  for (const name of roleNames()) await addRole(name, firstRelease());
  await Promise.all(roleNames().map((name) => part(name).start()));
  await versions.promote(FIRST_BUILD_ID);
  const apis = (['api-1', 'api-2'] as const).map((name) => `${address(name)}:${API_PORT}`);
  const proxy = await provideProxy(address('proxy'), apis, network.outside, at('proxy'));
  await add('proxy', proxy).start();
  const { id, key } = await createWorldAccount(testDatabase.database, 'hosts', BALANCE_MICRO_USD, { runningCap: 60 });

  return {
    network,
    testDatabase,
    namespace,
    account: { id, client: new HostsClient(proxy.url, key) },
    host,
    part,
    versions,
    async install(name, release) {
      const former = part(name);
      await addRole(name, release);
      return former;
    },
    async failOver() {
      await network.unplug(host('postgres-1'));
      await part('postgres-1').kill();
      await host('postgres-1').signal('SIGKILL');
      await promote(postgresUrl(address('postgres-2'), password));
      await network.float(host('postgres-2'));
      await waitFor("the test's connections lead to the promoted server", () => isReached(testDatabase.database));
    },
    saveHistory: () => saveHistory(temporalServer),
    async replaceHistory(by) {
      for (const name of TEMPORAL_HOSTS) await part(name).kill();
      await (by === 'copy' ? restoreHistory(temporalServer) : deleteHistory(temporalServer));
      await startTemporal();
    },
    async migrate() {
      const ofRole = { address: address('api-1'), proxyAddress: address('proxy'), scratchDirectory: at('scratch') };
      const environment = roleEnvironment('api-1', ofRole, shared);
      await run(process.execPath, [...builtProgram(), 'migrate'], { env: environment });
    },
    async close() {
      await namespace.close().catch(() => undefined);
      await testDatabase.database.close().catch(() => undefined);
      for (const each of allParts.toReversed()) await each.kill();
      await network.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Whether all connections of a pool answer. One that does not is closed by its failure. */
async function isReached(database: Database): Promise<boolean> {
  const checks = Array.from({ length: database.pool().open }, () => database.check());
  return (await Promise.allSettled(checks)).every(({ status }) => status === 'fulfilled');
}

function of<Name, Value>(map: ReadonlyMap<Name, Value>, name: Name): Value {
  const found = map.get(name);
  if (found === undefined) throw new Error(`there is no ${String(name)}`);
  return found;
}
