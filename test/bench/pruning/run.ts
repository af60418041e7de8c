/**
 * `npm run bench -- pruning`: what the lookup of pruned keys costs a create, how fast old tasks are pruned, and what
 * the creates of their account wait for meanwhile, on a durable PostgreSQL and a store on disk (docs/decisions/0026).
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { Command } from '@commander-js/extra-typings';
import { openDatabase } from '../../../src/database/database.ts';
import type { Database } from '../../../src/database/database.ts';
import { migrate } from '../../../src/database/migrate.ts';
import { newId, taskIdForKey } from '../../../src/domain/ids.ts';
import { createDiskStore } from '../../../src/objects/stores/disk-store.ts';
import { clusterUrl, ensureDatabase } from '../../../src/standalone/postgres.ts';
import { createAcceptor } from '../../../src/tasks/create/accept-queue.ts';
import type { Acceptor } from '../../../src/tasks/create/accept-queue.ts';
import { pruneTasks } from '../../../src/tasks/lifecycle/prune.ts';
import { silentLogger } from '../../../src/telemetry/log.ts';
import { newTask } from '../../tasks/new-task.ts';
import { wholePass } from '../../tasks/old-tasks.ts';
import { median } from '../measures.ts';
import { createBenchAccount } from '../stage/account.ts';
import { stopAll } from '../stage/children.ts';
import type { Child } from '../stage/children.ts';
import { startBenchCluster } from '../stage/cluster.ts';
import { count, positiveNumber } from '../../support/number-options.ts';
import { insertOldTasks, insertPruned, tableSizes } from './rows.ts';

const RETENTION_DAYS = 365;

const options = new Command('npm run bench -- pruning')
  .description('Measures creates beside pruned tasks, and the pruning of old ones.')
  .option('--tasks <number>', 'old tasks', count, 50_000)
  .option('--pruned <number>', 'tasks that were pruned before', count, 1_000_000)
  .option('--windows <number>', 'windows of each side', count, 5)
  .option('--seconds <number>', 'length of a window', positiveNumber, 5)
  .parse()
  .opts();

const print = (line: string): boolean => process.stdout.write(`${line}\n`);
const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-pruning-'));
const children = new Set<Child>();
print('Starting PostgreSQL.');
try {
  const cluster = await startBenchCluster(directory, { isDurable: true, children });
  await ensureDatabase(cluster, 'none');
  await ensureDatabase(cluster, 'many');
  const [none, many] = await Promise.all(['none', 'many'].map((name) => openSide(clusterUrl(cluster, name))));
  if (none === undefined || many === undefined) throw new Error('a side is missing');
  try {
    print(`Making ${options.pruned} pruned tasks.`);
    await insertPruned(many.database, many.accountId, options.pruned);
    await measureCreates(none, many);
    print(`\nMaking ${options.tasks} old tasks.`);
    await insertOldTasks(many.database, many.accountId, options.tasks);
    await measurePruning(many);
  } finally {
    await Promise.all([none.database.close(), many.database.close()]);
  }
} finally {
  await stopAll(children);
  await rm(directory, { recursive: true, force: true });
}

/** A database with one account. */
interface Side {
  readonly database: Database;
  readonly accountId: string;
  readonly acceptor: Acceptor;
}

async function openSide(url: string): Promise<Side> {
  const database = openDatabase({ url, poolSize: 10 }, silentLogger());
  await migrate(url, database, silentLogger());
  const acceptor = createAcceptor(
    () => database,
    () => false,
  );
  return { database, accountId: (await createBenchAccount(database)).accountId, acceptor };
}

async function measureCreates(none: Side, many: Side): Promise<void> {
  const medians = { none: [] as number[], many: [] as number[] };
  await Promise.all([createUntil(none, endAfter(2)), createUntil(many, endAfter(2))]);
  for (let round = 1; round <= options.windows; round++) {
    for (const name of round % 2 === 1 ? (['none', 'many'] as const) : (['many', 'none'] as const)) {
      medians[name].push(median(await createUntil(name === 'none' ? none : many, endAfter(options.seconds))));
    }
  }
  const [without, beside] = [median(medians.none), median(medians.many)];
  print(`\ncreate with a key, median of one client: ${without.toFixed(2)} ms with no pruned task,`);
  print(`${beside.toFixed(2)} ms beside ${options.pruned} (ratio ${(beside / without).toFixed(2)})`);
}

async function measurePruning({ database, accountId, acceptor }: Side): Promise<void> {
  const before = await tableSizes(database);
  const idle = await createUntil({ database, accountId, acceptor }, endAfter(options.seconds));
  const store = createDiskStore(path.join(directory, 'store'));
  let isPruning = true;
  const creates = createUntil({ database, accountId, acceptor }, () => !isPruning);
  const began = performance.now();
  const pruned = await pruneTasks(database, { ...wholePass(database, store), retentionDays: RETENTION_DAYS });
  const seconds = (performance.now() - began) / 1000;
  isPruning = false;
  const during = await creates;
  print(`\npruned ${pruned} tasks in ${seconds.toFixed(1)} s: ${Math.round(pruned / seconds)}/s`);
  print(`creates of the same account, one client: p50 ${at(idle, 0.5)} ms, p99 ${at(idle, 0.99)} ms before;`);
  print(`p50 ${at(during, 0.5)} ms, p99 ${at(during, 0.99)} ms, at most ${at(during, 1)} ms meanwhile`);
  let archived = 0;
  for await (const { sizeBytes } of store.list('archive/')) archived += sizeBytes;
  await store.close();
  const bytesOfTask = [...before].map(([name, bytes]) => `${name} ${Math.round(bytes / options.tasks)}`);
  print(
    `bytes of a task with indexes, before: ${bytesOfTask.join(', ')}; in the archive ${Math.round(archived / pruned)}`,
  );
}

function endAfter(seconds: number): () => boolean {
  const endAt = performance.now() + seconds * 1000;
  return () => performance.now() >= endAt;
}

/** @returns the duration of each create, in milliseconds. */
async function createUntil({ accountId, acceptor }: Side, isOver: () => boolean): Promise<readonly number[]> {
  const durations: number[] = [];
  while (!isOver()) {
    const idempotencyKey = newId('req');
    const id = taskIdForKey('bench', accountId, idempotencyKey);
    const fingerprint = { hash: randomBytes(32), version: 1 };
    const began = performance.now();
    await acceptor.accept(newTask(accountId, { id, idempotencyKey, fingerprint }));
    durations.push(performance.now() - began);
  }
  return durations;
}

function at(durations: readonly number[], share: number): string {
  const sorted = durations.toSorted((one, other) => one - other);
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(1);
}
