/**
 * The fault campaign: `npm run chaos -- --seed N --minutes M`. A whole installation under a seeded storm of faults,
 * healed, and then checked against the logs of the other processes. Exit code 1 if an invariant is violated. With
 * `--mutant NAME` the program has a deliberate mistake, and the exit code is 1 unless its invariant is found
 * violated.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { Command, Option } from '@commander-js/extra-typings';
import { packageFile } from '../../src/config/package-root.ts';
import { runCampaign } from './campaign.ts';
import { MUTANTS } from './mutants/mutants.ts';
import { reportOf, summaryOf } from './report.ts';
import { TARGETS } from './schedule.ts';
import type { FaultKind } from './schedule.ts';
import { count, positiveNumber } from '../support/number-options.ts';

const options = new Command('npm run chaos --')
  .description('Puts an installation under faults of every kind, and checks afterwards that nothing was lost.')
  .option('--seed <number>', 'the same seed is the same schedule of faults and wishes', count, 1)
  .option('--minutes <number>', 'how long the storm lasts; recovery and checks come after it', positiveNumber, 3)
  .addOption(
    new Option('--mutant <name>', 'runs the program with this mistake in it').choices(MUTANTS.map(({ name }) => name)),
  )
  .option('--keep', 'keeps the directory with all logs; a violation keeps it too', false)
  .addOption(new Option('--only <kinds...>', 'only faults of these kinds').choices(Object.keys(TARGETS) as FaultKind[]))
  .parse()
  .opts();

const say = (line: string): void => {
  process.stderr.write(`${line}\n`);
};
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const mutant = MUTANTS.find(({ name }) => name === options.mutant);
const campaign = await runCampaign({
  seed: options.seed,
  minutes: options.minutes,
  mutant,
  only: options.only,
  report: say,
});
const report = reportOf(campaign);
const directory = packageFile('.cache/chaos');
await mkdir(directory, { recursive: true });
const file = path.join(directory, `seed-${options.seed}${mutant === undefined ? '' : `-${mutant.name}`}.json`);
await writeFile(file, `${JSON.stringify(report, undefined, 2)}\n`);
process.stdout.write(`${summaryOf(report)}\n`);
// An unexpected violation needs its logs: the next run may not reproduce it.
const keepsLogs = options.keep || (mutant === undefined && report.violations.length > 0);
say(`The whole report: ${file}${keepsLogs ? `; the logs: ${campaign.directory}` : ''}`);
if (!keepsLogs) await rm(campaign.directory, { recursive: true, force: true });

const isFound = mutant === undefined || report.invariants[mutant.invariant.name] !== 0;
if (mutant !== undefined) say(isFound ? 'The mutant was found.' : `THE MUTANT WAS NOT FOUND: ${mutant.invariant.name}`);
process.exit((mutant === undefined ? report.violations.length === 0 : isFound) ? 0 : 1);
