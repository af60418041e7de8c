import { WEBHOOK_SECRET_LENGTH, createWebhookKeys } from '../../accounts/webhook-key.ts';
import type { WebhookKeys } from '../../accounts/webhook-key.ts';
import { newWebhookSecret, toWhsec } from '../../callbacks/signing.ts';
import { loadEncryptionKeys } from '../../config/config.ts';
import { AdminError } from './admin-error.ts';
import { ACCOUNT, onlyAccount } from './arguments.ts';
import type { Group } from './arguments.ts';
import type { OnInstallation, OpenInstallation } from './installation.ts';
import { readDatabaseTime } from '../../database/database-clock.ts';

/** The secret that signs an account's callbacks (contract §6). */
export function webhookKeyCommands(group: Group, onInstallation: OnInstallation): void {
  group
    .command('show')
    .description('show the active signing secrets, the current one first')
    .option(...ACCOUNT)
    .action(
      onInstallation(async (installation, { account }) => {
        const accountId = await onlyAccount(installation.database, account);
        const now = await readDatabaseTime(installation.database);
        const secrets = await webhookKeysOf(installation).activeSecrets(installation.database, accountId, now);
        if (secrets.length === 0) return { account: accountId, secret: 'none: callbacks are not signed' };
        return secrets.map((secret) => ({ account: accountId, secret, whsec: toWhsec(secret) }));
      }),
    );
  group
    .command('set')
    .description('set your own signing secret; the old one also signs for 24 h')
    .option(...ACCOUNT)
    .requiredOption('--secret <secret>', '16 to 256 characters')
    .action(onInstallation((installation, { account, secret }) => replaceSecret(installation, account, secret)));
  group
    .command('rotate')
    .description('create a new signing secret; the old one also signs for 24 h')
    .option(...ACCOUNT)
    .action(onInstallation((installation, { account }) => replaceSecret(installation, account, newWebhookSecret())));
  group
    .command('delete')
    .description('delete the signing secret and the previous one at once; callbacks are no longer signed')
    .option(...ACCOUNT)
    .action(
      onInstallation(async (installation, { account }) => {
        const { database } = installation;
        const accountId = await onlyAccount(database, account);
        await database.transaction((transaction) => webhookKeysOf(installation).remove(transaction, accountId));
        return { account: accountId, deleted: true };
      }),
    );
}

function webhookKeysOf({ environment }: OpenInstallation): WebhookKeys {
  return createWebhookKeys(...loadEncryptionKeys(environment));
}

async function replaceSecret(
  installation: OpenInstallation,
  account: string | undefined,
  secret: string,
): Promise<unknown> {
  const { minimum, maximum } = WEBHOOK_SECRET_LENGTH;
  const { length } = [...secret];
  if (length < minimum || length > maximum) {
    throw new AdminError(`--secret: want ${minimum} to ${maximum} characters, got ${length}`);
  }
  const { database } = installation;
  const accountId = await onlyAccount(database, account);
  const now = await readDatabaseTime(database);
  await database.transaction((transaction) => webhookKeysOf(installation).replace(transaction, accountId, secret, now));
  return { account: accountId, secret, whsec: toWhsec(secret) };
}
