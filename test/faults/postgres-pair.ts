/**
 * A PostgreSQL and its standby, which streams the log of the first. The link between the two can be cut, as by a
 * network or a standby that lags. At a failover the first is lost, and the standby takes over its role and its address.
 */
import { execFile } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, chmod, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { waitFor } from '@darkroom/testing/wait-for';
import { launchProcess } from '../../src/standalone/launch.ts';
import {
  clusterLaunch,
  clusterUrl,
  createCluster,
  findClusterPid,
  waitForCluster,
} from '../../src/standalone/postgres.ts';
import type { Cluster } from '../../src/standalone/postgres.ts';
import { openLink } from '../chaos/world/proxy.ts';
import { reservePort } from '../support/reserve-port.ts';

const START_TIMEOUT_MS = 120_000;
/** The name by which the first server knows its standby. */
const STANDBY = 'standby';
/** More than is ever written: the standby finds all of the log that it misses. */
const KEPT_LOG = '1GB';

export interface PostgresPair {
  /** Of the server that is in charge. */
  readonly databaseUrl: string;
  /** From now on the standby receives nothing. */
  cut(): void;
  /** Ends the first server without warning, and puts the standby in its place. */
  failOver(): Promise<void>;
  stop(): Promise<void>;
}

/** @param isSynchronous whether a commit waits until the standby has it on disk. */
export async function startPostgresPair(isSynchronous: boolean): Promise<PostgresPair> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-pair-'));
  // Under root, PostgreSQL runs as another user, who needs access to the directory.
  await chmod(directory, 0o711);
  const first: Cluster = {
    directory: path.join(directory, 'first'),
    port: await reservePort(),
    password: 'only-for-tests',
    isDurable: true,
  };
  const standby: Cluster = { ...first, directory: path.join(directory, STANDBY), port: await reservePort() };
  const link = await openLink(first.port);
  await createCluster(first.directory, first.password);
  // The files of a cluster that does not run are a complete backup.
  await copy(first.directory, standby.directory);
  await configure(first, {
    wal_keep_size: KEPT_LOG,
    ...(isSynchronous ? { synchronous_standby_names: STANDBY } : {}),
  });
  const { username } = new URL(clusterUrl(first, 'postgres'));
  await configure(standby, {
    primary_conninfo: `host=127.0.0.1 port=${link.port} user=${username} password=${first.password} application_name=${STANDBY}`,
  });
  await copy(settingsOf(standby), path.join(standby.directory, 'standby.signal'));

  const running = new Map<Cluster, ChildProcess>();
  const start = async (cluster: Cluster): Promise<void> => {
    const child = launchProcess(await clusterLaunch(cluster));
    running.set(cluster, child);
    child.stdout?.resume();
    child.stderr?.resume();
    await waitForCluster(cluster, AbortSignal.timeout(START_TIMEOUT_MS));
  };
  const end = async (cluster: Cluster, signal: NodeJS.Signals): Promise<void> => {
    const child = running.get(cluster);
    running.delete(cluster);
    const pid = await findClusterPid(cluster.directory);
    if (child === undefined || child.exitCode !== null || pid === undefined) return;
    const exited = once(child, 'exit');
    process.kill(pid, signal);
    await exited;
  };
  await Promise.all([start(first), start(standby)]);
  const state = isSynchronous ? 'sync' : 'async';
  await waitFor('the standby receives the log', async () => {
    const rows = await query(first, 'SELECT sync_state FROM pg_stat_replication');
    return rows.some(({ sync_state }) => sync_state === state);
  });

  return {
    databaseUrl: clusterUrl(first, 'postgres'),
    cut: () => void link.set('half-open'),
    async failOver() {
      // Every backend ends at once, as with the machine.
      await end(first, 'SIGQUIT');
      await query(standby, 'SELECT pg_promote(true, 60)');
      await end(standby, 'SIGINT');
      await start({ ...standby, port: first.port });
    },
    async stop() {
      await Promise.all([...running.keys()].map((cluster) => end(cluster, 'SIGQUIT')));
      await link.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function settingsOf({ directory }: Cluster): string {
  return path.join(directory, 'postgresql.auto.conf');
}

async function configure(cluster: Cluster, settings: Readonly<Record<string, string>>): Promise<void> {
  const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`);
  await appendFile(settingsOf(cluster), lines.join(''));
}

/** With the owners of the files. */
async function copy(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to]);
}

async function query(cluster: Cluster, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: clusterUrl(cluster, 'postgres') });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}
