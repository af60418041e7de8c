/**
 * `npm run bench -- peers`: Darkroom beside systems that people also run jobs with, each with a job that does nothing:
 * how many are accepted and finished per second, how long one takes, and what a kill -9 of the worker does. In each
 * round, every system is installed anew; their order changes with each round. Nothing is promised: the figures are as
 * measured, and what the systems do for a job differs (test/bench/README.md).
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Command, Option } from '@commander-js/extra-typings';
import { packageFile } from '../../../src/config/package-root.ts';
import { wholeNumber } from '../../../src/commands/command-line.ts';
import { positiveNumber } from '../../support/number-options.ts';
import { median } from '../measures.ts';
import { columns } from '../report.ts';
import { installPeers, obtainRedis } from './install.ts';
import { percentile, recoveryOf } from './outcome.ts';
import type { Recovery } from './outcome.ts';
import { CONCURRENCY, System } from './system.ts';
import type { SystemFacts } from './system.ts';
import { systemsOf } from './systems.ts';

/** Before a figure counts, everything has run once. */
const WARM_UP_SECONDS = 2;
/** The burst during which the worker is killed is about as long as this, at the rate that was measured before. */
const BURST_SECONDS = 6;
const FEWEST_JOBS = 60;
const MOST_JOBS = 5_000;
/** The share of its jobs that have finished when the worker is killed. */
const KILLED_AT = 1 / 3;
/** Jobs are lost that have no result when none has arrived for this long. */
const LOST_AFTER_SECONDS = 150;
const NAMES = ['darkroom', 'dbos', 'restate', 'bullmq'];

const print = (line: string): boolean => process.stdout.write(`${line}\n`);

const options = new Command('npm run bench -- peers')
  .description('Measures Darkroom beside DBOS, Restate and BullMQ, and what a kill of the worker does to each.')
  .option('--rounds <number>', 'rounds of every system', wholeNumber(1, 1_000), 3)
  .option('--seconds <number>', 'length of a window', positiveNumber, 5)
  .addOption(new Option('--only <systems...>', 'only these').choices(NAMES))
  .parse()
  .opts();

interface PeerRound {
  readonly system: string;
  readonly round: number;
  readonly acceptedPerSecond: number;
  readonly finishedPerSecond: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly recovery: Recovery;
}

const stopRequested = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopRequested.abort());
const scripts = await installPeers(print);
const systems = systemsOf({
  scripts,
  redis: await obtainRedis(print),
  versions: await installedVersions(),
  report: print,
}).filter(({ script }) => options.only?.includes(path.basename(script, '.mjs')) ?? true);
const rounds: PeerRound[] = [];
for (let round = 1; round <= options.rounds; round++) {
  for (const facts of round % 2 === 1 ? systems : systems.toReversed()) rounds.push(await measureSystem(facts, round));
}
await reportSummary();

async function measureSystem(facts: SystemFacts, round: number): Promise<PeerRound> {
  stopRequested.signal.throwIfAborted();
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-bench-peers-'));
  const system = new System(facts, directory, scripts);
  try {
    await system.open();
    const measured = { system: facts.name, round, ...(await measure(system)) };
    print(`  ${round}/${options.rounds}  ${facts.name.padEnd(12)}  ${describe(measured)}`);
    return measured;
  } finally {
    await system.close();
    await rm(directory, { recursive: true, force: true });
  }
}

async function measure(system: System): Promise<Omit<PeerRound, 'system' | 'round'>> {
  const { seconds } = options;
  await system.run({ kind: 'finish', clients: CONCURRENCY, seconds: WARM_UP_SECONDS });
  const { latenciesMs } = await system.run({ kind: 'finish', clients: 1, seconds });
  const { perSecond } = await system.run({ kind: 'finish', clients: CONCURRENCY, seconds });
  const recovery = await measureRecovery(system, perSecond);
  // Last, and without a worker: what is accepted here is discarded with the system.
  await system.stopWorker('SIGTERM');
  const accepted = await system.run({ kind: 'accept', clients: CONCURRENCY, seconds });
  return {
    acceptedPerSecond: accepted.perSecond,
    finishedPerSecond: perSecond,
    p50Ms: percentile(latenciesMs, 0.5),
    p95Ms: percentile(latenciesMs, 0.95),
    recovery,
  };
}

async function measureRecovery(system: System, perSecond: number): Promise<Recovery> {
  const jobs = Math.min(MOST_JOBS, Math.max(FEWEST_JOBS, Math.round(perSecond * BURST_SECONDS)));
  let [killedAt, startedAt] = [0, 0];
  const result = await system.burst(
    {
      kind: 'burst',
      clients: CONCURRENCY,
      jobs,
      reportAfter: Math.round(jobs * KILLED_AT),
      silenceSeconds: LOST_AFTER_SECONDS,
    },
    async () => {
      await system.stopWorker('SIGKILL');
      killedAt = Date.now();
      await system.startWorker();
      startedAt = Date.now();
    },
  );
  if (killedAt === 0) throw new Error(`too few of ${jobs} jobs have finished to kill the worker among them`);
  return recoveryOf(result, await system.executionsOf(result.ids), { killedAt, startedAt });
}

function describe({ acceptedPerSecond, finishedPerSecond, p50Ms, p95Ms, recovery }: PeerRound): string {
  const { jobs, startedMs, firstMs, lastMs, lost, repeated } = recovery;
  const rates = `${acceptedPerSecond.toFixed(0)} accepted/s, ${finishedPerSecond.toFixed(1)} finished/s`;
  const latency = `p50 ${p50Ms.toFixed(1)} ms, p95 ${p95Ms.toFixed(1)} ms`;
  const kill = `after the kill worker ${seconds(startedMs)}, first ${seconds(firstMs)}, last ${seconds(lastMs)}`;
  return `${rates}, ${latency}; ${kill}, of ${jobs} jobs ${lost} lost, ${repeated} repeated`;
}

/** @param ms NaN: there was none. */
function seconds(ms: number): string {
  if (Number.isNaN(ms)) return '-';
  return `${(ms / 1_000).toFixed(1)} s`;
}

async function installedVersions(): Promise<Readonly<Record<string, string>>> {
  const file = packageFile('test/bench/peers/packages/package.json');
  return (JSON.parse(await readFile(file, 'utf8')) as { dependencies: Record<string, string> }).dependencies;
}

async function reportSummary(): Promise<void> {
  const summaries = systems.map((facts) => ({
    facts,
    ...summaryOf(rounds.filter(({ system }) => system === facts.name)),
  }));
  const heading = [
    '',
    'accepted/s',
    'finished/s',
    'p50',
    'p95',
    'worker after kill',
    'first after kill',
    'last after kill',
    'lost',
    'repeated',
  ];
  const rows = summaries.map(({ facts, ...figures }) => [
    facts.name,
    figures.acceptedPerSecond.toFixed(0),
    figures.finishedPerSecond.toFixed(1),
    `${figures.p50Ms.toFixed(1)} ms`,
    `${figures.p95Ms.toFixed(1)} ms`,
    seconds(figures.startedMs),
    seconds(figures.firstMs),
    seconds(figures.lastMs),
    `${figures.lost} of ${figures.jobs}`,
    String(figures.repeated),
  ]);
  print(`\n${columns([heading, ...rows])}`);
  const resultsDirectory = packageFile('test/bench/results');
  await mkdir(resultsDirectory, { recursive: true });
  const file = path.join(resultsDirectory, 'peers.json');
  const machine = { cpus: os.cpus().length, model: os.cpus()[0]?.model, node: process.version };
  const results = summaries.map(({ facts: { name, version }, ...figures }) => ({ name, version, ...figures }));
  await writeFile(
    file,
    `${JSON.stringify({ at: new Date().toISOString(), machine, options, results, rounds }, null, 2)}\n`,
  );
  print(`\nResults: ${file}`);
}

/** Medians of the rounds; losses and repetitions are summed. */
function summaryOf(of: readonly PeerRound[]) {
  const middle = (figure: (round: PeerRound) => number): number => median(of.map(figure));
  const sum = (figure: (recovery: Recovery) => number): number =>
    of.reduce((total, { recovery }) => total + figure(recovery), 0);
  return {
    acceptedPerSecond: middle(({ acceptedPerSecond }) => acceptedPerSecond),
    finishedPerSecond: middle(({ finishedPerSecond }) => finishedPerSecond),
    p50Ms: middle(({ p50Ms }) => p50Ms),
    p95Ms: middle(({ p95Ms }) => p95Ms),
    startedMs: middle(({ recovery }) => recovery.startedMs),
    firstMs: middle(({ recovery }) => recovery.firstMs),
    lastMs: middle(({ recovery }) => recovery.lastMs),
    jobs: sum(({ jobs }) => jobs),
    lost: sum(({ lost }) => lost),
    repeated: sum(({ repeated }) => repeated),
  };
}
