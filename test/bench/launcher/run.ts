/**
 * `npm run bench -- launcher`: how many tasks per second one launcher starts on a Temporal server of a known latency,
 * which a timer simulates, on a PostgreSQL of its own. The maximum is the launcher's window over that latency; the
 * promise is 80 % of it.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from '@commander-js/extra-typings';
import { createPinnedDefinitions } from '../../../src/catalogue/pinned-definitions.ts';
import { openDatabase } from '../../../src/database/database.ts';
import type { Database } from '../../../src/database/database.ts';
import { migrate } from '../../../src/database/migrate.ts';
import { clusterUrl } from '../../../src/standalone/postgres.ts';
import { MAX_IN_FLIGHT, startLauncher } from '../../../src/processes/launcher.ts';
import { silentLogger } from '../../../src/telemetry/log.ts';
import { NO_TRACES } from '../../../src/telemetry/tracing.ts';
import type { WorkflowGateway } from '../../../src/temporal/workflow-gateway.ts';
import { createBenchAccount } from '../stage/account.ts';
import { stopAll } from '../stage/children.ts';
import type { Child } from '../stage/children.ts';
import { startBenchCluster } from '../stage/cluster.ts';
import { count, counts } from '../../support/number-options.ts';

const PROMISED = 0.8;
/** The content of a model definition is not measured. */
const DEFINITION = { name: 'bench/swatch', modality: 'image', limits: {}, routes: {} };

const options = new Command('npm run bench -- launcher')
  .description('Measures the starts per second of one launcher.')
  .option('--latency <numbers...>', 'milliseconds of a start; default: 20 50 100', counts)
  .option('--tasks <number>', 'tasks that wait at the beginning', count, 20_000)
  .option('--accounts <number>', 'accounts that have them', count, 10)
  .option('--windows <number>', 'runs at each latency', count, 3)
  .parse()
  .opts();

const print = (line: string): boolean => process.stdout.write(`${line}\n`);
const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-launcher-'));
const children = new Set<Child>();
/** Tasks so far. */
let accepted = 0;
print('Starting PostgreSQL.');
try {
  const url = clusterUrl(await startBenchCluster(directory, { isDurable: true, children }), 'postgres');
  const database = openDatabase({ url, poolSize: 10 }, silentLogger());
  try {
    await migrate(url, database, silentLogger());
    await database.query({ name: 'bench_definition', text: `INSERT INTO model_definitions VALUES ('bench', $1, $2)` }, [
      DEFINITION.name,
      JSON.stringify(DEFINITION),
    ]);
    const accountIds: string[] = [];
    for (let count = 0; count < options.accounts; count++) {
      accountIds.push((await createBenchAccount(database)).accountId);
    }
    for (const latencyMs of options.latency ?? [20, 50, 100]) {
      for (let window = 1; window <= options.windows; window++) await measure(database, accountIds, latencyMs);
    }
  } finally {
    await database.close();
  }
} finally {
  await stopAll(children);
  await rm(directory, { recursive: true, force: true });
}

async function measure(database: Database, accountIds: readonly string[], latencyMs: number): Promise<void> {
  await accept(database, accountIds);
  let started = 0;
  let isOver: () => void = () => {};
  const over = new Promise<void>((resolve) => (isOver = resolve));
  const startTask: WorkflowGateway['startTask'] = async () => {
    await sleep(latencyMs);
    started += 1;
    if (started === options.tasks) isOver();
    return { kind: 'running' };
  };
  const launcher = startLauncher({
    database,
    gateway: { startTask } as unknown as WorkflowGateway,
    definitions: createPinnedDefinitions(database),
    tracing: NO_TRACES,
    logger: silentLogger(),
  });
  const began = performance.now();
  launcher.wake();
  await over;
  const perSecond = (options.tasks * 1000) / (performance.now() - began);
  await launcher.close();
  const possible = (MAX_IN_FLIGHT * 1000) / latencyMs;
  const ratio = perSecond / possible;
  print(
    `${latencyMs} ms: ${Math.round(perSecond)} starts/s of ${Math.round(possible)}, ${(100 * ratio).toFixed(0)} % ` +
      `(promised: ${100 * PROMISED} %): ${ratio >= PROMISED ? 'held' : 'missed'}`,
  );
}

/** Queued tasks, written as accepting writes them, distributed over the accounts. */
async function accept(database: Database, accountIds: readonly string[]): Promise<void> {
  await database.query(
    {
      name: 'bench_accept',
      text: `WITH wanted AS (
               SELECT 'tk-svc-' || lpad(n::text, 26, '0') AS id, ($3::text[])[1 + n % cardinality($3::text[])] AS account_id
                 FROM generate_series($1::integer, $2::integer) n),
             task AS (
               INSERT INTO tasks (id, account_id, key_id, fingerprint, fingerprint_version, model, definition_hash, input,
                                  storage, queue_deadline_at, held_micro_usd)
               SELECT id, account_id, 'bench', '', 1, 'bench/swatch', 'bench', '{}', 'temp',
                      now() + interval '1 day', 0 FROM wanted),
             counted AS (
               UPDATE account_counters c SET queued = c.queued + w.tasks
                 FROM (SELECT account_id, count(*)::integer AS tasks FROM wanted GROUP BY account_id) w
                WHERE c.account_id = w.account_id)
             INSERT INTO outbox (kind, account_id, subject_id, is_ready)
             SELECT 'start_task', account_id, id, false FROM wanted`,
    },
    [accepted + 1, accepted + options.tasks, accountIds],
  );
  accepted += options.tasks;
}
