/** The accounts of a campaign: with a balance, a key, and limits that are never reached. */
import { SCOPES } from '@darkroom/api/facts/scopes';
import { createAccount } from '../../../src/accounts/accounts.ts';
import type { AccountLimits } from '../../../src/accounts/accounts.ts';
import { createKey } from '../../../src/accounts/keys.ts';
import { topUp } from '../../../src/billing/ledger.ts';
import type { Database } from '../../../src/database/database.ts';
import { newId } from '../../../src/domain/ids.ts';

export interface WorldAccount {
  readonly id: string;
  readonly key: string;
  readonly webhookSecret: string;
}

export async function createWorldAccount(
  database: Database,
  name: string,
  microUsd: bigint,
  limits: Partial<AccountLimits> = {},
): Promise<WorldAccount> {
  const webhookSecret = `secret-of-${name}-for-chaos`;
  return database.transaction(async (transaction) => {
    const id = await createAccount(transaction, name, {
      runningCap: 30,
      createsPerMinute: 100_000,
      readsPerMinute: 1_000_000,
      textRequestsPerMinute: 100_000,
      textTokensPerMinute: 1_000_000_000,
      ...limits,
    });
    await topUp(transaction, id, microUsd, newId('topup'));
    const key = await createKey(transaction, id, { name, scopes: SCOPES });
    return { id, key: key.secret, webhookSecret };
  });
}
