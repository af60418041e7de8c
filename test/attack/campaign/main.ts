/**
 * The attack campaign: `npm run attack -- --minutes M`. Two hostile accounts and an anonymous host attack a whole
 * installation while a third account works. Exit code 1 if that account is affected more than allowed, a process ends
 * or grows beyond its bound, or an invariant is violated afterwards. docs/decisions/0030.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { Command } from '@commander-js/extra-typings';
import { packageFile } from '../../../src/config/package-root.ts';
import { runAttackCampaign } from './campaign.ts';
import { isGood, summaryOf } from './report.ts';
import { count, positiveNumber } from '../../support/number-options.ts';

const options = new Command('npm run attack --')
  .description('Attacks an installation, and checks what that does to an account that works there.')
  .option(
    '--minutes <number>',
    'how long the attack lasts; the time without it before, and the checks after it, come on top',
    positiveNumber,
    10,
  )
  .option('--seed <number>', 'the same seed is the same files and the same pauses', count, 1)
  .option('--keep', 'leaves the directory with all logs', false)
  .parse()
  .opts();

const say = (line: string): void => {
  process.stderr.write(`${line}\n`);
};
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const campaign = await runAttackCampaign({ seed: options.seed, minutes: options.minutes, report: say });
const directory = packageFile('.cache/attack');
await mkdir(directory, { recursive: true });
const file = path.join(directory, `seed-${options.seed}.json`);
const { attacks: _, memory: __, ...report } = campaign;
await writeFile(file, `${JSON.stringify(report, undefined, 2)}\n`);
process.stdout.write(`${summaryOf(campaign)}\n`);
say(`The whole report: ${file}${options.keep ? `; the logs: ${campaign.directory}` : ''}`);
if (!options.keep) await rm(campaign.directory, { recursive: true, force: true });
process.exit(isGood(campaign) ? 0 : 1);
