/**
 * The service that the videos bench measures: a durable PostgreSQL, Temporal on a file with our embedded settings, and
 * an api and a worker as they are deployed.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { openDatabase } from '../../../src/database/database.ts';
import type { Database } from '../../../src/database/database.ts';
import { migrate, readInstallationId } from '../../../src/database/migrate.ts';
import { findFreePort } from '../../../src/standalone/ports.ts';
import { clusterUrl } from '../../../src/standalone/postgres.ts';
import { obtainTemporalCli } from '../../../src/standalone/temporal-cli.ts';
import { temporalServerLaunch, waitForTemporal } from '../../../src/standalone/temporal-server.ts';
import { silentLogger } from '../../../src/telemetry/log.ts';
import { ensureSchedules } from '../../../src/temporal/schedules.ts';
import { SEARCH_ATTRIBUTES } from '../../../src/temporal/search-attributes.ts';
import { Child, stopAll } from '../stage/children.ts';
import { startBenchCluster } from '../stage/cluster.ts';
import { roleEnvironment, roleLaunch, surroundings } from '../stage/node-launch.ts';

export interface Service {
  readonly database: Database;
  readonly temporal: Client;
  /** The api's. */
  readonly port: number;
  readonly pids: { readonly api: number; readonly worker: number };
}

/** Starts it for the duration of `work`. @param more variables of the api and the worker. */
export async function withService(
  report: (line: string) => void,
  work: (service: Service) => Promise<void>,
  more: Readonly<Record<string, string>> = {},
): Promise<void> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-bench-videos-'));
  const children = new Set<Child>();
  const closing: (() => Promise<void>)[] = [];
  try {
    await work(await start(directory, children, closing, report, more));
  } finally {
    for (const close of closing) await close();
    await stopAll(children);
    await rm(directory, { recursive: true, force: true });
  }
}

async function start(
  directory: string,
  children: Set<Child>,
  closing: (() => Promise<void>)[],
  report: (line: string) => void,
  more: Readonly<Record<string, string>>,
): Promise<Service> {
  const launch = (name: string, how: ConstructorParameters<typeof Child>[1]): Child => {
    const child = new Child(name, how, path.join(directory, `${name}.log`));
    children.add(child);
    return child;
  };
  const cluster = await startBenchCluster(directory, { isDurable: true, children });
  const databaseUrl = clusterUrl(cluster, 'postgres');
  const database = openDatabase({ url: databaseUrl, poolSize: 2 }, silentLogger());
  closing.push(() => database.close());
  await migrate(databaseUrl, database, silentLogger());

  const cliPath = await obtainTemporalCli({ cliPath: undefined, environment: surroundings(), report });
  const temporalPort = await findFreePort();
  const temporalAddress = `127.0.0.1:${temporalPort}`;
  const databaseFile = path.join(directory, 'temporal.db');
  const server = { cliPath, port: temporalPort, databaseFile, searchAttributes: SEARCH_ATTRIBUTES };
  await launch('temporal', temporalServerLaunch(server, surroundings())).readyWhen((signal) =>
    waitForTemporal(temporalAddress, signal),
  );
  const connection = await NativeConnection.connect({ address: temporalAddress });
  closing.push(() => connection.close());
  const temporal = new Client({ connection });
  await ensureSchedules(temporal, await readInstallationId(database));

  const port = await findFreePort();
  const storeDirectory = path.join(directory, 'store');
  const environment = { ...roleEnvironment({ databaseUrl, temporalAddress, storeDirectory, port }), ...more };
  const [api, worker] = (['api', 'worker'] as const).map((role) =>
    launch(role, roleLaunch(role, { ...environment, SCRATCH_DIR: path.join(directory, 'scratch') }, undefined)),
  ) as [Child, Child];
  await Promise.all([api.ready(), worker.ready()]);
  return { database, temporal, port, pids: { api: api.pid, worker: worker.pid } };
}
