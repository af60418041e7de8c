/** `admin accounts`: accounts, their limits and their money. */
import {
  createAccount,
  listAccounts,
  readAccount,
  renameAccount,
  setSuspended,
  updateLimits,
} from '../../accounts/accounts.ts';
import type { Account } from '../../accounts/accounts.ts';
import { createWebhookKeys } from '../../accounts/webhook-key.ts';
import { topUp, recordAdjustment, recordTopUp } from '../../billing/ledger.ts';
import type { LedgerChange } from '../../billing/ledger.ts';
import { createFirstSigningSecret } from '../../callbacks/signing.ts';
import { adminCommandOf, loadEncryptionKeys } from '../../config/config.ts';
import type { Database } from '../../database/database.ts';
import { newId } from '../../domain/ids.ts';
import { formatUsd } from '../../domain/money.ts';
import { AdminError } from './admin-error.ts';
import {
  limitOptions,
  limitsOf,
  readAmount,
  readName,
  readReason,
  readReference,
  readSignedAmount,
} from './arguments.ts';
import type { Group } from './arguments.ts';
import type { OnInstallation } from './installation.ts';

export function accountCommands(group: Group, onInstallation: OnInstallation): void {
  limitOptions(group.command('create').description('create an account and its signing secret for callbacks'))
    .requiredOption('--name <name>', 'name of the account')
    .option('--usd <amount>', 'starting balance, decimal USD')
    .option('--organisation-id <account>', 'first account of the organisation whose wallet it shares, for good')
    .action(
      onInstallation(async ({ database, environment }, { name, usd, organisationId, ...limits }) => {
        const amountMicroUsd = usd === undefined ? 0n : readAmount('usd', usd);
        const known = readName(name);
        const webhookKeys = createWebhookKeys(...loadEncryptionKeys(environment));
        const { account, printed } = await database.transaction(async (transaction) => {
          const id = await createAccount(transaction, known, limitsOf(limits), organisationId);
          if (amountMicroUsd > 0n) await topUp(transaction, id, amountMicroUsd, newId('topup'));
          const { secret, whsec } = await createFirstSigningSecret(transaction, webhookKeys, id);
          const account = await readAccount(transaction, id);
          return { account, printed: { ...presentAccount(account), webhookSecret: secret, whsec } };
        });
        if (account.availableMicroUsd === 0n) process.stderr.write(emptyHint(account.id, adminCommandOf(environment)));
        return printed;
      }),
    );
  group
    .command('list')
    .description('list the accounts; available and held are those of the wallet, once for each account that shares it')
    .action(onInstallation(async ({ database }) => (await listAccounts(database)).map(presentAccount)));
  group
    .command('show')
    .description('show an account')
    .argument('<account>')
    .action(onInstallation(async ({ database }, account) => presentAccount(await readAccount(database, account))));
  group
    .command('top-up')
    .description('add money to an account')
    .argument('<account>')
    .requiredOption('--usd <amount>', 'decimal USD, e.g. 10 or 0.5')
    .option('--reference <reference>', 'names the payment; the same one is rejected if used again')
    .action(
      onInstallation(async ({ database }, account, { usd, reference }) => {
        const amountMicroUsd = readAmount('usd', usd);
        if (amountMicroUsd === 0n) throw new AdminError('--usd: nothing to add');
        const entry = { accountId: account, amountMicroUsd, reference: readReference(reference) };
        const booked = await recordTopUp(database, entry);
        return { account, added: formatUsd(amountMicroUsd), ...presentLedgerChange(booked) };
      }),
    );
  group
    .command('adjust')
    .description('correct the balance of an account, up or down')
    .argument('<account>')
    .requiredOption('--usd <amount>', 'decimal USD with its sign, e.g. -0.5')
    .option('--reference <reference>', 'names the correction; the same one is rejected if used again')
    .action(
      onInstallation(async ({ database }, account, { usd, reference }) => {
        const amountMicroUsd = readSignedAmount('usd', usd);
        if (amountMicroUsd === 0n) throw new AdminError('--usd: nothing to correct');
        const entry = { accountId: account, amountMicroUsd, reference: readReference(reference) };
        const booked = await recordAdjustment(database, entry);
        return { account, adjusted: formatUsd(amountMicroUsd), ...presentLedgerChange(booked) };
      }),
    );
  limitOptions(
    group.command('limits').description('change the name or limits of an account; what is not given stays as it is'),
  )
    .argument('<account>')
    .option('--name <name>', 'new name')
    .action(
      onInstallation(async ({ database }, account, { name, ...options }, command) => {
        const limits = limitsOf(options);
        if (name === undefined && Object.keys(limits).length === 0) {
          throw new AdminError(`name at least one of ${command.options.map(({ long }) => long).join(', ')}`);
        }
        return database.transaction(async (transaction) => {
          if (name !== undefined) await renameAccount(transaction, account, readName(name));
          await updateLimits(transaction, account, limits);
          return presentAccount(await readAccount(transaction, account));
        });
      }),
    );
  group
    .command('suspend')
    .description('suspend an account: its requests are rejected, running tasks finish, queued tasks stay queued')
    .argument('<account>')
    .option('--reason <text>', 'reason, for operators only: the account never sees it')
    .action(
      onInstallation(({ database }, account, { reason }) => suspend(database, account, true, readReason(reason))),
    );
  group
    .command('resume')
    .description('resume an account')
    .argument('<account>')
    .action(onInstallation(({ database }, account) => suspend(database, account, false)));
}

function presentAccount(account: Account): Record<string, unknown> {
  const { limits } = account;
  return {
    account: account.id,
    name: account.name,
    organisation: account.organisationId,
    status: account.status,
    suspensionReason: account.suspensionReason,
    wallet: account.walletId,
    available: formatUsd(account.availableMicroUsd),
    held: formatUsd(account.heldMicroUsd),
    running: account.running,
    queued: account.queued,
    textStreams: account.textStreams,
    storageBytes: account.persistentBytes,
    ...limits,
    created: account.createdAt.toISOString(),
  };
}

/** On standard error, so that standard output remains valid JSON. */
function emptyHint(accountId: string, admin: string): string {
  return `it has no money: requests that cost something are rejected with 402 until ${admin} accounts top-up ${accountId} --usd 10\n`;
}

function presentLedgerChange({ reference, availableMicroUsd }: LedgerChange): Record<string, unknown> {
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
