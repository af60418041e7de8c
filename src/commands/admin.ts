/**
 * `darkroom admin`: accounts, keys and money from the command line. It works on the database of the environment, or on
 * that of the installation which runs in the data folder, and says which.
 */
import yargs from 'yargs';
import type { Argv } from 'yargs';
import { createAccount, listAccounts, readAccount, setSuspended } from '../accounts/accounts.ts';
import { SCOPES } from '../accounts/api-key.ts';
import { createKey, listKeys, revokeKey } from '../accounts/keys.ts';
import { WEBHOOK_SECRET_LENGTH, createWebhookKeys } from '../accounts/webhook-key.ts';
import { topUp } from '../billing/ledger.ts';
import { verifyLedger } from '../billing/verify.ts';
import { newWebhookSecret, whsecSpelling } from '../callbacks/signing.ts';
import { loadConfig, loadEncryptionKey } from '../config/config.ts';
import { UniqueViolationError } from '../database/database.ts';
import type { Database } from '../database/database.ts';
import { newId } from '../domain/ids.ts';
import { formatUsd, parseUsd } from '../domain/money.ts';
import { openStore } from '../files/open-store.ts';
import { markOutputDeleted } from '../outputs/outputs.ts';
import { AdminError, openInstallation, presentAccount, presentKey, print } from './admin-output.ts';
import type { AdminEnvironment } from './admin-output.ts';

/** Runs one admin command. @throws {AdminError} with a message for the operator. */
export async function runAdmin(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<void> {
  const withDatabase =
    <Options extends { json?: boolean; dataDir?: string | undefined }>(
      work: (options: Options, database: Database, admin: AdminEnvironment) => Promise<unknown>,
    ) =>
    async (options: Options): Promise<void> => {
      const admin = await openInstallation(environment, options.dataDir);
      try {
        print(await work(options, admin.database, admin), options.json === true);
      } finally {
        await admin.database.close();
      }
    };

  await yargs([...args])
    .scriptName('npm run admin --')
    .usage('$0 <group> <command>')
    .option('json', { type: 'boolean', default: false, describe: 'print JSON', global: true })
    .option('data-dir', {
      type: 'string',
      describe: 'data folder of the installation that npm start runs',
      global: true,
    })
    .command('accounts', 'accounts and their money', (group) => accountCommands(group, withDatabase))
    .command('keys', 'API keys', (group) => keyCommands(group, withDatabase))
    .command('webhook-key', 'the key that signs callbacks', (group) => webhookCommands(group, withDatabase))
    .command('ledger', 'the books', (group) =>
      group
        .command(
          'verify',
          'prove that all money adds up; exits with 1 where it does not',
          (y) => y,
          withDatabase(async (_options, database) => {
            const violations = await verifyLedger(database);
            if (violations.length > 0) process.exitCode = 1;
            return { holds: violations.length === 0, violations };
          }),
        )
        .demandCommand(1, 'name a command of ledger'),
    )
    .command('outputs', 'stored outputs', (group) =>
      group
        .command(
          'delete <output>',
          'take an output away from its readers and delete its bytes',
          (y) => y.positional('output', { type: 'string', demandOption: true }),
          withDatabase(async ({ output }, database, admin) => {
            const store = openStore(loadConfig(admin.environment).store);
            try {
              await store.delete(await markOutputDeleted(database, output));
            } finally {
              await store.close();
            }
            return { output, deleted: true };
          }),
        )
        .demandCommand(1, 'name a command of outputs'),
    )
    .demandCommand(1, 'name a group of commands')
    .recommendCommands()
    .strict()
    .version(false)
    .help()
    .fail((message, error) => {
      throw error ?? new AdminError(`${message}\nnpm run admin -- --help lists the commands`);
    })
    .parseAsync();
}

type WithDatabase = <Options extends { json?: boolean; dataDir?: string | undefined }>(
  work: (options: Options, database: Database, admin: AdminEnvironment) => Promise<unknown>,
) => (options: Options) => Promise<void>;

type Group = Argv<{ json: boolean; 'data-dir': string | undefined }>;

function accountCommands(group: Group, withDatabase: WithDatabase) {
  return group
    .command(
      'create',
      'create an account',
      (y) =>
        y
          .option('name', { type: 'string', demandOption: true, describe: 'what to call it' })
          .option('usd', { type: 'string', describe: 'starting balance, decimal USD' })
          .option('running-cap', { type: 'number', default: 10, describe: 'tasks that run at once' })
          .option('queue-cap', { type: 'number', default: 1000, describe: 'tasks that wait behind them' }),
      withDatabase(async ({ name, usd, runningCap, queueCap }, database) => {
        const amount = usd === undefined ? 0n : readAmount(usd);
        checkName(name);
        return database.transaction(async (transaction) => {
          const id = await createAccount(transaction, name, {
            runningCap: readCap('running-cap', runningCap),
            queueCap: readCap('queue-cap', queueCap),
          });
          if (amount > 0n) await topUp(transaction, id, amount, newId('topup'));
          return presentAccount(await readAccount(transaction, id));
        });
      }),
    )
    .command(
      'list',
      'list the accounts',
      (y) => y,
      withDatabase(async (_options, database) => (await listAccounts(database)).map(presentAccount)),
    )
    .command(
      'top-up <account>',
      'add money to an account',
      (y) =>
        y
          .positional('account', { type: 'string', demandOption: true })
          .option('usd', { type: 'string', demandOption: true, describe: 'decimal USD, e.g. 10 or 0.5' })
          .option('reference', { type: 'string', describe: 'names the payment; the same one again is refused' }),
      withDatabase(async ({ account, usd, reference }, database) => {
        const amount = readAmount(usd);
        if (amount === 0n) throw new AdminError('--usd: nothing to add');
        try {
          const available = await database.transaction((transaction) =>
            topUp(transaction, account, amount, reference ?? newId('topup')),
          );
          return { account, added: formatUsd(amount), available: formatUsd(available) };
        } catch (error) {
          if (!(error instanceof UniqueViolationError)) throw error;
          throw new AdminError(`--reference: ${reference ?? ''} was used before; nothing was added`, { cause: error });
        }
      }),
    )
    .command(
      'suspend <account>',
      'refuse its requests; what runs finishes, what waits keeps waiting',
      (y) => y.positional('account', { type: 'string', demandOption: true }),
      withDatabase(({ account }, database) => suspend(database, account, true)),
    )
    .command(
      'resume <account>',
      'serve it again',
      (y) => y.positional('account', { type: 'string', demandOption: true }),
      withDatabase(({ account }, database) => suspend(database, account, false)),
    )
    .demandCommand(1, 'name a command of accounts');
}

function keyCommands(group: Group, withDatabase: WithDatabase) {
  return group
    .command(
      'create',
      'create a key; it is shown once',
      (y) =>
        y
          .option('account', { type: 'string', describe: 'default: the only account' })
          .option('name', { type: 'string', default: 'key', describe: 'what to call it' })
          .option('scopes', { type: 'array', string: true, choices: SCOPES, describe: 'default: all' }),
      withDatabase(async ({ account, name, scopes }, database) => {
        checkName(name);
        if (scopes?.length === 0) throw new AdminError(`--scopes: name at least one of ${SCOPES.join(', ')}`);
        const accountId = await onlyAccount(database, account);
        const key = await createKey(database, accountId, { name, scopes: scopes ?? SCOPES });
        return { account: accountId, keyId: key.id, apiKey: key.text };
      }),
    )
    .command(
      'list',
      'list the keys of an account',
      (y) => y.option('account', { type: 'string', describe: 'default: the only account' }),
      withDatabase(async ({ account }, database) =>
        (await listKeys(database, await onlyAccount(database, account))).map(presentKey),
      ),
    )
    .command(
      'revoke <key>',
      'revoke a key for ever, by its id',
      (y) => y.positional('key', { type: 'string', demandOption: true }),
      withDatabase(async ({ key }, database) => {
        if (!(await revokeKey(database, key))) throw new AdminError(`no key ${key}`);
        return { keyId: key, revoked: true };
      }),
    )
    .demandCommand(1, 'name a command of keys');
}

function webhookCommands(group: Group, withDatabase: WithDatabase) {
  return group
    .command(
      'rotate',
      'make a new signing key, or set your own; the old one signs beside it for 24 h',
      (y) =>
        y
          .option('account', { type: 'string', describe: 'default: the only account' })
          .option('secret', { type: 'string', describe: '16 to 256 characters; default: one is made' }),
      withDatabase(async ({ account, secret = newWebhookSecret() }, database, admin) => {
        const { minimum, maximum } = WEBHOOK_SECRET_LENGTH;
        if (secret.length < minimum || secret.length > maximum) {
          throw new AdminError(`--secret: want ${minimum} to ${maximum} characters, got ${secret.length}`);
        }
        const accountId = await onlyAccount(database, account);
        const keys = createWebhookKeys(loadEncryptionKey(admin.environment));
        await database.transaction((transaction) => keys.replace(transaction, accountId, secret, Date.now()));
        return { account: accountId, secret, whsec: whsecSpelling(secret) };
      }),
    )
    .command(
      'show',
      'show the signing keys in force, the current one first',
      (y) => y.option('account', { type: 'string', describe: 'default: the only account' }),
      withDatabase(async ({ account }, database, admin) => {
        const accountId = await onlyAccount(database, account);
        const keys = createWebhookKeys(loadEncryptionKey(admin.environment));
        const secrets = await keys.activeSecrets(database, accountId, Date.now());
        return secrets.map((secret) => ({ secret, whsec: whsecSpelling(secret) }));
      }),
    )
    .demandCommand(1, 'name a command of webhook-key');
}

async function suspend(database: Database, accountId: string, isSuspended: boolean): Promise<Record<string, unknown>> {
  await database.transaction((transaction) => setSuspended(transaction, accountId, isSuspended));
  return presentAccount(await readAccount(database, accountId));
}

/** @throws {AdminError} none was named, and there is not exactly one. */
async function onlyAccount(database: Database, named: string | undefined): Promise<string> {
  if (named !== undefined) return (await readAccount(database, named)).id;
  const accounts = await listAccounts(database);
  const [first] = accounts;
  if (first === undefined || accounts.length > 1) {
    throw new AdminError(`--account: there are ${accounts.length} accounts; name one (npm run admin -- accounts list)`);
  }
  return first.id;
}

function checkName(name: string): void {
  if (/^[^\p{Cc}]{1,100}$/u.test(name)) return;
  throw new AdminError('--name: want 1 to 100 characters on one line');
}

function readAmount(text: string): bigint {
  const amount = parseUsd(text);
  if (amount === undefined) throw new AdminError(`--usd: "${text}" is not a decimal amount such as 10 or 0.05`);
  return amount;
}

function readCap(option: string, value: number): number {
  if (Number.isInteger(value) && value >= 0 && value <= 1_000_000) return value;
  throw new AdminError(`--${option}: want a whole number from 0 to 1000000`);
}
