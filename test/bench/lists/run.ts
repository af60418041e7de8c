/**
 * `npm run bench -- lists`: lists of an account with a million tasks compared with those of one with a thousand
 * (contract §3). Two databases on one server, an api for each, and every request sent to both in turn, so that other
 * load on the machine affects both; a ratio is the median at the large account over the median at the small one.
 *
 * Exits with 0 even if a bound is missed: the bench reports numbers, and they are not failures.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { packageFile } from '../../../src/config/package-root.ts';
import { openDatabase } from '../../../src/database/database.ts';
import { migrate } from '../../../src/database/migrate.ts';
import { findFreePort } from '../../../src/standalone/ports.ts';
import { clusterUrl, ensureDatabase } from '../../../src/standalone/postgres.ts';
import type { Cluster } from '../../../src/standalone/postgres.ts';
import { silentLogger } from '../../../src/telemetry/log.ts';
import { KeepAliveConnection } from '../load/keep-alive-connection.ts';
import { median } from '../measures.ts';
import { createBenchAccount } from '../stage/account.ts';
import { Child, stopAll } from '../stage/children.ts';
import { startBenchCluster } from '../stage/cluster.ts';
import { roleEnvironment, roleLaunch } from '../stage/node-launch.ts';
import { UNBOUNDED, REQUESTS } from './requests.ts';
import type { ListRequest } from './requests.ts';
import { fill } from './rows.ts';
import type { Sample } from './rows.ts';
import { count } from '../../support/number-options.ts';

/** At most this much more than in the small account. */
const BOUND = 1.3;
/** More often than PostgreSQL executes a statement before it chooses a generic plan, on each connection of the pool. */
const WARM_UP = 80;

const print = (line: string): boolean => process.stdout.write(`${line}\n`);

/** One account, and how to send requests for it. */
interface Side {
  readonly sample: Sample;
  readonly port: number;
  readonly apiKey: string;
  connection: KeepAliveConnection;
}

interface Finding {
  readonly name: string;
  readonly smallMs: number;
  readonly largeMs: number;
  readonly ratio: number;
}

const options = new Command('npm run bench -- lists')
  .description('Measures lists of a large account beside those of a small one.')
  .option('--small <number>', 'tasks of the small account, at least 1000', count, 1_000)
  .option('--large <number>', 'tasks of the large account', count, 1_000_000)
  .option('--requests <number>', 'requests of each kind to each account', count, 300)
  .option('--only <words...>', 'only requests whose name has this in it')
  .option('--keep', 'leave the database running, and say where, until Ctrl-C', false)
  .parse()
  .opts();

const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-bench-lists-'));
const children = new Set<Child>();
const interrupted = new Promise<void>((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve());
});
try {
  await Promise.race([measure(), interrupted]);
} finally {
  await stopAll(children);
  await rm(directory, { recursive: true, force: true });
}
// An interrupted measurement would continue without a database.
process.exit();

async function measure(): Promise<void> {
  // Only reading is measured.
  const cluster = await startBenchCluster(directory, { isDurable: false, children });
  const sides = {
    small: await openSide(cluster, 'small', options.small),
    large: await openSide(cluster, 'large', options.large),
  };
  const chosen = (requests: readonly ListRequest[]): readonly ListRequest[] =>
    requests.filter(({ name }) => options.only?.some((part) => name.includes(part)) ?? true);
  const findings: Finding[] = [];
  for (const request of chosen(REQUESTS)) {
    const finding = await compare(request, sides.small, sides.large);
    findings.push(finding);
    print(`  ${line(finding)}${finding.ratio <= BOUND ? '' : '  MISSED'}`);
  }
  const combined = chosen(UNBOUNDED);
  if (combined.length > 0) print('\nWithout a bound:');
  for (const request of combined) {
    const finding = await compare(request, sides.small, sides.large);
    findings.push(finding);
    print(`  ${line(finding)}`);
  }
  await mkdir(packageFile('test/bench/results'), { recursive: true });
  const file = packageFile('test/bench/results/lists.json');
  await writeFile(file, `${JSON.stringify({ at: new Date().toISOString(), ...sizes(), findings }, null, 2)}\n`);
  print(`Results: ${file}`);
  if (!options.keep) return;
  print(`The database: ${clusterUrl(cluster, 'large')}`);
  await interrupted;
}

function sizes(): { small: number; large: number } {
  return { small: options.small, large: options.large };
}

function line({ name, smallMs, largeMs, ratio }: Finding): string {
  return `${name.padEnd(26)} ${smallMs.toFixed(2).padStart(7)} ms ${largeMs.toFixed(2).padStart(7)} ms  ${ratio.toFixed(2)}`;
}

/**
 * A database with an account of the given number of tasks, and an api on it. Temporal is unavailable: reading does
 * not need it.
 */
async function openSide(cluster: Cluster, name: string, tasks: number): Promise<Side> {
  print(`Writing ${tasks} tasks.`);
  await ensureDatabase(cluster, name);
  const url = clusterUrl(cluster, name);
  const database = openDatabase({ url, poolSize: 1 }, silentLogger());
  const { accountId, key } = await (async () => {
    try {
      await migrate(url, database, silentLogger());
      return await createBenchAccount(database);
    } finally {
      await database.close();
    }
  })();
  const sample = await fill(url, accountId, key.id, tasks);
  const port = await findFreePort();
  const environment = roleEnvironment({
    databaseUrl: url,
    storeDirectory: path.join(directory, `store-${name}`),
    port,
  });
  const api = new Child(
    `api of ${name}`,
    roleLaunch('api', environment, undefined),
    path.join(directory, `${name}.log`),
  );
  children.add(api);
  await api.ready();
  return { sample, port, apiKey: key.secret, connection: new KeepAliveConnection(port) };
}

/** Sends requests to both in turn; the order changes each time. */
async function compare(request: ListRequest, small: Side, large: Side): Promise<Finding> {
  for (let round = 0; round < WARM_UP; round++) {
    for (const side of [small, large]) await send(request, side);
  }
  const latencies = new Map<Side, number[]>([
    [small, []],
    [large, []],
  ]);
  for (let round = 0; round < options.requests; round++) {
    for (const side of round % 2 === 0 ? [small, large] : [large, small]) {
      const began = performance.now();
      await send(request, side);
      latencies.get(side)?.push(performance.now() - began);
    }
  }
  const [smallMs, largeMs] = [median(latencies.get(small) ?? []), median(latencies.get(large) ?? [])];
  return { name: request.name, smallMs, largeMs, ratio: largeMs / smallMs };
}

async function send({ name, path, tasks }: ListRequest, side: Side): Promise<void> {
  const { sample, port, apiKey } = side;
  // The server closes a connection that was idle for a minute, and writing the other account's tasks takes longer.
  if (side.connection.isClosed) side.connection = new KeepAliveConnection(port);
  const answer = await side.connection.request(
    `GET ${path(sample)} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${apiKey}\r\n\r\n`,
  );
  const shown = answer.body.split('"taskId"').length - 1;
  if (answer.status !== 200 || (tasks >= 0 && shown !== tasks)) {
    throw new Error(`${name}: ${answer.status} with ${shown} tasks: ${answer.body.slice(0, 500)}`);
  }
}
