/**
 * The signing secret that an account starts with (contract §6): created with the account and in its transaction, so
 * that the first callback is already signed and no receiver is built without verification. Shared by everything that
 * creates accounts: the admin command, the admin listener and the first run of `npm start`.
 */
import type { WebhookKeys } from '../accounts/webhook-key.ts';
import { readDatabaseTime } from '../database/database-clock.ts';
import type { Queryable } from '../database/database.ts';
import { newWebhookSecret, toWhsec } from './signing.ts';

/** A signing secret in both formats, as the responses about the webhook secret show it. */
export interface FirstSigningSecret {
  readonly secret: string;
  readonly whsec: string;
}

/** @param accountId an account that has no signing secret yet. */
export async function createFirstSigningSecret(
  transaction: Queryable,
  webhookKeys: Pick<WebhookKeys, 'replace'>,
  accountId: string,
): Promise<FirstSigningSecret> {
  const secret = newWebhookSecret();
  await webhookKeys.replace(transaction, accountId, secret, await readDatabaseTime(transaction));
  return { secret, whsec: toWhsec(secret) };
}
