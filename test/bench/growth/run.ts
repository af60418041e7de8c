/**
 * `npm run bench -- growth`: the way of a task through a database that has ten million tasks (contract §3), compared
 * with one that has ten thousand. Both are on one server, which is durable, and every step goes to both in turn, so that
 * other load on the machine affects both; a ratio is the median at the large one over the median at the small one.
 *
 * Exits with 0 even if a bound is missed: the bench reports numbers, and they are not failures.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { packageFile } from '../../../src/config/package-root.ts';
import { openDatabase } from '../../../src/database/database.ts';
import type { Database } from '../../../src/database/database.ts';
import { migrate } from '../../../src/database/migrate.ts';
import { clusterUrl, ensureDatabase } from '../../../src/standalone/postgres.ts';
import type { Cluster } from '../../../src/standalone/postgres.ts';
import { silentLogger } from '../../../src/telemetry/log.ts';
import { fill } from '../lists/rows.ts';
import { median } from '../measures.ts';
import { columns } from '../report.ts';
import { createBenchAccount } from '../stage/account.ts';
import { stopAll } from '../stage/children.ts';
import type { Child } from '../stage/children.ts';
import { startBenchCluster } from '../stage/cluster.ts';
import { fillHistory, sizesOf } from './rows.ts';
import { stepsOf } from './steps.ts';
import { count } from '../../support/number-options.ts';

/** At most this much more than in the small database. */
const BOUND = 1.3;
/** More often than PostgreSQL executes a statement before it chooses a generic plan. */
const WARM_UP = 20;
const MB = 1_000_000;

const print = (line: string): boolean => process.stdout.write(`${line}\n`);

const options = new Command('npm run bench -- growth')
  .description('Measures the way of a task through a large database beside a small one.')
  .option('--small <number>', 'tasks of the small database, at least 1000', count, 10_000)
  .option('--large <number>', 'tasks of the large database; ten million take some 57 GB', count, 1_000_000)
  .option('--rounds <number>', 'tasks that are measured in each', count, 500)
  .parse()
  .opts();

/** A database with its account. */
interface Side {
  readonly url: string;
  readonly database: Database;
  readonly accountId: string;
}

const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-bench-growth-'));
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
  const cluster = await startBenchCluster(directory, { isDurable: true, children });
  const small = await openSide(cluster, 'small', options.small);
  const large = await openSide(cluster, 'large', options.large);
  const sizes = await sizesOf(large.url);
  print(`\nThe database with ${options.large} tasks, in MB with indexes:`);
  for (const { name, bytes } of sizes) print(`  ${name.padEnd(18)} ${(bytes / MB).toFixed(0).padStart(8)}`);
  const findings = await compare(small, large);
  const rows = findings.map(({ name, smallMs, largeMs, ratio }) => [
    name,
    smallMs.toFixed(2),
    largeMs.toFixed(2),
    ratio.toFixed(2),
    ratio <= BOUND ? 'ok' : 'MISSED',
  ]);
  print(`\n${columns([['step', 'small, ms', 'large, ms', 'ratio', `at most ${BOUND}`], ...rows])}`);
  await mkdir(packageFile('test/bench/results'), { recursive: true });
  const file = packageFile('test/bench/results/growth.json');
  const result = { at: new Date().toISOString(), small: options.small, large: options.large, sizes, findings };
  await writeFile(file, `${JSON.stringify(result, null, 2)}\n`);
  print(`Results: ${file}`);
}

async function openSide(cluster: Cluster, name: string, tasks: number): Promise<Side> {
  print(`Writing ${tasks} tasks with their history.`);
  await ensureDatabase(cluster, name);
  const url = clusterUrl(cluster, name);
  const database = openDatabase({ url, poolSize: 2 }, silentLogger());
  await migrate(url, database, silentLogger());
  const { accountId, key } = await createBenchAccount(database);
  await fill(url, accountId, key.id, tasks);
  await fillHistory(url, (written) => {
    if (written % MB === 0) print(`  ${written} of ${tasks}`);
  });
  return { url, database, accountId };
}

interface Finding {
  readonly name: string;
  readonly smallMs: number;
  readonly largeMs: number;
  readonly ratio: number;
}

/** Takes a new task of each through its steps, each step in turn; the order changes each time. */
async function compare(small: Side, large: Side): Promise<readonly Finding[]> {
  const latencies = new Map<string, { readonly small: number[]; readonly large: number[] }>();
  for (let round = 0; round < WARM_UP + options.rounds; round++) {
    const steps = { small: stepsOf(small.database, small.accountId), large: stepsOf(large.database, large.accountId) };
    for (const [index, { name }] of steps.small.entries()) {
      const measured = latencies.get(name) ?? { small: [], large: [] };
      latencies.set(name, measured);
      for (const side of round % 2 === 0 ? (['small', 'large'] as const) : (['large', 'small'] as const)) {
        const began = performance.now();
        await steps[side][index]?.run();
        if (round >= WARM_UP) measured[side].push(performance.now() - began);
      }
    }
  }
  return [...latencies].map(([name, measured]) => {
    const [smallMs, largeMs] = [median(measured.small), median(measured.large)];
    return { name, smallMs, largeMs, ratio: largeMs / smallMs };
  });
}
