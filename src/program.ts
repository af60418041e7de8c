/**
 * The program, with one subcommand for each role (architecture, "Parts that run"). A role loads only the modules that
 * it needs, so that `admin` does not wait for Temporal's libraries to load.
 */
import type { Command } from '@commander-js/extra-typings';
import { createProgram, runProgram } from './commands/command-line.ts';
import { describeFailure, reportRoleFailure } from './commands/describe-failure.ts';

/** The role that this process runs, whose output is a log. */
let role: string | undefined;

async function main(): Promise<void> {
  const program = createProgram('darkroom')
    .usage('<command>')
    .description('One HTTPS API in front of many generative media models.')
    .enablePositionalOptions();
  withOwnArguments(
    program.command('start').description('run everything on this machine: PostgreSQL, Temporal, api and worker'),
    async (args) => {
      const { runStandalone } = await import('./standalone/start.ts');
      process.exitCode = await runStandalone({ args, environment: process.env });
    },
  );
  program
    .command('api')
    .description('serve the HTTP API and launch tasks (configured by environment)')
    .action(async () => {
      role = 'api';
      const { runApi } = await import('./commands/api.ts');
      await runApi(process.env);
      // Whatever is still open, such as the native half of a failed Temporal worker: everything has been closed in order.
      process.exit();
    });
  program
    .command('worker')
    .description('run tasks (configured by environment)')
    .action(async () => {
      role = 'worker';
      const { runWorker } = await import('./commands/worker.ts');
      await runWorker(process.env);
    });
  program
    .command('migrate')
    .description('prepare the database and the Temporal namespace; run it before the others')
    .action(async () => {
      role = 'migrate';
      const { runMigrate } = await import('./commands/migrate.ts');
      await runMigrate(process.env);
    });
  program
    .command('validate-configuration')
    .description('report what an api or a worker would reject of its environment, without connecting to anything')
    .action(async () => {
      role = 'validate-configuration';
      const { runValidateConfiguration } = await import('./commands/validate-configuration.ts');
      runValidateConfiguration(process.env);
    });
  program.command('first-run', { hidden: true }).action(async () => {
    const { runFirstRun } = await import('./commands/first-run.ts');
    await runFirstRun(process.env);
  });
  withOwnArguments(program.command('admin').description('accounts, keys and money'), async (args) => {
    const { runAdmin } = await import('./commands/admin.ts');
    await runAdmin(args, process.env);
  });
  await runProgram(program, process.argv.slice(2), 'name a command');
}

/** Defines a command that parses its arguments and shows its help itself. */
function withOwnArguments(command: Command, run: (args: readonly string[]) => Promise<void>): void {
  command
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .allowExcessArguments()
    .action((_options, { args }) => run(args));
}

function end(error: unknown): never {
  let exitCode: number;
  if (role === undefined) {
    const failure = describeFailure(error);
    process.stderr.write(`${failure.message}\n`);
    ({ exitCode } = failure);
  } else {
    exitCode = reportRoleFailure(role, error, process.env);
  }
  // Setting only the exit code is not enough: resources that a failed start left open would keep the process alive, and
  // it would not be restarted.
  process.exit(exitCode);
}

process.on('uncaughtException', end);
try {
  await main();
} catch (error) {
  end(error);
}
