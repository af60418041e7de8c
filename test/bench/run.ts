/**
 * `npm run bench`: ours compared with raw Temporal, in one run on one machine. Windows of both sides alternate, so
 * that other load on the machine affects both; a ratio is the median of ours over the median of raw. Absolute numbers
 * depend on the machine, the ratios are what is promised (measures.ts).
 *
 * Exits with 0 even if a promise is missed: the bench reports numbers, and they are not failures.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Command, Option } from '@commander-js/extra-typings';
import { packageFile } from '../../src/config/package-root.ts';
import { MEASURES } from './measures.ts';
import { summarise, table } from './report.ts';
import type { Window } from './report.ts';
import { WARM_UP_SECONDS, measureSide, sidesOf } from './rounds.ts';
import { Stage } from './stage/stage.ts';
import type { Side } from './stage/stage.ts';
import { TEMPORAL_STORES } from './stage/temporal.ts';
import { wholeNumber } from '../../src/commands/command-line.ts';
import { positiveNumber } from '../support/number-options.ts';

const print = (line: string): boolean => process.stdout.write(`${line}\n`);

const options = new Command('npm run bench --')
  .description('Measures Darkroom beside raw Temporal and prints the ratios.')
  .option('--windows <number>', 'windows of each side for each measurement', wholeNumber(1, 1_000_000), 5)
  .option('--seconds <number>', 'length of a window', positiveNumber, 5)
  .addOption(new Option('--only <names...>', 'only these').choices(MEASURES.map(({ name }) => name)))
  .addOption(
    new Option('--temporal-store <name>', 'where Temporal keeps its histories')
      .choices(TEMPORAL_STORES)
      .default(TEMPORAL_STORES[0]),
  )
  .option('--profile', 'write CPU profiles of the api and the worker', false)
  .parse()
  .opts();

const resultsDirectory = packageFile('test/bench/results');
const measures = MEASURES.filter(({ name }) => options.only === undefined || options.only.includes(name));
const windows: Window[] = [];
const stopRequested = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopRequested.abort());

await mkdir(resultsDirectory, { recursive: true });
const profileDirectory = options.profile ? path.join(resultsDirectory, 'profiles') : undefined;
print('Starting PostgreSQL, Temporal, the api and the clients.');
const stage = await Stage.open({ profileDirectory, temporalStore: options.temporalStore, report: print });
try {
  print('Warming up.');
  // Before the first window that counts, everything has run once: compiled, connected, cached.
  for (const side of ['raw', 'ours'] as const) await measureRound(side, undefined);
  for (let round = 1; round <= options.windows; round++) {
    for (const side of sidesOf(round)) await measureRound(side, round);
  }
} finally {
  await stage.close();
}
if (windows.length > 0) await reportSummary();

/** @param round undefined: a warm-up, which is not recorded. */
async function measureRound(side: Side, round: number | undefined): Promise<void> {
  const seconds = round === undefined ? Math.min(WARM_UP_SECONDS, options.seconds) : options.seconds;
  await measureSide(stage, side, {
    measures,
    secondsOf: () => seconds,
    record: (measure, result) => {
      if (round === undefined) return;
      const value = result[measure.figure];
      windows.push({ measure: measure.name, side, round, value, operations: result.operations });
      const unit = measure.figure === 'perSecond' ? '/s' : ' ms';
      print(`  ${round}/${options.windows}  ${side.padEnd(4)}  ${measure.name.padEnd(14)}  ${value.toFixed(1)}${unit}`);
    },
    signal: stopRequested.signal,
  });
}

async function reportSummary(): Promise<void> {
  const summaries = summarise(measures, windows);
  print(`\n${table(summaries)}`);
  const missed = summaries.filter(({ isMet }) => !isMet).map(({ measure }) => measure.name);
  if (missed.length > 0) {
    const only = missed.map((name) => `--only ${name}`).join(' ');
    print(`\nMISSED: ${missed.join(', ')}. Where the time goes: npm run bench -- ${only} --windows 1 --profile`);
  }
  if (profileDirectory !== undefined)
    print(`CPU profiles: ${profileDirectory} (open them in a browser's developer tools).`);
  const file = path.join(resultsDirectory, 'latest.json');
  const machine = { cpus: os.cpus().length, model: os.cpus()[0]?.model, node: process.version };
  const results = summaries.map(({ measure, ...figures }) => ({ name: measure.name, ...figures }));
  await writeFile(file, `${JSON.stringify({ at: new Date().toISOString(), machine, results, windows }, null, 2)}\n`);
  print(`Results: ${file}`);
}
