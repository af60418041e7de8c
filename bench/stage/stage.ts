/**
 * Everything that is measured, on one machine: a durable PostgreSQL, the Temporal dev server on a file with our embedded
 * settings, the api and the worker as deployed, and the yardstick's worker and clients on the same Temporal server.
 *
 * Each window begins from the same small state. A backlog is thrown away, not drained: PostgreSQL's tables are emptied,
 * and Temporal gets a new database. The processes of both sides live on, so that their code is as warm as in service.
 */
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@temporalio/client';
import { NativeConnection, bundleWorkflowCode } from '@temporalio/worker';
import { createAccount } from '../../src/accounts/accounts.ts';
import { createKey } from '../../src/accounts/keys.ts';
import { SCOPES } from '../../src/accounts/api-key.ts';
import { topUp } from '../../src/billing/ledger.ts';
import { packageFile } from '../../src/config/package-root.ts';
import { openDatabase } from '../../src/database/database.ts';
import type { Database } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrate.ts';
import type { Launch } from '../../src/embedded/launch.ts';
import { findFreePort } from '../../src/embedded/ports.ts';
import { clusterLaunch, clusterUrl, createCluster, waitForCluster } from '../../src/embedded/postgres.ts';
import type { Cluster } from '../../src/embedded/postgres.ts';
import { obtainTemporalCli } from '../../src/embedded/temporal-cli.ts';
import { temporalServerLaunch, waitForTemporal } from '../../src/embedded/temporal-server.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { SEARCH_ATTRIBUTES } from '../../src/temporal/search-attributes.ts';
import type { Order, WindowResult } from '../load/window.ts';
import { Child } from './children.ts';
import { loadLaunch, roleLaunch, surroundings } from './node-launch.ts';

/** The two sides of every comparison. */
export type Side = 'ours' | 'raw';

/** More than any window can use: the bench account has no limits. */
const NO_CAP = 10_000_000;
const NO_LIMIT_MICRO_USD = 1_000_000_000_000_000n;

/**
 * How long the launcher may need for the starts that were under way when its outbox was emptied: 64 at some 150 a
 * second. Only then is the server thrown away, so that none of them reaches the next one.
 */
const STARTS_UNDER_WAY_MS = 1_500;
const READY_WITHIN_MS = 30_000;
/** The time is over when the first operation ends. */
const ONE_START: Order = { operation: 'start', clients: 1, seconds: 0.001 };

const EMPTY_TABLES = {
  name: 'bench_empty_tables',
  text: `TRUNCATE outbox, tasks, generations, outputs, task_events, callbacks, callback_attempts, ledger_entries`,
};
const RESET_COUNTERS = {
  name: 'bench_reset_counters',
  text: `UPDATE account_counters SET held_micro_usd = 0, queued = 0, running = 0, available_micro_usd = $1`,
};
const VACUUM_COUNTERS = { name: 'bench_vacuum', text: 'VACUUM account_counters' };
const CHECKPOINT = { name: 'bench_checkpoint', text: 'CHECKPOINT' };
const SELECT_TASKS = { name: 'bench_select_tasks', text: 'SELECT id FROM tasks' };
const COUNT_OUTBOX = { name: 'bench_count_outbox', text: 'SELECT count(*)::integer AS waiting FROM outbox' };

export interface StageOptions {
  /** Where CPU profiles of the api and the workers are written; undefined: none are taken. */
  readonly profileFolder: string | undefined;
  readonly report: (line: string) => void;
}

export class Stage {
  readonly #folder: string;
  readonly #temporalPort: number;
  readonly #temporalCli: string;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #profileFolder: string | undefined;
  readonly #children = new Set<Child>();
  #database: Database | undefined;
  #temporal: Child | undefined;
  #clients: Readonly<Record<Side, Child>> | undefined;

  private constructor(parts: {
    folder: string;
    temporalPort: number;
    temporalCli: string;
    environment: Readonly<Record<string, string>>;
    profileFolder: string | undefined;
  }) {
    this.#folder = parts.folder;
    this.#temporalPort = parts.temporalPort;
    this.#temporalCli = parts.temporalCli;
    this.#environment = parts.environment;
    this.#profileFolder = parts.profileFolder;
  }

  /** Starts all but the workers; whoever calls must call `close`. */
  static async open({ profileFolder, report }: StageOptions): Promise<Stage> {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'darkroom-bench-'));
    // Run by root, PostgreSQL is another user, who must be able to pass through.
    await chmod(folder, 0o711);
    const temporalCli = await obtainTemporalCli({ cliPath: undefined, environment: surroundings(), report });
    const cluster: Cluster = {
      folder: path.join(folder, 'postgres'),
      port: await findFreePort(),
      password: randomBytes(12).toString('hex'),
      isDurable: true,
    };
    const [temporalPort, apiPort] = [await findFreePort(), await findFreePort()];
    const stage = new Stage({
      folder,
      temporalPort,
      temporalCli,
      profileFolder,
      environment: {
        DATABASE_URL: clusterUrl(cluster, 'postgres'),
        TEMPORAL_ADDRESS: `127.0.0.1:${temporalPort}`,
        STORE_URL: `file://${path.join(folder, 'store')}`,
        MODELS_DIR: packageFile('bench/models'),
        PORT: String(apiPort),
        PUBLIC_URL: `http://127.0.0.1:${apiPort}`,
        URL_SIGNING_KEY: randomBytes(24).toString('hex'),
        ENCRYPTION_KEY: randomBytes(24).toString('hex'),
        SHUTDOWN_GRACE_SECONDS: '3',
      },
    });
    try {
      await stage.#start(cluster, apiPort);
    } catch (error) {
      await stage.close();
      throw error;
    }
    return stage;
  }

  /**
   * Begins anew: empty tables, a new Temporal database, and both sides connected to it. One start of each side shows
   * that; ours is terminated, the yardstick's stays for its worker, or goes with the server.
   */
  async reset(): Promise<void> {
    const database = this.#openDatabase();
    await emptyTables(database);
    await sleep(STARTS_UNDER_WAY_MS);
    await this.#replaceTemporal();
    await Promise.all([this.run('ours', ONE_START), this.run('raw', ONE_START)]);
    await this.#untilOutboxIsEmpty(database);
    await this.#terminateOurs(database);
    await emptyTables(database);
  }

  /** Has one side's clients run a window. */
  run(side: Side, order: Order): Promise<WindowResult> {
    return this.#clientsOf(side).run(order);
  }

  /** Runs `work` with the workers of one side. */
  async withWorkers<T>(side: Side, work: () => Promise<T>): Promise<T> {
    const launch =
      side === 'ours'
        ? roleLaunch('worker', this.#environment, this.#profileFolder)
        : loadLaunch('raw-worker.ts', [this.#temporalAddress, this.#bundleFile]);
    const worker = this.#launch(`${side}-worker`, launch);
    try {
      await worker.ready();
      return await work();
    } finally {
      await worker.stop();
      this.#children.delete(worker);
    }
  }

  async close(): Promise<void> {
    await this.#database?.close();
    // In the order in which they were started last: nobody then misses what it needs.
    for (const child of [...this.#children].toReversed()) await child.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #start(cluster: Cluster, apiPort: number): Promise<void> {
    await createCluster(cluster.folder, cluster.password);
    const postgres = this.#launch('postgres', await clusterLaunch(cluster));
    await postgres.readyWhen((signal) => waitForCluster(cluster, signal));
    await this.#replaceTemporal();

    const url = clusterUrl(cluster, 'postgres');
    const database = openDatabase({ url, poolSize: 2 }, silentLogger());
    this.#database = database;
    await migrate(url, database, silentLogger());
    const apiKey = await database.transaction(async (transaction) => {
      const account = await createAccount(transaction, 'bench', {
        runningCap: NO_CAP,
        queueCap: NO_CAP,
        createsPerMinute: NO_CAP,
        readsPerMinute: NO_CAP,
      });
      await topUp(transaction, account, NO_LIMIT_MICRO_USD, 'bench');
      return createKey(transaction, account, { name: 'bench', scopes: SCOPES });
    });

    const { code } = await bundleWorkflowCode({ workflowsPath: packageFile('bench/load/raw-workflow.ts') });
    await writeFile(this.#bundleFile, code);

    const api = this.#launch('api', roleLaunch('api', this.#environment, this.#profileFolder));
    await api.ready();
    this.#clients = {
      ours: this.#launch('our-clients', loadLaunch('our-clients.ts', [String(apiPort), apiKey.text])),
      raw: this.#launch('raw-clients', loadLaunch('raw-clients.ts', [this.#temporalAddress])),
    };
    await Promise.all([this.#clients.ours.ready(), this.#clients.raw.ready()]);
  }

  get #temporalAddress(): string {
    return `127.0.0.1:${this.#temporalPort}`;
  }

  get #bundleFile(): string {
    return path.join(this.#folder, 'raw-workflow-bundle.js');
  }

  #launch(name: string, launch: Launch): Child {
    const child = new Child(name, launch, path.join(this.#folder, `${name}.log`));
    this.#children.add(child);
    return child;
  }

  async #replaceTemporal(): Promise<void> {
    if (this.#temporal !== undefined) {
      await this.#temporal.stop('SIGKILL');
      this.#children.delete(this.#temporal);
    }
    const folder = path.join(this.#folder, 'temporal');
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder);
    const launch = temporalServerLaunch(
      {
        cliPath: this.#temporalCli,
        port: this.#temporalPort,
        databaseFile: path.join(folder, 'temporal.db'),
        searchAttributes: SEARCH_ATTRIBUTES,
      },
      surroundings(),
    );
    this.#temporal = this.#launch('temporal', launch);
    await this.#temporal.readyWhen((signal) => waitForTemporal(this.#temporalAddress, signal));
  }

  async #untilOutboxIsEmpty(database: Database): Promise<void> {
    const deadline = Date.now() + READY_WITHIN_MS;
    for (;;) {
      const [row] = await database.query<{ waiting: number }>(COUNT_OUTBOX);
      if (row?.waiting === 0) return;
      if (Date.now() > deadline) throw new Error('the launcher does not deliver');
      await sleep(50);
    }
  }

  /** Their rows are about to go: a worker would look for them in vain, again and again. */
  async #terminateOurs(database: Database): Promise<void> {
    const tasks = await database.query<{ id: string }>(SELECT_TASKS);
    const connection = await NativeConnection.connect({ address: this.#temporalAddress });
    try {
      const client = new Client({ connection });
      await Promise.all(tasks.map(({ id }) => client.workflow.getHandle(id).terminate()));
    } finally {
      await connection.close();
    }
  }

  #openDatabase(): Database {
    if (this.#database === undefined) throw new Error('the stage is not open');
    return this.#database;
  }

  #clientsOf(side: Side): Child {
    if (this.#clients === undefined) throw new Error('the stage is not open');
    return this.#clients[side];
  }
}

async function emptyTables(database: Database): Promise<void> {
  await database.query(EMPTY_TABLES);
  await database.query(RESET_COUNTERS, [NO_LIMIT_MICRO_USD]);
  await database.query(VACUUM_COUNTERS);
  await database.query(CHECKPOINT);
}
