/**
 * Everything that is measured, on one machine: a durable PostgreSQL, a Temporal server (temporal.ts), the api and the
 * worker as deployed, and the yardstick's worker and clients on the same Temporal server.
 *
 * Each window begins from the same small state. A backlog is discarded, not drained: PostgreSQL's tables are emptied,
 * and Temporal gets a new database. The processes of both sides keep running, so that their code is as warm as in
 * service.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@temporalio/client';
import { NativeConnection, bundleWorkflowCode } from '@temporalio/worker';
import { packageFile } from '../../../src/config/package-root.ts';
import { openDatabase } from '../../../src/database/database.ts';
import type { Database } from '../../../src/database/database.ts';
import { migrate } from '../../../src/database/migrate.ts';
import type { Launch } from '../../../src/standalone/processes.ts';
import { findFreePort } from '../../../src/standalone/ports.ts';
import { clusterUrl } from '../../../src/standalone/postgres.ts';
import { silentLogger } from '../../../src/telemetry/log.ts';
import type { Order, WindowResult } from '../load/window.ts';
import { NO_LIMIT_MICRO_USD, createBenchAccount } from './account.ts';
import { Child, stopAll } from './children.ts';
import { startBenchCluster } from './cluster.ts';
import { loadLaunch, roleEnvironment, roleLaunch } from './node-launch.ts';
import { CONNECTIONS_WITH_TEMPORAL, onPostgresql, onSqlite } from './temporal.ts';
import type { TemporalOfStage, TemporalStore } from './temporal.ts';

/** The two sides of every comparison. */
export type Side = 'ours' | 'raw';

/**
 * How long the launcher may need for the starts that were under way when its outbox was emptied: 64 at about 150 per
 * second. Only then is the server discarded, so that none of them reaches the next one.
 */
const STARTS_UNDER_WAY_MS = 1_500;
const READY_WITHIN_MS = 30_000;
/** The time is up when the first operation ends. */
const ONE_START: Order = { operation: 'start', clients: 1, seconds: 0.001 };

/**
 * Everything that accepting, processing and finishing a task writes. Not `model_definitions`: the api writes those of
 * its catalogue once, when it starts, and no task runs without them.
 */
const EMPTY_TABLES = {
  name: 'bench_empty_tables',
  text: `TRUNCATE outbox, tasks, task_metadata, task_inputs, task_events, generations, outputs, storage_periods, callbacks,
                  callback_attempts, ledger_entries, spend_periods, operator_costs`,
};
const RESET_COUNTERS = {
  name: 'bench_reset_counters',
  text: `UPDATE account_counters SET held_micro_usd = 0, queued = 0, running = 0, persistent_bytes = 0, tasks_total = 0,
                                     available_micro_usd = $1`,
};
/** Rows that every task or request updates leave their old versions behind. */
const VACUUM = { name: 'bench_vacuum', text: 'VACUUM account_counters, rate_buckets, api_keys' };
const CHECKPOINT = { name: 'bench_checkpoint', text: 'CHECKPOINT' };
const SELECT_TASKS = { name: 'bench_select_tasks', text: 'SELECT id FROM tasks' };
const COUNT_OUTBOX = { name: 'bench_count_outbox', text: 'SELECT count(*)::integer AS waiting FROM outbox' };

export interface StageOptions {
  /** The directory for CPU profiles of the api and the workers; undefined: none are taken. */
  readonly profileDirectory: string | undefined;
  readonly countsStatements?: boolean;
  readonly temporalStore?: TemporalStore;
  readonly report: (line: string) => void;
}

export class Stage {
  readonly #directory: string;
  readonly #options: StageOptions;
  readonly #children = new Set<Child>();
  /** Of the api and the workers, once there is a database. */
  #environment: Readonly<Record<string, string>> = {};
  #database: Database | undefined;
  #temporal: TemporalOfStage | undefined;
  #temporalServer: Child | undefined;
  #clients: Readonly<Record<Side, Child>> | undefined;

  private constructor(directory: string, options: StageOptions) {
    this.#directory = directory;
    this.#options = options;
  }

  /** Starts all but the workers; the caller must call `close`. */
  static async open(options: StageOptions): Promise<Stage> {
    const stage = new Stage(await mkdtemp(path.join(os.tmpdir(), 'darkroom-bench-')), options);
    try {
      await stage.#start();
    } catch (error) {
      await stage.close();
      throw error;
    }
    return stage;
  }

  /**
   * Resets the state: empty tables, a new Temporal database, and both sides connected to it. One start of each side
   * verifies that; ours is terminated, the yardstick's stays for its worker, or is discarded with the server.
   */
  async reset(): Promise<void> {
    const database = this.#openDatabase();
    await emptyTables(database);
    await sleep(STARTS_UNDER_WAY_MS);
    await this.#replaceTemporal();
    await Promise.all([this.run('ours', ONE_START), this.run('raw', ONE_START)]);
    await this.#waitForOutboxIsEmpty(database);
    await this.#terminateOurs(database);
    await emptyTables(database);
  }

  /** Lets one side's clients run a window. */
  run(side: Side, order: Order): Promise<WindowResult> {
    return this.#clientsOf(side).run(order);
  }

  /** Runs `work` with the workers of one side. */
  async withWorkers<T>(side: Side, work: () => Promise<T>): Promise<T> {
    const launch =
      side === 'ours'
        ? roleLaunch('worker', this.#environment, this.#options.profileDirectory)
        : loadLaunch('load/raw-worker.ts', [this.temporalAddress, this.#bundleFile]);
    const worker = this.#launch(`${side}-worker`, launch);
    try {
      await worker.ready();
      return await work();
    } finally {
      await worker.stop();
      this.#children.delete(worker);
    }
  }

  /** The processes that run now, by name: `postgres`, `temporal`, `api`, `ours-worker`, `raw-worker` and the clients. */
  get pids(): ReadonlyMap<string, number> {
    return new Map([...this.#children].map(({ name, pid }) => [name, pid]));
  }

  /** A connection of the bench's own. */
  get database(): Database {
    return this.#openDatabase();
  }

  get temporalAddress(): string {
    return this.#temporalOfStage().address;
  }

  async close(): Promise<void> {
    await this.#database?.close();
    await stopAll(this.#children);
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #start(): Promise<void> {
    const { countsStatements = false, temporalStore = 'sqlite', report } = this.#options;
    const cluster = await startBenchCluster(this.#directory, {
      isDurable: true,
      countsStatements,
      ...(temporalStore === 'postgresql' ? { maxConnections: CONNECTIONS_WITH_TEMPORAL } : {}),
      children: this.#children,
    });
    const url = clusterUrl(cluster, 'postgres');
    const database = openDatabase({ url, poolSize: 2 }, silentLogger());
    this.#database = database;
    this.#temporal = await (temporalStore === 'postgresql'
      ? onPostgresql(cluster, database)
      : onSqlite(this.#directory, report));
    await this.#replaceTemporal();

    await migrate(url, database, silentLogger());
    const { key } = await createBenchAccount(database);

    const { code } = await bundleWorkflowCode({ workflowsPath: packageFile('test/bench/load/raw-workflow.ts') });
    await writeFile(this.#bundleFile, code);

    const apiPort = await findFreePort();
    this.#environment = roleEnvironment({
      databaseUrl: url,
      temporalAddress: this.temporalAddress,
      storeDirectory: path.join(this.#directory, 'store'),
      port: apiPort,
    });
    const api = this.#launch('api', roleLaunch('api', this.#environment, this.#options.profileDirectory));
    await api.ready();
    this.#clients = {
      ours: this.#launch('our-clients', loadLaunch('load/our-clients.ts', [String(apiPort), key.secret])),
      raw: this.#launch('raw-clients', loadLaunch('load/raw-clients.ts', [this.temporalAddress])),
    };
    await Promise.all([this.#clients.ours.ready(), this.#clients.raw.ready()]);
  }

  get #bundleFile(): string {
    return path.join(this.#directory, 'raw-workflow-bundle.js');
  }

  #launch(name: string, launch: Launch): Child {
    const child = new Child(name, launch, path.join(this.#directory, `${name}.log`));
    this.#children.add(child);
    return child;
  }

  async #replaceTemporal(): Promise<void> {
    if (this.#temporalServer !== undefined) {
      await this.#temporalServer.stop('SIGKILL');
      this.#children.delete(this.#temporalServer);
    }
    const temporal = this.#temporalOfStage();
    await temporal.clear();
    this.#temporalServer = this.#launch('temporal', temporal.launch());
    await this.#temporalServer.readyWhen((signal) => temporal.ready(signal));
  }

  async #waitForOutboxIsEmpty(database: Database): Promise<void> {
    const deadline = Date.now() + READY_WITHIN_MS;
    for (;;) {
      const [row] = await database.query<{ waiting: number }>(COUNT_OUTBOX);
      if (row?.waiting === 0) return;
      if (Date.now() > deadline) throw new Error('the launcher does not deliver');
      await sleep(50);
    }
  }

  /** Their rows are about to be deleted: a worker would query them repeatedly in vain. */
  async #terminateOurs(database: Database): Promise<void> {
    const tasks = await database.query<{ id: string }>(SELECT_TASKS);
    const connection = await NativeConnection.connect({ address: this.temporalAddress });
    try {
      const client = new Client({ connection });
      await Promise.all(tasks.map(({ id }) => client.workflow.getHandle(id).terminate()));
    } finally {
      await connection.close();
    }
  }

  #temporalOfStage(): TemporalOfStage {
    if (this.#temporal === undefined) throw new Error('the stage is not open');
    return this.#temporal;
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
  await database.query(VACUUM);
  await database.query(CHECKPOINT);
}
