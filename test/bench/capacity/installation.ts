/**
 * The installation that the capacity bench measures: any number of apis and workers on a durable PostgreSQL and a
 * Temporal server on a file, with an upstream and clients in processes of their own, whose time does not count.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '../../../src/database/database.ts';
import type { Database } from '../../../src/database/database.ts';
import { migrate } from '../../../src/database/migrate.ts';
import { findFreePort } from '../../../src/standalone/ports.ts';
import { clusterUrl } from '../../../src/standalone/postgres.ts';
import { obtainTemporalCli } from '../../../src/standalone/temporal-cli.ts';
import { temporalServerLaunch, waitForTemporal } from '../../../src/standalone/temporal-server.ts';
import { silentLogger } from '../../../src/telemetry/log.ts';
import { SEARCH_ATTRIBUTES } from '../../../src/temporal/search-attributes.ts';
import { databaseCostOf, prepareDatabaseCost } from '../cost/database-cost.ts';
import { processorMsOfEach } from '../cost/processor-time.ts';
import { KeepAliveConnection } from '../load/keep-alive-connection.ts';
import { createBenchAccount } from '../stage/account.ts';
import { Child, stopAll } from '../stage/children.ts';
import { startBenchCluster } from '../stage/cluster.ts';
import { loadLaunch, roleEnvironment, roleLaunch, surroundings } from '../stage/node-launch.ts';
import { treeMemory } from '../videos/memory.ts';
import type { CapacityOrder, CapacityResult } from './clients.ts';
import { PARTS, byPart } from './model.ts';
import type { Part, Usage } from './model.ts';
import type { Processes, Workload } from './workload.ts';

const KB_PER_MB = 1_024;
/** Besides the time that a task takes: connections are opened, and code is compiled. */
const SETTLE_SECONDS = 3;

const KEEP_QUEUED = {
  name: 'bench_keep_queued',
  text: 'UPDATE account_counters SET running_cap = 0 WHERE account_id = $1',
};
const COUNT_ENDED = {
  name: 'bench_count_ended',
  text: 'SELECT count(*)::integer AS count FROM tasks WHERE completed_at IS NOT NULL',
};
const DATABASE_BYTES = {
  name: 'bench_database_bytes',
  text: `SELECT sum(pg_total_relation_size(c.oid))::float8 AS bytes FROM pg_class c
           JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public' AND c.relkind = 'r'`,
};

/** The result of a window. */
export interface WindowUsage extends Usage {
  readonly medianOverheadMs: number;
}

export class Installation {
  readonly #directory: string;
  readonly #children = new Set<Child>();
  readonly #parts: Record<Part, Child[]> = { api: [], worker: [], temporal: [], postgres: [] };
  readonly #processes: Processes;
  #database: Database | undefined;
  #clients: Child | undefined;
  #queued: readonly string[] = [];

  private constructor(directory: string, processes: Processes) {
    this.#directory = directory;
    this.#processes = processes;
  }

  /** Starts it for the duration of `work`. @param waiting the largest number of clients that only wait. */
  static async with<T>(
    processes: Processes,
    waiting: number,
    work: (installation: Installation) => Promise<T>,
  ): Promise<T> {
    const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-bench-capacity-'));
    const installation = new Installation(directory, processes);
    try {
      await installation.#start(waiting);
      return await work(installation);
    } finally {
      await installation.#stop();
    }
  }

  /** Measures one window of a steady load, which begins before it and ends after it. */
  async measure(workload: Workload, seconds: number): Promise<WindowUsage> {
    const leadSeconds = SETTLE_SECONDS + workload.workSeconds;
    const order: CapacityOrder = {
      workload,
      seconds: leadSeconds + seconds + 1,
      waitsFor: this.#queued.slice(0, workload.waiting),
    };
    const load = this.#clientsChild().order<CapacityResult>(order);
    await Promise.race([sleep(leadSeconds * 1_000), load]);
    const endedBefore = await this.#countEnded();
    const began = performance.now();
    const pids = PARTS.map((part) => this.#parts[part].map(({ pid }) => pid));
    const before = await processorMsOfEach(pids.flat());
    const { statements, walBytes } = await databaseCostOf(this.#openDatabase(), () => sleep(seconds * 1_000));
    const after = await processorMsOfEach(pids.flat());
    const measuredSeconds = (performance.now() - began) / 1_000;
    const tasks = (await this.#countEnded()) - endedBefore;
    const { medianOverheadMs } = await load;
    const used = after.map((ms, index) => ms - (before[index] ?? 0));
    return {
      seconds: measuredSeconds,
      tasks,
      processorMs: byPart((_, part) => sum(used.splice(0, pids[part]?.length ?? 0))),
      walBytes,
      statements: statements.reduce((calls, statement) => calls + statement.calls, 0),
      medianOverheadMs,
    };
  }

  /** The resident memory of the largest process of each role, with its children, in MB. */
  async memoryMb(): Promise<Readonly<Record<'api' | 'worker', number>>> {
    const largest = async (role: 'api' | 'worker'): Promise<number> => {
      const pids = Object.fromEntries(this.#parts[role].map(({ name, pid }) => [name, pid]));
      return Math.max(...Object.values(await treeMemory(pids)).map(({ kb }) => kb / KB_PER_MB));
    };
    return { api: await largest('api'), worker: await largest('worker') };
  }

  /** What the tables and their indexes take, divided by the tasks that have ended, in bytes. */
  async databaseBytesPerTask(): Promise<number> {
    const [row] = await this.#openDatabase().query<{ bytes: number }>(DATABASE_BYTES);
    return (row?.bytes ?? 0) / (await this.#countEnded());
  }

  async #start(waiting: number): Promise<void> {
    const upstream = this.#launch('upstream', loadLaunch('capacity/upstream.ts', []));
    const { port: upstreamPort } = await upstream.message<{ port: number }>();
    const models = await writeModels(path.join(this.#directory, 'models'), `http://127.0.0.1:${upstreamPort}`);
    const cluster = await startBenchCluster(this.#directory, {
      isDurable: true,
      countsStatements: true,
      children: this.#children,
    });
    const [postgres] = [...this.#children].filter(({ name }) => name === 'postgres');
    if (postgres !== undefined) this.#parts.postgres.push(postgres);
    const temporalAddress = await this.#startTemporal();

    const url = clusterUrl(cluster, 'postgres');
    const database = openDatabase({ url, poolSize: 2 }, silentLogger());
    this.#database = database;
    await migrate(url, database, silentLogger());
    await prepareDatabaseCost(database);
    const ports: number[] = [];
    while (ports.length < this.#processes.apis) ports.push(await findFreePort());
    const [port = 0] = ports;
    const environment = {
      ...roleEnvironment({
        databaseUrl: url,
        temporalAddress,
        storeDirectory: path.join(this.#directory, 'store'),
        port,
      }),
      MODELS_DIR: models,
      UPSTREAM_BENCH_KEY: 'bench',
      EGRESS_ALLOW: `http://127.0.0.1:${upstreamPort}`,
    };
    for (const apiPort of ports) {
      const api = { ...environment, PORT: String(apiPort) };
      this.#parts.api.push(this.#launch(`api-${apiPort}`, roleLaunch('api', api, undefined)));
    }
    for (let index = 0; index < this.#processes.workers; index += 1) {
      this.#parts.worker.push(this.#launch(`worker-${index}`, roleLaunch('worker', environment, undefined)));
    }
    await Promise.all([...this.#parts.api, ...this.#parts.worker].map((role) => role.ready()));

    const { key } = await createBenchAccount(database);
    const callbackUrl = `http://127.0.0.1:${upstreamPort}/callbacks`;
    const queued = await createQueued(database, port, waiting);
    this.#queued = queued.ids;
    const args = [key.secret, queued.apiKey, callbackUrl, ...ports.map(String)];
    this.#clients = this.#launch('clients', loadLaunch('capacity/clients.ts', args));
    await this.#clients.ready();
  }

  async #startTemporal(): Promise<string> {
    const cliPath = await obtainTemporalCli({ cliPath: undefined, environment: surroundings(), report: () => {} });
    const port = await findFreePort();
    const databaseFile = path.join(this.#directory, 'temporal.db');
    const launch = temporalServerLaunch(
      { cliPath, port, databaseFile, searchAttributes: SEARCH_ATTRIBUTES },
      surroundings(),
    );
    const temporal = this.#launch('temporal', launch);
    this.#parts.temporal.push(temporal);
    const address = `127.0.0.1:${port}`;
    await temporal.readyWhen((signal) => waitForTemporal(address, signal));
    return address;
  }

  async #stop(): Promise<void> {
    await this.#database?.close();
    await stopAll(this.#children);
    await rm(this.#directory, { recursive: true, force: true });
  }

  #launch(name: string, launch: ConstructorParameters<typeof Child>[1]): Child {
    const child = new Child(name, launch, path.join(this.#directory, `${name}.log`));
    this.#children.add(child);
    return child;
  }

  async #countEnded(): Promise<number> {
    const [row] = await this.#openDatabase().query<{ count: number }>(COUNT_ENDED);
    return row?.count ?? 0;
  }

  #openDatabase(): Database {
    if (this.#database === undefined) throw new Error('the installation is not started');
    return this.#database;
  }

  #clientsChild(): Child {
    if (this.#clients === undefined) throw new Error('the installation is not started');
    return this.#clients;
  }
}

interface QueuedTasks {
  readonly ids: readonly string[];
  readonly apiKey: string;
}

/** Tasks of an account that may run none. */
async function createQueued(database: Database, port: number, tasks: number): Promise<QueuedTasks> {
  const { accountId, key } = await createBenchAccount(database);
  await database.query(KEEP_QUEUED, [accountId]);
  const connection = new KeepAliveConnection(port);
  const body = JSON.stringify({ model: 'capacity/answered', input: { prompt: 'a lake' } });
  const request =
    `POST /v1/tasks HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${key.secret}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const ids: string[] = [];
  while (ids.length < tasks) {
    const answer = await connection.request(request);
    if (answer.status !== 200) throw new Error(`the api answered ${answer.status}: ${answer.body}`);
    ids.push((JSON.parse(answer.body) as { readonly data: { readonly taskId: string } }).data.taskId);
  }
  connection.end();
  return { ids, apiKey: key.secret };
}

/** A model that is answered with the bytes, and one whose jobs are polled. @returns the directory. */
async function writeModels(directory: string, upstreamUrl: string): Promise<string> {
  await mkdir(directory);
  for (const [name, protocol] of [
    ['answered', 'openai'],
    ['polled', 'tasks'],
  ]) {
    const model = {
      name: `capacity/${name}`,
      modality: 'image',
      ownedBy: 'bench',
      created: 1_763_683_200,
      description: 'An upstream of the capacity bench.',
      routes: { default: { upstreams: [{ protocol, baseUrl: upstreamUrl, secret: 'bench', model: 'owner/model' }] } },
      inputSchema: {
        type: 'object',
        additionalProperties: false,
        required: ['prompt'],
        properties: { prompt: { type: 'string', minLength: 1, maxLength: 4_000 } },
      },
      pricing: { unit: 'image', usd: '0.03' },
      limits: { queuedSeconds: 86_400, handlingSeconds: 600, archivingSeconds: 600 },
      typicalSeconds: 2,
      examples: [{ prompt: 'a lake' }],
    };
    await writeFile(path.join(directory, `${name}.json`), JSON.stringify(model));
  }
  return directory;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
