/**
 * `darkroom admin`: accounts, keys, money and tasks from the command line. It works on the database of the
 * environment, or on that of the installation that runs in the data directory, and prints which one.
 */
import yargs from 'yargs';
import { unknownVariables } from '../config/unknown-variables.ts';
import { accountCommands } from './admin/accounts.ts';
import { AdminError } from './admin/admin-error.ts';
import { requireSingle } from './admin/arguments.ts';
import { ledgerCommands, usageCommand } from './admin/books.ts';
import { createRunner } from './admin/installation.ts';
import { databaseCommands } from './admin/database.ts';
import { failingItemsCommand } from './admin/failing-items.ts';
import { keyCommands } from './admin/keys.ts';
import { modelCommands } from './admin/models.ts';
import { secretCommands } from './admin/secrets.ts';
import { adminTokenCommands, queuesCommand } from './admin/service.ts';
import { signInLinkCommand } from './admin/sign-in-link.ts';
import { outputCommands, taskCommands } from './admin/tasks.ts';
import { webhookKeyCommands } from './admin/webhook-key.ts';

/** Options that take several values. */
const LISTS = ['scopes', 'models', 'kind', 'group-by', 'groupBy'];

const NO_GROUP = 'name a group of commands';

/** Runs one admin command. @throws {AdminError} with a message for the operator. */
export async function runAdmin(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<void> {
  for (const { message } of unknownVariables(environment)) process.stderr.write(`${message}\n`);
  const run = createRunner(environment);
  const parser = yargs([...args])
    .scriptName('npm run admin --')
    .usage('$0 <group> <command>')
    .option('json', { type: 'boolean', default: false, describe: 'print JSON', global: true })
    .option('data-dir', {
      type: 'string',
      describe: 'data folder of the installation that npm start runs',
      global: true,
    })
    .command('accounts', 'accounts, their limits and their money', (group) => accountCommands(group, run))
    .command('keys', 'API keys', (group) => keyCommands(group, run))
    .command('sign-in-link', 'a link to the dashboard', (command) => signInLinkCommand(command, run))
    .command('webhook-key', 'the key that signs callbacks', (group) => webhookKeyCommands(group, run))
    .command('secrets', 'the keys that encrypt and sign, and their rotation', (group) =>
      secretCommands(group, run, environment),
    )
    .command('ledger', 'the books, and the proof that they add up', (group) => ledgerCommands(group, run))
    .command('usage', 'what was captured, by day, model and key', (command) => usageCommand(command, run))
    .command('models', 'model files', (group) => modelCommands(group))
    .command('tasks', 'single tasks', (group) => taskCommands(group, run))
    .command('outputs', 'stored outputs', (group) => outputCommands(group, run))
    .command('queues', 'what waits and runs', (command) => queuesCommand(command, run))
    .command('failing-items', 'what passes could not deal with', (command) => failingItemsCommand(command, run))
    .command('database', 'the database itself', (group) => databaseCommands(group))
    .command('admin-token', 'the token of the admin listener', (group) => adminTokenCommands(group, environment))
    .demandCommand(1, NO_GROUP)
    .check((options) => requireSingle(options, LISTS), true)
    .recommendCommands()
    .strict()
    .version(false)
    .help()
    .alias('h', 'help')
    .fail((message, error) => {
      throw error ?? new AdminError(`${message}\nnpm run admin -- --help lists the commands`);
    });
  if (args.length === 0) throw new AdminError(`${await parser.getHelp()}\n\n${NO_GROUP}`);
  await parser.parseAsync();
}
