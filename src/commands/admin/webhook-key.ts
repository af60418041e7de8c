/** `admin webhook-key`: the key that signs an account's callbacks (contract §6). */
import { WEBHOOK_SECRET_LENGTH, createWebhookKeys } from '../../accounts/webhook-key.ts';
import type { WebhookKeys } from '../../accounts/webhook-key.ts';
import { newWebhookSecret, whsecSpelling } from '../../callbacks/signing.ts';
import { loadEncryptionKeys } from '../../config/config.ts';
import { AdminError } from './admin-error.ts';
import { ACCOUNT, onlyAccount } from './arguments.ts';
import type { Group } from './arguments.ts';
import type { OnInstallation, OpenInstallation } from './installation.ts';
import { readDatabaseTime } from '../../database/database-clock.ts';

export function webhookKeyCommands(group: Group, onInstallation: OnInstallation) {
  return group
    .command(
      'show',
      'show the signing keys in force, the current one first',
      (y) => y.option('account', ACCOUNT),
      onInstallation(async ({ account }, installation) => {
        const accountId = await onlyAccount(installation.database, account);
        const now = await readDatabaseTime(installation.database);
        const secrets = await keysOf(installation).activeSecrets(installation.database, accountId, now);
        if (secrets.length === 0) return { account: accountId, secret: 'none: callbacks are not signed' };
        return secrets.map((secret) => ({ account: accountId, secret, whsec: whsecSpelling(secret) }));
      }),
    )
    .command(
      'set',
      'set a signing key of your own; the old one signs beside it for 24 h',
      (y) =>
        y
          .option('account', ACCOUNT)
          .option('secret', { type: 'string', demandOption: true, describe: '16 to 256 characters' }),
      onInstallation(({ account, secret }, installation) => replace(installation, account, secret)),
    )
    .command(
      'rotate',
      'make a new signing key; the old one signs beside it for 24 h',
      (y) => y.option('account', ACCOUNT),
      onInstallation(({ account }, installation) => replace(installation, account, newWebhookSecret())),
    )
    .command(
      'delete',
      'take the signing key away at once, an old one too: callbacks are not signed any more',
      (y) => y.option('account', ACCOUNT),
      onInstallation(async ({ account }, installation) => {
        const { database } = installation;
        const accountId = await onlyAccount(database, account);
        await database.transaction((transaction) => keysOf(installation).remove(transaction, accountId));
        return { account: accountId, deleted: true };
      }),
    )
    .demandCommand(1, 'name a command of webhook-key');
}

function keysOf({ environment }: OpenInstallation): WebhookKeys {
  return createWebhookKeys(...loadEncryptionKeys(environment));
}

async function replace(installation: OpenInstallation, account: string | undefined, secret: string): Promise<unknown> {
  const { minimum, maximum } = WEBHOOK_SECRET_LENGTH;
  const { length } = [...secret];
  if (length < minimum || length > maximum) {
    throw new AdminError(`--secret: want ${minimum} to ${maximum} characters, got ${length}`);
  }
  const { database } = installation;
  const accountId = await onlyAccount(database, account);
  const now = await readDatabaseTime(database);
  await database.transaction((transaction) => keysOf(installation).replace(transaction, accountId, secret, now));
  return { account: accountId, secret, whsec: whsecSpelling(secret) };
}
