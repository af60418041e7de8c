/**
 * `npm run bench -- cost`: what one task costs, in processor time of each process, statements and log of PostgreSQL,
 * and history of Temporal, compared with raw Temporal's minimal workflow; and the ratios of rates and latencies that
 * users notice. Rounds of both sides alternate in one run on one machine.
 *
 * Exits with 0 even if a goal is missed: the bench reports numbers, and they are not failures.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Command, Option } from '@commander-js/extra-typings';
import { packageFile } from '../../../src/config/package-root.ts';
import { wholeNumber } from '../../../src/commands/command-line.ts';
import { positiveNumber } from '../../support/number-options.ts';
import { summarise, table } from '../report.ts';
import type { Window } from '../report.ts';
import { WARM_UP_SECONDS, measureSide, sidesOf } from '../rounds.ts';
import { Stage } from '../stage/stage.ts';
import type { Side } from '../stage/stage.ts';
import { TEMPORAL_STORES } from '../stage/temporal.ts';
import { TextStage } from '../text/text-stage.ts';
import { prepareDatabaseCost } from './database-cost.ts';
import { RATIOS, TEXT_RATIOS, secondsOf } from './ratios.ts';
import { costTable, idleRows, statementTable, taskRows } from './table.ts';
import { idleCostOf, taskCostOf } from './task-cost.ts';
import type { IdleCost, TaskCost } from './task-cost.ts';

const print = (line: string): boolean => process.stdout.write(`${line}\n`);

const options = new Command('npm run bench -- cost')
  .description('Measures what a task costs, beside raw Temporal, and the ratios that users notice.')
  .option('--rounds <number>', 'rounds of each side', wholeNumber(1, 1_000), 3)
  .option('--seconds <number>', 'length of a window', positiveNumber, 4)
  .option(
    '--clients <number>',
    'clients that wait for tasks at once while costs are measured',
    wholeNumber(1, 1_000),
    32,
  )
  .addOption(new Option('--only <parts...>', 'only these').choices(['cost', 'ratios', 'text']))
  .addOption(
    new Option('--temporal-store <name>', 'where Temporal keeps its histories')
      .choices(TEMPORAL_STORES)
      .default(TEMPORAL_STORES[0]),
  )
  .option('--profile', 'write CPU profiles of the api and the worker', false)
  .parse()
  .opts();

const isMeasured = (part: 'cost' | 'ratios' | 'text'): boolean => options.only?.includes(part) ?? true;
const resultsDirectory = packageFile('test/bench/results');
const profileDirectory = options.profile ? path.join(resultsDirectory, 'profiles') : undefined;
const measures = isMeasured('ratios') ? RATIOS : [];
const windows: Window[] = [];
const taskCosts: TaskCost[] = [];
const idleCosts: IdleCost[] = [];
const stopRequested = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopRequested.abort());

await mkdir(resultsDirectory, { recursive: true });
if (isMeasured('cost') || isMeasured('ratios')) await measureTasks();
if (isMeasured('text')) await measureText();
await reportSummary();

async function measureTasks(): Promise<void> {
  print('Starting PostgreSQL, Temporal, the api and the clients.');
  const stage = await Stage.open({
    profileDirectory,
    countsStatements: true,
    temporalStore: options.temporalStore,
    report: print,
  });
  try {
    await prepareDatabaseCost(stage.database);
    print('Warming up.');
    for (const side of ['raw', 'ours'] as const) await measureRound(stage, side, undefined);
    for (let round = 1; round <= options.rounds; round++) {
      for (const side of sidesOf(round)) await measureRound(stage, side, round);
    }
  } finally {
    await stage.close();
  }
}

/** @param round undefined: a warm-up, which is not recorded. */
async function measureRound(stage: Stage, side: Side, round: number | undefined): Promise<void> {
  const { signal } = stopRequested;
  if (round === undefined) {
    await stage.reset();
    const warmUp = { clients: options.clients, seconds: WARM_UP_SECONDS };
    await stage.withWorkers(side, () => stage.run(side, { operation: 'wait', ...warmUp }));
    return;
  }
  await measureSide(stage, side, {
    measures,
    secondsOf: (measure) => secondsOf(measure, options.seconds),
    record: ({ name, figure }, { operations, [figure]: value }) => {
      windows.push({ measure: name, side, round, value, operations });
      reportWindow(round, side, name, `${value.toFixed(1)}${figure === 'perSecond' ? '/s' : ' ms'}`);
    },
    ...(isMeasured('cost') ? { alsoWithWorkers: () => measureCost(stage, side, round) } : {}),
    signal,
  });
}

async function measureCost(stage: Stage, side: Side, round: number): Promise<void> {
  stopRequested.signal.throwIfAborted();
  const { clients, seconds } = options;
  const cost = await taskCostOf(stage, side, { round, clients, seconds });
  taskCosts.push(cost);
  const { worker, temporal } = cost.processorMs;
  const processor = `worker ${worker.toFixed(1)} ms, Temporal ${temporal.toFixed(1)} ms of processor`;
  reportWindow(round, side, 'cost', `${cost.tasks} tasks: ${processor} each`);
  idleCosts.push(await idleCostOf(stage, side, round, seconds));
}

async function measureText(): Promise<void> {
  print('Starting the processes of the text calls.');
  const stage = await TextStage.open(profileDirectory);
  try {
    const [{ clients } = { clients: 1 }] = TEXT_RATIOS;
    await stage.warmUp(clients);
    for (let round = 1; round <= options.rounds; round++) {
      for (const side of sidesOf(round)) await measureTextSide(stage, side, round);
    }
  } finally {
    await stage.close();
  }
}

async function measureTextSide(stage: TextStage, side: Side, round: number): Promise<void> {
  for (const { name, isStreamed, clients } of TEXT_RATIOS) {
    stopRequested.signal.throwIfAborted();
    const textSide = side === 'ours' ? 'ours' : 'bare';
    const { perSecond, calls } = await stage.run(textSide, { isStreamed, clients, seconds: options.seconds });
    windows.push({ measure: name, side, round, value: perSecond, operations: calls });
    reportWindow(round, side, name, `${perSecond.toFixed(1)}/s`);
  }
}

function reportWindow(round: number, side: Side, name: string, result: string): void {
  print(`  ${round}/${options.rounds}  ${side.padEnd(4)}  ${name.padEnd(20)}  ${result}`);
}

async function reportSummary(): Promise<void> {
  const ratios = summarise([...RATIOS, ...TEXT_RATIOS], windows);
  const ours = taskCosts.filter(({ side }) => side === 'ours');
  const [perTask, idle] = taskCosts.length === 0 ? [[], []] : [taskRows(taskCosts), idleRows(idleCosts)];
  if (perTask.length > 0) {
    print(`\n${costTable('per task', perTask)}`);
    print(`\n${costTable('per second without tasks', idle)}`);
    print(`\n${statementTable(ours)}`);
  }
  if (ratios.length > 0) print(`\n${table(ratios, 'goal')}`);
  if (profileDirectory !== undefined) print(`\nCPU profiles: ${profileDirectory}.`);
  const file = path.join(resultsDirectory, 'cost.json');
  const machine = { cpus: os.cpus().length, model: os.cpus()[0]?.model, node: process.version };
  const result = {
    at: new Date().toISOString(),
    machine,
    options,
    perTask,
    perIdleSecond: idle,
    ratios: ratios.map(({ measure, ...figures }) => ({ name: measure.name, ...figures })),
    rounds: { taskCosts, idleCosts, windows },
  };
  await writeFile(file, `${JSON.stringify(result, null, 2)}\n`);
  print(`\nResults: ${file}`);
}
