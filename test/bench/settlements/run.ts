/**
 * `npm run bench -- settlements`: how many settlements per second one account takes, on a durable PostgreSQL at a
 * distance. Each changes the account's one row, which is locked until its commit is answered. Windows with settlements
 * that share a transaction, as in a worker (docs/decisions/0012), and with each in its own, alternate.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { createConnection, createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { Command } from '@commander-js/extra-typings';
import { openDatabase } from '../../../src/database/database.ts';
import type { Database } from '../../../src/database/database.ts';
import { migrate } from '../../../src/database/migrate.ts';
import type { ArchivedOutput } from '../../../src/domain/run-record.ts';
import type { TaskId } from '../../../src/domain/workflow-ids.ts';
import { clusterUrl } from '../../../src/standalone/postgres.ts';
import { createAcceptor } from '../../../src/tasks/create/accept-queue.ts';
import { createSettler } from '../../../src/tasks/lifecycle/settle-queue.ts';
import { settleTask } from '../../../src/tasks/lifecycle/settle.ts';
import type { Verdict } from '../../../src/tasks/lifecycle/settle.ts';
import { silentLogger } from '../../../src/telemetry/log.ts';
import { median } from '../measures.ts';
import { createBenchAccount } from '../stage/account.ts';
import { stopAll } from '../stage/children.ts';
import type { Child } from '../stage/children.ts';
import { startBenchCluster } from '../stage/cluster.ts';
import { count, positiveNumber } from '../../support/number-options.ts';
import { newTask } from '../../tasks/new-task.ts';

const PRICE = 10_000n;
const RETENTION = { retentionDays: 7 };
const SIDES = ['together', 'one by one'] as const;

const options = new Command('npm run bench -- settlements')
  .description('Measures settlements per second on one account, together and one by one.')
  .option('--rounds <number>', 'windows of each', count, 3)
  .option('--tasks <number>', 'tasks that a window settles', count, 1_000)
  .option('--clients <number>', 'settlements under way at once', count, 64)
  .option('--round-trip <milliseconds>', 'the way to PostgreSQL and back', positiveNumber, 2.5)
  .parse()
  .opts();

const print = (line: string): boolean => process.stdout.write(`${line}\n`);
const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-settlements-'));
const children = new Set<Child>();
print('Starting PostgreSQL.');
try {
  const cluster = await startBenchCluster(directory, { isDurable: true, children });
  const url = new URL(clusterUrl(cluster, 'postgres'));
  const relay = await startRelay(Number(url.port), options.roundTrip / 2);
  const near = openDatabase({ url: url.href, poolSize: 10 }, silentLogger());
  url.port = String(relay.port);
  const far = openDatabase({ url: url.href, poolSize: 10 }, silentLogger());
  try {
    await migrate(clusterUrl(cluster, 'postgres'), near, silentLogger());
    await measure(near, far);
  } finally {
    await far.close();
    await near.close();
    relay.server.close();
  }
} finally {
  await stopAll(children);
  await rm(directory, { recursive: true, force: true });
}

async function measure(near: Database, far: Database): Promise<void> {
  const { accountId } = await createBenchAccount(near);
  await window(near, far, accountId, 'together');
  const rates = { together: [] as number[], 'one by one': [] as number[] };
  for (let round = 1; round <= options.rounds; round++) {
    for (const side of round % 2 === 1 ? SIDES : SIDES.toReversed()) {
      const rate = await window(near, far, accountId, side);
      rates[side].push(rate);
      print(`round ${round}, ${side}: ${Math.round(rate)} settlements/s`);
    }
  }
  const [together, alone] = [median(rates.together), median(rates['one by one'])];
  print(
    `\nsettlements/s of one account, ${options.roundTrip} ms from PostgreSQL: together ${Math.round(together)}, one by one ${Math.round(alone)}, ${(together / alone).toFixed(1)} times`,
  );
}

/** @returns settlements per second. */
async function window(near: Database, far: Database, accountId: string, side: (typeof SIDES)[number]): Promise<number> {
  const taskIds = await createTasks(near, accountId);
  const settler = createSettler({ accountDatabase: () => far, ...RETENTION });
  const settle = (taskId: TaskId): Promise<unknown> =>
    side === 'together'
      ? settler.settle(taskId, accountId, verdictOf(taskId))
      : settleTask(far, taskId, verdictOf(taskId), RETENTION);
  const began = performance.now();
  let next = 0;
  const client = async (): Promise<void> => {
    for (let taskId = taskIds[next++]; taskId !== undefined; taskId = taskIds[next++]) await settle(taskId);
  };
  await Promise.all(Array.from({ length: options.clients }, client));
  return (taskIds.length * 1000) / (performance.now() - began);
}

async function createTasks(near: Database, accountId: string): Promise<readonly TaskId[]> {
  const acceptor = createAcceptor(
    () => near,
    () => false,
  );
  const tasks = Array.from({ length: options.tasks }, () => newTask(accountId, { holdMicroUsd: PRICE }));
  const accepted = await Promise.all(tasks.map((task) => acceptor.accept(task)));
  return accepted.map(({ taskId }) => taskId);
}

function verdictOf(taskId: TaskId): Verdict {
  const output: ArchivedOutput = {
    type: 'image',
    objectKey: `outputs/${taskId}`,
    mimeType: 'image/png',
    sizeBytes: 300_000,
    sha256: 'ab'.repeat(32),
  };
  return { status: 'success', outputs: [output], capturedMicroUsd: PRICE };
}

/** Delays everything on its way to a port of this machine, and back. */
async function startRelay(
  target: number,
  delayMs: number,
): Promise<{ readonly server: Server; readonly port: number }> {
  const forward = (from: Socket, to: Socket): void => {
    from.on('data', (bytes) => setTimeout(() => to.write(bytes), delayMs));
    from.on('close', () => setTimeout(() => to.destroy(), delayMs));
    from.on('error', () => to.destroy());
  };
  const server = createServer((client) => {
    const upstream = createConnection(target, '127.0.0.1');
    client.setNoDelay(true);
    upstream.setNoDelay(true);
    forward(client, upstream);
    forward(upstream, client);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the relay has no port');
  return { server, port: address.port };
}
