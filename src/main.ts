#!/usr/bin/env node
/**
 * The program: one subcommand for each role (architecture, "Parts that run"). Roles load only what they need, so that
 * `admin` does not wait for Temporal's libraries.
 */
import yargs from 'yargs';
import { hideBin } from 'yargs/helpers';
import { DarkroomError } from './domain/darkroom-error.ts';

class UsageError extends DarkroomError {
  override readonly name = 'UsageError';
  override readonly kind = 'invalid_request';
}

/** EX_CONFIG of sysexits.h: a restart would change nothing (standalone/part.ts). */
const UNUSABLE_CONFIGURATION = 78;

/** Ours, and so resolvable: the message says how, and no stack is needed. Anything else is a bug. */
function isPlain(error: unknown): error is DarkroomError {
  return error instanceof DarkroomError && error.kind !== 'internal';
}

async function main(): Promise<void> {
  await yargs(hideBin(process.argv))
    .scriptName('darkroom')
    .usage('$0 <command>\n\nOne HTTPS API in front of many generative media models.')
    .command('start', 'run everything on this machine: PostgreSQL, Temporal, api and worker', {
      builder: (y) => y.help(false).strict(false),
      handler: async () => {
        const { runEmbedded } = await import('./standalone/start.ts');
        process.exitCode = await runEmbedded({ args: argumentsAfter('start'), environment: process.env });
      },
    })
    .command('api', 'serve the HTTP API and launch tasks (configured by environment)', {}, async () => {
      const { runApi } = await import('./commands/api.ts');
      await runApi(process.env);
    })
    .command('worker', 'run tasks (configured by environment)', {}, async () => {
      const { runWorker } = await import('./commands/worker.ts');
      await runWorker(process.env);
    })
    .command('migrate', 'prepare the database and the Temporal namespace; run it before the others', {}, async () => {
      const { runMigrate } = await import('./commands/migrate.ts');
      await runMigrate(process.env);
    })
    .command('first-run', false, {}, async () => {
      const { runFirstRun } = await import('./commands/first-run.ts');
      await runFirstRun(process.env);
    })
    .command('admin', 'accounts, keys and money', {
      builder: (y) => y.help(false).strict(false),
      handler: async () => {
        const { runAdmin } = await import('./commands/admin.ts');
        await runAdmin(argumentsAfter('admin'), process.env);
      },
    })
    .demandCommand(1, 'name a command')
    .recommendCommands()
    .strict()
    .version(false)
    .help()
    .fail((message, error) => {
      throw error ?? new UsageError(`${message}\ndarkroom --help lists the commands`);
    })
    .parseAsync();
}

/** Errors of native code have no stack. */
function describeError(error: unknown): string {
  return error instanceof Error ? (error.stack ?? `${error.name}: ${error.message}`) : String(error);
}

function argumentsAfter(command: string): readonly string[] {
  const args = hideBin(process.argv);
  return args.slice(args.indexOf(command) + 1);
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${isPlain(error) ? error.message : describeError(error)}\n`);
  // Setting only the exit code is not enough: what a failed start has left open would keep the process alive, and it
  // would not be restarted.
  process.exit(isPlain(error) && error.kind === 'configuration_invalid' ? UNUSABLE_CONFIGURATION : 1);
}
