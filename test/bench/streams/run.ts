/**
 * `npm run bench -- streams`: what waiting clients cost (contract §3 `Prefer`, §4 streams, §10). A number of them watch
 * a task of their own as a live stream, others wait for one, or for the response of a media endpoint, all on one api
 * process, from other processes. Two figures: what each adds to the api's resident memory, and how long a plain read
 * takes meanwhile, compared with how long it takes without them.
 *
 * Exits with 0 even if a promise is missed: the bench reports numbers, and they are not failures.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Command } from '@commander-js/extra-typings';
import { packageFile } from '../../../src/config/package-root.ts';
import { newTaskId } from '../../../src/domain/ids.ts';
import { openDatabase } from '../../../src/database/database.ts';
import type { Database } from '../../../src/database/database.ts';
import { migrate } from '../../../src/database/migrate.ts';
import { findFreePort } from '../../../src/standalone/ports.ts';
import { clusterUrl } from '../../../src/standalone/postgres.ts';
import type { Cluster } from '../../../src/standalone/postgres.ts';
import { silentLogger } from '../../../src/telemetry/log.ts';
import { KeepAliveConnection } from '../load/keep-alive-connection.ts';
import { median } from '../measures.ts';
import { createBenchAccount } from '../stage/account.ts';
import { Child, stopAll } from '../stage/children.ts';
import { startBenchCluster } from '../stage/cluster.ts';
import { loadLaunch, roleEnvironment, roleLaunch } from '../stage/node-launch.ts';
import { count, positiveNumber } from '../../support/number-options.ts';

/** What a waiting client may cost, and by how much others may wait longer for their responses. */
const MAX_KB_EACH = 40;
const MAX_SLOWER = 2;
/** The same for the slowest of a hundred reads. */
const MAX_SLOWER_P99 = 1.5;
/** After connecting: garbage from the handshakes is collected, and waiting reads are renewed at least once. */
const SETTLE_MS = 35_000;

const copyTasks = {
  name: 'bench_copy_tasks',
  text: `WITH copied AS (
           INSERT INTO tasks (id, account_id, key_id, fingerprint, fingerprint_version, model, definition_hash, input,
                              storage, held_micro_usd, queue_deadline_at)
           SELECT c.id, t.account_id, t.key_id, t.fingerprint, t.fingerprint_version, t.model, t.definition_hash, t.input,
                  t.storage, 0, now() + interval '1 day'
             FROM tasks t, unnest($2::text[]) AS c (id) WHERE t.id = $1
        RETURNING id)
         INSERT INTO task_events (task_id, seq, type) SELECT id, 1, 'accepted' FROM copied`,
};

const countTasks = { name: 'bench_count_tasks', text: 'SELECT count(*)::integer AS count FROM tasks' };

const print = (line: string): boolean => process.stdout.write(`${line}\n`);

const options = new Command('npm run bench -- streams')
  .description('Measures what clients cost that watch tasks or wait for them.')
  .option('--streams <number>', 'clients with a live stream', count, 5_000)
  .option('--waits <number>', 'clients that wait for a change', count, 5_000)
  .option('--calls <number>', 'clients that wait for the response of a media endpoint', count, 0)
  .option('--seconds <number>', 'length of a window of plain reads', positiveNumber, 10)
  .parse()
  .opts();

const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-bench-streams-'));
const children = new Set<Child>();
try {
  await measure();
} finally {
  await stopAll(children);
  await rm(directory, { recursive: true, force: true });
}

async function measure(): Promise<void> {
  // Only reading is measured.
  const cluster = await startBenchCluster(directory, { isDurable: false, children });
  const database = openDatabase({ url: clusterUrl(cluster, 'postgres'), poolSize: 1 }, silentLogger());
  try {
    await measureOn(cluster, database);
  } finally {
    await database.close();
  }
}

async function measureOn(cluster: Cluster, database: Database): Promise<void> {
  await migrate(clusterUrl(cluster, 'postgres'), database, silentLogger());
  const { key } = await createBenchAccount(database);
  const apiKey = key.secret;
  const { port, pid } = await startApi(cluster);
  const read = await createTask(port, apiKey);
  const tasks = await copiesOf(database, read, options.streams + options.waits);
  await readsFor(port, apiKey, read, 5);
  const idle = await readsFor(port, apiKey, read, options.seconds);
  const idleKb = await residentKb(pid);
  print(`idle: a read takes ${describe(idle)}, the api holds ${idleKb} kB`);

  const { streams, waits, calls } = options;
  await hold('stream', port, apiKey, tasks.slice(0, streams));
  await hold('wait', port, apiKey, tasks.slice(streams));
  await hold(
    'call',
    port,
    apiKey,
    Array.from({ length: calls }, (_, index) => `call ${index}`),
  );
  await untilCreated(database, 1 + streams + waits + calls);
  await sleep(SETTLE_MS);
  const loaded = await readsFor(port, apiKey, read, options.seconds);
  const loadedKb = await residentKb(pid);
  print(`with ${streams} streams, ${waits} waiting reads and ${calls} calls: ${describe(loaded)}, ${loadedKb} kB`);

  const kbEach = (loadedKb - idleKb) / (streams + waits + calls);
  const slower = loaded.medianMs / idle.medianMs;
  const slowerP99 = loaded.p99Ms / idle.p99Ms;
  const report = (what: string, found: string, isMet: boolean): void => {
    print(`${what}: ${found}: ${isMet ? 'ok' : 'MISSED'}`);
  };
  report('memory for each', `${kbEach.toFixed(1)} kB, promised at most ${MAX_KB_EACH}`, kbEach <= MAX_KB_EACH);
  report('median of reads', `${slower.toFixed(2)} times, promised at most ${MAX_SLOWER}`, slower <= MAX_SLOWER);
  const isP99Met = slowerP99 <= MAX_SLOWER_P99;
  report('p99 of reads', `${slowerP99.toFixed(2)} times, promised at most ${MAX_SLOWER_P99}`, isP99Met);
  await mkdir(packageFile('test/bench/results'), { recursive: true });
  const file = packageFile('test/bench/results/streams.json');
  const at = new Date().toISOString();
  const result = { at, streams, waits, calls, idle, loaded, slower, slowerP99, idleKb, loadedKb, kbEach };
  await writeFile(file, `${JSON.stringify(result, null, 2)}\n`);
  print(`Results: ${file}`);
}

/** An api without Temporal, so that its tasks stay as they are. */
async function startApi(cluster: Cluster): Promise<{ readonly port: number; readonly pid: number }> {
  const port = await findFreePort();
  const databaseUrl = clusterUrl(cluster, 'postgres');
  const environment = roleEnvironment({ databaseUrl, storeDirectory: path.join(directory, 'store'), port });
  const api = new Child('api', roleLaunch('api', environment, undefined), path.join(directory, 'api.log'));
  children.add(api);
  await api.ready();
  return { port, pid: api.pid };
}

async function createTask(port: number, apiKey: string): Promise<string> {
  const connection = new KeepAliveConnection(port);
  const body = `{"model":"bench/swatch","input":{"prompt":"teal"}}`;
  const { status, body: answer } = await connection.request(
    `POST /v1/tasks HTTP/1.1\r\n${headersOf(port, apiKey)}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  if (status !== 200) throw new Error(`the api answered ${status}: ${answer}`);
  return (JSON.parse(answer) as { data: { taskId: string } }).data.taskId;
}

async function copiesOf(database: Database, taskId: string, count: number): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, newTaskId);
  await database.query(copyTasks, [taskId, ids]);
  return ids;
}

/** Starts a process that holds a connection for each task, and waits until all of them are open. */
async function hold(
  kind: 'stream' | 'wait' | 'call',
  port: number,
  apiKey: string,
  tasks: readonly string[],
): Promise<void> {
  if (tasks.length === 0) return;
  const file = path.join(directory, `${kind}.json`);
  await writeFile(file, JSON.stringify(tasks));
  const launch = loadLaunch('streams/holding-clients.ts', [kind, String(port), apiKey, file]);
  const holding = new Child(`${kind}-clients`, launch, path.join(directory, `${kind}.log`));
  children.add(holding);
  await holding.ready();
}

/** A call gives no sign that it waits: its task exists. */
async function untilCreated(database: Database, tasks: number): Promise<void> {
  for (;;) {
    const [row] = await database.query<{ count: number }>(countTasks);
    if ((row?.count ?? 0) >= tasks) return;
    await sleep(500);
  }
}

interface Latencies {
  readonly medianMs: number;
  readonly p99Ms: number;
}

function describe({ medianMs, p99Ms }: Latencies): string {
  return `${medianMs.toFixed(2)} ms (p99 ${p99Ms.toFixed(2)} ms)`;
}

/** One client that reads one task repeatedly. */
async function readsFor(port: number, apiKey: string, taskId: string, seconds: number): Promise<Latencies> {
  const connection = new KeepAliveConnection(port);
  const latencies: number[] = [];
  const end = performance.now() + seconds * 1000;
  while (performance.now() < end) {
    const begun = performance.now();
    const { status } = await connection.request(`GET /v1/tasks/${taskId} HTTP/1.1\r\n${headersOf(port, apiKey)}\r\n`);
    if (status !== 200) throw new Error(`the api answered ${status}`);
    latencies.push(performance.now() - begun);
  }
  const sorted = latencies.toSorted((a, b) => a - b);
  return { medianMs: median(latencies), p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? 0 };
}

function headersOf(port: number, apiKey: string): string {
  return `Host: 127.0.0.1:${port}\r\nAuthorization: Bearer ${apiKey}\r\n`;
}

async function residentKb(pid: number): Promise<number> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(pid)]);
  return Number(stdout.trim());
}
