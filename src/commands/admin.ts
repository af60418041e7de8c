/**
 * `darkroom admin`: accounts, keys, money and tasks from the command line. It works on the database of the
 * environment, or on that of the installation that runs in the data directory, and prints which one.
 */
import { unknownVariables } from '../config/likely-mistakes.ts';
import { accountCommands } from './admin/accounts.ts';
import { createAdminProgram } from './admin/arguments.ts';
import type { Group } from './admin/arguments.ts';
import { createRunner } from './admin/installation.ts';
import { keyCommands, signInLinkCommand, webhookKeyCommands } from './admin/keys.ts';
import { ledgerCommands, marginsCommand, usageCommand } from './admin/ledger.ts';
import { modelCommands, verifyCommand } from './admin/models.ts';
import { outputCommands } from './admin/outputs.ts';
import { listCommand, providerCommands } from './admin/providers.ts';
import { secretCommands } from './admin/secrets.ts';
import {
  adminTokenCommands,
  databaseCommands,
  failingItemsCommand,
  queuesCommand,
  upstreamCommands,
} from './admin/service.ts';
import { taskCommands } from './admin/tasks.ts';
import { runProgram } from './command-line.ts';

/**
 * Runs one admin command.
 *
 * @throws {UsageError} the arguments are wrong. @throws {AdminError} with a message for the operator.
 */
export async function runAdmin(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<void> {
  for (const { message } of unknownVariables(environment)) process.stderr.write(`${message}\n`);
  const program = createAdminProgram();
  const run = createRunner(environment, () => program.opts());
  const group = (name: string, description: string): Group =>
    program.command(name).usage('<command>').description(description);
  accountCommands(group('accounts', 'accounts, their limits and their money'), run);
  keyCommands(group('keys', 'API keys'), run);
  signInLinkCommand(program.command('sign-in-link'), run);
  webhookKeyCommands(group('webhook-key', 'the signing secret of callbacks'), run);
  secretCommands(group('secrets', 'the keys that encrypt and sign, and their rotation'), run, environment);
  ledgerCommands(group('ledger', 'ledger entries and their verification'), run);
  usageCommand(program.command('usage'), run);
  marginsCommand(program.command('margins'), run);
  const models = group('models', 'model files');
  modelCommands(models, environment);
  listCommand(models.command('providers'), run);
  verifyCommand(models.command('verify'), run);
  providerCommands(group('providers', 'providers of models, their keys and URLs'), run);
  taskCommands(group('tasks', 'tasks and text calls of all accounts'), run);
  outputCommands(group('outputs', 'stored outputs'), run);
  upstreamCommands(group('upstreams', 'upstreams, and whether new work may go there'), run);
  queuesCommand(program.command('queues'), run);
  failingItemsCommand(program.command('failing-items'), run);
  databaseCommands(group('database', 'the database itself'));
  adminTokenCommands(group('admin-token', 'the token of the admin listener'), environment);
  await runProgram(program, args, 'name a group of commands');
}
