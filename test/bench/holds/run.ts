/**
 * `npm run bench -- holds`: how many holds per second one account takes, compared with a thousand accounts together,
 * on a durable PostgreSQL. All holds of an account update its one row, so that the hot account is the worst case; the
 * promise is that it gets at least 0.35 of what many get (docs/decisions/0012). Windows of both alternate.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { Command } from '@commander-js/extra-typings';
import { openDatabase } from '../../../src/database/database.ts';
import type { Database } from '../../../src/database/database.ts';
import { migrate } from '../../../src/database/migrate.ts';
import { clusterUrl } from '../../../src/standalone/postgres.ts';
import { createAcceptor } from '../../../src/tasks/create/accept-queue.ts';
import { silentLogger } from '../../../src/telemetry/log.ts';
import { median } from '../measures.ts';
import { createBenchAccount } from '../stage/account.ts';
import { stopAll } from '../stage/children.ts';
import type { Child } from '../stage/children.ts';
import { startBenchCluster } from '../stage/cluster.ts';
import { count, positiveNumber } from '../../support/number-options.ts';
import { newTask } from '../../tasks/new-task.ts';

const ACCOUNTS = 1_000;
const PROMISED = 0.35;

const options = new Command('npm run bench -- holds')
  .description('Measures holds per second on one account beside a thousand accounts.')
  .option('--windows <number>', 'windows of each', count, 5)
  .option('--seconds <number>', 'length of a window', positiveNumber, 5)
  .option('--clients <number>', 'creates under way at once', count, 64)
  .parse()
  .opts();

const print = (line: string): boolean => process.stdout.write(`${line}\n`);
const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-holds-'));
const children = new Set<Child>();
print('Starting PostgreSQL.');
try {
  const url = clusterUrl(await startBenchCluster(directory, { isDurable: true, children }), 'postgres');
  const database = openDatabase({ url, poolSize: 10 }, silentLogger());
  try {
    await migrate(url, database, silentLogger());
    await measure(database);
  } finally {
    await database.close();
  }
} finally {
  await stopAll(children);
  await rm(directory, { recursive: true, force: true });
}

async function measure(database: Database): Promise<void> {
  print(`Making ${ACCOUNTS} accounts.`);
  const accounts: string[] = [];
  for (let index = 0; index < ACCOUNTS; index++) accounts.push((await createBenchAccount(database)).accountId);
  const hot = [accounts[0] ?? ''];
  await window(database, accounts, 2);
  const rates = { hot: [] as number[], many: [] as number[] };
  for (let round = 1; round <= options.windows; round++) {
    const order = round % 2 === 1 ? (['hot', 'many'] as const) : (['many', 'hot'] as const);
    for (const side of order) {
      const rate = await window(database, side === 'hot' ? hot : accounts, options.seconds);
      rates[side].push(rate);
      print(`window ${round}, ${side === 'hot' ? 'one account' : `${ACCOUNTS} accounts`}: ${Math.round(rate)} holds/s`);
    }
  }
  const ratio = median(rates.hot) / median(rates.many);
  print(
    `\nholds/s: one account ${Math.round(median(rates.hot))}, ${ACCOUNTS} accounts ${Math.round(median(rates.many))}`,
  );
  print(`ratio ${ratio.toFixed(2)} (promised: at least ${PROMISED}): ${ratio >= PROMISED ? 'held' : 'missed'}`);
}

/** @returns holds per second. */
async function window(database: Database, accounts: readonly string[], seconds: number): Promise<number> {
  const acceptor = createAcceptor(
    () => database,
    () => false,
  );
  const began = performance.now();
  const endAt = began + seconds * 1000;
  let holds = 0;
  let next = 0;
  const client = async (): Promise<void> => {
    while (performance.now() < endAt) {
      await acceptor.accept(newTask(accounts[next++ % accounts.length] ?? ''));
      holds += 1;
    }
  };
  await Promise.all(Array.from({ length: options.clients }, client));
  return (holds * 1000) / (performance.now() - began);
}
