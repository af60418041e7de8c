/**
 * `npm run bench -- capacity`: a cost model of an installation. Windows that differ in one thing give the processor time
 * of each thing; the model then predicts mixtures at other rates and on other processes, which are measured too.
 *
 * Exits with 0 however far a prediction is off: the bench reports numbers, and they are not failures.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { wholeNumber } from '../../../src/commands/command-line.ts';
import { packageFile } from '../../../src/config/package-root.ts';
import { positiveNumber } from '../../support/number-options.ts';
import { median } from '../measures.ts';
import { Installation } from './installation.ts';
import type { WindowUsage } from './installation.ts';
import { byPart, fit, predict } from './model.ts';
import type { ByPart, Coefficients } from './model.ts';
import { coefficientTable, validationTable, windowTable } from './table.ts';
import type { Validation } from './table.ts';
import { FITTED, FITTED_PROCESSES, VALIDATED } from './workload.ts';
import type { FittedName, Workload } from './workload.ts';

/** How long tasks are processed before the first window, so that code is compiled. */
const WARM_UP_SECONDS = 10;

const print = (line: string): boolean => process.stdout.write(`${line}\n`);

const options = new Command('npm run bench -- capacity')
  .description('Derives a cost model of an installation, and compares its predictions with measurements.')
  .option('--rounds <number>', 'windows of each workload', wholeNumber(1, 100), 3)
  .option('--seconds <number>', 'length of a window', positiveNumber, 20)
  .parse()
  .opts();

const names = Object.keys(FITTED) as FittedName[];
print('Starting an api and a worker.');
const fitted = await Installation.with(FITTED_PROCESSES, FITTED.waited.waiting, async (installation) => {
  await warmUp(installation);
  const windows = new Map<FittedName, WindowUsage[]>(names.map((name) => [name, []]));
  for (let round = 1; round <= options.rounds; round += 1) {
    // The order changes with each round, so that no window always follows the same other one.
    for (const name of round % 2 === 1 ? names : names.toReversed()) {
      windows.get(name)?.push(await measure(installation, FITTED[name], round));
    }
  }
  return {
    usages: Object.fromEntries([...windows].map(([name, usages]) => [name, medianOf(usages)])) as Record<
      FittedName,
      WindowUsage
    >,
    memoryMb: await installation.memoryMb(),
    databaseBytesPerTask: await installation.databaseBytesPerTask(),
  };
});
const coefficients = fit(fitted.usages);
const validations = await validate(coefficients);

print(`\n${windowTable(names.map((name) => [FITTED[name], fitted.usages[name]]))}`);
print(`\n${coefficientTable(coefficients)}`);
print(`\n${validationTable(validations)}`);
const { api, worker } = fitted.memoryMb;
print(`\nResident memory, with child processes: api ${api.toFixed(0)} MB, worker ${worker.toFixed(0)} MB.`);
print(`Database: ${(fitted.databaseBytesPerTask / 1_000).toFixed(1)} kB of tables and indexes for each task.`);
await save();

async function warmUp(installation: Installation): Promise<void> {
  print('Warming up.');
  for (const workload of [FITTED.polled, FITTED.calledBack]) await installation.measure(workload, WARM_UP_SECONDS);
}

async function measure(installation: Installation, workload: Workload, round: number): Promise<WindowUsage> {
  const usage = await installation.measure(workload, options.seconds);
  const busy = usage.processorMs;
  const cores = (busy.api + busy.worker + busy.temporal + busy.postgres) / (usage.seconds * 1_000);
  print(`  ${round}/${options.rounds}  ${workload.name.padEnd(34)}  ${usage.tasks} tasks, ${cores.toFixed(2)} cores`);
  return usage;
}

/** Each of the mixtures in an installation of its own. */
async function validate(model: Coefficients): Promise<readonly Validation[]> {
  const found: Validation[] = [];
  for (const { processes, workload } of VALIDATED) {
    print(`Starting ${processes.apis} api and ${processes.workers} worker processes.`);
    const usage = await Installation.with(processes, workload.waiting, async (installation) => {
      await warmUp(installation);
      const windows: WindowUsage[] = [];
      for (let round = 1; round <= options.rounds; round += 1) {
        windows.push(await measure(installation, workload, round));
      }
      return medianOf(windows);
    });
    // Tasks end a little unevenly: the prediction is for those that did.
    const perSecond = usage.tasks / usage.seconds;
    const measured = byPart((part) => usage.processorMs[part] / usage.seconds);
    found.push({
      workload,
      processes,
      measured,
      predicted: predict(model, { ...workload, perSecond }, processes),
      usage,
    });
  }
  return found;
}

function medianOf(windows: readonly WindowUsage[]): WindowUsage {
  const of = (value: (usage: WindowUsage) => number): number => median(windows.map(value));
  return {
    seconds: of(({ seconds }) => seconds),
    tasks: of(({ tasks }) => tasks),
    processorMs: byPart((part): ByPart[typeof part] => of(({ processorMs }) => processorMs[part])),
    walBytes: of(({ walBytes }) => walBytes),
    statements: of(({ statements }) => statements),
    medianOverheadMs: of(({ medianOverheadMs }) => medianOverheadMs),
  };
}

async function save(): Promise<void> {
  const directory = packageFile('test/bench/results');
  await mkdir(directory, { recursive: true });
  const file = path.join(directory, 'capacity.json');
  const machine = { cpus: os.cpus().length, model: os.cpus()[0]?.model, node: process.version };
  const result = { at: new Date().toISOString(), machine, options, ...fitted, coefficients, validations };
  await writeFile(file, `${JSON.stringify(result, null, 2)}\n`);
  print(`\nResults: ${file}`);
}
