/**
 * The signing key that an account begins with (contract §6): made with the account and in its transaction, so that the
 * first callback is signed already and no receiver is built without verification. One place for everybody who makes
 * accounts: the admin command, the admin listener and the first run of `npm start`.
 */
import type { WebhookKeys } from '../accounts/webhook-key.ts';
import { readDatabaseTime } from '../database/database-clock.ts';
import type { Queryable } from '../database/database.ts';
import { newWebhookSecret, whsecSpelling } from './signing.ts';

/** A signing key in both spellings, as webhook-key answers show it. */
export interface FirstSigningKey {
  readonly secret: string;
  readonly whsec: string;
}

/** @param accountId of an account that has no key yet. */
export async function createFirstSigningKey(
  transaction: Queryable,
  webhookKeys: Pick<WebhookKeys, 'replace'>,
  accountId: string,
): Promise<FirstSigningKey> {
  const secret = newWebhookSecret();
  await webhookKeys.replace(transaction, accountId, secret, await readDatabaseTime(transaction));
  return { secret, whsec: whsecSpelling(secret) };
}
