/**
 * `darkroom first-run`: ensures that a standalone installation has a first account, and reports it in one line of
 * JSON: `{accountId, apiKey?, balanceUsd, signInSecret}`, the key only if it was just created. The secret is that of a
 * link to the dashboard (accounts/sessions.ts).
 */
import { createAccount, listAccounts } from '../accounts/accounts.ts';
import { SCOPES } from '@darkroom/api/facts/scopes';
import { dashboardKey, createSignInLink } from '../accounts/sessions.ts';
import { createKey } from '../accounts/keys.ts';
import { createWebhookKeys } from '../accounts/webhook-key.ts';
import { topUp } from '../billing/ledger.ts';
import { createFirstSigningSecret } from '../callbacks/signing.ts';
import { loadDatabaseConfig, loadEncryptionKeys } from '../config/config.ts';
import { readDatabaseTime } from '../database/database-clock.ts';
import { openDatabase } from '../database/database.ts';
import type { Queryable } from '../database/database.ts';
import { formatUsd } from '../domain/money.ts';
import { silentLogger } from '../telemetry/log.ts';

/** The starting balance of the first account: enough for a thousand images of the embedded models. It is play money. */
const STARTING_BALANCE_MICRO_USD = 10_000_000n;
/** Contract §7: the account that `npm start` creates has ten times the usual limits. */
const LIMITS = {
  runningCap: 100,
  queueCap: 10_000,
  createsPerMinute: 600,
  readsPerMinute: 12_000,
  textRequestsPerMinute: 6_000,
  textTokensPerMinute: 10_000_000,
  textStreamsCap: 1_000,
};

export async function runFirstRun(environment: NodeJS.ProcessEnv): Promise<void> {
  const database = openDatabase(loadDatabaseConfig(environment), silentLogger());
  const webhookKeys = createWebhookKeys(...loadEncryptionKeys(environment));
  try {
    const answer = await database.transaction(async (transaction) => {
      const [first] = await listAccounts(transaction);
      if (first !== undefined) {
        const keyId = await dashboardKey(transaction, first.id, await readDatabaseTime(transaction));
        const signInSecret = await newSignInSecret(transaction, keyId);
        return { accountId: first.id, balanceUsd: formatUsd(first.availableMicroUsd), signInSecret };
      }
      const accountId = await createAccount(transaction, 'first', LIMITS);
      await topUp(transaction, accountId, STARTING_BALANCE_MICRO_USD, `first-run-${accountId}`);
      await createFirstSigningSecret(transaction, webhookKeys, accountId);
      const key = await createKey(transaction, accountId, { name: 'first', scopes: SCOPES });
      const signInSecret = await newSignInSecret(transaction, key.id);
      return { accountId, apiKey: key.secret, balanceUsd: formatUsd(STARTING_BALANCE_MICRO_USD), signInSecret };
    });
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  } finally {
    await database.close();
  }
}

async function newSignInSecret(transaction: Queryable, keyId: string): Promise<string> {
  return (await createSignInLink(transaction, keyId, await readDatabaseTime(transaction))).secret;
}
