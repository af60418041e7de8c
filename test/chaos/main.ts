/**
 * The fault campaign: `npm run chaos -- --seed N --minutes M`. A whole installation under a seeded storm of faults,
 * healed, and then checked against the logs of the other processes. Exit code 1 if an invariant is violated. With
 * `--mutant NAME` the program has a deliberate mistake, and the exit code is 1 unless its invariant is found
 * violated.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import yargs from 'yargs';
import { hideBin } from 'yargs/helpers';
import { packageFile } from '../../src/config/package-root.ts';
import { runCampaign } from './campaign.ts';
import { MUTANTS } from './mutants/mutants.ts';
import { reportOf, summaryOf } from './report.ts';
import { TARGETS } from './schedule.ts';
import type { FaultKind } from './schedule.ts';

const options = await yargs(hideBin(process.argv))
  .scriptName('npm run chaos --')
  .option('seed', { type: 'number', default: 1, describe: 'The same seed is the same schedule of faults and wishes.' })
  .option('minutes', {
    type: 'number',
    default: 3,
    describe: 'How long the storm lasts; healing and judging come after it.',
  })
  .option('mutant', {
    type: 'string',
    choices: MUTANTS.map(({ name }) => name),
    describe: 'Runs the program with this mistake in it.',
  })
  .option('keep', {
    type: 'boolean',
    default: false,
    describe: 'Keeps the folder with all logs; a violation keeps it too.',
  })
  .option('only', {
    type: 'string',
    array: true,
    choices: Object.keys(TARGETS) as FaultKind[],
    describe: 'Only faults of these kinds.',
  })
  .strict()
  .parse();

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
const folder = packageFile('.cache/chaos');
await mkdir(folder, { recursive: true });
const file = path.join(folder, `seed-${options.seed}${mutant === undefined ? '' : `-${mutant.name}`}.json`);
await writeFile(file, `${JSON.stringify(report, undefined, 2)}\n`);
process.stdout.write(`${summaryOf(report)}\n`);
// An unexpected violation needs its logs: the next run may not reproduce it.
const keepsLogs = options.keep || (mutant === undefined && report.violations.length > 0);
say(`The whole report: ${file}${keepsLogs ? `; the logs: ${campaign.folder}` : ''}`);
if (!keepsLogs) await rm(campaign.folder, { recursive: true, force: true });

const isFound = mutant === undefined || report.invariants[mutant.judge.invariant] !== 0;
if (mutant !== undefined)
  say(isFound ? 'The mutant was found.' : `THE MUTANT WAS NOT FOUND: ${mutant.judge.invariant}`);
process.exit((mutant === undefined ? report.violations.length === 0 : isFound) ? 0 : 1);
