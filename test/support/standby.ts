/** A standby of a PostgreSQL of the test's own: a copy of its files that streams its log. */
import { execFile } from 'node:child_process';
import { appendFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import type { Cluster } from '../../src/standalone/postgres.ts';

/** The name by which the first server knows its standby. */
const STANDBY = 'standby';
/** More than is ever written: the standby finds all of the log that it misses. */
const KEPT_LOG = '1GB';

/**
 * @param first does not run: its files are then a complete backup.
 * @param address where the standby reaches it.
 * @param isSynchronous whether a commit waits until the standby has it on disk.
 */
export async function prepareStandby(
  first: Cluster,
  standby: Pick<Cluster, 'directory'>,
  address: { readonly host: string; readonly port: number },
  isSynchronous: boolean,
): Promise<void> {
  await copy(first.directory, standby.directory);
  await configure(first, {
    wal_keep_size: KEPT_LOG,
    ...(isSynchronous ? { synchronous_standby_names: STANDBY } : {}),
  });
  const { host, port } = address;
  await configure(standby, {
    primary_conninfo: `host=${host} port=${port} user=darkroom password=${first.password} application_name=${STANDBY}`,
  });
  await copy(settingsOf(standby), path.join(standby.directory, 'standby.signal'));
}

/** Whether the server has a standby in this state. */
export async function hasStandby(url: string, state: 'sync' | 'async'): Promise<boolean> {
  const rows = await queryOnce(url, 'SELECT sync_state FROM pg_stat_replication');
  return rows.some(({ sync_state: found }) => found === state);
}

/** Makes a standby the server that is in charge. */
export async function promote(url: string): Promise<void> {
  await queryOnce(url, 'SELECT pg_promote(true, 60)');
}

/** Runs one statement on a connection of its own. */
export async function queryOnce(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

function settingsOf({ directory }: Pick<Cluster, 'directory'>): string {
  return path.join(directory, 'postgresql.auto.conf');
}

async function configure(
  cluster: Pick<Cluster, 'directory'>,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`);
  await appendFile(settingsOf(cluster), lines.join(''));
}

/** With the owners of the files. */
async function copy(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to]);
}
