/** `admin accounts`: accounts, their limits and their money. */
import {
  createAccount,
  listAccounts,
  readAccount,
  renameAccount,
  setSuspended,
  updateLimits,
} from '../../accounts/accounts.ts';
import { createWebhookKeys } from '../../accounts/webhook-key.ts';
import { topUp } from '../../billing/ledger.ts';
import { bookAdjustment, bookTopUp } from '../../billing/operator-entries.ts';
import type { Booked } from '../../billing/operator-entries.ts';
import { createFirstSigningKey } from '../../callbacks/first-signing-key.ts';
import { adminCommandOf } from '../../config/admin-command.ts';
import { loadEncryptionKeys } from '../../config/config.ts';
import type { Database } from '../../database/database.ts';
import { newId } from '../../domain/ids.ts';
import { formatUsd } from '../../domain/money.ts';
import { AdminError } from './admin-error.ts';
import {
  LIMIT_OPTIONS,
  readAmount,
  readLimits,
  readName,
  readReason,
  readReference,
  readSignedAmount,
} from './arguments.ts';
import type { Group } from './arguments.ts';
import type { OnInstallation } from './installation.ts';
import { presentAccount } from './print.ts';

const ACCOUNT = { type: 'string', demandOption: true } as const;

export function accountCommands(group: Group, onInstallation: OnInstallation) {
  return group
    .command(
      'create',
      'create an account and the key that signs its callbacks',
      (y) =>
        y
          .option('name', { type: 'string', demandOption: true, describe: 'what to call it' })
          .option('usd', { type: 'string', describe: 'starting balance, decimal USD' })
          .options(LIMIT_OPTIONS),
      onInstallation(async ({ name, usd, ...options }, { database, environment }) => {
        const amountMicroUsd = usd === undefined ? 0n : readAmount('usd', usd);
        const [known, limits] = [readName(name), readLimits(options)];
        const webhookKeys = createWebhookKeys(...loadEncryptionKeys(environment));
        const { id, printed } = await database.transaction(async (transaction) => {
          const id = await createAccount(transaction, known, limits);
          if (amountMicroUsd > 0n) await topUp(transaction, id, amountMicroUsd, newId('topup'));
          const { secret, whsec } = await createFirstSigningKey(transaction, webhookKeys, id);
          const account = presentAccount(await readAccount(transaction, id));
          return { id, printed: { ...account, webhookSecret: secret, whsec } };
        });
        if (amountMicroUsd === 0n) process.stderr.write(emptyHint(id, adminCommandOf(environment)));
        return printed;
      }),
    )
    .command(
      'list',
      'list the accounts',
      (y) => y,
      onInstallation(async (_options, { database }) => (await listAccounts(database)).map(presentAccount)),
    )
    .command(
      'show <account>',
      'show an account',
      (y) => y.positional('account', ACCOUNT),
      onInstallation(async ({ account }, { database }) => presentAccount(await readAccount(database, account))),
    )
    .command(
      'top-up <account>',
      'add money to an account',
      (y) =>
        y
          .positional('account', ACCOUNT)
          .option('usd', { type: 'string', demandOption: true, describe: 'decimal USD, e.g. 10 or 0.5' })
          .option('reference', { type: 'string', describe: 'names the payment; the same one again is refused' }),
      onInstallation(async ({ account, usd, reference }, { database }) => {
        const amountMicroUsd = readAmount('usd', usd);
        if (amountMicroUsd === 0n) throw new AdminError('--usd: nothing to add');
        const entry = { accountId: account, amountMicroUsd, reference: readReference(reference) };
        const booked = await bookTopUp(database, entry);
        return { account, added: formatUsd(amountMicroUsd), ...presentBooked(booked) };
      }),
    )
    .command(
      'adjust <account>',
      'correct the balance of an account, up or down',
      (y) =>
        y
          .positional('account', ACCOUNT)
          .option('usd', { type: 'string', demandOption: true, describe: 'decimal USD with its sign, e.g. -0.5' })
          .option('reference', { type: 'string', describe: 'names the correction; the same one again is refused' }),
      onInstallation(async ({ account, usd, reference }, { database }) => {
        const amountMicroUsd = readSignedAmount('usd', usd);
        if (amountMicroUsd === 0n) throw new AdminError('--usd: nothing to correct');
        const entry = { accountId: account, amountMicroUsd, reference: readReference(reference) };
        const booked = await bookAdjustment(database, entry);
        return { account, adjusted: formatUsd(amountMicroUsd), ...presentBooked(booked) };
      }),
    )
    .command(
      'limits <account>',
      'change what an account may do; what is not named stays',
      (y) =>
        y
          .positional('account', ACCOUNT)
          .options(LIMIT_OPTIONS)
          .option('name', { type: 'string', describe: 'what to call it from now on' }),
      onInstallation(async ({ account, name, ...given }, { database }) => {
        const limits = readLimits(given);
        if (name === undefined && Object.keys(limits).length === 0) {
          const options = ['name', ...Object.keys(LIMIT_OPTIONS)].map((option) => `--${option}`);
          throw new AdminError(`name at least one of ${options.join(', ')}`);
        }
        return database.transaction(async (transaction) => {
          if (name !== undefined) await renameAccount(transaction, account, readName(name));
          await updateLimits(transaction, account, limits);
          return presentAccount(await readAccount(transaction, account));
        });
      }),
    )
    .command(
      'suspend <account>',
      'refuse its requests; what runs finishes, what waits keeps waiting',
      (y) =>
        y
          .positional('account', ACCOUNT)
          .option('reason', { type: 'string', describe: 'why, for operators: the account never sees it' }),
      onInstallation(({ account, reason }, { database }) => suspend(database, account, true, readReason(reason))),
    )
    .command(
      'resume <account>',
      'serve it again',
      (y) => y.positional('account', ACCOUNT),
      onInstallation(({ account }, { database }) => suspend(database, account, false)),
    )
    .demandCommand(1, 'name a command of accounts');
}

/** On standard error, so that standard output remains valid JSON. */
function emptyHint(accountId: string, admin: string): string {
  return `it has no money: requests that cost something are rejected with 402 until ${admin} accounts top-up ${accountId} --usd 10\n`;
}

function presentBooked({ reference, availableMicroUsd }: Booked): Record<string, unknown> {
  return { available: formatUsd(availableMicroUsd), reference };
}

async function suspend(
  database: Database,
  accountId: string,
  isSuspended: boolean,
  reason?: string,
): Promise<Record<string, unknown>> {
  await database.transaction((transaction) => setSuspended(transaction, accountId, isSuspended, reason));
  return presentAccount(await readAccount(database, accountId));
}
