/**
 * `npm run bench -- batch`: a batch (docs/guides/batches.md) of a model that does hardly any work, while processes are
 * killed, beside an ordinary client of the same account. Every line must have one result, every micro-USD must be
 * accounted for, memory must stay flat, and the client must not wait much longer than on the idle system.
 *
 * Exits with 1 if anything of it does not hold.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import os from 'node:os';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from '@commander-js/extra-typings';
import { MAX_BATCH_LINES } from '@darkroom/api/openai/batches';
import type { WireBatch } from '@darkroom/api/openai/batches';
import { wholeNumber } from '../../../src/commands/command-line.ts';
import { packageFile } from '../../../src/config/package-root.ts';
import { BatchClient, lineOf } from '../../e2e/batch-client.ts';
import { count, positiveNumber } from '../../support/number-options.ts';
import { MODEL, withInstallation } from './installation.ts';
import type { Installation } from './installation.ts';
import { startInteractiveLoad } from './interactive.ts';
import type { Span } from './interactive.ts';
import { execute, planKills } from './kills.ts';
import type { Outage } from './kills.ts';
import { examineOutcome } from './outcome.ts';
import { latencyOf, tableOf } from './report.ts';
import { watchResidentMemory } from './resident-memory.ts';

const POLL_MS = 1_000;
const WARM_UP_SECONDS = 5;
/** A batch whose counts stand still for this long is stuck. */
const STUCK_MS = 600_000;

const print = (line: string): boolean => process.stdout.write(`${line}\n`);

const options = new Command('npm run bench -- batch')
  .description('Runs a batch while processes are killed, and checks results, money, memory and fairness.')
  .option('--lines <number>', 'lines of the batch', wholeNumber(1, MAX_BATCH_LINES), MAX_BATCH_LINES)
  .option('--line-bytes <number>', 'bytes that each prompt is padded to, at most 4000', wholeNumber(0, 4_000), 0)
  .option('--kills <number>', 'kill -9 of api, worker, Temporal and PostgreSQL in turn; 0: none', count, 12)
  .option('--seed <number>', 'the same seed is the same schedule of kills', count, 1)
  .option('--rate <number>', 'tasks per second of the client beside the batch', positiveNumber, 1)
  .option('--idle-seconds <number>', 'how long the client is measured before the batch', positiveNumber, 60)
  .option('--running-cap <number>', 'tasks of the account that run at once', wholeNumber(2, 10_000), 100)
  .parse()
  .opts();

const stopRequested = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopRequested.abort());

print('Starting PostgreSQL, Temporal, the api and the worker.');
await withInstallation(options.runningCap, measure);

async function measure(installation: Installation): Promise<void> {
  const { account, darkroom } = installation;
  const load = (name: string) => startInteractiveLoad(account, name, options.rate);
  print('Measuring the client on the idle system.');
  const warmUp = load('warm-up');
  await sleep(WARM_UP_SECONDS * 1_000, undefined, stopRequested);
  const warm = await warmUp.stop();
  const idleLoad = load('idle');
  await sleep(options.idleSeconds * 1_000, undefined, stopRequested);
  const idle = await idleLoad.stop();

  const ids = Array.from({ length: options.lines }, (_, index) => `line-${index}`);
  const client = new BatchClient(darkroom.url, account);
  const memoryWatch = watchResidentMemory(installation);
  const busyLoad = load('busy');
  const created = await client.create('/v1/tasks', ids.map(lineFor));
  print(`${created.id} was created with ${ids.length} lines.`);
  const { batch, outages } = await follow(installation, client, created.id);
  const [busy, memory] = [await busyLoad.stop(), await memoryWatch.stop()];
  const { succeeded, failed, violations } = await examineOutcome(
    installation,
    batch,
    ids,
    warm.length + idle.length + busy.length,
  );

  const figures = {
    lines: { succeeded, failed },
    seconds: secondsOf(batch),
    outages,
    idle: latencyOf(idle, []),
    busy: latencyOf(busy, outages),
    memory,
  };
  const { table, missed } = tableOf(figures);
  print(`\n${table}`);
  for (const violation of violations) print(`VIOLATION: ${violation}`);
  for (const miss of missed) print(`MISSED: ${miss}`);
  await mkdir(packageFile('test/bench/results'), { recursive: true });
  const file = packageFile('test/bench/results/batch.json');
  const machine = { cpus: os.cpus().length, model: os.cpus()[0]?.model, node: process.version };
  const spans = spansOf(busy);
  const result = { at: new Date().toISOString(), machine, options, ...figures, violations, missed, spans };
  await writeFile(file, `${JSON.stringify(result, null, 2)}\n`);
  print(`Results: ${file}`);
  if (violations.length + missed.length > 0) process.exitCode = 1;
}

function lineFor(id: string): string {
  return lineOf('/v1/tasks', id, { model: MODEL, input: { prompt: 'teal'.padEnd(options.lineBytes, '.') } });
}

/** Kills what is due, until the batch has ended. */
async function follow(
  installation: Installation,
  client: BatchClient,
  id: string,
): Promise<{ readonly batch: WireBatch; readonly outages: readonly Outage[] }> {
  const kills = [...planKills(options.seed, options.kills)];
  const outages: Outage[] = [];
  let settled = -1;
  let movedAt = performance.now();
  for (;;) {
    stopRequested.signal.throwIfAborted();
    // While something is away, there is no answer.
    const batch = await client.get(id).catch(() => undefined);
    if (batch !== undefined && ['completed', 'failed', 'expired', 'cancelled'].includes(batch.status)) {
      for (const { part } of kills) print(`  the batch ended before the kill of the ${part}`);
      return { batch, outages };
    }
    const ended = (batch?.request_counts?.completed ?? 0) + (batch?.request_counts?.failed ?? 0);
    if (batch !== undefined && ended !== settled) [settled, movedAt] = [ended, performance.now()];
    if (performance.now() - movedAt > STUCK_MS) throw new Error(`the batch stands at ${settled} lines`);
    const isDue = (at: number): boolean =>
      at < 1 ? ended >= at * options.lines && ended > 0 : batch?.status === 'finalizing';
    if (kills[0] !== undefined && isDue(kills[0].at)) {
      const [kill] = kills.splice(0, 1);
      if (kill === undefined) continue;
      print(`  ${ended} of ${options.lines} lines: kill -9 of the ${kill.part}`);
      outages.push(await execute(installation, kill));
    }
    await sleep(POLL_MS, undefined, stopRequested);
  }
}

/** Every task of the client: when it was created, counted from the first one, and how long it took, in milliseconds. */
function spansOf(spans: readonly Span[]): readonly (readonly [number, number])[] {
  const [first] = spans;
  return spans.map(({ from, to }) => [Math.round(from - (first?.from ?? from)), Math.round(to - from)]);
}

/** How long each phase took. */
function secondsOf(batch: WireBatch) {
  const { created_at: created, in_progress_at: begun, finalizing_at: finalizing, completed_at: completed } = batch;
  const between = (from: number | null | undefined, to: number | null | undefined): number => (to ?? 0) - (from ?? 0);
  return {
    validating: between(created, begun),
    inProgress: between(begun, finalizing),
    finalizing: between(finalizing, completed),
  };
}
