/**
 * The attack campaign: `npm run attack -- --minutes M`. Two hostile accounts and an anonymous host attack a whole
 * installation while a third account works. Exit code 1 if that account is affected more than allowed, a process ends
 * or grows beyond its bound, or an invariant is violated afterwards. With `--mutants` each attack that has a mutant runs
 * against a program without the guard against it, and the exit code is 1 unless each is noticed. docs/decisions/0028.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { Command, Option } from '@commander-js/extra-typings';
import { packageFile } from '../../../src/config/package-root.ts';
import { ATTACK_NAMES } from './attacks.ts';
import { runAttackCampaign } from './campaign.ts';
import type { AttackOptions } from './campaign.ts';
import { MUTANTS } from './mutants.ts';
import { isGood, isNoticed, summaryOf } from './report.ts';
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
  .addOption(new Option('--only <attacks...>', 'only these attacks').choices(ATTACK_NAMES))
  .option('--singly', 'one attack after another, each for that long', false)
  .option('--mutants', 'takes out what guards against the attacks, and expects that they are noticed', false)
  .option('--keep', 'leaves the directory with all logs', false)
  .parse()
  .opts();

const say = (line: string): void => {
  process.stderr.write(`${line}\n`);
};
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const { seed, minutes, only } = options;

/** @returns whether it went unnoticed. */
async function run(name: string, more: Pick<AttackOptions, 'attacks' | 'isSingly' | 'mutant'>): Promise<boolean> {
  const campaign = await runAttackCampaign({ seed, minutes, report: say, ...more });
  const directory = packageFile('.cache/attack');
  await mkdir(directory, { recursive: true });
  const file = path.join(directory, `${name}.json`);
  const { attacks: _, memory: __, ...report } = campaign;
  await writeFile(file, `${JSON.stringify(report, undefined, 2)}\n`);
  process.stdout.write(`${summaryOf(campaign)}\n`);
  say(`The whole report: ${file}${options.keep ? `; the logs: ${campaign.directory}` : ''}`);
  if (!options.keep) await rm(campaign.directory, { recursive: true, force: true });
  return more.mutant === undefined ? isGood(campaign) : !campaign.phases.every(isNoticed);
}

async function runMutants(): Promise<boolean> {
  let areFound = true;
  for (const mutant of MUTANTS.filter(({ attack }) => only?.includes(attack) ?? true)) {
    const { attack } = mutant;
    // Each in a world of its own: what one leaves would be noticed in the next.
    const isMissed = await run(`mutant-${attack.replaceAll(' ', '-')}`, { attacks: [attack], mutant });
    say(`${attack}: ${isMissed ? 'THE MUTANT WAS NOT FOUND' : 'the mutant was found'}`);
    if (isMissed) areFound = false;
  }
  return areFound;
}

const isAsExpected = options.mutants
  ? await runMutants()
  : await run(`seed-${seed}`, { attacks: only, isSingly: options.singly });
process.exit(isAsExpected ? 0 : 1);
