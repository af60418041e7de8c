/** The PostgreSQL of a bench: a cluster of its own, created in the bench's directory and deleted with it. */
import { randomBytes } from 'node:crypto';
import { appendFile, chmod } from 'node:fs/promises';
import path from 'node:path';
import { findFreePort } from '../../../src/standalone/ports.ts';
import { clusterLaunch, createCluster, waitForCluster } from '../../../src/standalone/postgres.ts';
import type { Cluster } from '../../../src/standalone/postgres.ts';
import { Child } from './children.ts';

export interface ClusterOptions {
  /** Whether commits reach the disk: needed wherever writing is measured. */
  readonly isDurable: boolean;
  /** Whether PostgreSQL counts the statements that it executes, which costs a few per cent. */
  readonly countsStatements?: boolean;
  /** The server's `max_connections`, if the default is too small. */
  readonly maxConnections?: number;
  /** The server is added to them before it is awaited, so that it is ended with them in any case. */
  readonly children: Set<Child>;
}

/** @param directory the bench's own, for the cluster and the server's log. @throws {Error} the server did not start. */
export async function startBenchCluster(
  directory: string,
  { isDurable, countsStatements = false, maxConnections, children }: ClusterOptions,
): Promise<Cluster> {
  // Under root, PostgreSQL runs as another user, who needs access to the directory.
  await chmod(directory, 0o711);
  const cluster: Cluster = {
    directory: path.join(directory, 'postgres'),
    port: await findFreePort(),
    password: randomBytes(12).toString('hex'),
    isDurable,
  };
  await createCluster(cluster.directory, cluster.password);
  const settings = [
    ...(countsStatements ? ["shared_preload_libraries = 'pg_stat_statements'"] : []),
    ...(maxConnections === undefined ? [] : [`max_connections = ${maxConnections}`]),
  ];
  await appendFile(path.join(cluster.directory, 'postgresql.conf'), settings.map((line) => `${line}\n`).join(''));
  const server = new Child('postgres', await clusterLaunch(cluster), path.join(directory, 'postgres.log'));
  children.add(server);
  await server.readyWhen((signal) => waitForCluster(cluster, signal));
  return cluster;
}
