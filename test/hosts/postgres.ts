/** PostgreSQL on hosts: a primary whose commits wait for its standby, or one alone. */
import { appendFile } from 'node:fs/promises';
import path from 'node:path';
import { clusterLaunch, createCluster } from '../../src/standalone/postgres.ts';
import type { Cluster } from '../../src/standalone/postgres.ts';
import { prepareStandby, queryOnce } from '../support/standby.ts';
import { untilSuccess } from './service.ts';
import type { Service } from './service.ts';

export const POSTGRES_PORT = 5432;

interface ClusterPlace {
  readonly directory: string;
  readonly password: string;
  /** Of the network whose hosts may connect. */
  readonly range: string;
}

/** The URL of a server, by the address of its host. */
export function postgresUrl(address: string, password: string, database = 'postgres'): string {
  return `postgres://darkroom:${password}@${address}:${POSTGRES_PORT}/${database}`;
}

/** A primary, and its standby in another directory. */
export async function createPair(
  { directory, password, range }: ClusterPlace,
  standbyDirectory: string,
  primaryAddress: string,
): Promise<readonly [Cluster, Cluster]> {
  const primary = await createAlone({ directory, password, range });
  const standby: Cluster = { ...primary, directory: standbyDirectory };
  await prepareStandby(primary, standby, { host: primaryAddress, port: POSTGRES_PORT }, true);
  return [primary, standby];
}

/** @param maxConnections default: that of the standalone installation. */
export async function createAlone(
  { directory, password, range }: ClusterPlace,
  maxConnections?: number,
): Promise<Cluster> {
  await createCluster(directory, password);
  const rules = ['all', 'replication'].map((database) => `host ${database} all ${range} scram-sha-256\n`);
  await appendFile(path.join(directory, 'pg_hba.conf'), rules.join(''));
  const limit = maxConnections === undefined ? {} : { maxConnections };
  return { directory, port: POSTGRES_PORT, password, isDurable: true, ...limit };
}

/** @param address of its host. */
export function postgresService(cluster: Cluster, address: string): Service {
  return {
    stopSignal: 'SIGINT',
    async launch() {
      const launch = await clusterLaunch(cluster);
      // On every address of its host, so that one can be added later.
      const args = launch.args.map((arg) => (arg.startsWith('listen_addresses=') ? 'listen_addresses=0.0.0.0' : arg));
      return { ...launch, args };
    },
    ready: (signal) => untilSuccess(() => queryOnce(postgresUrl(address, cluster.password), 'SELECT 1'), signal),
  };
}
