/**
 * The Temporal server of a stage, in which a backlog is discarded by replacing it: the development server on a file, or
 * the server of docker-compose.yml on PostgreSQL, beside our own database, as an operator runs it.
 */
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { NativeConnection } from '@temporalio/worker';
import { packageFile } from '../../../src/config/package-root.ts';
import type { Database } from '../../../src/database/database.ts';
import type { Launch } from '../../../src/standalone/processes.ts';
import { findFreePort } from '../../../src/standalone/ports.ts';
import type { Cluster } from '../../../src/standalone/postgres.ts';
import { obtainTemporalCli } from '../../../src/standalone/temporal-cli.ts';
import { temporalServerLaunch, waitForTemporal } from '../../../src/standalone/temporal-server.ts';
import { silentLogger } from '../../../src/telemetry/log.ts';
import { prepareNamespace } from '../../../src/temporal/prepare-namespace.ts';
import { SEARCH_ATTRIBUTES } from '../../../src/temporal/search-attributes.ts';
import { composeEnvironment, composeImage } from '../../deploy/compose-file.ts';
import { findTemporalPorts } from '../../deploy/temporal-ports.ts';
import { obtainTemporalPrograms, setUpTemporalSchema } from '../../deploy/temporal-programs.ts';
import { surroundings } from './node-launch.ts';

/** Where Temporal keeps its histories. */
export const TEMPORAL_STORES = ['sqlite', 'postgresql'] as const;
export type TemporalStore = (typeof TEMPORAL_STORES)[number];

const NAMESPACE = 'default';
/** Every server has it. */
const SYSTEM_NAMESPACE = 'temporal-system';
/** Temporal's four services open up to 30 connections each. */
export const CONNECTIONS_WITH_TEMPORAL = 300;

export interface TemporalOfStage {
  readonly address: string;
  /** An empty state for the next server; the one before has ended. */
  clear(): Promise<void>;
  launch(): Launch;
  /** Waits until clients can use it. */
  ready(signal: AbortSignal): Promise<void>;
}

/** @param directory the stage's. @param report what is downloaded. */
export async function onSqlite(directory: string, report: (line: string) => void): Promise<TemporalOfStage> {
  const cliPath = await obtainTemporalCli({ cliPath: undefined, environment: surroundings(), report });
  const port = await findFreePort();
  const address = `127.0.0.1:${port}`;
  const files = path.join(directory, 'temporal');
  return {
    address,
    async clear() {
      await rm(files, { recursive: true, force: true });
      await mkdir(files);
    },
    launch: () =>
      temporalServerLaunch(
        { cliPath, port, databaseFile: path.join(files, 'temporal.db'), searchAttributes: SEARCH_ATTRIBUTES },
        surroundings(),
      ),
    ready: (signal) => waitForTemporal(address, signal),
  };
}

/**
 * @param cluster where its databases are made; it needs `CONNECTIONS_WITH_TEMPORAL`. @param database a connection to it.
 */
export async function onPostgresql(cluster: Cluster, database: Database): Promise<TemporalOfStage> {
  const [, version] = composeImage('temporal');
  const programs = await obtainTemporalPrograms(version);
  const ports = await findTemporalPorts();
  const address = `127.0.0.1:${ports.frontend}`;
  const [host, port, user] = ['127.0.0.1', String(cluster.port), 'darkroom'];
  await setUpTemporalSchema(programs, {
    SQL_PLUGIN: 'postgres12',
    SQL_HOST: host,
    SQL_PORT: port,
    SQL_USER: user,
    SQL_PASSWORD: cluster.password,
  });
  // Copied for each server: making the tables takes seconds.
  await keepAsEmpty(database);
  const environment = {
    ...surroundings(),
    ...composeEnvironment(['services', 'temporal', 'environment'], { TEMPORAL_DB_PASSWORD: cluster.password }),
    POSTGRES_SEEDS: host,
    DB_PORT: port,
    POSTGRES_USER: user,
    BIND_ON_IP: '127.0.0.1',
    DYNAMIC_CONFIG_FILE_PATH: packageFile('deploy/docker/temporal/dynamic-config.yaml'),
    LOG_LEVEL: 'warn',
    ...ports.environment,
  };
  return {
    address,
    clear: () => copyDatabases(database),
    launch: () => ({ command: path.join(programs, 'temporal-server'), args: ['start'], environment }),
    async ready(signal) {
      await waitForTemporal(address, signal, SYSTEM_NAMESPACE);
      const connection = await NativeConnection.connect({ address });
      try {
        const config = { address, namespace: NAMESPACE, apiKey: undefined, tls: undefined };
        await prepareNamespace(connection, config, silentLogger());
      } finally {
        await connection.close();
      }
      await waitForTemporal(address, signal);
    },
  };
}

const DATABASES = ['temporal', 'temporal_visibility'];

async function keepAsEmpty(database: Database): Promise<void> {
  for (const name of DATABASES) {
    await database.query({ name: `bench_keep_${name}`, text: `ALTER DATABASE ${name} RENAME TO ${name}_empty` });
  }
}

async function copyDatabases(database: Database): Promise<void> {
  for (const name of DATABASES) {
    await database.query({ name: `bench_drop_${name}`, text: `DROP DATABASE IF EXISTS ${name} WITH (FORCE)` });
    await database.query({ name: `bench_copy_${name}`, text: `CREATE DATABASE ${name} TEMPLATE ${name}_empty` });
  }
}
