/**
 * The three stores of an installation, each with backups of several moments: a PostgreSQL, a Temporal server with its
 * database in a file, and the directory of an object store. Backups are made while everything works, as operators
 * make them: a base backup of PostgreSQL, a snapshot of Temporal's volume, a copy of the objects.
 */
import { execFile } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { GIVE_UP_MS } from '@darkroom/testing/wait-for';
import { killGroup, launchProcess } from '../../src/standalone/processes.ts';
import { clusterLaunch, clusterUrl, createCluster, waitForCluster } from '../../src/standalone/postgres.ts';
import type { Cluster } from '../../src/standalone/postgres.ts';
import { obtainTemporalCli } from '../../src/standalone/temporal-cli.ts';
import { temporalServerLaunch, waitForTemporal } from '../../src/standalone/temporal-server.ts';
import type { TemporalServer } from '../../src/standalone/temporal-server.ts';
import { reservePort } from '../support/reserve-port.ts';

export type Part = 'postgresql' | 'store' | 'temporal';

/** For each part the moment of the backup that it is restored from; 0: it is lost, and begins empty. */
export type Moments = Readonly<Record<Part, number>>;

export class RestoreServices {
  readonly databaseUrl: string;
  readonly temporalAddress: string;
  readonly #root: string;
  readonly #cluster: Cluster;
  readonly #temporal: TemporalServer;
  readonly #running = new Map<'postgresql' | 'temporal', ChildProcess>();
  #discarded = 0;

  constructor(root: string, cluster: Cluster, temporal: TemporalServer) {
    this.#root = root;
    this.#cluster = cluster;
    this.#temporal = temporal;
    this.databaseUrl = clusterUrl(cluster, 'postgres');
    this.temporalAddress = `127.0.0.1:${temporal.port}`;
  }

  async start(): Promise<void> {
    const postgresql = launchProcess(await clusterLaunch(this.#cluster));
    this.#running.set('postgresql', postgresql);
    const temporal = launchProcess(temporalServerLaunch(this.#temporal, process.env));
    this.#running.set('temporal', temporal);
    for (const { stdout, stderr } of [postgresql, temporal]) for (const stream of [stdout, stderr]) stream?.resume();
    const signal = AbortSignal.timeout(GIVE_UP_MS);
    await Promise.all([waitForCluster(this.#cluster, signal), waitForTemporal(this.temporalAddress, signal)]);
  }

  /** Ends both without any warning. */
  async kill(): Promise<void> {
    await Promise.all(
      [...this.#running.values()].map(async (child) => {
        if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
        const exited = once(child, 'exit');
        killGroup(child.pid);
        await exited;
      }),
    );
    this.#running.clear();
  }

  /** @param storeDirectory of the objects. */
  async backUp(part: Part, moment: number, storeDirectory: string): Promise<void> {
    const target = this.#backupOf(part, moment);
    if (part === 'postgresql') await this.#baseBackup(target);
    else if (part === 'temporal') await this.#snapshot(target);
    else await copyLive(storeDirectory, target);
  }

  /** Replaces what there is. Nothing runs. */
  async restore(moments: Moments, storeDirectory: string): Promise<void> {
    await this.#replace(this.#cluster.directory, this.#backupOf('postgresql', moments.postgresql));
    await this.#replace(storeDirectory, this.#backupOf('store', moments.store));
    const { databaseFile = '' } = this.#temporal;
    const backup = moments.temporal === 0 ? undefined : this.#backupOf('temporal', moments.temporal);
    await this.#replace(path.dirname(databaseFile), backup);
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.#root, { recursive: true, force: true, maxRetries: 5 });
  }

  #backupOf(part: Part, moment: number): string {
    return path.join(this.#root, `${part}-${moment}`);
  }

  /** @param backup undefined: an empty directory. */
  async #replace(directory: string, backup: string | undefined): Promise<void> {
    // A backend that has not noticed yet that its server is gone may still write into the former directory.
    await rename(directory, path.join(this.#root, `discarded-${++this.#discarded}`));
    await (backup === undefined
      ? promisify(execFile)('mkdir', ['-p', directory])
      : promisify(execFile)('cp', ['-a', backup, directory]));
  }

  /** As PostgreSQL's manual describes it, "Making a Base Backup Using the Low Level API". */
  async #baseBackup(target: string): Promise<void> {
    await rm(target, { recursive: true, force: true });
    const { directory } = this.#cluster;
    const client = new pg.Client({ connectionString: this.databaseUrl });
    await client.connect();
    try {
      await client.query(`SELECT pg_backup_start('drill', true)`);
      await copyLive(directory, target);
      const { rows } = await client.query<{ labelfile: string }>(
        'SELECT labelfile FROM pg_backup_stop(wait_for_archive => false)',
      );
      const label = path.join(target, 'backup_label');
      await writeFile(label, rows[0]?.labelfile ?? '');
      const { uid, gid } = await stat(path.join(target, 'PG_VERSION'));
      await chown(label, uid, gid);
      // The log up to the end of the backup.
      await copyLive(path.join(directory, 'pg_wal'), path.join(target, 'pg_wal'));
    } finally {
      await client.end();
    }
    for (const file of ['postmaster.pid', 'postmaster.opts']) await rm(path.join(target, file), { force: true });
  }

  /** As of the volume: the files at one moment, without the server's help. */
  async #snapshot(target: string): Promise<void> {
    await rm(target, { recursive: true, force: true });
    const temporal = this.#running.get('temporal');
    temporal?.kill('SIGSTOP');
    try {
      await copyLive(path.dirname(this.#temporal.databaseFile ?? ''), target);
    } finally {
      temporal?.kill('SIGCONT');
    }
  }
}

/** Starts the services; the caller stops them. */
export async function startRestoreServices(): Promise<RestoreServices> {
  const root = await mkdtemp(path.join(os.tmpdir(), 'darkroom-restore-'));
  // Under root, PostgreSQL runs as another user, who needs access to the directory.
  await chmod(root, 0o711);
  const cluster: Cluster = {
    directory: path.join(root, 'postgresql'),
    port: await reservePort(),
    password: 'only-for-tests',
    isDurable: true,
  };
  await createCluster(cluster.directory, cluster.password);
  await promisify(execFile)('mkdir', ['-p', path.join(root, 'temporal')]);
  const temporal: TemporalServer = {
    cliPath: await obtainTemporalCli({
      cliPath: process.env['TEMPORAL_CLI_PATH'],
      environment: process.env,
      report: () => undefined,
    }),
    port: await reservePort(),
    databaseFile: path.join(root, 'temporal', 'temporal.db'),
    searchAttributes: {},
    dynamicConfig: { 'system.namespaceCacheRefreshInterval': '"200ms"' },
  };
  const services = new RestoreServices(root, cluster, temporal);
  try {
    await services.start();
  } catch (error) {
    await services.stop();
    throw error;
  }
  return services;
}

/** Copies a directory, with owners, that others write to meanwhile: what vanishes during the copy is left out. */
async function copyLive(from: string, to: string): Promise<void> {
  try {
    await promisify(execFile)('cp', ['-aT', from, to]);
  } catch (error) {
    const stderr = error instanceof Error && 'stderr' in error ? String(error.stderr) : '';
    const others = stderr.split('\n').filter((line) => line !== '' && !line.includes('No such file or directory'));
    if (others.length > 0 || stderr === '') throw error;
  }
}
